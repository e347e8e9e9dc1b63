"""Scorer: trees and a linear model, ready to score the documents of one query after another."""

from threading import local
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import as_numbers, naming
from treerank.documents.columns import (
    Columns,
    are_records,
    as_frame,
    fitted_columns,
    frame_of_records,
    refuse_records,
)
from treerank.documents.features import has_infinite
from treerank.feature_parts.components import Components
from treerank.feature_parts.linear_component import add_linear
from treerank.forests.forest import Forest
from treerank.forests.scoring import check_width, scoring_arguments, scoring_buffers, write_scores
from treerank.numerics.compiling import for_kernel


class _Buffers(local):
    """Working memory of scoring, a copy for each thread."""

    def __init__(self, forest: Forest) -> None:
        self.arrays = scoring_buffers(forest)


class Scorer:
    """Scores of documents, with as little work per call as possible.

    A call checks the shape of X and its numbers only, uses memory again, and releases the global
    interpreter lock while it computes. Several threads may call the same scorer at the same time.

    Parameters
    ----------
    components : Components
        Trees of one output, and a linear model.
    columns : Columns, default=None
        Names of the columns, which select columns of data frames, and their categories.

    Examples
    --------
    >>> from treerank import TreeDirectRanker, make_web_search
    >>> X, y, qid = make_web_search(20, random_state=0)
    >>> ranker = TreeDirectRanker(random_state=0).fit(X, y, qid)
    >>> scorer = ranker.scorer()
    >>> bool((scorer(X[qid == 3]) == ranker.predict(X[qid == 3])).all())
    True
    """

    def __init__(self, components: Components, columns: Columns | None = None) -> None:
        if components.networks:
            raise ValueError(
                "ranker must be a sum of trees and a linear model to have a scorer; got "
                f"{components.kinds}. Write ranker.predict(X), which also scores networks."
            )
        self.components, self.forest, linear = components, components.forest, components.linear
        self.columns = columns or Columns()
        self._arguments = scoring_arguments(self.forest)
        self._linear = () if linear is None else (linear.features, linear.coef, linear.offset)
        self._own = _Buffers(self.forest)

    def __call__(self, X: ArrayLike) -> np.ndarray:
        """Return the score of each document.

        Parameters
        ----------
        X : array-like or data frame of shape (n_documents, n_features), or list of dicts
            Features; missing values are NaN. An array of doubles in C order is not copied. A dict
            has every feature by its name, None if it is missing; others are ignored.

        Returns
        -------
        ndarray of shape (n_documents,)
        """
        rows = self._checked(X)
        scores = np.empty(len(rows))
        write_scores(rows, self._arguments, self._own.arrays, scores[:, None])
        if self._linear:
            add_linear(rows, *self._linear, scores)
        return scores

    def _checked(self, X: Any) -> np.ndarray:
        """Return documents as doubles in C order; refuse what ``predict`` refuses."""
        if type(X) is not np.ndarray or X.dtype.kind != "f":
            with naming("X"):
                if self.columns.names is not None and are_records(X):
                    X = frame_of_records(X, self.columns.names)
                refuse_records(X)
                if isinstance(X, list | tuple) and len(X) == 0:
                    X = np.empty((0, self.forest.n_features))
                if as_frame(X) is not None:
                    columns = self.columns
                    is_of_other = columns.takes_codes
                    X = fitted_columns(X, columns.names, of_other_program=is_of_other)
                    X = columns.numbers(X)
            X = as_numbers("X", X)
        rows = for_kernel(np.ascontiguousarray(X, dtype=np.float64))
        check_width(self.forest, rows)
        if has_infinite(rows):
            row, column = np.argwhere(np.isinf(rows))[0].tolist()
            raise ValueError(
                f"X must not be infinite; got {rows[row, column]} in row {row}, column {column}."
            )
        return rows

    def __reduce__(self) -> tuple[Any, ...]:
        return Scorer, (self.components, self.columns)
