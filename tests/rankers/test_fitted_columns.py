"""Fitted columns: verbs find the columns of ``fit`` in a data frame by name."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from treerank import HistogramTrees, TreeDirectRanker

rng = np.random.default_rng(0)
FRAME = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"]).assign(
    color=rng.choice(["red", "blue", "green"], size=200),
    label=rng.integers(0, 3, size=200),
    query=np.repeat(np.arange(10), 20),
)
OTHER = FRAME[["query", "color", "label", "b", "a"]].assign(sku=np.arange(200))
FORMS = {"pandas": OTHER, "polars": pl.from_pandas(OTHER), "arrow": pa.Table.from_pandas(OTHER)}


@pytest.fixture(scope="module")
def ranker():
    part = HistogramTrees(n_estimators=5, early_stopping_rounds=None, n_jobs=1)
    return TreeDirectRanker(part, random_state=0).fit(FRAME, "label", "query")


VERBS = {
    "predict": lambda ranker, X: ranker.predict(X),
    "rank": lambda ranker, X: ranker.rank(X, "query"),
    "score": lambda ranker, X: ranker.score(X, "label", "query"),
    "explain": lambda ranker, X: ranker.explain(X[:5], X[5:10]),
    "scorer": lambda ranker, X: ranker.scorer()(X),
    "compare": lambda ranker, X: ranker.compare(X[:5], X[5:10]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("verb", VERBS)
def test_columns_may_be_in_any_order_among_others(ranker, verb, form):
    found = VERBS[verb](ranker, FORMS[form])
    np.testing.assert_array_equal(found, VERBS[verb](ranker, FRAME))


@pytest.mark.parametrize("verb", VERBS)
def test_a_missing_column_is_named(ranker, verb):
    with pytest.raises(ValueError, match="columns of fit; 'b' is missing from"):
        VERBS[verb](ranker, OTHER.drop(columns="b"))


@pytest.mark.parametrize("ids", [np.arange(200), np.arange(200).astype(str)])
def test_an_id_among_the_features_is_told(ids):
    part = HistogramTrees(n_estimators=1, early_stopping_rounds=None, n_jobs=1)
    with pytest.warns(UserWarning, match=r"'doc_id' of X is a feature.*drop\(columns='doc_id'\)"):
        TreeDirectRanker(part).fit(FRAME.assign(doc_id=ids), "label", "query")
