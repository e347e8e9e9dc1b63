"""Hybrid search: which fusion of three retrievers ranks best, for how many judged queries?

``--fusions`` measures what needs no labels, also the k of reciprocal rank fusion by the length of
the lists, and ``--engines`` what search engines make of a linear model. Otherwise rankers learn
from 20 to 1,000 judged queries, drawn several times, and are scored on 2,000 others. Worlds are
those of ``hybrid_data.py``: one is real, three are simulated.
"""

import argparse
import json
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import hybrid_data
import numpy as np
from timing import say_versions

from treerank import NDCG, LightGBMTrees, TreeDirectRanker, export, read_runs
from treerank.datasets import Qrels, TrecRun
from treerank.feature_parts import LinearModel
from treerank.rankers import ColumnRanker
from treerank.reranking import fuse
from treerank.statistics.randomization import bootstrap_interval

METRIC = NDCG(k=10)
#: Judged queries, and how often they are drawn.
DRAWS = {20: 6, 50: 5, 200: 3, 1000: 2}
RESULTS = Path(__file__).parent / "results" / "hybrid.jsonl"
FORMATS = {"opensearch-hybrid": "opensearch", "elasticsearch-linear": "elasticsearch"}
#: Constants of reciprocal rank fusion.
CONSTANTS = (1, 2, 3, 4, 6, 10, 20, 30, 60, 120)
AHEAD = "trees and linear model, raw and min-max"


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
        "trees, raw and min-max": (TreeDirectRanker(), both),
        "monotone trees, raw and min-max": (TreeDirectRanker(monotone), both),
        AHEAD: (TreeDirectRanker(["lightgbm", "linear"]), both),
        "trees and linear model, all columns": (
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
        "best retriever of the judged queries": best_single(data, train),
        "convex combination of min-max, grid": convex_combination(data, train),
    }
    for name, (ranker, kinds) in rankers().items():
        X = columns_of(data, *kinds)
        ranker.set_params(random_state=draw)
        scores[name] = ranker.fit(X[train], data.y[train], data.qid[train]).predict(X)
    return {
        name: METRIC.per_query(data.y[tested], column[tested], data.qid[tested])
        for name, column in scores.items()
    }


def learned(world, path, draws):
    """Yield a row for each number of judged queries and each method."""
    data = hybrid_data.candidates(world, path)
    findable = [q for q in np.unique(data.qid) if data.y[data.qid == q].any()]
    mixed = np.random.default_rng(1).permutation(findable)
    test, pool = mixed[:2000], mixed[2000:]
    for n_judged, n_draws in draws.items():
        drawn = [values_by_method(data, n_judged, draw, pool, test) for draw in range(n_draws)]
        values = {name: np.array([each[name] for each in drawn]) for name in drawn[0]}
        for name, column in values.items():
            means = column.mean(axis=1)
            row = {"world": world, "judged": n_judged, "draws": n_draws, "method": name}
            row |= {"ndcg": means.mean(), "least": means.min(), "most": means.max()}
            if name != AHEAD:
                lead = bootstrap_interval((values[AHEAD] - column).mean(axis=0))
                row |= {"lead": lead.estimate, "low": lead.low, "high": lead.high}
            yield row


def fused(world, path):
    """Yield a row for each fusion without labels, on all queries of a world."""
    data = hybrid_data.candidates(world, path)
    raw = dict(zip("abc", columns_of(data, "raw").T, strict=True))
    scores = {name: np.nan_to_num(column, nan=-1e9) for name, column in raw.items()}
    scores = dict(zip(data.X.column_names[:-1:3], scores.values(), strict=True))
    scores |= {f"sum of {m}": fuse(raw, data.qid, method=m) for m in ("min_max", "z_score")}
    scores["RRF, k automatic"] = data.X["rrf"].to_numpy()
    scores |= {f"RRF, k = {k}": fuse(raw, data.qid, k=k) for k in CONSTANTS}
    for name, column in scores.items():
        yield {"world": world, "method": name, "ndcg": METRIC(data.y, column, data.qid)}


def fused_deep(depth, n_queries):
    """Yield a row for each fusion without labels, on synthetic lists of a length."""
    runs, y, qid = hybrid_data.deep(depth, n_queries)
    scores = {"RRF, k automatic": fuse(runs, qid)}
    scores |= {f"RRF, k = {k}": fuse(runs, qid, k=k) for k in CONSTANTS}
    scores |= {f"sum of {m}": fuse(runs, qid, method=m) for m in ("min_max", "z_score")}
    for name, column in scores.items():
        world = f"synthetic lists of {depth}"
        yield {"world": world, "method": name, "ndcg": METRIC(y, column, qid)}


def served(path):
    """Yield how many pairs an engine would order otherwise than a linear model over its columns.

    The columns are a textbook's min-max, or made as the engine itself makes them. Logits of the
    cross-encoder go through a sigmoid.
    """
    data = hybrid_data.candidates("strong", path, n_queries=1000)
    labels, runs = Qrels(data.qid, data.doc_ids, data.y), {}
    for name in data.X.column_names[:-1:3]:
        scores = data.X[name].to_numpy()
        scores = 1 / (1 + np.exp(-scores)) if name == "cross" else scores
        found = ~np.isnan(scores)
        runs[name] = TrecRun(data.qid[found], data.doc_ids[found], scores[found])
    sizes = np.unique(data.qid, return_counts=True)[1]
    about = {"world": "strong", "pairs": int((sizes * (sizes - 1) // 2).sum())}
    for format, engine in FORMATS.items():
        for columns in (None, engine):
            made = read_runs(runs, labels, engine=columns)
            linear = TreeDirectRanker(LinearModel(positive=True)).fit(*made.normalized())
            with TemporaryDirectory() as folder:
                report = export(
                    linear, f"{folder}/body.json", format=format, check=made, allow="order"
                )
            row = {"format": format, "columns": columns or "textbook"}
            yield about | row | {"changed": report.n_changed_pairs, "near": report.n_near_ties}


def tables(path):
    """Yield the kept rows as Markdown: fusions by world, then rankers by world."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if "method" in row]
    for learns in (False, True):
        some = [row for row in rows if ("judged" in row) == learns]
        for world in dict.fromkeys(row["world"] for row in some):
            own = [row for row in some if row["world"] == world]
            columns = [*dict.fromkeys(row.get("judged", "NDCG@10") for row in own)]
            yield "| " + " | ".join([world, *map(str, columns)]) + " |"
            yield "|---" * (1 + len(columns)) + "|"
            for method in dict.fromkeys(row["method"] for row in own):
                cells = [cell(row) for row in own if row["method"] == method]
                yield "| " + " | ".join([method, *cells]) + " |"
            yield ""


def cell(row):
    """Return NDCG@10, with the interval of the lead of ``AHEAD`` if it has one."""
    text = f"{row['ndcg']:.3f}".removeprefix("0")
    return f"{text} ({row['low']:+.4f} to {row['high']:+.4f})" if "low" in row else text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../msrd/msrd.npz"))
    parser.add_argument("--worlds", nargs="+", default=[*hybrid_data.WORLDS])
    parser.add_argument("--fusions", action="store_true", help="only what needs no labels")
    parser.add_argument("--engines", action="store_true", help="only what engines would serve")
    parser.add_argument("--quick", action="store_true", help="one draw of 20 and 50 queries")
    parser.add_argument("--output", type=Path, default=RESULTS, help="rows are added to this file")
    parser.add_argument("--table", action="store_true", help="print the kept rows as Markdown")
    arguments = parser.parse_args()
    if arguments.table:
        print("\n".join(tables(arguments.output)))
        return
    say_versions("lightgbm", "numpy")
    warnings.simplefilter("ignore")  # of few queries, from which trees learn nothing
    draws = {20: 1, 50: 1} if arguments.quick else DRAWS
    makers = [learned(world, arguments.data, draws) for world in arguments.worlds]
    if arguments.fusions:
        makers = [fused(world, arguments.data) for world in arguments.worlds]
        makers += [fused_deep(*size) for size in ((15, 1000), (100, 300), (1000, 40))]
    if arguments.engines:
        makers = [served(arguments.data)]
    for rows in makers:
        for row in rows:
            line = json.dumps(
                {k: round(v, 5) if isinstance(v, float) else v for k, v in row.items()}
            )
            print(line, flush=True)
            with arguments.output.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    main()
