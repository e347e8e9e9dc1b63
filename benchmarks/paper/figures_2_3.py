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
from style import COLORS, LIGHT, tidy
from table1 import shown

from treerank.statistics.paired import format_p

#: Level at which a p-value is significant.
LEVEL = 0.05
#: Arrow and color of a p-value: not significant, the row is better, the column is better.
ARROWS = ("", "\N{LEFTWARDS ARROW}", "\N{UPWARDS ARROW}")
CELL_COLORS = (LIGHT, COLORS[0], COLORS[1])
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

    metrics = list(result["metrics"])
    n_rankers = len(result["rankers"])
    size = (4.2 * len(metrics), 0.42 * n_rankers + 1.2)
    figure, axes = plt.subplots(1, len(metrics), figsize=size, layout="constrained", squeeze=False)
    for axis, metric in zip(axes[0], metrics, strict=True):
        draw_matrix(axis, result["metrics"][metric])
        axis.set_title(f"{metric}, {data}, corrected t-test", fontsize=8)
    save(figure, path)


def draw_matrix(axis, metric):
    """Draw the p-value of every pair; a significant one is colored and points to the better."""
    test = metric["corrected_t"]
    names, p_values = test["names"], square(test["p_values"])
    k = len(names)
    for row, column in zip(*np.tril_indices(k, -1), strict=True):
        difference = metric["mean"][names[row]] - metric["mean"][names[column]]
        winner = 0 if p_values[row, column] > LEVEL else 1 if difference > 0 else 2
        draw_p_value(axis, column, row - 1, p_values[row, column], winner)
    axis.set_xlim(-0.5, k - 1.5)
    axis.set_ylim(k - 1.5, -0.5)
    axis.set_xticks(range(k - 1), names[:-1], rotation=30, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(k - 1), names[1:])
    tidy(axis).grid(visible=False)
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)


def draw_p_value(axis, x, y, p_value, winner):
    """Draw a p-value in a cell; ``winner`` is 0 for nobody, 1 for the row, 2 for the column."""
    from matplotlib.patches import Rectangle

    color = CELL_COLORS[winner]
    axis.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, facecolor=color, linewidth=0))
    text = f"{ARROWS[winner]} {format_p(p_value)}".strip().replace("0.", ".")
    look = {"color": "white", "fontweight": "bold"} if winner else {"color": "black"}
    axis.text(x, y, text, ha="center", va="center", fontsize=7, **look)


if __name__ == "__main__":
    main()
