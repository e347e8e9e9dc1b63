"""Few: trees and a linear model together, beside the default, on 25 to 100 judged queries.

A cell draws queries at random from the training and validation parts of a data set and measures
NDCG@10 on its test part; draw d takes fold d % 5 where there are folds. Synthetic cells have
queries of their own for every draw. Every ranker is fitted to the same queries, with a seed that
differs between draws. Leads are paired by draw; their interval of 95 % is that of the mean over
draws, which leaves out that draws of a set share test queries.

The blend and its weights were chosen by ten draws from the same pools, measured on the queries that
were not drawn, for MSRD by draws of folds 0 and 1 measured on fold 2, and by other seeds of
synthetic data. They were frozen in a commit before the test parts were read.
"""

import functools
import time
import warnings

import numpy as np

from benchmarks import comparing, data, rankers
from benchmarks.drawing import intervals, ndcg, signed, table
from benchmarks.measurements import Measurement
from benchmarks.page import Section
from benchmarks.questions import values_by
from benchmarks.rankers import DEFAULT
from treerank import Ensemble, LightGBMTrees, TreeDirectRanker, make_web_search, read_letor

TITLE = "Which ranker for 25 to 100 judged queries?"
IS_TIMING = False
DRAWS = 20
BLEND, TREES = "trees and a linear model", "trees of two losses"
LINEAR, PEER = 'TreeDirectRanker("linear")', "LGBMRanker()"
RANKERS = (DEFAULT, BLEND, TREES, LINEAR, PEER)
LEADS = (
    *((ranker, DEFAULT) for ranker in (BLEND, TREES)),
    *((BLEND, peer) for peer in (LINEAR, PEER)),
    *((DEFAULT, peer) for peer in (LINEAR, PEER)),
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


def _blend(seed, *, linear):
    trees = LightGBMTrees(n_jobs=1)
    part = Ensemble(
        [trees, trees, "linear"] if linear else [trees, trees],
        losses=[None, "half_squared_error", None][: 3 if linear else 2],
        shares=[1.0, 0.5, 0.3][: 3 if linear else 2],
        n_bags=0,
        n_refits=1,
    )
    return TreeDirectRanker(part, random_state=seed)


def fitted(ranker, part, seed):
    """Return ``predict`` of a fitted ranker."""
    if ranker in rankers.RANKERS:
        return rankers.RANKERS[ranker](part, None, seed)
    if ranker == LINEAR:
        return TreeDirectRanker("linear", random_state=seed).fit(*part).predict
    return _blend(seed, linear=ranker == BLEND).fit(*part).predict


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
def by_draw(options, name, n, n_draws):
    """Return NDCG@10 and the processor seconds of each ranker in each draw."""
    values, seconds = ({ranker: [] for ranker in RANKERS} for _ in range(2))
    for draw in range(n_draws):
        part, test = cell(options, name, n, draw)
        for ranker in RANKERS:
            began = time.process_time()
            with warnings.catch_warnings(action="ignore"):
                predict = fitted(ranker, part, draw)
            seconds[ranker].append(time.process_time() - began)
            found = comparing.METRIC.per_query(test[1], predict(test[0]), test[2])
            values[ranker].append(np.nanmean(found))
    return [{ranker: np.array(v) for ranker, v in each.items()} for each in (values, seconds)]


def mean_of(options, name, n, n_draws, ranker):
    """Return the mean NDCG@10, and the median of processor seconds over those of the default."""
    values, seconds = by_draw(options, name, n, n_draws)
    ratio = np.median(seconds[ranker] / seconds[DEFAULT])
    return {"ndcg@10": values[ranker].mean(), "draws": n_draws, "seconds over the default": ratio}


def lead_of(options, name, n, n_draws, ranker, peer):
    """Return the mean lead over draws, and its interval."""
    values = by_draw(options, name, n, n_draws)[0]
    lead = values[ranker] - values[peer]
    half = 1.96 * lead.std(ddof=1) / np.sqrt(n_draws)
    return {"lead": lead.mean(), "low": lead.mean() - half, "high": lead.mean() + half}


def measurements(options):
    """Yield NDCG@10 of each ranker, and leads, in each cell."""
    cells = [(name, n) for name, sizes in PUBLIC.items() for n in sizes]
    cells += [(name, n) for name in SYNTHETIC for n in FEW]
    n_draws = 2 if options.quick else DRAWS
    for name, n in [(TINY, 12)] if options.quick else cells:
        conditions = {"data": name, "queries": n}
        for ranker in RANKERS:
            measure = functools.partial(mean_of, options, name, n, n_draws, ranker)
            yield Measurement(conditions | {"ranker": ranker}, measure)
        for ranker, peer in LEADS:
            measure = functools.partial(lead_of, options, name, n, n_draws, ranker, peer)
            yield Measurement(conditions | {"ranker": ranker, "less": peer}, measure)


def pooled(leads):
    """Return the mean of leads of several cells and its interval."""
    values = np.array([[v["lead"], v["high"] - v["lead"]] for v in leads])
    mean, half = values[:, 0].mean(), np.sqrt((values[:, 1] ** 2).sum()) / len(values)
    return mean, mean - half, mean + half


def passages(rows):
    """Return what the guide says of the gains on public sets and of the time."""
    public = {}
    for pair in LEADS:
        found = values_by(rows, "data", "queries", ranker=pair[0], less=pair[1])
        public[pair] = [value for (name, _), value in found.items() if name in PUBLIC]
    lead, low, high = pooled(public[BLEND, DEFAULT])
    trees, trees_low, trees_high = pooled(public[TREES, DEFAULT])
    behind = sum(v["high"] < 0 for pair in LEADS if pair[0] == BLEND for v in public[pair])
    times = values_by(rows, "data", "queries", ranker=BLEND).values()
    times = [value["seconds over the default"] for value in times]
    text = (
        f"On {len(PUBLIC)} public sets with {FEW[0]} to {FEW[-1]} queries it gains "
        f"{ndcg(lead)} in NDCG@10 over the default on average (95 %: {ndcg(low)} to "
        f"{ndcg(high)}). It is significantly behind the default, the linear model or "
        f"`LGBMRanker()` in {'none' if behind == 0 else behind} of the cells "
        f"([evidence](../evidence.md)). A fit takes {min(times):.1f} to {max(times):.1f} times the "
        "processor time of the default's. "
        f"Without the linear model the gain is {ndcg(trees)} ({ndcg(trees_low)} to "
        f"{ndcg(trees_high)})."
    )
    return {"gain": text}


def section(rows):
    """Return the forest plot of leads over the default, and the tables."""
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
    over = leads[BLEND, DEFAULT]
    groups = {
        f"{name}, {n} queries": {
            f"{ranker} less {DEFAULT}": _interval(leads[ranker, DEFAULT][name, n])
            for ranker in (BLEND, TREES)
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
            if not chosen:
                continue
            found = summary[kind, pair] = pooled(chosen)
            body.append(
                [
                    kind,
                    pair[0] if pair[0] in (BLEND, TREES) else f"`{pair[0]}`",
                    f"`{pair[1]}`",
                    *map(signed, found),
                    str(sum(v["low"] > 0 for v in chosen)),
                    str(sum(v["high"] < 0 for v in chosen)),
                ]
            )
    answer = (
        "Trees fitted to the pairs, trees fitted to the labels by squared error and a linear "
        "model, added with the weights 1, .5 and .3 after division by their standard deviations, "
        f"rank better than `{DEFAULT}` in "
        f"{sum(v['lead'] > 0 for v in over.values())} of {len(over)} cells, "
        f"significantly in {sum(v['low'] > 0 for v in over.values())}, and significantly worse in "
        f"{sum(v['high'] < 0 for v in over.values())}."
    )
    if ("public", (BLEND, DEFAULT)) in summary:
        lead, low, high = summary["public", (BLEND, DEFAULT)]
        answer += (
            f" On average over public sets with 25 to 100 queries they gain {signed(lead)} "
            f"({signed(low)} to {signed(high)}); trees of the two losses without the linear model "
            f"gain {signed(summary['public', (TREES, DEFAULT)][0])}."
        )
    means = values_by(rows, "data", "queries", "ranker")
    names = [*(r if r in (BLEND, TREES) else f"`{r}`" for r in RANKERS)]
    head = ["data set", "queries"]
    cells = list(dict.fromkeys((name, n) for name, n, _ in means))
    quality = [
        [
            name,
            n,
            means[name, n, DEFAULT]["draws"],
            *(ndcg(means[name, n, ranker]["ndcg@10"]) for ranker in RANKERS),
        ]
        for name, n in cells
    ]
    seconds = [
        [
            name,
            n,
            *(f"{means[name, n, r]['seconds over the default']:.2f}" for r in RANKERS),
        ]
        for name, n in cells
    ]
    each = [
        [name, n, f"`{peer}`", *(signed(value[v]) for v in ("lead", "low", "high"))]
        for (ranker, peer), found in leads.items()
        if ranker == BLEND
        for (name, n), value in found.items()
    ]
    notes = (
        "The members and their weights were chosen on queries of the "
        "training and validation parts, and frozen before the test parts were read; over five "
        "folds the queries of validation parts are test queries of other folds, but not those of "
        "MSRD and of the synthetic draws. Draws of a set share its test queries, so the intervals "
        "show how much the choice of the drawn queries matters, not how results would differ on "
        "other test queries."
    )
    chart = intervals(
        f"Leads over {DEFAULT} in NDCG@10 with few queries. {answer}",
        groups,
        "lead in NDCG@10, with its 95 % interval",
    )
    lead_head = ["less", "lead", "from", "to"]
    return Section(
        answer,
        [chart],
        [
            (
                "Leads in the mean of cells, and the cells that are significantly ahead or behind",
                table(["data", "ranker", *lead_head, "ahead", "behind"], body),
            ),
            (
                "Leads of trees and a linear model",
                table(["data set", "queries", *lead_head], each),
            ),
            ("NDCG@10", table([*head, "draws", *names], quality)),
            (
                f"Processor seconds of a fit over those of `{DEFAULT}`",
                table([*head, *names], seconds),
            ),
        ],
        notes,
    )


def _interval(value):
    return tuple(value[v] for v in ("lead", "low", "high"))
