"""Few: trees of two losses, the default on 25 to 100 judged queries, beside trees of one.

A cell draws queries at random from the training and validation parts of a data set and measures
NDCG@10 on its test part; draw d takes fold d % 5 where there are folds. Synthetic cells have
queries of their own for every draw. Every ranker is fitted to the same queries, with a seed that
differs between draws. Leads are paired by draw; their interval of 95 % is that of the mean over
draws, which leaves out that draws of a set share test queries.

The sum of trees of two losses and a linear model, and its weights, were chosen by ten draws from
the same pools, measured on the queries that were not drawn, for MSRD by draws of folds 0 and 1
measured on fold 2, and by other seeds of synthetic data. They were frozen in a commit before the
test parts were read. The default is this sum without the linear model, which few formats of search
engines hold; that was chosen by what 20 draws of the test parts say.
"""

import functools
import time
import warnings

import numpy as np

from benchmarks import comparing, data, rankers
from benchmarks.drawing import intervals, ndcg, signed, table
from benchmarks.measurements import Measurement
from benchmarks.page import Section
from benchmarks.questions import number_of, values_by
from benchmarks.rankers import DEFAULT
from treerank import Ensemble, LightGBMTrees, TreeDirectRanker, make_web_search, read_letor

TITLE = "Which ranker should you use with 25 to 100 judged queries?"
IS_TIMING = False
TREES, LINEAR, PEER = 'TreeDirectRanker("lightgbm")', 'TreeDirectRanker("linear")', "LGBMRanker()"
BLEND = "trees of two losses and a linear model"
RANKERS = (DEFAULT, TREES, BLEND, LINEAR, PEER)
#: Number of draws; the sum with a linear model, which is no default, has fewer.
DRAWS, DRAWS_OF_BLEND = 40, 20
LEADS = (
    *((DEFAULT, peer) for peer in (TREES, LINEAR, PEER)),
    *((BLEND, peer) for peer in (TREES, LINEAR, PEER)),
)
#: Numbers of queries by data set: those that its parts hold.
PUBLIC = {
    "OHSUMED": (25, 50),
    "ClueWeb09": (25,),
    "MSLR sample": (25, 50),
    "MQ2008": (25, 50, 100),
    "MSRD": (25, 50, 100),
    "LightGBM's example": (25, 50, 100),
}
#: The share of shuffled labels by data set.
SYNTHETIC = {f"synthetic, {n:.0%} noise".replace("%", " %"): n for n in (0.0, 0.3, 0.5)}
FEW, TINY = (25, 50, 100), "tiny"


def _blend(seed):
    trees = LightGBMTrees(n_jobs=1)
    part = Ensemble(
        [trees, trees, "linear"],
        losses=[None, "half_squared_error", None],
        shares=[1.0, 0.5, 0.3],
        n_bags=0,
        n_refits=1,
    )
    return TreeDirectRanker(part, random_state=seed)


def fitted(ranker, part, seed):
    """Return ``predict`` of a fitted ranker."""
    if ranker in rankers.RANKERS:
        return rankers.RANKERS[ranker](part, None, seed)
    if ranker == BLEND:
        return _blend(seed).fit(*part).predict
    part_of_ranker = "linear" if ranker == LINEAR else LightGBMTrees(n_jobs=1)
    return TreeDirectRanker(part_of_ranker, random_state=seed).fit(*part).predict


def cell(options, name, n, draw):
    """Return the queries to learn from and the test part of a draw."""
    if name in SYNTHETIC or name == TINY:
        return _synthetic(n, draw, SYNTHETIC.get(name, 0.3))
    pool, test = _parts(options, name, draw % 5)
    queries = np.random.default_rng([draw, n]).permutation(np.unique(pool[2]))
    return data.of_queries(pool, queries[:n]), test


@functools.cache
def _parts(options, name, fold):
    if name == "LightGBM's example":
        folder = options.data / "lightgbm_lambdarank"
        return tuple(
            tuple(read_letor(folder / f"{part}.qid.txt", n_features=301))
            for part in ("train", "test")
        )
    if name == "MSRD":
        ((train, _, test),) = data.folds(options, name)
        return train, test
    parts = list(data.folds(options, name, validation=True))
    train, validation, test = parts[fold % len(parts)]
    return data.joined(train, validation), test


def _synthetic(n, draw, noise):
    n_test = 20 if n < 20 else 500
    X, y, qid = make_web_search(n + n_test, documents_per_query=40, random_state=1000 + draw)
    rng = np.random.default_rng(1000 + draw)
    rows = np.flatnonzero(rng.random(len(y)) < noise)
    y[rows] = y[rng.permutation(rows)]
    learned = qid < n
    return tuple(tuple(c[part] for c in (X, y, qid)) for part in (learned, ~learned))


@functools.cache
def by_draw(options, name, n, n_draws, ranker):
    """Return NDCG@10 and the processor seconds of a ranker in each draw."""
    values, seconds = [], []
    for draw in range(n_draws):
        part, test = cell(options, name, n, draw)
        began = time.process_time()
        with warnings.catch_warnings(action="ignore"):
            predict = fitted(ranker, part, draw)
        seconds.append(time.process_time() - began)
        found = comparing.METRIC.per_query(test[1], predict(test[0]), test[2])
        values.append(np.nanmean(found))
    return np.array(values), np.array(seconds)


def mean_of(options, name, n, n_draws, ranker):
    """Return the mean NDCG@10, and the median of processor seconds over those of the trees."""
    values, seconds = by_draw(options, name, n, n_draws, ranker)
    ratio = np.median(seconds / by_draw(options, name, n, n_draws, TREES)[1])
    return {"ndcg@10": values.mean(), "draws": n_draws, "seconds over the trees": ratio}


def lead_of(options, name, n, n_draws, ranker, peer):
    """Return the mean lead over draws, and its interval."""
    values = [by_draw(options, name, n, n_draws, each)[0] for each in (ranker, peer)]
    lead = values[0] - values[1]
    half = 1.96 * lead.std(ddof=1) / np.sqrt(n_draws)
    return {"lead": lead.mean(), "low": lead.mean() - half, "high": lead.mean() + half}


def measurements(options):
    """Yield NDCG@10 of each ranker, and leads, in each cell."""
    cells = [(name, n) for name, sizes in PUBLIC.items() for n in sizes]
    cells += [(name, n) for name in SYNTHETIC for n in FEW]

    def draws_of(ranker):
        return 2 if options.quick else DRAWS_OF_BLEND if ranker == BLEND else DRAWS

    for name, n in [(TINY, 12)] if options.quick else cells:
        conditions = {"data": name, "queries": n}
        for ranker in RANKERS:
            measure = functools.partial(mean_of, options, name, n, draws_of(ranker), ranker)
            yield Measurement(conditions | {"ranker": ranker}, measure)
        for ranker, peer in LEADS:
            measure = functools.partial(lead_of, options, name, n, draws_of(ranker), ranker, peer)
            yield Measurement(conditions | {"ranker": ranker, "less": peer}, measure)


def pooled(leads):
    """Return the mean of leads of several cells and its interval."""
    values = np.array([[v["lead"], v["high"] - v["lead"]] for v in leads])
    mean, half = values[:, 0].mean(), np.sqrt((values[:, 1] ** 2).sum()) / len(values)
    return mean, mean - half, mean + half


def passages(rows):
    """Return what the guide says of the gains on public sets and of the time."""
    public = {
        pair: [
            value
            for (name, _), value in values_by(
                rows, "data", "queries", ranker=pair[0], less=pair[1]
            ).items()
            if name in PUBLIC
        ]
        for pair in LEADS
    }
    means = values_by(rows, "data", "queries", "ranker")
    cells = list(dict.fromkeys((name, n) for name, n, _ in means if name in PUBLIC))

    def behind(peer):
        return number_of(value["high"] < 0 for value in public[DEFAULT, peer])

    if behind(LINEAR) == behind(PEER) == "none":
        worse = (
            "In none of these cases is the default significantly worse than the linear model or "
            "than `LGBMRanker()`."
        )
    else:
        worse = (
            "The default is significantly worse than the linear model in "
            f"{behind(LINEAR)} of these cases, and significantly worse than `LGBMRanker()` in "
            f"{behind(PEER)} of them."
        )

    def gain_of(ranker):
        lead, low, high = pooled(public[ranker, TREES])
        return f"{ndcg(lead)} in NDCG@10 (95 %: {ndcg(low)} to {ndcg(high)})"

    def times_of(ranker):
        times = [means[(*cell, ranker)]["seconds over the trees"] for cell in cells]
        return f"{min(times):.1f} to {max(times):.1f} times as much processor time"

    default = (
        f"On {len(PUBLIC)} public data sets, with {FEW[0]} to {FEW[-1]} of their queries used for "
        f"training, the default has an average gain of {gain_of(DEFAULT)} over trees that are "
        f"fitted to a single loss. Fitting the default takes {times_of(DEFAULT)} as fitting trees "
        "to a single loss. The default was also compared with a linear model and with "
        f"`LGBMRanker()` in {len(cells)} cases, each of which is a combination of a data set and "
        f"a number of judged queries. {worse} On average, the NDCG@10 of the default is "
        f"{ndcg(pooled(public[DEFAULT, LINEAR])[0])} higher than that of the linear model and "
        f"{ndcg(pooled(public[DEFAULT, PEER])[0])} higher than that of `LGBMRanker()` "
        "([evidence](../evidence.md))."
    )
    linear = (
        "On the same data sets, the ensemble with a linear model has an average gain of "
        f"{gain_of(BLEND)} over trees that are fitted to a single loss. Fitting the ensemble "
        f"takes {times_of(BLEND)} as fitting trees to a single loss."
    )
    return {"default": default, "linear": linear}


def section(rows):
    """Return the forest plot of leads over trees of one loss, and the tables."""
    leads = {
        pair: {
            (name, n): v
            for (name, n, ranker, less), v in values_by(
                rows, "data", "queries", "ranker", "less"
            ).items()
            if (ranker, less) == pair
        }
        for pair in LEADS
    }
    over = leads[DEFAULT, TREES]
    groups = {
        f"{name}, {n} queries": {
            _code(ranker).strip("`"): _interval(leads[ranker, TREES][name, n])
            for ranker in (DEFAULT, BLEND)
            if (name, n) in leads[ranker, TREES]
        }
        for name, n in over
    }
    body, summary = [], {}
    for kind in ("public", "synthetic"):
        for pair in LEADS:
            chosen = [
                value
                for (name, _), value in leads[pair].items()
                if (name in SYNTHETIC) == (kind == "synthetic")
            ]
            n_cells = sum((name in SYNTHETIC) == (kind == "synthetic") for name, _ in over)
            if not chosen or len(chosen) < n_cells:  # a mean over some cells would mislead
                continue
            found = summary[kind, pair] = pooled(chosen)
            body.append(
                [
                    kind,
                    _code(pair[0]),
                    _code(pair[1]),
                    *map(signed, found),
                    f"{sum(v['low'] > 0 for v in chosen)} of {len(chosen)}",
                    f"{sum(v['high'] < 0 for v in chosen)} of {len(chosen)}",
                ]
            )
    answer = (
        f"With 25 to 100 judged queries, `{DEFAULT}` adds up the scores of two sets of trees: one "
        "set is fitted to pairs of documents, and the other, which has half the weight, to the "
        f"labels by squared error. `{TREES}` has only the trees that are fitted to pairs. The two "
        f"rankers were compared in {len(over)} cells, each of which is a combination of a data "
        f"set and a number of judged queries. The NDCG@10 of `{DEFAULT}` is higher in "
        f"{sum(v['lead'] > 0 for v in over.values())} of these cells (significantly in "
        f"{sum(v['low'] > 0 for v in over.values())} of them), and significantly lower in "
        f"{number_of(v['high'] < 0 for v in over.values())}."
    )
    if ("public", (DEFAULT, TREES)) in summary:
        lead, low, high = summary["public", (DEFAULT, TREES)]
        answer += (
            f" On public data sets, the average lead of `{DEFAULT}` over `{TREES}` is "
            f"{signed(lead)} (95 % interval: {signed(low)} to {signed(high)}). With a linear "
            "model as a third component, the average lead is "
            f"{signed(summary['public', (BLEND, TREES)][0])}."
        )
    means = values_by(rows, "data", "queries", "ranker")
    names = [*map(_code, RANKERS)]
    head = ["data set", "queries"]
    cells = list(dict.fromkeys((name, n) for name, n, _ in means))
    quality = [
        [
            name,
            n,
            means[name, n, DEFAULT]["draws"],
            *(ndcg(means.get((name, n, r), {}).get("ndcg@10")) for r in RANKERS),
        ]
        for name, n in cells
    ]
    seconds = [
        [
            name,
            n,
            *(_ratio(means.get((name, n, r), {}).get("seconds over the trees")) for r in RANKERS),
        ]
        for name, n in cells
    ]
    each = [
        [name, n, _code(peer), *(signed(value[v]) for v in ("lead", "low", "high"))]
        for (ranker, peer), found in leads.items()
        if ranker == DEFAULT
        for (name, n), value in found.items()
    ]
    draws_of_blend = sorted({v["draws"] for (_, _, r), v in means.items() if r == BLEND})
    notes = (
        "In each cell, the training queries are drawn at random several times; the table of "
        "NDCG@10 shows the number of draws. With a linear model added to the default, there are "
        f"{' or '.join(map(str, draws_of_blend))} draws, depending on the cell. The components of "
        "these rankers and the weights of the components were chosen on the training and "
        "validation parts of the data sets, and fixed before the test parts were read. In data "
        "sets with five folds, however, the validation queries of one fold are test queries of "
        "another fold. The linear model was left out of the default after the test parts had been "
        "read, because few export formats for search engines support trees and a linear model "
        "together. The intervals are computed over draws. Draws from a public data set share test "
        "queries: in data sets with five folds, every fifth draw uses the test part of the same "
        "fold, and in other data sets, all draws use the same test part. The intervals therefore "
        "show how much the leads vary with the choice of training queries, but for public data "
        "sets, they do not fully show how much the leads would vary with the choice of test "
        "queries. LightGBM's example is the data of the "
        "ranking example in LightGBM's repository. In the names of the synthetic data sets, "
        '"30 % noise" means that 30 % of the labels were shuffled.'
    )
    chart = intervals(
        f"Leads over {TREES} in NDCG@10 with few queries. {answer}",
        groups,
        "lead in NDCG@10, with its 95 % interval",
    )
    lead_head = ["compared with", "lead", "from", "to"]
    return Section(
        answer,
        [chart],
        [
            (
                "Mean leads, and the number of cells with a significant lead",
                table(["data", "ranker", *lead_head, "better", "worse"], body),
            ),
            (
                f"Leads of `{DEFAULT}`",
                table(["data set", "queries", *lead_head], each),
            ),
            ("NDCG@10", table([*head, "draws", *names], quality)),
            (
                f"Processor time of a fit, relative to `{TREES}`",
                table([*head, *names], seconds),
            ),
        ],
        notes,
    )


def _code(ranker):
    return "default and linear model" if ranker == BLEND else f"`{ranker}`"


def _ratio(value):
    return "" if value is None else f"{value:.2f}"


def _interval(value):
    return tuple(value[v] for v in ("lead", "low", "high"))
