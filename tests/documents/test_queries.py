import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treerank.documents.ids import check_ids
from treerank.documents.queries import QueryGroups, joined_ids


@given(qid=st.lists(st.integers(-3, 3), min_size=1, max_size=30))
def test_rows_of_a_query_lie_together_in_the_order_of_rows(qid):
    groups = QueryGroups.from_qid(qid)
    assert groups.n_documents == len(qid)
    assert sorted(groups.order) == list(range(len(qid)))
    for q, name in enumerate(np.unique(qid)):
        rows = groups.rows[q]
        np.testing.assert_array_equal(rows, np.flatnonzero(np.asarray(qid) == name))
        places = groups.positions[groups.indptr[q] : groups.indptr[q + 1]]
        assert places.tolist() == list(range(len(rows)))
        assert (groups.codes[rows] == q).all()


@given(qid=st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_the_type_of_an_id_does_not_matter(qid):
    expected = QueryGroups.from_qid(qid).codes
    for other in (np.array(qid, float), np.array([f"q{i}" for i in qid]), np.array(qid, object)):
        np.testing.assert_array_equal(QueryGroups.from_qid(other).codes, expected)


def test_long_runs_are_grouped_without_a_sort_to_the_same_result():
    qid = np.repeat([5, 1, 5, 3], [4, 3, 2, 6])
    shuffle = np.random.default_rng(0).permutation(len(qid))
    np.testing.assert_array_equal(
        QueryGroups.from_qid(qid).codes[shuffle], QueryGroups.from_qid(qid[shuffle]).codes
    )


@pytest.mark.parametrize(
    "qid",
    [
        np.tile(np.arange(-128, 128, dtype=np.int8), 2),
        np.array([2**64 - 1, 2**64 - 3, 2**64 - 1, 2**64 - 3], np.uint64),
        np.array([-(2**63), 2**63 - 1, -(2**63), 2**63 - 1]),
        np.arange(70_000)[::-1],
    ],
    ids=["int8", "uint64", "far apart", "more than 16 bits"],
)
def test_whole_numbers_of_any_width_are_grouped_as_text_would_be(qid):
    groups = QueryGroups.from_qid(qid)
    codes = np.unique(qid.astype(object), return_inverse=True)[1]
    np.testing.assert_array_equal(groups.codes, codes)
    np.testing.assert_array_equal(groups.sizes, np.bincount(codes))
    np.testing.assert_array_equal(groups.order, np.argsort(codes, kind="stable"))


@pytest.mark.parametrize(
    ("qid", "codes"),
    [
        ([1, "1", 2, "2"], [0, 2, 1, 3]),
        ([1, 1.0, 2.0, 2], [0, 0, 1, 1]),
        ([b"a", "a"], [0, 1]),
        (["a", "a\0"], [0, 1]),
        ([2**63, -1, 2**63 + 1], [1, 0, 2]),
        ([2**53, 2**53 + 1, 0.5], [1, 2, 0]),
        ([("a", 1), "a"], [1, 0]),
    ],
)
def test_ids_are_equal_where_python_says_so(qid, codes):
    objects = np.empty(len(qid), dtype=object)
    objects[:] = qid
    np.testing.assert_array_equal(QueryGroups.from_qid(objects).codes, codes)
    if not isinstance(qid[0], tuple):
        np.testing.assert_array_equal(QueryGroups.from_qid(qid).codes, codes)


DATES = np.array(["2020", "NaT", "2021"], dtype="datetime64[D]")


@pytest.mark.parametrize(
    "qid",
    [
        *(DATES, DATES - DATES[0], pd.Series(DATES), pd.Series(DATES, dtype=object)),
        *(np.array([0, complex(0, np.nan), 1]), ["a", float("nan"), "b"]),
        *(pd.Series(["a", None, "b"], dtype=kind) for kind in ("string", "category")),
        pd.array([1, None, 2], dtype="Int64"),
        *(pl.Series(["a", None, "b"]), pl.Series([1, None, 2])),
    ],
)
def test_a_missing_id_of_any_type_is_refused_with_its_row(qid):
    with pytest.raises(ValueError, match=r"qid must not be missing; got .* in row 1\."):
        QueryGroups.from_qid(qid)


@pytest.mark.parametrize("ids", [[1, "1"], ["a", "a\0"], [True, "True"]])
def test_ids_that_are_one_as_text_are_refused_where_they_are_kept(ids):
    with pytest.raises(ValueError, match="document must be ids that differ as text; got"):
        check_ids("document", ids)


@pytest.mark.parametrize(
    "ids",
    [
        list(np.array([7, 2])),
        [7.5, 2.0],
        [b"x", b"a"],
        list(np.array(["2020", "2019"], "M8[D]")),
        [2**63 + 1, -1],
        np.array(["b", "a"], np.dtypes.StringDType()),
    ],
)
def test_ids_of_any_type_are_kept_as_they_are(ids):
    assert check_ids("document", ids).tolist() == np.array(ids, dtype=object).tolist()


def test_ids_of_parts_stay_apart_where_floats_would_be_equal():
    parts = [np.array([2**63 + 1], np.uint64), np.array([-1]), np.array([2**63], np.uint64)]
    assert joined_ids(parts).tolist() == [2**63 + 1, -1, 2**63]
    assert joined_ids([*parts, np.array([0.5])]).tolist() == [2**63 + 1, -1, 2**63, 0.5]
    numbers = joined_ids([np.array([7], np.int8), np.array([2.5]), np.array([2**53], np.uint64)])
    assert numbers.dtype == np.float64
    assert numbers.tolist() == [7, 2.5, 2**53]
    tuples = QueryGroups.from_qid([("a", 1), ("a", 2)]).ids
    assert joined_ids([tuples, np.array(["a"])]).tolist() == [("a", 1), ("a", 2), "a"]


def test_ids_that_nothing_can_equal_are_refused():
    with pytest.raises(TypeError, match="qid must be numbers, text or dates; got unhashable"):
        QueryGroups.from_qid([{}, {}])
    with pytest.raises(ValueError, match="qid must have no masked entries; got 1 of 2"):
        QueryGroups.from_qid(np.ma.array([1, 2], mask=[True, False]))


@pytest.mark.parametrize(
    ("qid", "message"),
    [
        ([[1], [2]], r"qid must be one-dimensional, an id per row; got shape \(2, 1\)\.$"),
        ([["a", "b"]] * 2, r"shape \(2, 2\)\. .* tuples, as in qid=list\(zip\(user, week\)\)\.$"),
        ("user", "qid must be one-dimensional, an id per row; got 'user'"),
        ([1], r"qid must have one entry per row; got 1 for 2 rows\.$"),
        ([2], r"got 1 for 2 rows\. For sizes of groups, write qid=np.repeat\("),
    ],
)
def test_refuses_what_cannot_name_queries(qid, message):
    with pytest.raises(ValueError, match=message):
        QueryGroups.from_qid(qid, 2)
