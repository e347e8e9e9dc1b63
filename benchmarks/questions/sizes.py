"""Sizes: what the hyperparameters that are chosen from the data gain and lose.

``auto_sizes`` reads the numbers of documents, queries and features. Every cell fits
``TreeDirectRanker(LightGBMTrees(...))`` to 30 to 471 queries of a data set, and measures NDCG@10
after a number of trees on other queries, never on test parts: 100 trees of 31 leaves at a learning
rate of .1 (the engines' defaults), and up to 400 trees of 4 to 63 leaves at .05. "lost" is what the
rule loses on a data set if its constants are fitted without that set. Further, single settings are
compared with the default. From 1,000 queries on, held-out queries have a say: that is ``many``.
"""

import functools
import itertools

import numpy as np

from benchmarks import comparing, problems
from benchmarks.drawing import intervals, ndcg, signed, table
from benchmarks.measurements import Measurement
from benchmarks.page import Section
from treerank import LightGBMTrees, TreeDirectRanker
from treerank.feature_parts.trees.auto_sizes import auto_sizes
from treerank.statistics import bootstrap_interval

TITLE = "How good are the hyperparameters that are chosen from up to 500 queries?"
IS_TIMING = False
LEAVES, RATE = (4, 8, 15, 31, 63), 0.05
TREES = (10, 20, 30, 45, 65, 100, 140, 200, 280, 400)
#: Leaves for 300 queries, power; sum of learning rates for 100 queries, power.
CONSTANTS = list(
    itertools.product((5, 6.5, 8, 10, 13), (0.4, 0.5, 0.6, 0.7, 0.8), (5, 7, 10), (0, 0.15, 0.3))
)
#: Settings of the trees and of the ranker, each beside the default.
SETTINGS = {
    "smoothing=0": ({}, {"smoothing": 0.0}),
    "smoothing=2": ({}, {"smoothing": 2.0}),
    'loss="half_squared_tanh"': ({}, {"loss": "half_squared_tanh"}),
    'weight="uniform"': ({}, {"weight": "uniform"}),
    "min_child_samples=1": ({"min_child_samples": 1}, {}),
    "colsample_bytree=1": ({"colsample_bytree": 1.0}, {}),
}


def cell(options, name, leaves, n_trees, rate=RATE):
    """Return NDCG@10 after some numbers of trees, and the numbers of documents and queries."""
    X, y, qid, *measured = problems.problem(options, *name)
    part = LightGBMTrees(
        n_trees,
        num_leaves=leaves or 31,
        learning_rate=rate if leaves else 0.1,
        colsample_bytree=0.5 if leaves else 1.0,
        early_stopping_rounds=None,
        n_jobs=1,
    )
    ranker = TreeDirectRanker(part, random_state=0).fit(X, y, qid, eval_set=measured)
    values = np.array(ranker.evals_result_["validation"]["ndcg@10"])
    found = {"documents": len(y), "queries": len(np.unique(qid)), "features": X.shape[1]}
    for n in (n for n in TREES if n <= n_trees):  # means of the values nearby
        found[f"{n} trees"] = values[int(0.93 * (n - 1)) : int(1.07 * (n - 1)) + 1].mean()
    return found


@functools.cache
def of_setting(options, family, setting):
    """Return NDCG@10 of the measured queries of all problems of a family."""
    of_trees, of_ranker = SETTINGS.get(setting, ({}, {}))
    values = []
    for name in (problems.TINY | problems.FAMILIES)[family]:
        X, y, qid, *measured = problems.problem(options, *name)
        part = LightGBMTrees(n_jobs=1, **of_trees)
        ranker = TreeDirectRanker(part, random_state=0, **of_ranker).fit(X, y, qid)
        scores = ranker.predict(measured[0])
        values.append(comparing.METRIC.per_query(measured[1], scores, measured[2]))
    values = np.concatenate(values)
    return values[~np.isnan(values)]


def setting_lead(options, family, setting):
    """Return by how much a setting leads the default."""
    values = of_setting(options, family, setting) - of_setting(options, family, "default")
    interval = bootstrap_interval(values)
    return {"lead": interval.estimate, "low": interval.low, "high": interval.high}


def measurements(options):
    """Yield the cells of all problems, and the leads of settings."""
    families = problems.TINY if options.quick else problems.FAMILIES
    for family, names in families.items():
        for draw, name in enumerate(names):
            for leaves in (None, *LEAVES):
                n_trees = 20 if options.quick else 400 if leaves else 100
                sizes = "engines' defaults" if leaves is None else f"{leaves} leaves"
                measure = functools.partial(cell, options, name, leaves, n_trees)
                yield Measurement({"problem": family, "draw": draw, "sizes": sizes}, measure)
    for family in families:
        for setting in list(SETTINGS)[: 1 if options.quick else None]:
            measure = functools.partial(setting_lead, options, family, setting)
            yield Measurement({"problem": family, "setting": setting}, measure)


def between(cells, leaves, n_trees):
    """Return NDCG@10 for any number of leaves and trees, between cells that were measured."""
    at = [
        np.interp(
            np.log(n_trees), np.log(TREES), [cells[f"{n} leaves"][f"{t} trees"] for t in TREES]
        )
        for n in LEAVES
    ]
    return np.interp(np.log(leaves), np.log(LEAVES), at)


def by_constants(cells, constants):
    """Return NDCG@10 of a rule of these constants."""
    usual = cells["engines' defaults"]
    n = max(usual["queries"], usual["documents"] / 100)
    leaves = np.clip(constants[0] * (n / 300) ** constants[1], 4, 63)
    travel = np.clip(constants[2] * (n / 100) ** constants[3], constants[2], 12)
    return between(cells, leaves, travel / RATE)


def section(rows):
    """Return engines' sizes, the best cell and the rule by family, and settings."""
    families = {}
    for row in rows:
        c = row["conditions"]
        if "sizes" in c:
            draws = families.setdefault(c["problem"], {})
            draws.setdefault(c["draw"], {})[c["sizes"]] = row["values"]
    families = {
        name: whole
        for name, draws in families.items()
        if (whole := [cells for cells in draws.values() if len(cells) == 1 + len(LEAVES)])
    }
    by_rule = {
        c: [np.mean([by_constants(d, c) for d in draws]) for draws in families.values()]
        for c in CONSTANTS
    }
    groups, body, lost = {}, [], []
    best_constants = max(CONSTANTS, key=lambda c: np.mean(by_rule[c]), default=None)
    for number, (name, draws) in enumerate(families.items()):
        usual = np.mean([d["engines' defaults"]["100 trees"] for d in draws])
        best = max(
            np.mean([d[f"{n} leaves"][f"{t} trees"] for d in draws]) for n in LEAVES for t in TREES
        )
        rule = np.mean([_rule(d) for d in draws])
        groups[name] = {
            "LightGBM's defaults": (usual - best, None, None),
            "chosen from the data": (rule - best, None, None),
        }
        cells = [name, len(draws), ndcg(usual), ndcg(best), ndcg(rule)]
        if len(families) > 1:
            others = max(CONSTANTS, key=lambda c, n=number: np.mean(np.delete(by_rule[c], n)))
            lost.append(by_rule[best_constants][number] - by_rule[others][number])
            cells.append(ndcg(lost[-1]))
        body.append(cells)
    ahead = sum(g["chosen from the data"][0] > g["LightGBM's defaults"][0] for g in groups.values())
    answer = (
        "treerank computes default hyperparameters from the numbers of documents, queries and "
        f"features. In {ahead} of {len(groups)} problems, `TreeDirectRanker` has a higher NDCG@10 "
        "with these hyperparameters than with LightGBM's defaults (100 trees of 31 leaves at a "
        "learning rate of .1). A problem is a data set, or a number of queries drawn from a data "
        "set. NDCG@10 is measured on queries that are not used in the fits."
    )
    head = ["problem", "draws", "LightGBM's defaults", "best cell", "chosen from the data"]
    tables = [("NDCG@10", table([*head, "lost"] if lost else head, body))]
    settings = [row for row in rows if "setting" in row["conditions"]]
    if settings:
        tables.append(
            (
                "Leads of single settings over the default",
                table(
                    ["problem", "setting", "lead", "from", "to"],
                    [
                        [
                            c["problem"],
                            f"`{c['setting']}`",
                            *(signed(v[n]) for n in ("lead", "low", "high")),
                        ]
                        for c, v in ((row["conditions"], row["values"]) for row in settings)
                    ],
                ),
            )
        )
    notes = (
        "A cell is a combination of a number of leaves and a number of trees. The best cell comes "
        "from a grid of 4 to 63 leaves and 10 to 400 trees at a learning rate of .05. The best "
        "cell is chosen on the same queries on which NDCG@10 is measured. To reduce noise, the "
        "NDCG@10 of a cell is averaged over the numbers of trees that differ from that of the "
        "cell by up to 7 %. For the hyperparameters chosen from the data, NDCG@10 is interpolated "
        'between cells. The column "lost" shows by how much NDCG@10 in a problem '
        "is lower if the constants of the rule for hyperparameters are chosen only on the other "
        'problems, instead of on all problems. In the names of the synthetic problems, "100 x 20" '
        "means 100 queries with 20 documents each. The problems use only the training and "
        "validation parts of the public data sets. The draws of an MSRD problem are all evaluated "
        "on the same 2,000 queries. The bootstrap treats the results of these draws as "
        "independent, so the intervals of single settings on MSRD are too narrow."
    )
    charts = [intervals(answer, groups, "lead over the best cell in NDCG@10")] if groups else []
    return Section(answer, charts, tables, notes)


def _rule(cells):
    """Return NDCG@10 of the sizes that ``auto_sizes`` chooses."""
    usual = cells["engines' defaults"]
    sizes = auto_sizes(*(usual[name] for name in ("documents", "queries", "features")))
    return between(cells, sizes.num_leaves, sizes.n_estimators * sizes.learning_rate / RATE)
