import re

import numpy as np
import pandas as pd
import pytest

from treerank import TreeDirectRanker
from treerank.baselines import RankSVM
from treerank.checks import naming
from treerank.display.tables import MOST_LINES
from treerank.rankers.explanation import ExplainedMargins

X = np.random.default_rng(0).normal(size=(60, 2))
Y, QID = (X @ [2.0, -1.0] > 0).astype(int), np.repeat([1, 2, 3], 20)
FRAME = pd.DataFrame(X, columns=["bm25", "price"])


@pytest.mark.parametrize(("data", "name"), [(FRAME, "bm25"), (X, "f0")])
def test_parts_have_names_and_a_sentence_for_each_pair(data, name):
    ranker = RankSVM().fit(data, Y, QID)
    assert str(ranker.explain(data[:1], data[:1])) == "A and B have equal scores."
    parts = ranker.explain(data[:2], data[2:4])
    assert list(parts.by_name()[0].values()) == sorted(parts[0].tolist(), key=abs, reverse=True)
    assert parts.sum(axis=1).shape == (2,)
    assert str(parts[0]) == str(parts).splitlines()[0]
    for sentence, row in zip(str(parts).splitlines(), np.asarray(parts), strict=True):
        assert sentence.startswith(f"A is {'above' if row.sum() > 0 else 'below'} B because of ")
        assert f"{name} {row[0]:+.3g}" in sentence


def test_a_notebook_shows_the_largest_parts_as_bars():
    frame = FRAME.rename(columns={"bm25": "<b>"})
    parts = RankSVM().fit(frame, Y, QID).explain(frame[:2], frame[2:4])
    shown = parts._repr_html_()
    assert shown.count("<table>") == 2
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    rows = re.findall(r"<td>([^<]*)</td><td [^>]*><div style='height:.8em;width:12.00em", shown)
    largest = [f"{row[np.abs(row).argmax()]:+.3g}" for row in np.asarray(parts)]
    assert rows == largest  # whose bars have the whole width
    assert parts[0, :1]._repr_html_() is None  # its columns have no names


def test_a_sentence_names_three_reasons_and_one_against_and_a_table_has_eight_bars():
    weights = np.array([5.0, -4, 3, 2, 1, 0.5, -0.25, 0.125, 0.0625])
    frame = pd.DataFrame(np.eye(9) * weights, columns=[*"abcdefghi"])
    parts = RankSVM().fit(frame, np.arange(9), np.zeros(9)).explain(frame[:1], frame[:1])
    parts[0] = weights
    reasons = "A is above B because of a +5, c +3, d +2, despite b -4."
    assert str(parts[0]) == reasons
    assert parts[0]._repr_html_().startswith(f"<p>{reasons}</p>")
    assert parts[0]._repr_html_().count("<tr>") == 8
    parts[0] = -weights
    assert str(parts[0]) == "A is below B because of a -5, c -3, d -2, despite b +4."


def test_the_difference_of_two_explanations_tells_no_order_of_documents():
    new, old = (
        ExplainedMargins.of(np.array(rows), ["a", "b"], ("the document", "the others"))
        for rows in ([[-1.0, 0.25], [1.0, 0.0]], [[-3.0, 0.5], [1.0, 0.0]])
    )
    moved = 2 * new - old
    assert moved.sentences() == [
        "Contributions add up to +1: a +1.",
        "Contributions add up to +1: a +1.",
    ]
    moved = new - old
    sentence = "Contributions add up to +1.75: a +2, despite b -0.25."
    assert moved.sentences() == [sentence, "Contributions add up to 0."]
    assert str(moved[0]) == sentence
    assert sentence in moved._repr_html_()
    assert (
        str(moved[:1].grouped({"both": ["a", "b"]})) == "Contributions add up to +1.75: both +1.75."
    )
    assert moved.chart().title == "sum: +1.75"
    # Of one explanation, it is that of the same documents.
    assert (
        str(-new[0] / 2) == "The document is above the others because of a +0.5, despite b -0.125."
    )
    share = -new / np.abs(new).sum(axis=1, keepdims=True)
    assert str(share[0]) == "The document is above the others because of a +0.8, despite b -0.2."
    assert moved.sum() == 1.75
    new -= old
    assert new.sentences() == [sentence, "Contributions add up to 0."]
    old *= 2
    assert str(old[1]) == "The document is above the others because of a +2."


def test_the_numbers_of_up_to_60_parts_are_all_shown():
    rows = np.vstack([X, X[:1]])
    parts = RankSVM().fit(X, Y, QID).explain(rows, -rows)[:, 0]
    shown = repr(parts[:60]).partition("(")[2].rstrip(")")
    np.testing.assert_allclose(np.fromstring(shown.strip("[]"), sep=","), parts[:60], rtol=1e-6)
    assert "..." in repr(parts)  # of 61


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        # The second one against it is larger than two of those for it.
        (
            [0.9, -0.5, 0.19, -0.33, 0.13],
            "because of a +0.9, c +0.19, e +0.13, despite b -0.5, d -0.33",
        ),
        ([0.9, -0.5, 0.19, -0.12, 0.13], "because of a +0.9, c +0.19, e +0.13, despite b -0.5"),
        ([0.9, 0.8, -0.1], "because of a +0.9, b +0.8, despite c -0.1"),
        (
            [3, -1, -0.5, -0.4, -0.3, -0.2, 0.1],
            "because of a +3, g +0.1, despite b -1, c -0.5, d -0.4",
        ),
    ],
)
def test_no_part_against_is_left_out_that_is_larger_than_a_named_one(weights, sentence):
    margins = ExplainedMargins.of(np.array([weights, weights]), [*"abcdefg"[: len(weights)]])
    assert margins.sentences() == [f"A is above B {sentence}."] * 2


def test_parts_of_groups_are_sums_and_an_embedding_stands_for_its_entries():
    rng = np.random.default_rng(0)
    frame = FRAME.assign(v=[*rng.normal(size=(60, 3))])
    ranker = TreeDirectRanker("histogram", random_state=0).fit(frame, Y, QID)
    parts = ranker.explain(frame[:5], frame[5:10])
    grouped = parts.grouped({"text": ["v"], "both": ["price", "bm25"]})
    assert grouped.names == ["text", "both"]
    values = np.asarray(parts)
    np.testing.assert_array_equal(grouped[:, 0], values[:, 2:].sum(axis=1))
    np.testing.assert_allclose(grouped.sum(axis=1), values.sum(axis=1), atol=1e-12)
    one = parts[0].grouped({"v": ["v"]})
    assert one.names == ["v", "bm25", "price"]
    assert one.tolist() == [values[0, 2:].sum(), values[0, 0], values[0, 1]]
    assert "v " in str(one)
    assert one.chart().names
    for wrong, message in [
        ({"v": ["w"]}, r"feature must be one of \['bm25', .*; got 'w'"),
        ({"a": ["v"], "b": ["v_1"]}, "groups must not share a feature"),
        ({"price": ["v"]}, "names that no other feature has; got 'price'"),
    ]:
        with pytest.raises(ValueError, match=message):
            parts.grouped(wrong)
    with pytest.raises(TypeError, match=r"groups\['v'\] must be a sequence"):
        parts.grouped({"v": "v"})


COLORED = FRAME.assign(color=np.where(Y > 0, "red", "blue"))


@pytest.mark.parametrize(
    ("data", "first", "sixth"),
    [
        (COLORED, COLORED.iloc[0], COLORED.iloc[5]),
        (X, X[0], X[5]),
        (X, list(X[0]), list(X[5])),
        (X, tuple(X[0]), tuple(X[5])),
    ],
    ids=["row of a frame", "array", "list", "tuple"],
)
def test_one_row_is_a_document(data, first, sixth):
    ranker = TreeDirectRanker("histogram", random_state=0).fit(data, Y, QID)
    for verb in (ranker.explain, ranker.compare, ranker.predict_pair_proba):
        np.testing.assert_array_equal(verb(first, sixth), verb(data[:1], data[5:6]))


def test_advice_is_never_cut():
    with pytest.raises(ValueError, match=r"^X_a: a{500} write this instead$"), naming("X_a"):
        raise ValueError("a" * 500 + " write this instead")


def test_a_plot_is_that_of_the_first_pair_and_its_ten_largest_parts():
    pytest.importorskip("matplotlib")
    values = np.array([np.arange(12.0, 0, -1), np.arange(-24.0, 0, 2)])
    parts = ExplainedMargins.of(values, [f"f{n}" for n in range(12)])
    for settings in ({}, {"pair": 1}, {"pair": 1, "most": 3}):
        axes = parts.plot(**settings)
        chart = parts.chart(**settings)
        assert chart.title in (axes.get_title(), axes.get_title(loc="left"))
        names = [text.get_text() for text in axes.get_yticklabels()]
        assert [name for name in chart.names if name not in names] == []
    assert parts.chart(pair=1).title != parts.chart().title
    assert parts.chart(pair=1, most=3).names == ("f0", "f1", "f2", "9 other features")


@pytest.mark.parametrize(
    ("n_rows", "is_shown"), [(1, True), (MOST_LINES, True), (MOST_LINES + 1, False)]
)
def test_as_many_rows_are_shown_as_a_text_may_have_lines(n_rows, is_shown):
    parts = ExplainedMargins.of(np.zeros((n_rows, 1)), ["a"])
    expected = f"ExplainedMargins of ({n_rows}, 1)"
    assert (repr(parts) != expected) == is_shown
    assert repr(parts[0, 0]) == repr(np.float64(0.0))


def test_parts_of_some_features_are_not_grouped():
    parts = ExplainedMargins.of(np.ones((2, 3)), ["a", "b", "c"])
    for some in (parts[:, :2], np.ones((2, 3)).view(ExplainedMargins), parts[0, 0:1]):
        with pytest.raises(ValueError, match="must have a column for each feature to be grouped"):
            some.grouped({"ab": ["a", "b"]})
