import numpy as np
import pytest
from scipy import stats
from sklearn.utils import check_random_state

from treerank.datasets.web_search import make_web_search

pytestmark = pytest.mark.slow

GLOBAL = check_random_state(None)  # the one behind np.random.seed

# Small, but with several queries.
SMALL = {"n_queries": 5, "documents_per_query": 20}


def assert_equal_sets(actual, expected):
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_seed_gives_the_same_data_whatever_the_global_seed():
    first = make_web_search(**SMALL, random_state=7)
    GLOBAL.seed(1)
    assert_equal_sets(make_web_search(**SMALL, random_state=7), first)
    for seed in (8, 7 + 2**40):
        assert not np.array_equal(make_web_search(**SMALL, random_state=seed)[0], first[0])
    GLOBAL.seed(0)
    before = GLOBAL.get_state()[1].copy()
    make_web_search(**SMALL, random_state=None)
    np.testing.assert_array_equal(GLOBAL.get_state()[1], before)
    for kind in (np.random.default_rng, np.random.RandomState):
        one, other = (make_web_search(**SMALL, random_state=kind(3)) for _ in range(2))
        assert_equal_sets(one, other)


@pytest.mark.parametrize("seed", [-1, 1.5, "zero", True])
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(ValueError, match=r"random_state must be .*; got"):
        make_web_search(**SMALL, random_state=seed)


@pytest.mark.parametrize("name", ["n_queries", "documents_per_query", "n_features"])
@pytest.mark.parametrize("wrong", [-1, 1.5, "1", True, 10**12])
def test_every_count_is_validated_by_name(name, wrong):
    with pytest.raises(ValueError, match=f"{name} .*must be .*; got"):
        make_web_search(**SMALL | {name: wrong})


@pytest.fixture(scope="module")
def web():
    return make_web_search(300, documents_per_query=60, random_state=0)


class TestWebSearch:
    def test_labels_have_exactly_their_shares(self, web):
        shares = np.bincount(web[1]) / 18_000
        np.testing.assert_allclose(shares, [0.52, 0.32, 0.13, 0.02, 0.01], atol=1e-4)

    def test_query_sizes_vary_around_their_mean(self, web):
        sizes = np.bincount(web[2])
        assert sizes.sum() == 300 * 60
        assert sizes.min() >= 1
        assert sizes.max() > 180
        assert 0.55 < sizes.std() / sizes.mean() < 0.85  # 0.71 for a gamma of shape 2

    def test_documented_columns_keep_their_word(self, web):
        X, _, qid = web
        assert np.isfinite(X).all()
        np.testing.assert_array_equal(np.flatnonzero(~X.any(axis=0)), [66, 68])
        counts = [*range(5), *range(10, 15), *range(20, 35), 125, 126, 127, 128, 133, 134]
        np.testing.assert_array_equal(X[:, counts], np.rint(X[:, counts]))
        assert (X[:, counts] >= 0).all()
        starts = np.flatnonzero(np.diff(qid, prepend=-1))
        np.testing.assert_array_equal(X[:, 15:20], X[starts, 15:20][qid])  # query level
        assert (X[:, 5:10] <= 1).all()
        assert set(np.unique(X[:, 95:100])) == {0.0, 1.0}
        assert (X[:, 110:125] < 0).all()
        assert (X[:, [11, 133]] == 0).mean(axis=0).min() > 0.5

    def test_some_documents_repeat_their_predecessor(self, web):
        X, y, qid = web
        twins = (X[1:] == X[:-1]).all(axis=1)
        assert 0.015 < twins.mean() < 0.045
        assert (qid[1:][twins] == qid[:-1][twins]).all()
        assert (y[1:][twins] != y[:-1][twins]).any()  # assessors disagree

    def test_interactions_matter(self, web):
        X, y, _ = web
        # Links count for short queries (many are after one site), hardly for long ones.
        short = X[:, 4] / np.maximum(X[:, 9], 1e-9) <= 2
        site, text = (stats.spearmanr(X[rows, 127], y[rows])[0] for rows in (short, ~short))
        assert site > 0.15 > 0.08 > text

    def test_narrow_data_is_a_choice_of_the_wide_columns(self, web):
        X, y, _ = make_web_search(300, documents_per_query=60, n_features=4, random_state=0)
        np.testing.assert_array_equal(X, web[0][:, [0, 45, 90, 135]])
        np.testing.assert_array_equal(y, web[1])
