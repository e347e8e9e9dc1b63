"""Engine words: arguments of LGBMRanker and its like are answered by what to write here."""

import pydoc
import re

import lightgbm
import numpy as np
import pytest

from treerank import (
    HistogramTrees,
    LightGBMTrees,
    StreamingTrees,
    TreeDirectRanker,
    XGBoostTrees,
)
from treerank.baselines import LambdaMART
from treerank.feature_parts.engine_words import OF_RANKER, THEIRS, WORDS

X, Y = np.arange(6.0)[:, None], [0, 1, 2, 0, 1, 2]
TREES = {
    "num_leaves": "TreeDirectRanker(LightGBMTrees(num_leaves=7))",
    "num_iterations": "TreeDirectRanker(LightGBMTrees(n_estimators=7))",
    "eta": "TreeDirectRanker(LightGBMTrees(learning_rate=7))",
    "tree_method": "TreeDirectRanker(XGBoostTrees(tree_method=7))",
    "sigmoid": "TreeDirectRanker(sigma=7)",
}


@pytest.mark.parametrize("word", [*WORDS, *TREES])
def test_a_word_of_an_engine_is_answered_by_ours(word):
    message = rf"has no {word}; write {re.escape(TREES.get(word) or WORDS[word])}\."
    for call in (TreeDirectRanker, TreeDirectRanker().set_params):
        with pytest.raises(TypeError, match="TreeDirectRanker " + message):
            call(**{word: 7})
    with pytest.raises(TypeError, match=r"TreeDirectRanker\.fit " + message):
        TreeDirectRanker().fit(X, Y, **{word: 7})


@pytest.mark.parametrize(
    ("cls", "word", "advice"),
    [
        (LightGBMTrees, "lambda_l2", "LightGBMTrees(reg_lambda=7)"),
        (LightGBMTrees, "categorical_feature", "LightGBMTrees(categorical_features=7)"),
        (LightGBMTrees, "sigmoid", "TreeDirectRanker(LightGBMTrees(), sigma=7)"),
        (LightGBMTrees, "path_smooth", "LightGBMTrees(engine_params={'path_smooth': 7})"),
        (XGBoostTrees, "lambda", "XGBoostTrees(reg_lambda=7)"),
        (XGBoostTrees, "min_data_in_leaf", "TreeDirectRanker(LightGBMTrees(min_child_samples=7))"),
        (HistogramTrees, "iterations", "HistogramTrees(n_estimators=7)"),
        (StreamingTrees, "depth", "StreamingTrees(max_depth=7)"),
        (LambdaMART, "feature_fraction", "LambdaMART(colsample_bytree=7)"),
        (LambdaMART, "max_bin", "LambdaMART(tree_options={'max_bin': 7})"),
        (LambdaMART, "loss", "TreeDirectRanker(loss=7)"),
    ],
)
def test_trees_and_boosted_rankers_answer_too(cls, word, advice):
    message = re.escape(f"{cls.__name__} has no {word}; write {advice}.")
    with pytest.raises(TypeError, match=message):
        cls(**{word: 7})


def test_a_setting_of_the_ranker_in_fit_is_answered():
    with pytest.raises(TypeError, match=r"fit has no metric; write LambdaMART\(metric='map'\)"):
        LambdaMART().fit(X, Y, metric="map")


def test_answers_name_parameters_that_there_are():
    parts = LightGBMTrees().get_params().keys()
    ranker = TreeDirectRanker().get_params(deep=False).keys()
    assert ranker - parts == set(OF_RANKER)
    assert THEIRS.keys() <= parts | ranker


def test_callbacks_of_an_engine_are_answered():
    with pytest.raises(TypeError, match=r"got one of lightgbm\. Write .*early_stopping_rounds=50"):
        TreeDirectRanker().fit(X, Y, callbacks=[lightgbm.early_stopping(5)])


def test_other_words_are_left_to_python():
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        TreeDirectRanker(colour=1)
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        TreeDirectRanker().set_params(colour=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'num_leavs'"):
        LightGBMTrees(num_leavs=1)


def test_help_begins_with_a_short_signature_and_shows_fit_before_plumbing():
    text = pydoc.plain(pydoc.render_doc(TreeDirectRanker))
    lines = [line.strip(" |") for line in text.splitlines()]
    assert "Annotated" not in "".join(lines[:10])
    assert len(lines[3]) < 700
    starts = {
        name: next(i for i, line in enumerate(lines) if line.startswith(f"{name}("))
        for name in ("fit", "set_fit_request", "set_output", "get_params", "get_state")
    }
    assert min(starts, key=starts.get) == "fit"
