"""Components: sums of trees, a linear model and networks have the scores of their rankers."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from drawn_forests import drawn_documents, drawn_forest
from scoring_programs import added, compiled, onnx_scores

from treerank import MLP, Ensemble, SoftTrees, TreeDirectRanker, XGBoostTrees, export, read_forest
from treerank.baselines import AdaRank, FRank, RankBoost, RankSVM
from treerank.datasets import make_web_search
from treerank.exports.conversion import converted
from treerank.exports.formats import FORMATS, format_named
from treerank.feature_parts import (
    HistogramTrees,
    LightGBMTrees,
    LinearModel,
    Polynomial,
    Stages,
)
from treerank.feature_parts.components import Components, no_trees, sum_of_components
from treerank.feature_parts.linear_component import LinearComponent
from treerank.feature_parts.network_component import Affine, Function, Network, Products, SoftSplits
from treerank.feature_parts.scorer import Scorer

pytestmark = pytest.mark.slow

NAMES = ["a", "b", "c", "d"]
NETWORK = {"n_epochs": 2, "learning_rate": 0.05, "random_state": 0}
PARTS = {
    "best": Ensemble([LinearModel(), LightGBMTrees(3, min_child_samples=5, n_jobs=1)], n_bags=2),
    "lightgbm": LightGBMTrees(n_estimators=8),
    "xgboost": XGBoostTrees(n_estimators=8),
    "histogram": HistogramTrees(n_estimators=8),
    "stages": Stages([LinearModel(), XGBoostTrees(3), MLP((3,), **NETWORK)]),
    "linear": LinearModel(),
    "one_layer": MLP((), start="zero", **NETWORK),
    "mlp": MLP((4, 3), activation="relu", n_outputs=2, **NETWORK),
    "polynomial": Polynomial(3, **NETWORK),
    "sigmoid": MLP((4,), activation="sigmoid", output_activation="tanh", **NETWORK),
    "soft_trees": SoftTrees(4, depth=3, gamma=1.0, n_outputs=2, **NETWORK),
}
RANKERS = {
    **{name: TreeDirectRanker(part, random_state=0) for name, part in PARTS.items()},
    "AdaRank": AdaRank(),
    "FRank": FRank(n_estimators=9),
    "RankBoost": RankBoost(n_estimators=9),
    "RankSVM": RankSVM(),
}
X, y, qid = make_web_search(12, documents_per_query=20, n_features=6, random_state=0)
X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan


@pytest.fixture(scope="module", params=RANKERS)
def ranker(request):
    return RANKERS[request.param].fit(X, y, qid)


def drawn_linear(random):
    """Return a linear component of four features, of which one has the coefficient 0."""
    coef, offset = random.normal(size=(2, 4))
    return LinearComponent(coef * [1, 0, 1e9, 1e-9], offset * [1, 0, 1, 1])


def test_components_have_the_scores_of_the_ranker_up_to_the_order_of_sums(ranker):
    scores = ranker.predict(X)
    # Outputs of networks are rounded to single precision, which may go the other way.
    atol = (2e-7 if "network" in ranker.components().kinds else 1e-14) * np.ptp(scores)
    np.testing.assert_allclose(ranker.components().scores(X), scores, rtol=0, atol=atol)


def test_every_format_writes_a_ranker_with_its_scores_or_says_what_it_cannot(ranker, tmp_path):
    known = np.nan_to_num(X)
    for format in FORMATS:
        target, components = format_named(format), ranker.components().with_linear_networks_merged()
        kinds = {*components.kinds}
        is_linear = kinds == {"linear"} and target.linear_alone is not None
        if format == "sql" and ranker.components().forest.sum_dtype == "float32":
            with pytest.raises(ValueError, match="adds in double precision; got trees of XGBoost"):
                export(ranker, tmp_path / format, format=format, check=known)
        elif is_linear or kinds <= {"trees", *target.adds}:
            report = export(ranker, tmp_path / format, format=format, check=(known, y, qid))
            assert (report.n_documents, report.n_changed_pairs) == (len(y), 0)
            assert report.value == report.value_of_program
            assert report.largest_difference <= 1e-6 * report.score_range
        else:
            with pytest.raises(ValueError, match="has no words for"):
                export(ranker, tmp_path / format, format=format, check=known)


def test_onnxruntime_scores_every_kind_of_component_as_the_ranker(ranker, tmp_path):
    export(ranker, tmp_path / "model", format="onnx", check=np.nan_to_num(X))
    scores, components = onnx_scores((tmp_path / "model").read_bytes(), X), ranker.components()
    in_single = components.networks or components.forest.sum_dtype == "float32"
    rounding = 2e-7 * np.ptp(scores) if in_single else 0
    np.testing.assert_allclose(scores, components.scores(X), rtol=0, atol=rounding)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_compiled_c_scores_every_kind_of_component_as_the_ranker(ranker, tmp_path):
    components = ranker.components()
    if components.with_linear_networks_merged().networks:
        pytest.skip("C has no networks")
    export(ranker, tmp_path / "model", format="c")
    scores = compiled((tmp_path / "model").read_bytes(), tmp_path / "compiled")
    rounding = 1e-6 * np.ptp(ranker.predict(X)) if components.networks else 0  # which are linear
    np.testing.assert_allclose(scores(X), components.scores(X), rtol=0, atol=rounding)
    parts = [scores(X[:1]), scores(X[1:12]), scores(X[12:])]
    np.testing.assert_array_equal(np.concatenate(parts), scores(X))


LAYERS = {kind.__name__.lower(): kind for kind in (Affine, Function, Products, SoftSplits)}


def test_networks_in_json_score_as_the_ranker_by_the_attributes_of_their_layers(ranker, tmp_path):
    components = ranker.components()
    if not components.networks:
        pytest.skip("has no network")
    export(ranker, tmp_path / "model", format="json")
    document = json.loads((tmp_path / "model").read_text())
    X = np.random.default_rng(0).normal(size=(50, 6))

    def restored(layer):
        kind = LAYERS[layer.pop("kind")]
        return kind(**{k: v if np.isscalar(v) else arrays(v, kind) for k, v in layer.items()})

    def arrays(value, kind):
        return tuple(map(np.array, value)) if kind is Products else np.array(value)

    for written, network in zip(document["networks"], components.networks, strict=True):
        assert written.pop("kind") == "network"
        layers = tuple(map(restored, written.pop("layers")))
        numbers = {name: np.array(values) for name, values in written.items()}
        np.testing.assert_array_equal(
            Network(layers=layers, **numbers).scores(X), network.scores(X)
        )
    with pytest.raises(ValueError, match=r"A forest must be trees only; got .*networks, too"):
        read_forest(tmp_path / "model")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_c_adds_a_linear_model_to_trees_bit_for_bit(tmp_path):
    random = np.random.default_rng(0)
    for n_trees in (0, 7):
        forest = drawn_forest(random, n_trees=n_trees)
        components, X = (
            Components(forest, drawn_linear(random)),
            drawn_documents(random, forest, 300),
        )
        conversion = converted("c", components, NAMES, X)
        scores = compiled(conversion.content(), tmp_path / f"model{n_trees}")(X)
        np.testing.assert_array_equal(scores, conversion.scores(X))
        np.testing.assert_array_equal(Scorer(components)(X), components.scores(X))


def test_opensearch_computes_the_scores_of_a_linear_model_that_are_expected():
    random = np.random.default_rng(0)
    linear = LinearComponent.centered(random.normal(size=4), random.normal(size=4))
    X = random.normal(size=(50, 4))
    conversion = converted("opensearch", Components(no_trees(4), linear), NAMES)
    model, rows = json.loads(conversion.content()), X.astype(np.float32)
    scores = [added(x[j] * np.float32(model[name]) for j, name in enumerate(NAMES)) for x in rows]
    np.testing.assert_allclose(scores + linear.offset.sum(), conversion.scores(X), rtol=1e-15)


def test_a_sum_of_components_has_the_sum_of_the_scores():
    random = np.random.default_rng(0)
    forests = [drawn_forest(random, n_trees=3, constant=True) for _ in range(2)]
    parts = [Components(forest, drawn_linear(random)) for forest in forests]
    parts.append(Components(no_trees(4), replace(parts[0].linear)))
    X = drawn_documents(random, forests[0], 50)
    factors = 2, 0.5, 0
    expected = sum(f * part.scores(X) for f, part in zip(factors, parts, strict=True))
    scaled = sum_of_components([part.scaled(f) for f, part in zip(factors, parts, strict=True)])
    np.testing.assert_allclose(scaled.scores(X), expected, rtol=1e-12)
    assert sum_of_components([part.scaled(0) for part in parts]).kinds == ["trees"]
