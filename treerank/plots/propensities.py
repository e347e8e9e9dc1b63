"""Propensities: how likely each position is examined, with intervals, from one log or several."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import as_numbers, check_column
from treerank.clicks.propensities import PropensityIntervals
from treerank.plots.style import check_named, legend, line_styles, make_axes, shown, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def propensity_curves(
    propensities: Mapping[str, PropensityIntervals | ArrayLike], *, ax: "Axes | None" = None
) -> "Axes":
    """Draw propensities over positions, from 0 up.

    Parameters
    ----------
    propensities : dict from str to PropensityIntervals or array-like of shape (n_positions,)
        Propensities by name, such as the log that they are from. Intervals are shaded. Those that
        are NaN are left out.
    ax : Axes, default=None
        Axes to draw on; ``None`` makes a figure.

    Examples
    --------
    >>> from treerank.clicks import make_click_log, propensity_intervals
    >>> found = propensity_intervals(make_click_log(2000), n_resamples=20)
    >>> ax = propensity_curves({"this week": found, "by rule": 1 / np.arange(1, 6)})
    >>> ax.get_xlabel()
    'position'
    """
    check_named("propensities", propensities)
    ax = make_axes(ax)
    styles = line_styles(len(propensities))
    for label, found, style in zip(shown(propensities), propensities.values(), styles, strict=True):
        if isinstance(found, PropensityIntervals):
            estimate, bounds = found.estimate, (found.low, found.high)
        else:
            estimate, bounds = as_numbers("propensities", found), None
            check_column("propensities", np.where(np.isnan(estimate), 0.0, estimate))
        position = np.arange(1, len(estimate) + 1)
        ax.plot(position, estimate, label=label, linewidth=1.4, marker="o", markersize=3, **style)
        if bounds is not None:
            ax.fill_between(position, *bounds, color=style["color"], alpha=0.15, linewidth=0)
    ax.set_ylim(bottom=0)
    ax.locator_params(axis="x", integer=True)
    legend(ax)
    return tidy(ax, x="position", y="probability of examination")
