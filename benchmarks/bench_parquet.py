"""How fast, and in how much memory, is a Parquet file read, against pyarrow's own reading?

Writes a file of float32 features and reads it in a new process per reader. Memory is the growth of
the process's peak resident set (VmHWM), divided by the bytes of the features as float32. The rows
"matrix" are what a ranker needs: one matrix of the features.
"""

import argparse
import multiprocessing
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from treerank.datasets.parquet import read_parquet
from treerank.documents.columns import Columns

ROWS_AT_ONCE = 200_000


def write_file(path, n_rows, n_features):
    """Write normal features, a quarter of them rounded, and labels."""
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


def with_pyarrow(path):
    return pq.read_table(path)


def with_pyarrow_to_a_matrix(path):
    table = pq.read_table(path)
    return np.column_stack([table.column(name).to_numpy() for name in table.column_names[2:]])


def with_treerank(path):
    X = read_parquet(path).X
    return Columns.of(X).numbers(X)


READERS = {
    "pyarrow": with_pyarrow,
    "pyarrow, matrix": with_pyarrow_to_a_matrix,
    "treerank, matrix": with_treerank,
}


def peak_memory():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def measure(name, path):
    """Return wall and CPU seconds, and the growth of peak memory."""
    before, wall, cpu = peak_memory(), time.perf_counter(), time.process_time()
    READERS[name](path)
    return time.perf_counter() - wall, time.process_time() - cpu, peak_memory() - before


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.parquet")
        write_file(path, options.rows, options.features)
        print(f"{'reader':<18} {'wall s':>7} {'CPU s':>7} {'peak/X':>7}")
        for name in READERS:
            runs = []
            for _ in range(options.repeats):
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    runs.append(pool.apply(measure, (name, path)))
            wall, cpu, memory = np.min(runs, axis=0)
            memory /= options.rows * options.features * 4
            print(f"{name:<18} {wall:7.2f} {cpu:7.2f} {memory:7.2f}")


if __name__ == "__main__":
    main()
