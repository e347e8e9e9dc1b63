import numpy as np
import pytest

from treerank.reranking import normalize_scores
from treerank.reranking.normalization import NORMALIZATIONS

NAN = np.nan


@pytest.mark.parametrize(
    ("method", "scores", "expected"),
    [
        ("min_max", [12.0, 9.0, NAN, 6.0], [1.0, 0.5, 0.0, 0.0]),
        ("min_max", [5.0, NAN, 5.0], [1.0, 0.0, 1.0]),
        ("min_max", [-7.0], [1.0]),
        ("min_max", [-1e150, 1e150, 0.0], [0.0, 1.0, 0.5]),
        ("z_score", [1.0, 3.0, NAN], [-1.0, 1.0, -1.0]),
        ("z_score", [0.1, 0.1, 0.1, NAN], [0.0, 0.0, 0.0, 0.0]),
        ("z_score", [1e-200, 3e-200, NAN], [-1.0, 1.0, -1.0]),
        ("z_score", [0.0, 5e-324], [-1.0, 1.0]),
        ("l2", [3.0, -4.0, NAN], [0.6, -0.8, 0.0]),
        ("l2", [3e-200, 4e-200], [0.6, 0.8]),
        ("l2", [0.0, 0.0], [0.0, 0.0]),
    ],
)
def test_values_worked_by_hand(method, scores, expected):
    np.testing.assert_allclose(normalize_scores(scores, method=method), expected, rtol=1e-15)


@pytest.mark.parametrize("method", NORMALIZATIONS)
def test_each_query_is_alone_and_no_bit_depends_on_the_order_of_rows(method):
    rng = np.random.default_rng(0)
    qid, scores = rng.integers(9, size=200), rng.normal(size=200)
    scores[rng.random(200) < 0.3] = NAN
    normalized = normalize_scores(scores, qid, method=method)
    mixed = rng.permutation(200)
    again = normalize_scores(scores[mixed], qid[mixed], method=method)
    np.testing.assert_array_equal(again, normalized[mixed])
    for query in range(9):
        alone = normalize_scores(scores[qid == query], method=method)
        np.testing.assert_array_equal(alone, normalized[qid == query])


@pytest.mark.parametrize("method", NORMALIZATIONS)
def test_a_retriever_that_found_nothing_has_0(method):
    assert normalize_scores([NAN, NAN, 1.0, 2.0], [0, 0, 1, 1], method=method)[:2].tolist() == [
        0,
        0,
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 1e200],), r"scores must be at most 1e\+150 in size; got 1e\+200 in row 1"),
        (
            ([5, 2**60 + 1],),
            r"scores must be below 2\*\*53 in size as integers; got 1\.15.* in row 1",
        ),
        (([[1.0]],), "scores must be one-dimensional"),
        ((["high"],), "scores must be numbers"),
        (([1.0], ["a", "b"]), "qid must have one entry per row; got 2 for 1"),
    ],
)
def test_wrong_scores_are_named(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        normalize_scores(*arguments)


def test_a_wrong_method_is_named():
    with pytest.raises(ValueError, match=r"method must be one of .*'min_max'.*; got 'minmax'"):
        normalize_scores([1.0], method="minmax")


@pytest.mark.parametrize("method", ["z_score", "l2"])
def test_engines_have_min_max_alone(method):
    with pytest.raises(ValueError, match=f"engine must be None for method='{method}'; got 'open"):
        normalize_scores([1.0, 2.0], method=method, engine="opensearch")


@pytest.mark.parametrize("engine", ["opensearch", "elasticsearch"])
@pytest.mark.parametrize("score", [1e39, -1e39])
def test_scores_that_no_float_holds_are_refused_for_engines(engine, score):
    with pytest.raises(ValueError, match=f"scores must be at most 3.4e.38 in size for '{engine}'"):
        normalize_scores([score, 2.0, 3.0], engine=engine)
    assert np.isfinite(normalize_scores([score, 2.0, 3.0])).all()
