"""Style: sizes, colors, lines and legends of all plots, made for a column of a paper.

Colors are those of Okabe and Ito, which color-blind readers can distinguish. Lines differ in
their dashes, too. matplotlib is imported only when something is drawn.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from treerank.checks import check_mapping
from treerank.lazy import naming_the_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Blue, vermilion, green, purple, sky blue, orange, black.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
GRAY = "#8A8A8A"
LIGHT = "#E4E4E4"
#: Width of a column of a paper, in inches.
COLUMN = 3.4
#: Longest name that is drawn in full, in letters.
_MAX_LETTERS = 26
#: Width of a letter at 7 points, in inches.
LETTER = 0.056


def check_named(name: str, given: Any) -> None:
    """Refuse what is not a dict by name with an entry."""
    check_mapping(name, given)
    if not given:
        raise ValueError(f"{name} must have an entry by name; got none.")


def make_axes(ax: "Axes | None" = None, *, height: float = 2.4, width: float = COLUMN) -> "Axes":
    """Return ``ax``, or the Axes of a new figure if it is ``None``."""
    if ax is not None:
        return ax
    with naming_the_extra("A plot"):
        import matplotlib.pyplot as plt
    _, ax = plt.subplots(figsize=(width, height), layout="constrained", dpi=150)
    return ax


def tidy(ax: "Axes", *, x: str = "", y: str = "") -> "Axes":
    """Label the axes, remove the frame and draw a light grid behind the data."""
    ax.set_xlabel(x, fontsize=8)
    ax.set_ylabel(y, fontsize=8)
    ax.tick_params(labelsize=7, length=2, color=GRAY)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GRAY)
    ax.set_axisbelow(True)
    ax.grid(axis="y", color=LIGHT, linewidth=0.6)
    return ax


def shown(names: Iterable[str]) -> list[str]:
    """Return names as they are drawn: long ones are cut in the middle, no letter is a command.

    None is cut if two of them would become equal.

    Examples
    --------
    >>> shown(["LambdaMART, 200 trees of 15 leaves", "a line"])
    ['LambdaMART, 2…of 15 leaves', 'a line']
    """
    names, half = list(names), _MAX_LETTERS // 2
    cut = [n if len(n) <= _MAX_LETTERS else f"{n[:half]}…{n[1 - half :]}" for n in names]
    cut = cut if len({*cut}) == len({*names}) else names
    cut = [name.replace("$", r"\$") for name in cut]  # it would begin a formula
    return [f" {name}" if name.startswith("_") else name for name in cut]  # legends skip "_"


def line_styles(n_lines: int) -> list[dict[str, Any]]:
    """Return the color and the dashes of each line, no two of them alike."""
    n = len(COLORS)  # as many as dashes, which are shifted by one when the colors begin again
    return [{"color": COLORS[i % n], "linestyle": DASHES[(i + i // n) % n]} for i in range(n_lines)]


def legend(ax: "Axes") -> None:
    """Draw a legend above the Axes, where it covers no data."""
    labels = ax.get_legend_handles_labels()[1]
    width = ax.get_window_extent().width / ax.figure.dpi
    n_columns = int(width / (max(map(len, labels), default=0) * LETTER + 0.45))
    place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": max(n_columns, 1)}
    look = {"fontsize": 7, "frameon": False, "labelspacing": 0.3, "columnspacing": 1.0}
    ax.legend(**(place | look))
