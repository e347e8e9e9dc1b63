"""How much memory, and how much more time, does a fit take whose Parquet file is read in batches?

Writes a file of float32 features. Each fit runs in a process of its own, which is watched from
outside. "peak" is the peak of its resident memory. It holds the pages of files, too, which the
system takes away where memory is short; "own" leaves them out. With ``--in-memory`` the same file
is read as a whole as well, and the models must be equal.
"""

import argparse
import hashlib
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_parquet import write_file
from timing import say_versions


def fit(path, in_memory, arguments):
    """Fit to the file; print a hash of the trees and the CPU seconds of the fit."""
    from treerank import HistogramTrees, TreeDirectRanker
    from treerank.datasets.parquet import parquet_batches, read_parquet

    part = HistogramTrees(arguments.trees, n_jobs=arguments.jobs)
    ranker = TreeDirectRanker(part, random_state=0)
    start = time.process_time()
    ranker.fit(*read_parquet(path)) if in_memory else ranker.fit(parquet_batches(path))
    cpu = time.process_time() - start
    trees = pickle.dumps(ranker.feature_part_.get_state()["model"])
    print(hashlib.sha256(trees).hexdigest(), cpu)


def watched(path, how, arguments):
    """Return the hash of the trees, CPU seconds and peaks in MB of a process that fits."""
    sizes = ["--trees", str(arguments.trees), "--jobs", str(arguments.jobs)]
    command = [sys.executable, __file__, "--path", str(path), "--how", how, *sizes]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        peaks = {"VmHWM": 0, "RssAnon": 0}
        while process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text()
            for line in status.splitlines():
                key, _, value = line.partition(":")
                if key in peaks:
                    peaks[key] = max(peaks[key], int(value.split()[0]) * 1024 / 1e6)
            time.sleep(0.01)
        model, cpu = process.stdout.read().split()
    return model, float(cpu), *peaks.values()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--in-memory", action="store_true", help="for comparison")
    parser.add_argument("--path", type=Path, help="file to write, or to read if it is there")
    parser.add_argument("--how", help=argparse.SUPPRESS)  # batches or memory
    arguments = parser.parse_args()
    if arguments.how:
        fit(arguments.path, arguments.how == "memory", arguments)
        return
    say_versions("pyarrow")
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.path or Path(folder, "train.parquet")
        if not os.path.exists(path):
            write_file(path, arguments.rows, arguments.features)
        print(f"{'fit':<24} {'CPU s':>7} {'peak MB':>8} {'own MB':>8}")
        models = set()
        for how in ("batches", *(["memory"] if arguments.in_memory else [])):
            model, cpu, peak, own = watched(path, how, arguments)
            models.add(model)
            print(f"{how:<24} {cpu:7.1f} {peak:8.0f} {own:8.0f}", flush=True)
        if len(models) > 1:
            raise SystemExit("the models differ")


if __name__ == "__main__":
    main()
