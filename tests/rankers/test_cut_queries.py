"""Tools that split rows and not queries are answered by what to write."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treerank import (
    LightGBMTrees,
    QueryKFold,
    QueryShuffleSplit,
    TreeDirectRanker,
    get_metric,
    load,
    make_web_search,
)
from treerank.metrics import RankingScorer

pytestmark = pytest.mark.usefixtures("one_thread")

X, Y, QID = make_web_search(60, documents_per_query=20, n_features=8, random_state=0)
OTHERS = make_web_search(60, documents_per_query=12, n_features=8, random_state=1)
RANKER = TreeDirectRanker(LightGBMTrees(3, n_jobs=1), random_state=0)
COLORS = ["red", "blue", "green", "black", "white", "gray", "pink", "brown", "beige", "violet"]
THINGS = ["shoes 42", "hats", "coats", "socks", "gloves", "3 shirts"]
WORDS = np.array([f"{color} {thing}" for color in COLORS for thing in THINGS])
CUT = r"(\d+) of (\d+) queries were trained on with other documents"


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def warned(call):
    with warnings.catch_warnings(record=True, action="always") as caught:
        call()
    return [str(each.message) for each in caught]


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("qid", [QID, WORDS[QID]], ids=["numbers", "words"])
@pytest.mark.parametrize("scoring", [None, RankingScorer("map")], ids=["score", "RankingScorer"])
@pytest.mark.parametrize("ranker", [RANKER, make_pipeline(StandardScaler(), RANKER)])
def test_tools_of_scikit_learn_that_cut_queries_are_answered_by_what_to_write(ranker, scoring, qid):
    prefix = "" if isinstance(ranker, TreeDirectRanker) else "treedirectranker__"
    grid = {f"{prefix}k": [None, 5]}

    def search(cv):
        GridSearchCV(ranker, grid, cv=cv, scoring=scoring).fit(X, Y, qid=qid)

    def validate(cv):
        cross_val_score(ranker, X, Y, cv=cv, scoring=scoring, params={"qid": qid})

    for call, cv in ((search, 3), (validate, KFold(5, shuffle=True, random_state=0))):
        messages = warned(lambda call=call, cv=cv: call(cv))
        assert len(messages) == (6 if cv == 3 else 5)
        for message in messages:
            assert re.match(CUT, message)
            assert "cv=QueryKFold(5)" in message
        assert warned(lambda call=call: call(QueryKFold(3))) == []


def test_what_the_warning_says_works_as_it_is_written():
    (message, *_) = warned(lambda: cross_val_score(RANKER, X, Y, cv=3))
    code = r"sklearn\.set_config\(.*?\)|train, test = .*?\)\)|GridSearchCV.*?qid\)|cross_val.*?}\)"
    split, setting, *calls = re.findall(code, message)
    assert split == "train, test = next(QueryShuffleSplit(1).split(X, y, qid))"
    names = {"ranker": RANKER, "grid": {"k": [None, 5]}, "X": X, "y": Y, "qid": QID}
    names |= {"sklearn": sklearn, "QueryKFold": QueryKFold, "QueryShuffleSplit": QueryShuffleSplit}
    names |= {"GridSearchCV": GridSearchCV, "cross_val_score": cross_val_score}
    with sklearn.config_context():  # which ends the setting, too
        assert warned(lambda: exec("\n".join([split, setting, *calls]), names)) == []
    assert len(calls) == 2


def test_train_test_split_is_warned_of_in_score_and_eval_set():
    parts = train_test_split(X, Y, QID, test_size=0.2, random_state=0)
    train, test = parts[::2], parts[1::2]
    ranker = clone(RANKER).fit(*train)
    with pytest.warns(UserWarning, match=CUT) as w:
        ranker.score(*test)
    assert w[0].filename == __file__
    with pytest.warns(UserWarning, match=", eval_set keeps too many trees: keep"):
        clone(RANKER).fit(*train, eval_set=test)


def test_the_warning_leaves_open_whether_searches_came_back_with_other_documents():
    ranker = clone(RANKER).fit(X, Y, WORDS[QID])
    X_new, y_new, q_new = OTHERS
    with pytest.warns(UserWarning, match=CUT) as w:
        ranker.score(X_new, y_new, WORDS[q_new])
    first, cut, back = str(w[0].message).split(". ")
    assert first == "60 of 60 queries were trained on with other documents"
    assert cut.startswith("If a split of rows cut them (KFold, train_test_split), the score is too")
    assert "QueryKFold" in cut
    assert back.startswith("If they are the same searches at another time, or other queries under")
    assert "nothing is wrong" in back


def test_numbers_of_the_same_popularity_in_two_sets_are_not_called_a_fault():
    rng = np.random.default_rng(0)
    rates = 60 / np.arange(1, 61) ** 0.5  # the query of the smallest number is the most frequent
    known, other = (np.repeat(np.arange(60), 1 + rng.poisson(f * rates)) for f in (1.0, 0.5))
    first, second = (rng.normal(size=(len(qid), 3)) for qid in (known, other))
    ranker = clone(RANKER).fit(first, first[:, 0] > 0, known)
    (message,) = warned(lambda: ranker.score(second, second[:, 0] > 0, other))
    assert re.match(CUT, message)  # nothing tells such sets from a split of rows
    assert "or other queries under the same ids, nothing is wrong" in message


def test_the_training_set_itself_and_other_queries_do_not_warn(tmp_path):
    names = pd.DataFrame(X, columns=[f"f{i}" for i in range(8)]).assign(
        brand=np.where(X[:, 0] > 0, "Acme", "Other")
    )
    gaps = np.where(np.arange(len(Y)) % 7 == 3, np.nan, Y)
    weight = np.where(np.arange(len(Y)) % 5 == 2, 0.0, 2.0)
    several = {"a": Y, "b": gaps}
    shuffled = np.random.default_rng(0).permutation(len(Y))
    with warnings.catch_warnings(action="error"):
        for matrix in (X, X.astype(np.float32).astype(np.float64), names):
            for y in (Y, gaps, several):
                ranker = clone(RANKER).fit(matrix, y, WORDS[QID], sample_weight=weight)
                ranker.save(tmp_path / "model")
                for same in (ranker, load(tmp_path / "model")):
                    same.score(matrix, y, WORDS[QID])
                    same.score(matrix, y, QID)
                    same.score(matrix[:200], y[:200] if y is not several else Y[:200], QID[:200])
        judged = ~np.isnan(gaps)
        ranker = clone(RANKER).fit(X[judged], gaps[judged], WORDS[QID[judged]])
        ranker.score(X, gaps, WORDS[QID])
        ranker.score(X[shuffled], gaps[shuffled], WORDS[QID[shuffled]])
        ranker.score(X[:995], gaps[:995], WORDS[QID[:995]])  # the last one is cut
        ranker.score(*OTHERS)
        one = clone(RANKER).fit(X[:500], Y[:500], np.zeros(500))  # one query, and that is said
        one.score(X[600:], Y[600:])
        one.score(X[600:], Y[600:], np.zeros(600))
        clone(RANKER).fit(X[:500], Y[:500]).score(X[:500], Y[:500])


@pytest.mark.parametrize("scoring", [None, RankingScorer("map")], ids=["score", "RankingScorer"])
@pytest.mark.parametrize("ranker", [RANKER, make_pipeline(StandardScaler(), RANKER)])
def test_folds_of_rows_without_qid_are_warned_of_below_the_size_that_is_certain(ranker, scoring):
    def validate():
        cross_val_score(ranker, X[:600], Y[:600], cv=3, scoring=scoring)

    messages = warned(validate)
    assert len(messages) == 3
    for message in messages:
        assert message.startswith("qid is None, so all rows are treated as one query, of which fit")
        assert (
            "pass qid, the query of each row, and keep queries whole, as train, test = next("
            in message
        )
        assert "pass qid=np.zeros(len(y)) to fit and here to say so" in message


def test_a_validation_set_of_rows_of_the_query_without_an_id_is_warned_of():
    with pytest.warns(UserWarning, match="qid is None, so all rows are treated as one query, of"):
        clone(RANKER).fit(X[:400], Y[:400], eval_set=(X[400:600], Y[400:600]))


@pytest.mark.parametrize("weighed", ["sample_weight", "query_weight", "several labels", "gaps"])
def test_queries_of_the_training_set_in_eval_set_are_warned_of(weighed):
    gaps = np.where(np.arange(len(Y)) % 7 == 3, np.nan, Y)
    y = {"several labels": {"a": Y, "b": gaps}, "gaps": gaps}.get(weighed, Y)
    weight = np.where(QID % 2, 0.5, 2.0)
    weights = {weighed: weight} if weighed.endswith("_weight") else {}
    copied, other = (X, y, QID + 100), (2 * X, y, QID + 100)
    said = "are in the training set, too: hold others out"
    first = f"60 of 60 queries of the first eval_set, which decides, {said}, or write it last."
    of_one = f"60 of 60 queries of eval_set {said}."
    for eval_set, warning in ((copied, of_one), ([copied], of_one), ([copied, other], first)):
        with pytest.warns(UserWarning, match="in the training set") as w:
            clone(RANKER).fit(X, y, QID, **weights, eval_set=eval_set)
        assert [str(each.message) for each in w] == [warning]


def test_queries_of_weight_0_are_held_out_and_not_in_the_training_set():
    rest = QID < 40
    with warnings.catch_warnings(action="error"):
        held_out = X[~rest], Y[~rest], QID[~rest]
        clone(RANKER).fit(X, Y, QID, sample_weight=rest.astype(float), eval_set=held_out)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("metric", [get_metric("map"), get_metric(lambda y, scores, qid: 0.0)])
def test_a_metric_as_scoring_is_answered_by_the_scorer(metric):
    with pytest.raises(TypeError, match=r"scikit-learn takes treerank.metrics.RankingScorer\("):
        cross_val_score(
            RANKER,
            X,
            Y,
            cv=QueryKFold(3),
            scoring=metric,
            params={"qid": QID},
            error_score="raise",
        )
