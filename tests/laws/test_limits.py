"""Where a rule of the data begins: the last case that is as before, and the first that is not.

Each case holds the rule in words of its documentation, and what is found at its limit and one step
beyond. Numbers are those of the documentation, not of the code.
"""

import warnings

import numpy as np
import pandas as pd
import pytest

from treerank import QueryKFold, compare
from treerank.datasets import RankingData
from treerank.documents.columns import Columns, warn_of_names
from treerank.documents.date_texts import first_date
from treerank.documents.embeddings import embedding_sizes, with_entries
from treerank.documents.eval_set import parts_of_eval_set
from treerank.documents.gains import are_shares, check_gain, is_relevant, label_gains
from treerank.documents.ids import check_ids
from treerank.documents.number_texts import numbers_among
from treerank.documents.queries import refuse_one_query, warn_without_qid
from treerank.documents.reading import take_columns
from treerank.evaluation.data_splits import check_cv
from treerank.evaluation.fits import check_scores
from treerank.rankers import ColumnRanker

TINY = np.nextafter(0, 1)


def refusal(function, *arguments, **named):
    """Return the message with which arguments are refused, "" if they are not."""
    try:
        function(*arguments, **named)
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


def warned(function, *arguments, **named):
    """Return the messages of warnings, one below the other."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        function(*arguments, **named)
    return "\n".join(str(warning.message) for warning in caught)


def test_labels_begin_at_0_and_a_table_of_gains_ends_with_its_last_label():
    assert label_gains([0.0, 1.5]).tolist() == [0.0, 2**1.5 - 1]
    assert "must not be negative where it has a gain" in refusal(label_gains, [-TINY, 1.0])
    assert label_gains([0, 2], gain=[0, 1, 10]).tolist() == [0.0, 10.0]
    for wrong in (3, 0.5, 2.5):
        rule = f"y must be integers below 3, the number of gains; got {float(wrong)}"
        assert rule in refusal(label_gains, [1, wrong], gain=[0, 1, 10])
    assert label_gains([2.0**1000], gain="linear") == 2.0**1000
    above = np.nextafter(2.0**1000, np.inf)
    assert "y must have gains below" in refusal(label_gains, [above], gain="linear")
    assert check_gain([0, 1]) == (0.0, 1.0)
    assert "gain must not be negative; got -" in refusal(check_gain, [0, -TINY])


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([0.5, 1.0, 0.0, 0.0], ""),  # one of two labels above 0 reaches it
        ([0.5, 0.5, 1.0], "Only 1 of 3 labels above 0 reach threshold=1, so few documents are"),
        ([0.0, 0.5], "No label reaches threshold=1, so nothing is relevant"),
        ([0.0, 0.0], ""),
    ],
)
def test_a_threshold_is_warned_of_if_fewer_labels_reach_it_than_lie_below(labels, said):
    message = warned(is_relevant, np.array(labels), 1)
    assert said in message
    assert bool(said) == bool(message)
    assert warned(is_relevant, np.array(labels), 2) == ""


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([0.0, 0.5, 1.0], True),
        ([-TINY, 0.5], False),
        ([0.5, np.nextafter(1, 2)], False),
        ([0.5, 2.0], False),
        ([0.0, 1.0], False),
        ([], False),
    ],
)
def test_shares_are_from_0_to_1_and_not_all_whole(labels, expected):
    assert are_shares(np.array(labels)) is expected


def test_a_single_document_needs_no_query_and_1000_want_one():
    assert refusal(refuse_one_query, "eval_set", None, 1) == ""
    assert "whose 2 rows would be one query" in refusal(refuse_one_query, "eval_set", None, 2)
    assert warned(warn_without_qid, None, 999) == ""
    assert "all 1000 documents are treated as one query" in warned(warn_without_qid, None, 1000)


@pytest.mark.parametrize("sign", [-1, 1])
def test_whole_ids_among_fractions_stay_whole_from_2_53_on(sign):
    assert check_ids("session", [sign * (2**53 - 1), 0.5]).dtype == np.float64
    assert check_ids("session", [sign * 2**53, 0.5]).tolist() == [sign * 2**53, 0.5]
    assert check_ids("session", [sign * 2**53, 0.5]).dtype == object


@pytest.mark.parametrize(
    ("texts", "is_sure"),
    [
        (["0.5"] * 9 + ["red"], False),  # 90 % is not more than 90 %
        (["0.5"] * 10 + ["red"], True),
        (["1", "2", "3", "a", "b", "c"], False),
        (["1", "2", "3", "a", "b", "c", "d"], None),
        (["1", "2", "3"], False),
        (["1", "2"], None),
        (["1", "2", "a"], None),
        (["1 kg", "2 kg", "3 kg"], False),
        (["1 kg", "2 kg"], None),
        ([f"{n} kg" for n in range(10)] + ["red"], False),  # of a unit that may be mixed
        ([f"{n} kg" for n in range(9)] + ["red"], None),
        ([f"{n} bits" for n in range(10)] + ["red"], None),  # any other is the only one, in all
        ([f"{n} bits" for n in range(10)], False),
        (["1st", "2st", "3st"], None),
    ],
)
def test_texts_are_numbers_if_enough_of_them_are(texts, is_sure):
    distinct = [f"{n}{text}" if text == "0.5" else text for n, text in enumerate(texts)]
    numbers = numbers_among(distinct)
    assert (numbers if numbers is None else numbers.is_sure) is is_sure
    if numbers is not None:
        assert numbers.has_unit == (" " in distinct[0])


def test_of_1000_texts_or_more_some_are_looked_at():
    words = [text for n in range(500) for text in (f"word {n}", f"{n}.5")]
    assert numbers_among(words[1:]).is_sure is False  # of 999, which are all looked at, 500 are
    assert numbers_among(words) is None  # of 1000, every second one is
    assert numbers_among(words[::-1]).is_sure is True


def test_texts_are_dates_if_more_than_half_of_them_are():
    day = "2026-05-01"
    assert first_date([day, "red"]) is None
    assert first_date(["red", day, day]) == day
    mixed = [text for _ in range(500) for text in ("red", day)]
    assert first_date(mixed[1:]) == day  # of 999, which are all looked at, 500 are
    assert first_date(mixed) is None  # of 1000, every second one is
    assert first_date(mixed[::-1]) == day


def column_of(name, values, n_rows):
    """Return a data frame whose column repeats its values."""
    return pd.DataFrame({name: [values[row % len(values)] for row in range(n_rows)]})


@pytest.mark.parametrize(
    ("n_distinct", "n_rows", "is_refused"),
    [(20, 20, False), (21, 21, True), (30, 60, False), (31, 60, True), (31, 62, False)],
)
def test_numbers_with_units_are_refused_if_there_are_over_20_and_over_half_the_rows(
    n_distinct, n_rows, is_refused
):
    frame = column_of("weight", [f"{n} kg" for n in range(n_distinct)], n_rows)
    with warnings.catch_warnings(action="ignore"):
        message = refusal(Columns.of, frame)
    assert ("not numbers with units as text" in message) is is_refused


@pytest.mark.parametrize(
    ("n_distinct", "n_rows", "is_refused"),
    [(256, 256, False), (257, 257, True), (300, 600, False), (301, 600, True), (301, 602, False)],
)
def test_text_is_refused_if_there_are_over_256_values_and_over_half_the_rows(
    n_distinct, n_rows, is_refused
):
    words = [f"word {chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(n_distinct)]
    message = refusal(Columns.of, column_of("title", words, n_rows))
    assert ("must not be text of that many values" in message) is is_refused


@pytest.mark.parametrize(
    ("n_distinct", "n_rows", "is_id"),
    [(20, 20, False), (21, 21, True), (30, 60, False), (31, 60, True), (31, 62, False)],
)
def test_numbers_named_as_ids_are_warned_of_if_over_20_and_over_half_the_rows_have_their_own(
    n_distinct, n_rows, is_id
):
    frame = column_of("passage_id", list(range(n_distinct)), n_rows)
    assert bool(warned(warn_of_names, frame)) is is_id
    fractions = column_of("passage_id", [n + 0.5 for n in range(n_distinct)], n_rows)
    assert warned(warn_of_names, fractions) == ""


def test_rows_of_a_table_are_counted_from_its_first_and_its_last():
    data = RankingData(np.arange(6.0).reshape(3, 2), np.array([1.0, 0, 2]), np.array([7, 7, 8]))
    assert data.take([-3, 2]).y.tolist() == [1, 2]
    for row in (-4, 3):
        assert f"rows must be row numbers below 3; got {row}" in refusal(data.take, [row])
    assert len(data.take([])) == 0


def data_of(n_queries):
    qid = np.repeat(np.arange(n_queries), 2)
    return RankingData(qid[:, None] / 7, np.arange(len(qid)) % 2.0, qid)


def test_a_split_may_leave_a_single_query_to_train_on():
    for valid, test in ((2, 2), (0.4, 0.4)):
        parts = data_of(5).split(valid=valid, test=test)
        assert [len(np.unique(part.qid)) for part in parts] == [1, 2, 2]
    rule = "valid and test must leave a query to train on; got valid=2 and test=3 of 5"
    assert rule in refusal(data_of(5).split, valid=2, test=3)
    assert [len(np.unique(part.qid)) for part in data_of(5).split(test=4)] == [1, 4]
    assert "test must leave a query to train on" in refusal(data_of(5).split, test=5)
    assert "holds one at least" in refusal(data_of(5).split, test=0.1)
    assert len(np.unique(data_of(5).split(test=0.11)[1].qid)) == 1


@pytest.mark.parametrize("entry", [2**53, -(2**53)])
def test_whole_entries_of_embeddings_are_below_2_53_in_size(entry):
    inner = entry - np.sign(entry)
    for values in ([[0.5, inner], [1.5, 2]], [np.array([1, inner])] * 2):
        assert refusal(embedding_sizes, pd.DataFrame({"v": values})) == ""
        frame = with_entries(pd.DataFrame({"v": values}))
        assert frame["v_1"].tolist()[0] == inner
    for values in ([[0.5, int(entry)], [1.5, 2]], [np.array([1, entry])] * 2):
        message = refusal(with_entries, pd.DataFrame({"v": values}))
        assert "must hold numbers below 2**53 in size in its lists" in message


def test_numbers_of_more_than_eight_bytes_are_no_entries_of_embeddings():
    longer = np.array([0.5, 1.5], dtype=np.longdouble)
    frame = pd.DataFrame({"v": [longer, longer]})
    if longer.dtype.itemsize > 8:
        assert "must hold numbers alone in its lists" in refusal(with_entries, frame)
    assert with_entries(pd.DataFrame({"v": [longer.astype(float)] * 2})).columns[0] == "v_0"


@pytest.mark.parametrize(
    ("X", "qid", "said"),
    [
        (np.zeros((2, 1)), ("a", "b"), ""),  # as many texts as rows are ids
        (np.zeros((3, 1)), ("a", "b"), "qid must name columns of X; got ('a', 'b') and an array"),
        ([[0.0], [1.0]], ("a", "b"), ""),
        ((np.zeros((2, 1)), [1, 2]), None, "X must be documents alone; got a tuple"),
        (((0.0, 1.0), (2.0, 3.0)), None, ""),  # rows as tuples
    ],
)
def test_names_of_queries_and_tuples_of_documents(X, qid, said):
    message = refusal(take_columns, X, qid=qid)
    assert said in message
    assert bool(said) == bool(message)


@pytest.mark.parametrize(
    ("names", "advice"),
    [
        (["a"], "Write y='a'."),
        (["a", "b"], "For several columns write X.drop(columns=['a', 'b']) and y=X[['a', 'b']]."),
    ],
)
def test_a_list_of_names_is_refused_by_what_to_write(names, advice):
    frame = pd.DataFrame({"a": [1.0, 2, 3], "b": [0.0, 1, 0], "c": [0.0, 1, 0]})
    message = refusal(take_columns, frame, y=names)
    assert message.endswith(advice)
    assert refusal(take_columns, frame, y=["a", "d"]) == ""
    assert refusal(take_columns, frame[:2], y=["a", "b"]) == ""  # as many values as rows


@pytest.mark.parametrize(
    ("eval_set", "size"),
    [((1,), " of 1"), ((1, 2, 3, 4), " of 4"), ([], " of 0"), ("ab", "")],
)
def test_an_evaluation_set_has_two_or_three_parts(eval_set, size):
    assert parts_of_eval_set((1, 2)) == (1, 2, None)
    assert parts_of_eval_set([1, 2, 3]) == (1, 2, 3)
    message = refusal(parts_of_eval_set, eval_set)
    assert message.endswith(f"got {type(eval_set)}{size}.")
    assert ", a list of such tuples, or a share" in message
    assert "a list of such tuples" not in refusal(parts_of_eval_set, eval_set, "data")


def test_two_sets_of_documents_are_no_evaluation_set():
    one = (np.zeros((2, 1)), [0, 1])
    assert "must be (X, y) or (X, y, qid)" in refusal(parts_of_eval_set, (one, one))
    assert parts_of_eval_set((((0.0,), (1.0,)), [0, 1])) == (((0.0,), (1.0,)), [0, 1], None)


@pytest.mark.parametrize("values", [[0.3, 0.3], [0.3, np.nan], [0.3, np.inf], [[0.3, 0.4]]])
def test_scores_of_a_comparison_are_different_finite_numbers_by_document(values):
    assert "predict must return" in refusal(check_scores, values, 2)
    assert check_scores([0.3], 1).tolist() == [0.3]
    assert check_scores([0.3, 0.3 + 1e-9], 2).dtype == np.float64


def test_folds_are_two_or_more_and_at_most_the_judged_queries():
    assert refusal(check_cv, "cv", 2) == ""
    assert "cv must be a whole number of at least 2; got 1" in refusal(check_cv, "cv", 1)
    assert "cv must be a whole number" in refusal(check_cv, "cv", 2.0)
    for wrong in ("ab", b"ab", object()):
        assert "cv must be a number, a splitter or pairs of rows" in refusal(check_cv, "cv", wrong)
    for allowed in (iter([]), [], QueryKFold(2)):
        assert refusal(check_cv, "cv", allowed) == ""
    y = np.where(np.arange(12) < 6, np.arange(12) % 2.0, np.nan)
    data = np.arange(12.0)[:, None] / 7 + (np.arange(12) % 2)[:, None], y, np.arange(12) // 2
    rankers = {"a": ColumnRanker(0)}
    assert refusal(compare, rankers, data, cv=3) == ""
    rule = "cv must be at most the number of judged queries, 3; got 4"
    assert rule in refusal(compare, rankers, data, cv=4)
