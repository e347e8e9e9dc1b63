"""Files of drawn documents, as large as one asks for, and readers to compare."""

import multiprocessing
import time

import numpy as np

from treerank import read_letor, read_parquet
from treerank.datasets import write_letor
from treerank.documents.columns import Columns

from .processes import resident

ROWS_AT_ONCE = 200_000


def write_parquet_rows(path, n_rows, n_features):
    """Write normal features, a quarter of them rounded, and labels."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    names = [f"f{j}" for j in range(n_features)]
    kinds = [("label", pa.float32()), ("query", pa.int64()), *((n, pa.float32()) for n in names)]
    with pq.ParquetWriter(path, pa.schema(kinds)) as writer:
        for start in range(0, n_rows, ROWS_AT_ONCE):
            n = min(ROWS_AT_ONCE, n_rows - start)
            X = rng.standard_normal((n_features, n), dtype=np.float32)
            X[::4] = X[::4].round(1)
            columns = [
                rng.integers(5, size=n).astype(np.float32),
                np.arange(start, start + n) // 99,
            ]
            writer.write_table(pa.table([*columns, *X], schema=writer.schema))


def write_letor_rows(path, n_rows, n_features=136, seed=0):
    """Write counts, scores of six decimals and zeros, about as MSLR-WEB has them."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.lognormal(0, 2, (n_rows, n_features)), 6)
    X[:, ::2] = np.floor(X[:, ::2])
    X[rng.random(X.shape) < 0.3] = 0
    write_letor(path, X, rng.integers(0, 5, n_rows), np.arange(n_rows) // 120)


def _by_sklearn(path):
    from sklearn.datasets import load_svmlight_file

    return load_svmlight_file(path, query_id=True)


def _by_pyarrow(path):
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return np.column_stack([table.column(name).to_numpy() for name in table.column_names[2:]])


def _by_treerank(path):
    X = read_parquet(path).X
    return Columns.of(X).numbers(X)


READERS = {
    "LETOR, scikit-learn": _by_sklearn,
    "LETOR, treerank": lambda path: tuple(read_letor(path)),
    "LETOR, treerank sparse": lambda path: tuple(read_letor(path, sparse=True)),
    "Parquet, pyarrow to a matrix": _by_pyarrow,
    "Parquet, treerank": _by_treerank,
}


def measured(reader, path):
    """Return the seconds of the second reading, and the peak that the first one adds, in MB."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measure, (reader, str(path)))


def _measure(reader, path):
    before = resident("VmHWM")
    READERS[reader](path)
    added = resident("VmHWM") - before
    wall, cpu = time.perf_counter(), time.process_time()
    READERS[reader](path)
    return {
        "seconds": time.perf_counter() - wall,
        "cpu seconds": time.process_time() - cpu,
        "added MB": added,
    }
