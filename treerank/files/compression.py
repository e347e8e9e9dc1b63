"""Compression: gzip files are read and written like plain files."""

import gzip
import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

#: A gzip stream holds at most so many times its own size.
_LARGEST_RATIO = 1032


def is_gzip(path: str | Path) -> bool:
    """Tell whether a file must be decompressed: by its name or by its first two bytes."""
    with open(path, "rb") as file:
        return str(path).endswith(".gz") or file.read(2) == b"\x1f\x8b"


def open_text(path: str | Path) -> Any:
    """Open a plain or a gzip file to read its text as bytes."""
    return gzip.open(path) if is_gzip(path) else open(path, "rb")


def compressed(file: BinaryIO, path: str | Path) -> AbstractContextManager[Any]:
    """Return a stream that writes to ``file``, compressed if the name ``path`` ends in ``.gz``.

    The same text gives the same bytes: neither a name nor a time is stored.
    """
    if not str(path).endswith(".gz"):
        return nullcontext(file)
    return gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0)


def expected_size(path: str | Path) -> int:
    """Guess how many bytes of text a file holds.

    A gzip file ends with the size of its text, but modulo 4 GiB and only for its last member.
    """
    size = os.path.getsize(path)
    if not is_gzip(path) or size < 4:
        return size
    with open(path, "rb") as file:
        file.seek(-4, os.SEEK_END)
        return max(size, min(int.from_bytes(file.read(4), "little"), _LARGEST_RATIO * size))
