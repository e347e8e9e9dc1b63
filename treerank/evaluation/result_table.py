"""Result table: columns of equal length, which become a pandas or a polars data frame."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np


@dataclass(frozen=True, eq=False)
class ResultTable:
    """Named columns of equal length.

    Parameters
    ----------
    columns : dict from str to ndarray
        The columns.

    Examples
    --------
    >>> table = ResultTable({"ranker": np.array(["a", "b"]), "value": np.array([0.25, 0.5])})
    >>> table["value"], len(table)
    (array([0.25, 0.5 ]), 2)
    >>> table.where(ranker="b").columns
    {'ranker': array(['b'], dtype='<U1'), 'value': array([0.5])}
    """

    columns: dict[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        """Return one column."""
        return self.columns[name]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values())))

    def where(self, **values: Any) -> "ResultTable":
        """Return the rows in which the named columns have the given values."""
        chosen = np.ones(len(self), dtype=bool)
        for name, value in values.items():
            chosen &= self.columns[name] == value
        return ResultTable({name: column[chosen] for name, column in self.columns.items()})

    def to_pandas(self) -> Any:
        """Return a pandas data frame; pandas must be installed."""
        return self._to_frame("pandas")

    def to_polars(self) -> Any:
        """Return a polars data frame; polars must be installed."""
        return self._to_frame("polars")

    def _to_frame(self, backend: Literal["pandas", "polars"]) -> Any:
        """Return a data frame of a library that narwhals knows."""
        import narwhals

        return narwhals.from_dict(self.columns, backend=backend).to_native()
