"""Figures 2 and 3 of the DirectRanker paper: p-values of every pair of rankers on 15 hold-outs.

The p-values come from the files of ``table1.py``. They are of the corrected t-test of Nadeau and
Bengio, two-sided and, as in the paper, not adjusted for the number of pairs; the figures say so.
Figure 2 has binary labels, Figure 3 has them as they are.

    python benchmarks/paper/figures_2_3.py
"""

import argparse
from pathlib import Path

import numpy as np
from comparisons import square
from draw import save
from protocol import FIGURES, RESULTS, read
from table1 import shown

from treerank.statistics.pairwise_tests import PairwiseResult

TEST = "corrected resampled t-test"
FIGURE_OF_TEST = {"binary": "figure2", "multi-class": "figure3"}


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="files of table1.py")
    parser.add_argument("--out", type=Path, default=FIGURES)
    arguments = parser.parse_args(argv)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for path in arguments.files or sorted(RESULTS.glob("table1-*.jsonl")):
        for data, content in read(path, shown).items():
            name = f"{data}-{content['about']['protocol']}.svg"
            for entry in content["results"]:
                figure = FIGURE_OF_TEST.get(entry["point"]["test"])
                if figure is not None:
                    draw_matrices(entry["result"], data, arguments.out / f"{figure}-{name}")


def draw_matrices(result, data, path):
    """Draw one matrix per metric next to each other."""
    import matplotlib.pyplot as plt

    from treerank.plots import p_value_matrix

    metrics = list(result["metrics"])
    n_rankers = len(result["rankers"])
    size = (4.2 * len(metrics), 0.42 * n_rankers + 1.2)
    figure, axes = plt.subplots(1, len(metrics), figsize=size, layout="constrained", squeeze=False)
    for axis, metric in zip(axes[0], metrics, strict=True):
        p_value_matrix(pairwise_result(result["metrics"][metric]), ax=axis)
        axis.set_title(f"{metric}, {data}, corrected t-test", fontsize=8)
    save(figure, path)


def pairwise_result(metric):
    """Return the p-values of a file as the plot wants them."""
    test = metric["corrected_t"]
    names = test["names"]
    means = np.array([metric["mean"][ranker] for ranker in names])
    differences = np.subtract.outer(means, means)
    return PairwiseResult(TEST, tuple(names), differences, square(test["p_values"]), False)


if __name__ == "__main__":
    main()
