import numpy as np
import pytest

from treerank.datasets import read_trec_run, write_trec_run
from treerank.datasets.trec import TrecRun
from treerank.results import fuse, runs_as_features


def test_reciprocal_ranks_and_z_scores_are_added_and_what_is_missing_is_lowest():
    qid = ["p", "q", "p", "q"]
    runs = {"a": [3.0, 1.0, 2.0, 9.0], "b": [5.0, np.nan, 5.0, 1.0]}
    expected = [1 / 61 + 1 / 61.5, 1 / 62, 1 / 62 + 1 / 61.5, 1 / 61 + 1 / 61]
    np.testing.assert_allclose(fuse(runs, qid), expected)
    found = fuse({"a": [1.0, 3.0, np.nan], "b": [2.0, 2.0, 2.0]}, method="z_score")
    assert found.tolist() == [-1.0, 1.0, -1.0]


def test_a_change_of_scale_changes_no_fusion():
    rng = np.random.default_rng(0)
    qid, scores = np.repeat(np.arange(5), 8), rng.normal(size=40)
    for method in ("reciprocal_rank", "z_score"):
        once = fuse({"a": scores}, qid, method=method)
        np.testing.assert_allclose(fuse({"a": 7 * scores - 3}, qid, method=method), once)
        mixed = rng.permutation(40)
        found = fuse({"a": scores[mixed]}, qid[mixed], method=method)
        np.testing.assert_allclose(found, once[mixed])


def test_runs_are_columns(tmp_path):
    write_trec_run(tmp_path / "run", scores=[0.5, 0.7], qid=["1", "1"], doc_ids=["a", "b"])
    runs = {"words": read_trec_run(tmp_path / "run")}
    columns = runs_as_features(runs, [1, 1, 2], ["b", "c", "a"])
    np.testing.assert_array_equal(columns["words"], [0.7, np.nan, np.nan])
    numbered = TrecRun(np.array([1]), np.array([7]), np.array([0.5]))
    for qid, ids in ([b"1"] * 2, [b"7", b"8"]), ([1.0] * 2, [7.0, 7.5]):
        columns = runs_as_features({"n": numbered}, qid, ids)
        np.testing.assert_array_equal(columns["n"], [0.5, np.nan])
    for run, ids, message in (
        (numbered, [None], "doc_ids must not be missing; got None in row 0"),
        (numbered, [7, 8], "doc_ids must have one entry per row; got 2 for 1"),
        (TrecRun([1, 1], [7, 7], [0.5, 0.6]), [7], r"runs\['n'\] must have each document of a que"),
        ("run.txt", [7], r"runs\['n'\] must be a TrecRun; got 'run.txt'"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            runs_as_features({"n": run}, [1], ids)


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ({}, "runs must hold"),
        ({"a": [1.0], "b": [1.0, 2.0]}, r"runs\['b'\] must have 1 entries; got 2"),
        ({"a": [1, 1e200]}, r"runs\['a'\] must be at most 1e\+150 in size; got 1e\+200 in row 1"),
    ],
)
def test_wrong_runs_are_named(runs, message):
    with pytest.raises(ValueError, match=message):
        fuse(runs)
