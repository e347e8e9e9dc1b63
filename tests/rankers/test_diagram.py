"""The diagram of a fitted ranker in notebooks."""

import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treerank import LightGBMTrees, TreeDirectRanker

X = np.random.default_rng(0).normal(size=(40, 7))
Y, QID = np.arange(40) % 3, np.repeat([1, 2], 20)
COUNT = re.compile(r"<div>(\d+(?: of [\d,]+)? features?)</div>")


def fitted(data=X):
    return TreeDirectRanker(LightGBMTrees(2), random_state=0).fit(data, Y, QID)


@pytest.mark.skipif(
    sklearn.__version__.startswith("1.8."), reason="scikit-learn 1.8 counts no features"
)
@pytest.mark.parametrize("shown_by", ["_repr_html_", "_repr_mimebundle_"])
def test_it_counts_and_names_the_features_of_fit(shown_by):
    frame = pd.DataFrame(X, columns=[*"abcdef", "<script>"])
    ranker = fitted(frame)
    shown = getattr(ranker, shown_by)()
    html = shown if isinstance(shown, str) else shown["text/html"]
    assert COUNT.findall(html) == ["7 features"]
    assert "<td>&lt;script&gt;</td>" in html
    assert "<td><script>" not in html
    assert COUNT.findall(fitted()._repr_html_()) == ["7 features"]
    assert ranker.get_feature_names_out().tolist() == ["treedirectranker0"]  # as before
    assert "get_feature_names_out" not in vars(ranker)


def test_before_fit_there_are_none_and_text_stays_text():
    ranker = TreeDirectRanker(LightGBMTrees(2))
    assert COUNT.findall(ranker._repr_html_()) == []
    assert COUNT.findall(clone(fitted())._repr_html_()) == []
    with sklearn.config_context(display="text"):
        assert not hasattr(ranker, "_repr_html_")
        assert ranker._repr_mimebundle_() == {"text/plain": repr(ranker)}


def test_a_pipeline_shows_it_as_any_other_step():
    steps = make_pipeline(StandardScaler(), fitted())
    assert "TreeDirectRanker" in steps._repr_html_()
