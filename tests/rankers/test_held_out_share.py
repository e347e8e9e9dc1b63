"""``eval_set=0.2`` holds out a share of the training queries: the model is that of the rest."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

from treerank import (
    HistogramTrees,
    LightGBMTrees,
    TreeDirectRanker,
    XGBoostTrees,
    checkpointing,
    load,
    make_web_search,
)
from treerank.baselines import CoordinateAscent, ListNet
from treerank.datasets import Batches
from treerank.documents.training_queries import overlap_with_training
from treerank.feature_parts import StreamingTrees
from treerank.metrics import NDCG
from treerank.rankers import NestedRanker, StreamingRanker

pytestmark = pytest.mark.usefixtures("one_thread")

X, Y, QID = make_web_search(60, documents_per_query=20, n_features=8, random_state=0)
LIGHTGBM = TreeDirectRanker(LightGBMTrees(12, n_jobs=1), random_state=0)
HISTOGRAM = TreeDirectRanker(HistogramTrees(12, n_jobs=1), random_state=0)
FRAME = pd.DataFrame(X, columns=[f"f{i}" for i in range(8)]).assign(
    brand=np.array(["Acme", "Bolt", "Core"])[(X[:, 0] * 7).astype(int) % 3]
)
GAPS = np.where(np.random.default_rng(0).random(len(Y)) < 0.2, np.nan, Y)
WEIGHT = np.where(np.arange(len(Y)) % 3, 1.0, 2.0)
PAIRS = np.array(
    [[i, i + 1] for i in range(len(Y) - 1) if QID[i] == QID[i + 1] and Y[i] > Y[i + 1]]
)
RANKERS = {
    "lightgbm": LIGHTGBM,
    "xgboost": TreeDirectRanker(XGBoostTrees(12, n_jobs=1), random_state=0),
    "histogram": HISTOGRAM,
    "linear": TreeDirectRanker("linear", random_state=0),
    "ensemble": TreeDirectRanker([LightGBMTrees(5, n_jobs=1), "linear"], random_state=0),
    "mlp": TreeDirectRanker("mlp", random_state=0).set_params(feature_part__n_epochs=2),
    "streaming": StreamingRanker(StreamingTrees(3, n_jobs=1), random_state=0),
    "nested": NestedRanker(clone(LIGHTGBM), sizes=(8,), random_state=0),
    "CoordinateAscent": CoordinateAscent(random_state=0),
    "ListNet": ListNet(n_epochs=2, random_state=0),
}
DATA = {
    "arrays": lambda rows: {"X": X[rows], "y": Y[rows]},
    "weights": lambda rows: {"X": X[rows], "y": Y[rows], "sample_weight": WEIGHT[rows]},
    "query weights": lambda rows: {"X": X[rows], "y": Y[rows], "query_weight": 1 + QID[rows] % 2},
    "frame": lambda rows: {"X": FRAME[rows], "y": Y[rows]},
    "sparse": lambda rows: {"X": csr_matrix(X)[np.flatnonzero(rows)], "y": Y[rows]},
    "gaps": lambda rows: {"X": X[rows], "y": GAPS[rows]},
    "several labels": lambda rows: {"X": X[rows], "y": {"a": Y[rows], "b": GAPS[rows]}},
}


def held_out_by(ranker, matrix=X, y=Y):
    """Return which rows are of queries that a ranker has not seen."""
    queries = {
        query: overlap_with_training(ranker, matrix[QID == query], y[QID == query]).n_same == 0
        for query in range(60)
    }
    return np.array([queries[query] for query in QID])


def same(first, second, matrix=X):
    np.testing.assert_array_equal(first.predict(matrix), second.predict(matrix))
    assert first.calibration_slope_ == second.calibration_slope_
    if hasattr(first, "evals_result_"):
        assert first.evals_result_ == second.evals_result_


@pytest.mark.parametrize("ranker", RANKERS.values(), ids=RANKERS)
def test_the_model_is_that_of_the_rest_with_the_share_as_eval_set(ranker):
    found = clone(ranker).fit(X, Y, QID, eval_set=0.2)
    held = held_out_by(found)
    assert len(np.unique(QID[held])) == 12
    given = X[held], Y[held], QID[held]
    same(found, clone(ranker).fit(X[~held], Y[~held], QID[~held], eval_set=given))
    assert found.score(*given) > 0


@pytest.mark.parametrize("n_held", [1, 59])
def test_a_share_may_hold_out_one_query_or_leave_one(n_held):
    found = clone(RANKERS["linear"]).fit(X, Y, QID, eval_set=n_held / 60)
    assert len(np.unique(QID[held_out_by(found)])) == n_held


@pytest.mark.parametrize("take", DATA.values(), ids=DATA)
def test_it_goes_with_what_else_fit_takes(take):
    everything = take(np.ones(len(Y), dtype=bool))
    found = clone(LIGHTGBM).fit(**everything, qid=QID, eval_set=0.25, eval_metric=["map", NDCG(5)])
    matrix = everything["X"]
    y = everything["y"] if not isinstance(everything["y"], dict) else Y
    held = held_out_by(found, matrix, y)
    assert len(np.unique(QID[held])) == 15
    rest, valid = take(~held), take(held)
    valid = valid["X"], valid["y"], QID[held]
    other = clone(LIGHTGBM).fit(
        **rest, qid=QID[~held], eval_set=valid, eval_metric=["map", NDCG(5)]
    )
    same(found, other, matrix)


def test_pairs_that_are_given_are_those_among_the_rest():
    # Of equal documents in different pairs, it is not said which is which.
    matrix = np.column_stack([X, np.random.default_rng(0).random(len(Y))])
    found = clone(LIGHTGBM).fit(matrix, Y, QID, given_pairs=PAIRS, eval_set=0.2)
    held = held_out_by(found, matrix)
    number = np.cumsum(~held) - 1
    pairs = number[PAIRS[~held[PAIRS].any(axis=1)]]
    rest, given = ((matrix[rows], Y[rows], QID[rows]) for rows in (~held, held))
    same(found, clone(LIGHTGBM).fit(*rest, given_pairs=pairs, eval_set=given), matrix)


@pytest.mark.parametrize("qid", [QID, np.array([f"words {7 * q % 60}" for q in QID])])
def test_neither_the_order_of_rows_nor_the_names_of_queries_matter(qid):
    shuffled = np.random.default_rng(0).permutation(len(Y))
    found = clone(HISTOGRAM).fit(X, Y, QID, eval_set=0.2)
    other = clone(HISTOGRAM).fit(X[shuffled], Y[shuffled], qid[shuffled], eval_set=0.2)
    same(found, other)
    seeds = [
        clone(HISTOGRAM).set_params(random_state=seed).fit(X, Y, QID, eval_set=0.2)
        for seed in (0, 1)
    ]
    assert (held_out_by(seeds[0]) == held_out_by(found)).all()
    assert (held_out_by(seeds[1]) != held_out_by(found)).any()


@pytest.mark.filterwarnings("ignore:The scores order the held-out pairs no better than chance")
def test_the_trees_that_are_kept_are_decided_by_the_share():
    noise = np.random.default_rng(0).permutation(Y)
    ranker = clone(HISTOGRAM).set_params(feature_part__n_estimators=40)
    fitted = ranker.set_params(feature_part__early_stopping_rounds=2).fit(
        X, noise, QID, eval_set=0.3
    )
    assert fitted.best_iteration_ < 40


def test_batches_give_the_model_of_the_rows_in_memory():
    ends = np.flatnonzero(np.diff(QID)) + 1
    halves = [slice(0, ends[29]), slice(ends[29], None)]
    batches = Batches([(X[half], Y[half], QID[half]) for half in halves])
    same(clone(HISTOGRAM).fit(batches, eval_set=0.2), clone(HISTOGRAM).fit(X, Y, QID, eval_set=0.2))


def test_a_fit_that_was_interrupted_goes_on(tmp_path):
    def stop(n_done, n_total, values):
        if n_done == 6:
            raise KeyboardInterrupt

    with checkpointing(tmp_path / "fit", every=1), pytest.raises(KeyboardInterrupt):
        clone(HISTOGRAM).fit(X, Y, QID, eval_set=0.2, callbacks=[stop])
    with checkpointing(tmp_path / "fit", every=1):
        resumed = clone(HISTOGRAM).fit(X, Y, QID, eval_set=0.2)
    same(resumed, clone(HISTOGRAM).fit(X, Y, QID, eval_set=0.2))


def test_a_fit_that_goes_on_holds_out_what_the_earlier_one_did(tmp_path):
    settings = {"warm_start": True, "random_state": None}
    ranker = clone(LIGHTGBM).set_params(**settings).fit(X, Y, QID, eval_set=0.2)
    held = held_out_by(ranker)
    ranker.save(tmp_path / "model")
    for earlier in (ranker, load(tmp_path / "model").set_params(**settings)):
        more = earlier.set_params(feature_part__n_estimators=20).fit(X, Y, QID, eval_set=0.2)
        assert (held_out_by(more) == held).all()
    with pytest.raises(ValueError, match=r"no earlier fit was trained on; got 0.2 with warm_start"):
        clone(LIGHTGBM).set_params(**settings).fit(X, Y, QID).fit(X, Y, QID, eval_set=0.2)
    stream = clone(RANKERS["streaming"])
    for batch in range(2):
        rows = QID % 2 == batch
        stream.partial_fit(X[rows], Y[rows], QID[rows], eval_set=0.2)
    assert len(np.unique(QID[held_out_by(stream)])) == 12


RULE = r"eval_set must be \(X, y, qid\), a list of such tuples, or a share of the queries above 0"


@pytest.mark.parametrize("share", [0, 1, -0.2, 20, np.nan, np.inf, True, np.True_, "0.2", 1.0])
def test_what_is_no_share_is_refused_by_name(share):
    with pytest.raises(ValueError, match=RULE):
        clone(LIGHTGBM).fit(X, Y, QID, eval_set=share)


@pytest.mark.parametrize("share", [0.005, 0.995])
def test_a_share_of_less_than_a_query_is_refused(share):
    message = f"that holds out a query and leaves one; got {share} of 60 queries"
    with pytest.raises(ValueError, match=message):
        clone(LIGHTGBM).fit(X, Y, QID, eval_set=share)


@pytest.mark.filterwarnings("ignore:The scores order the held-out pairs no better than chance")
def test_a_query_with_two_labels_is_held_out_and_another_one_left():
    few = np.where(QID < 2, Y, 0.0)
    for _ in range(5):
        found = clone(LIGHTGBM).set_params(random_state=None).fit(X, few, QID, eval_set=0.1)
        held = np.unique(QID[held_out_by(found)])
        assert len(held) == 6
        assert (held < 2).sum() == 1
    with pytest.raises(ValueError, match="of 60 queries, of which 1 have two"):
        clone(LIGHTGBM).fit(X, np.where(QID < 1, Y, 0.0), QID, eval_set=0.1)
    with pytest.raises(ValueError, match=r"leaves one; got 0.5 of 1 queries"):
        clone(LIGHTGBM).fit(X[:40], Y[:40], eval_set=0.5)


@pytest.mark.parametrize(
    ("share", "n_judged", "held"), [(0.1, 1, "0 of 1"), (0.1, 2, "0 of 2"), (0.9, 1, "1 of 1")]
)
def test_a_label_that_no_held_out_or_remaining_query_has_is_named(share, n_judged, held):
    y = {"grade": Y, "bought": np.where(QID < n_judged, Y, np.nan)}
    rule = rf"^eval_set must .* label 'bought' is judged.* got {share}, which holds out {held} such"
    with pytest.raises(ValueError, match=rf"{rule} queries\. Write eval_set=\(X, y, qid\)"):
        clone(HISTOGRAM).fit(X, y, QID, eval_set=share)


def test_a_label_that_no_held_out_document_has_is_named():
    bought = np.zeros(len(Y))
    bought[np.flatnonzero(QID == QID[0])[0]] = 1
    labels = {"clicked": Y, "bought": bought}
    message = "eval_set=0.05 holds out .* label 'bought': y must define ndcg@10.* Write eval_set="
    with pytest.raises(ValueError, match=message):
        clone(LIGHTGBM).fit(X, labels, QID, eval_set=0.05)
    rows = QID >= 40
    none = {"clicked": Y[rows], "bought": np.zeros(rows.sum())}
    with pytest.raises(ValueError, match="eval_set: label 'bought': y must define ndcg@10"):
        clone(LIGHTGBM).fit(
            X[~rows],
            {"clicked": Y[~rows], "bought": bought[~rows]},
            QID[~rows],
            eval_set=(X[rows], none, QID[rows]),
        )


def test_a_label_without_a_value_or_with_a_wrong_one_is_named_by_score():
    ranker = clone(LIGHTGBM).fit(X, {"clicked": Y, "bought": (Y > 1).astype(float)}, QID)
    with pytest.warns(UserWarning, match="^ndcg@10 of bought is undefined for every query"):
        assert np.isnan(ranker.score(X, {"clicked": Y, "bought": 0 * Y}, QID))
    infinite = np.where(np.arange(len(Y)) == 3, np.inf, Y)
    with pytest.raises(ValueError, match="label 'bought': y must be finite; got inf in row 3"):
        ranker.score(X, {"clicked": Y, "bought": infinite}, QID)


@pytest.mark.parametrize("eval_set", [[0.2], (0.2,), [0.2, 0.3], (0.2, 0.3)])
def test_a_share_is_one_number_without_brackets(eval_set):
    rule = (
        r"eval_set must be \(X, y, qid\), a list of such tuples, or one share of the queries; got"
    )
    with pytest.raises(ValueError, match=rf"{rule} .*\. Write eval_set=0\.2 without brackets"):
        clone(LIGHTGBM).fit(X, Y, QID, eval_set=eval_set)


def test_a_label_of_no_weight_need_not_be_held_out():
    y = {"grade": Y, "bought": np.where(QID < 1, Y, np.nan)}
    ranker = clone(HISTOGRAM).set_params(label_weights={"grade": 1.0, "bought": 0.0})
    assert ranker.fit(X, y, QID, eval_set=0.1).best_iteration_ > 0


def test_clicks_are_not_held_out():
    position = np.arange(len(Y)) % 10 + 1
    with pytest.raises(ValueError, match=r"if position is given; got 0.2. A share of clicks"):
        clone(LIGHTGBM).fit(X, Y > 0, QID, position=position, eval_set=0.2)


def test_nobody_is_warned(tmp_path):
    with warnings.catch_warnings(action="error"):
        ranker = clone(LIGHTGBM).fit(X, Y, QID, eval_set=0.2)
        ranker.save(tmp_path / "model")
        load(tmp_path / "model").score(X, Y, QID)
