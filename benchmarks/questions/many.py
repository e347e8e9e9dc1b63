"""Many: the sizes of trees that are chosen from 1,000 to 30,000 queries, beside a grid of sizes.

A cell fits ``TreeDirectRanker(LightGBMTrees(...))`` with a number of leaves to queries of a data
set and measures NDCG@10 on other queries, never on test parts, after 45 to 400 trees at a
learning rate of .05, or after 20 to 200 at .1 from 10,000 queries on. The rule of ``auto_sizes``
is fitted as it is, with its own rate. "left out" chooses the leaves and the sum of the rates,
both powers of the number of queries, by the cells of the other two data sets. Further, the loss
"half_squared_tanh" is compared with the default's.
"""

import functools
import itertools

import numpy as np

from benchmarks import comparing, problems
from benchmarks.drawing import intervals, ndcg, signed, table
from benchmarks.measurements import Measurement
from benchmarks.page import Section
from benchmarks.questions import sizes
from treerank import LightGBMTrees, TreeDirectRanker
from treerank.statistics import bootstrap_interval

TITLE = "Are the hyperparameters right for thousands of queries?"
IS_TIMING = False
LOSS = "half_squared_tanh"
#: Leaves for 1,000 queries, power; sum of learning rates for 1,000 queries, power.
CONSTANTS = list(
    itertools.product((12, 18, 27), (0.15, 0.3, 0.5, 0.7), (7, 10, 14), (-0.15, 0, 0.15, 0.3))
)


def leaves_of(n):
    """Return the numbers of leaves that are measured for a number of queries."""
    if n >= 10_000:
        return (31, 63, 127, 255) if n < 30_000 else (63, 127, 255)
    return (8, 15, 31, 63) if n < 3000 else (15, 31, 63, 127)


def rate_of(n):
    """Return the learning rate of the cells for a number of queries."""
    return sizes.RATE if n < 10_000 else 0.1


def trees_of(n):
    """Return the numbers of trees after which cells are measured."""
    least, most = (45, 400) if n < 10_000 else (20, 200)
    return [n_trees for n_trees in sizes.TREES if least <= n_trees <= most]


@functools.cache
def by_query(options, problem, loss):
    """Return NDCG@10 of the measured queries with the chosen sizes, and these sizes."""
    X, y, qid, *measured = problems.problem(options, *problem)
    part = LightGBMTrees(n_jobs=1)
    ranker = TreeDirectRanker(part, loss=loss, random_state=0).fit(X, y, qid)
    values = comparing.METRIC.per_query(measured[1], ranker.predict(measured[0]), measured[2])
    trees = ranker.feature_part_
    chosen = {
        "trees": trees.n_estimators_,
        "leaves": trees.num_leaves_,
        "rate": trees.learning_rate_,
    }
    return values[~np.isnan(values)], chosen


def rule(options, problem):
    """Return NDCG@10 with the chosen sizes, and these sizes."""
    values, chosen = by_query(options, problem, "logistic")
    return {"ndcg@10": values.mean(), "n_queries": len(values)} | chosen


def lead_of_loss(options, problem):
    """Return by how much another loss leads the default's."""
    lead = by_query(options, problem, LOSS)[0] - by_query(options, problem, "logistic")[0]
    interval = bootstrap_interval(lead)
    return {"lead": interval.estimate, "low": interval.low, "high": interval.high}


def measurements(options):
    """Yield the cells of all problems, the rule, and the lead of another loss."""
    sets = {"tiny": problems.TINY["tiny"]} if options.quick else problems.MANY
    for name, entries in sets.items():
        for problem in entries:
            conditions = {"data": name, "queries": problem[1], "draw": problem[-1]}
            measure = functools.partial(rule, options, problem)
            yield Measurement(conditions | {"sizes": "chosen from the data"}, measure)
            measure = functools.partial(lead_of_loss, options, problem)
            yield Measurement(conditions | {"loss": LOSS}, measure)
            n_trees = 100 if options.quick else trees_of(problem[1])[-1]
            rate = rate_of(problem[1])
            for leaves in leaves_of(problem[1])[: 1 if options.quick else None]:
                measure = functools.partial(sizes.cell, options, problem, leaves, n_trees, rate)
                yield Measurement(conditions | {"sizes": f"{leaves} leaves"}, measure)


def by_draw(rows):
    """Return {(data, queries): [{sizes: values} of each draw]} of draws that are whole."""
    found = {}
    for row in rows:
        c = row["conditions"]
        if "sizes" in c:
            draws = found.setdefault((c["data"], c["queries"]), {})
            draws.setdefault(c["draw"], {})[c["sizes"]] = row["values"]
    return {
        key: whole
        for key, draws in found.items()
        if (
            whole := [cells for cells in draws.values() if len(cells) == 1 + len(leaves_of(key[1]))]
        )
    }


def between(cells, n, leaves, travel):
    """Return NDCG@10 for any number of leaves and sum of rates, between measured cells."""
    trees = trees_of(n)
    at = [
        np.interp(
            np.log(travel / rate_of(n)),
            np.log(trees),
            [cells[f"{k} leaves"][f"{t} trees"] for t in trees],
        )
        for k in leaves_of(n)
    ]
    return np.interp(np.log(leaves), np.log(leaves_of(n)), at)


def by_constants(draws, n, constants):
    """Return the mean NDCG@10 over draws of a rule of these constants."""
    leaves = constants[0] * (n / 1000) ** constants[1]
    travel = constants[2] * (n / 1000) ** constants[3]
    return np.mean([between(cells, n, leaves, travel) for cells in draws])


def section(rows):
    """Return what the rule and constants of other data sets lose to the best cell."""
    problems_by_key = by_draw(rows)
    best = {}
    for (name, n), draws in problems_by_key.items():
        cells = {
            (k, t): np.mean([d[f"{k} leaves"][f"{t} trees"] for d in draws])
            for k in leaves_of(n)
            for t in trees_of(n)
        }
        best[name, n] = max(cells.items(), key=lambda item: item[1])
    by_rule = {
        key: np.mean([d["chosen from the data"]["ndcg@10"] for d in draws]) - best[key][1]
        for key, draws in problems_by_key.items()
    }
    gains = {
        c: {
            key: by_constants(draws, key[1], c) - best[key][1]
            for key, draws in problems_by_key.items()
        }
        for c in CONSTANTS
    }
    names = list(dict.fromkeys(name for name, _ in problems_by_key))
    left_out, constants = {}, []
    for name in names if len(names) > 1 else []:
        chosen = max(CONSTANTS, key=lambda c, name=name: mean_of_sets(gains[c], names, but=name))
        left_out |= {key: value for key, value in gains[chosen].items() if key[0] == name}
        constants.append(
            f"without {name}, {chosen[0]} leaves with a power of {chosen[1]} and a sum of learning "
            f"rates of {chosen[2]} with a power of {chosen[3]}"
        )
    body = [
        [
            name,
            f"{n:,}",
            len(draws),
            f"{best[name, n][0][1]} trees of {best[name, n][0][0]} leaves",
            ndcg(best[name, n][1]),
            signed(by_rule[name, n]),
            signed(left_out[name, n]) if left_out else "",
        ]
        for (name, n), draws in problems_by_key.items()
    ]
    head = ["data", "queries", "draws", "best cell", "NDCG@10", "from the data", "constants"]
    chosen = [
        [name, f"{n:,}", v["trees"], v["leaves"], f"{v['rate']:.3f}"]
        for (name, n), draws in problems_by_key.items()
        for v in [draws[0]["chosen from the data"]]
    ]
    losses = {
        (c["data"], c["queries"], c["draw"]): row["values"]
        for row in rows
        if "loss" in (c := row["conditions"])
    }
    answer = "No data set has all of its cells."
    if names:
        each = "; ".join(f"{name}: {ndcg(-mean_of_sets(by_rule, [name]))}" for name in names)
        answer = (
            "With 1,000 to 30,000 queries, the NDCG@10 with hyperparameters chosen from the data "
            f"is on average {ndcg(-mean_of_sets(by_rule, names))} below that of the best cell of a "
            f"grid ({each})."
        )
    if left_out:
        together = max(mean_of_sets(gains[c], names) for c in CONSTANTS)
        answer += (
            " If the constants of the rule (for the number of leaves, and for the learning rate "
            "summed over all trees) are chosen on the other data sets, NDCG@10 is "
            f"{ndcg(-mean_of_sets(left_out, names))} below that of the best cell; with the best "
            f"constants for all data sets, it is {ndcg(-together)} below."
        )
    groups = {
        f"{name}, {n:,} queries": {
            "chosen from the data": (by_rule[name, n], None, None),
            **(
                {"constants of other data sets": (left_out[name, n], None, None)}
                if left_out
                else {}
            ),
        }
        for name, n in problems_by_key
    }
    tables = [
        (
            "NDCG@10 of the best cell, and how far hyperparameters chosen from the data and "
            "constants of the other data sets are from it",
            table(head, body),
        ),
        (
            "Hyperparameters chosen from the data",
            table(["data", "queries", "trees", "leaves", "learning rate"], chosen),
        ),
    ]
    if losses:
        tables.append(
            (
                f'Lead of `loss="{LOSS}"` over the default',
                table(
                    ["data", "queries", "draw", "lead", "from", "to"],
                    [
                        [name, f"{n:,}", draw, *(signed(v[x]) for x in ("lead", "low", "high"))]
                        for (name, n, draw), v in losses.items()
                    ],
                ),
            )
        )
    notes = (
        "The best cell is chosen on the same queries on which all cells are measured, so its lead "
        "is partly due to chance. For MSRD, the training queries are drawn from folds 0 to 2, "
        "and NDCG@10 is measured on 2,000 other queries of these folds. Each constant is given "
        "as its value for 1,000 queries and the power of the number of queries with which it "
        "grows. Chosen without one of the data sets, they are: " + "; ".join(constants) + "."
    )
    charts = [intervals(answer, groups, "NDCG@10 less that of the best cell")] if groups else []
    return Section(answer, charts, tables, notes)


def mean_of_sets(values, names, but=None):
    """Return the mean over data sets of the mean over their numbers of queries."""
    return np.mean(
        [
            np.mean([value for (name, _), value in values.items() if name == each])
            for each in names
            if each != but
        ]
    )
