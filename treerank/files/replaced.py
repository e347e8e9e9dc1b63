"""Replaced files: a file is written beside its place and renamed once it is whole."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replaced_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a new file that replaces ``path`` when the block ends without an error.

    Parameters
    ----------
    path : str or path
        File to write or to replace.

    Yields
    ------
    file
        Binary file to write to. After an error, or if the process is killed, ``path`` is as it
        was before.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "new.txt"
    >>> with replaced_file(path) as file:
    ...     n_bytes = file.write(b"whole")
    >>> path.read_bytes()
    b'whole'
    """
    path = Path(path)
    # In the same folder, because a rename is one step only within one file system.
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # otherwise a crash may leave the new name on an empty file
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
