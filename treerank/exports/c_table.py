"""Tables of numbers in C."""

from collections.abc import Iterator

import numpy as np

_ROWS = 4096  # rows of a table that become texts together


def c_table(name: str, *columns: np.ndarray) -> Iterator[str]:
    """Yield a table of numbers, or of structures of several columns; C has no empty ones.

    Examples
    --------
    >>> print(*c_table("double limits", np.array([0.5, np.inf])))
    <BLANKLINE>
    static const double limits[] = {
     0.5,
    INFINITY };
    <BLANKLINE>
    """
    columns = tuple(column if len(column) else np.zeros(1, np.int64) for column in columns)
    row = ", ".join(["%r"] * len(columns))
    row = "{" + row + "}" if len(columns) > 1 else row
    yield f"\nstatic const {name}[] = {{\n"
    for begin in range(0, len(columns[0]), _ROWS):
        lists = (column[begin : begin + _ROWS].tolist() for column in columns)
        block = ",\n".join([row % numbers for numbers in zip(*lists, strict=True)])
        yield ",\n" * (begin > 0) + block.replace("inf", "INFINITY").replace("nan", "NAN")
    yield "};\n"
