import numpy as np
import pytest

from treerank.reranking import fuse


def test_reciprocal_ranks_and_z_scores_are_added_and_what_is_missing_is_lowest():
    qid = ["p", "q", "p", "q"]
    runs = {"a": [3.0, 1.0, 2.0, 9.0], "b": [5.0, np.nan, 5.0, 1.0]}
    expected = [1 / 61 + 1 / 61.5, 1 / 62, 1 / 62 + 1 / 61.5, 1 / 61 + 1 / 61]
    np.testing.assert_allclose(fuse(runs, qid, k=60), expected)
    found = fuse({"a": [1.0, 3.0, np.nan], "b": [2.0, 2.0, 2.0]}, method="z_score")
    assert found.tolist() == [-1.0, 1.0, -1.0]


def test_a_change_of_scale_changes_no_fusion():
    rng = np.random.default_rng(0)
    qid, scores = np.repeat(np.arange(5), 8), rng.normal(size=40)
    for method in ("reciprocal_rank", "min_max", "z_score"):
        once = fuse({"a": scores}, qid, method=method)
        np.testing.assert_allclose(fuse({"a": 7 * scores - 3}, qid, method=method), once)
        mixed = rng.permutation(40)
        found = fuse({"a": scores[mixed]}, qid[mixed], method=method)
        np.testing.assert_array_equal(found, once[mixed])


@pytest.mark.parametrize(
    ("lengths", "k"), [((15, 3), 3), ((50, 100), 20), ((300,), 60), ((1000,), 60)]
)
def test_k_is_a_share_of_the_longest_list_of_a_query(lengths, k):
    rng, n = np.random.default_rng(0), max(lengths)
    runs = {}
    for number, length in enumerate(lengths):
        scores = np.full(n, np.nan)
        scores[rng.permutation(n)[:length]] = rng.normal(size=length)
        runs[str(number)] = scores
    alone = fuse(runs)
    np.testing.assert_allclose(alone, fuse(runs, k=k))
    # The lists of another query change nothing: in production, a query is alone.
    both = {name: np.append(scores, np.arange(2000.0)) for name, scores in runs.items()}
    found = fuse(both, np.repeat([0, 1], [n, 2000]))
    np.testing.assert_array_equal(found[:n], alone)


def test_other_methods_add_normalized_scores():
    runs = {"a": [3.0, 2.0, 1.0, np.nan], "b": [np.nan, 4.0, 4.0, 1.0]}
    assert fuse(runs, method="min_max").tolist() == [1.0, 1.5, 1.0, 0.0]


@pytest.mark.parametrize("k", [0, -1, "60", None])
def test_k_is_positive_or_automatic(k):
    with pytest.raises((TypeError, ValueError), match="k must be"):
        fuse({"a": [1.0]}, k=k)


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ({}, "runs must hold"),
        ({"a": [1.0], "b": [1.0, 2.0]}, r"runs\['b'\] must have 1 entries; got 2"),
        ({"a": [2**60 + 1, 2**60 + 2]}, r"runs\['a'\] must be below 2\*\*53 in size as integers"),
        ({"a": [1, 1e200]}, r"runs\['a'\] must be at most 1e\+150 in size; got 1e\+200 in row 1"),
    ],
)
def test_wrong_runs_are_named(runs, message):
    with pytest.raises(ValueError, match=message):
        fuse(runs)


def test_k_is_refused_where_nothing_reads_it():
    with pytest.raises(ValueError, match=r"k must be 'auto' for method='min_max', which has none"):
        fuse({"words": [2.0, 1.0]}, method="min_max", k=3)
