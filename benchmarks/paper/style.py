"""Style: sizes, colors and lines of the figures, made for a column of a paper.

Colors are those of Okabe and Ito, which color-blind readers can distinguish. Lines differ in
their dashes, too.
"""

#: Blue, vermilion, green, purple, sky blue, orange, black.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
GRAY = "#8A8A8A"
LIGHT = "#E4E4E4"


def tidy(ax, *, x="", y=""):
    """Label the axes, remove the frame and draw a light grid behind the data."""
    ax.set_xlabel(x, fontsize=8)
    ax.set_ylabel(y, fontsize=8)
    ax.tick_params(labelsize=7, length=2, color=GRAY)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GRAY)
    ax.set_axisbelow(True)
    ax.grid(axis="y", color=LIGHT, linewidth=0.6)
    return ax


def line_styles(n_lines):
    """Return the color and the dashes of each line, no two of them alike."""
    n = len(COLORS)  # as many as dashes, which are shifted by one when the colors begin again
    return [{"color": COLORS[i % n], "linestyle": DASHES[(i + i // n) % n]} for i in range(n_lines)]
