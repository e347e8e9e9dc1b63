"""Without qid all rows are one query: where fit had several, that is said aloud."""

import warnings
from functools import cache

import numpy as np
import pytest
from drawn_forests import drawn_forest
from example_rankers import PARTS, ranking_data
from sklearn.base import clone

from treerank import TreeDirectRanker, load, report
from treerank.baselines import RankSVM, SortNet
from treerank.inspection import permutation_importance
from treerank.rankers import ForestRanker, NestedRanker

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

X, Y, QID = ranking_data()
KINDS = {
    "TreeDirectRanker": TreeDirectRanker(PARTS["lightgbm"], random_state=0),
    "RankSVM": RankSVM(),
    "SortNet": SortNet(3, max_iter=1, n_epochs=1, random_state=0),
    "NestedRanker": NestedRanker(TreeDirectRanker(PARTS["lightgbm"]), sizes=(8,), random_state=0),
}
ASKED = {
    "score": lambda ranker, rows, qid: ranker.score(X[rows], Y[rows], qid),
    "rank": lambda ranker, rows, qid: ranker.rank(X[rows], qid),
    "top_k": lambda ranker, rows, qid: ranker.top_k(X[rows], qid, k=3),
    "sample": lambda ranker, rows, qid: ranker.sample(X[rows], qid, k=3),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_question = pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
MESSAGE = "qid is None, so all {} rows are treated as one query, though fit had several"


@cache
def fitted(kind, *, several=True):
    return clone(KINDS[kind]).fit(X, Y, QID if several else None)


@every_kind
@every_question
def test_a_ranker_of_several_queries_warns_without_qid_also_when_it_is_loaded(tmp_path, kind, ask):
    fitted(kind).save(tmp_path / "model")
    rows = np.tile(np.arange(160), 7)
    for ranker in fitted(kind), load(tmp_path / "model"):
        with pytest.warns(UserWarning, match=MESSAGE.format(1120)) as seen:
            ask(ranker, rows, None)
        assert len(seen) == 1
        assert seen[0].filename == __file__ or kind == "SortNet"


@every_kind
def test_one_list_to_rank_needs_no_qid_and_many_rows_need_no_words_on_scikit_learn(kind):
    ranker = fitted(kind)
    with warnings.catch_warnings(action="error"):
        for method in ranker.rank, ranker.top_k, ranker.sample:
            method(X[:31])
    for method in ranker.rank, ranker.top_k, ranker.sample:
        with pytest.warns(UserWarning, match=MESSAGE.format(1120)) as seen:
            method(np.tile(X, (7, 1)))
        assert "scikit-learn" not in str(seen[0].message)
        assert "pass qid=np.zeros(len(X)) to say so" in str(seen[0].message)
    with pytest.warns(UserWarning, match=MESSAGE.format(31) + ".*scikit-learn's tools"):
        ranker.score(X[:31], Y[:31])


def test_metrics_of_one_large_query_do_not_warn_beside_the_ranker():
    many, ranker = np.tile(np.arange(160), 7), clone(KINDS["RankSVM"])
    ranker.fit(X, Y, np.zeros(160))
    with warnings.catch_warnings(action="error"):
        ranker.score(X[many], Y[many])


@every_kind
@every_question
def test_nobody_is_warned_who_gives_qid_or_has_one_query_or_one_row(kind, ask):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(fitted(kind), slice(None), QID)
        ask(fitted(kind, several=False), slice(None), None)
        ask(fitted(kind), slice(Y.argmax(), Y.argmax() + 1), None)


def test_nobody_is_warned_of_a_forest_whose_queries_are_unknown():
    forest = drawn_forest(np.random.default_rng(0))
    with warnings.catch_warnings(action="error"):
        ForestRanker(forest).rank(np.zeros((5, forest.n_features)))


def test_an_eval_set_without_qid_is_refused_where_training_has_several_queries():
    ranker = clone(KINDS["TreeDirectRanker"])
    message = r"eval_set must be \(X, y, qid\) .* got \(X, y\), whose 160 rows would be one query"
    for eval_set in ((X, Y), [(2 * X, Y, QID), (X, Y)]):
        with pytest.raises(ValueError, match=message):
            ranker.fit(X, Y, QID, eval_set=eval_set)
    for eval_set in ((2 * X, Y, QID), (2 * X, Y, np.zeros(160))):
        ranker.fit(X, Y, QID, eval_set=eval_set)
    ranker.fit(X, Y, np.zeros(160), eval_set=(2 * X, Y))


def test_a_fit_of_one_query_of_many_documents_warns():
    many = np.tile(X, (8, 1)), np.tile(Y, 8)
    ranker = clone(KINDS["TreeDirectRanker"])
    with pytest.warns(UserWarning, match="qid is None, so all 1280 documents are treated") as seen:
        ranker.fit(*many)
    assert seen[0].filename == __file__
    ranker.fit(*many, np.zeros(1280))


@pytest.mark.parametrize("tool", [report, permutation_importance])
def test_what_measures_a_ranker_warns_without_qid_too(tool):
    with pytest.warns(UserWarning, match=MESSAGE.format(160)):
        tool(fitted("RankSVM"), X, Y)
