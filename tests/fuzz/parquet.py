"""Parquet files and folders of them, of many types and encodings, whole or damaged.

A case draws a table, writes it, and mostly changes some bytes of the file. A good answer is what
``pyarrow.parquet.read_table`` reads, column by column, or a short ``ValueError`` that names the
file if pyarrow refuses it, or if a column is not what its role asks for.
"""

import io
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from treerank.datasets.parquet import parquet_batches, read_parquet

SECONDS = 30
NAMES = ("a", "b", "a.b", "", "ü\n", "0", "x" * 300, "comment", "price", "none")
TEXTS = ("red", "", "ü", "10", "a b")


def draw_column(random, n: int) -> pa.Array:
    """Draw a column, mostly of a type that a feature may have."""
    whole = random.integers(-100, 100, size=n)
    floats = random.choice([0.0, 0.5, -1e300, np.inf, np.nan], size=n)
    texts = random.choice(TEXTS, size=n)
    kinds = [
        (floats, pa.float64()),
        (random.normal(size=n).astype(np.float32), pa.float32()),
        (random.normal(size=n).astype(np.float16), pa.float16()),
        (whole, pa.int8()),
        (whole * 10**16, pa.int64()),
        (whole % 2 == 0, pa.bool_()),
        ([f"{value}.5" for value in whole], pa.decimal128(10, 2)),
        (texts, pa.string()),
        (texts, pa.large_string()),
        (texts, pa.dictionary(pa.int8(), pa.string())),
        ([None] * n, pa.null()),
        ([[1.0]] * n, pa.list_(pa.float64())),
        ([{"x": 1}] * n, pa.struct([("x", pa.int64())])),
        (whole * 10**9, pa.timestamp("us")),
        ([b"\xff"] * n, pa.binary()),
    ]
    likely = np.array([9, 9, 1, 3, 3, 2, 1, 2, 1, 3, 1, 0.2, 0.2, 0.2, 0.2])
    values, kind = kinds[random.choice(len(kinds), p=likely / likely.sum())]
    mask = random.random(n) < random.choice([0.0, 0.0, 0.3])
    if pa.types.is_decimal(kind):
        return pa.array(values).cast(kind)
    if pa.types.is_dictionary(kind):
        return pa.array(values, pa.string(), mask=mask).dictionary_encode().cast(kind)
    if isinstance(values, list):
        return pa.array(values, kind)
    if pa.types.is_float16(kind):
        return pa.array(values, mask=mask)
    return pa.array(values, mask=mask).cast(kind)


def draw_table(random) -> pa.Table:
    """Draw a table with most of the columns that are needed."""
    n = int(random.choice([0, 1, 7, 300], p=[0.03, 0.17, 0.4, 0.4]))
    names = random.permutation(NAMES)[: random.integers(0, 5)].tolist()
    columns = {name: draw_column(random, n) for name in names}
    labels = [random.integers(5, size=n), random.random(n), np.array([True] * n)]
    queries = [np.arange(n) // 3, random.choice(TEXTS, size=n), pa.array(np.arange(n) // 4)]
    for name, kinds in {"label": labels, "query": queries}.items():
        if random.random() < 0.97:
            columns[name] = pa.array(kinds[random.integers(3)])
        if random.random() < 0.03:
            columns[name] = draw_column(random, n)
    order = random.permutation(len(columns))
    return pa.table({[*columns][i]: [*columns.values()][i] for i in order})


def written(random, table: pa.Table) -> bytes:
    """Return a table as a file, in one of many encodings."""
    stream = io.BytesIO()
    pq.write_table(
        table,
        stream,
        compression=str(random.choice(["none", "snappy", "zstd", "gzip"])),
        row_group_size=int(random.choice([2, 100, 10**6])),
        use_dictionary=bool(random.integers(2)),
        data_page_version=str(random.choice(["1.0", "2.0"])),
        data_page_size=int(random.choice([16, 2**20])),
        store_schema=bool(random.integers(2)),
        write_page_checksum=bool(random.integers(2)),
    )
    return stream.getvalue()


def damaged(random, content: bytes) -> bytes:
    """Change, insert, remove or copy some bytes."""
    for _ in range(random.choice([1, 1, 3])):
        start, end = sorted(random.integers(len(content) + 1, size=2))
        if random.random() < 0.9:
            end = min(end, start + int(random.choice([0, 1, 1, 4])))
        new = [b"", random.bytes(1), random.bytes(4), content[:end]][random.integers(4)]
        content = content[:start] + new + content[end:]
    return content


def plainly(path: Path):
    """Return what pyarrow reads, or its error."""
    try:
        with pq.ParquetFile(path) as file:
            names = [name for name in file.schema_arrow.names if name != "comment"]
            table = file.read(columns=names, use_threads=False)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        return error
    return table


def floats_of(column: pa.ChunkedArray) -> np.ndarray:
    """Return numbers one by one, NaN where one is missing."""
    return np.array([np.nan if v is None else float(v) for v in column.to_pylist()])


def check(data, table: pa.Table) -> None:
    """Compare what was read with a table of pyarrow."""
    assert data.X.column_names == [
        name for name in table.column_names if name not in ("label", "query", "comment")
    ]
    np.testing.assert_array_equal(data.y, floats_of(table.column("label")))
    assert data.qid.tolist() == table.column("query").to_pylist()
    for name in data.X.column_names:
        found, expected = data.X.column(name), table.column(name)
        if found.type in (pa.float32(), pa.float64()):
            with np.errstate(over="ignore"):
                numbers = floats_of(expected).astype(found.type.to_pandas_dtype())
            np.testing.assert_array_equal(floats_of(found), numbers)
        else:
            assert found.to_pylist() == expected.to_pylist()


def is_refused(table: pa.Table) -> bool:
    """Tell whether a table is not what the reader asks for."""
    names = [name for name in table.column_names if name not in ("label", "query", "comment")]
    if len(table) == 0 or not names or not {"label", "query"} <= {*table.column_names}:
        return True
    words = r"struct|list|timestamp|binary|date|time|duration|interval|extension|map"
    kinds = pa.table({str(i): table.column(name) for i, name in enumerate(names)}).schema.types
    has_odd = any(word in str(kind) for kind in kinds for word in words.split("|"))
    label, query = table.column("label"), table.column("query")
    has_label = label.type not in (pa.string(), pa.null()) and not str(label.type).count("<")
    try:
        has_label = has_label and not np.isinf(floats_of(label)).any()
    except (TypeError, ValueError):
        return True
    ids = query.to_pylist()
    has_query = query.null_count == 0 and all(value == value for value in ids)
    is_odd_query = any(isinstance(value, bool | list | dict | bytes) for value in ids)
    is_decimal = "decimal" in str(query.type) or "timestamp" in str(query.type)
    has_nul = any(isinstance(value, str) and "\0" in value for value in ids)
    has_names = len({*table.column_names}) == len(table.column_names)
    return (
        has_odd
        or not (has_label and has_query and has_names)
        or is_odd_query
        or is_decimal
        or has_nul
        or "halffloat" in str(query.type)
    )


def case(random: np.random.Generator) -> None:
    """Read one file, as a whole and in batches."""
    path = Path(tempfile.mkdtemp()) / "train.parquet"
    content = written(random, draw_table(random))
    if random.random() < 0.8:
        content = damaged(random, content)
    path.write_bytes(content)
    expected = plainly(path)
    try:
        data = read_parquet(path)
    except ValueError as error:
        message = str(error)
        assert message.startswith(str(path)), message
        assert len(message) < 700, message
        assert not isinstance(expected, pa.Table) or is_refused(expected), message
        return
    assert isinstance(expected, pa.Table), f"{expected!r}"
    check(data, expected)
    batches = list(parquet_batches(path, batch_size=int(random.choice([1, 50, 1000]))))
    assert np.concatenate([batch.qid for batch in batches]).tolist() == data.qid.tolist()
    assert pa.concat_tables([batch.X for batch in batches]).to_pylist() == data.X.to_pylist() or (
        "nan" in str(data.X.to_pylist())
    )
