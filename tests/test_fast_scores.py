"""Trees of engines that a forest scores: the same bits, once it pays, and where it can."""

import pickle

import numpy as np
import pytest
from boosted_regression import X, fitted
from forest_cases import FITTED, documents_for, fitted_part
from scipy.sparse import csr_matrix

from treerank.feature_parts.engines.boosting import BoostedTrees
from treerank.feature_parts.engines.lightgbm import LightGBMTrees
from treerank.feature_parts.engines.xgboost import XGBoostTrees

ENGINES = [LightGBMTrees, XGBoostTrees]


@pytest.fixture
def by_engine(monkeypatch):
    """Return the numbers of rows that engines score; forests score from the first row on."""
    numbers = []

    def noting(engine_scores):
        def predict_scores(part, values):
            numbers.append(values.shape[0])
            return engine_scores(part, values)

        return predict_scores

    for engine in ENGINES:
        monkeypatch.setattr(engine, "predict_scores", noting(engine.predict_scores))
    monkeypatch.setattr(BoostedTrees, "rows_before_forest", 1)
    return numbers


def copy_of(part):
    """Return a copy whose trees were not read yet."""
    return pickle.loads(pickle.dumps(part))


@pytest.mark.parametrize("name", [name for name in FITTED if "histogram" not in name])
def test_a_forest_scores_bit_for_bit_as_the_engine_unless_there_are_several_outputs(
    name, by_engine
):
    part = copy_of(fitted_part(name))
    rows = documents_for(part.forest())
    with np.errstate(over="ignore"):
        for values in (rows, np.asfortranarray(rows), rows.astype(np.float32), rows[:1]):
            expected = part.predict_scores(values)
            by_engine.clear()
            assert part.transform(values).tobytes() == expected.tobytes()
            assert len(by_engine) == (part.n_scores_ > 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_engine_scores_the_first_rows_and_pickles_stay_as_they_are(
    engine, by_engine, monkeypatch
):
    monkeypatch.setattr(engine, "rows_before_forest", 1000)
    part = fitted(engine)
    before = pickle.dumps(part)
    scores = [part.transform(X[:400]) for _ in range(4)]
    assert by_engine == [400, 400]
    assert len({each.tobytes() for each in scores}) == 1
    assert pickle.dumps(part) == before


def test_the_engine_scores_what_a_forest_cannot(by_engine):
    linear = fitted(LightGBMTrees, engine_params={"linear_tree": True})
    on_card = fitted(XGBoostTrees).set_params(device="cuda")
    plain = fitted(LightGBMTrees)
    for part, values in ((linear, X), (on_card, X), (plain, csr_matrix(X))):
        part.transform(values), part.transform(values)
    assert by_engine == [len(X)] * 6
    whole_numbers = (100 * X).astype(np.int64)
    assert (plain.transform(whole_numbers) == plain.predict_scores(whole_numbers)).all()
    assert by_engine[6:] == [len(X)] * 2


@pytest.mark.parametrize(
    ("engine", "least"),
    [
        (LightGBMTrees, {"min_child_samples": 1}),
        (XGBoostTrees, {"min_child_weight": 0, "max_depth": 0}),
    ],
)
def test_a_forest_scores_trees_of_many_leaves_bit_for_bit(engine, least, by_engine):
    large = fitted(engine, num_leaves=400, n_estimators=2, **least)
    assert large.forest().bitvectors is None
    assert large.transform(X).tobytes() == large.predict_scores(X).tobytes()
    assert by_engine == [len(X)]
