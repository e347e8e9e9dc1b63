import numpy as np
import pytest
from drawn_forests import one_leaf
from example_rankers import Column
from sklearn.base import clone

from treerank import NDCG, TreeDirectRanker, get_metric, report
from treerank.baselines import RankSVM
from treerank.datasets import Batches
from treerank.feature_parts import MLP, HistogramTrees, LightGBMTrees, Stages, XGBoostTrees
from treerank.rankers import (
    DirectRanker,
    ForestRanker,
    NestedRanker,
    Ranker,
    StreamingRanker,
    refresh,
)
from treerank.registry import RANKERS, load, ranker_class

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

# What one label wants of the first feature, the other does not.
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3))
QID = np.repeat(np.arange(20), 20)
LABELS = {
    "relevance": np.digitize(X[:, 0] + 0.5 * X[:, 2], [-0.5, 0.5, 1.2]),
    "margin": np.digitize(0.8 * X[:, 1] + 0.5 * X[:, 2] - X[:, 0], [-0.5, 0.5, 1.2]),
}
TABLE = np.column_stack(list(LABELS.values()))
EVAL_SET = (X[::-1][:200], {name: y[::-1][:200] for name, y in LABELS.items()}, QID[::-1][:200])

PARTS = {
    "lightgbm": LightGBMTrees(n_estimators=30, num_leaves=8, n_jobs=1),
    "xgboost": XGBoostTrees(n_estimators=20, max_depth=3, n_jobs=1),
    "histogram": HistogramTrees(n_estimators=30, num_leaves=8),
    "mlp": MLP((6,), n_epochs=4, batch_size=100),
}
every_part = pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)


def ranker(part=PARTS["lightgbm"], **settings):
    return TreeDirectRanker(part, random_state=0, **settings)


def fitted(y=LABELS, part=PARTS["lightgbm"], **settings):
    return ranker(part, **settings).fit(X, y, QID)


def assert_same_scores(one, other):
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@every_part
def test_columns_and_mappings_of_labels_give_the_same_model(part):
    by_name = fitted(part=part, label_weights={"relevance": 2})
    assert np.ptp(by_name.predict(X)) > 0
    for table in (TABLE, TABLE.tolist()):
        by_column = fitted(table, part, label_weights={"0": 2, "1": 1})
        assert_same_scores(by_column, by_name)
    assert not np.array_equal(fitted(part=part).predict(X), by_name.predict(X))


@pytest.mark.filterwarnings("ignore:.* queries of eval_set:UserWarning")
@every_part
def test_the_history_of_a_fit_names_each_label(part):
    weights = {"relevance": 3.0, "margin": 1.0}
    part = clone(part).set_params(early_stopping_rounds=None)
    model = ranker(part, label_weights=weights).fit(X, LABELS, QID, eval_set=EVAL_SET)
    history = model.evals_result_["validation"]
    assert list(history) == ["ndcg@10", "ndcg@10 of relevance", "ndcg@10 of margin"]
    mean, relevance, margin = (np.array(values) for values in history.values())
    assert len(mean) == part.get_params().get("n_estimators", 4)
    np.testing.assert_allclose(mean, (3 * relevance + margin) / 4)
    held_out, y, qid = EVAL_SET
    for name, values in zip(LABELS, (relevance, margin), strict=True):
        last = NDCG(k=10)(y[name], model.predict(held_out), qid)
        assert values[-1] == pytest.approx(last, abs=1e-3)


def test_early_stopping_goes_by_the_weighted_mean():
    part = LightGBMTrees(n_estimators=60, learning_rate=0.4, n_jobs=1, early_stopping_rounds=3)
    eval_set = X[200:], TABLE[200:], QID[200:]
    model = ranker(part, label_weights={"0": 1, "1": 5})
    model.fit(X[:200], TABLE[:200], QID[:200], eval_set=eval_set)
    history = model.evals_result_["validation"]
    assert model.best_iteration_ == np.argmax(history["ndcg@10"]) + 1
    assert {len(values) for values in history.values()} == {model.best_iteration_ + 3}


def test_score_is_the_weighted_mean_of_the_metric():
    model = fitted(label_weights={"relevance": 3, "margin": 1}, metric="map")
    values = [get_metric("map")(y, model.predict(X), QID) for y in LABELS.values()]
    assert model.score(X, LABELS, QID) == pytest.approx((3 * values[0] + values[1]) / 4)
    assert model.score(X, LABELS["margin"], QID) == pytest.approx(values[1])


def test_order_of_rows_and_names_of_queries_change_nothing():
    # Rows that differ in the second label alone, among others, and rows that lack one.
    twins, labels = X.copy(), {name: y.astype(float) for name, y in LABELS.items()}
    twins[1::2], labels["relevance"][1::2] = twins[::2], labels["relevance"][::2]
    labels["relevance"][:40], labels["margin"][30:60] = np.nan, np.nan
    expected = ranker().fit(twins, labels, QID).predict(X)
    order = rng.permutation(400)
    shuffled = {name: y[order] for name, y in labels.items()}
    names = np.array([f"query {13 * query % 20}" for query in QID])
    model = ranker().fit(twins[order], shuffled, names[order])
    np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.filterwarnings("ignore:.* queries of eval_set:UserWarning")
def test_a_saved_model_of_several_labels_comes_back_bit_for_bit(tmp_path):
    model = ranker(label_weights={"relevance": 2.0})
    model.fit(X, LABELS, QID, eval_set=EVAL_SET)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.evals_result_ == model.evals_result_
    assert loaded.score(X, LABELS, QID) == model.score(X, LABELS, QID)
    assert_same_scores(loaded.fit(X, LABELS, QID), fitted(label_weights={"relevance": 2.0}))


def test_a_head_over_several_outputs_takes_several_labels():
    model = fitted(part=Column((0, 1, 2)))
    assert len(model.head_.weight) == 3
    assert model.score(X, LABELS, QID) > 0.6


def test_documents_and_pairs_of_several_labels_may_be_weighed():
    weight = np.where(X[:, 2] > 0, 2.0, 0.0)
    kept = np.flatnonzero(weight)
    model = ranker().fit(X, LABELS, QID, sample_weight=weight)
    some = {name: y[kept] for name, y in LABELS.items()}
    again = ranker().fit(X[kept], some, QID[kept], sample_weight=weight[kept])
    assert_same_scores(model, again)


@pytest.mark.parametrize("first", ["relevance", "margin"])
@pytest.mark.parametrize("part", ["lightgbm", "histogram"])
def test_a_label_of_weight_0_is_recorded_and_changes_nothing(part, first):
    """It is judged where others are not, and the other way round."""
    draws = {"subsample": 0.7} | ({"subsample_freq": 1} if part == "lightgbm" else {})
    part = clone(PARTS[part]).set_params(**draws)
    kept, other = first, "margin" if first == "relevance" else "relevance"
    labels = {name: y.astype(float) for name, y in LABELS.items()}
    labels[kept][:45], labels[other][100:140] = np.nan, np.nan

    def data(rows, *names):
        return X[rows], {name: labels[name][rows] for name in names}, QID[rows]

    train, rest = np.arange(240), np.arange(240, 400)
    both = ranker(part, label_weights={other: 0})
    both.fit(*data(train, *LABELS), eval_set=data(rest, *LABELS))
    alone = ranker(part).fit(*data(train[45:], kept), eval_set=data(rest, kept))
    assert_same_scores(both, alone)
    assert both.calibration_slope_ == alone.calibration_slope_
    history = both.evals_result_["validation"]
    assert history["ndcg@10"] == history[f"ndcg@10 of {kept}"]
    assert history[f"ndcg@10 of {other}"] != history["ndcg@10"]


def test_labels_of_an_eval_set_are_found_by_their_names():
    other = {name: LABELS[name] for name in [*LABELS][::-1]}
    given, turned = (
        ranker().fit(X, LABELS, QID, eval_set=(2 * X, y, QID)) for y in (LABELS, other)
    )
    assert turned.evals_result_ == given.evals_result_
    assert turned.score(2 * X, other, QID) == given.score(2 * X, LABELS, QID)


def test_a_label_of_weight_zero_need_not_be_measurable():
    nothing = {"relevance": LABELS["relevance"], "margin": np.zeros(400)}
    trees = HistogramTrees(n_estimators=4, num_leaves=8, n_jobs=1)
    weighed = ranker(trees, label_weights={"margin": 0})
    weighed.fit(X, LABELS, QID, eval_set=(2 * X, nothing, QID))
    relevance = LABELS["relevance"]
    single = ranker(trees).fit(X, relevance, QID, eval_set=(2 * X, relevance, QID))
    curve = single.evals_result_["validation"]["ndcg@10"]
    history = weighed.evals_result_["validation"]
    assert history == {"ndcg@10": curve, "ndcg@10 of relevance": curve}
    expected = single.score(2 * X, LABELS["relevance"], QID)
    for other in (np.zeros(400), np.full(400, np.nan)):
        assert weighed.score(2 * X, nothing | {"margin": other}, QID) == expected
    first = {"margin": nothing["margin"], "relevance": nothing["relevance"]}
    turned = ranker(trees, label_weights={"margin": 0})
    turned.fit(X, first, QID, eval_set=[(2 * X, first, QID), (3 * X, first, QID)])
    np.testing.assert_array_equal(turned.predict(X), weighed.predict(X))
    assert turned.best_iteration_ == weighed.best_iteration_
    with pytest.raises(ValueError, match="label 'margin': y must define ndcg@10 for at"):
        ranker(trees).fit(X, LABELS, QID, eval_set=(2 * X, nothing, QID))


def test_several_labels_are_scored_in_batches_or_refused_by_name():
    fitted_ranker = fitted(part=PARTS["histogram"])
    halves = [
        (X[part], {name: y[part] for name, y in LABELS.items()}, QID[part])
        for part in (slice(0, 150), slice(150, 400))
    ]
    assert fitted_ranker.score(Batches(halves)) == fitted_ranker.score(X, LABELS, QID)
    np.testing.assert_array_equal(fitted_ranker.rank(Batches(halves)), fitted_ranker.rank(X, QID))
    with pytest.raises(
        ValueError, match=r"y must be a single label for RankSVM; got \['relevance'"
    ):
        RankSVM().fit(X, LABELS["margin"], QID).score(X, LABELS, QID)


class TooLate(Column):
    """A feature part that must not be fitted."""

    def fit(self, X, objective, *, validation=None):
        pytest.fail("training began")


SINGLE, BARE = LABELS["margin"], LABELS | {"margin": np.full(400, np.nan)}
OTHER_LABELS = r"eval_set must have the labels of y, \['relevance', 'ma"


@pytest.mark.parametrize(
    ("weights", "given", "message"),
    [
        ({"price": 1}, {}, r"label_weights must be one of \['margin', 'rel.*'price"),
        ({"margin": -1}, {}, r"label_weights\['margin'\] must be a finite .* got -1"),
        ({"margin": "2"}, {}, r"label_weights\['margin'\] must be .* got '2'"),
        ([1, 2], {}, r"label_weights must be {label: number} of \['rel.* got \[1, 2\]"),
        ({"0": 0.5}, {"y": SINGLE}, "label_weights must be None for a single label y; got .*mapp"),
        ({"0": 0.5}, {"y": SINGLE.tolist()}, "label_weights must be None for a single label y"),
        (None, {"eval_set": (X, SINGLE, QID)}, OTHER_LABELS),
        (None, {"eval_set": (X, TABLE, QID)}, OTHER_LABELS),
        (None, {"eval_set": (X, LABELS | {"price": X[:, 0]}, QID)}, OTHER_LABELS),
        (None, {"y": BARE}, r"^y\['margin'\] must hold a label.* Leave it out of y and"),
        (None, {"eval_set": (X, BARE, QID)}, r"eval_set: y\['margin'\] must hold a label in some"),
        (None, {"y": LABELS | {"margin": [1, 2]}}, "must have one entry per document"),
        (
            None,
            {"given_pairs": [[0, 1]]},
            "given_pairs must be None where y has several labels; got",
        ),
    ],
)
def test_wrong_labels_and_weights_are_refused_before_training(weights, given, message):
    with pytest.raises(ValueError, match=message):
        ranker(TooLate(), label_weights=weights).fit(**{"X": X, "y": LABELS, "qid": QID} | given)


def test_a_batch_of_a_stream_may_lack_a_label():
    first, second = np.flatnonzero(QID < QID[200]), np.flatnonzero(QID >= QID[200])
    bare = {name: y[second] for name, y in BARE.items()}
    streams = [StreamingRanker(random_state=0, label_weights={"margin": 0.3}) for _ in range(2)]
    for stream in streams:
        stream.partial_fit(X[first], {name: y[first] for name, y in LABELS.items()}, QID[first])
    message = r"y\['margin'\] is not learned from in this batch: it is NaN, no judgment, in all 200"
    with pytest.warns(UserWarning, match=message):
        streams[0].partial_fit(X[second], bare, QID[second])
    weightless = {"margin": bare["relevance"], "relevance": bare["relevance"]}
    streams[1].set_params(label_weights={"margin": 0})
    streams[1].partial_fit(X[second], weightless, QID[second])
    assert_same_scores(*streams)
    nothing = {name: y * np.nan for name, y in bare.items()}
    with pytest.raises(ValueError, match=r"y\['relevance'\] must hold a label in some row"):
        streams[0].partial_fit(X[second], nothing, QID[second])


#: A column is a score whatever the labels are.
ONE_LABEL = [
    name
    for name in RANKERS
    if not issubclass(ranker_class(name), DirectRanker) and name != "ColumnRanker"
]


@pytest.mark.parametrize("name", ONE_LABEL)
def test_rankers_of_a_single_label_say_so(name):
    kind = ranker_class(name)
    needed = {NestedRanker: ranker(), ForestRanker: one_leaf(X.shape[1])}
    model = kind(needed[kind]) if kind in needed else kind()
    for y, names in ((LABELS, r"\['relevance', 'margin'\]"), (TABLE, r"\['0', '1'\]")):
        with pytest.raises(
            ValueError, match=f"y must be a single label for {name}; got {names}.*a Tree"
        ):
            model.fit(X, y, QID)


@pytest.mark.parametrize("takes", [refresh, report, Ranker.calibrate])
def test_what_takes_a_single_label_says_so(takes):
    model = ranker("histogram").fit(X, SINGLE, QID)
    for y, names in ((LABELS, r"\['relevance', 'margin'\]"), (TABLE, r"\['0', '1'\]")):
        with pytest.raises(ValueError, match=f"y must be a single label; got {names}. Pass one"):
            takes(model, X, y, QID)


def test_a_ranker_of_a_single_label_is_not_scored_by_several():
    with pytest.raises(ValueError, match="y must be a single label for RankSVM; got"):
        RankSVM().fit(X, SINGLE, QID).score(X, TABLE, QID)


@pytest.mark.parametrize("settings", [{}, {"loss": "listnet"}])
@pytest.mark.parametrize("weights", [(2.0, 0.5), (0.0, 1.0)])
def test_the_objective_is_the_weighted_sum_of_those_of_single_labels(settings, weights):
    def price(y, **more):
        ranker = TreeDirectRanker(Column(), smoothing=0.0, **settings, **more).fit(X, y, QID)
        return ranker.feature_part_.objective_(np.zeros(400))[0]

    alone = [price(y) for y in LABELS.values()]
    by_name = dict(zip(LABELS, weights, strict=True))
    assert price(LABELS, label_weights=by_name) == pytest.approx(np.dot(weights, alone))


@pytest.mark.parametrize("several", ["labels", "metrics"])
def test_histories_of_continued_fits_and_of_chains_are_of_one_length(several):
    y = LABELS if several == "labels" else LABELS["margin"]
    given = {} if several == "labels" else {"eval_metric": ["ndcg@10", "map"]}
    trees = HistogramTrees(3, n_jobs=1, early_stopping_rounds=None)
    for part in trees, Stages([trees, trees]):
        ranker = TreeDirectRanker(part, warm_start=part is trees)
        for n_estimators in [3, 5] if part is trees else [3]:
            trees.set_params(n_estimators=n_estimators)
            ranker.fit(X, y, QID, eval_set=(2 * X, y, QID), **given)
        curves = ranker.evals_result_["validation"]
        assert {len(values) for values in curves.values()} == {n_estimators}
        assert curves["ndcg@10"][-1] == pytest.approx(ranker.score(2 * X, y, QID))
