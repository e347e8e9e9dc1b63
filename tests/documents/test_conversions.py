"""What makes numbers of a column of text depends on which of its texts are numbers."""

import narwhals as nw
import pandas as pd
import pyarrow as pa
import pytest

from treerank.documents.conversions import text_conversion

NUMBERS = ["1", "2.5", "1,000"]
MEASURES = ["3 kg", "40 kg", "5.5 kg"]
WORDS = ["red", "blue", "green", "pink", "gray", "black"]
MADE = "Make numbers of it: X['a'] = "
TEXT = "Make it text, and so categories: X['a'] = X['a'].astype('string')."


def advice(n_numbers, n_measures, n_words, frame_of=pd.DataFrame):
    texts = NUMBERS[:n_numbers] + MEASURES[:n_measures] + WORDS[:n_words]
    frame = frame_of({"a": texts})
    return text_conversion(nw.from_native(frame)["a"], texts)


@pytest.mark.parametrize("n_numbers", range(4))
@pytest.mark.parametrize("n_measures", range(4))
@pytest.mark.parametrize("n_words", [0, 1, 2, 3, 6])
def test_the_advice_is_about_what_half_of_the_texts_are(n_numbers, n_measures, n_words):
    n = n_numbers + n_measures + n_words
    if n == 0:
        return
    found = advice(n_numbers, n_measures, n_words)
    if 2 * n_numbers >= n:
        assert found.startswith(f"{MADE}pd.to_numeric(")
        assert "[^0-9]+$" not in found
        assert ("errors='coerce'" in found) == (n_numbers < n)
    elif 2 * (n_numbers + n_measures) >= n:
        assert found.startswith(f"{MADE}pd.to_numeric(")
        assert ".str.replace('[^0-9]+$', '', regex=True)" in found
        assert ("errors='coerce'" in found) == (n_measures < n)
    else:
        assert found == TEXT


def test_tables_of_arrow_and_text_without_a_program_for_it():
    found = advice(0, 0, 3, lambda columns: pa.table(columns))
    assert found in (TEXT, "Make it numbers, or text, and so categories.") or "to_pandas" in found
    assert advice(3, 0, 0, lambda columns: pa.table(columns)).startswith(
        "Make numbers of it: X = X.to_pandas(); X['a'] = pd.to_numeric("
    )


def test_several_units_are_named():
    frame = nw.from_native(pd.DataFrame({"a": ["1 kg", "2 g", "3 kg"]}))["a"]
    expected = "Make numbers of one unit of it; got the units g, kg."
    assert text_conversion(frame, ["1 kg", "2 g", "3 kg"]) == expected


@pytest.mark.parametrize(
    ("texts", "numbers", "replaced"),
    [
        (["1,000", "2.5", "3"], [1000, 2.5, 3], ".str.replace(',', '')"),
        (
            ["1.234,5", "2.000,25"],
            [1234.5, 2000.25],
            ".str.replace('[.]', '', regex=True).str.replace(',', '.')",
        ),
        (["50 %", "20 %", "7.5 %"], [50, 20, 7.5], ".str.replace('[ %]', '', regex=True)"),
        (["1 000", "2 500,5"], [1000, 2500.5], ".str.replace(',', '.').str.replace(' ', '')"),
    ],
)
def test_what_is_advised_makes_numbers_of_texts(texts, numbers, replaced):
    X = pd.DataFrame({"a": texts})
    advised = text_conversion(nw.from_native(X)["a"], texts)
    assert advised == f"{MADE}pd.to_numeric(X['a']{replaced})."
    exec(advised.removeprefix("Make numbers of it: ")[:-1], {"X": X, "pd": pd})
    assert X["a"].tolist() == numbers
