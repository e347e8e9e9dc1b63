"""Shapes: whether the files of results agree with the papers' claims, with errors and tests.

    python benchmarks/paper/shapes.py

Figures 5 a and b: every ranker is compared with ListNet on the same data sets, by a t-test of the
differences. Table 2: Adam is compared with plain gradient descent on the same folds by the
corrected t-test, at the same learning rate and with the rate of either chosen on the validation
set. The tests of one part are adjusted together, by Holm. Figure 6 on a folder: the share of pairs
within a merged class that are sorted right, after training on all classes and on merged ones.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import figure5
import figure6
import numpy as np
import table2
from protocol import RESULTS, read
from scipy import stats

from treerank.statistics.paired import adjust_holm
from treerank.statistics.resampled import corrected_resampled_t_test

LISTWISE = "ListNet"
#: Of five folds, three are trained on and one is tested.
TEST_TO_TRAIN = 1 / 3


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the files")
    arguments = parser.parse_args(argv)
    for script, says in ((figure5, figure5_says), (table2, table2_says), (figure6, figure6_says)):
        for path in sorted(arguments.results.glob(f"{script.__name__}-*.jsonl")):
            for part, content in sorted(read(path, script.shown).items()):
                said = says(part, content["results"])
                if said:
                    print(f"{path.stem}, {part}\n{said}\n")


def figure5_says(part, results):
    """Return the table of panels a and b; the other panels vary something else."""
    return table_if_complete(figure5_rows, results) if part[0] in "ab" else None


def table2_says(part, results):
    """Return the table of a data set."""
    return table_if_complete(table2_rows, results)


def figure6_says(part, results):
    """Return the lines of a data set; Gaussian classes have none."""
    return figure6_lines(results)


def table_if_complete(rows_of, results):
    """Return a table, or why there is none, as when a run has only begun."""
    try:
        return table_of(rows_of(results))
    except ValueError as error:
        return str(error)


def figure5_rows(results):
    """Yield what is compared, the mean, and the differences from ListNet by data set."""
    values = by_setting(results, "ranker", "value")
    for (ranker, value), found in sorted(values.items(), key=lambda item: item[0][1]):
        if ranker != LISTWISE:
            pairs = [(v, values[LISTWISE, value][seed]) for seed, v in found.items()]
            ours, theirs = np.array(pairs).T
            p_value = stats.ttest_rel(ours, theirs).pvalue
            yield f"{value:g}: {ranker} against {LISTWISE}", ours, theirs, p_value, 0.0


def table2_rows(results):
    """Yield Adam against gradient descent, at each rate and at the best of each by validation."""
    values = by_setting(results, "optimizer", "activation", "learning_rate")
    rates = sorted({rate for _, _, rate in values})
    for activation in dict.fromkeys(activation for _, activation, _ in values):
        chosen = {o: tuned(values, o, activation, rates) for o in ("Adam", "gradient descent")}
        for rate in rates:
            pair = [list(values[o, activation, rate].values()) for o in chosen]
            ours, theirs = (np.array([test for _, test in folds]) for folds in pair)
            yield f"{activation}, both at {rate:g}", ours, theirs, *corrected(ours, theirs)
        yield f"{activation}, each at its best", *chosen.values(), *corrected(*chosen.values())


def figure6_lines(results):
    """Return a line per training and merged class: mean over the queries of all folds."""
    found = defaultdict(list)
    for entry in results:
        for name, share in entry["result"].get("sorted_right", {}).items():
            found[entry["point"]["merged"], name].append(tuple(share.values()))
    lines = []
    for (merged, name), folds in found.items():
        mean, error, n = np.array(folds, dtype=float).T
        n_all = n.sum()
        spread = np.sqrt(np.nansum((n * error) ** 2)) / n_all  # of folds as strata
        how = "merged" if merged else "all classes"
        share = f"{(n * mean).sum() / n_all:.3f} ± {spread:.3f}"
        lines.append(f"trained on {how}, within the {name}: {share} of pairs, {n_all:.0f} queries")
    return "\n".join(lines)


def tuned(values, optimizer, activation, rates):
    """Return the value of each fold at the rate that its validation set chose."""
    folds = values[optimizer, activation, rates[0]]
    return np.array(
        [max(values[optimizer, activation, rate][fold] for rate in rates)[1] for fold in folds]
    )


def corrected(ours, theirs):
    """Return the p-value over folds, and by how much their overlap adds to the variance."""
    result = corrected_resampled_t_test(ours, theirs, test_to_train=TEST_TO_TRAIN)
    return result.p_value, TEST_TO_TRAIN


def by_setting(results, *names):
    """Return values by settings, then by data set or fold; pairs where a fold has two.

    Only data sets that all settings have: the others are under way.
    """
    values = defaultdict(dict)
    for entry in results:
        point, found = entry["point"], entry["result"]
        place = point.get("seed", point.get("fold"))
        value = found.get("ndcg@20", (found.get("validation"), found.get("test")))
        values[tuple(point[name] for name in names)][place] = value
    shared = sorted(set.intersection(*map(set, values.values())))
    return {setting: {place: found[place] for place in shared} for setting, found in values.items()}


def table_of(rows):
    """Return a Markdown table of differences."""
    rows = list(rows)
    adjusted = adjust_holm([p_value for *_, p_value, _ in rows])
    lines = ["| what | mean | of the other | difference | p (Holm) |", "| --- |" + " ---: |" * 4]
    for (name, ours, theirs, _, overlap), p_value in zip(rows, adjusted, strict=True):
        gain = ours - theirs
        error = np.sqrt(gain.var(ddof=1) * (1 / len(gain) + overlap))
        means = f"{ours.mean():.3f} | {theirs.mean():.3f} | {gain.mean():+.3f} ± {error:.3f}"
        lines.append(f"| {name} | {means} | {p_value:.3f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
