"""Which ranker learns most from clicks? Ours and the engines', under five ways to click.

    python benchmarks/bench_clicks.py --data synthetic FOLDER ...

A weak ranker, learned from a few labeled queries, logs its top 10 with some exploration, and users
click. NDCG@10 on other queries, against the true labels. A cell is a data set, a way to click and a
severity of the bias. Finished fits are kept in ``build/clicks``, so that the same command continues
after a stop. Errors are standard errors of differences by seed; with one seed, by query, which
leaves out that other clicks would have been drawn.
"""

import argparse
from itertools import product

import numpy as np
from click_cells import LOGGED, TRUTH, data_sets, measured
from click_rankers import NAIVE, OURS, REMEDIES, WAYS
from timing import say_versions

PEERS = ("LightGBM", "LightGBM, position=", "XGBoost", "XGBoost, lambdarank_unbiased")


def _compared(by_seed):
    """Return the mean of each seed, or the values of all queries of one seed."""
    known = [values[~np.isnan(values)] for values in by_seed]
    return known[0] if len(known) == 1 else np.array([values.mean() for values in known])


def verdict(values, name, others):
    """Return the mean of a ranker less that of the best of others, and its standard error."""
    best = max(others, key=lambda other: np.mean(values[other]))
    difference = values[name] - values[best]
    return difference.mean(), difference.std(ddof=1) / np.sqrt(len(difference))


def said(cells):
    """Print a line for each cell, and how often ours is best."""
    print(f"{'':32}", *(f"{name:>9.9}" for name in (OURS, *NAIVE, *PEERS, TRUTH, LOGGED)))
    n_best = n_within = n_below = 0
    for cell, values in cells.items():
        means = (f"{np.mean(values[name]):9.4f}" for name in (OURS, *NAIVE, *PEERS, TRUTH, LOGGED))
        (best, error), (naive, naive_error) = (
            verdict(values, OURS, others) for others in ([*NAIVE, *PEERS], NAIVE)
        )
        data, way, severity = cell
        print(f"{data_sets.name_of(data):12} {way:10} {severity:8}", *means, end=" ")
        print(f"{best:+.4f} +- {error:.4f}, to naive {naive:+.4f} +- {naive_error:.4f}")
        n_best += best >= 0
        n_within += best >= -error
        n_below += naive < -2 * naive_error
    print(f"{len(cells)} cells: ours is best in {n_best}, best or within an error of the best in")
    print(f"{n_within}, and two errors below the best naive one in {n_below}")


def said_of_some(cells, names):
    """Print the mean of ours, and of each of some rankers with what it differs from ours."""
    for (data, way, severity), values in cells.items():
        cell = f"{data_sets.name_of(data):12} {way:10} {severity:8}"
        print(f"{cell}  {OURS:36} {np.mean(values[OURS]):.4f}")
        for name in names[1:]:
            difference, error = verdict(values, name, [OURS])
            mean = np.mean(values[name])
            print(f"{cell}  {name:36} {mean:.4f}  {difference:+.4f} +- {error:.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=["synthetic"], help="or folders")
    parser.add_argument("--sessions", type=int, default=20, help="of each query")
    parser.add_argument("--severity", type=float, nargs="+", default=[0.0, 0.5, 1.0, 1.5, 2.0])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=[*WAYS])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    others = (*NAIVE, *PEERS, *REMEDIES)
    parser.add_argument("--rankers", nargs="+", choices=others, help="compare only these with ours")
    arguments = parser.parse_args()
    say_versions("lightgbm", "xgboost")
    names, cells = [OURS, *(arguments.rankers or (*NAIVE, *PEERS, TRUTH, LOGGED))], {}
    for cell in product(arguments.data, arguments.ways, arguments.severity):
        found = [measured(cell, seed, arguments.sessions, names) for seed in arguments.seeds]
        by_query = {name: [np.array(each[name]) for each in found] for name in names}
        cells[cell] = {name: _compared(values) for name, values in by_query.items()}
    if arguments.rankers:
        return said_of_some(cells, names)
    said(cells)


if __name__ == "__main__":
    main()
