"""How long do click models take for a log that is larger than memory, and how much memory?

A log of sessions of ten documents is written to Parquet files: 100,000 queries that follow Zipf's
law, 20 documents each, and users who go down the list and leave when they are satisfied. A ranker
without exploration shows one list for each query, so sessions repeat; one with exploration shows
another list in nearly every session. Then the distinct sessions are read, and models are fitted.
Memory is the peak of the process. Linux only.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from timing import say_versions

from treerank.clicks import CLICK_MODELS, ClickLog

N_QUERIES, N_DOCUMENTS, N_POSITIONS, AT_ONCE = 100_000, 20, 10, 100_000


def sessions(first, n, exploration, rng):
    """Return some sessions as a table."""
    query = np.minimum(rng.zipf(1.2, n), N_QUERIES) - 1
    score = -np.arange(N_DOCUMENTS) + exploration * rng.gumbel(size=(n, N_DOCUMENTS))
    document = np.argsort(-score, axis=1)[:, :N_POSITIONS].astype(np.int32)
    key = (query[:, None] * N_DOCUMENTS + document).astype(np.uint64)
    attraction = 0.05 + 0.4 * ((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)) / 2**24
    click, reading = np.zeros((n, N_POSITIONS), dtype=np.int8), np.ones(n, dtype=bool)
    for place in range(N_POSITIONS):
        click[:, place] = reading & (rng.random(n) < attraction[:, place])
        reading &= rng.random(n) < np.where(click[:, place], 0.5, 0.85)
    columns = {
        "session": np.repeat(np.arange(first, first + n), N_POSITIONS),
        "query": np.repeat(query.astype(np.int32), N_POSITIONS),
        "document": document.ravel(),
        "position": np.tile(np.arange(1, N_POSITIONS + 1, dtype=np.int16), n),
        "click": click.ravel(),
    }
    return pa.table(columns)


def write_log(path, n_sessions, exploration):
    """Write a log batch by batch."""
    rng, writer = np.random.default_rng(0), None
    for first in range(0, n_sessions, AT_ONCE):
        table = sessions(first, min(AT_ONCE, n_sessions - first), exploration, rng)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def peak():
    """Return the most memory that this process has had, in GB."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 2**20


def say(what, function):
    """Print how long a call takes, and the most memory until now; return its result."""
    wall, processor = time.perf_counter(), time.process_time()
    found = function()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    times = f"{wall:7.1f} s, processor {processor:7.1f} s"
    print(f"{what:27} {times}, peak {peak():.2f} GB", flush=True)
    return found


def main():
    """Write a log, read it and fit models to it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n-sessions", type=int, default=10_000_000)
    parser.add_argument("--exploration", type=float, default=0.0)
    parser.add_argument("--models", nargs="+", default=sorted(set(CLICK_MODELS) - {"cascade"}))
    parser.add_argument("--max-iter", type=int, default=20)
    options = parser.parse_args()
    say_versions("numpy", "numba", "pyarrow")
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder, "small.parquet"), Path(folder, "large.parquet")
        write_log(small, 1000, options.exploration)
        for name in options.models:  # compiles
            CLICK_MODELS[name](max_iter=2).fit(ClickLog.from_parquet(small))
        write_log(large, options.n_sessions, options.exploration)
        print(f"{large.stat().st_size / 2**30:.2f} GB of Parquet, peak {peak():.2f} GB")
        log = say("read", lambda: ClickLog.from_parquet(large))
        print(f"{log.n_sessions:,} sessions, {len(log):,} distinct, {len(log.items):,} items")
        for name in options.models:
            model = CLICK_MODELS[name](max_iter=options.max_iter, tol=1e-12)
            say(f"{name}, {options.max_iter} rounds", lambda model=model: model.fit(log))
        say("log likelihood", lambda: print(f"{model.log_likelihood(log):.5f}", end=" "))


if __name__ == "__main__":
    main()
