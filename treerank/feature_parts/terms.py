"""Terms of a fitted feature part: the weighted sum of its outputs in neutral form."""

from typing import Any

import numpy as np

from treerank.checks import shown
from treerank.feature_parts.base import traits_of
from treerank.terms.terms import Terms


def terms_of(part: Any, weight: np.ndarray) -> Terms:
    """Return the weighted sum of the outputs of a fitted feature part.

    Parameters
    ----------
    part : feature part
        A part with a method ``terms(weight)``.
    weight : ndarray of shape (n_outputs,)
        Weight of each output.

    Returns
    -------
    Terms

    Examples
    --------
    >>> from treerank import Line
    >>> from treerank.objectives import make_objective
    >>> part = Line().fit(np.array([[1.0], [0.0]]), make_objective([1, 0]))
    >>> terms_of(part, np.array([2.0])).kinds
    ['line']
    """
    terms = traits_of(part).terms
    if terms is None:
        raise ValueError(
            "feature_part must be trees with output='score', a line, a network or several of "
            f"these; got {shown(part)}."
        )
    found: Terms = terms(weight)
    return found
