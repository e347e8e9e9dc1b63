"""Indicators: documents as a numeric matrix, categories one-hot, for models of other libraries."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from treerank.checks import check_count, quote
from treerank.documents.rows import Rows

#: Largest number of categories over all columns; each becomes a column.
MOST_CATEGORIES = 1000


@dataclass(frozen=True, eq=False)
class IndicatorColumns:
    """One-hot encoding: the numeric columns, then an indicator column for each category.

    Missing numbers stay NaN. The indicators of a missing or new category are all 0.

    Examples
    --------
    >>> IndicatorColumns({1: 3})(np.array([[0.5, 2.0], [7.0, np.nan]]))
    array([[0.5, 0. , 0. , 1. ],
           [7. , 0. , 0. , 0. ]])
    """

    #: Number of categories of each column that has any.
    n_categories: dict[int, int]

    @classmethod
    def of(cls, rows: Rows, model: Any) -> Self:
        """Return the encoding of the columns of rows; refuse more than 1000 categories.

        ``model`` is the model that gets the columns, for the message.
        """
        n_categories = {
            column: len(categories)
            for column, categories in sorted(rows.columns.categories.items())
        }
        if sum(n_categories.values()) > MOST_CATEGORIES:
            raise ValueError(
                f"X must have at most {MOST_CATEGORIES} categories for {quote(model)}, to which "
                f"each is a column; got {sum(n_categories.values())}. Leave out a column, or "
                "encode it as numbers."
            )
        return cls(n_categories)

    @classmethod
    def of_state(cls, n_categories: Any, n_inputs: int) -> Self:
        """Return the encoding stored in a model file; refuse one that no fit makes.

        Examples
        --------
        >>> IndicatorColumns.of_state({1: 3}, n_inputs=5).n_features(5)
        3
        """
        columns = cls(n_categories)
        for n in n_categories.values():
            check_count("n_categories", n, at_least=0, at_most=MOST_CATEGORIES)
        last = columns.n_features(n_inputs) - 1
        for column in n_categories:
            check_count("a column of categories", column, at_least=0, at_most=last)
        return columns

    def n_features(self, n_inputs: int) -> int:
        """Return the number of columns before encoding, given the number after it."""
        return n_inputs + len(self.n_categories) - sum(self.n_categories.values())

    def __call__(self, values: Any) -> Any:
        """Encode a matrix in double precision; a sparse one stays sparse."""
        if issparse(values):
            return values.astype(np.float64)
        if self.n_categories:
            indicators = [
                values[:, [column]] == np.arange(n) for column, n in self.n_categories.items()
            ]
            numbers = np.delete(values, [*self.n_categories], axis=1)
            values = np.concatenate([numbers, *indicators], axis=1)
        return np.ascontiguousarray(values, dtype=np.float64)
