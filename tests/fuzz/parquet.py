"""Damaged Parquet files, whole and in batches.

A table with many types of columns is written in one of many encodings, and some bytes of the file
are changed. A good answer is what ``pyarrow.parquet.read_table`` reads, or a short ``ValueError``
that names the file.
"""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz import change_bytes, folder
from treerank.datasets.parquet import parquet_batches, read_parquet

SECONDS = 30


def table_of(random, n: int) -> pa.Table:
    """Return a table of n rows with a column of each type that a feature may have."""
    whole, missing = random.integers(-100, 100, size=n), random.random(n) < 0.3
    texts = pa.array(random.choice(["red", "", "ü", "10"], size=n), pa.string(), mask=missing)
    columns = {
        "a": pa.array(random.choice([0.0, 0.5, -1e300, np.nan], size=n), mask=missing),
        "a.b": pa.array(random.normal(size=n).astype(np.float32)),
        "": pa.array(whole, pa.int8(), mask=missing),
        "ü\n": pa.array(whole * 10**16),
        "flag": pa.array(whole > 0),
        "x" * 300: texts.dictionary_encode(),
        "label": pa.array(random.integers(5, size=n)),
        "query": pa.array(np.arange(n) // 3),
    }
    kept = [*random.permutation([*columns][:-2])[: random.integers(1, 7)], "label", "query"]
    return pa.table({name: columns[name] for name in random.permutation(kept).tolist()})


def written(random, table: pa.Table) -> bytes:
    """Return a table as a file, in one of many encodings, with some bytes changed."""
    stream = io.BytesIO()
    pq.write_table(
        table,
        stream,
        compression=str(random.choice(["none", "snappy", "zstd", "gzip"])),
        row_group_size=int(random.choice([2, 100, 10**6])),
        use_dictionary=bool(random.integers(2)),
        data_page_version=str(random.choice(["1.0", "2.0"])),
        store_schema=bool(random.integers(2)),
        write_page_checksum=bool(random.integers(2)),
    )
    content = stream.getvalue()
    for _ in range(random.choice([0, 1, 1, 3])):
        content = change_bytes(random, content)
    return content


def case(random: np.random.Generator) -> None:
    """Read one file, as a whole and in batches."""
    path = folder() / "train.parquet"
    path.write_bytes(written(random, table_of(random, int(random.choice([1, 7, 300])))))
    data = None
    try:
        data = read_parquet(path)
        batches = [*parquet_batches(path, batch_size=int(random.choice([1, 50, 1000])))]
    except ValueError as error:
        message = str(error)
        assert message.startswith(str(path)), message
        assert len(message) < 700, message
        assert data is None or not is_whole(path), message  # pyarrow itself has two opinions
        return
    expected = pq.read_table(path, use_threads=False)
    assert data.qid.tolist() == expected.column("query").to_pylist()
    np.testing.assert_array_equal(data.y, expected.column("label").to_numpy())
    for name in data.X.column_names:
        found, plain = (map(float_of, each.column(name).to_pylist()) for each in (data.X, expected))
        assert str([*found]) == str([*plain])
    assert np.concatenate([batch.qid for batch in batches]).tolist() == data.qid.tolist()
    joined = pa.concat_tables([batch.X for batch in batches])
    assert str(joined.to_pylist()) == str(data.X.to_pylist())


def is_whole(path):
    """Tell whether pyarrow reads all of a file."""
    try:
        pq.read_table(path, use_threads=False)
    except (pa.ArrowException, OSError):
        return False
    return True


def float_of(value):
    """Return a number as a float, NaN where it is missing, and text as it is."""
    return value if isinstance(value, str) else float("nan" if value is None else value)
