"""Figures 2 and 3 of the DirectRanker paper: p-values of every pair of rankers on 15 hold-outs.

Drawn from the files of ``table1.py``: by the corrected t-test of Nadeau and Bengio, two-sided and,
as published, not adjusted for the number of pairs; the figures say so. Figure 2 has binary labels,
Figure 3 has them as they are.

    python benchmarks/paper/figures_2_3.py benchmarks/results/table1-mq2008-quick.json
"""

import argparse
from pathlib import Path

import numpy as np
from draw import save
from protocol import RESULTS, read
from table1 import shown

from treerank.statistics.pairwise_tests import PairwiseResult

TEST = "corrected resampled t-test"
FIGURES = {"binary": "figure2", "multi-class": "figure3"}


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="files of table1.py")
    parser.add_argument("--out", type=Path, default=RESULTS / "figures")
    arguments = parser.parse_args(argv)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for path in arguments.files or sorted(RESULTS.glob("table1-*.json")):
        content = read(path, shown)
        for entry in content["results"]:
            if entry["point"]["test"] in FIGURES:
                name = FIGURES[entry["point"]["test"]]
                draw_matrices(entry["result"], content, arguments.out / f"{name}-{path.stem}.svg")


def draw_matrices(result, content, path):
    """Draw one matrix per metric next to each other."""
    import matplotlib.pyplot as plt

    from treerank.plots import p_value_matrix

    metrics = list(result["metrics"])
    n_rankers = len(result["rankers"])
    size = (4.2 * len(metrics), 0.42 * n_rankers + 1.2)
    figure, axes = plt.subplots(1, len(metrics), figsize=size, layout="constrained", squeeze=False)
    for axis, metric in zip(axes[0], metrics, strict=True):
        p_value_matrix(pairwise_result(result["metrics"][metric]), ax=axis)
        axis.set_title(f"{metric}, {content['about']['data']}, corrected t-test", fontsize=8)
    save(figure, path)


def pairwise_result(metric):
    """Return the p-values of a file as the plot wants them."""
    test = metric["corrected_t"]
    names = test["names"]
    means = np.array([metric["mean"][ranker] for ranker in names])
    p_values = np.array(test["p_values"], dtype=float)
    return PairwiseResult(TEST, tuple(names), np.subtract.outer(means, means), p_values, False)


if __name__ == "__main__":
    main()
