"""Model files of version 0.1 load, and give the bits that version 0.1 gave."""

import copy
from pathlib import Path

import numpy as np
import pytest

from treerank.feature_parts.histogram.trees import HistogramTrees
from treerank.files.archive import read_archive
from treerank.forests.scoring import forest_leaves
from treerank.registry import load

FILES = sorted((Path(__file__).parents[1] / "golden" / "0.1").glob("*.treerank"))


def old_state(name):
    """Return the trees of a file as version 0.1 wrote them, by name of their arrays."""
    (path,) = (path for path in FILES if path.stem == name)
    return read_archive(path)["state"]["learned"]["feature_part_"]["state"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_scores_leaves_and_importances_have_the_same_bits(path, tmp_path):
    ranker, expected = load(path), np.load(path.with_suffix(".npz"))
    ranker.save(tmp_path / "saved.treerank")
    for each in (ranker, load(tmp_path / "saved.treerank")):
        X, part = expected["X"], each.feature_part_
        np.testing.assert_array_equal(each.predict(X), expected["scores"])
        np.testing.assert_array_equal(part.transform(X), expected["part"])
        np.testing.assert_array_equal(part.feature_importances_, expected["importances"])
        forest = part.forest()
        leaves = (np.cumsum(forest.is_leaf) - 1)[forest_leaves(forest, X)]
        np.testing.assert_array_equal(leaves, expected["leaves"])


def test_there_are_files_of_all_kinds():
    kinds = [path.stem.removeprefix("histogram_") for path in FILES]
    assert kinds == ["categories", "numbers", "outputs", "streaming"]
    assert "sets" in old_state("histogram_categories")["model"]


def test_a_stream_goes_on_from_an_old_file():
    (path,) = (path for path in FILES if "streaming" in path.stem)
    stream, X = load(path), np.load(path.with_suffix(".npz"))["X"]
    before = stream.feature_part_.booster_
    after = stream.partial_fit(X, np.arange(len(X)) % 3, np.zeros(len(X))).feature_part_.booster_
    np.testing.assert_array_equal(after.threshold[:3], before.threshold[before.roots[4] :][:3])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("feature", lambda old: np.full_like(old, 2**31)),
        ("first", lambda old: np.full_like(old, 0)),
        ("first", lambda old: np.full_like(old, 2**31)),
        ("first", lambda old: old[::-1].copy()),
        ("starts", lambda old: old[::-1].copy()),
        ("starts", lambda old: old[:0]),
        ("starts", lambda old: np.full_like(old, 2**40)),
        ("threshold", lambda old: np.full_like(old, np.nan)),
        ("values", lambda old: old[:-1]),
        ("values", lambda old: np.full_like(old, 1e308)),
        ("table_of_set", lambda old: np.full_like(old, 7)),
        ("n_codes", lambda old: np.full_like(old, 256)),
        ("sets", lambda old: np.full_like(old, 2)),
        ("tables", lambda old: old[:, ::-1].copy()),
        ("n_features", lambda old: 2),
    ],
)
def test_an_old_state_that_does_not_fit_together_is_refused(name, change):
    state = copy.deepcopy(old_state("histogram_categories"))
    state["model"][name] = change(state["model"][name])
    with pytest.raises(ValueError, match="must"):
        HistogramTrees(categorical_features=[3]).set_state(state)
