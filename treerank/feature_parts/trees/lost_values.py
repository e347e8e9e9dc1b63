"""Lost values: columns that vary in X, but not as an engine reads them."""

from collections.abc import Callable

import numpy as np

from treerank.checks import quote, warn_user
from treerank.documents.rows import Rows

#: Number of first rows in which nearly all varying columns vary.
_FIRST = 4096


def warn_of_lost_values(
    rows: Rows, as_read: Callable[[np.ndarray], np.ndarray], rounding: str
) -> None:
    """Warn of columns whose different values an engine rounds to a single value.

    ``as_read`` returns numbers as the engine rounds them, and ``rounding`` says how. Sparse
    matrices and documents of several workers are not checked.

    Examples
    --------
    >>> rows = Rows(2.0**53 + np.arange(4.0).reshape(2, 2))
    >>> warn_of_lost_values(rows, np.float32, "The engine rounds to single precision")
    Traceback (most recent call last):
    ...
    UserWarning: The engine rounds to single precision, where column 0 of X, from \
9007199254740992.0 to 9007199254740994.0, and 1 other have one value each, of which nothing can \
be learned. Subtract the smallest value and divide by the spread.
    """
    if rows.is_sparse or rows.is_batched or rows.is_shard or len(rows) == 0:
        return
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        low, high = _ends(rows.batch(0, _FIRST))
        lost = []
        for j in np.flatnonzero(~(as_read(low) < as_read(high))).tolist():
            column = rows.values[slice(None) if rows.order is None else rows.order, j]
            ends = np.array(_ends(column), dtype=np.float64)
            if ends[0] < ends[1] and as_read(ends[0]) == as_read(ends[1]):
                lost.append((j, *ends.tolist()))
    if lost:
        (j, least, most), names = lost[0], rows.columns.names
        name = j if names is None else quote(names[j])
        further = f", and {len(lost) - 1} other" + "s" * (len(lost) > 2) if len(lost) > 1 else ","
        verb = "have one value each" if len(lost) > 1 else "has one value"
        warn_user(
            f"{rounding}, where column {name} of X, from {quote(least)} to {quote(most)}{further} "
            f"{verb}, of which nothing can be learned. Subtract the smallest value and divide by "
            "the spread."
        )


def _ends(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(smallest, largest)`` value of each column; NaN does not count."""
    return np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
