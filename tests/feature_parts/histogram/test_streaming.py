import pickle
from dataclasses import replace

import numpy as np
import pytest
from boosted_regression import HELD_OUT, SMALL, TARGET, VALIDATION, X, held_out_fit
from own_objective import Given, HalfSquare

from treerank import checkpointing
from treerank.feature_parts.histogram.streaming import StreamingTrees
from treerank.forests.building import some_trees
from treerank.forests.scoring import forest_scores
from treerank.rankers.streaming_ranker import StreamingRanker
from treerank.registry import load

pytestmark = pytest.mark.slow


def batch(seed, angle=0.0):
    """Queries whose relevance follows a direction that turns."""
    rng = np.random.default_rng(seed)
    X, qid = rng.normal(size=(600, 4)), np.repeat(np.arange(30), 20)
    y = np.digitize(np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1], [0.0, 1.0])
    return X, y, qid


def ranker(**params):
    return StreamingRanker(StreamingTrees(20, n_jobs=1, **params), random_state=0)


def test_a_drifting_stream_is_followed():
    streaming, frozen = ranker(forgetting=0.2), ranker().fit(*batch(0))
    angles = np.linspace(0, np.pi, 13)
    for t, angle in enumerate(angles):
        if t > 0:  # before it has seen the batch
            assert streaming.score(*batch(t, angle)) > 0.85
        streaming.partial_fit(*batch(t, angle))
    assert frozen.score(*batch(99, np.pi)) < 0.5
    assert streaming.score(*batch(99, np.pi)) > 0.9


def test_the_oldest_trees_go_first():
    streaming, before = ranker(max_estimators=50), None
    for t in range(4):
        newest = streaming.partial_fit(*batch(t)).feature_part_.booster_
        assert newest.n_trees == min(20 * (t + 1), 50)
        if t > 0:
            n_kept = newest.n_trees - 20
            old = some_trees(before, before.n_trees - n_kept, before.n_trees)
            np.testing.assert_array_equal(some_trees(newest, 0, n_kept).values, old.values)
        before = newest


def test_forgetting_shrinks_all_that_was():
    streaming = ranker(forgetting=0.25).partial_fit(*batch(0))
    before = streaming.feature_part_.booster_
    after = streaming.partial_fit(*batch(1)).feature_part_.booster_
    np.testing.assert_array_equal(some_trees(after, 0, 20).values, 0.75 * before.values)


@pytest.mark.parametrize(
    "settings",
    [{"max_estimators": 30}, {"forgetting": 0.5}, {"max_estimators": 30, "forgetting": 0.5}],
)
def test_new_trees_are_compared_with_the_trees_that_they_are_added_to(settings):
    """These are fewer than the last fit has kept, or have smaller values."""
    settings = SMALL | {"n_estimators": 20, "early_stopping_rounds": 20} | settings
    part, n_better = StreamingTrees(**settings, warm_start=True), 0
    part.fit(X, HalfSquare(TARGET), validation=VALIDATION)
    for t in range(1, 6):
        before = part.booster_
        n_kept = min(before.n_trees, part.max_estimators - 20)
        kept = some_trees(before, before.n_trees - n_kept, before.n_trees)
        kept = replace(kept, values=(1 - part.forgetting) * kept.values)
        value = held_out_fit(forest_scores(kept, HELD_OUT)[:, 0])
        rows = np.arange(t, 600, 6)
        part.fit(X[rows], HalfSquare(TARGET[rows]), validation=VALIDATION)
        values = part.evals_result_["validation"]["held_out_fit"]
        best = int(np.argmax(values))
        is_better = values[best] > value
        assert part.best_iteration_ == n_kept + (best + 1 if is_better else 0)
        assert held_out_fit(part.transform(HELD_OUT)[:, 0]) == max(value, values[best])
        n_better += is_better
    assert n_better > 2


def test_values_of_earlier_batches_are_kept_while_their_trees_are():
    part = StreamingTrees(**SMALL | {"n_estimators": 8}, max_estimators=20, warm_start=True)
    part.set_params(early_stopping_rounds=None)
    n_values = []
    for _ in range(4):
        part.fit(X, HalfSquare(TARGET), validation=VALIDATION)
        n_values.append(len(part.evals_result_["validation"]["held_out_fit"]))
    assert n_values == [8, 16, 8, 8]


def test_trees_that_were_removed_leave_no_categories_behind():
    X, y, qid = batch(0)
    X[:, 2] = np.arange(len(X)) % 7
    y = y + (X[:, 2] > 4)
    streaming, sizes = ranker(max_estimators=20, categorical_features=[2]), []
    for _ in range(4):
        forest = streaming.partial_fit(X, y, qid).feature_part_.booster_
        sets = forest.categories
        assert len(sets.starts) - 1 == (sets.of_node >= 0).sum() > 0
        sizes.append(len(sets.codes))
    assert max(sizes) < 2 * sizes[0]


def test_fit_starts_anew_and_the_first_partial_fit_is_a_fit():
    X, y, qid = batch(0)
    fresh = ranker().fit(X, y, qid)
    streamed = ranker().partial_fit(X, y, qid)
    np.testing.assert_array_equal(streamed.predict(X), fresh.predict(X))
    again = streamed.partial_fit(*batch(1)).fit(X, y, qid)
    np.testing.assert_array_equal(again.predict(X), fresh.predict(X))
    assert not streamed.warm_start


@pytest.mark.parametrize("name", ["histogram", "ensemble"])
def test_what_would_forget_or_ignore_a_batch_is_refused(name):
    with pytest.raises(ValueError, match=r"feature_part must be StreamingTrees; got [A-Z]"):
        StreamingRanker(name).partial_fit(*batch(0))


DRAWING = {"subsample": 0.5, "colsample_bytree": 0.5, "precision": "int8"}


@pytest.mark.parametrize("max_estimators", [5, 8, 13])
def test_a_full_stream_draws_as_one_that_removes_nothing(max_estimators):
    """The derivatives of the objective depend on nothing, so that trees differ by draws alone."""
    objective = Given(TARGET, np.ones(600))
    settings = SMALL | DRAWING | {"n_estimators": 5, "warm_start": True}
    full, growing = StreamingTrees(**settings), StreamingTrees(**settings)
    full.set_params(max_estimators=max_estimators)
    for n_grown in range(5, 30, 5):
        newest, all_trees = (part.fit(X, objective).booster_ for part in (full, growing))
        expected = some_trees(all_trees, n_grown - newest.n_trees, n_grown)
        assert newest.n_trees == min(n_grown, max_estimators)
        np.testing.assert_array_equal(newest.feature, expected.feature)
        np.testing.assert_array_equal(newest.values, expected.values)


def test_a_full_stream_counts_all_iterations():
    objective = HalfSquare(TARGET)
    part = StreamingTrees(**SMALL | {"n_estimators": 5}, max_estimators=8, warm_start=True)
    for _ in range(3):
        part.fit(X, objective)
    assert [iteration for iteration, _, _ in objective.seen] == [*range(15)]
    part.set_params(warm_start=False).fit(X, objective)
    assert [iteration for iteration, _, _ in objective.seen[15:]] == [*range(5)]


@pytest.mark.parametrize("n_batches", [1, 3])
@pytest.mark.parametrize("how", ["file", "pickle", "checkpoint"])
def test_a_stream_goes_on_after_a_file(how, n_batches, tmp_path):
    streaming = ranker(max_estimators=30, **DRAWING)
    for t in range(n_batches):
        streaming.partial_fit(*batch(t))
    if how == "pickle":
        restored = pickle.loads(pickle.dumps(streaming))
    else:
        streaming.save(tmp_path / "model")
        restored = load(tmp_path / "model")
    newest = batch(n_batches)
    if how == "checkpoint":
        calls = []

        def die(*_):
            calls.append(1)
            if len(calls) == 7:
                raise KeyboardInterrupt

        with checkpointing(tmp_path / "fit", every=5):
            with pytest.raises(KeyboardInterrupt):
                restored.partial_fit(*newest, callbacks=[die])
            restored.partial_fit(*newest, callbacks=[lambda *_: calls.append(1)])
        assert len(calls) == 7 + 15
    else:
        restored.partial_fit(*newest)
    streaming.partial_fit(*newest)
    np.testing.assert_array_equal(restored.predict(newest[0]), streaming.predict(newest[0]))


def test_a_checkpoint_of_another_batch_of_the_same_documents_starts_anew(tmp_path):
    """Nothing is kept of the batch before, but other columns are drawn."""
    streaming, other = (ranker(max_estimators=20, **DRAWING) for _ in range(2))
    with checkpointing(tmp_path / "fit", every=5):
        streaming.partial_fit(*batch(0), callbacks=[lambda n_done, *_: n_done == 9])
        streaming.partial_fit(*batch(0))
    other.partial_fit(*batch(0), callbacks=[lambda n_done, *_: n_done == 9])
    other.partial_fit(*batch(0))
    np.testing.assert_array_equal(streaming.predict(batch(0)[0]), other.predict(batch(0)[0]))


def test_bad_parameters_are_refused():
    for name, value in (("max_estimators", 5), ("max_estimators", 0), ("forgetting", 1.0)):
        with pytest.raises(ValueError, match=f"^{name} must"):
            ranker(**{name: value}).fit(*batch(0))
