import re
import warnings

import numpy as np
import pandas as pd
import pytest

from treerank import HistogramTrees, TreeDirectRanker
from treerank.documents.copied_columns import warn_of_copied_columns

X = pd.DataFrame(np.random.default_rng(0).normal(size=(2000, 2)), columns=["bm25", "price"])
Y, QID = np.random.default_rng(1).integers(0, 4, 2000).astype(float), np.arange(2000) // 20


@pytest.mark.parametrize(("n_unjudged", "rows"), [(0, "rows"), (1, "judged rows"), (900, "judged")])
@pytest.mark.parametrize("known", [True, False])
def test_a_feature_that_equals_the_judged_labels_is_warned_of(n_unjudged, rows, known):
    y = np.where(np.arange(2000) < n_unjudged, np.nan, Y)
    frame = X.assign(boost=Y if known else y)  # what it holds for an unjudged row does not matter
    with pytest.warns(UserWarning, match=f"Column 'boost' of X equals y in all {rows}"):
        TreeDirectRanker("linear").fit(frame, y, QID)


@pytest.mark.filterwarnings("ignore:Position bias can only be estimated")
@pytest.mark.parametrize("name", ["sample_weight", "query_weight", "position", "y['bought']"])
def test_a_feature_that_equals_what_else_is_given_by_row_is_warned_of(name):
    values = {
        "sample_weight": np.arange(2000) % 7 + 1.0,
        "query_weight": QID % 5 + 1.0,
        "position": np.arange(2000) % 20 + 1,
        "y['bought']": np.where(np.arange(2000) < 90, np.nan, Y > 2),
    }[name]
    given = {"y": (Y > 1).astype(float), name: values}
    if name.startswith("y"):
        given = {"y": {"grade": Y, "bought": values}}
    frame = X.assign(left_in=np.nan_to_num(values, nan=7))
    ranker = TreeDirectRanker("linear")
    match = f"Column 'left_in' of X equals {re.escape(name)} in all (judged )?rows"
    with pytest.warns(UserWarning, match=match):
        ranker.fit(frame, qid=QID, **given)
    with warnings.catch_warnings():  # in all rows but one
        warnings.filterwarnings("error", "Column")
        ranker.fit(
            frame.assign(left_in=np.where(np.arange(2000) == 1999, 50, frame["left_in"])),
            qid=QID,
            **given,
        )


def test_few_judged_rows_and_other_features_are_not():
    with warnings.catch_warnings(action="error"):
        few = np.where(np.arange(2000) < 1500, np.nan, Y)
        TreeDirectRanker("linear").fit(X.assign(boost=Y), few, QID)
        y = np.where(np.arange(2000) < 5, np.nan, Y)
        TreeDirectRanker("linear").fit(X.assign(boost=np.where(QID == 9, 0, Y)), y, QID)


def test_a_column_of_one_value_is_no_copy_of_labels_of_one_value():
    with warnings.catch_warnings(action="error"):
        warn_of_copied_columns(None, np.ones((2000, 1)), {"y": np.ones(2000), "qid": None})


def test_a_text_that_is_the_query_in_most_rows_is_no_copy():
    users = np.char.add("u", QID.astype(str))
    almost = np.where(np.arange(2000) == 1, "u9", users)
    with pytest.warns(UserWarning, match="Column 'user' of X equals qid"):
        TreeDirectRanker(HistogramTrees(1)).fit(X.assign(user=users), Y, users)
    with warnings.catch_warnings(action="error"):
        TreeDirectRanker(HistogramTrees(1)).fit(X.assign(user=almost), Y, users)


@pytest.mark.parametrize(("n_judged", "is_warned"), [(999, False), (1000, True)])
def test_a_thousand_judged_rows_are_equal_by_no_chance(n_judged, is_warned):
    y = np.where(np.arange(2000) < n_judged, Y, np.nan)
    ranker = TreeDirectRanker("linear").fit(np.c_[X, Y[::-1]], Y, QID)
    with warnings.catch_warnings(record=True, action="always") as caught:
        warn_of_copied_columns(ranker, np.c_[X, Y], {"y": y})
    assert bool(caught) == is_warned


@pytest.mark.parametrize(("n_rows", "is_warned"), [(999, False), (1000, True)])
def test_fewer_than_a_thousand_rows_may_be_equal_by_chance(n_rows, is_warned):
    ranker = TreeDirectRanker("linear").fit(X, Y, QID)
    with warnings.catch_warnings(record=True, action="always") as caught:
        warn_of_copied_columns(ranker, np.c_[Y, Y][:n_rows], {"y": Y[:n_rows]})
    assert len(caught) == 2 * is_warned
