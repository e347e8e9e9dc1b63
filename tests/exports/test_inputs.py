"""Pipelines: scalers and imputers in front of a ranker become part of the exported model."""

import shutil

import numpy as np
import pytest
from scoring_programs import compiled, onnx_scores
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from treerank import MLP, LightGBMTrees, TreeDirectRanker, XGBoostTrees, export, make_web_search
from treerank.baselines import RankSVM
from treerank.feature_parts import Ensemble

pytestmark = pytest.mark.usefixtures("routing")
TREES = LightGBMTrees(8, n_jobs=1)


def ranker(part=TREES):
    return TreeDirectRanker(part, random_state=0)


NETWORK = MLP((3,), n_epochs=1)
FILLED = make_pipeline(SimpleImputer(strategy="most_frequent"), RobustScaler())
PIPELINES = {
    "scaled": make_pipeline(StandardScaler(), ranker()),
    "scaled twice": make_pipeline(MinMaxScaler((-1, 2)), "passthrough", MaxAbsScaler(), ranker()),
    "filled": make_pipeline(FILLED, ranker()),
    "line": make_pipeline(StandardScaler(with_mean=False), RankSVM()),
    "filled line": make_pipeline(SimpleImputer(), StandardScaler(), RankSVM()),
    "network": make_pipeline(MaxAbsScaler(), StandardScaler(), ranker(NETWORK)),
    "xgboost": make_pipeline(MinMaxScaler(), ranker(XGBoostTrees(8, n_jobs=1))),
    "sum": make_pipeline(RobustScaler(), ranker(Ensemble(["line", TREES], n_bags=2))),
}
X, y, qid = DATA = make_web_search(12, documents_per_query=20, n_features=6, random_state=0)
X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_scores_raw_documents_in_c_and_onnx_as_in_python(name, tmp_path):
    pipeline = PIPELINES[name].fit(X, y, qid=qid)
    scores, path = pipeline.predict(X), tmp_path / "model"
    rounding = (2e-7 if name == "network" else 1e-13) * np.ptp(scores)
    if name != "network" and shutil.which("gcc"):
        report = export(pipeline, path, format="c", check=DATA)
        assert report.largest_difference <= rounding
        found = compiled(path.read_bytes(), tmp_path / "compiled")(X)
        np.testing.assert_allclose(found, scores, rtol=0, atol=rounding)
    report = export(pipeline, path, format="onnx", check=DATA)
    assert report.n_changed_pairs == 0
    assert report.ndcg == report.ndcg_of_program
    found = onnx_scores(path.read_bytes(), X)
    np.testing.assert_allclose(found, scores, rtol=0, atol=max(rounding, 2e-7 * np.ptp(scores)))


@pytest.mark.parametrize("name", ["scaled", "scaled twice", "filled"])
def test_thresholds_go_through_transformers_without_any_difference(name, tmp_path):
    model = PIPELINES[name].fit(X, y, qid=qid)
    near = np.nanquantile(X, np.linspace(0, 1, 200), axis=0)
    rows = np.concatenate([X, near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf)])
    report = export(model, tmp_path / "model", format="c", check=rows)
    assert report.largest_difference == 0


ZEROS = LightGBMTrees(8, n_jobs=1, engine_params={"zero_as_missing": True})
REFUSED = [
    ([PCA(2)], TREES, r"must be of \[.*\] to be exported; got PCA\(n_comp.*Export pipeline"),
    ([QuantileTransformer(n_quantiles=9)], TREES, "to be exported; got QuantileTransformer"),
    ([MinMaxScaler(clip=True)], TREES, "MinMaxScaler must have clip=False"),
    ([StandardScaler(), SimpleImputer()], TREES, "SimpleImputer must be the first"),
    ([SimpleImputer(add_indicator=True)], TREES, "SimpleImputer must fill NaN of known"),
    ([StandardScaler()], ZEROS, "trees must not take zeros as missing after transformers"),
    ([SimpleImputer()], NETWORK, "networks must get columns that are scaled only"),
]


@pytest.mark.parametrize(("steps", "part", "message"), REFUSED)
def test_transformers_that_cannot_be_part_of_a_model_are_refused(steps, part, message, tmp_path):
    full = not isinstance(steps[0], SimpleImputer)
    model = make_pipeline(*steps, ranker(part)).fit(np.nan_to_num(X) if full else X, y, qid=qid)
    with pytest.raises(ValueError, match=message):
        export(model, tmp_path / "model", format="onnx", check=np.nan_to_num(X))
