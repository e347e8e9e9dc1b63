"""Does ``TreeDirectRanker().fit(X, y, qid)`` rank better than peers where nobody sets anything?

Every ranker at its own defaults, on the test parts of each set; no validation part is used, but
with ``--stopped``, where all of them stop by one. NDCG@10 per query, queries without relevance left
out. A difference is that of the first ranker and a peer, paired over the queries of all folds, with
its 95 % interval; ``*`` marks those that leave out 0. Fits are kept in a folder, and the same
command goes on after a stop.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from first_line_data import SETS, folds
from first_line_rankers import OURS, PEERS, STOPPED
from quality_rankers import sorted_by_query

from treerank import NDCG
from treerank.statistics import bootstrap_interval


def measured(name, train, validation, test, seed):
    """Return NDCG@10 of each test query, with the seconds of the fit at their end."""
    started = time.process_time()
    if name in STOPPED:
        ranker = STOPPED[name](seed, train, validation)
    elif name in OURS:
        ranker = OURS[name](seed).fit(*train)
    else:
        ranker = PEERS[name](*sorted_by_query(*train), seed)
    seconds = time.process_time() - started
    return np.append(NDCG(k=10).per_query(test[1], ranker.predict(test[0]), test[2]), seconds)


def stored(folder, data, data_set, name, seed):
    """Return the values of all test queries, and the seconds of all folds."""
    path = folder / f"{data_set}-{name}-{seed}.npz"
    if not path.exists():
        parts = folds(data, data_set, name in STOPPED)
        found = [measured(name, *fold, seed) for fold in parts]
        np.savez_compressed(path, *found)
    parts = list(np.load(path).values())
    return np.concatenate([part[:-1] for part in parts]), sum(part[-1] for part in parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--rankers", nargs="+")
    parser.add_argument("--stopped", action="store_true", help="rankers that stop early")
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    arguments.results.mkdir(exist_ok=True)
    arguments.rankers = arguments.rankers or [*(STOPPED if arguments.stopped else OURS | PEERS)]
    for data_set in arguments.sets:
        values, seconds = {}, {}
        for name in arguments.rankers:
            runs = [stored(arguments.results, arguments.data, data_set, name, seed)
                    for seed in range(arguments.seeds)]  # fmt: skip
            values[name] = np.mean([run[0] for run in runs], axis=0)
            seconds[name] = np.mean([run[1] for run in runs])
        first = values[arguments.rankers[0]]
        name = arguments.rankers[0]
        print(f"{data_set}, {np.sum(~np.isnan(first))} test queries")
        print(f"  {name:29}{np.nanmean(first):.4f} {seconds[name]:8.1f} s")
        for name in arguments.rankers[1:]:
            interval = bootstrap_interval((first - values[name])[~np.isnan(first)])
            mark = "*" if interval.low > 0 or interval.high < 0 else " "
            print(f"  {name:29}{np.nanmean(values[name]):.4f} {seconds[name]:8.1f} s   "
                  f"{interval.low:+.4f} to {interval.high:+.4f} {mark}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
