"""A fit that was killed goes on from its checkpoint only as the fit that it was."""

import shutil
from dataclasses import dataclass

import numpy as np
import pytest

from treerank import (
    HistogramTrees,
    LightGBMTrees,
    TreeDirectRanker,
    XGBoostTrees,
    checkpointing,
    get_metric,
    make_web_search,
)
from treerank.baselines import RankSVM
from treerank.datasets import Batches
from treerank.feature_parts import Stages
from treerank.feature_parts.trees.boosting import BoostedTrees
from treerank.metrics import NDCG

X, Y, QID = make_web_search(40, documents_per_query=20, n_features=6, random_state=0)
TRAIN, REST = QID < 24, QID >= 24
HELD_OUT = X[REST], Y[REST], QID[REST]
FOUND, KILLED = 30, 17
PARTS = {
    "histogram": HistogramTrees,
    "lightgbm": LightGBMTrees,
    "xgboost": XGBoostTrees,
}


def part_of(cls, **settings):
    given = {"learning_rate": 0.3, "early_stopping_rounds": 100, "n_jobs": 1} | settings
    return cls(FOUND, num_leaves=7, colsample_bytree=1.0, **given)


def interrupt(n_done, n_total, note):
    if n_done == KILLED:
        raise KeyboardInterrupt


class Fit:
    """A fit with other settings or data than the usual one, and how it goes on."""

    def __init__(self, cls=HistogramTrees, part=(), ranker=(), chained=False, **data):
        self.part, self.ranker, self.data = dict(part), dict(ranker), data
        self.cls, self.chained = cls, chained

    def __call__(self, **more):
        part = part_of(self.cls, **self.part)
        part = Stages(["linear", part]) if self.chained else part
        ranker = TreeDirectRanker(part, random_state=0, **self.ranker)
        given = {"X": X[TRAIN], "y": Y[TRAIN], "qid": QID[TRAIN], "eval_set": HELD_OUT}
        return ranker.fit(**given | self.data, **more)

    def killed(self):
        with pytest.raises(KeyboardInterrupt):
            self(callbacks=[interrupt])

    def resumed(self):
        """Return the ranker, and the number of trees that were done before."""
        done = []
        return self(callbacks=[lambda n_done, n_total, note: done.append(n_done)]), done[0] - 1


def changed(values, row=7):
    values = values.copy()
    values[row] = values[row] + 1
    return values


#: Fits that differ from the usual one in a single thing.
OTHERS = {
    "metric": Fit(ranker={"metric": "mrr"}),
    "settings of the metric": Fit(ranker={"metric": NDCG(10, ties="pessimistic")}),
    "metrics of the eval_set": Fit(eval_metric=["ndcg@10", "map"]),
    "labels of the eval_set": Fit(eval_set=(HELD_OUT[0], changed(HELD_OUT[1]), HELD_OUT[2])),
    "features of the eval_set": Fit(eval_set=(changed(HELD_OUT[0]), *HELD_OUT[1:])),
    "queries of the eval_set": Fit(eval_set=(*HELD_OUT[:2], HELD_OUT[2] // 2)),
    "another eval_set": Fit(eval_set=[HELD_OUT, HELD_OUT]),
    "no eval_set": Fit(part={"early_stopping_rounds": None}, eval_set=None),
    "patience": Fit(part={"early_stopping_rounds": 60}),
    "features": Fit(X=changed(X[TRAIN])),
    "labels": Fit(y=changed(Y[TRAIN])),
    "queries": Fit(qid=QID[TRAIN] // 2),
    "weights": Fit(sample_weight=changed(np.ones(TRAIN.sum()))),
    "gain": Fit(ranker={"gain": "linear"}),
    "weight of pairs": Fit(ranker={"weight": "map"}),
    "trees": Fit(part={"min_child_samples": 7}),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_checkpoint_of_another_fit_starts_anew(other, tmp_path):
    with checkpointing(tmp_path / "fit", every=5):
        Fit().killed()
        ranker, n_before = other.resumed()
    whole = other()
    assert n_before == 0
    np.testing.assert_array_equal(ranker.predict(X), whole.predict(X))
    assert (ranker.best_iteration_, ranker.evals_result_) == (
        whole.best_iteration_,
        whole.evals_result_,
    )


@pytest.mark.parametrize("cls", PARTS.values(), ids=PARTS)
def test_a_fit_that_has_ended_early_does_not_go_on_beyond_its_end(cls, tmp_path):
    """It is fitted again where what came after it was killed."""
    for fit in (Fit(cls, part={"early_stopping_rounds": rounds}) for rounds in (1, 2, 3)):
        whole = fit()
        assert len(whole.evals_result_["validation"]["ndcg@10"]) < FOUND
        with checkpointing(tmp_path / "fit", every=1):
            again = fit(), fit(), fit()
        for ranker in again:
            np.testing.assert_array_equal(ranker.predict(X), whole.predict(X))
            assert ranker.evals_result_ == whole.evals_result_


def test_a_fit_that_a_callback_has_ended_does_not_go_on_beyond_its_end(tmp_path):
    def stop(n_done, n_total, values):
        return n_done >= KILLED

    with checkpointing(tmp_path / "fit", every=1):
        for _ in range(3):
            ranker = Fit()(callbacks=[stop])
            assert len(ranker.evals_result_["validation"]["ndcg@10"]) == KILLED


def test_a_fit_without_a_random_state_warns_that_it_will_not_go_on(tmp_path):
    ranker = TreeDirectRanker(part_of(HistogramTrees).set_params(n_estimators=5))
    rule = r"random_state must be a number .* got None, .* Write TreeDirectRanker\(random_state=0\)"
    ranker.set_params(feature_part__early_stopping_rounds=None).fit(X, Y, QID)
    with checkpointing(tmp_path / "fit", every=5):
        with pytest.warns(UserWarning, match=rule) as caught:
            ranker.fit(X, Y, QID)
        ranker.set_params(random_state=np.random.RandomState(0)).fit(X, Y, QID)
        with pytest.raises(
            ValueError, match=r"of boosted trees; got RankSVM\(\), whose fits start"
        ):
            RankSVM().fit(X, Y, QID)
    assert [(len(caught), warning.filename) for warning in caught] == [(1, __file__)]
    with checkpointing(None):
        ranker.set_params(random_state=None).fit(X, Y, QID)


@pytest.mark.parametrize("part", ["lightgbm", "xgboost"])
def test_a_ranker_goes_on_where_it_draws_columns_by_default(part, tmp_path):
    X, y, qid = make_web_search(110, documents_per_query=8, n_features=10, random_state=1)
    ranker, whole = (TreeDirectRanker(part, random_state=0) for _ in range(2))

    done = []
    with checkpointing(tmp_path / "fit"):
        with pytest.raises(KeyboardInterrupt):
            ranker.fit(X, y, qid, callbacks=[interrupt])
        ranker.fit(X, y, qid, callbacks=[lambda n_done, *rest: done.append(n_done)])
    assert done[0] == 11
    whole.fit(X, y, qid)
    assert whole.feature_part_.colsample_bytree_ == 0.5
    np.testing.assert_array_equal(ranker.predict(X), whole.predict(X))


DRAWS = {"subsample": 0.7}, {"subsample": 0.4, "colsample_bytree": 0.5}


@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.parametrize("cls", [LightGBMTrees, XGBoostTrees])
def test_a_ranker_goes_on_where_each_tree_draws_rows(cls, draws, tmp_path):
    settings = {"n_jobs": 1} | ({"subsample_freq": 1} if cls is LightGBMTrees else {}) | draws
    ranker, whole = (TreeDirectRanker(cls(FOUND, **settings), random_state=0) for _ in range(2))

    done = []
    with checkpointing(tmp_path / "fit", every=5):
        with pytest.raises(KeyboardInterrupt):
            ranker.fit(X, Y, QID, callbacks=[interrupt])
        ranker.fit(X, Y, QID, callbacks=[lambda n_done, *rest: done.append(n_done)])
    assert done[0] == 16
    np.testing.assert_array_equal(ranker.predict(X), whole.fit(X, Y, QID).predict(X))
    if cls is LightGBMTrees:
        ranker.set_params(feature_part__subsample_freq=2)
        rule = r"subsample_freq must be 1 for LightGBMTrees where the fit has a checkpoint; got 2"
        with checkpointing(tmp_path / "fit"), pytest.raises(ValueError, match=rule):
            ranker.fit(X, Y, QID)


@dataclass(eq=False, repr=False, kw_only=True)
class DrawingTrees(LightGBMTrees):
    """Trees of which a resumed fit would draw other columns."""

    settings_to_resume = BoostedTrees.settings_to_resume


def test_a_refusal_names_what_auto_is_and_what_to_write(tmp_path):
    X, y, qid = make_web_search(40, documents_per_query=10, n_features=10, random_state=1)
    rule = (
        r"colsample_bytree must be 1\.0 for DrawingTrees .*; got 0\.5, from 'auto'\. "
        r"Write DrawingTrees\(colsample_bytree=1\.0\), or HistogramTrees\(\), which"
    )
    with checkpointing(tmp_path / "fit"), pytest.raises(ValueError, match=rule):
        TreeDirectRanker(DrawingTrees(), random_state=0).fit(X, y, qid)
    assert not (tmp_path / "fit").exists()
    ranker = TreeDirectRanker(DrawingTrees(n_estimators=3, colsample_bytree=1.0), random_state=0)
    with checkpointing(tmp_path / "fit", every=1):
        ranker.fit(X, y, qid)
    assert (tmp_path / "fit").exists()


@pytest.mark.parametrize(("one", "other"), [("hinge", "exponential"), ("logistic", "listnet")])
def test_losses_of_equal_derivatives_at_the_start_are_told_apart(one, other, tmp_path):
    of_pairs = {"weight": "uniform", "smoothing": 0.0}
    first, second = (
        Fit(ranker={"loss": loss} | ({} if loss == "listnet" else of_pairs))
        for loss in (one, other)
    )
    with checkpointing(tmp_path / "fit", every=5):
        first.killed()
        ranker, n_before = second.resumed()
    assert n_before == 0
    np.testing.assert_array_equal(ranker.predict(X), second().predict(X))


@pytest.mark.parametrize("cls", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("chained", [False, True])
def test_all_curves_survive(cls, chained, tmp_path):
    metrics = {"eval_metric": ["ndcg@10", "mrr", get_metric("map")]}
    fit = Fit(cls, chained=chained, eval_set=[HELD_OUT, HELD_OUT], **metrics)
    with checkpointing(tmp_path / "fit", every=5):
        fit.killed()
        ranker, n_before = fit.resumed()
    whole = fit()
    assert n_before == 15
    assert ranker.evals_result_ == whole.evals_result_
    assert {len(c) for curves in whole.evals_result_.values() for c in curves.values()} == {FOUND}
    assert ranker.best_iteration_ == whole.best_iteration_
    np.testing.assert_array_equal(ranker.predict(X), whole.predict(X))


def test_rows_and_held_out_rows_may_come_in_another_order(tmp_path):
    order = np.random.default_rng(1).permutation(REST.sum())
    rows = np.random.default_rng(2).permutation(TRAIN.sum())
    shuffled = Fit(
        **dict(zip(("X", "y", "qid"), (each[TRAIN][rows] for each in (X, Y, QID)), strict=True)),
        eval_set=tuple(each[order] for each in HELD_OUT),
    )
    with checkpointing(tmp_path / "fit", every=5):
        Fit().killed()
        ranker, n_before = shuffled.resumed()
    assert n_before == 15
    np.testing.assert_array_equal(ranker.predict(X), Fit()().predict(X))


def test_another_number_of_trees_is_the_same_fit(tmp_path):
    with checkpointing(tmp_path / "fit", every=5):
        Fit().killed()
        ranker = TreeDirectRanker(part_of(HistogramTrees).set_params(n_estimators=20))
        done = []
        ranker.set_params(random_state=0).fit(
            X[TRAIN],
            Y[TRAIN],
            QID[TRAIN],
            eval_set=HELD_OUT,
            callbacks=[lambda n_done, n_total, note: done.append(n_done)],
        )
    assert done == [16, 17, 18, 19, 20]


def test_a_fit_to_batches_goes_on_too(tmp_path):
    def batches(rows):
        return Batches(lambda: ((X[r], Y[r], QID[r]) for r in np.array_split(rows, 3)))

    def fit(train=TRAIN, **more):
        ranker = TreeDirectRanker(part_of(HistogramTrees), random_state=0)
        held_out = batches(np.flatnonzero(REST))
        return ranker.fit(batches(np.flatnonzero(train)), eval_set=held_out, **more)

    done = []
    with checkpointing(tmp_path / "fit", every=5):
        with pytest.raises(KeyboardInterrupt):
            fit(callbacks=[interrupt])
        ranker = fit(callbacks=[lambda n_done, n_total, note: done.append(n_done)])
        assert done[0] == 16
        fit(QID < 23, callbacks=[lambda n_done, n_total, note: done.append(n_done)])
    assert done[FOUND - 15] == 1
    np.testing.assert_array_equal(ranker.predict(X), fit().predict(X))


@pytest.mark.parametrize("cls", PARTS.values(), ids=PARTS)
def test_trees_that_are_added_to_other_trees_start_anew(cls, tmp_path):
    n_before = KILLED - 8

    def begun(first):
        part = part_of(cls, early_stopping_rounds=None, warm_start=True)
        ranker = TreeDirectRanker(part.set_params(n_estimators=n_before), random_state=0)
        ranker.set_params(warm_start=True).fit(X[first], Y[first], QID[first])
        return ranker.set_params(feature_part__n_estimators=FOUND)

    one, other, again, uninterrupted = map(begun, (REST, QID % 2 == 0, REST, QID % 2 == 0))
    with checkpointing(tmp_path / "fit", every=5), pytest.raises(KeyboardInterrupt):
        one.fit(X[TRAIN], Y[TRAIN], QID[TRAIN], callbacks=[interrupt])
    shutil.copy(tmp_path / "fit", tmp_path / "copy")
    for path, ranker, start in (("fit", again, 15), ("copy", other, n_before)):
        done = []
        record = [lambda n_done, n_total, note, done=done: done.append(n_done)]
        with checkpointing(tmp_path / path, every=5):
            ranker.fit(X[TRAIN], Y[TRAIN], QID[TRAIN], callbacks=record)
        assert done[0] == start + 1
    uninterrupted.fit(X[TRAIN], Y[TRAIN], QID[TRAIN])
    np.testing.assert_array_equal(other.predict(X), uninterrupted.predict(X))
