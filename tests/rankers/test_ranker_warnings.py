"""Warnings point at the line of the user's code that called the ranker."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from example_rankers import some_ranker
from sklearn.base import clone

from treerank.feature_parts.head_fitting import fit_head
from treerank.feature_parts.histogram.streaming import StreamingTrees
from treerank.objectives import make_objective
from treerank.rankers.nested_ranker import NestedRanker
from treerank.rankers.streaming_ranker import StreamingRanker

pytestmark = pytest.mark.usefixtures("one_thread")


def fit(X, y, qid, fitted):
    some_ranker().fit(X, np.zeros(160), qid)


def fit_a_nested_ranker(X, y, qid, fitted):
    NestedRanker(some_ranker(), sizes=(3,)).fit(X, np.zeros(160), qid)


def learn_a_batch(X, y, qid, fitted):
    StreamingRanker(StreamingTrees(3, n_jobs=1)).partial_fit(X, np.zeros(160), qid)


def fit_a_head_hastily(X, y, qid, fitted):
    fit_head(X, make_objective(y, qid), alpha=1e-6, max_iter=1)


def calibrate_while_fitting(X, y, qid, fitted):
    some_ranker().fit(X, y, qid, eval_set=(X, -y + 3, qid))


def calibrate(X, y, qid, fitted):
    clone(fitted).fit(X, y, qid).calibrate(X, -y, qid)


def score_labels_without_relevance(X, y, qid, fitted):
    fitted.score(X, np.zeros(160), qid)


def fit_to_labels_under_a_name(X, y, qid, fitted):
    some_ranker().fit(pd.DataFrame({"price": X[:, 0], "Label": y}), y, qid)


def fit_to_labels_in_an_array(X, y, qid, fitted):
    X, y, qid = (np.tile(values.T, 7).T for values in (np.column_stack([X, y]), y, qid))
    some_ranker().fit(X, y, qid)


CALLS = {
    fit_to_labels_under_a_name: "Column 'Label' of X .* its name says that it is a label",
    fit_to_labels_in_an_array: r"Column \d+ of X equals y in all 1120 rows",
    fit: "the model is constant",
    fit_a_nested_ranker: "the model is constant",
    learn_a_batch: "the model is constant",
    fit_a_head_hastily: "The weights stopped.* raise head_alpha",
    calibrate_while_fitting: "no better than chance",
    calibrate: "no better than chance",
    score_labels_without_relevance: "no query has anything to find",
}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_a_warning_points_at_the_call(data, fitted, call):
    with warnings.catch_warnings(record=True, action="always") as caught:
        call(*data, fitted["lightgbm"])
    found = next(w for w in caught if re.search(CALLS[call], str(w.message)))
    assert found.filename == __file__
    assert found.lineno in {line for _, _, line in call.__code__.co_lines()}
