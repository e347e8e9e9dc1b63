"""Tables of logs and counts: columns by name from a file, a data frame or a mapping."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from treerank.checks import shown
from treerank.inputs.columns import as_frame
from treerank.lazy import load_object


def named_columns(table: Any, names: Mapping[str, str]) -> list[Any]:
    """Return columns of a table.

    Parameters
    ----------
    table : path, data frame or mapping from names to columns
        The table.
    names : mapping from str to str
        Name of each column by what it is for.

    Returns
    -------
    list of array-like
        The columns, in the order of ``names``.

    Examples
    --------
    >>> named_columns({"user": ["a", "b"], "shown": [1, 1]}, {"session": "user"})
    [['a', 'b']]
    """
    if isinstance(table, str | Path):
        read = load_object("treerank.clicks.parquet_columns:parquet_columns")
        return list(read(table, list(names.values())))
    frame: Any = table if isinstance(table, Mapping) else as_frame(table)
    if frame is None:
        raise TypeError(
            "table must be a Parquet or CSV file, a data frame or a mapping from names to columns; "
            f"got {shown(type(table))}."
        )
    found = list(frame) if isinstance(table, Mapping) else frame.columns
    for role, name in names.items():
        if name not in found:
            raise ValueError(
                f"{role} must name a column of the table; got {shown(name)} and {found}."
            )
    columns = [frame[name] for name in names.values()]
    return columns if isinstance(table, Mapping) else [column.to_numpy() for column in columns]
