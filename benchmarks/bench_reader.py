"""How fast, and in how much memory, is a LETOR file read, against scikit-learn's reader?

Writes a file like MSLR-WEB and reads it in a new process per reader: once a small part, to compile
and warm up, then several times, of which the best counts. Memory is the growth of the process's
peak resident set (VmHWM) during the big read, divided by the bytes of the result (X dense, or as
scikit-learn returns it, plus y and qid).
"""

import argparse
import json
import multiprocessing
import os
import platform
import tempfile
import time
from pathlib import Path

import numba
import numpy as np
import sklearn
from sklearn.datasets import load_svmlight_file

from treerank.datasets.letor import read_letor, write_letor


def write_web_search(path, n_rows, n_features=136, seed=0):
    """Write counts, scores of six decimals and zeros, about as MSLR-WEB has them."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.lognormal(0, 2, (n_rows, n_features)), 6)
    X[:, ::2] = np.floor(X[:, ::2])
    X[rng.random(X.shape) < 0.3] = 0
    write_letor(path, X, rng.integers(0, 5, n_rows), np.arange(n_rows) // 120)


READERS = {
    "sklearn": lambda path: load_svmlight_file(path, query_id=True),
    "treerank": lambda path: tuple(read_letor(path)),
    "treerank sparse": lambda path: tuple(read_letor(path, sparse=True)),
}


def peak_memory():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def n_bytes(part):
    arrays = [part] if isinstance(part, np.ndarray) else [part.data, part.indices, part.indptr]
    return sum(array.nbytes for array in arrays)


def measure(name, small, big, n_repeats):
    """Return the best wall and CPU seconds, and peak memory over the result's size."""
    READERS[name](small)
    before = peak_memory()
    result = READERS[name](big)
    memory = (peak_memory() - before) / sum(map(n_bytes, result))
    del result
    seconds = []
    for _ in range(n_repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        READERS[name](big)
        seconds.append((time.perf_counter() - wall, time.process_time() - cpu))
    return min(wall for wall, _ in seconds), min(cpu for _, cpu in seconds), memory


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--suffix", choices=["txt", "txt.gz"], default="txt")
    options = parser.parse_args()
    versions = {module.__name__: module.__version__ for module in (np, numba, sklearn)}
    print(json.dumps(versions | {"python": platform.python_version(), "cpus": os.cpu_count()}))
    with tempfile.TemporaryDirectory() as folder:
        small, big = (str(Path(folder, f"{size}.{options.suffix}")) for size in ("small", "big"))
        write_web_search(small, 500)
        write_web_search(big, options.rows)
        print(f"{options.rows} rows x 136, {os.path.getsize(big) / 2**20:.0f} MiB {options.suffix}")
        figures = {}
        for name in READERS:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                figures[name] = pool.apply(measure, (name, small, big, options.repeats))
    print(
        f"{'reader':<16} {'wall s':>8} {'ratio':>6} {'CPU s':>8} {'ratio':>6} {'peak/result':>12}"
    )
    for name, (wall, cpu, memory) in figures.items():
        ratios = figures["sklearn"][0] / wall, figures["sklearn"][1] / cpu
        print(f"{name:<16} {wall:8.2f} {ratios[0]:6.1f} {cpu:8.2f} {ratios[1]:6.1f} {memory:12.2f}")


if __name__ == "__main__":
    main()
