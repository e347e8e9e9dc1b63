"""Many: the sizes of trees that are chosen from 1,000 to 30,000 queries, beside a grid of sizes.

A cell fits ``TreeDirectRanker(LightGBMTrees(...))`` with a number of leaves to queries of a data
set and measures NDCG@10 on other queries, never on test parts, after 45 to 400 trees at a
learning rate of .05, or after 20 to 200 at .1 from 10,000 queries on. The rule of ``auto_sizes``
is fitted as it is, with its own rate, and so are sizes that held-out training queries choose, which
are the default. The cells are also measured on both halves of the queries: the best cell of one
half, measured on the other, is not ahead by chance. "left out" chooses the leaves and the sum of
the rates, both powers of the number of queries, by the cells of the other two data sets. Further,
the loss "half_squared_tanh" is compared with the default's, with the sizes of the rule.
"""

import functools
import itertools
import time

import numpy as np

from benchmarks import comparing, problems
from benchmarks.drawing import intervals, ndcg, signed, table
from benchmarks.measurements import Measurement
from benchmarks.page import Section
from benchmarks.questions import sizes
from treerank import LightGBMTrees, TreeDirectRanker
from treerank.feature_parts.trees.auto_sizes import auto_sizes
from treerank.statistics import bootstrap_interval

TITLE = "Are the hyperparameters right for thousands of queries?"
IS_TIMING = False
LOSS = "half_squared_tanh"
RULE, DEFAULT = "from the numbers alone", "chosen from the data"
#: What sizes are chosen from, as the page calls it.
WAYS = {RULE: "numbers alone", DEFAULT: "held-out queries"}
#: What follows the name of a value: of all measured queries, or of half of them.
HALVES = ("", ", half 0", ", half 1")
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
def by_query(options, problem, sizes, loss="logistic"):
    """Return NDCG@10 of the measured queries, the sizes of the trees, and processor seconds."""
    X, y, qid, *measured = problems.problem(options, *problem)
    chosen = {}
    if sizes == RULE:
        chosen = auto_sizes(len(y), len(np.unique(qid)), X.shape[1])._asdict()
    ranker = TreeDirectRanker(LightGBMTrees(n_jobs=1, **chosen), loss=loss, random_state=0)
    began = time.process_time()
    ranker.fit(X, y, qid)
    seconds = time.process_time() - began
    values = comparing.METRIC.per_query(measured[1], ranker.predict(measured[0]), measured[2])
    trees = ranker.feature_part_
    chosen = {
        "trees": trees.n_estimators_,
        "leaves": trees.num_leaves_,
        "rate": trees.learning_rate_,
    }
    return values, chosen, seconds


def of_halves(values):
    """Return the mean of values by query, and the means of both halves of the queries."""
    halves = [np.nanmean(values[start::2]) for start in (0, 1)]
    return {"": np.nanmean(values), ", half 0": halves[0], ", half 1": halves[1]}


def by_sizes(options, problem, sizes):
    """Return NDCG@10 with the sizes of the default or of the rule, the sizes, and the time."""
    values, chosen, seconds = by_query(options, problem, sizes)
    ratio = seconds / by_query(options, problem, RULE)[2]
    found = {f"ndcg@10{half}": value for half, value in of_halves(values).items()}
    n_queries = int((~np.isnan(values)).sum())
    return found | {"n_queries": n_queries} | chosen | {"seconds over the rule": ratio}


def cell(options, problem, leaves, n_trees, rate):
    """Return NDCG@10 after some numbers of trees, on all measured queries and on halves."""
    X, y, qid, *measured = problems.problem(options, *problem)
    by_iteration = []

    def recorded(labels, scores, queries):
        values = comparing.METRIC.per_query(labels, scores, queries)
        by_iteration.append(list(of_halves(values).values()))
        return by_iteration[-1][0]

    part = LightGBMTrees(
        n_trees,
        num_leaves=leaves,
        learning_rate=rate,
        colsample_bytree=0.5,
        early_stopping_rounds=None,
        n_jobs=1,
    )
    ranker = TreeDirectRanker(part, random_state=0)
    ranker.fit(X, y, qid, eval_set=measured, eval_metric=recorded)
    curves = np.array(by_iteration)[-n_trees:]
    found = {"documents": len(y), "queries": len(np.unique(qid)), "features": X.shape[1]}
    for n in (n for n in sizes.TREES if n <= n_trees):  # means of the values nearby
        means = curves[int(0.93 * (n - 1)) : int(1.07 * (n - 1)) + 1].mean(axis=0)
        found |= dict(zip((f"{n} trees{half}" for half in HALVES), means, strict=True))
    return found


def lead_of_loss(options, problem):
    """Return by how much another loss leads the default's."""
    lead = by_query(options, problem, RULE, LOSS)[0] - by_query(options, problem, RULE)[0]
    interval = bootstrap_interval(lead[~np.isnan(lead)])
    return {"lead": interval.estimate, "low": interval.low, "high": interval.high}


def measurements(options):
    """Yield the cells of all problems, the rule, and the lead of another loss."""
    sets = {"tiny": problems.TINY["tiny"]} if options.quick else problems.MANY
    for name, entries in sets.items():
        for problem in entries:
            conditions = {"data": name, "queries": problem[1], "draw": problem[-1]}
            for chosen in (RULE, DEFAULT):
                measure = functools.partial(by_sizes, options, problem, chosen)
                yield Measurement(conditions | {"sizes": chosen}, measure)
            measure = functools.partial(lead_of_loss, options, problem)
            yield Measurement(conditions | {"loss": LOSS}, measure)
            n_trees = 100 if options.quick else trees_of(problem[1])[-1]
            rate = rate_of(problem[1])
            for leaves in leaves_of(problem[1])[: 1 if options.quick else None]:
                measure = functools.partial(cell, options, problem, leaves, n_trees, rate)
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
            whole := [cells for cells in draws.values() if len(cells) == 2 + len(leaves_of(key[1]))]
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


def grid(draws, n, half=""):
    """Return NDCG@10 of each cell, a number of leaves and one of trees, in the mean over draws."""
    return {
        (k, t): np.mean([cells[f"{k} leaves"][f"{t} trees{half}"] for cells in draws])
        for k in leaves_of(n)
        for t in trees_of(n)
    }


def less_best_of_other_half(draws, n, sizes):
    """Return NDCG@10 of a half less that of the cell that is best on the other half.

    The mean over both halves.
    """
    leads = []
    for half, other in itertools.permutations(HALVES[1:]):
        chosen = max(cells := grid(draws, n, other), key=cells.get)
        value = np.mean([cells[sizes][f"ndcg@10{half}"] for cells in draws])
        leads.append(value - grid(draws, n, half)[chosen])
    return np.mean(leads)


def section(rows):
    """Return what hyperparameters and constants of other data sets lose to the best cell."""
    problems_by_key = by_draw(rows)
    best = {
        (name, n): max(grid(draws, n).items(), key=lambda item: item[1])
        for (name, n), draws in problems_by_key.items()
    }
    by_sizes = {
        sizes: {
            key: np.mean([cells[sizes]["ndcg@10"] for cells in draws]) - best[key][1]
            for key, draws in problems_by_key.items()
        }
        for sizes in (RULE, DEFAULT)
    }
    with_halves = {
        (name, n): draws
        for (name, n), draws in problems_by_key.items()
        if all(
            f"{trees_of(n)[0]} trees{HALVES[1]}" in cells[f"{k} leaves"]
            for cells in draws
            for k in leaves_of(n)
        )
    }
    by_chance = {
        sizes: {
            key: less_best_of_other_half(draws, key[1], sizes) for key, draws in with_halves.items()
        }
        for sizes in (RULE, DEFAULT)
    }
    times = {
        key: np.mean([cells[DEFAULT]["seconds over the rule"] for cells in draws])
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
        constants.append([name, *chosen])
    compared = {WAYS[sizes]: values for sizes, values in by_sizes.items()}
    compared |= {"other data sets": left_out} if left_out else {}
    body = [
        [
            name,
            f"{n:,}",
            len(draws),
            f"{best[name, n][0][1]} trees of {best[name, n][0][0]} leaves",
            ndcg(best[name, n][1]),
            *(signed(values[name, n]) for values in compared.values()),
        ]
        for (name, n), draws in problems_by_key.items()
    ]
    head = ["data set", "queries", "draws", "best cell", "NDCG@10", *compared]
    chosen = [
        [name, f"{n:,}", WAYS[sizes], v["trees"], v["leaves"], f"{v['rate']:.3f}"]
        for (name, n), draws in problems_by_key.items()
        for sizes in (RULE, DEFAULT)
        for v in [draws[0][sizes]]
    ]
    of_halves = [
        [
            name,
            f"{n:,}",
            *(
                signed(by_chance[sizes][name, n]) if (name, n) in with_halves else ""
                for sizes in (RULE, DEFAULT)
            ),
            f"{times[name, n]:.2f}",
        ]
        for name, n in problems_by_key
    ]
    losses = {
        (c["data"], c["queries"], c["draw"]): row["values"]
        for row in rows
        if "loss" in (c := row["conditions"])
    }
    answer = "No data set has all of its cells."
    if names:
        lost, alone = (mean_of_sets(by_sizes[sizes], names) for sizes in (DEFAULT, RULE))
        fair = mean_of_sets(
            by_chance[DEFAULT], list(dict.fromkeys(name for name, _ in with_halves))
        )
        each = "; ".join(
            f"{name}: {ndcg(-mean_of_sets(by_sizes[DEFAULT], [name]))}" for name in names
        )
        answer = (
            "With 1,000 to 30,000 training queries, the default chooses the sizes of its trees on "
            f"held-out training queries. On average, the NDCG@10 of the default is {ndcg(-lost)} "
            f"lower than that of the best cell in a grid of sizes ({each}). A cell is a "
            "combination of a number of leaves and a number of trees. If the sizes are computed "
            f"only from the numbers of documents, queries and features, NDCG@10 is {ndcg(-alone)} "
            "lower than that of the best cell. Both comparisons favor the best cell, which is "
            "chosen on the same queries on which it is measured. If the best cell is chosen on "
            "one half of the queries and measured on the other half, the NDCG@10 of the default "
            f"is {ndcg(abs(fair))} {'higher' if fair > 0 else 'lower'} than that of this cell."
        )
    if left_out:
        together = max(mean_of_sets(gains[c], names) for c in CONSTANTS)
        answer += (
            " The rule that computes the sizes from the numbers of documents, queries and "
            "features has four constants. If the constants for a data set are chosen only on the "
            f"other data sets, the NDCG@10 of the rule is {ndcg(-mean_of_sets(left_out, names))} "
            "lower than that of the best cell. If the constants are chosen on all of the data "
            f"sets, the NDCG@10 of the rule is {ndcg(-together)} lower than that of the best cell."
        )
    groups = {
        f"{name}, {n:,} queries": {
            label: (values[name, n], None, None) for label, values in compared.items()
        }
        for name, n in problems_by_key
    }
    tables = [
        (
            "Leads over the best cell, by how the sizes were chosen",
            table(head, body),
        ),
        (
            "Leads over the cell that is best on the other half of the queries",
            table(["data set", "queries", *WAYS.values(), "relative time"], of_halves),
        ),
        (
            "Hyperparameters",
            table(
                ["data set", "queries", "chosen from", "trees", "leaves", "learning rate"], chosen
            ),
        ),
    ]
    if constants:
        head = ["chosen without", "leaves", "exponent", "sum of learning rates", "exponent"]
        tables.append(("Constants of the rule", table(head, constants)))
    if losses:
        tables.append(
            (
                f'Lead of `loss="{LOSS}"` over the default loss',
                table(
                    ["data set", "queries", "draw", "lead", "from", "to"],
                    [
                        [name, f"{n:,}", draw, *(signed(v[x]) for x in ("lead", "low", "high"))]
                        for (name, n, draw), v in losses.items()
                    ],
                ),
            )
        )
    notes = (
        "The training queries of MSRD are drawn from folds 0 to 2, and NDCG@10 is measured on "
        '2,000 other queries from these folds. In the names of the synthetic data sets, "30 % '
        'noise" means that 30 % of the labels were shuffled. With 30,000 queries, NDCG@10 was '
        "not measured on halves of the queries.\n\nTo choose the sizes, the default draws two "
        "samples of the training queries, and fits two sets of trees to each sample. The first "
        "set has the sizes that the rule computes from the numbers of documents, queries and "
        "features in the sample. The second set has 0.4 times as many leaves per tree as the "
        "first, and the sum of the learning rates of its trees is half as large. On other "
        "training queries, the default then compares the two sets, and uses the smaller trees if "
        "they have a lower loss, and an NDCG@10 that is higher by more than the standard error of "
        "the difference. The factors 0.4 (for leaves) "
        "and 0.5 (for learning rates) were chosen on the synthetic data with 30 % and with 50 % "
        "noise, and fixed in a commit before anything was evaluated on the test parts. The column "
        "of relative times shows the processor time of a fit that chooses its sizes on held-out "
        "queries, divided by that of a fit that uses the sizes of the rule.\n\nThe rule makes the "
        "number of leaves and the sum of the learning rates proportional to powers of the number "
        "of queries. The table of constants shows the number of leaves and the sum of the "
        "learning rates for 1,000 queries, and the exponents of the powers."
    )
    charts = [intervals(answer, groups, "lead over the best cell in NDCG@10")] if groups else []
    return Section(answer, charts, tables, notes)


def passages(rows):
    """Return what the guide says of the choice by held-out queries."""
    problems_by_key = by_draw(rows)
    names = list(dict.fromkeys(name for name, _ in problems_by_key))
    leads, times = (
        {
            key: np.mean([function(cells) for cells in draws])
            for key, draws in problems_by_key.items()
        }
        for function in (
            lambda cells: cells[DEFAULT]["ndcg@10"] - cells[RULE]["ndcg@10"],
            lambda cells: cells[DEFAULT]["seconds over the rule"],
        )
    )
    each = "; ".join(f"{name}: {signed(mean_of_sets(leads, [name]))}" for name in names)
    text = (
        "In our measurements with 1,000 to 30,000 queries, choosing the sizes on held-out queries "
        f"changes NDCG@10 by {signed(mean_of_sets(leads, names))} on average ({each}). A fit that "
        f"chooses the sizes takes {min(times.values()):.1f} to {max(times.values()):.1f} times as "
        "much processor time as a fit that does not ([evidence](../evidence.md))."
    )
    return {"default": text}


def mean_of_sets(values, names, but=None):
    """Return the mean over data sets of the mean over their numbers of queries."""
    return np.mean(
        [
            np.mean([value for (name, _), value in values.items() if name == each])
            for each in names
            if each != but
        ]
    )
