from dataclasses import dataclass

import numpy as np
import pytest
from boosted_regression import SMALL, TARGET, TARGETS, VALIDATION, X, fitted, own_trees_too
from forest_cases import values_of_trees
from own_objective import Given, HalfSquare

from treerank import HistogramTrees, LightGBMTrees, XGBoostTrees, checkpointing
from treerank.progress import listening

pytestmark = pytest.mark.slow
HELD_OUT, held_out_fit = VALIDATION


@own_trees_too
@pytest.mark.parametrize("how", ["fit", "restored"])
def test_a_continued_fit_equals_one_long_fit(part_class, how):
    drawn = {}
    if part_class is HistogramTrees:  # others draw by the number of trees of this fit
        drawn = {"subsample": 0.7, "colsample_bytree": 0.5, "precision": "int8"}
    objective = HalfSquare(TARGET)
    first = fitted(part_class, n_estimators=9, **drawn)
    part = first if how == "fit" else part_class(**first.get_params())
    part.set_state(first.get_state()).set_params(warm_start=True, n_estimators=15)
    part.fit(X, objective)
    assert [iteration for iteration, _, _ in objective.seen] == list(range(9, 15))
    assert part.best_iteration_ == 15
    np.testing.assert_array_equal(part.transform(X), fitted(part_class, **drawn).transform(X))


@own_trees_too
def test_several_outputs_can_be_continued(part_class):
    part = fitted(part_class, TARGETS, n_estimators=9, warm_start=True)
    part.set_params(n_estimators=15).fit(X, HalfSquare(TARGETS))
    expected = fitted(part_class, TARGETS).transform(X)
    np.testing.assert_allclose(part.transform(X), expected, atol=1e-6)


def test_continuing_on_other_data_starts_from_the_right_scores(part_class):
    part = fitted(part_class, warm_start=True)
    other, objective = HELD_OUT, HalfSquare(HELD_OUT[:, 0])
    scores = part.transform(other)[:, 0]
    part.set_params(n_estimators=16).fit(other, objective)
    np.testing.assert_allclose(objective.seen[0][1], scores, atol=1e-5)


def test_a_warm_start_without_more_trees_changes_nothing(part_class):
    part = fitted(part_class, warm_start=True)
    booster = part.booster_
    with pytest.warns(UserWarning, match=r"No trees are added: .*n_estimators=15 is 15 in all"):
        assert part.fit(X, HalfSquare(TARGET)).booster_ is booster
    with pytest.raises(ValueError, match="n_estimators must be at least 15"):
        part.set_params(n_estimators=14).fit(X, HalfSquare(TARGET))


@own_trees_too
def test_a_continued_fit_draws_other_rows(part_class):
    params = {"subsample": 0.5}
    params |= {"subsample_freq": 1} if part_class is LightGBMTrees else {}
    objective = Given(TARGET, np.ones(600))  # every tree sees the same gradient
    part = part_class(**{**SMALL, "n_estimators": 1}, **params, warm_start=True)
    part.fit(X, objective)
    trees = values_of_trees(part.set_params(n_estimators=2).fit(X, objective), X)
    assert np.abs(trees[:, 0] - trees[:, 1]).max() > 1e-3


@own_trees_too
def test_early_stopping_keeps_the_trees_up_to_the_best(part_class):
    params = {"n_estimators": 300, "learning_rate": 0.5}
    part = fitted(part_class, validation=VALIDATION, early_stopping_rounds=4, **params)
    values = part.evals_result_["validation"]["held_out_fit"]
    best = int(np.argmax(values))
    assert part.best_iteration_ == best + 1 == part.forest().n_trees
    assert len(values) == best + 1 + 4 < 300
    assert held_out_fit(part.transform(HELD_OUT)[:, 0]) == pytest.approx(values[best], abs=1e-5)
    whole = fitted(part_class, **{**params, "n_estimators": best + 1})
    np.testing.assert_allclose(part.transform(X), whole.transform(X), atol=1e-6)


@own_trees_too
@pytest.mark.parametrize("rounds", [4, "auto"])
def test_a_continued_fit_stops_where_one_long_fit_does(part_class, rounds):
    settings = {"learning_rate": 0.9, "early_stopping_rounds": rounds, "validation": VALIDATION}
    first = fitted(part_class, n_estimators=100, warm_start=True, **settings)
    n_kept, n_measured = (
        first.best_iteration_,
        len(first.evals_result_["validation"]["held_out_fit"]),
    )
    assert n_kept < n_measured
    first.set_params(n_estimators=110).fit(X, HalfSquare(TARGET), validation=VALIDATION)
    assert first.best_iteration_ == n_kept == first.forest().n_trees
    assert len(first.evals_result_["validation"]["held_out_fit"]) == n_measured
    # Without early stopping, all trees are kept, and have a value each.
    first.set_params(n_estimators=n_kept + 3, early_stopping_rounds=None)
    first.fit(X, HalfSquare(TARGET), validation=VALIDATION)
    values = first.evals_result_["validation"]["held_out_fit"]
    assert len(values) == first.best_iteration_ == n_kept + 3
    assert held_out_fit(first.transform(HELD_OUT)[:, 0]) == pytest.approx(values[-1], abs=1e-5)


@own_trees_too
def test_values_are_those_of_the_last_iterations(part_class):
    values = iter([0.5, *[0.9] * 6, 0.4, 0.4])

    def of_call(scores):
        return next(values)

    part = fitted(part_class, n_estimators=5, warm_start=True)
    part.set_params(n_estimators=20, early_stopping_rounds=2)
    part.fit(X, HalfSquare(TARGET), validation=(HELD_OUT, of_call))
    assert part.best_iteration_ == 6  # the model before has .5, and the first new tree .9
    part.fit(X, HalfSquare(TARGET), validation=(HELD_OUT, of_call))
    assert part.best_iteration_ == 6
    assert part.evals_result_["validation"]["of_call"][0] == 0.9


def test_values_of_other_documents_are_not_compared(part_class):
    part = fitted(part_class, validation=(HELD_OUT, lambda scores: 9.0), warm_start=True)
    part.set_params(n_estimators=17, early_stopping_rounds=5)
    part.fit(X, HalfSquare(TARGET), validation=(HELD_OUT, lambda scores: scores.var()))
    assert part.best_iteration_ > 15


def test_of_equal_values_the_fewest_trees_are_kept(part_class):
    part = fitted(part_class, validation=(HELD_OUT, lambda _: 0.5), early_stopping_rounds=3)
    assert part.best_iteration_ == 1
    assert part.evals_result_ == {"validation": {"<lambda>": [0.5] * 4}}


def test_validation_alone_is_written_down_and_stops_nothing(part_class):
    part = fitted(part_class, validation=VALIDATION, warm_start=True)
    assert len(part.evals_result_["validation"]["held_out_fit"]) == 15 == part.best_iteration_
    part.set_params(n_estimators=20)
    part.fit(X, HalfSquare(TARGET), validation=VALIDATION)
    assert len(part.evals_result_["validation"]["held_out_fit"]) == 20 == part.best_iteration_
    assert fitted(part_class).evals_result_ == {}


@dataclass
class Killed(HalfSquare):
    """An objective that ends the fit before an iteration."""

    dies_at: int = 11

    def derivatives(self, scores, *, iteration=0):
        if iteration == self.dies_at:
            raise KeyboardInterrupt
        return super().derivatives(scores, iteration=iteration)


@own_trees_too
def test_a_killed_fit_goes_on_from_its_checkpoint_to_the_same_model(part_class, tmp_path):
    options = {"validation": VALIDATION, "early_stopping_rounds": 50}
    whole = fitted(part_class, **options)
    options = {"validation": options["validation"]}
    part, objective = part_class(**SMALL, early_stopping_rounds=50), HalfSquare(TARGET)
    with checkpointing(tmp_path / "fit.checkpoint", every=4):
        with pytest.raises(KeyboardInterrupt):
            part.fit(X, Killed(TARGET), **options)
        part.fit(X, objective, **options)
        other = fitted(part_class, TARGET + 1)
    assert [iteration for iteration, _, _ in objective.seen] == [0, *range(8, 15)]
    np.testing.assert_array_equal(part.transform(X), whole.transform(X))
    assert part.evals_result_ == whole.evals_result_
    np.testing.assert_array_equal(other.transform(X), fitted(part_class, TARGET + 1).transform(X))


COLUMNS, ROWS = {"colsample_bytree": 0.5}, {"subsample": 0.6}


@pytest.mark.parametrize("target", [TARGET, TARGETS], ids=["one output", "three outputs"])
@pytest.mark.parametrize("n_first", [0, 4])
@pytest.mark.parametrize(
    ("cls", "drawn"),
    [
        (LightGBMTrees, COLUMNS),
        (LightGBMTrees, ROWS | {"subsample_freq": 1}),
        (LightGBMTrees, COLUMNS | ROWS | {"subsample_freq": 1}),
        (XGBoostTrees, COLUMNS),
        (XGBoostTrees, ROWS),
        (XGBoostTrees, COLUMNS | ROWS),
    ],
)
def test_a_fit_that_draws_goes_on_to_the_same_model(cls, drawn, target, n_first, tmp_path):
    def trees():
        settings = SMALL | drawn | {"random_state": 3, "warm_start": True}
        part = cls(**settings | {"n_estimators": n_first or 15})
        part = part.fit(X, HalfSquare(target)) if n_first else part
        return part.set_params(n_estimators=15)

    part, objective = trees(), HalfSquare(target)
    with checkpointing(tmp_path / "fit.checkpoint", every=3):
        for dies_at in (8, 11):
            with pytest.raises(KeyboardInterrupt):
                part.fit(X, Killed(target, dies_at=dies_at))
        part.fit(X, objective)
    assert objective.seen[1][0] == 9
    whole = trees().fit(X, HalfSquare(target))
    assert part.dump_booster(part.booster_) == whole.dump_booster(whole.booster_)


def test_random_numbers_of_an_engine_and_files_that_are_no_checkpoints_are_refused(tmp_path):
    path = tmp_path / "fit.checkpoint"
    with checkpointing(path):
        with pytest.raises(ValueError, match=r"got 3\. Write LightGBMTrees\(subsample_freq=1\)"):
            fitted(LightGBMTrees, subsample=0.5, subsample_freq=3)
        path.write_text("text")
        with pytest.raises(ValueError, match="path must be"):
            fitted(LightGBMTrees)


@own_trees_too
def test_a_checkpoint_of_one_other_feature_is_that_of_another_fit(part_class, tmp_path):
    rng = np.random.default_rng(0)
    rows, target = rng.normal(size=(3000, 2)), rng.normal(size=3000)
    other = rows.copy()
    other[1, 0] += 1.0
    objective = HalfSquare(target)
    with checkpointing(tmp_path / "fit.checkpoint", every=4):
        with pytest.raises(KeyboardInterrupt):
            part_class(**SMALL).fit(rows, Killed(target))
        part = part_class(**SMALL).fit(other, objective)
    assert [iteration for iteration, _, _ in objective.seen] == [0, *range(15)]
    whole = part_class(**SMALL).fit(other, HalfSquare(target))
    np.testing.assert_array_equal(part.transform(other), whole.transform(other))


class Pausing(HalfSquare):
    """Half squares without a slope in some iterations: no tree has a split there."""

    def derivatives(self, scores, *, iteration=0):
        gradient, hessian = super().derivatives(scores, iteration=iteration)
        return gradient * (iteration not in (2, 3, 6)) * (1 + iteration % 2), hessian


def rounded(scores):
    """Return how near scores are to the target, in few steps."""
    return -np.abs(scores - HELD_OUT[:, 0]).round(1).mean()


def test_an_iteration_without_a_split_has_no_place_in_the_record(part_class, tmp_path):
    """LightGBM throws its tree away, so that the best number of trees was another one."""
    settings = {**SMALL, "n_estimators": 9, "learning_rate": 0.2, "early_stopping_rounds": 4}
    part = part_class(**settings).fit(X, Pausing(TARGET), validation=(HELD_OUT, rounded))
    recorded = part.evals_result_["validation"]["rounded"]
    kept = part.best_iteration_
    assert recorded[kept - 1] == max(recorded)
    assert rounded(part.transform(HELD_OUT)[:, 0]) == pytest.approx(recorded[kept - 1], abs=1e-6)
    for n_trees in range(1, kept):
        values = part_class(**settings | {"early_stopping_rounds": None, "n_estimators": n_trees})
        alone = values.fit(X, Pausing(TARGET))
        if alone.best_iteration_ == n_trees:
            score = rounded(alone.transform(HELD_OUT)[:, 0])
            assert recorded[n_trees - 1] == pytest.approx(score, abs=1e-6)


@pytest.mark.parametrize("validation", [(HELD_OUT, rounded), None], ids=["watched", "alone"])
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_fit_goes_on_after_an_iteration_without_a_split(part_class, share, validation, tmp_path):
    """It does so each time, after being killed several times."""
    settings = {**SMALL, "n_estimators": 9, "early_stopping_rounds": None}
    settings["colsample_bytree"] = share
    whole = part_class(**settings).fit(X, Pausing(TARGET), validation=validation)
    for dies_at in range(2, 6):
        for n_more in (2, 4, 5):
            path = tmp_path / f"{dies_at} {n_more}"
            with checkpointing(path, every=1):
                for n_calls in (dies_at, n_more):
                    calls = iter(range(1, n_calls))

                    def die(n_done, n_total, note, calls=calls):
                        if next(calls, None) is None:
                            raise KeyboardInterrupt

                    with listening(die), pytest.raises(KeyboardInterrupt):
                        part_class(**settings).fit(X, Pausing(TARGET), validation=validation)
                part = part_class(**settings).fit(X, Pausing(TARGET), validation=validation)
            np.testing.assert_array_equal(part.transform(X), whole.transform(X))
            assert part.evals_result_ == whole.evals_result_
