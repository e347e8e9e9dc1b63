"""Model files of released versions load, and give the scores that were written with them.

Trees and lines give the same bits on every processor with a fused multiply-add. Networks are sums
of torch, whose last bits depend on the processor. Fits are compared to a tolerance of 1e-5.
"""

import copy

import numpy as np
import pytest
from golden_models import FORMATS, GOLDEN, fitted
from small_rankers import NAMES

from treerank import HistogramTrees, load, read_forest
from treerank.feature_parts.networks import network_part
from treerank.files.archive import read_archive
from treerank.forests.scoring import forest_leaves
from treerank.rankers import DirectRanker, ForestRanker

RELEASES = sorted(path.parent for path in GOLDEN.glob("*/scores.npz"))
FILES = [path for release in RELEASES for path in sorted(release.glob("*.treerank"))]
#: What learns without LightGBM, XGBoost and torch, whose releases may learn other models.
OWN = [
    *("AdaRank", "CoordinateAscent", "ESRank", "FRank", "IESRRank", "IESVMRank", "LambdaMART"),
    *("LargeMarginPRank", "MART", "PRank", "QuadraticPRank", "RankBoost", "RankSVM"),
    *("StreamingRanker", "histogram", "line", "streaming"),
]


def is_network(ranker):
    part = ranker.feature_part_ if isinstance(ranker, DirectRanker) else ranker
    return isinstance(part, network_part.NetworkPart) or type(ranker).__name__ == "SortNet"


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_model_file_gives_its_scores(path):
    golden, ranker = np.load(path.parent / "scores.npz"), load(path)
    scores, expected = ranker.predict(golden["X"]), golden[path.stem]
    if is_network(ranker):
        np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6)
    elif path.stem == "QuadraticPRank":  # 0.1.0 added its many terms in the order of a processor
        np.testing.assert_allclose(scores, expected, rtol=1e-12)
    else:
        np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_there_is_a_file_for_each_score(release):
    names = {path.stem for path in release.glob("*.treerank")}
    assert names == set(np.load(release / "scores.npz")) - {"X"}
    assert set(NAMES) <= names or release != RELEASES[-1]


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
@pytest.mark.parametrize("format", FORMATS)
def test_a_file_of_another_program_gives_the_scores_of_its_trees(format, release):
    golden = np.load(release / "scores.npz")
    ranker = ForestRanker(read_forest(release / f"{format}.{FORMATS[format]}"))
    tolerance = {"rtol": 1e-6} if format in ("xgboost", "ranklib") else {"rtol": 0}
    np.testing.assert_allclose(ranker.predict(golden["X"]), golden["histogram"], **tolerance)


@pytest.mark.parametrize("name", OWN)
def test_a_fit_gives_the_scores_that_it_gave_elsewhere(name):
    golden = np.load(RELEASES[-1] / "scores.npz")
    scores = fitted(name).predict(golden["X"])
    # Sums of pairs in single precision have another order where a processor adds more at a time.
    np.testing.assert_allclose(scores, golden[name], rtol=1e-5, atol=1e-7)


#: Models of version 0.1, which had another form of trees, and what it said of them.
OLD = sorted((GOLDEN / "0.1").glob("*.treerank"))


def old_state(name):
    """Return the trees of a file as version 0.1 wrote them, by name of their arrays."""
    (path,) = (path for path in OLD if path.stem == name)
    return read_archive(path)["state"]["learned"]["feature_part_"]["state"]


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
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


def test_there_are_old_files_of_all_kinds():
    kinds = [path.stem.removeprefix("histogram_") for path in OLD]
    assert kinds == ["categories", "numbers", "outputs", "streaming"]
    assert "sets" in old_state("histogram_categories")["model"]


def test_a_stream_goes_on_from_an_old_file():
    (path,) = (path for path in OLD if "streaming" in path.stem)
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
