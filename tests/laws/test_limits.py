"""Where a rule of the data begins: the last case that is as before, and the first that is not.

Each case holds the rule in words of its documentation, and what is found at its limit and one step
beyond. Numbers are those of the documentation, not of the code.
"""

import gzip
import io
import re
import time
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.optimize import minimize

from treerank import QueryKFold, TreeDirectRanker, XGBoostTrees, compare, make_objective
from treerank.baselines import LambdaMART
from treerank.datasets import RankingData
from treerank.documents.columns import Columns, as_frame, warn_of_names
from treerank.documents.date_texts import first_date
from treerank.documents.embeddings import embedding_sizes, with_entries
from treerank.documents.eval_set import EvalSet, parts_of_eval_set
from treerank.documents.gains import are_shares, check_gain, is_relevant, label_gains
from treerank.documents.ids import check_ids
from treerank.documents.labels import split_labels
from treerank.documents.number_texts import numbers_among
from treerank.documents.queries import QueryGroups, refuse_one_query, warn_without_qid
from treerank.documents.reading import take_columns
from treerank.documents.rows import Rows
from treerank.evaluation.data_splits import check_cv, has_splits
from treerank.evaluation.fits import check_scores
from treerank.evaluation.store import describe
from treerank.files.compression import open_text
from treerank.files.states import array, count, number, optional, size
from treerank.objectives.batches import deal
from treerank.objectives.chains import chained_probabilities
from treerank.objectives.judgments import Judgments
from treerank.objectives.pairs.problem import balance_of
from treerank.objectives.pairs.rules import GivenPairs, Pairs
from treerank.objectives.sums import weighted_sum
from treerank.rankers import ColumnRanker
from treerank.rankers.calibration import RelevanceScale, _line
from treerank.rankers.explanation import ExplainedMargins, interactions_of
from treerank.spelling import spelling

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
    for wrong in (0.0, 1.0, 1.5, 0, -1):
        rule = "test must be a share of the 5 queries above 0 and below 1 that holds one at least"
        assert rule in refusal(data_of(5).split, test=wrong)
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


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_list_of_names_is_refused_by_what_to_write(kind):
    frame = kind({"a": [1.0, 2, 3], "b": [0.0, 1, 0], "c": [0.0, 1, 0]})
    assert refusal(take_columns, frame, y=["a"]).endswith("Write y='a'.")
    message = refusal(take_columns, frame, y=["a", "b"])
    calls = re.search(r"For several columns write (X\..*) and y=(X.*)\.$", message)
    features, labels = (eval(call, {"X": frame}) for call in calls.groups())
    assert as_frame(features).columns == ["c"]
    assert [*split_labels(labels)] == ["a", "b"]
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


def fitted_scale(n_labels, top=1.0):
    """Return calibration curves of labels from 0 to ``top``, of which there are ``n_labels``."""
    y = np.linspace(0, top, n_labels)[np.arange(20 * n_labels) % n_labels]
    scores = y + np.random.default_rng(0).normal(scale=top, size=len(y))
    return RelevanceScale.fitted(scores, y, QueryGroups.from_qid(np.arange(len(y)) // 40))


def test_up_to_32_labels_have_a_curve_each_and_more_shares_have_steps_of_a_twentieth():
    assert fitted_scale(32).labels.tolist() == np.linspace(0, 1, 32).tolist()
    assert fitted_scale(33).labels.tolist() == [n / 20 for n in range(21)]
    assert len(fitted_scale(32, top=31.0).labels) == 32
    with pytest.warns(UserWarning, match="y has 33 different labels, more than 32"):
        assert fitted_scale(33, top=32.0) is None
    above = float(np.nextafter(1, 2))
    with pytest.warns(UserWarning, match="y has 33 different labels, more than 32"):
        assert fitted_scale(33, top=above) is None


def test_steps_of_shares_are_never_rounded_up():
    y = np.append(np.linspace(0, 1, 40), [0.3, np.nextafter(0.3, 0), 0.05, 0.049])
    scale = RelevanceScale.fitted(
        np.tile(y, 9), np.tile(y, 9), QueryGroups.from_qid(np.arange(9).repeat(44))
    )
    assert set(scale.labels) <= {n / 20 for n in range(21)}
    assert scale.labels[0] == 0


def test_at_least_is_above_the_lowest_label_and_at_most_the_highest():
    scale = fitted_scale(3, top=2.0)
    scores = np.array([0.0, 1.0])
    assert scale.probability(scores, TINY).tolist() == scale.probability(scores, 1).tolist()
    assert scale.probability(scores, 1.5).tolist() == scale.probability(scores, 2).tolist()
    for wrong in (0, -1, np.nextafter(2, 3)):
        message = refusal(scale.probability, scores, wrong)
        assert "at_least must be above the lowest label, 0, and at most the highest, 2" in message


def test_a_precision_is_reached_by_the_highest_scores_at_most():
    scale = RelevanceScale(
        np.array([0.0, 1.0]),
        np.array([1.0, 2.0, 3.0]),
        np.array([[0.25, 0.5, 0.75]]),
        np.zeros((1, 2)),
        np.array([False]),
    )
    # Means of the probabilities from each score on: 0.5, 0.625 and 0.75.
    for precision, expected in ((0.5, 1.0), (0.51, 2.0), (0.625, 2.0), (0.63, 3.0), (0.75, 3.0)):
        assert scale.threshold(precision, 1) == expected
    assert "precision must be at most 0.750" in refusal(scale.threshold, 0.751, 1)


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ([2, -1], "A is above B because of a +2, despite b -1."),
        ([-2, 1], "A is below B because of a -2, despite b +1."),
        ([1, -1], "A and B have equal scores."),
        ([0, 0], "A and B have equal scores."),
        ([3, 0, -1, -1], "A is above B because of a +3, despite c -1."),
        # Of those against it, any as large as the smallest that is named.
        ([3, 1, -1, -1], "A is above B because of a +3, b +1, despite c -1, d -1."),
        ([3, 1, -1.5, -0.5], "A is above B because of a +3, b +1, despite c -1.5."),
        ([5, 4, 3, 2, -1], "A is above B because of a +5, b +4, c +3, despite e -1."),
        ([9, -2, -2, -2, -2, 1], "A is above B because of a +9, f +1, despite b -2, c -2, d -2."),
    ],
)
def test_a_sentence_names_three_features_and_those_against_them_that_are_as_large(parts, sentence):
    named = ExplainedMargins.of(np.array([parts], dtype=float), "abcdef"[: len(parts)])
    assert str(named) == sentence


def test_a_chart_of_parts_has_ten_bars_and_one_of_all_others():
    values = np.arange(12.0, 0, -1)[None]
    parts = ExplainedMargins.of(values, [f"f{n}" for n in range(12)])
    assert parts.chart().names == (*(f"f{n}" for n in range(10)), "2 other features")
    assert parts.chart(most=11).names[-1] == "1 other feature"
    assert parts.chart(most=12).names[-1] == "f11"
    assert parts.chart(most=1).parts.tolist() == [12, 66]
    assert "most must be a whole number of at least 1; got 0" in refusal(parts.chart, most=0)
    assert "and at most 0; got 1" in refusal(parts.chart, pair=1)
    assert "margins must have a pair to be plotted; got none" in refusal(parts[:0].chart)
    assert "margins must have a column for each feature" in refusal(parts[:, :3].chart)
    titles = [ExplainedMargins.of(np.array([[n]]), ["a"]).chart().title for n in (0.0, 0.5, -0.5)]
    assert titles == ["equal: +0", "A above B: +0.5", "A below B: -0.5"]


def test_notebooks_show_ten_pairs_and_say_how_many_more_there_are():
    parts = ExplainedMargins.of(np.ones((12, 1)), ["a"])
    assert "pair</p>" not in parts[:10]._repr_html_()
    assert "and 1 more pair</p>" in parts[:11]._repr_html_()
    assert "and 2 more pairs</p>" in parts._repr_html_()
    assert parts._repr_html_().count("<table") == 10


def test_groups_of_features_share_none():
    parts = ExplainedMargins.of(np.array([[0.5, 0.25, -1.0]]), ["v_0", "v_1", "price"])
    assert parts.grouped({"v": ["v"], "p": ["price"]}).by_name() == [{"p": -1.0, "v": 0.75}]
    assert "groups must not share a feature" in refusal(parts.grouped, {"a": ["v"], "b": ["v_0"]})
    assert "no other feature has; got 'price'" in refusal(parts.grouped, {"price": ["v"]})


def test_bounds_of_saved_arrays_hold_their_ends():
    rule = array("int64", "n", at_least=0, below="n_features")
    for values, is_allowed in (([0, 2], True), ([-1, 0], False), ([0, 3], False), ([], True)):
        message = refusal(rule, "a", np.array(values, dtype=np.int64), {"n_features": 3})
        assert (message == "") is is_allowed
    share = array("float64", "n", at_least=0, at_most=1)
    for values, is_allowed in (([0.0, 1.0], True), ([-TINY], False), ([np.nextafter(1, 2)], False)):
        assert (refusal(share, "a", np.array(values), {}) == "") is is_allowed
    for value in (np.nan, np.inf):
        assert "a must be finite" in refusal(array("float64", 1), "a", np.array([value]), {})
    assert refusal(array("float64", 1, infinite=True), "a", np.array([np.inf]), {}) == ""
    assert "a must be from" in refusal(
        array("float64", 1, infinite=True), "a", np.array([np.nan]), {}
    )
    for rule, value, is_allowed in (
        (count(), 0, True),
        (count(), -1, False),
        (count(2, 3), 3, True),
        (count(2, 3), 4, False),
        (size("n"), 1, True),
        (size("n"), 0, False),
        (number(at_least=0), 0.0, True),
        (number(at_least=0), -1e-9, False),
        (optional(count()), None, True),
    ):
        assert (refusal(rule, "a", value, {}) == "") is is_allowed


@pytest.mark.parametrize("n_bytes", [0, 1, 3, 4, 5, 100])
def test_the_size_of_a_text_is_that_of_the_file_or_what_the_end_of_gzip_says(n_bytes, tmp_path):
    plain, packed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_bytes(b"a" * n_bytes)
    packed.write_bytes(gzip.compress(b"a" * n_bytes))
    with open_text(plain) as text:
        assert text.expected_size == n_bytes
    with open_text(packed) as text:
        assert text.expected_size == max(n_bytes, packed.stat().st_size)
        assert text.stream.read() == b"a" * n_bytes
    for short in (b"\x1f", b"\x1f\x8b\x08", (2**32 - 1).to_bytes(4, "little")):
        (tmp_path / "b.gz").write_bytes(short)
        message = ""
        try:
            with open_text(tmp_path / "b.gz") as text:
                assert text.expected_size == (1032 * 4 if len(short) == 4 else len(short))
        except ValueError as error:
            message = str(error)
        assert message == ""


def test_documents_without_queries_are_told_from_two_on_and_to_rank_from_1000_on():
    X = np.random.default_rng(0).normal(size=(1000, 1))
    ranker = ColumnRanker(0).fit(X, np.arange(1000) % 2.0, np.arange(1000) // 10)
    assert warned(ranker.rank, X[:999]) == ""
    assert "all 1000 rows are treated as one query, though fit had several" in warned(
        ranker.rank, X
    )
    assert warned(ranker.score, X[:1], [1.0]) == warned(ranker.score, X[:1], [1.0], [0])
    assert "so all 2 rows are treated as one query" in warned(ranker.score, X[:2], [1.0, 0.0])
    alone = ColumnRanker(0).fit(X[:20], np.arange(20) % 2.0)
    assert warned(alone.score, X[:2], [1.0, 0.0]) == ""


@pytest.mark.parametrize(("n", "asks_for_more"), [(199, True), (200, False)])
def test_trees_of_fewer_than_200_documents_ask_for_smaller_leaves(n, asks_for_more):
    y = np.arange(n) % 2.0
    message = warned(TreeDirectRanker("lightgbm").fit, np.zeros((n, 1)), y, np.arange(n) // 10)
    assert f"All {n} documents get the same score" in message
    assert ("trees need more documents" in message) is asks_for_more
    assert ("LightGBMTrees(min_child_samples=1) learns from few." in message) is asks_for_more


@pytest.mark.parametrize(
    ("part", "advice"),
    [
        ("histogram", "HistogramTrees(min_child_samples=1) learns"),
        ("xgboost", "XGBoostTrees(min_child_weight=0) learns"),
        (["lightgbm", "histogram"], "LightGBMTrees(min_child_samples=1) learns"),
    ],
)
def test_advice_on_few_documents_is_for_the_trees_that_were_fitted(part, advice):
    y = np.arange(20) % 2.0
    assert advice in warned(TreeDirectRanker(part).fit, np.zeros((20, 1)), y, np.arange(20) // 10)
    with spelling({}):
        text = warned(TreeDirectRanker(part).fit, np.zeros((20, 1)), y, np.arange(20) // 10)
    assert text.endswith("trees need more documents.")


def test_advice_on_few_documents_is_for_the_ranker_that_has_the_parameter_and_not_for_one_as_set():
    X, y, qid = np.zeros((20, 1)), np.arange(20) % 2.0, np.arange(20) // 10
    assert "LambdaMART(min_child_samples=1) learns" in warned(LambdaMART().fit, X, y, qid)
    for smallest in (
        LambdaMART(min_child_samples=1),
        TreeDirectRanker(XGBoostTrees(min_child_weight=0)),
    ):
        assert warned(smallest.fit, X, y, qid).endswith("trees need more documents.")


@pytest.mark.parametrize("part", ["histogram", "lightgbm", "xgboost"])
@pytest.mark.parametrize("name", ["sample_weight", "query_weight"])
def test_weights_that_are_too_small_for_trees_are_named(part, name):
    X, y, qid = np.arange(400.0)[:, None], np.arange(400) % 2.0, np.arange(400) // 10
    ranker = TreeDirectRanker(part, random_state=0)
    message = warned(ranker.fit, X, y, qid, **{name: np.full(400, 1e-6)})
    assert "weights are too small for the smallest weight of a leaf. Multiply weights" in message
    assert "weights" not in warned(ranker.fit, X, 0 * X[:, 0] + y, qid, **{name: np.full(400, 1.0)})


def test_a_column_is_counted_from_0_to_the_last():
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2.0
    assert ColumnRanker(1).fit(X, y).column_index_ == 1
    assert "column must be below 2, the number of columns; got 2" in refusal(
        ColumnRanker(2).fit, X, y
    )
    assert "column must be" in refusal(ColumnRanker(-1).fit, X, y)


def test_the_log_odds_of_a_label_are_a_logistic_regression_of_platts_targets():
    rng = np.random.default_rng(0)
    scores = rng.normal(3, 10, 400)  # whose slope is below 1
    won = rng.random(400) < 1 / (1 + np.exp(1 - scores / 5))
    slope, intercept = _line(scores, won)
    high, low = (won.sum() + 1) / (won.sum() + 2), 1 / ((~won).sum() + 2)
    target = np.where(won, high, low)

    def loss(line):
        odds = line[0] * scores + line[1]
        return np.sum(np.logaddexp(0, odds) - target * odds)

    best = minimize(loss, [0.0, 0.0]).x
    np.testing.assert_allclose([slope, intercept], best, rtol=1e-3)
    falling = _line(scores, ~won)
    assert falling[0] == 0
    share = np.where(~won, (399 - won.sum() + 2) / (402 - won.sum()), 1 / (won.sum() + 2)).mean()
    np.testing.assert_allclose(falling[1], np.log(share / (1 - share)), rtol=1e-6)


class Folder(dict):
    """A mapping of a user's own, which is no dict of settings."""


def test_a_fit_is_stored_in_a_new_folder_and_takes_as_long_as_its_parts(tmp_path):
    X = np.random.default_rng(0).normal(size=(80, 2))
    data, folder = (X, (X[:, 0] > 0) + 0.0, np.arange(80) // 8), tmp_path / "new" / "folder"
    started = time.perf_counter()
    result = compare({"linear": TreeDirectRanker("linear")}, data, cv=2, store=folder)
    taken = time.perf_counter() - started
    assert len([*folder.rglob("*.npz")]) == 2
    for outcome in result.outcomes.values():
        assert all(0 <= part <= taken for part in outcome.seconds)
        assert sum(outcome.seconds) <= taken
    (tmp_path / "file").write_text("")
    rule = "store must be a folder; got the file"
    assert rule in refusal(compare, {"a": ColumnRanker(0)}, data, cv=2, store=tmp_path / "file")
    assert describe(Folder(a=1)) != describe({"a": 1})
    assert describe({"a": 1}) == {"a": 1}
    assert describe({1: 2}) == {"items": [[1, 2]]}


def test_folds_are_a_folder_and_a_file_is_one_data_set(tmp_path):
    (tmp_path / "Fold1").mkdir()
    (tmp_path / "data.csv").write_text("label,query,a\n1,1,0.5\n0,1,0.25\n")
    assert has_splits(tmp_path)
    (tmp_path / "data.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.25\n")
    assert not has_splits(tmp_path / "data.csv")
    assert not has_splits(str(tmp_path / "data.txt"))
    for name, is_fold in (("parts", False), ("fold", True)):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{'train' if is_fold else 'part-0'}.parquet").write_text("")
        assert has_splits(tmp_path / name) is is_fold
    rankers = {"a": ColumnRanker(0)}
    for name in ("human_labels", "clusters"):
        rule = f"{name} must be None for data in folds"
        assert rule in refusal(compare, rankers, tmp_path, **{name: [1.0, 0.0]})


def test_standard_input_has_no_size_that_is_known(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"one\n")))
    with open_text("-") as text:
        assert (text.name, text.expected_size, text.stream.read()) == (
            "standard input",
            0,
            b"one\n",
        )
    monkeypatch.setattr("sys.stdin", None)

    def read():
        with open_text("-"):
            pass

    assert "standard input must be open to read '-'; it is closed" in refusal(read)


def test_an_evaluation_set_without_unjudged_documents_is_itself():
    groups = QueryGroups.from_qid([0, 0, 1])
    whole = EvalSet(Rows(np.eye(3)), np.array([1.0, 0.0, 1.0]), groups)
    assert whole.judged() is whole
    part = EvalSet(Rows(np.eye(3)), np.array([1.0, np.nan, 1.0]), groups).judged()
    assert (part.y.tolist(), part.groups.n_queries) == ([1, 1], 2)
    assert np.array_equal(part.X, np.eye(3)[[0, 2]])
    assert whole.sets == [whole]
    both = EvalSet(Rows(np.eye(3)), np.array([1.0, 0.0, 1.0]), groups, sizes=(2, 1))
    assert [each.y.tolist() for each in both.sets] == [[1, 0], [1]]
    assert both.first.y.tolist() == [1, 0]


@pytest.mark.filterwarnings("ignore:The scores order the held-out pairs no better than chance")
@pytest.mark.parametrize("n_with_pairs", [1, 2, 3])
def test_a_share_leaves_a_query_with_two_labels(n_with_pairs):
    qid = np.repeat(np.arange(10), 2)
    X = np.random.default_rng(0).normal(size=(20, 1))
    y = np.where(qid < n_with_pairs, np.arange(20) % 2.0, 0.0)
    message = refusal(TreeDirectRanker("linear").fit, X, y, qid, eval_set=0.3)
    rule = "must hold out a query with two different labels and leave another one"
    assert (rule in message) is (n_with_pairs < 2)


PAIRS = {
    "first and last row": ([[0, 1], [4, 3]], ""),
    "a row too far": ([[0, 5]], r"rows must be integers in \[0, number of rows\); got"),
    "a row before the first": ([[-1, 0]], r"rows must be integers in \[0, number of rows\); got"),
    "half a row": ([[0, 0.5]], "rows must be integers"),
    "one row twice": ([[1, 1]], "i and j must differ"),
    "two queries": ([[2, 3]], "i and j must be of one query"),
    "weights from 0 to 1e15": ([[0, 1, 0], [1, 2, 1e15]], ""),
    "a weight below 0": ([[0, 1, -TINY]], "weights must be finite and >= 0"),
    "a weight too large": ([[0, 1, np.nextafter(1e15, np.inf)]], "weights must be finite and >= 0"),
    "targets from 0 to 1": ([[0, 1, 1, 0], [1, 2, 1, 1]], ""),
    "a target below 0": ([[0, 1, 1, -TINY]], r"targets must be in \[0, 1\]"),
    "a target above 1": ([[0, 1, 1, np.nextafter(1, 2)]], r"targets must be in \[0, 1\]"),
    "one column": ([[0]], "given_pairs must have the columns i, j"),
    "five columns": ([[0, 1, 1, 1, 1]], "given_pairs must have the columns i, j"),
    "no pairs": (np.zeros((0, 2)), "given_pairs must list at least one pair; got 0"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_given_pairs_are_of_two_rows_of_a_query_with_weights_and_targets(name):
    table, message = PAIRS[name]
    groups = QueryGroups.from_qid([0, 0, 0, 1, 1])
    if message:
        with pytest.raises(ValueError, match=message):
            GivenPairs.from_table(table, groups)
        return
    columns = np.array([[*row, 1, 1][:4] for row in table], dtype=float)
    assert GivenPairs.from_table(table, groups).table().tolist() == columns.tolist()


@pytest.mark.parametrize("adjacent", [False, True])
def test_balanced_levels_are_those_of_plain_python(adjacent):
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(1, 12))
        y, qid = rng.integers(0, 3, n) + 0.0, rng.integers(0, 3, n)
        weight = rng.choice([0.0, 0.5, 1.0, 2.0], n)
        groups = QueryGroups.from_qid(qid)
        judgments = Judgments.of(y, groups, weight)
        found = balance_of(judgments, Pairs(balanced=True, adjacent=adjacent))
        for query in set(qid.tolist()):
            rows = qid == query
            levels = sorted(set(y[rows].tolist()))
            total = {level: weight[rows & (y == level)].sum() for level in levels}
            pairs = (
                [*pairwise(levels)]
                if adjacent
                else [(a, b) for a in levels for b in levels if a < b]
            )
            products = [total[a] * total[b] for a, b in pairs]
            n_pairs = sum(product > 0 for product in products)
            for level in levels:
                has_weight = n_pairs > 0 and total[level] > 0
                expected = np.sqrt(sum(products) / n_pairs) / total[level] if has_weight else 1.0
                np.testing.assert_allclose(found[rows & (y == level)], expected)


def test_pairs_are_counted_as_in_plain_python():
    rng = np.random.default_rng(0)
    for ties in (False, True):
        for _ in range(20):
            n = int(rng.integers(1, 9))
            y, qid = rng.integers(0, 3, n) + 0.0, rng.integers(0, 2, n)
            problem = make_objective(y, qid, pairs=Pairs(ties=ties))
            same = [(i, j) for i in range(n) for j in range(n) if qid[i] == qid[j]]
            expected = sum(y[i] > y[j] for i, j in same) + (len(same) if ties else 0)
            assert problem.n_pairs == expected


def test_discounts_are_those_of_the_papers_up_to_k():
    y, qid = [2, 1, 0, 0], [1, 1, 1, 1]
    for k, kept in ((None, 4), (4, 4), (3, 3), (1, 1)):
        objective = make_objective(y, qid, weight="ndcg", k=k)
        ranks = np.arange(1, 5)
        for name, values in (("ndcg", 1 / np.log2(1 + ranks)), ("err", 1 / ranks)):
            expected = np.where(ranks <= kept, values, 0)
            assert objective.discounts(name, 4).tolist() == expected.tolist()
        assert objective.discounts("err", 0).tolist() == [1.0]


@pytest.mark.parametrize(("label", "is_warned"), [(18, False), (19, True)])
def test_labels_from_19_on_dominate_by_their_exponential_gain(label, is_warned):
    message = warned(make_objective, [0, label], [1, 1], weight="ndcg")
    assert (f"y reaches {label}, of gain 2^{label} - 1" in message) is is_warned
    assert warned(make_objective, [0, label], [1, 1], weight="ndcg", gain="linear") == ""
    assert warned(make_objective, [0, label], [1, 1], weight="uniform") == ""


def test_gains_of_lists_and_chains_of_probabilities_hold_their_ends():
    below = float(np.nextafter(1000, 0))
    assert refusal(make_objective, [0, below], [1, 1], loss="approx_ndcg") == ""
    for wrong in (-TINY, 1000.0):
        message = refusal(make_objective, [1, wrong], [1, 1], loss="approx_ndcg")
        assert "y must be at least 0 and below 1000 for gains 2^y" in message
    assert chained_probabilities([0.0, 0.5])[0].tolist() == [0.5, 0.0, 0.0]
    assert chained_probabilities([1.0, 1.0])[0].tolist() == [0.5, 1.0, 1.0]
    for wrong in (-TINY, float(np.nextafter(1, 2))):
        message = refusal(chained_probabilities, [0.5, wrong])
        assert "neighbors must be probabilities from 0 to 1" in message
    message = refusal(chained_probabilities, [0.0, 1.0])
    assert "neighbors must not be certain of both orders" in message


def test_gains_must_not_fall_from_label_to_label():
    for gain in ([0, 1, 1], [0, 0, 5], [3, 3, 3]):
        assert refusal(make_objective, [0, 1, 2], [1, 1, 1], weight="ndcg", gain=gain) == ""
    message = refusal(make_objective, [0, 1, 2], [1, 1, 1], weight="ndcg", gain=[0, 2, 1])
    assert "gain must not fall from a label to the next one; that of label 2 is lower" in message
    assert refusal(make_objective, [0, 1, 2], [1, 1, 1], weight="uniform", gain=[0, 2, 1]) == ""


def test_a_term_of_factor_0_is_not_counted():
    y, qid = np.array([1.0, 0, 1, 0]), [1, 1, 2, 2]
    logistic = make_objective(y, qid, loss="logistic", sigma=2.0)
    other = make_objective(y, qid, loss="logistic", sigma=3.0)
    nothing = make_objective(np.zeros(4), qid)
    assert weighted_sum([logistic, other], [1, 0]).steepness == logistic.steepness == 2.0
    assert weighted_sum([logistic, other], [1, 1]).steepness == 1.0
    assert weighted_sum([logistic, other], [1, 1e-9]).steepness == 1.0
    assert not weighted_sum([logistic, nothing], [0, 1]).has_anything_to_learn()
    assert weighted_sum([logistic, nothing], [0.5, 0]).has_anything_to_learn()
    scores = np.array([0.3, -0.2, 0.1, 0.4])
    value, gradient, hessian = weighted_sum([logistic, other], [2, 0.5])(scores)
    parts = [term(scores) for term in (logistic, other)]
    assert value == 2 * parts[0][0] + 0.5 * parts[1][0]
    for found, first, second in zip((gradient, hessian), parts[0][1:], parts[1][1:], strict=True):
        np.testing.assert_array_equal(found, 2 * first + 0.5 * second)
    assert "factor must be a finite number of at least 0" in refusal(
        weighted_sum, [logistic, other], [1, -1e-9]
    )


@pytest.mark.parametrize("batch_size", [1, 2, 3, 4, 5, 100])
def test_batches_hold_every_row_once_and_cut_only_queries_that_are_too_long(batch_size):
    qid = np.repeat([0, 1, 2, 3], [4, 1, 3, 2])
    batches = [*deal(QueryGroups.from_qid(qid), batch_size, np.random.default_rng(0))]
    assert sorted(np.concatenate(batches).tolist()) == list(range(10))
    assert all(0 < len(batch) <= batch_size for batch in batches)
    for query, n_rows in enumerate([4, 1, 3, 2]):
        pieces = [np.sum(qid[batch] == query) for batch in batches]
        pieces = [piece for piece in pieces if piece]
        if batch_size < 100:
            assert max(pieces) - min(pieces) <= 1 or n_rows <= batch_size
        assert len(pieces) <= -(-n_rows // batch_size)
    assert len(batches) >= -(-10 // batch_size)
    if batch_size == 100:
        assert len(batches) == 1
    if batch_size == 5:
        assert len(batches) <= 3


def test_the_weight_of_a_query_in_score_is_the_mean_of_its_judged_documents():
    X = np.array([[3.0], [2], [1], [3], [2], [1]])
    y = np.array([0.0, 1, np.nan, 1, 0, np.nan])
    qid, weight = [0, 0, 0, 1, 1, 1], np.array([1.0, 3, 50, 5, 7, 90])
    ranker = ColumnRanker(0).fit(X, y, qid)
    value = np.array([1 / np.log2(3), 1.0])  # of the first query, the relevant one is second
    assert ranker.score(X, y, qid, sample_weight=weight) == pytest.approx(
        np.average(value, weights=[2, 6])
    )
    one = np.array([1.0, np.nan, np.nan, 1, 0, np.nan])  # a single judged document
    assert ranker.score(X, one, qid, sample_weight=weight) == 1.0
    mixed = np.array([0.0, 1, np.nan, np.nan, np.nan, 1.0])
    weighed = ranker.score(X, mixed, qid, sample_weight=weight)
    assert weighed == pytest.approx(np.average([1 / np.log2(3), 1], weights=[2, 90]))


@pytest.mark.parametrize("names", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_a_frame_of_one_column_is_one_label_and_of_more_are_several(names):
    frame = pd.DataFrame({name: [1.0, 0.0] for name in names})
    labels, columns = split_labels(frame), split_labels(frame.to_numpy())
    if len(names) == 1:
        assert labels is columns is None
    else:
        assert [*labels] == names
        assert [*columns] == [str(n) for n in range(len(names))]
    assert split_labels(np.zeros(3)) is None


def test_interactions_of_one_feature_that_differs_are_its_part():
    def parts(A, B):
        return np.atleast_2d(A) ** 2 - np.atleast_2d(B) ** 2

    for b, expected in (
        ([1.0, 2.0], np.diag([3.0, 0.0])),
        ([1.0, 1.0], np.diag([3.0, 3.0])),
        ([2.0, 2.0], np.zeros((2, 2))),
    ):
        found = interactions_of(parts, np.array([2.0, 2.0]), np.array(b))
        np.testing.assert_array_equal(found, expected)
