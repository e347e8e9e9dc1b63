"""Table 1 of the DirectRanker paper: rankers on predefined folds and on 15 hold-outs.

    python benchmarks/paper/table1.py --data ../MQ2008 ../MQ2007 ../MSLR-WEB10K

Tests per data set: the five folds (grid search by five folds within each training set), and 15
hold-outs of a fifth of the queries, with binary labels and with the labels as they are in training
(grid search by three folds within). NDCG@10 and MAP follow section 4.3 of the paper: labels of test
sets are made binary, relevant from 2 on where labels go to 4, and queries without a relevant
document are left out. ``--graded`` scores the labels as they are instead, into a file of its own.

The paper does not give the share of its hold-outs, but its public code does: a third of the
*documents*, without queries of fewer than 10. So a query has documents in the training and in the
test set, and one without a relevant document in the test set counts 0. These are the tests "by
documents". The quick protocol chooses from two candidates instead of eight, by the fold's own
validation set or two folds within.
"""

import functools
from pathlib import Path

from comparisons import compared
from data_sets import (
    binary_metrics,
    document_holdouts,
    name_of,
    read_splits,
    whole,
    without_validation,
)
from line_up import table1_rankers
from parameters import about_rankers
from protocol import measure, parser_of

from treerank.model_selection import QueryShuffleSplit

BY_DOCUMENTS = ", by documents"
TESTS = (
    "folds",
    "binary",
    "multi-class",
    f"binary{BY_DOCUMENTS}",
    f"multi-class{BY_DOCUMENTS}",
)
N_HOLDOUTS = {"full": 15, "quick": 15, "tiny": 2}
#: Of which the paper has no hold-outs.
FOLDS_ONLY = ("ES-Rank", "IESR-Rank", "IESVM-Rank")
INNER_FOLDS = {"full": (5, 3), "quick": (None, 2), "tiny": (None, 2)}


def main(argv=None):
    parser = parser_of(__doc__)
    parser.add_argument("--data", nargs="+", default=["synthetic"], help="folders")
    parser.add_argument("--tests", nargs="+", choices=TESTS, default=TESTS)
    parser.add_argument("--graded", action="store_true", help="score labels as they are")
    parser.add_argument("--rankers", nargs="+", help="names of the table; all of them if left out")
    arguments = parser.parse_args(argv)
    rankers, grids = chosen(arguments.protocol, arguments.rankers)
    for folder in arguments.data:
        about = {"data": name_of(folder), "rankers": list(rankers)}
        points = [{"test": test} for test in arguments.tests]
        run = functools.partial(run_test, arguments, Path(folder), rankers, grids)
        figure = "table1-graded" if arguments.graded else "table1"
        measure(arguments, figure, about["data"], about, points, run, shown=shown, jobs=1)


def chosen(protocol, names=None):
    """Return the rankers of some names, or all of them, and their grids."""
    rankers, grids = table1_rankers(protocol)
    rankers = {name: rankers[name] for name in names or rankers if name in rankers}
    return rankers, {name: grid for name, grid in grids.items() if name in rankers}


def shown(about):
    """Return the rankers as the file shows them."""
    return about_rankers(*chosen(about["protocol"], about.get("rankers")))


def run_test(arguments, folder, rankers, grids, about, test):
    """Compare all rankers in one of the tests."""
    tiny, by_documents = arguments.protocol == "tiny", test.endswith(BY_DOCUMENTS)
    binary = test.startswith("binary")
    splits = read_splits(folder, binary=binary, keep_empty=by_documents, tiny=tiny)
    options = {"grid": grids}
    if not arguments.graded:
        highest = max(split.train.y.max() for split in splits)
        empty = {"no_relevant": 0.0} if by_documents else {}
        options["metrics"] = binary_metrics(highest, **empty)
    within_folds, within_holdouts = INNER_FOLDS[arguments.protocol]
    if test == "folds":
        data = splits if within_folds is None else without_validation(splits)
        return compared(arguments, "table1", rankers, data, inner_cv=within_folds or 3, **options)
    data, n_holdouts = whole(splits), N_HOLDOUTS[arguments.protocol]
    if by_documents:
        data = document_holdouts(data, n_holdouts)
    else:
        options["cv"] = QueryShuffleSplit(n_holdouts, random_state=0)
    rankers = {name: r for name, r in rankers.items() if name not in FOLDS_ONLY}
    return compared(arguments, "table1", rankers, data, inner_cv=within_holdouts, **options)


if __name__ == "__main__":
    main()
