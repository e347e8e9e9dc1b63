import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from treerank import read_runs
from treerank.datasets import Qrels, TrecRun, qrels
from treerank.datasets.qrels import NO_JUDGMENTS, judgments_of_queries

NAN = np.nan
#: Two judges; one has skipped a document, and nobody has judged the last one.
JUDGES = {
    "query": ["q", "q", "q", "q", "p"],
    "document": ["b", "a", "b", "a", "c"],
    "label": [0, 2, 1, None, None],
}
FRAMES = {
    "lists": JUDGES,
    "pandas": pd.DataFrame(JUDGES),
    "nullable": pd.DataFrame(JUDGES).convert_dtypes(),
    "polars": pl.DataFrame(JUDGES),
    "arrow": pa.table(JUDGES),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_documents_without_a_label_are_unjudged(kind):
    frame = FRAMES[kind]
    judges = Qrels(frame["query"], frame["document"], frame["label"])
    judged = judges.judged()
    assert [*zip(*judged, strict=True)] == [("q", "b", 0), ("q", "a", 2), ("q", "b", 1)]
    for how, label in (("mean", 0.5), ("majority", 0)):
        merged = judges.merged(how)
        assert [*zip(*merged, strict=True)] == [("q", "a", 2), ("q", "b", label)]
        data = read_runs({"bm25": {"p": ["c", "d"], "q": ["a", "b", "e"]}}, merged, unjudged=0)
        np.testing.assert_array_equal(data.y, [NAN, NAN, 2, label, 0])
    one = Qrels(*(column[1:] for column in (frame["query"], frame["document"], frame["label"])))
    np.testing.assert_array_equal(one.labels_of(["q", "p"], ["a", "c"], unjudged=NAN), [2, NAN])
    np.testing.assert_array_equal(
        read_runs({"bm25": {"p": ["c"], "q": ["a", "b"]}}, one, unjudged=0).y, [NAN, 2, 1]
    )


def test_skipped_documents_say_nothing_of_the_agreement():
    queries, documents = ["q"] * 6, [*"aabbcc"]
    skipped = Qrels(queries, documents, [1, NAN, 0, 1, 2, 2])
    assert skipped.agreement() == Qrels(queries[2:], documents[2:], [0, 1, 2, 2]).agreement()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((["q"], ["a"], ["good"]), "labels must be numbers; got text. np.asarray.labels, float"),
        ((["q"], ["a"], [None]), "labels must hold a label in some row; got NaN, no judgment"),
        ((["q"], ["a"], [np.inf]), "labels must be finite; got inf in row 0"),
        ((["q"], ["a"], [1, 2]), "labels must have one entry per document; got 2 for 1"),
        ((["q"], ["a", "b"], [1]), "doc_ids must have one entry per row; got 2 for 1"),
    ],
)
def test_wrong_columns_are_named(columns, message):
    judgments = Qrels(*columns)
    for use in (
        judgments.merged,
        judgments.agreement,
        lambda: judgments.labels_of(["q"], ["a"]),
        lambda: read_runs({"bm25": {"q": ["a"]}}, judgments),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            use()


def test_columns_have_one_order_of_rows():
    frame = pd.DataFrame({"query": ["q"] * 2, "document": [*"ab"], "label": [1, 0]})
    judgments = Qrels(frame["query"], frame["document"], frame["label"].sort_values())
    for use in (judgments.judged, judgments.merged, judgments.agreement):
        with pytest.raises(ValueError, match="labels must have the rows of qid in their order"):
            use()
    with pytest.raises(ValueError, match="doc_ids must have the rows of qid in their order"):
        judgments.labels_of(frame["query"], frame["document"][::-1])


DAYS = pd.Series(pd.to_datetime(["2026-01-05 00:00", "2026-01-06 10:30"]))
#: The same dates in the types of tables.
DATES = {
    "pandas": DAYS.astype("datetime64[ns]"),
    "pandas, in Berlin": DAYS.dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin"),
    "NumPy, in seconds": DAYS.to_numpy("datetime64[s]"),
    "Polars": pl.Series(DAYS.to_list()),
    "Arrow": pa.array(DAYS),
    "Python": DAYS.dt.to_pydatetime().tolist(),
    "Python, a day and a time": [DAYS[0].date(), DAYS[1].to_pydatetime()],
    "text": ["2026-01-05", "2026-01-06T10:30:00"],
}


@pytest.mark.parametrize("kind", DATES)
def test_equal_dates_are_one_query_whatever_their_types(kind):
    for dates in DATES.values():
        judgments = Qrels(DATES[kind], ["a", "b"], [3, 1])
        assert judgments.labels_of(dates, ["a", "b"]).tolist() == [3, 1]
        assert judgments_of_queries(judgments, dates[:1]).doc_ids.tolist() == ["a"]
        pairs, same = ([("ann", day) for day in np.asarray(of)] for of in (DATES[kind], dates))
        of_pairs = Qrels(pairs, ["a", "b"], [3, 1])
        assert of_pairs.labels_of(same, ["a", "b"]).tolist() == [3, 1]
        runs = [TrecRun(of, ["a", "b"], [2.0, 1.0]) for of in (DATES[kind], dates)]
        candidates = read_runs({"bm25": runs[0], "dense": runs[1]}, judgments)
        assert candidates.qid.tolist() == DATES["text"]
        assert candidates.y.tolist() == [3, 1]


def test_dates_that_differ_by_a_nanosecond_are_two_queries():
    one, two = DATES["pandas, in Berlin"].astype("datetime64[ns, UTC]"), [*"ab"]
    other = one + pd.Timedelta(1, "ns")
    assert Qrels(one, two, [3, 1]).labels_of(other, two).tolist() == [0, 0]
    assert Qrels(other, two, [3, 1]).labels_of(other.dt.tz_localize(None), two).tolist() == [3, 1]


def test_texts_are_made_of_each_query_once(monkeypatch):
    texts_of, n_texts = qrels.texts_of, []

    def counted(name, values, n_rows=None):
        n_texts.append(len(values))
        return texts_of(name, values, n_rows)

    monkeypatch.setattr(qrels, "texts_of", counted)
    assert judgments_of_queries(NO_JUDGMENTS, np.repeat([1.0, 2.0], 1000)) == NO_JUDGMENTS
    assert n_texts == []
    judgments = Qrels(np.repeat(["1", "3"], 2), np.array([*"abcd"]), np.zeros(4))
    kept = judgments_of_queries(judgments, np.repeat([1.0, 2.0], 1000))
    assert kept.doc_ids.tolist() == ["a", "b"]
    assert sorted(n_texts) == [2, 2]
    assert judgments_of_queries(judgments, np.array([])).doc_ids.tolist() == []
