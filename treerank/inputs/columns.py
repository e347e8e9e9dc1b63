"""Columns: what the user's columns mean, so that any table becomes one matrix of numbers.

Arrays and lists pass through untouched: scikit-learn checks those. Data frames (pandas, polars
and all else that narwhals reads) become a float matrix. Columns of text and of categories become
codes, remembered from ``fit``: a category's code is its place among the sorted categories
seen there, and one never seen is a missing value. Missing values are NaN.

A sparse matrix stays sparse, and is the matrix of numbers that it stands for: how it is stored,
zeros among the rest, is none of its properties.
"""

from dataclasses import dataclass, field

import narwhals as nw
import numpy as np
from scipy.sparse import csr_matrix

_CATEGORICAL = (nw.Categorical, nw.Enum, nw.String)
#: Exactly representable as float32.
_FITS_FLOAT32 = (nw.Float32, nw.Int8, nw.UInt8, nw.Int16, nw.UInt16, nw.Boolean)


@dataclass(frozen=True)
class Columns:
    """The categorical columns of a table.

    Parameters
    ----------
    categories : dict from int to list
        For every categorical column, by position, its categories in the order of their codes.

    Examples
    --------
    >>> import pandas as pd
    >>> shop = pd.DataFrame({"price": [9.5, 7.0, 8.0], "color": ["red", "blue", "red"]})
    >>> columns = Columns.of(shop)
    >>> columns.numbers(shop)
    array([[9.5, 1. ], [7. , 0. ], [8. , 1. ]])
    >>> columns.numbers(pd.DataFrame({"price": [1.0], "color": ["green"]}))
    array([[ 1., nan]])
    """

    categories: dict[int, list] = field(default_factory=dict)

    @classmethod
    def of(cls, X):
        """Read the categories of a data frame; anything else has none."""
        frame = as_frame(X)
        if frame is None:
            return cls()
        return cls(
            {
                place: _sorted_categories(column)
                for place, column in enumerate(frame.iter_columns())
                if column.dtype in _CATEGORICAL
            }
        )

    def numbers(self, X):
        """Return a data frame as a float matrix, without a copy where none is needed."""
        frame = as_frame(X)
        if frame is None:
            self._refuse_bare_codes()
            return X
        dtypes = {column.dtype for column in frame.iter_columns()}
        if not self.categories and len(dtypes) == 1 and dtypes <= {nw.Float32, nw.Float64}:
            matrix = frame.to_numpy()
            if matrix.dtype.kind == "f":  # an object array where pandas' own NA is among them
                return matrix
        matrix = np.empty(frame.shape, dtype=_common_dtype(dtypes))
        for place, column in enumerate(frame.iter_columns()):
            matrix[:, place] = self._column(column, place)
        return matrix

    def _column(self, column, place):
        expected = "categories" if place in self.categories else "numbers"
        if expected == "categories" and column.dtype in (*_CATEGORICAL, nw.Object):
            return _codes(column, self.categories[place])
        if expected == "numbers" and (column.dtype.is_numeric() or column.dtype == nw.Boolean):
            return column.cast(nw.Float64).to_numpy()
        if expected == "numbers" and column.dtype == nw.Object:
            return _numbers_from_objects(column)
        if all(value is None or value != value for value in column.to_list()):
            return np.nan  # a column without values has no type to be held against it
        known = column.dtype.is_numeric() or column.dtype in (*_CATEGORICAL, nw.Boolean, nw.Object)
        rule = f"{expected}, as in fit" if known else "numbers, text or categories"
        raise TypeError(f"Column {column.name!r} of X must hold {rule}; got {column.dtype}.")

    def _refuse_bare_codes(self):
        if self.categories:
            raise TypeError(
                "X must be a data frame, as in fit, since some of its columns are categories: "
                f"{sorted(self.categories)}; got no column names."
            )


def as_csr(X):
    """Return a sparse matrix by rows: sorted, no entry twice, no zero stored; ``X`` is not changed.

    Examples
    --------
    >>> stored_twice = csr_matrix(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    >>> as_csr(stored_twice).nnz, as_csr(stored_twice).toarray().tolist()
    (1, [[0.0, 3.0], [0.0, 0.0]])
    """
    by_rows = csr_matrix(X)
    if not by_rows.has_canonical_format or not by_rows.data.all():
        by_rows = by_rows.copy()
        by_rows.sum_duplicates()
        by_rows.eliminate_zeros()
    return by_rows


def as_frame(X):
    """Return a data frame in narwhals' clothes, or ``None`` for what is no data frame."""
    if isinstance(X, np.ndarray | list | tuple):
        return None
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _sorted_categories(column):
    # Sorted, since the order of a string pool is that of the rows.
    found = [value for value in column.unique().to_list() if value is not None and value == value]
    if not all(isinstance(value, str | int | float) for value in found):
        raise TypeError(f"Categories of column {column.name!r} of X must be text or numbers.")
    try:
        return sorted(found)
    except TypeError:  # text and numbers
        return sorted(found, key=lambda value: (str(type(value)), value))


def _codes(column, categories):
    code_of = {category: float(code) for code, category in enumerate(categories)}
    values = column.to_list()
    return np.fromiter((code_of.get(value, np.nan) for value in values), float, len(values))


def _numbers_from_objects(column):
    values = [np.nan if value is None else value for value in column.to_list()]
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"Column {column.name!r} of X must hold numbers, text or categories; got mixed objects "
            f"({error})."
        ) from error


def _common_dtype(dtypes):
    narrow = all(dtype in (*_FITS_FLOAT32, *_CATEGORICAL) for dtype in dtypes)
    return np.float32 if narrow and nw.Float32 in dtypes else np.float64
