"""Codes of categories: the rule that values of ``categorical_features`` must follow in a fit."""

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from treerank.checks import quote
from treerank.documents.rows import Rows

#: Rows that are copied at a time.
_BATCH = 16_384


def check_codes(rows: Rows, columns: Collection[int], most: int) -> None:
    """Refuse columns of categories with values that are neither codes up to ``most`` nor missing.

    Engines would lose such a column without a message, or end in an error of their own. Rows to
    score are not checked: there, another value is an unknown category.

    Examples
    --------
    >>> check_codes(Rows(np.array([[0.5, 1.0], [0.2, np.nan], [0.1, -1.0]])), [1], 100)
    Traceback (most recent call last):
    ...
    ValueError: Column 1 of X must hold codes of categories, which are whole numbers from 0 to 100 \
or NaN if missing; got -1.0. In pandas, -1 is the code of a missing value: write \
np.where(codes < 0, np.nan, codes). Leave a column of numbers out of categorical_features.
    """
    if not columns:
        return
    chosen = list(columns)
    # Of each column: the largest negated value, the largest value, and the largest fraction.
    ends = np.full((3, len(chosen)), -np.inf)
    for values in _values(rows, chosen):
        fractions = np.where(values == np.floor(values), np.nan, values)
        for kind, numbers in enumerate((-values, values, fractions)):
            ends[kind] = np.fmax(ends[kind], np.fmax.reduce(numbers, axis=0, initial=-np.inf))
    negated, highest, fraction = rows.largest(ends)
    is_wrong = (negated > 0) | (highest > most) | np.isfinite(fraction)
    for j in np.flatnonzero(is_wrong)[:1].tolist():
        value = highest[j] if negated[j] <= 0 else -negated[j]
        value = float(fraction[j] if np.isfinite(fraction[j]) else value)
        advice = "Pass a data frame in which it is a categorical column, whose values get codes."
        if value == -1:
            advice = (
                "In pandas, -1 is the code of a missing value: write "
                "np.where(codes < 0, np.nan, codes)."
            )
        names = rows.columns.names
        name = chosen[j] if names is None else quote(names[chosen[j]])
        raise ValueError(
            f"Column {name} of X must hold codes of categories, which are whole numbers from 0 to "
            f"{most} or NaN if missing; got {quote(value)}. {advice} Leave a column of numbers out "
            "of categorical_features."
        )


def _values(rows: Rows, columns: list[int]) -> Iterator[np.ndarray]:
    """Yield the values of some columns, batch by batch."""
    for _, batch in rows.batches(_BATCH):
        values: Any = batch[:, columns]
        yield np.asarray(values.toarray() if rows.is_sparse else values, dtype=np.float64)
