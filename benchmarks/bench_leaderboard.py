"""Which rankers lead over all data sets, by their mean ranks?

    python benchmarks/bench_leaderboard.py --data FOLDER ... --into benchmarks/README.md

Every ranker of the package and the engines' own, at its defaults, on the folds of each folder
(``paper/data_sets.py``). Each test query ranks the rankers by NDCG@10; mean ranks are over the
queries of all sets, and the critical difference is Nemenyi's. A ranker that fails on a set comes
last there. Finished fits are kept in ``build/paper``, so that the same command continues after a
stop, and adds rankers and data sets. ``--into`` replaces the table in a file.
"""

import functools
import importlib
import sys
from pathlib import Path

import numpy as np
from scipy.stats import rankdata, sem

from treerank import TreeDirectRanker
from treerank.cli.compare import NAMES
from treerank.registry import RANKERS, ranker_class
from treerank.statistics.resampled import corrected_standard_error

sys.path.append(str(Path(__file__).resolve().parent / "paper"))
comparisons, contestants, data_sets = map(
    importlib.import_module, ("comparisons", "contestants", "data_sets")
)
parameters, protocol, readme_table = map(
    importlib.import_module, ("parameters", "protocol", "readme_table")
)
render = importlib.import_module("leaderboard_table").render
METRIC, BEST = "ndcg@10", "TreeDirectRanker.best"
ENGINES = {"LGBMRanker": "lightgbm", "XGBRanker": "xgboost", "CatBoostRanker": "catboost"}


def rankers_of(names):
    """Return rankers by name, as they come."""
    own = {name: ranker_class(name) for name in NAMES if name in RANKERS}
    engines = {name: functools.partial(contestants.EngineRanker, e) for name, e in ENGINES.items()}
    makers = own | engines | {BEST: TreeDirectRanker.best}
    return {name: makers[name]() for name in names or makers}


def shown(about):
    return parameters.about_rankers(rankers_of(about["rankers"]))


def run_set(arguments, folder, rankers, about, metric):
    """Return mean, error, mean rank and seconds of each ranker on one set."""
    splits = data_sets.read_splits(folder, tiny=arguments.protocol == "tiny")
    comparison = comparisons.comparison_of(
        arguments, "leaderboard", rankers, splits, metrics=[metric]
    )
    by_split, by_query = comparison.by_split(metric), comparison.by_query(metric)
    by_query = by_query[~np.isnan(by_query).all(axis=1)]
    ranks = rankdata(-np.nan_to_num(by_query, nan=-1.0), axis=1).mean(axis=0)
    error = [sem(by_query[:, c]) for c in range(len(ranks))]
    if len(splits) > 1:
        error = [corrected_standard_error(v, comparison.test_to_train) for v in by_split.T]
    columns = {
        "mean": by_split.mean(axis=0),
        "error": error,
        "rank": ranks,
        "seconds": [seconds_of(comparison, name) for name in rankers],
    }
    found = {
        label: {n: round(float(v), 4) for n, v in zip(rankers, values, strict=True) if v == v}
        for label, values in columns.items()
    }
    return found | {"n_queries": len(by_query), "failures": list(map(str, comparison.failures))}


def seconds_of(comparison, ranker):
    """Return the mean seconds of the fits of a ranker, NaN without any."""
    seconds = [found.seconds[1] for found in comparisons.outcomes_of(comparison, ranker)]
    return np.mean(seconds) if seconds else np.nan


def main(argv=None):
    parser = protocol.parser_of(__doc__)
    parser.add_argument("--data", nargs="+", default=["synthetic"], help="folders")
    parser.add_argument("--rankers", nargs="+", help="all of them if left out")
    parser.add_argument("--into", type=Path, help="file whose marked block to replace")
    arguments = parser.parse_args(argv)
    rankers, parts = rankers_of(arguments.rankers), {}
    for folder in arguments.data:
        about = {"data": data_sets.name_of(folder), "rankers": list(rankers)}
        run = functools.partial(run_set, arguments, folder, rankers)
        points = arguments, "leaderboard", about["data"], about, [{"metric": METRIC}]
        parts[about["data"]] = protocol.measure(*points, run, shown=shown, jobs=1)
    if arguments.into is None:
        print(render(parts))
        return
    readme_table.replace_block(arguments.into, render(parts), "leaderboard")


if __name__ == "__main__":
    main()
