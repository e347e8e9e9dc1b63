"""User warning: a warning that points at the line of the user's code that called this package."""

import sys
import warnings


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest call from outside of this package, through however many functions.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn_user("The model is constant.")
    >>> caught[0].message
    UserWarning('The model is constant.')
    """
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("treerank."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
