"""Text blocks: a text file, plain or gzip, read as blocks of whole lines.

Blocks save memory: no file, compressed or not, is held as a whole. The next block is read (and
decompressed) while the caller parses the last one. The mark that some editors put before a text in
UTF-8 is left out.
"""

import gzip
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from treerank.files.compression import Text

_Filled = tuple[bytearray, int, Exception | None]


class TextBlock(NamedTuple):
    """Bytes of some whole lines, the last of them a newline, and the first line, from 1."""

    text: np.ndarray
    first_line: int


def text_blocks(text: Text, block_size: int = 2**22) -> Generator[TextBlock]:
    r"""Yield an open text in blocks of whole lines, reading so many bytes at a time.

    The last line of the text gets a newline if it has none.

    Examples
    --------
    >>> from treerank.files.compression import open_text
    >>> path = getfixture("tmp_path") / "lines.txt"
    >>> n_bytes = path.write_bytes(b"one\ntwo\nthree")
    >>> with open_text(path) as text:
    ...     blocks = list(text_blocks(text, block_size=8))
    >>> [(block.text.tobytes(), block.first_line) for block in blocks]
    [(b'one\ntwo\n', 1), (b'three\n', 3)]
    """
    first_line, carry = 1, b""
    with ThreadPoolExecutor(1) as reader:
        submit = reader.submit if text.is_file else _submit_here
        ahead: Future[_Filled] | None = submit(_fill, text.stream, carry, block_size)
        while ahead is not None:
            buffer, n_bytes, damage = ahead.result()
            if damage is not None:
                raise _truncation_error(text.name, bytes(buffer[:n_bytes]), first_line, damage)
            is_last = n_bytes < len(buffer) - 1
            if is_last and n_bytes and buffer[n_bytes - 1] != 10:
                buffer[n_bytes] = 10  # _fill leaves room for it
                n_bytes += 1
            end = n_bytes if is_last else buffer.rfind(b"\n", 0, n_bytes) + 1
            carry = bytes(memoryview(buffer)[end:n_bytes])
            size = max(block_size, len(carry))  # a long line doubles until it fits
            ahead = None if is_last else submit(_fill, text.stream, carry, size)
            if end:
                start = len(BOM_UTF8) if first_line == 1 and buffer.startswith(BOM_UTF8) else 0
                lines = np.frombuffer(buffer, dtype=np.uint8, count=end - start, offset=start)
                yield TextBlock(lines, first_line)
                first_line += buffer.count(b"\n", 0, end)


def _submit_here(function: Callable[..., _Filled], *arguments: Any) -> Future[_Filled]:
    """Call a function in this thread: it can be interrupted while it waits for a pipe."""
    done: Future[_Filled] = Future()
    done.set_result(function(*arguments))
    return done


def _fill(stream: Any, carry: bytes, size: int) -> _Filled:
    """Read up to ``size`` bytes behind ``carry``.

    Return the buffer, the number of bytes in it, and the error of a damaged gzip stream or None.
    """
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


def _truncation_error(name, rest, first_line, damage):
    """Return the error that names the line and column at which a gzip stream is damaged."""
    line = first_line + rest.count(b"\n")
    column = len(rest) - rest.rfind(b"\n")
    return ValueError(
        f"{name}, line {line}, column {column}: the gzip stream must be whole; got {damage}"
    )
