import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treerank.documents.queries import objects
from treerank.reranking import diversify

lists = st.lists(st.integers(0, 5), min_size=1, max_size=7)


def scaled(scores):
    low, high = min(scores), max(scores)
    return [(s - low) / (high - low) if high > low else 1.0 for s in scores]


def by_hand(scores, k, worth):
    """Choose one after the other by ``worth(document, chosen)``; the first of equal ones."""
    chosen, left = [], list(range(len(scores)))
    while left and len(chosen) < k:
        values = [worth(i, chosen) for i in left]
        if max(values) == -np.inf:
            break
        chosen.append(left.pop(int(np.argmax(values))))
    return chosen


@given(lists, st.integers(1, 8), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.integers(1, 3))
@settings(max_examples=100)
def test_groups_are_those_of_the_formula(scores, k, trade_off, limit):
    groups, r = [i % 3 for i in range(len(scores))], scaled(scores)

    def worth(i, chosen):
        same = [j for j in chosen if groups[j] == groups[i]]
        if len(same) >= limit:
            return -np.inf
        return r[i] * (1 - trade_off + trade_off * np.prod([1 - r[j] for j in same]))

    found = diversify(scores, k, groups=groups, trade_off=trade_off, at_most=limit)
    assert found.tolist() == by_hand(scores, k, worth)


@given(lists, st.integers(1, 8), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
@settings(max_examples=100)
def test_vectors_are_those_of_the_formula(scores, k, trade_off):
    axes, r = np.eye(3), scaled(scores)  # cosines 0 and 1 are exact

    def worth(i, chosen):
        like = max((float(i % 3 == j % 3) for j in chosen), default=0.0)
        return (1 - trade_off) * r[i] - trade_off * like

    vectors = axes[np.arange(len(scores)) % 3] * 7
    found = diversify(scores, k, vectors=vectors, trade_off=trade_off)
    assert found.tolist() == by_hand(scores, k, worth)


def test_limits_hold_up_to_each_position():
    groups = ["a"] * 8 + ["c", "b"] + ["a"] * 10
    found = diversify(-np.arange(20.0), 8, groups=groups, trade_off=0.0, at_most={3: 1, 8: 5})
    assert found.tolist() == [0, 8, 9, 1, 2, 3, 4]  # five of a, and there are no others


def test_neither_the_length_of_vectors_nor_the_spread_of_scores_matters():
    assert diversify([1.7e308, -1.7e308, 0.0, 1e308], 2).tolist() == [0, 3]
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    for length in (1e-300, 1.0, 1e300):
        assert diversify([3, 2, 1], vectors=length * vectors).tolist() == [0, 2, 1]


LISTS = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
COLUMNS = {
    "lists": lambda rows: rows,
    "arrays": lambda rows: [np.array(row) for row in rows],
    "objects": objects,
    "pandas": pd.Series,
    "pandas of arrow": lambda rows: pd.Series(rows, dtype=pd.ArrowDtype(pa.list_(pa.float64()))),
    "polars": pl.Series,
    "arrow": pa.array,
    "chunks": lambda rows: pa.chunked_array([rows[:1], rows[1:]], pa.list_(pa.float64())),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_vectors_may_be_a_column_of_lists(kind):
    column_of = COLUMNS[kind]
    assert diversify([3, 2, 1], vectors=column_of(LISTS)).tolist() == [0, 2, 1]
    rule = "vectors must have equally many numbers in each row; got 2 in row 0 and 3 in row 2"
    with pytest.raises(ValueError, match=rule):
        diversify([3, 2, 1], vectors=column_of([*LISTS[:2], [1.0, 2.0, 3.0]]))
    if kind != "arrays":
        with pytest.raises(ValueError, match="got 0 in row 0 and 2 in row 1"):
            diversify([3, 2, 1], vectors=column_of([None, *LISTS[1:]]))


@pytest.mark.parametrize("kind", [pl.Array(pl.Float32, 2), pl.List(pl.Float32)])
def test_vectors_may_be_a_column_of_single_precision(kind):
    assert diversify([3, 2, 1], vectors=pl.Series(LISTS, dtype=kind)).tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": [1, 2], "vectors": [[1], [2]]}, "vectors must be None"),
        ({"at_most": 1}, "groups must be given for at_most; got at_most=1"),
        ({"groups": [1]}, "groups must have one entry per row; got 1 for 2"),
        ({"vectors": 3}, r"vectors must have a row of .* of shape \(\)"),
        ({"vectors": [[1.0]]}, r"vectors must have a row of finite numbers for each of the 2"),
        ({"vectors": [[1.0], [np.nan]]}, "finite"),
        ({"trade_off": 2}, "trade_off must be"),
        ({"groups": [1, 2], "at_most": 0}, "at_most must be"),
        ({"k": 0}, "k must be"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        diversify([1.0, 2.0], **options)
