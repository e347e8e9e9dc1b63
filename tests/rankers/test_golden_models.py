"""Model files of released versions load, and give the scores that were written with them.

Trees and lines give the same bits on every processor with a fused multiply-add. Networks are sums
of torch, whose last bits depend on the processor. Fits are compared to a tolerance of 1e-5.
"""

import numpy as np
import pytest
from golden_models import FORMATS, GOLDEN, fitted
from small_rankers import NAMES

from treerank import load, read_forest
from treerank.feature_parts.networks import network_part
from treerank.rankers import DirectRanker, ForestRanker

RELEASES = sorted(path.parent for path in GOLDEN.glob("*/scores.npz"))
FILES = [path for release in RELEASES for path in sorted(release.glob("*.treerank"))]
#: What learns without LightGBM, XGBoost and torch, whose releases may learn other models.
OWN = [
    *("AdaRank", "CoordinateAscent", "ESRank", "FRank", "IESRRank", "IESVMRank", "LambdaMART"),
    *("LargeMarginPRank", "MART", "PRank", "QuadraticPRank", "RankBoost", "RankSVM"),
    *("StreamingRanker", "histogram", "linear", "streaming"),
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
    elif path.stem == "QuadraticPRank":  # a matrix product, which libraries add in their own order
        np.testing.assert_allclose(scores, expected, rtol=1e-13)
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
