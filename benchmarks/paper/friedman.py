"""Friedman's and Nemenyi's tests of Table 1 of the DirectRanker paper, section 5.1.

    python benchmarks/paper/friedman.py

The paper's rows are means over folds, of each data set by each metric. Ours are the folds of the
data sets in ``results/table1-*.jsonl``, by NDCG@10. Folds share training data, so rows are not
independent: p-values are too small rather than too large.
"""

import argparse
from pathlib import Path

import numpy as np
from mean_ranks import critical_difference
from protocol import RESULTS, read
from scipy.stats import friedmanchisquare, rankdata
from table1 import shown

METRIC = "ndcg@10"
#: Rankers that are not in the paper's table.
OURS = ("TreeDirectRanker", "RankSVM")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=RESULTS / "table1-quick.jsonl")
    arguments = parser.parse_args(argv)
    names, rows = folds_of(read(arguments.file, shown))
    say(names, rows)
    of_paper = [name not in OURS for name in names]
    print("\nThe paper's rankers alone:")
    say(np.array(names)[of_paper], rows[:, of_paper])


def folds_of(parts):
    """Return the rankers that all data sets have, and one row per fold of every data set."""
    found = [
        entry["result"]["metrics"][METRIC]["by_split"]
        for content in parts.values()
        for entry in content["results"]
        if entry["point"]["test"] == "folds"
    ]
    names = [name for name in found[0] if all(name in by_split for by_split in found)]
    return names, np.concatenate([np.transpose([f[name] for name in names]) for f in found])


def say(names, rows):
    """Print the tests, mean ranks best first, and which rankers differ."""
    chi_squared, p_value = friedmanchisquare(*rows.T)
    print(f"{len(rows)} folds, chi-squared {chi_squared:.1f}, p = {p_value:.2g}")
    mean_ranks = rankdata(-rows, axis=1).mean(axis=0)
    for place in np.argsort(mean_ranks, kind="stable"):
        print(f"{mean_ranks[place]:6.2f} {names[place]}")
    critical = critical_difference(len(names), len(rows))
    print(f"critical difference {critical:.2f}")
    for pair in np.argwhere(np.triu(np.subtract.outer(mean_ranks, mean_ranks) ** 2 > critical**2)):
        print("they differ:", " and ".join(names[place] for place in pair))


if __name__ == "__main__":
    main()
