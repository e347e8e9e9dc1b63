"""Table 1 of the DirectRanker paper: rankers on predefined folds and on 15 hold-outs.

    python benchmarks/paper/table1.py --data ../MQ2008 ../MQ2007 ../MSLR-WEB10K

Three tests per data set: the five folds (grid search by five folds within each training set), and
15 hold-outs of a fifth of the queries, with binary labels and with the labels as they are (grid
search by three folds within). The quick protocol chooses from two candidates instead of eight, by
the fold's own validation set or two folds within. NDCG@10 and MAP follow the paper: queries without
a relevant document are left out, and shorter lists are scored as they are. The paper does not give
the share of its hold-outs.
"""

import functools
from pathlib import Path

from comparisons import compared
from data_sets import name_of, read_splits, whole, without_validation
from line_up import table1_rankers
from parameters import about_rankers
from protocol import measure, parser_of

from treerank.model_selection import QueryShuffleSplit

TESTS = ("folds", "binary", "multi-class")
N_HOLDOUTS = {"full": 15, "quick": 15, "tiny": 2}
#: Of which the paper has no hold-outs.
FOLDS_ONLY = ("ES-Rank", "IESR-Rank", "IESVM-Rank")
INNER_FOLDS = {"full": (5, 3), "quick": (None, 2), "tiny": (None, 2)}


def main(argv=None):
    parser = parser_of(__doc__)
    parser.add_argument("--data", nargs="+", default=["synthetic"], help="folders")
    parser.add_argument("--tests", nargs="+", choices=TESTS, default=TESTS)
    parser.add_argument("--rankers", nargs="+", help="names of the table; all of them if left out")
    arguments = parser.parse_args(argv)
    rankers, grids = chosen(arguments.protocol, arguments.rankers)
    for folder in arguments.data:
        about = {"data": name_of(folder), "rankers": list(rankers)}
        points = [{"test": test} for test in arguments.tests]
        run = functools.partial(run_test, arguments, Path(folder), rankers, grids)
        measure(arguments, "table1", about["data"], about, points, run, shown=shown, jobs=1)


def chosen(protocol, names=None):
    """Return the rankers of some names, or all of them, and their grids."""
    rankers, grids = table1_rankers(protocol)
    rankers = {name: rankers[name] for name in names or rankers if name in rankers}
    return rankers, {name: grid for name, grid in grids.items() if name in rankers}


def shown(about):
    """Return the rankers as the file shows them."""
    return about_rankers(*chosen(about["protocol"], about.get("rankers")))


def run_test(arguments, folder, rankers, grids, about, test):
    """Compare all rankers in one of the three tests."""
    within_folds, within_holdouts = INNER_FOLDS[arguments.protocol]
    splits = read_splits(folder, binary=test == "binary", tiny=arguments.protocol == "tiny")
    options = {"grid": grids, "inner_cv": within_folds or 3}
    if test == "folds":
        data = splits if within_folds is None else without_validation(splits)
    else:
        rankers = {name: r for name, r in rankers.items() if name not in FOLDS_ONLY}
        cv = QueryShuffleSplit(N_HOLDOUTS[arguments.protocol], random_state=0)
        data, options = whole(splits), {"grid": grids, "inner_cv": within_holdouts, "cv": cv}
    return compared(arguments, "table1", rankers, data, **options)


if __name__ == "__main__":
    main()
