"""A composite does what its part does alone, on data frames as shops have them.

A composite fits a part, or is given its trees. Each is called by a function from an unfitted ranker
and training data to the scores of its part and to its columns. To add one, write such a function;
a class that is given parts, a ranker or trees has to be named here.
"""

import inspect
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, XGBoostTrees, load
from treerank.documents.reading import read_documents
from treerank.feature_parts import Ensemble, RefitTrees, Stages, StreamingTrees
from treerank.feature_parts.registry import FEATURE_PART_CLASSES
from treerank.lazy import load_object
from treerank.rankers import ForestRanker, NestedRanker, StreamingRanker, refresh
from treerank.registry import RANKERS, ranker_class

RNG = np.random.default_rng(0)
QID = np.repeat(np.arange(30), 20)
SHOPS = np.array(["zara", "Aldi", "lidl", "Edeka", "Rewe", "Metro", "real", "Netto", "IKEA"])
SHOP, SIZE = RNG.integers(len(SHOPS), size=len(QID)), RNG.integers(3, size=len(QID))
FRAME = pd.DataFrame(
    {
        "price": np.where(RNG.random(len(QID)) < 0.1, np.nan, RNG.normal(size=len(QID))),
        "shop": SHOPS[SHOP],
        "size": pd.Categorical(np.array(["S", "M", "L"])[SIZE], categories=["S", "M", "L"]),
    }
)
#: Which shop it is matters, not where its name stands in the alphabet.
GRADES = np.isin(SHOP, [0, 3, 4, 7]) + (SIZE == 1) + (FRAME["price"] > 0.5).to_numpy()
LABELS = np.where(RNG.random(len(QID)) < 0.2, np.nan, GRADES)
WEIGHTS = RNG.integers(3, size=len(QID)).astype(float)
#: The same documents, written in other ways.
VIEWS = {
    "as in fit": FRAME,
    "columns in another order": FRAME[["size", "price", "shop"]],
    "another column": FRAME.assign(day=1.0)[["day", "shop", "size", "price"]],
    "categories in another order": FRAME.astype(
        {
            "shop": pd.CategoricalDtype(SHOPS[::-1]),
            "size": pd.CategoricalDtype(["L", "XL", "S", "M"]),
        }
    ),
    "text": FRAME.astype({"size": "str"}),
}
PARTS = {
    "lightgbm": LightGBMTrees(6, min_child_samples=5, n_jobs=1, random_state=0),
    "xgboost": XGBoostTrees(6, n_jobs=1, random_state=0),
    "histogram": HistogramTrees(6, random_state=0),
}
every_part = pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)


@dataclass
class Fitted:
    """A fitted composite, or pipeline, and the scores of its part."""

    whole: Any
    scores: Any

    @property
    def categories(self):
        ranker = self.whole[-1] if isinstance(self.whole, Pipeline) else self.whole
        names = ranker.feature_names_in_
        return {str(names[j]): levels for j, levels in ranker.columns_.categories.items()}


def ranker_of(part):
    return TreeDirectRanker(part, smoothing=0.0, random_state=0)


def alone(part, X, y, qid, **weights):
    return ranker_of(part).fit(X, y, qid, **weights)


def ensemble(part, *data, **weights):
    whole = alone(Ensemble([part], n_bags=2, n_refits=1, random_state=0), *data, **weights)
    return Fitted(whole, lambda X: whole.transform(X)[:, 0])


def chain(part, *data, **weights):
    whole = alone(Stages([part]), *data, **weights)
    return Fitted(whole, whole.predict)


def nested(part, *data, **weights):
    whole = NestedRanker(ranker_of(part), sizes=(5,), random_state=0).fit(*data, **weights)
    return Fitted(whole, lambda X: whole.rankers_[0].predict(X))


def given_trees(part, X, y, qid, **weights):
    """Trees that stay, fitted again to the documents of few shops, in other columns."""
    trees = alone(part, X, y, qid, **weights).forest()
    few = ~np.isin(X["shop"], SHOPS[:3])
    part = RefitTrees(trees, learning_rate=0.0)
    whole = alone(part, X[few][["shop", "price", "size"]], y[few], qid[few])
    return Fitted(whole, whole.predict)


def given_trees_in_a_chain(part, X, y, qid, **weights):
    trees = RefitTrees(alone(part, X, y, qid, **weights).forest(), learning_rate=0.0)
    few = ~np.isin(X["shop"], SHOPS[:3])
    whole = alone(Stages([trees, "histogram"]), X[few][["shop", "price", "size"]], y[few], qid[few])
    first = whole.feature_part_.parts_[0]
    return Fitted(whole, lambda frame: first.transform(read_documents(whole, frame)[0])[:, 0])


def given_trees_beside_new_ones(part, X, y, qid, **weights):
    """Trees of one label, such as an LLM's, weighed beside those of another."""
    trees = RefitTrees(alone(part, X, y, qid, **weights).forest(), learning_rate=0.0)
    few = ~np.isin(X["shop"], SHOPS[:3])
    parts = Ensemble([trees, "histogram", "linear"], n_bags=2, random_state=0)
    whole = alone(parts, X[few][["shop", "price", "size"]], y[few], qid[few])
    first = whole.feature_part_.bags_[0][0]
    return Fitted(whole, lambda frame: first.transform(read_documents(whole, frame)[0])[:, 0])


def given_trees_in_a_nested_ranker(part, X, y, qid, **weights):
    trees = RefitTrees(alone(part, X, y, qid, **weights).forest(), learning_rate=0.0)
    few = ~np.isin(X["shop"], SHOPS[:3])
    return nested(trees, X[few][["shop", "price", "size"]], y[few], qid[few])


def forest_ranker(part, *data, **weights):
    whole = ForestRanker(alone(part, *data, **weights).forest())
    return Fitted(whole.fit(*data), whole.predict)


def pipeline(part, X, y, qid, **weights):
    with config_context(enable_metadata_routing=True):
        last = ranker_of(part).set_fit_request(sample_weight=True)
        whole = Pipeline([("same", "passthrough"), ("ranker", last)])
        whole.fit(X, y, qid=qid, **weights)
    return Fitted(whole, whole.predict)


COMPOSITES = {
    name: composite
    for name, composite in globals().items()
    if inspect.isfunction(composite)
    and composite.__module__ == __name__
    and [*inspect.signature(composite).parameters][:1] == ["part"]
    and name not in ("ranker_of", "alone")
}
every_composite = pytest.mark.parametrize("composite", COMPOSITES.values(), ids=COMPOSITES)


def test_every_class_with_parts_a_ranker_or_trees_is_a_composite_here():
    parts = [
        each if inspect.isclass(each) else load_object(each)
        for each in FEATURE_PART_CLASSES.values()
    ]
    classes = [*parts, *map(ranker_class, RANKERS)]
    composed = {"parts", "ranker", "rankers", "trees"}
    found = {each for each in classes if composed & {*inspect.signature(each).parameters}}
    assert found == {Ensemble, Stages, RefitTrees, NestedRanker, ForestRanker}


@every_part
@every_composite
def test_a_composite_scores_as_its_part_alone_however_documents_are_written(composite, part):
    expected = alone(part, FRAME, LABELS, QID, sample_weight=WEIGHTS)
    found = composite(part, FRAME, LABELS, QID, sample_weight=WEIGHTS)
    assert found.categories == Fitted(expected, expected.predict).categories
    for name, view in VIEWS.items():
        scores = found.scores(view)
        np.testing.assert_array_equal(scores, expected.predict(view), err_msg=name)
        np.testing.assert_array_equal(scores, expected.predict(FRAME), err_msg=name)
    new = FRAME.assign(shop=np.where(SHOP == 4, "a new shop", FRAME["shop"]))
    np.testing.assert_array_equal(found.scores(new), expected.predict(new))


@every_part
@every_composite
def test_a_whole_composite_reads_documents_however_they_are_written(composite, part, tmp_path):
    """Its own scores are the same, and those of the saved model."""
    whole = composite(part, FRAME, LABELS, QID).whole
    expected = whole.predict(FRAME)
    assert np.ptp(expected) > 0
    models = [whole]
    if not isinstance(whole, Pipeline):
        whole.save(tmp_path / "model")
        models.append(load(tmp_path / "model"))
    for model in models:
        for name, view in VIEWS.items():
            np.testing.assert_array_equal(model.predict(view), expected, err_msg=name)


@every_part
@every_composite
def test_documents_without_a_label_or_weight_are_left_out_of_a_composite(composite, part):
    kept = ~np.isnan(LABELS) & (WEIGHTS > 0)
    whole = composite(part, FRAME, LABELS, QID, sample_weight=WEIGHTS)
    # The levels of all documents stay, also those that only such documents have.
    assert {*FRAME["shop"][kept]} == {*SHOPS}
    some = composite(part, FRAME[kept], LABELS[kept], QID[kept], sample_weight=WEIGHTS[kept])
    np.testing.assert_array_equal(whole.scores(FRAME), some.scores(FRAME))


@every_part
def test_refreshing_is_a_fit_of_the_given_trees(part):
    old, new = QID < 12, QID >= 12
    ranker = alone(part, FRAME[old], LABELS[old], QID[old])
    later = FRAME[new & (SHOP > 1)][["size", "price", "shop"]].assign(day=1.0)
    data = later, LABELS[new & (SHOP > 1)], QID[new & (SHOP > 1)]
    candidate = refresh(ranker, *data).candidate
    expected = alone(RefitTrees(ranker.forest()), later[["price", "shop", "size"]], *data[1:])
    assert candidate.columns_.categories == ranker.columns_.categories
    assert (candidate.predict(FRAME) != ranker.predict(FRAME)).any()
    for view in VIEWS.values():
        np.testing.assert_array_equal(candidate.predict(view), expected.predict(FRAME))


@pytest.mark.parametrize("n_batches", [1, 3])
def test_a_stream_reads_its_batches_as_the_first_one(n_batches):
    part = StreamingTrees(4, random_state=0)
    stream = StreamingRanker(part, random_state=0)
    whole = TreeDirectRanker(
        clone(part).set_params(warm_start=True), warm_start=True, random_state=0
    )
    views = [VIEWS[name] for name in ("as in fit", "columns in another order", "text")]
    for batch, view in zip(range(n_batches), views, strict=False):
        rows = np.flatnonzero(QID % n_batches == batch)
        stream.partial_fit(view.iloc[rows], LABELS[rows], QID[rows])
        whole.fit(FRAME.iloc[rows], LABELS[rows], QID[rows])
    for view in VIEWS.values():
        np.testing.assert_array_equal(stream.predict(view), whole.predict(FRAME))


def test_a_stream_names_the_categories_that_its_first_batch_did_not_have():
    stream, first = StreamingRanker(random_state=0), QID < 15
    few = first & (SHOP != 4)
    stream.partial_fit(FRAME[few], LABELS[few], QID[few])
    message = "Column 'shop' of X has 1 new categories, such as 'Rewe', which are missing values to"
    with pytest.warns(UserWarning, match=message):
        stream.partial_fit(FRAME[~first], LABELS[~first], QID[~first])


@pytest.mark.filterwarnings("error")
def test_numbers_where_a_stream_had_categories_are_no_new_categories():
    frame = FRAME.assign(shop=SHOP)
    for learn in (
        StreamingRanker(random_state=0).fit(FRAME, LABELS, QID).partial_fit,
        partial(refresh, TreeDirectRanker("histogram").fit(FRAME, LABELS, QID)),
    ):
        with pytest.raises(
            TypeError, match="'shop' of X must hold categories, as in fit; got Int64"
        ):
            learn(frame, LABELS, QID)


def test_the_best_ranker_fits_its_parts_as_alone_however_documents_are_written():
    best, part = TreeDirectRanker.best(random_state=0), PARTS["lightgbm"]
    few = clone(best.feature_part).set_params(parts=[part, part, "linear"], n_bags=2, n_refits=1)
    best = best.set_params(feature_part=few).fit(FRAME, LABELS, QID)
    expected = TreeDirectRanker(part, random_state=0).fit(FRAME, LABELS, QID)
    for view in VIEWS.values():
        np.testing.assert_array_equal(best.transform(view)[:, 0], expected.predict(FRAME))
        np.testing.assert_array_equal(best.predict(view), best.predict(FRAME))
