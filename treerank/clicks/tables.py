"""Named columns of a file, a data frame or a mapping."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from treerank.checks import quote, refuse_other_order
from treerank.documents.columns import as_frame


def named_columns(table: Any, names: Mapping[str, str], ids: Collection[str]) -> list[Any]:
    """Return columns of a file, a data frame or a mapping from names to columns.

    ``names`` maps each role, which is the argument that names the column if there is one, to the
    name of the column. ``ids`` are the names of the columns that hold ids.
    """
    if isinstance(table, str | Path):
        return _columns_of_file(table, names, ids)
    frame: Any = table if isinstance(table, Mapping) else as_frame(table, "table")
    if frame is None:
        kinds = "a Parquet or CSV file, a data frame or a mapping from names to columns"
        raise TypeError(f"table must be {kinds}; got {type(table).__name__}.")
    present = list(frame) if isinstance(table, Mapping) else frame.columns
    for role, name in names.items():
        if name not in present:
            advice = f" Write {role}='NAME' for another." if role.isidentifier() else ""
            rule = f"{role} must name a column of the table"
            raise ValueError(f"{rule}; got {quote(name)} and {present}.{advice}")
    columns = [frame[name] for name in names.values()]
    refuse_other_order(dict(zip(names.values(), columns, strict=True)))
    return columns if isinstance(table, Mapping) else [column.to_numpy() for column in columns]


def _columns_of_file(path, arguments, ids):
    """Return columns of a file, in the order of ``arguments``, of any type as those of a frame.

    Missing are NaN or None. ``arguments`` maps each role to a column name; ``ids`` are the names of
    columns that hold ids.
    """
    from pyarrow import types

    from treerank.datasets.parquet_files import ParquetFiles, as_ids, is_number

    names, columns = list(arguments.values()), []
    by_name = {name: argument for argument, name in arguments.items() if argument.isidentifier()}
    files = ParquetFiles.open(path, None, None, names, arguments=by_name, ids=ids, any_type=True)
    for name, column in zip(names, files.columns(names), strict=True):
        if name in ids and not is_number(column.type) and not column.null_count:
            columns.append(as_ids(str(path), name, column))
        elif types.is_dictionary(column.type):
            columns.append(column.cast(column.type.value_type).to_numpy())
        else:
            columns.append(column.to_numpy())
    return columns
