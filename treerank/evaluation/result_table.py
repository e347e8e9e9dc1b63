"""Result table: columns of equal length, for whichever data frames the reader prefers."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class ResultTable:
    """Named columns.

    Attributes
    ----------
    columns : dict from str to ndarray
        All of the same length.

    Examples
    --------
    >>> table = ResultTable({"ranker": np.array(["a", "b"]), "value": np.array([0.25, 0.5])})
    >>> table["value"], len(table)
    (array([0.25, 0.5 ]), 2)
    >>> table.where(ranker="b").columns
    {'ranker': array(['b'], dtype='<U1'), 'value': array([0.5])}
    """

    columns: dict[str, np.ndarray]

    def __getitem__(self, name):
        """Return one column."""
        return self.columns[name]

    def __len__(self):
        """Return the number of rows."""
        return len(next(iter(self.columns.values())))

    def where(self, **equal):
        """Return the rows in which the columns have the given values."""
        chosen = np.ones(len(self), dtype=bool)
        for name, value in equal.items():
            chosen &= self.columns[name] == value
        return ResultTable({name: column[chosen] for name, column in self.columns.items()})

    def to_pandas(self):
        """Return a pandas data frame; pandas must be installed."""
        return self._framed("pandas")

    def to_polars(self):
        """Return a polars data frame; polars must be installed."""
        return self._framed("polars")

    def _framed(self, backend):
        import narwhals

        return narwhals.from_dict(self.columns, backend=backend).to_native()
