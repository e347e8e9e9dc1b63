"""Pipelines: transformers in front of a ranker become part of the exported model."""

import shutil

import numpy as np
import pytest
import sklearn
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from test_exports_formats import compiled

from treerank import (
    MLP,
    Ensemble,
    LightGBMTrees,
    TreeDirectRanker,
    XGBoostTrees,
    export,
    make_web_search,
)
from treerank.baselines import RankSVM

TREES = LightGBMTrees(8, n_jobs=1)


def columns(**options):
    return make_column_transformer(
        (OneHotEncoder(sparse_output=False, **options), [3]),
        (RobustScaler(), slice(0, 2)),
        (MinMaxScaler(clip=True), [False, False, True, False, False, False]),
        ("drop", [4]),
        remainder="passthrough",
    )


def trees():
    return TreeDirectRanker(TREES, random_state=0)


QUANTILES = QuantileTransformer(n_quantiles=40, output_distribution="normal")
PIPELINES = {
    "scaled": make_pipeline(StandardScaler(), trees()),
    "columns": make_pipeline(columns(), trees()),
    "filled": make_pipeline(SimpleImputer(strategy="most_frequent"), columns(), trees()),
    "line": make_pipeline(StandardScaler(with_mean=False), RankSVM()),
    "codes in a line": make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        ColumnTransformer([("codes", OneHotEncoder(drop="first"), [3])], sparse_threshold=0),
        RankSVM(),
    ),
    "network": make_pipeline(
        MaxAbsScaler(),
        FunctionTransformer(),
        ColumnTransformer([("some", "passthrough", [4, 1])]),
        TreeDirectRanker(MLP((3,), n_epochs=1), random_state=0),
    ),
    "quantiles": make_pipeline(
        QUANTILES, MinMaxScaler(), TreeDirectRanker(XGBoostTrees(8), random_state=0)
    ),
    "sum": make_pipeline(
        RobustScaler(), TreeDirectRanker(Ensemble(["line", TREES], n_bags=2), random_state=0)
    ),
}


@pytest.fixture(scope="module", autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def data():
    X, y, qid = make_web_search(n_queries=12, documents_per_query=20, n_features=6, random_state=0)
    random = np.random.default_rng(0)
    codes = random.integers(0, 4, len(X)) * 1.0
    X[random.random(X.shape) < 0.1] = np.nan
    X[:, 3] = codes
    return X, y, qid


@pytest.fixture(scope="module", params=PIPELINES)
def pipeline(request, data):
    X, y, qid = data
    return PIPELINES[request.param].fit(X, y, qid=qid)


def test_a_pipeline_scores_raw_documents_in_c_and_onnx_as_in_python(pipeline, data, tmp_path):
    scores = pipeline.predict(data[0])
    atol = 1e-13 * np.ptp(scores)
    rounding = max(atol, 2e-7 * np.ptp(scores) * ("MLP" in repr(pipeline)))
    if shutil.which("gcc"):
        report = export(pipeline, tmp_path / "model", format="c", check=data)
        assert report.largest_difference <= rounding
        found = compiled((tmp_path / "model").read_bytes(), tmp_path / "compiled")(data[0])
        np.testing.assert_allclose(found, scores, rtol=0, atol=rounding)
    onnxruntime = pytest.importorskip("onnxruntime")
    report = export(pipeline, tmp_path / "model", format="onnx", check=data)
    assert report.n_changed_pairs == 0
    assert report.ndcg == report.ndcg_of_program
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(tmp_path / "model", options, providers=providers)
    found = session.run(None, {"X": data[0]})[0][:, 0]
    np.testing.assert_allclose(found, scores, rtol=0, atol=max(atol, 2e-7 * np.ptp(scores)))


@pytest.mark.parametrize("name", ["scaled", "columns", "filled"])
def test_thresholds_go_through_transformers_without_any_difference(name, data, tmp_path):
    X, y, qid = data
    model = PIPELINES[name].fit(X, y, qid=qid)
    near = np.nanquantile(X, np.linspace(0, 1, 200), axis=0)
    near[:, 3] = np.arange(200) % 4
    rows = np.concatenate([X, near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf)])
    rows[:, 3] = np.round(rows[:, 3])
    report = export(model, tmp_path / "model", format="c", check=rows)
    assert report.largest_difference == 0


def test_transformers_that_cannot_be_part_of_a_model_are_refused(data, tmp_path):
    X, y, qid = data
    X = np.nan_to_num(X)
    cases = {
        "transformers must be of .* got PCA": [PCA(2), trees()],
        "SimpleImputer must be the first": [StandardScaler(), SimpleImputer(), trees()],
        "lines must get columns that": [QUANTILES, RankSVM()],
        "FunctionTransformer must be the identity": [FunctionTransformer(np.log1p), trees()],
        "OneHotEncoder must be the last": [columns(), StandardScaler(), trees()],
        "OneHotEncoder must not join": [columns(min_frequency=70), trees()],
        "format 'solr' has no categories": [columns(), trees()],
    }
    for message, steps in cases.items():
        model = make_pipeline(*steps).fit(X, y, qid=qid)
        with pytest.raises(ValueError, match=message):
            export(model, tmp_path / "model", format="solr", check=X)


def test_a_ranker_of_codes_that_are_no_small_numbers_is_refused_where_codes_are_bits(
    data, tmp_path
):
    X, y, qid = data
    X = np.where(np.arange(6) == 3, X + 0.5, X)
    model = make_pipeline(columns(), trees()).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match=r"whole numbers from 0 to 65535; got \d\.5"):
        export(model, tmp_path / "model", format="lightgbm", check=X)
    assert export(model, tmp_path / "model", format="pmml", check=X).largest_difference == 0
