"""Style: what all plots share, so that they are read at a glance in a column of a paper.

Colors are those of Okabe and Ito, which the color-blind can tell apart; lines differ in their
dashes, too. matplotlib is imported only when something is drawn.
"""

from itertools import cycle, islice

#: Blue, vermilion, green, purple, sky, orange, black: told apart by all eyes.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
GREY = "#8A8A8A"
LIGHT = "#E4E4E4"

#: Inches: a column of a paper.
COLUMN = 3.4

#: Letters of a name that a column has room for, and inches that one takes at 7 points.
_LETTERS, LETTER = 26, 0.056


def make_axes(ax=None, *, height=2.4, width=COLUMN):
    """Return ``ax``, or the Axes of a new figure of a column's width."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install treerank[plots].") from error
    _, ax = plt.subplots(figsize=(width, height), layout="constrained", dpi=150)
    return ax


def tidy(ax, *, x=None, y=None, grid="y"):
    """Name the axes, drop the frame and draw a faint grid behind the data."""
    if x is not None:
        ax.set_xlabel(x, fontsize=8)
    if y is not None:
        ax.set_ylabel(y, fontsize=8)
    ax.tick_params(labelsize=7, length=2, color=GREY)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(axis=grid, color=LIGHT, linewidth=0.6)
    return ax


def shown(names):
    """Return names as they are drawn: both ends of long ones, and every letter as it is.

    They are cut less where that would make two of them one.

    Examples
    --------
    >>> shown(["LambdaMART, 200 trees of 15 leaves", "a line"])
    ['LambdaMART, 2…of 15 leaves', 'a line']
    """
    names = list(names)
    longest = max(map(len, names), default=0)
    rooms = range(_LETTERS, longest + 1, 4)
    cut = next((c for c in (_cut(names, n) for n in rooms) if len({*c}) == len({*names})), names)
    cut = [name.replace("$", r"\$") for name in cut]  # which begins a formula
    return [f" {name}" if name.startswith("_") else name for name in cut]  # else in no legend


def _cut(names, n_letters):
    half = n_letters // 2
    return [n if len(n) <= n_letters else f"{n[:half]}…{n[1 - half :]}" for n in names]


def line_styles(n_lines):
    """Return as many pairs of keyword arguments, no two of them alike."""
    looks = ({"color": c, "linestyle": d} for c, d in zip(cycle(COLOURS), _dashes(), strict=False))
    return list(islice(looks, n_lines))


def _dashes():
    """Go through the dashes, shifted by one at each turn of the colors."""
    for turn in range(len(DASHES)):
        yield from DASHES[turn:] + DASHES[:turn]


def legend(ax, **options):
    """Draw a legend without a frame, where it hides least."""
    settings = {"fontsize": 7, "frameon": False, "handlelength": 2.2, "labelspacing": 0.3}
    return ax.legend(**(settings | options))
