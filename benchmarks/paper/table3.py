"""Table 3 of the DirectRanker paper: seconds to read a fold and to train on it.

Each ranker is trained once, with the settings of the line-up, on each fold in turn, in one process,
so the machine should do nothing else. With ``--ranklib RankLib.jar``, RankLib trains on the same
files. Compiling is not counted: a fit of a few queries runs before.
"""

import functools
import subprocess
import time
from pathlib import Path

from contestants import fit
from data_sets import answered, name_of, read_splits
from line_up import table1_rankers
from parameters import about_rankers
from protocol import measure, parser_of

from treerank.datasets.letor import read_letor

RANKERS_SHOWN = ("RankNet*", "RankNet", "ListNet*", "ListNet", "AdaRank", "LambdaMART")
#: RankLib's numbers of its rankers.
RANKLIB = {"RankNet": 1, "AdaRank": 3, "LambdaMART": 6, "ListNet": 7}


def main(argv=None):
    parser = parser_of(__doc__)
    parser.add_argument("--data", nargs="+", default=["synthetic"], help="folders")
    parser.add_argument("--ranklib", type=Path, help="RankLib's jar")
    parser.add_argument("--java", default="java", help="command that runs the jar")
    arguments = parser.parse_args(argv)
    protocol = arguments.protocol
    for folder in arguments.data:
        about = {"data": name_of(folder), "protocol_of_line_up": protocol}
        names = list(rankers_of(about))
        n_folds = {"full": 5, "quick": 2, "tiny": 1}[protocol]
        points = [{"ranker": name, "fold": fold} for fold in range(n_folds) for name in names]
        if arguments.ranklib:
            command = [arguments.java, "-jar", str(arguments.ranklib)]
            points += [
                {"ranker": name, "fold": fold, "ranklib": command}
                for fold in range(n_folds)
                for name in RANKLIB
            ]
        run = functools.partial(run_point, folder)
        measure(arguments, "table3", about["data"], about, points, run, shown=shown, jobs=1)


def shown(about):
    """Return the rankers as the file shows them."""
    return about_rankers(rankers_of(about))


def rankers_of(about):
    """Return the rankers of the table by name."""
    line_up = table1_rankers(about["protocol_of_line_up"])[0]
    return {name: line_up[name] for name in RANKERS_SHOWN if name in line_up}


def run_point(folder, about, ranker, fold, ranklib=None):
    """Read and train once."""
    path = Path(folder, f"Fold{fold + 1}", "train.txt")
    if ranklib is not None:
        return {"train_seconds": seconds_of_ranklib(ranklib, ranker, path)}
    read_seconds = None
    if path.is_file():
        started = time.perf_counter()
        read_letor(path)
        read_seconds = time.perf_counter() - started
    tiny = about["protocol_of_line_up"] == "tiny"
    train = answered(read_splits(folder, tiny=tiny)[fold].train)
    estimator = rankers_of(about)[ranker]
    few = train.qid <= sorted(set(train.qid.tolist()))[5]
    fit(estimator, train.X[few], train.y[few], train.qid[few])
    wall, cpu = time.perf_counter(), time.process_time()
    fit(estimator, *train)
    return {
        "read_seconds": read_seconds,
        "train_seconds": time.perf_counter() - wall,
        "train_cpu_seconds": time.process_time() - cpu,
        "n_documents": len(train),
    }


def seconds_of_ranklib(command, ranker, path):
    """Return how long RankLib takes to read a file and train on it, with its own defaults."""
    options = ["-train", str(path), "-ranker", str(RANKLIB[ranker]), "-metric2t", "NDCG@10"]
    started = time.perf_counter()
    subprocess.run([*command, *options], check=True, capture_output=True)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
