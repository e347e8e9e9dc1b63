"""Compression: gzip files are read and written like plain files, also as blocks of whole lines."""

import gzip
import io
import os
import re
import stat
import sys
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from treerank.checks import quote
from treerank.files.object_stores import as_url, text_in_store

#: The path that means standard input.
STANDARD_INPUT = "-"
#: Largest ratio of the uncompressed to the compressed size of a gzip stream.
_LARGEST_RATIO = 1032
#: The first byte of gzip, with which no text of data begins.
_GZIP_START = b"\x1f"
#: What messages say of text in UTF-8, where some other bytes are met.
TEXT_IN_UTF8 = "text in UTF-8, as `iconv -f latin1 -t utf-8` makes it"
_DECOMPRESS = "Decompress it, or compress it by gzip."
#: What is no text in UTF-8, by the bytes that such a file begins with, and what to do with it.
_OTHER_KINDS = {
    rb"PAR1\x15": ("a Parquet file", "Give it a name that ends in .parquet."),
    rb"PK\x03\x04": ("a zip archive or a spreadsheet", "Unpack it, or save it as a CSV file."),
    rb"\xd0\xcf\x11\xe0": ("a spreadsheet", "Save it as a CSV file."),
    rb"\x28\xb5\x2f\xfd": ("a file compressed by zstd", _DECOMPRESS),
    rb"\xfd7zXZ": ("a file compressed by xz", _DECOMPRESS),
    rb"BZh[1-9]1AY&SY": ("a file compressed by bzip2", _DECOMPRESS),
    rb"\xff\xfe|\xfe\xff": ("text in UTF-16", "`iconv -f utf-16 -t utf-8` makes UTF-8 of it."),
}


@dataclass(frozen=True)
class Text:
    """A text that is read once.

    ``name`` is for messages, ``stream`` yields its uncompressed bytes, and ``expected_size`` is
    about their number, 0 if unknown.
    """

    #: Its name in messages.
    name: str
    #: Binary stream of the text, which is decompressed.
    stream: Any
    #: Approximate number of bytes; 0 if it is not known, as of a pipe.
    expected_size: int


@contextmanager
def open_text(path: str | Path) -> Iterator[Text]:
    """Open a plain or a gzip text; ``-`` is standard input.

    A text is gzip's by the name of its file or by its first byte. Nothing is opened or read twice,
    because a pipe gives its bytes only once. Refuses a file that begins like no text in UTF-8.
    """
    if as_url(path) is not None:
        raise text_in_store(path)
    with _opened(path) as file:
        buffered = io.BufferedReader(file)
        name = "standard input" if str(path) == STANDARD_INPUT else str(path)
        try:
            is_gzip = str(path).lower().endswith(".gz") or buffered.peek()[:1] == _GZIP_START
            stream = gzip.GzipFile(fileobj=buffered) if is_gzip else buffered
            if not is_gzip:  # nothing is decompressed before it is read
                _refuse_other_kinds(name, buffered.peek(16))
            size = _expected_size(file, is_gzip) if is_regular_file(path) else 0
            yield Text(name, stream, size)
        except (EOFError, gzip.BadGzipFile, zlib.error) as damage:
            raise ValueError(f"{name}: the gzip stream must be whole; got {damage}.") from damage
        finally:
            buffered.detach()  # so that standard input stays open


def _refuse_other_kinds(name: str, start: bytes) -> None:
    for pattern, (kind, advice) in _OTHER_KINDS.items():
        if re.match(pattern, start):
            raise ValueError(f"{name}: must be text in UTF-8, plain or gzip; got {kind}. {advice}")


class TextBlock(NamedTuple):
    """Whole lines of a text as bytes, and the number of the first one, from 1."""

    text: bytes
    first_line: int


def text_blocks(text: Text, block_size: int) -> Iterator[TextBlock]:
    r"""Yield an open text in blocks of whole lines, read in chunks of bytes.

    The last line of the text gets a newline if it has none. The mark that some editors put before a
    text in UTF-8 is left out.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "lines.txt"
    >>> n_bytes = path.write_bytes(b"one\ntwo\nthree")
    >>> with open_text(path) as text:
    ...     [tuple(block) for block in text_blocks(text, block_size=8)]
    [(b'one\ntwo\n', 1), (b'three\n', 3)]
    """
    first_line, pieces = 1, list[bytes]()
    while piece := text.stream.read(block_size):
        lines, newline, remainder = piece.rpartition(b"\n")
        if newline:
            lines = b"".join([*pieces, lines])
            yield _block(lines, first_line)
            first_line += lines.count(b"\n") + 1
            pieces.clear()
        pieces.append(remainder)  # joined once: a line may be many pieces long
    if remainder := b"".join(pieces):
        yield _block(remainder, first_line)


def _block(lines: bytes, first_line: int) -> TextBlock:
    mark = BOM_UTF8 if first_line == 1 else b""
    return TextBlock(lines.removeprefix(mark) + b"\n", first_line)


def is_regular_file(path: str | Path) -> bool:
    """Tell whether a path is a regular file, which can be read again, and no pipe or device."""
    if as_url(path) is not None:
        raise text_in_store(path)
    return str(path) != STANDARD_INPUT and stat.S_ISREG(os.stat(path).st_mode)


def compressed(file: BinaryIO, path: str | Path) -> AbstractContextManager[Any]:
    """Return a stream that writes to ``file``, compressed if the name ``path`` ends in ``.gz``.

    The same text gives the same bytes: neither a name nor a time is stored.
    """
    if not str(path).lower().endswith(".gz"):
        return nullcontext(file)
    return gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0)


def _opened(path):
    """Open a file without a buffer; standard input stays open."""
    path = os.fspath(path)  # a number would be a file that is open already
    if str(path) != STANDARD_INPUT:
        return io.FileIO(path)
    if sys.stdin is None:
        raise ValueError(
            f"standard input must be open to read {quote(STANDARD_INPUT)}; it is closed."
        )
    return nullcontext(sys.stdin.buffer)


def _expected_size(file, is_gzip):
    """Return about how many bytes of text a regular file holds; its position stays as it is.

    A gzip file ends with the size of its text, but modulo 4 GiB and only for its last member.
    """
    size, offset = os.fstat(file.fileno()).st_size, file.tell()
    if not is_gzip or size < 4:
        return size
    file.seek(-4, os.SEEK_END)
    in_the_end = int.from_bytes(file.read(4), "little")
    file.seek(offset)
    return max(size, min(in_the_end, _LARGEST_RATIO * size))
