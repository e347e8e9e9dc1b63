"""Hybrid search: which fusion of three retrievers ranks best, and for how many judged queries?

4,000 queries of MSRD. "fields" is real: BM25 of three fields. In the worlds "strong", "mixed" and
"even" BM25 is real, and a dense retriever and a cross-encoder are simulated from the labels
(``benchmarks/retrievers.py``). Rankers learn from 20 to 1,000 judged queries, drawn several times,
and are measured on 2,000 others.
"""

import functools
import warnings
from functools import partial
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks import data as data_sets
from benchmarks import retrievers
from benchmarks.drawing import curves, signed, table
from benchmarks.measurements import Measurement
from benchmarks.page import Section
from benchmarks.questions import values_by
from treerank import NDCG, LightGBMTrees, TreeDirectRanker, export, read_runs
from treerank.datasets import Qrels, TrecRun
from treerank.feature_parts import LinearModel
from treerank.rankers import ColumnRanker
from treerank.reranking import fuse
from treerank.statistics import bootstrap_interval

TITLE = "Which fusion of retrievers ranks best?"
IS_TIMING = False
METRIC = NDCG(k=10)
#: Judged queries, and how often they are drawn.
DRAWS = {20: 6, 50: 5, 200: 3, 1000: 2}
FORMATS = {"opensearch-hybrid": "opensearch", "elasticsearch-linear": "elasticsearch"}
#: Constants of reciprocal rank fusion.
CONSTANTS = (1, 2, 3, 4, 6, 10, 20, 30, 60, 120)
BLEND = "trees and linear model, raw and min-max"
ALL_COLUMNS = "trees and linear model, all columns"
#: Lengths of synthetic lists, and how many queries have them.
DEEP = {15: 1000, 100: 300, 1000: 40}
NAMES = ("bm25", "dense", "cross")
SINGLE, GRID = "best retriever of the judged queries", "convex combination of min-max, grid"
#: Names of the pages for those of the rows.
SHOWN = {SINGLE: "best retriever on judged queries", GRID: "convex combination of min-max scores"}


def label_of(method):
    """Return the name of a method as tables and charts show it."""
    name, _, features = SHOWN.get(method, method).partition(", ")
    scores = " scores" * features.endswith("min-max")
    return f"{name} on {features}{scores}" if features else name


def columns_of(data, *kinds):
    """Return the columns of some kinds, "raw", "min_max" and "reciprocal_rank", as an array."""
    names = data.X.column_names[:-1:3]
    chosen = [name if kind == "raw" else f"{name}.{kind}" for kind in kinds for name in names]
    return np.column_stack([data.X[name].to_numpy() for name in chosen])


def rankers():
    """Return rankers by name, each with the kinds of columns that it gets."""
    both = ("raw", "min_max")
    monotone = LightGBMTrees(monotone_constraints=[1] * 6)
    return {
        "linear model, min-max": (TreeDirectRanker("linear"), ("min_max",)),
        "linear model, reciprocal ranks": (TreeDirectRanker("linear"), ("reciprocal_rank",)),
        "linear model, raw and min-max": (TreeDirectRanker("linear"), both),
        "trees, raw and min-max": (TreeDirectRanker("lightgbm"), both),
        "monotone trees, raw and min-max": (TreeDirectRanker(monotone), both),
        BLEND: (TreeDirectRanker(["lightgbm", "linear"]), both),
        ALL_COLUMNS: (
            TreeDirectRanker(["lightgbm", "linear"]),
            (*both, "reciprocal_rank"),
        ),
    }


def best_single(data, train):
    """Return the scores of the retriever that is best on the judged queries."""
    X = columns_of(data, "raw")
    arguments = X[train], data.y[train], data.qid[train]
    single = [ColumnRanker(j).fit(*arguments) for j in range(X.shape[1])]
    return max(single, key=lambda ranker: ranker.score(*arguments)).predict(X)


def convex_combination(data, train):
    """Return the best mean of min-max scores on a grid of weights, as a tuner of engines does."""
    X = columns_of(data, "min_max")
    grid = np.array([(i, j, 20 - i - j) for i in range(21) for j in range(21 - i)]) / 20
    values = [METRIC(data.y[train], X[train] @ weight, data.qid[train]) for weight in grid]
    return X @ grid[np.array(values) >= max(values) - 1e-12].mean(axis=0)


def values_by_method(data, n_judged, draw, pool, test):
    """Return NDCG@10 by query of the test set for each way to learn from some judged queries."""
    judged = np.random.default_rng(100 + draw).choice(pool, n_judged, replace=False)
    train, tested = np.isin(data.qid, judged), np.isin(data.qid, test)
    scores = {
        SINGLE: best_single(data, train),
        GRID: convex_combination(data, train),
    }
    for name, (ranker, kinds) in rankers().items():
        X = columns_of(data, *kinds)
        ranker.set_params(random_state=draw)
        scores[name] = ranker.fit(X[train], data.y[train], data.qid[train]).predict(X)
    return {
        name: METRIC.per_query(data.y[tested], column[tested], data.qid[tested])
        for name, column in scores.items()
    }


@functools.cache
def learned(path, world, n_judged, n_draws, n_queries):
    """Return NDCG@10 and the lead of trees and a linear model by method."""
    data = retrievers.candidates(world, path, n_queries=n_queries)
    findable = [q for q in np.unique(data.qid) if data.y[data.qid == q].any()]
    mixed = np.random.default_rng(1).permutation(findable)
    test, pool = mixed[: n_queries // 2], mixed[n_queries // 2 :]
    with warnings.catch_warnings(action="ignore"):  # of few queries, from which trees learn nothing
        drawn = [values_by_method(data, n_judged, draw, pool, test) for draw in range(n_draws)]
    values, found = {name: np.array([each[name] for each in drawn]) for name in drawn[0]}, {}
    for name, column in values.items():
        means = column.mean(axis=1)
        found[name] = {"ndcg": means.mean(), "least": means.min(), "most": means.max()}
        if name != BLEND:
            lead = bootstrap_interval((values[BLEND] - column).mean(axis=0))
            found[name] |= {"lead": lead.estimate, "low": lead.low, "high": lead.high}
    return found


@functools.cache
def fused(path, world, n_queries):
    """Return NDCG@10 of each fusion without labels."""
    data = retrievers.candidates(world, path, n_queries=n_queries)
    raw = dict(zip("abc", columns_of(data, "raw").T, strict=True))
    scores = {name: np.nan_to_num(column, nan=-1e9) for name, column in raw.items()}
    scores = dict(zip(data.X.column_names[:-1:3], scores.values(), strict=True))
    scores |= fusions(raw, data.qid) | {"RRF, k automatic": data.X["rrf"].to_numpy()}
    return {name: {"ndcg": METRIC(data.y, column, data.qid)} for name, column in scores.items()}


@functools.cache
def fused_deep(depth, n_queries):
    """Return NDCG@10 of each fusion without labels, on synthetic lists of a length."""
    runs, y, qid = retrievers.deep(depth, n_queries)
    scores = fusions(runs, qid) | {"RRF, k automatic": fuse(runs, qid)}
    return {name: {"ndcg": METRIC(y, column, qid)} for name, column in scores.items()}


def fusions(runs, qid):
    """Return the scores of fusions that need no labels by name."""
    sums = {f"sum of {m}": fuse(runs, qid, method=m) for m in ("min_max", "z_score")}
    return sums | {f"RRF, k = {k}": fuse(runs, qid, k=k) for k in CONSTANTS}


def served(path, format, columns, n_queries):
    """Return how many pairs an engine would order otherwise than a linear model over columns.

    The columns are a textbook's min-max, or made as the engine itself makes them. Logits of the
    cross-encoder go through a sigmoid.
    """
    data = retrievers.candidates("strong", path, n_queries=n_queries)
    labels, runs = Qrels(data.qid, data.doc_ids, data.y), {}
    for name in data.X.column_names[:-1:3]:
        scores = data.X[name].to_numpy()
        scores = 1 / (1 + np.exp(-scores)) if name == "cross" else scores
        found = ~np.isnan(scores)
        runs[name] = TrecRun(data.qid[found], data.doc_ids[found], scores[found])
    sizes = np.unique(data.qid, return_counts=True)[1]
    made = read_runs(runs, labels, engine=None if columns == "textbook" else columns)
    linear = TreeDirectRanker(LinearModel(positive=True)).fit(*made.normalized())
    with TemporaryDirectory() as folder:
        report = export(linear, f"{folder}/body.json", format=format, check=made, allow="order")
    pairs = int((sizes * (sizes - 1) // 2).sum())
    return {"pairs": pairs, "changed": report.n_changed_pairs, "near ties": report.n_near_ties}


def measurements(options):
    """Yield the fusions without labels, those learned from judged queries, and what engines do."""
    n_queries = 60 if options.quick else 4000
    worlds = ("fields", "strong") if options.quick else retrievers.WORLDS
    draws = {20: 1} if options.quick else DRAWS
    if options.quick:
        path = retrievers.drawn_archive()
    else:
        path = options.data / data_sets.DATA_SETS["MSRD"].folder / "msrd.npz"

    def measurement(function, arguments, method, **conditions):
        measure = lambda: function(*arguments)[method]  # noqa: E731
        return Measurement(conditions | {"method": method}, measure)

    names = lambda world: ("title", "overview", "tags") if world == "fields" else NAMES  # noqa: E731
    free = [f"sum of {m}" for m in ("min_max", "z_score")]
    free += [f"RRF, k = {k}" for k in CONSTANTS] + ["RRF, k automatic"]
    for world in worlds:
        for method in (*names(world), *free):
            yield measurement(fused, (path, world, n_queries), method, world=world)
    for depth, n in DEEP.items():
        for method in free:
            arguments = depth, 20 if options.quick else n
            yield measurement(fused_deep, arguments, method, world=f"synthetic lists of {depth}")
    for world in worlds:
        for n_judged, n_draws in draws.items():
            for method in (SINGLE, GRID, *rankers()):
                conditions = {"world": world, "judged": n_judged, "draws": n_draws}
                arguments = path, world, n_judged, n_draws, n_queries
                yield measurement(learned, arguments, method, **conditions)
    for format, engine in FORMATS.items():
        for columns in ("textbook", engine):
            conditions = {"world": "strong", "format": format, "columns": columns}
            measure = partial(served, path, format, columns, min(n_queries, 1000))
            yield Measurement(conditions, measure)


def learned_values(rows):
    """Return the values of what was learned by world, method and number of judged queries."""
    found = {}
    for n_judged, n_draws in DRAWS.items():
        some = values_by(rows, "world", "method", judged=n_judged, draws=n_draws)
        found |= {(*key, n_judged): value for key, value in some.items()}
    return found


def methods_of(found):
    """Return the methods in their order, and those that are compared with the blend."""
    methods = list(dict.fromkeys(method for _, method, _ in found))
    return methods, [m for m in methods if m not in (BLEND, ALL_COLUMNS)]


def learned_table(found, world):
    """Return NDCG@10 of a world by method and number of judged queries."""
    kind = "real" if world == "fields" else "simulated"
    head = [f"NDCG@10, {world} ({kind})", *(f"{n:,} queries" for n in DRAWS)]
    methods = methods_of(found)[0]
    body = [[label_of(m), *(short(found[world, m, n]["ndcg"]) for n in DRAWS)] for m in methods]
    return table(head, body)


def passages(rows):
    """Return the tables and figures of the guide."""
    free, found = values_by(rows, "world", "method"), learned_values(rows)
    singles = zip(NAMES, ("title", "overview", "tags"), strict=True)
    singles = [(f"{name}; {field} in fields", name, field) for name, field in singles]
    sums = [f"sum of {m}" for m in ("min_max", "z_score")]
    named = {"RRF, k = 60": "RRF, k = 60", "RRF, k automatic": "RRF, k chosen by `fuse`"}
    named |= dict(zip(sums, ("sum of min-max scores", "sum of z-scores"), strict=True))
    worlds = sorted(retrievers.WORLDS, key=lambda world: world != "fields")
    kinds = {w: f"{w} ({'real' if w == 'fields' else 'simulated'})" for w in worlds}
    body = [
        [label, *(short(free[w, field if w == "fields" else name]["ndcg"]) for w in kinds)]
        for label, name, field in singles
    ]
    body += [
        [label, *(short(free[w, method]["ndcg"]) for w in kinds)] for method, label in named.items()
    ]
    fusions = table(["NDCG@10", *kinds.values()], body)
    lists = {f"synthetic lists of {n}": f"synthetic, {n:,}" for n in DEEP}
    columns = {"fields": kinds["fields"], "strong": "strong, 15 (simulated)"} | lists
    constants = {f"RRF, k = {k}": k for k in CONSTANTS} | {"RRF, k automatic": "chosen by `fuse`"}
    body = [
        [k, *(short(free[world, method]["ndcg"]) for world in columns)]
        for method, k in constants.items()
    ]
    return {
        "fusions": fusions,
        "constants": table(["k", *columns.values()], body),
        **{world: learned_table(found, world) for world in retrievers.WORLDS},
        "leads": leads_sentence(found),
        "engines": engines_sentence(rows),
    }


def leads_sentence(found):
    """Return where trees and a linear model lead, and by how much over what engines can weigh."""
    others = methods_of(found)[1]
    leads = [value for (_, method, _), value in found.items() if method in others]
    ahead, behind = sum(v["low"] > 0 for v in leads), sum(v["high"] < 0 for v in leads)
    engine = [value["lead"] for (_, m, _), value in found.items() if m == "linear model, min-max"]
    more = max(
        abs(value["ndcg"] - found[world, BLEND, n]["ndcg"])
        for (world, method, n), value in found.items()
        if method == ALL_COLUMNS
    )
    return (
        "Trees and a linear model on raw and min-max scores were compared with each of the "
        f"{len(others)} methods above them in the tables, in four scenarios and for four numbers "
        f"of judged queries. Trees and a linear model are significantly better than the other "
        f"method in {ahead} of these {len(leads)} comparisons, and significantly worse in "
        f"{behind or 'none'}. Search engines can apply a linear model to min-max scores, but the "
        f"NDCG@10 of such a model is {short(min(engine))} to {short(max(engine))} lower than that "
        "of trees and a linear model. If trees and a linear model also get the columns of "
        f"reciprocal ranks, their NDCG@10 changes by at most {short(more)}."
    )


def engines_sentence(rows):
    """Return how many pairs engines order otherwise, by the columns that a model learned from."""
    found = values_by(rows, "format", "columns", world="strong")
    textbook = [found[format, "textbook"] for format in FORMATS]
    own = [found[format, engine]["changed"] for format, engine in FORMATS.items()]
    with_own = "no pair changes its order"
    if any(own):
        with_own = f"{own[0]:,} and {own[1]:,} pairs change their order"
    elastic = f"{textbook[1]['changed']:,}" if textbook[1]["changed"] else "none"
    return (
        'The following figures are from 1,000 queries of the scenario "strong". If the weights '
        f"are learned on textbook min-max scores, {textbook[0]['changed']:,} of "
        f"{textbook[0]['pairs']:,} pairs change their order in the emulation of OpenSearch, and "
        f"{elastic} in the emulation of Elasticsearch. If the columns are computed as the engine "
        f"computes them (`engine=`), {with_own} in either emulation."
    )


def section(rows):
    """Return curves over the number of judged queries in the real world, and the table."""
    found = learned_values(rows)
    others = methods_of(found)[1]
    leads = [value for (_, method, _), value in found.items() if method in others]
    ahead, behind = sum(v["low"] > 0 for v in leads), sum(v["high"] < 0 for v in leads)
    answer = (
        "A ranker that combines trees and a linear model, fitted to raw and min-max scores, was "
        f"compared with {len(others)} other methods by NDCG@10, in four scenarios and with 20 to "
        f"1,000 judged queries. The NDCG@10 of this ranker is significantly higher in {ahead} of "
        f"these {len(leads)} comparisons, and significantly lower in {behind or 'none'}. One "
        "scenario uses real retrievers; in the other three scenarios, some of the retrievers are "
        "simulated."
    )
    shown = [BLEND, SINGLE, GRID, "linear model, min-max", "trees, raw and min-max"]
    series = {
        label_of(name): [(n, found["fields", name, n]["ndcg"]) for n in DRAWS] for name in shown
    }
    chart = curves(
        f"NDCG@10 by number of judged queries. {answer}",
        series,
        'judged queries, in the scenario "fields" (real)',
        "NDCG@10",
    )
    parts = []
    for world in retrievers.WORLDS:
        kind = "real" if world == "fields" else "simulated"
        parts.append((f'NDCG@10 in the scenario "{world}" ({kind})', learned_table(found, world)))
    head = ["scenario", "judged queries", "compared with", "lead", "from", "to"]
    lost = [
        [world, n, label_of(method), *(signed(value[v]) for v in ("lead", "low", "high"))]
        for (world, method, n), value in found.items()
        if method in others and value["low"] <= 0
    ]
    parts.append((f"The {len(lost)} comparisons without a significant lead", table(head, lost)))
    notes = (
        "Each scenario uses the same 4,000 queries of MSRD. Of the queries for which at least one "
        "retriever finds a relevant document, 2,000 are test queries, and the judged queries are "
        "drawn from the others, 2 to 6 times for each number of judged queries. [Hybrid "
        "search](guide/hybrid.md) explains the scenarios, and has tables of fusion methods that "
        "need no labels."
    )
    return Section(answer, [chart], parts, notes)


def short(value):
    """Return a value of NDCG with three digits."""
    return f"{value:.3f}".removeprefix("0")
