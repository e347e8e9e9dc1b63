"""Engine words: arguments of LGBMRanker are answered by what to write here."""

import pydoc
import re

import lightgbm
import numpy as np
import pytest

from treerank import TreeDirectRanker
from treerank.rankers.engine_words import WORDS

X, Y = np.arange(6.0)[:, None], [0, 1, 2, 0, 1, 2]
TREES = {
    "num_leaves": r"TreeDirectRanker\(LightGBMTrees\(num_leaves=7\)\)",
    "n_estimators": r"LightGBMTrees\(n_estimators=7\)",
    "learning_rate": r"LightGBMTrees\(learning_rate=7\)",
}


@pytest.mark.parametrize("word", [*WORDS, *TREES])
def test_a_word_of_an_engine_is_answered_by_ours(word):
    advice = TREES.get(word) or re.escape(WORDS.get(word, "").format(value=7))
    message = rf"TreeDirectRanker has no {word}; write .*{advice}"
    for call in (TreeDirectRanker, TreeDirectRanker().set_params):
        with pytest.raises(TypeError, match=message):
            call(**{word: 7})
    with pytest.raises(TypeError, match=message):
        TreeDirectRanker().fit(X, Y, **{word: 7})


def test_callbacks_of_an_engine_are_answered():
    with pytest.raises(TypeError, match=r"got one of lightgbm\. Write .*early_stopping_rounds=50"):
        TreeDirectRanker().fit(X, Y, callbacks=[lightgbm.early_stopping(5)])


def test_other_words_are_left_to_python():
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        TreeDirectRanker(colour=1)
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        TreeDirectRanker().set_params(colour=1)


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
