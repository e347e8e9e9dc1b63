"""Which feature part ranks best at what cost? Ours, the neural core, and the engines' own rankers.

``python benchmarks/paper/neural_core.py --quick --data ../MQ2008``. All rankers have the same folds
and the same number of candidates, four (two with ``--quick``), chosen on the fold's validation set
by NDCG@10; the neural core has each of them with pairs across and within queries. ``--rankers``
names some of them; an engine that is not installed is left out. Seconds are those of the final fit.
Megabytes are the growth of the memory of a process with one fit, at its peak. Writes
``results/neural-core-*.jsonl``; ``paper/readme_table.py`` prints them.
"""

import functools
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import comparisons
import contestants
import data_sets
import protocol


def run_folds(arguments, folder, rankers, grids, about, test):
    splits = data_sets.read_splits(folder, tiny=arguments.protocol == "tiny")
    return comparisons.compared(arguments, "neural-core", rankers, splits, grid=grids)


def megabytes_of_fit(folder, protocol_name, name):
    """Fit in a process of its own, after a small fit that loads and compiles what it needs."""
    estimator = contestants.contestants(protocol_name, [name])[0][name]
    train = data_sets.read_splits(folder, tiny=protocol_name == "tiny")[0].train
    few = train.qid <= sorted(set(train.qid.tolist()))[5]
    contestants.fit(estimator, train.X[few], train.y[few], train.qid[few])
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far; Linux only
    before = resident("VmRSS")
    contestants.fit(estimator, *train)
    return resident("VmHWM") - before


def resident(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(name))) / 1024


def run_memory(folder, protocol_name, about, ranker):
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawned) as pool:
        grown = pool.submit(megabytes_of_fit, folder, protocol_name, ranker).result()
    return {"megabytes": round(grown, 1)}


def installed(rankers, grids):
    """Leave out engines that are not installed, and say so."""
    missing = [name for name, ranker in rankers.items() if not contestants.can_run(ranker)]
    if missing:
        protocol.say(f"not installed, left out: {', '.join(missing)}")
    kept = [name for name in rankers if name not in missing]
    return {name: rankers[name] for name in kept}, {name: grids[name] for name in kept}


def main(argv=None):
    parser = protocol.parser_of(__doc__)
    parser.add_argument("--data", nargs="+", default=["synthetic"], help="folders")
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--rankers", nargs="+", metavar="NAME", help="all of them if left out")
    arguments = parser.parse_args(argv)
    try:
        rankers, grids = contestants.contestants(arguments.protocol, arguments.rankers)
    except ValueError as error:
        parser.error(f"--{error}")
    rankers, grids = installed(rankers, grids)
    for folder in arguments.data:
        data = data_sets.name_of(folder)
        about = {"data": data, "names": list(rankers)}
        about |= {"seconds": "of the final fit, while --jobs processes ran"}
        about |= {"megabytes": "what the resident memory of a process grows by during one fit"}
        compare = functools.partial(run_folds, arguments, Path(folder), rankers, grids)
        weigh = functools.partial(run_memory, Path(folder), arguments.protocol)
        points = [{"test": "folds"}]
        if not arguments.no_memory:
            points += [{"ranker": name} for name in rankers]

        def run(about, compare=compare, weigh=weigh, **point):
            return (compare if "test" in point else weigh)(about, **point)

        shown = contestants.shown
        protocol.measure(arguments, "neural-core", data, about, points, run, shown=shown, jobs=1)


if __name__ == "__main__":
    main()
