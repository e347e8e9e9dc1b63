"""Columns of pandas are matched by position, so an index that says another order is refused."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest

from treerank import (
    QueryKFold,
    QueryTimeSplit,
    TreeDirectRanker,
    compare,
    compare_scores,
    get_metric,
    read_runs,
    report,
)
from treerank.clicks import ClickLog, Items, count_data, evaluate_from_log
from treerank.datasets import Qrels, RankingData, TrecRun
from treerank.inspection import calibration_curve, costly_rank_changes, slices
from treerank.metrics import exposure_by_group, ndcg_bounds
from treerank.rankers import ColumnRanker, refresh
from treerank.reranking import fuse, normalize_scores, sample_lists
from treerank.statistics import prediction_powered_mean, randomization_test

N = 240
rng = np.random.default_rng(0)
INDEX = [f"row {number}" for number in rng.permutation(N)]
FRAME = pd.DataFrame(rng.normal(size=(N, 2)), columns=["a", "b"], index=INDEX)
QID = pd.Series(np.arange(N) // 8, INDEX)
DOCUMENTS = pd.Series(np.arange(N), INDEX)
Y = ((FRAME["a"] > 0) * (1.0 + (FRAME["b"] > 0))).rename("y")
POSITIVE, SCORES = FRAME["a"].abs(), FRAME["b"]
LIKELY = POSITIVE / (1 + POSITIVE)
RANKER = TreeDirectRanker("linear", random_state=0)
FITTED = TreeDirectRanker("histogram", random_state=0).fit(FRAME + 100, Y, QID + 100)
POSITION = DOCUMENTS % 8 + 1
LOG = ClickLog.from_columns(QID, QID, DOCUMENTS, POSITION, Y.clip(0, 1))


def by_people(values):
    return values.where(np.arange(N) < 40)


#: Calls with a column, and the name under which an error tells of it.
CALLS = {
    "y": lambda c: RANKER.fit(FRAME, Y if c is None else c, QID),
    "qid": lambda c: RANKER.fit(FRAME, Y, QID if c is None else c),
    "sample_weight": lambda c: RANKER.fit(FRAME, Y, QID, sample_weight=_or(c, POSITIVE)),
    "query_weight": lambda c: RANKER.fit(FRAME, Y, QID, query_weight=_or(c, 1.0 + QID)),
    "y['second']": lambda c: RANKER.fit(FRAME, {"first": Y, "second": _or(c, Y)}, QID),
    "position": lambda c: RANKER.fit(FRAME, Y.clip(0, 1), QID, position=_or(c, 1 + QID * 0)),
    "qid beside an array": lambda c: RANKER.fit(FRAME.to_numpy(), Y, _or(c, QID)),
    "eval_set: qid": lambda c: RANKER.fit(FRAME, Y, QID, eval_set=(FRAME, Y, _or(c, QID))),
    "sample_weight of score": lambda c: FITTED.score(FRAME, Y, QID, sample_weight=_or(c, POSITIVE)),
    "qid of rank": lambda c: FITTED.rank(FRAME, _or(c, QID)),
    "qid of refresh": lambda c: refresh(FITTED, FRAME, Y, _or(c, QID), n_splits=2),
    "baseline": lambda c: report(FITTED, FRAME, Y, QID, baseline=_or(c, SCORES), n_examples=1),
    "document_names": lambda c: report(
        FITTED, FRAME, Y, QID, document_names=_or(c, QID.astype(str)), n_examples=1
    ),
    "slices['s']": lambda c: report(FITTED, FRAME, Y, QID, slices={"s": _or(c, QID)}, n_examples=1),
    "scores['b']": lambda c: compare_scores({"a": SCORES, "b": _or(c, POSITIVE)}, Y, QID),
    "scores": lambda c: get_metric("map")(Y, _or(c, SCORES), QID),
    "qid of a metric": lambda c: get_metric("map").per_query(Y, SCORES, _or(c, QID)),
    "scores of a function": lambda c: get_metric(first_label)(Y, _or(c, SCORES), QID),
    "qid of queries of a function": lambda c: get_metric(first_label).per_query(
        Y, SCORES, _or(c, QID)
    ),
    "qid of bounds": lambda c: ndcg_bounds(Y, SCORES, _or(c, QID)),
    "scores of exposure": lambda c: exposure_by_group(Y, _or(c, SCORES), QID),
    "qid of a splitter": lambda c: list(QueryKFold(2).split(FRAME, Y, _or(c, QID))),
    "qid of normalization": lambda c: normalize_scores(SCORES, _or(c, QID)),
    "runs['b']": lambda c: fuse({"a": SCORES, "b": _or(c, POSITIVE)}, QID),
    "qid of samples": lambda c: sample_lists(SCORES, _or(c, QID), random_state=0),
    "qid of rank changes": lambda c: costly_rank_changes(Y, SCORES, _or(c, QID)),
    "won": lambda c: calibration_curve(LIKELY, _or(c, Y.clip(0, 1)), QID),
    "columns['c']": lambda c: slices(SCORES.rename(None), {"c": _or(c, Y)}, pd.Series(QID.index)),
    "b": lambda c: randomization_test(SCORES, _or(c, POSITIVE)),
    "runs['r'].scores": lambda c: read_runs({"r": TrecRun(QID, DOCUMENTS, _or(c, SCORES))}),
    "labels": lambda c: Qrels(QID, DOCUMENTS, _or(c, Y)).merged(),
    "click": lambda c: ClickLog.from_columns(QID, QID, DOCUMENTS, POSITION, _or(c, Y.clip(0, 1))),
    "qid of documents to take": lambda c: RankingData(FRAME, Y, _or(c, QID)).take([0]),
    "y['b'] of documents to split": lambda c: RankingData(
        FRAME, {"a": Y, "b": _or(c, Y)}, QID
    ).split(test=0.5),
    "documents": lambda c: RankingData(FRAME, Y, QID, documents=_or(c, DOCUMENTS)).split(test=0.5),
    "rows": lambda c: RankingData(FRAME, Y, QID).take(_or(c, Y > 0)),
    "by_time": lambda c: RankingData(FRAME, Y, QID).split(test=0.5, by_time=_or(c, QID)),
    "time": lambda c: compare(
        {"a": ColumnRanker("a")}, (FRAME, Y, QID), cv=QueryTimeSplit(_or(c, QID), n_splits=2)
    ),
    "document of items": lambda c: Items(QID, _or(c, DOCUMENTS)),
    "document of features": lambda c: count_data(LOG, (FRAME, QID, _or(c, DOCUMENTS))),
    "scores of candidates": lambda c: evaluate_from_log(
        LOG, _or(c, SCORES), candidates=Items(QID, DOCUMENTS), random_state=0
    ),
    "relevance": lambda c: evaluate_from_log(
        LOG, [*SCORES], candidates=Items(QID, DOCUMENTS), relevance=_or(c, LIKELY), random_state=0
    ),
    "llm": lambda c: prediction_powered_mean(human=by_people(SCORES), llm=_or(c, SCORES + Y)),
}


def _or(column, default):
    return default if column is None else column


def first_label(y, scores, qid=None):
    return float(np.asarray(y)[np.argmax(scores)])


pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", CALLS)
def test_a_series_of_rows_in_another_order_is_refused_by_name(name):
    call, argument = CALLS[name], name.partition(" of ")[0].partition(" beside ")[0]
    call(None)
    default = {"y": Y, "won": Y.clip(0, 1), "rows": Y > 0}.get(argument, QID)
    rule = re.escape(f"{argument} must have the rows of ")
    with pytest.raises(ValueError, match=f"{rule}.* its index has them in another one"):
        call(default.iloc[::-1])


def test_other_indices_say_nothing_of_the_order():
    expected = FITTED.score(FRAME, Y, QID)
    for index in (np.arange(N) + 1, ["a"] * N):
        other = Y.set_axis(index)
        assert FITTED.score(FRAME, other, QID.to_numpy()[:]) == expected


def test_indices_of_kinds_that_pandas_cannot_compare_say_nothing_of_the_order():
    kinds = {
        "one level": pd.RangeIndex(N),
        "text": pd.Index(INDEX),
        "two levels": pd.MultiIndex.from_arrays([QID, INDEX]),
        "three levels": pd.MultiIndex.from_arrays([QID, INDEX, QID]),
        "intervals": pd.interval_range(0, N),
    }
    expected = FITTED.score(FRAME, Y, QID)
    for first, second in itertools.permutations(kinds.values(), 2):
        assert FITTED.score(FRAME.set_axis(first), Y.set_axis(second), [*QID]) == expected


def test_rows_that_one_argument_has_numbered_anew_are_said_to_be_possibly_in_order():
    shuffled = FRAME.reset_index(drop=True).sample(frac=1, random_state=0)
    scaled = pd.DataFrame(shuffled.to_numpy() / 2)  # as after a transformation of an array
    y = Y.set_axis(shuffled.index)
    advice = r"after reset_index of one of them, write y\.to_numpy\(\), else y\.loc\[X\.index\]\."
    with pytest.raises(ValueError, match=advice):
        RANKER.fit(scaled, y, QID.to_numpy())
    RANKER.fit(scaled, y.to_numpy(), QID.to_numpy())


def test_an_index_of_several_levels_is_compared_as_a_whole():
    levels = pd.MultiIndex.from_arrays([QID, INDEX])
    X, y = FRAME.set_axis(levels), Y.set_axis(levels)
    with pytest.raises(ValueError, match="y must have the rows of X in their order"):
        RANKER.fit(X, y.iloc[::-1], QID.to_numpy())


def test_the_index_of_row_numbers_says_nothing_of_the_order_of_documents():
    numbers = pd.Series(np.arange(N), INDEX).iloc[::-1]
    taken = RankingData(FRAME, Y, QID).take(numbers)
    assert taken.qid.tolist() == QID.tolist()[::-1]
