"""Mutated LETOR files, read with every option.

A file is drawn that is valid or nearly so; then bytes, tokens and lines are changed. A good answer
is that of a plain parser, written here from the definition of the format: the same labels, ids,
entries, values and comments, bit for bit, or an error in the same line.
"""

import gzip
import io
import math
import re
import sys
from codecs import BOM_UTF8
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
from letor_blocks import read_in_blocks

from tests.fuzz import attempt, change_bytes, folder, pick
from treerank.datasets import letor_table

#: The smallest size of a dense matrix that may be refused; small, so that cases stay quick.
FREE_SIZE = 2**16
#: Words that rows are made of.
NUMBERS = """
    0 1 -1 +7 0.5 .5 5. -0 -0.0 1e5 1E-5 1e+05 1e-320 5e-324 1e400 -1e400 1e39 3.4028236e38
    0.1234567890123456789 12345678901234567890 9007199254740993 9007199254740992.5 2.5e-17 1e23
    0000000000000000000001 1e00000000001 1e-99999999999999999999 inf -inf +Infinity nan -nan NULL
    null NuLL NAN"""
NO_NUMBERS = "1_0 0x1f 1e 1e+ . - + -. --1 1.2.3 infin nulls 1d5 1,5 1:2 ١"
LONG_QUERIES = " ".join(["b" * 255, "b" * 256, "ä" * 127, "ä" * 128])
QUERIES = f"""
    7 -3 0 -0 007 +7 1.0 a 12:5 größe 999999999999999999 -999999999999999999 1000000000000000000
    9223372036854775807 1e3 qid:1 \N{GRINNING FACE} {LONG_QUERIES}"""
INDICES = """
    0 00 -1 +1 1 01 2 00000000002 3 70000 2147483647 2147483648 4294967297 9999999999
    18446744073709551617 1.0 x"""
BYTES = [b"\0", b"\t", b"\v", b"\f", b"\r", b"\n", b" ", b"#", b":", b"\xff", b"\xc3", b"\x85"]
BYTES += [b"\x1c", b"\xef\xbb\xbf", b"\xc2\xa0", b"\r\n", b"\n\n", b"q", b"e", b"1", b"-", b"."]


class RefusedError(Exception):
    """What the plain parser refuses; holds the line, or None where any line will do."""


def decimal(token: bytes) -> float:
    """Return the number of a token."""
    if token.lower() == b"null":
        return math.nan
    if b"_" in token:
        raise ValueError(token)
    return float(token)


def parse_row(content: bytes, n_features: int | None) -> tuple[float, bytes, dict[int, float]]:
    """Return the label, the id and the entries of a row; a ValueError refuses it."""
    label, qid, *tokens = content.split()
    y, entries, previous = decimal(label), {}, 0
    if not math.isfinite(y) or not re.fullmatch(rb"qid:[^\0]{1,255}", qid):
        raise ValueError(content)
    qid.decode("utf-8")
    for token in tokens:
        index, colon, value = token.partition(b":")
        if not re.fullmatch(rb"[0-9]{1,10}", index) or not colon:
            raise ValueError(token)
        if not previous < int(index) <= min(n_features or 2**31 - 1, 2**31 - 1):
            raise ValueError(token)
        previous = int(index)
        entries[previous] = decimal(value)
    return y, qid[4:], entries


def parse(content: bytes, sparse: bool, n_features: int | None) -> SimpleNamespace:
    """Parse a LETOR file the plain way."""
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.GzipFile(fileobj=io.BytesIO(content)).read()
        except Exception as error:
            raise RefusedError(None) from error
    content = content.removeprefix(BOM_UTF8)
    found = SimpleNamespace(y=[], qid=[], rows=[], comments=[], width=n_features or 0)
    for number, line in enumerate(content.split(b"\n"), start=1):
        if b"\r" in line.rstrip():
            raise RefusedError(number)
        row, _, comment = line.partition(b"#")
        if not row.split():
            continue
        try:
            y, qid, entries = parse_row(row, n_features)
        except ValueError as error:
            raise RefusedError(number) from error
        found.y.append(y)
        found.qid.append(qid.decode("utf-8"))
        found.rows.append(entries)
        found.comments.append(comment.strip().decode("utf-8", "surrogateescape"))
        found.width = max([found.width, *entries])
    if not found.y:
        raise RefusedError(1)
    n_entries = sum(map(len, found.rows))
    is_dense = not sparse and n_features is None
    if is_dense and found.width * len(found.y) > max(FREE_SIZE, 100 * n_entries):
        raise RefusedError(None)
    if all(re.fullmatch(r"0|-?[1-9][0-9]{0,17}", qid) for qid in found.qid):
        found.qid = [int(qid) for qid in found.qid]
    return found


def draw_number(random) -> str:
    """Draw a number, mostly a valid one."""
    drawn = [
        str(random.choice((NUMBERS if random.random() < 0.95 else NO_NUMBERS).split())),
        repr(float(random.normal() * 10.0 ** random.integers(-330, 308))),
        f"{random.integers(10**18)}e{random.integers(-345, 310)}",
        f"{random.random():.{random.integers(1, 25)}f}",
        str(random.integers(-3, 100)),
    ]
    return pick(random, drawn)


def draw_row(random) -> str:
    """Draw a row, mostly a valid one."""
    label = str(random.integers(5)) if random.random() < 0.95 else draw_number(random)
    qid = str(random.integers(30)) if random.random() < 0.9 else str(random.choice(QUERIES.split()))
    width = int(random.choice([3, 9, 9, 2000]))
    indices = sorted(random.choice(width, size=random.integers(0, 4), replace=False) + 1)
    entries = [f"{index}:{draw_number(random)}" for index in indices]
    comment = random.choice(["", "", "# docid = GX1 é", "#", "#a#b "])
    return " ".join([label, f"qid:{qid}", *entries, comment])


def draw_file(random) -> bytes:
    """Draw a file whose text has some mistakes, packed or not."""
    lines = [draw_row(random) for _ in range(random.integers(1, 9))]
    for _ in range(random.choice([0, 0, 1, 2])):
        lines = change_lines(random, lines)
    end = str(random.choice(["\n", "\n", "\n", "\r\n"]))
    content = end.join([*lines, ""][: len(lines) + random.integers(2)]).encode()
    for _ in range(random.choice([0, 0, 0, 1, 3])):
        content = change_bytes(random, content, BYTES)
    if random.random() < 0.2:
        at = random.integers(len(content) + 1)
        content = gzip.compress(content[:at], 1) + gzip.compress(content[at:], 1)
        if random.random() < 0.3:
            content = change_bytes(random, content, BYTES)
    return content


def change_lines(random, lines: list[str]) -> list[str]:
    """Change, copy, move or remove a line or one of its tokens."""
    if not lines:
        return ["", "# a comment"]
    at, to = random.integers(len(lines), size=2)
    kind = random.integers(5)
    if kind == 0:
        return [*lines[:at], *lines[to:]]
    if kind == 1:
        return [*lines[:at], str(random.choice(["", " \t", "#c", " # 1 qid:1"])), *lines[at:]]
    tokens = lines[at].split(" ")
    place, other = random.integers(len(tokens), size=2)
    if kind == 2:
        tokens[place] = tokens[other]
    elif kind == 3:
        tokens[place] = f"{random.choice(INDICES.split())}:{draw_number(random)}"
    else:
        words = [*NO_NUMBERS.split(), "nan", "qid:1", "\t", "qid:", ":", "1:"]
        tokens.insert(place, pick(random, words))
    return [*lines[:at], " ".join(tokens), *lines[at + 1 :]]


def read(content: bytes, random, options: dict):
    """Read a file or standard input, in drawn blocks."""
    options = options | {"comments": True}
    block = int(random.choice([1, 7, 40, 200, 2**22]))
    sizes = block, int(random.choice([1, 30, 2**18]))
    with patch.object(letor_table, "_FREE_SIZE", FREE_SIZE):
        if random.random() < 0.3:
            with patch.object(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content))):
                return read_in_blocks("-", *sizes, **options)
        path = folder() / "file"
        path.write_bytes(content)
        return read_in_blocks(path, *sizes, **options)


def bits(values) -> bytes:
    """Return the bits of numbers; one NaN is like another."""
    return np.where(np.isnan(values), np.nan, values).astype(values.dtype).tobytes()


def check(data, expected: SimpleNamespace, dtype: type, sparse: bool) -> None:
    """Compare what was read with what the plain parser read."""
    n_rows = len(expected.y)
    assert data.X.shape == (n_rows, expected.width)
    assert data.X.dtype == dtype
    assert bits(data.y) == bits(np.array(expected.y))
    assert data.qid.tolist() == expected.qid
    assert data.comments.tolist() == expected.comments
    values = np.array([value for row in expected.rows for value in row.values()])
    with np.errstate(over="ignore"):
        values = values.astype(dtype)
    columns = np.array([index - 1 for row in expected.rows for index in row], dtype=int)
    rows = np.repeat(np.arange(n_rows), [len(row) for row in expected.rows])
    if sparse:
        assert data.X.indices.tolist() == columns.tolist()
        assert np.diff(data.X.indptr).tolist() == [len(row) for row in expected.rows]
        assert bits(data.X.data) == bits(values)
    else:
        X = np.zeros(data.X.shape, dtype=dtype)
        X[rows, columns] = values
        assert bits(data.X) == bits(X)


def check_error(error: ValueError, line: int | None) -> None:
    """Check that an error is short and names the file and the line."""
    message = str(error)
    name = rf"({re.escape(str(folder() / 'file'))}|standard input)"
    assert len(message) < 400, message[:400]
    if message.startswith("sparse must be True") or "gzip stream must be whole" in message:
        assert re.search(name, message), message
    else:
        found = re.match(rf"{name}, line (\d+), column \d+: ", message)
        assert found, message
        assert line in (None, int(found.group(2))), f"line {line} expected: {message}"


def case(random: np.random.Generator) -> None:
    """Read one file in two ways."""
    content = draw_file(random)
    sparse, dtype = bool(random.integers(2)), pick(random, (np.float64, np.float32))
    n_features = int(random.choice([9, 2000])) if random.random() < 0.2 else None
    options = {"sparse": sparse, "n_features": n_features}
    expected = attempt(parse, content, **options, errors=RefusedError)
    data = attempt(read, content, random, options | {"dtype": dtype})
    if isinstance(data, ValueError):
        assert isinstance(expected, RefusedError), f"{data} for {content[:2000]!r}"
        check_error(data, *expected.args)
    else:
        assert not isinstance(expected, RefusedError), f"{expected!r} for {content[:2000]!r}"
        check(data, expected, dtype, sparse)
