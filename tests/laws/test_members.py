"""What a composite promises is what its parts give, and a wrapper has what it wraps.

A composite of a single part is the part itself: each member of a feature part that the composite
has says what it says of the part alone. Members that are added to ``FeaturePart``, ``PartTraits``
or ``Ranker``, and feature parts that are added to the registry, are looked at without a line here,
or fail until somebody has said what a composite does with them.
"""

import inspect
import warnings
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from laws import Case
from scipy.sparse import csr_matrix
from sklearn.base import clone
from small_rankers import DATA, NAMES, made

from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, get_metric, load
from treerank.checks import has_methods
from treerank.clicks import ClickRelevance
from treerank.clicks.click_data import ClickData
from treerank.documents.ranking_data import Batches
from treerank.documents.reading import accepted_by
from treerank.documents.rows import Rows
from treerank.feature_parts import Ensemble, RefitTrees, Stages
from treerank.feature_parts.base import (
    FeaturePart,
    PartTraits,
    components_of,
    expected_components_of,
    importances_of,
    traits_of,
)
from treerank.feature_parts.registry import FEATURE_PARTS, reads_sparse
from treerank.feature_parts.stages import _MetricFromStart
from treerank.metrics import NDCG
from treerank.objectives import make_objective
from treerank.progress import description_of, name_of, values_of
from treerank.rankers import DirectRanker, ForestRanker, NestedRanker
from treerank.rankers.early_stopping import RecordedMetrics
from treerank.rankers.ranker import Ranker
from treerank.rankers.scoring import _OF_METRICS, Scoring, n_threads_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

X, Y, QID = DATA
KEPT = QID < np.quantile(QID, 0.7)
TRAIN, HELD_OUT = ((X[some], Y[some], QID[some]) for some in (KEPT, ~KEPT))
OBJECTIVE = make_objective(*TRAIN[1:])


def held_out_ndcg(scores):
    """Return the metric that fits watch."""
    scores = scores.sum(axis=1) if scores.ndim > 1 else scores
    return NDCG(10)(HELD_OUT[1], scores, HELD_OUT[2])


def ensemble(part):
    """Return a part that is fitted once, to all queries, and as many times again for its weight."""
    return Ensemble([part], n_bags=2, n_refits=1, random_state=0)


def stages(part):
    return Stages([part], random_state=0)


def stages_of_an_ensemble(part):
    return stages(ensemble(part))


def ensemble_of_stages(part):
    return ensemble(stages(part))


COMPOSITES = [ensemble, stages, stages_of_an_ensemble, ensemble_of_stages]


def part_named(name):
    """Return an unfitted feature part of a name, with seeds, as in a ranker."""
    return Case(made(name), DATA).unfitted().feature_part


@dataclass
class Fitted:
    """A feature part, alone and in a composite, fitted to the same documents."""

    whole: Any
    part: Any
    composite: Any

    @property
    def is_ensemble(self):
        return isinstance(self.whole, Ensemble)

    @property
    def watches(self):
        """Whether the fit of the part that scores watches the held-out documents."""
        return self.composite is stages


@cache
def fitted(name, composite, sparse=False):
    given = csr_matrix(TRAIN[0]) if sparse else TRAIN[0]
    held_out = csr_matrix(HELD_OUT[0]) if sparse else HELD_OUT[0]
    parts = []
    part = part_named(name)
    validation = held_out, held_out_ndcg
    with warnings.catch_warnings(action="ignore"):  # few documents are constant to some
        for each in (composite(part), part):
            is_watching = each is not part or composite is stages
            again = clone(each)
            again.fit(given, OBJECTIVE, validation=validation if is_watching else None)
            parts.append(again)
    return Fitted(*parts, composite)


def score(part, documents):
    """Return the score of a fitted part, which is the sum of its outputs by their weights."""
    outputs, weight = part.transform(documents), traits_of(part).head_weight_
    return outputs.sum(axis=1) if weight is None else (outputs * weight).sum(axis=1)


def shown(whole, part):
    """Return the factor by which an ensemble weighs the scores of its only part."""
    return 1.0 if not isinstance(whole, Ensemble) else whole.head_weight_[0]


# What each member of a composite says, given the same member of its part.


def transform(each, documents=X):
    """Bit for bit; the ensemble in stages has weighed its part already."""
    inner = each.whole.parts_[0] if each.composite is stages_of_an_ensemble else None
    expected = score(each.part, documents) * (1.0 if inner is None else inner.head_weight_[0])
    assert each.whole.transform(documents).shape == (len(X), 1)
    np.testing.assert_array_equal(each.whole.transform(documents)[:, 0], expected)


def n_outputs_(each):
    assert each.whole.n_outputs_ == each.whole.transform(X).shape[1] == 1


def n_features_in_(each):
    assert each.whole.n_features_in_ == each.part.n_features_in_ == X.shape[1]


def head_weight_(each):
    """Weights of outputs are used up by a composite, and an ensemble weighs its parts."""
    weight = traits_of(each.whole).head_weight_
    assert weight is None if not each.is_ensemble else weight.shape == (1,)


def n_threads(each):
    assert traits_of(each.whole).n_threads == traits_of(each.part).n_threads


def given_columns(each):
    assert [*traits_of(each.whole).given_columns] == [*traits_of(each.part).given_columns]


def given_queries(each):
    ids = ([q.ids.tolist() for q in traits_of(of).given_queries] for of in (each.whole, each.part))
    assert next(ids) == next(ids)


def evals_result_(each):
    """Stages record what its last part does; an ensemble measures the whole once."""
    recorded = traits_of(each.whole).evals_result_
    if each.watches:
        assert recorded == traits_of(each.part).evals_result_
    elif each.is_ensemble:
        value = held_out_ndcg(score(each.whole, HELD_OUT[0]))
        assert recorded == {"validation": {"held_out_ndcg": [value]}}
    else:
        assert recorded == traits_of(each.whole.parts_[0]).evals_result_


def best_iteration_(each):
    """An ensemble has fits of several lengths."""
    best = traits_of(each.whole).best_iteration_
    assert best == (traits_of(each.part).best_iteration_ if each.watches else None)


def components(each):
    """Scores as a sum, of the same components as those of the part."""
    alone = traits_of(each.part).components
    if alone is None:
        with pytest.raises(ValueError, match=type(each.part).__name__):
            components_of(each.whole, np.ones(1))
        return
    weight = traits_of(each.part).head_weight_
    found = components_of(each.whole, np.array([2.0]))
    expected = components_of(each.part, np.ones(each.part.n_outputs_) if weight is None else weight)
    assert found.kinds == expected.kinds
    scores = 2.0 * each.whole.transform(X)[:, 0]
    np.testing.assert_allclose(found.scores(X), scores, rtol=1e-5, atol=1e-6)


def get_state(each):
    """What was fitted is in the state, and nothing of it is shared."""
    assert (traits_of(each.whole).get_state is None) == (traits_of(each.part).get_state is None)
    state = each.whole.get_state()
    assert state.keys() == type(each.whole)._state.keys()
    fitted_attributes = {n for n in vars(each.whole) if n.endswith("_") and n[0] != "_"}
    assert fitted_attributes <= state.keys()


def set_state(each):
    again = clone(each.whole).set_state(each.whole.get_state())
    np.testing.assert_array_equal(again.transform(X), each.whole.transform(X))
    for name in ("evals_result_", "best_iteration_", "n_threads"):
        assert getattr(traits_of(again), name) == getattr(traits_of(each.whole), name)


def feature_importances_(each):
    if not hasattr(each.part, "feature_importances_"):
        for some in (each.part, each.whole):
            with pytest.raises(AttributeError, match=rf"{type(each.part).__name__} has none"):
                importances_of(some)
        return
    expected = importances_of(each.part)
    if shown(each.whole, each.part) and score(each.part, X).std():
        np.testing.assert_allclose(importances_of(each.whole), expected, rtol=1e-12)


def get_params(each):
    """Parameters of the part are those of its place, at any depth."""
    prefix = "0__0__" if "_of_" in each.composite.__name__ else "0__"
    params = each.whole.get_params()
    found = {n.removeprefix(prefix): v for n, v in params.items() if n.startswith(prefix)}
    assert {n for n in found if "__" not in n} == {*each.part.get_params(deep=False)}


def set_params(each):
    prefix = "0__0__" if "_of_" in each.composite.__name__ else "0__"
    whole = clone(each.whole)
    for name, value in each.part.get_params(deep=False).items():
        whole.set_params(**{prefix + name: value})
        assert repr(whole.get_params()[prefix + name]) == repr(value)


def fit(each):
    """A part that is to stop early needs documents to watch."""
    if "early_stopping_rounds" in each.part.get_params():
        impatient = each.composite(clone(each.part).set_params(early_stopping_rounds=2))
        with pytest.raises(ValueError, match="early_stopping_rounds"):
            impatient.fit(TRAIN[0], OBJECTIVE)


def accepts_rows(each):
    """A composite hands names and categories of columns to the parts that take them."""
    assert traits_of(each.whole).accepts_rows is True


def accepts_batches(each):
    """A composite fits its parts to the same rows several times, and takes no batches."""
    assert traits_of(each.whole).accepts_batches is False
    ranker = TreeDirectRanker(clone(each.whole))
    assert not accepted_by(ranker).batches
    with pytest.raises(TypeError, match=r"X must be in memory for .*" + type(each.whole).__name__):
        ranker.fit(Batches([]))


def takes_categories(each):
    """A composite takes categories if its part does."""
    assert traits_of(each.whole).takes_categories == traits_of(each.part).takes_categories


def fits_convex(each):
    """A composite fits the convex form of an objective if its part does.

    An ensemble fits the weights of its parts to the objective itself.
    """
    expected = traits_of(each.part).fits_convex and "ensemble" not in each.composite.__name__
    assert traits_of(each.whole).fits_convex == expected


def resumes(each):
    """A composite goes on from a checkpoint if its part does."""
    assert traits_of(each.whole).resumes == traits_of(each.part).resumes


def settings_by_workers(each):
    """Parts of a composite need the scores of all workers, which they do not exchange."""
    assert traits_of(each.whole).settings_by_workers is None


def expected_components(each):
    """The components before a fit are of the kinds after it, alone and in a composite."""
    documents = Rows(np.empty((0, X.shape[1])))
    if traits_of(each.part).components is None:
        with pytest.raises(ValueError, match=type(each.part).__name__):
            expected_components_of(each.whole, documents)
        return
    expected = expected_components_of(clone(each.part), documents)
    found = expected_components_of(clone(each.whole), documents)
    after = components_of(each.whole, np.ones(1))
    assert expected.kinds == found.kinds == after.kinds
    dtypes = {each.forest.sum_dtype for each in (found, after) if each.forest.n_trees}
    assert len(dtypes) <= 1


#: What each member of a feature part says of a composite.
MEMBERS = {
    member.__name__: member
    for member in (
        *(transform, n_outputs_, n_features_in_, head_weight_, n_threads, given_columns),
        given_queries,
        *(evals_result_, best_iteration_, components, get_state, set_state, feature_importances_),
        *(get_params, set_params, fit, accepts_rows, accepts_batches, settings_by_workers),
        *(takes_categories, fits_convex, resumes, expected_components),
    )
}
PARTS = [name for name in (*FEATURE_PARTS, "RefitTrees") if name not in ("ensemble", "stages")]
every_part = pytest.mark.parametrize("name", PARTS)
every_composite = pytest.mark.parametrize("composite", COMPOSITES)


def test_every_member_of_a_feature_part_is_looked_at():
    protocol = {name for name, _ in inspect.getmembers(FeaturePart) if name[0] != "_"}
    traits = {each.name for each in fields(PartTraits)}
    others = {"get_params", "set_params", "feature_importances_"}
    assert protocol | traits | others == MEMBERS.keys()


@every_part
@every_composite
@pytest.mark.parametrize("member", MEMBERS)
def test_a_composite_has_the_members_of_its_part(composite, name, member):
    MEMBERS[member](fitted(name, composite))


@every_part
@every_composite
def test_a_composite_reads_sparse_matrices_where_its_part_does(composite, name):
    part = part_named(name)
    assert reads_sparse(composite(part)) == reads_sparse(part)
    if reads_sparse(part):
        transform(fitted(name, composite, sparse=True), csr_matrix(X))


@pytest.mark.parametrize("member", ["feature_importances_", "n_threads", "get_state", "components"])
@pytest.mark.parametrize("composite", [Ensemble, Stages])
def test_a_composite_of_several_parts_is_their_sum(composite, member):
    parts = ["linear", HistogramTrees(4, min_child_samples=5, n_jobs=3), part_named("lightgbm")]
    settings = {"n_bags": 2, "n_refits": 1} if composite is Ensemble else {}
    whole = composite(parts, random_state=0, **settings).fit(TRAIN[0], OBJECTIVE)
    own = whole.parts_ if composite is Stages else whole.bags_[0]
    weight = np.ones(3) if composite is Stages else whole.head_weight_
    if member == "n_threads":
        assert whole.n_threads == 3
    if member == "feature_importances_":
        shares = weight * whole.spread_
        expected = shares @ [each.feature_importances_ for each in own] / shares.sum()
        np.testing.assert_allclose(whole.feature_importances_, expected)
        assert whole.feature_importances_.sum() == pytest.approx(1)
        if composite is Stages:
            by_part = [each.transform(TRAIN[0]).std() for each in own]
            np.testing.assert_allclose(whole.spread_, by_part)
    if member == "components":
        head = np.ones(1) if composite is Stages else weight
        sums = sum(w * each.transform(X)[:, 0] for w, each in zip(weight, own, strict=True))
        np.testing.assert_allclose(components_of(whole, head).scores(X), sums, atol=1e-9)
    if member == "get_state":
        again = clone(whole).set_state(whole.get_state())
        np.testing.assert_array_equal(again.feature_importances_, whole.feature_importances_)


def test_a_part_that_stops_early_is_refused_before_any_part_is_fitted():
    impatient = LightGBMTrees(early_stopping_rounds=3)

    class Untouched(type(made("linear").feature_part)):
        def fit(self, X, objective, *, validation=None):
            raise AssertionError("a part was fitted")

    with pytest.raises(ValueError, match=r"validation must be given where early_stopping_rounds"):
        Stages([Untouched(), Stages(["linear", impatient])]).fit(TRAIN[0], OBJECTIVE)
    rule = r"early_stopping_rounds of parts\[1\] must be None or 'auto' where n_refits .* got 3\. "
    with pytest.raises(ValueError, match=rule + "Set n_refits=0"):
        Ensemble([Untouched(), Stages([impatient])], n_refits=1).fit(TRAIN[0], OBJECTIVE)
    # Fits to bags watch what they leave out.
    Ensemble([Ensemble([impatient], n_bags=2)], n_refits=1, n_bags=2).fit(TRAIN[0], OBJECTIVE)


@pytest.mark.parametrize("metric", [held_out_ndcg, np.max, "watched"])
def test_the_metric_of_stages_has_all_of_the_metric(metric):
    if metric == "watched":
        metric = RecordedMetrics(
            "ndcg", {("validation", "ndcg"): held_out_ndcg}, describe=lambda: "text"
        )
    start, scores = np.random.default_rng(0).normal(size=(2, len(HELD_OUT[1])))
    own = _MetricFromStart(metric, start)
    assert own(scores) == metric(start + scores)
    assert (name_of(own), description_of(own)) == (name_of(metric), description_of(metric))
    assert values_of(own, scores) == values_of(metric, start + scores)
    assert own.history is getattr(metric, "history", None)


# Rankers


@pytest.mark.parametrize("name", [name for name in NAMES if isinstance(made(name), DirectRanker)])
def test_a_ranker_has_the_members_of_its_feature_part(name):
    with warnings.catch_warnings(action="ignore"):
        ranker = Case(made(name), DATA).unfitted().fit(*TRAIN, eval_set=HELD_OUT)
    traits = traits_of(ranker.feature_part_)
    assert n_threads_of(ranker) == traits.n_threads
    assert accepted_by(ranker).sparse == reads_sparse(ranker.feature_part)
    assert accepted_by(ranker).batches == traits_of(ranker.feature_part).accepts_batches
    assert [*ranker._given_columns] == [*traits_of(ranker.feature_part).given_columns]
    assert [*ranker._given_queries] == [*traits_of(ranker.feature_part).given_queries]
    assert ranker.best_iteration_ == traits.best_iteration_
    recorded = traits.evals_result_.get("validation", {})
    assert ranker.evals_result_.get("validation", {}) == recorded
    if has_methods(ranker.feature_part_, "components"):
        np.testing.assert_allclose(
            ranker.components().scores(X), ranker.predict(X), rtol=1e-4, atol=1e-6
        )
    if hasattr(ranker.feature_part_, "feature_importances_"):
        expected = importances_of(ranker.feature_part_)
        np.testing.assert_array_equal(ranker.feature_importances_, expected)
    else:
        with pytest.raises(AttributeError, match=r"must come from trees .*permutation_importance"):
            _ = ranker.feature_importances_


def test_given_trees_say_the_same_as_a_feature_part_and_as_a_ranker():
    trees = TreeDirectRanker(HistogramTrees(4, min_child_samples=5), random_state=0).fit(*TRAIN)
    forest = trees.forest()
    ranker = ForestRanker(forest, n_jobs=3)
    part = RefitTrees(forest, learning_rate=0, n_jobs=3).fit(TRAIN[0], OBJECTIVE)
    np.testing.assert_array_equal(ranker.feature_importances_, part.feature_importances_)
    counts = np.bincount(forest.feature[~forest.is_leaf], minlength=X.shape[1])
    np.testing.assert_allclose(ranker.feature_importances_, counts / counts.sum())
    assert n_threads_of(ranker) == part.n_threads == 3
    assert accepted_by(ranker).sparse == reads_sparse(part)


#: What a ranker of rankers says, where it does not say what its rankers say.
OF_STAGES = {"batches": False, "several_labels": False}
DECLARED = (
    *("_accepts", "_n_threads", "_given_columns", "_given_queries", "metric", "tau", "clicks"),
    *_OF_METRICS,
)


#: How often users look at a position is known.
TREES = HistogramTrees(2, random_state=0)
CLICKS = ClickRelevance(TREES, propensities=np.linspace(1, 0.5, 5), random_state=0)


def nested(ranker):
    return NestedRanker(ranker, sizes=(6,), random_state=0)


def test_what_rankers_declare_is_looked_at():
    members = {**vars(Scoring), **vars(Ranker)}
    plain = {name for name, value in members.items() if not callable(value)}
    named = {name for name in plain if f"``{name}``" in inspect.getdoc(Ranker)}
    assert "_accepts" in named
    assert named <= {*DECLARED}


@pytest.mark.parametrize(
    "ranker",
    [
        *map(made, ("histogram", "linear", "lightgbm", "RefitTrees", "LambdaMART", "RankSVM")),
        made("histogram").set_params(feature_part__n_jobs=3, tau="tanh", metric=NDCG(3)),
        made("histogram").set_params(gain="linear", threshold=2),
        made("lightgbm").set_params(clicks=CLICKS, metric="map"),
    ],
    ids=lambda ranker: repr(ranker)[:40],
)
def test_a_nested_ranker_declares_what_its_ranker_does(ranker):
    whole = nested(ranker)
    fits_clicks = ranker.clicks is not None
    whole.fit(*TRAIN) if not fits_clicks else whole.fit(*as_clicks())
    alone = Case(ranker, DATA).unfitted()
    alone = alone.fit(*TRAIN) if not fits_clicks else alone.fit(*as_clicks())
    for name in DECLARED:
        expected, declared = (getattr(each, name, "nothing") for each in (alone, whole))
        if name == "_accepts":
            expected = replace(expected, **OF_STAGES)
        assert declared == expected or repr(declared) == repr(expected)
    assert whole.head_.tau == alone.head_.tau


def as_clicks():
    """Return documents with clicks at positions."""
    sizes = np.unique(TRAIN[2], return_counts=True)[1]
    position = np.concatenate([np.arange(n) % 5 + 1 for n in sizes])
    return (ClickData(TRAIN[0], (TRAIN[1] > 1).astype(float), TRAIN[2], position, None),)


def test_a_nested_ranker_measures_by_the_metric_of_its_ranker(tmp_path):
    ranker = made("lightgbm").set_params(metric="map", random_state=0)
    whole = nested(ranker).fit(*TRAIN, eval_set=[HELD_OUT, TRAIN])
    expected = get_metric("map")(HELD_OUT[1], whole.predict(HELD_OUT[0]), HELD_OUT[2])
    assert whole.score(*HELD_OUT) == expected
    whole.save(tmp_path / "model")
    for each in (whole, load(tmp_path / "model"), clone(whole).fit(*TRAIN, eval_set=HELD_OUT)):
        assert each.score(*HELD_OUT) == expected
        assert each.evals_result_["validation"]["map"] == [pytest.approx(expected)]
    assert whole.evals_result_["validation_1"]["map"] == [pytest.approx(whole.score(*TRAIN))]


def test_a_nested_ranker_measures_by_the_gain_and_the_threshold_of_its_ranker():
    ranker = made("lightgbm").set_params(gain="linear", threshold=2, random_state=0)
    metrics = [NDCG(10, gain="linear"), get_metric("map(threshold=2)")]
    names = [metric.name for metric in metrics]
    whole = nested(ranker).fit(*TRAIN, eval_set=HELD_OUT, eval_metric=["ndcg@10", "map"])
    assert whole.score(*HELD_OUT) == metrics[0](HELD_OUT[1], whole.predict(X[~KEPT]), HELD_OUT[2])
    for each in (whole, *whole.rankers_):
        assert [*each.evals_result_["validation"]] == names


def test_what_a_constant_model_records_is_of_equal_scores():
    """Its line has learned from the convex form of the loss, and counts for nothing."""
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.tile([0, 1], 30)
    X[:, 0] += 3 * y
    qid = np.repeat(np.arange(6), 10)
    for part in (Stages(["linear", part_named("lightgbm")]), part_named("ensemble")):
        ranker = TreeDirectRanker(part, weight="map", threshold=2.0, random_state=0)
        with pytest.warns(UserWarning, match="No pair of documents counts"):
            ranker.fit(X, y, qid, eval_set=[(2 * X, 2 * y, qid)] * 2, eval_metric=["rbp", "map"])
        assert np.ptp(ranker.predict(X)) == 0
        assert np.ptp(ranker.transform(X)) > 0
        (steps,) = ranker.feature_part_.evals_result_["validation"].values()
        for curves in ranker.evals_result_.values():
            scores = [
                ranker.set_params(metric=metric).score(2 * X, 2 * y, qid)
                for metric in ("rbp", "map")
            ]
            assert [*curves.values()] == [[score] * len(steps) for score in scores]


def test_a_metric_of_ones_own_is_not_in_the_file_of_a_nested_ranker(tmp_path):
    def negative_rank(y, scores, qid):
        return -float(np.argsort(-scores)[y > 0].mean())

    whole = nested(made("lightgbm").set_params(metric=negative_rank, random_state=0)).fit(*TRAIN)
    whole.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), whole.predict(X))
    with pytest.raises(ValueError, match=r"metric must be .* 'negative_rank \(not saved\)'"):
        again.score(*HELD_OUT)


def test_the_stages_watch_the_first_set_by_the_first_metric_and_record_all():
    """The other sets and metrics choose nothing."""
    settings = {"feature_part__n_estimators": 30, "feature_part__early_stopping_rounds": 3}
    ranker = made("lightgbm").set_params(random_state=0, **settings)
    other = X[::-1], Y, QID  # on which nothing is right
    few = nested(ranker).fit(*TRAIN, eval_set=HELD_OUT, eval_metric="map")
    both = nested(ranker).fit(*TRAIN, eval_set=[HELD_OUT, other], eval_metric=["map", "err"])
    np.testing.assert_array_equal(few.predict(X), both.predict(X))
    alone = clone(ranker).fit(*TRAIN, eval_set=[HELD_OUT, other], eval_metric=["map", "err"])
    assert both.rankers_[0].evals_result_ == alone.evals_result_
    assert both.rankers_[0].best_iteration_ == alone.best_iteration_
    for stage in both.rankers_:
        assert stage.evals_result_.keys() == {"validation", "validation_1"}
        assert stage.evals_result_["validation"].keys() == {"map", "err"}
    reaching = few.rankers_[0].predict(HELD_OUT[0]) >= few.thresholds_[0]
    top = tuple(values[reaching] for values in HELD_OUT)
    kept = few.rankers_[1].best_iteration_
    recorded = few.rankers_[1].evals_result_["validation"]["map"][kept - 1]
    assert recorded == pytest.approx(
        get_metric("map")(top[1], few.rankers_[1].predict(top[0]), top[2])
    )


def test_a_nested_ranker_reads_sparse_matrices_as_its_ranker_does():
    ranker = made("lightgbm").set_params(random_state=0)
    sparse = nested(ranker).fit(csr_matrix(TRAIN[0]), *TRAIN[1:])
    dense = nested(ranker).fit(*TRAIN)
    np.testing.assert_array_equal(sparse.predict(csr_matrix(X)), dense.predict(X))
    with pytest.raises(TypeError, match="reads no sparse matrices"):
        nested(made("linear")).fit(csr_matrix(TRAIN[0]), *TRAIN[1:])


def test_clicks_of_a_nested_ranker_become_labels_once():
    ranker = made("lightgbm").set_params(random_state=0)
    whole = nested(clone(ranker).set_params(clicks=CLICKS)).fit(*as_clicks())
    alone = clone(ranker).set_params(clicks=CLICKS).fit(*as_clicks())
    np.testing.assert_array_equal(whole.propensities_, alone.propensities_)
    other = clone(CLICKS).set_params(propensities=np.ones(5))
    other = nested(clone(ranker).set_params(clicks=other)).fit(*as_clicks())
    assert (other.predict(X) != whole.predict(X)).any()
    assert [stage.clicks for stage in whole.rankers_] == [None] * len(whole.rankers_)
