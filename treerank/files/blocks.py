"""Files: text that arrives in blocks of whole lines, and files that are replaced at once.

Blocks keep the memory of a reader near that of its result: no file, compressed or not, is
ever held whole. The next block is read (and decompressed) while the last one is parsed.
"""

import contextlib
import gzip
import os
import secrets
import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

BLOCK_SIZE = 2**22


class TextBlock(NamedTuple):
    """Some whole lines.

    Attributes
    ----------
    text : ndarray of shape (n_bytes,)
        The bytes, the last of them a newline.
    first_line : int
        Number of the first line, from 1.
    """

    text: np.ndarray
    first_line: int


def is_gzip(path):
    """Tell whether a file is to be decompressed: by its name or by its first two bytes."""
    with open(path, "rb") as file:
        return str(path).endswith(".gz") or file.read(2) == b"\x1f\x8b"


def text_blocks(path, block_size=None):
    r"""Yield a file in blocks of whole lines, plain or gzip.

    Parameters
    ----------
    path : path-like
        File.
    block_size : int, default 4 MiB
        Bytes to read at a time.

    Yields
    ------
    TextBlock
        Lines; a newline is added to the last one of the file where it has none.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "lines.txt")
    ...     n_bytes = path.write_bytes(b"one\ntwo\nthree")
    ...     blocks = list(text_blocks(path, block_size=8))
    >>> [(block.text.tobytes(), block.first_line) for block in blocks]
    [(b'one\ntwo\n', 1), (b'three\n', 3)]
    """
    block_size = block_size or BLOCK_SIZE
    first_line, carry = 1, b""
    with _opened(path) as stream, ThreadPoolExecutor(1) as reader:
        ahead: Future | None = reader.submit(_fill, stream, carry, block_size)
        while ahead is not None:
            buffer, n_bytes, damage = ahead.result()
            if damage is not None:
                raise _broken_off(path, bytes(buffer[:n_bytes]), first_line, damage)
            is_last = n_bytes < len(buffer) - 1
            if is_last and n_bytes and buffer[n_bytes - 1] != 10:
                buffer[n_bytes] = 10  # _fill leaves room for it
                n_bytes += 1
            end = n_bytes if is_last else buffer.rfind(b"\n", 0, n_bytes) + 1
            carry = bytes(memoryview(buffer)[end:n_bytes])
            size = max(block_size, len(carry))  # a long line doubles until it fits
            ahead = None if is_last else reader.submit(_fill, stream, carry, size)
            if end:
                yield TextBlock(np.frombuffer(buffer, dtype=np.uint8, count=end), first_line)
                first_line += buffer.count(b"\n", 0, end)


def _opened(path):
    return gzip.open(path) if is_gzip(path) else open(path, "rb")


def _fill(stream, carry, size):
    """Return a buffer of ``carry`` and what follows, how much that is, and what broke it off."""
    buffer = bytearray(len(carry) + size + 1)
    buffer[: len(carry)] = carry
    n_bytes = len(carry)
    with memoryview(buffer)[:-1] as room:
        try:
            while n_bytes < len(room) and (n_new := stream.readinto1(room[n_bytes:])):
                n_bytes += n_new
        except (EOFError, gzip.BadGzipFile, zlib.error) as damage:
            return buffer, n_bytes, damage
    return buffer, n_bytes, None


def _broken_off(path, rest, first_line, damage):
    line = first_line + rest.count(b"\n")
    column = len(rest) - rest.rfind(b"\n")
    return ValueError(
        f"{path}, line {line}, column {column}: the gzip stream must be whole; got {damage}"
    )


def expected_size(path):
    """Guess how many bytes of text a file holds.

    A gzip file ends in the size of its text, modulo 4 GiB and for the last of its members
    alone, and no stream can hold more than 1032 times its own size.
    """
    size = os.path.getsize(path)
    if not is_gzip(path) or size < 4:
        return size
    with open(path, "rb") as file:
        file.seek(-4, os.SEEK_END)
        return max(size, min(int.from_bytes(file.read(4), "little"), 1032 * size))


@contextlib.contextmanager
def replaced_file(path):
    """Write a file beside ``path`` and put it in place only once it is whole.

    Parameters
    ----------
    path : path-like
        File to replace.

    Yields
    ------
    file
        Binary file to write to. After an error, or a kill, ``path`` is as it was.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replaced_file(Path(folder, "new.txt")) as file:
    ...         n_bytes = file.write(b"whole")
    ...     Path(folder, "new.txt").read_bytes()
    b'whole'
    """
    path = Path(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # or a crash may leave the new name on an empty file
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
