import re
import warnings
from datetime import date, datetime, time, timedelta
from types import SimpleNamespace

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from treerank import TreeDirectRanker
from treerank.baselines import RankSVM
from treerank.documents.columns import Columns, TableValues, as_frame, warn_of_names
from treerank.documents.features import check_features
from treerank.rankers.nested_ranker import NestedRanker

NUMBERS = {"price": [9.5, 7.0, np.nan], "stock": [3, 0, 1], "sale": [True, False, True]}
COLORS = ["red", None, "blue"]
DAY = pd.to_datetime(["2020-01-01"])

TEXT_COLUMNS = {
    "pandas str": pd.Series(COLORS, dtype="str"),
    "pandas string": pd.Series(COLORS, dtype="string"),
    "pandas category of string": pd.Series(COLORS, dtype="string").astype("category"),
    "pandas object": pd.Series(COLORS, dtype=object),
    "pandas category": pd.Series(COLORS, dtype=pd.CategoricalDtype(["red", "blue", "gray"])),
    "polars String": pl.Series("color", COLORS),
    "polars Categorical": pl.Series("color", COLORS, dtype=pl.Categorical),
    "polars Enum": pl.Series("color", COLORS, dtype=pl.Enum(["red", "gray", "blue"])),
}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_numbers_and_booleans_are_numbers(frame):
    table = frame(NUMBERS)
    expected = [[9.5, 3, 1], [7, 0, 0], [np.nan, 1, 1]]
    np.testing.assert_array_equal(Columns.of(table).numbers(table), expected)
    assert Columns.of(table).categories == {}


@pytest.mark.parametrize("column", TEXT_COLUMNS.values(), ids=TEXT_COLUMNS)
def test_text_becomes_its_place_among_the_sorted_categories_of_fit(column):
    frame = pd.DataFrame if isinstance(column, pd.Series) else pl.DataFrame
    table = frame({"price": NUMBERS["price"], "color": column})
    columns = Columns.of(table)
    assert columns.categories == {1: ["blue", "red"]}
    np.testing.assert_array_equal(columns.numbers(table)[:, 1], [1, np.nan, 0])
    assert Columns.of(table[::-1]) == columns
    never_seen = Columns({1: ["blue"]}).numbers(table)[:, 1]
    np.testing.assert_array_equal(never_seen, [np.nan, np.nan, 0])


def test_categories_may_be_numbers_and_mixed():
    values = {"size": pd.Categorical([12, 3, 12]), "any": pd.Categorical(["b", 1, "a"])}
    columns = Columns.of(table := pd.DataFrame(values))
    assert columns.categories == {0: [3, 12], 1: [1, "a", "b"]}
    np.testing.assert_array_equal(columns.numbers(table), [[1, 2], [0, 0], [1, 1]])


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        ([np.float32, np.float32], np.float32),
        ([np.float32, np.int16], np.float32),
        ([np.float32, np.int32], np.float64),
        ([np.int8, np.int8], np.float64),
        ([np.float64, np.float32], np.float64),
    ],
)
def test_float32_is_kept_where_it_is_exact(dtypes, expected):
    table = pd.DataFrame({str(i): np.ones(2, dtype) for i, dtype in enumerate(dtypes)})
    assert Columns().numbers(table).dtype == expected
    assert Columns().numbers(pl.from_pandas(table)).dtype == expected


def test_a_frame_of_one_float_type_is_not_copied():
    values = np.arange(6.0).reshape(3, 2)
    table = pd.DataFrame(values, columns=["a", "b"], copy=False)
    assert np.shares_memory(Columns().numbers(table), values)


def test_the_missing_values_of_nullable_types_are_nan():
    table = pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": pd.array([None, 2.5], "Float64")})
    expected = [[1, np.nan], [np.nan, 2.5]]
    np.testing.assert_array_equal(Columns().numbers(table), expected)
    np.testing.assert_array_equal(Columns().numbers(table[["b"]]), [[np.nan], [2.5]])
    table = pl.DataFrame({"a": [1, None], "b": [None, 2.5]})
    np.testing.assert_array_equal(Columns().numbers(table), expected)


@pytest.mark.parametrize("X", [np.ones((2, 1)), [[1.0], [2.0]], "text", None])
def test_what_is_no_frame_passes_untouched(X):
    assert Columns.of(X).numbers(X) is X


@pytest.mark.parametrize("values", [[None, None], [np.nan, np.nan], pl.Series([None, None])])
def test_a_column_without_values_is_missing_whatever_its_type(values):
    table = (pl.DataFrame if isinstance(values, pl.Series) else pd.DataFrame)({"a": values})
    for columns in (Columns(), Columns({0: ["u"]})):
        np.testing.assert_array_equal(columns.numbers(table), [[np.nan], [np.nan]])


def test_objects_that_are_numbers_are_numbers_and_so_may_be_names():
    table = pd.DataFrame({7: pd.Series([1, None, 2.5, pd.NA], dtype=object)})
    expected = [1, np.nan, 2.5, np.nan]
    np.testing.assert_array_equal(Columns.of(table).numbers(table)[:, 0], expected)


@pytest.mark.parametrize(
    ("columns", "table", "message"),
    [
        (Columns(), {"day": DAY}, "'day' of X must hold numbers, text or categories; .* as days"),
        (
            Columns(),
            {"big": pd.Series([10**400], dtype=object)},
            "Column 'big' of X must hold numbers",
        ),
        (Columns(), {"bag": [{}]}, "Column 'bag' of X must hold numbers"),
        (Columns(), {"bag": [[1], [2]]}, "Column 'bag' of X must hold numbers"),
        (Columns(), {"a": ["text"]}, "Column 'a' of X must hold numbers, as in fit"),
        (Columns({0: ["u"]}), {"a": [1.0]}, "Column 'a' of X must hold categories, as in fit"),
    ],
)
def test_a_column_of_another_kind_is_named(columns, table, message):
    with pytest.raises(TypeError, match=message):
        columns.numbers(pd.DataFrame(table))


def test_categories_of_other_kinds_are_refused():
    with pytest.raises(TypeError, match="Categories of column 'when' of X must be text or numbers"):
        Columns.of(pd.DataFrame({"when": pd.Categorical(DAY)}))


DATES = [
    *(
        "20260501",
        "2026-05-01",
        "2026/5/1",
        "2026-05-01T12:30",
        "2026-05-01 12:30:00.5+02:00",
        "01/05/2026",
    ),
    *("20260501T123000Z", "12/31/26 11:59 PM", "31.12.2026", "Fri, 01 May 2026 12:30:00 GMT"),
    *("01-May-26", "May 1, 2026", "2026-05", "2026-W18", "2026-Q2", "12:30", "12:30:59", "1:05 am"),
]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("date", DATES)
def test_dates_and_times_as_text_are_refused_with_a_remedy(kind, date):
    table = kind({"price": [1.0, 2.0, 3.0], "day": [date, None, date]})
    rule = f"Column 'day' of X must be numbers, not dates or times as text; got '{re.escape(date)}'"
    with pytest.raises(
        ValueError, match=rf"{rule}\. Encode it .* days .* or give it a categorical"
    ):
        Columns.of(table)


def test_dates_are_refused_before_training_and_categories_that_look_so_are_taken():
    days = pd.date_range("2026-01-01", periods=60).strftime("%Y-%m-%d")
    frame = pd.DataFrame({"price": np.arange(60.0), "day": days})
    with pytest.raises(ValueError, match="'day' of X must be numbers, not dates"):
        TreeDirectRanker().fit(frame, np.arange(60) % 3, np.arange(60) // 10)
    assert Columns.of(frame.astype({"day": "category"})).categories == {1: list(days)}


def test_a_few_other_texts_among_dates_and_a_few_dates_among_others_do_not_matter():
    dates = ["2026-05-01", "2026-05-02", "2026-05-03"]
    with pytest.raises(ValueError, match=r"'day' of X must be numbers, not dates .* '2026-05-01'"):
        Columns.of(pd.DataFrame({"day": [*dates, "not yet", "unknown"]}))
    for others in ([*dates, "a", "b", "c"], [*dates, "a", "b", "c", "d"]):
        assert Columns.of(pd.DataFrame({"name": others})).categories == {0: others}


@pytest.mark.parametrize(
    "texts", [["1.2.3", "1.2.34"], ["16:9", "4:3"], ["10-20-30"], ["3/4"], ["May"], ["1-800-555"]]
)
def test_other_texts_with_digits_are_categories(texts):
    assert Columns.of(pd.DataFrame({"a": texts})).categories == {0: texts}


def series(kind, values, dtype=None):
    """Return a table of one column, of strings or of another type."""
    if kind is pd.DataFrame:
        return pd.DataFrame({"a": pd.Series(values, dtype=dtype or object)})
    if kind is pa.table:
        return pa.table({"a": pa.array(values).dictionary_encode() if dtype else pa.array(values)})
    return pl.DataFrame({"a": pl.Series(values, dtype=dtype or pl.String)})


def advised(X, message):
    """Do what a message says to write for a data frame."""
    statement = re.search(r"(X(\['a'\])? = .*\))(\.?$|\. If| makes)", message)[1]
    names = {"X": X.copy() if isinstance(X, pd.DataFrame) else X, "pd": pd, "pl": pl}
    exec(statement, names)
    return names["X"]


#: Texts of numbers, the one that is named, and the numbers that they are.
NUMBER_TEXTS = [
    (["1,000", "2,500.5", "3"], "1,000", [1000, 2500.5, 3]),
    (["12.50", "9.75", "100"], "12.50", [12.5, 9.75, 100]),
    (["5%", "12%", "100%"], "100%", [5, 12, 100]),
    (["$5", "$6.50", "$1,000"], "$1,000", [5, 6.5, 1000]),
    (["1.234,5", "7,25", "3"], "1.234,5", [1234.5, 7.25, 3]),
    (["1,5", "2.5", "3"], "1,5", [1.5, 2.5, 3]),
    (["1 000", "2 500", "3"], "1 000", [1000, 2500, 3]),
    (["(5)", "6", "\N{MINUS SIGN}2"], "(5)", [-5, 6, -2]),
    ([r"\N", "1.5", "2"], "1.5", [np.nan, 1.5, 2]),
    (["1e-3", "2", "#DIV/0!"], "1e-3", [0.001, 2, np.nan]),
]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(("texts", "example", "numbers"), NUMBER_TEXTS)
def test_numbers_as_text_are_refused_with_what_makes_numbers_of_them(kind, texts, example, numbers):
    X = series(kind, texts)
    rule = f"Column 'a' of X must be numbers, not numbers as text; got '{re.escape(example)}'"
    with pytest.raises(ValueError, match=f"{rule}. Make numbers of it: .* categorical") as caught:
        Columns.of(X)
    table = advised(X, str(caught.value))
    columns = Columns.of(table)
    np.testing.assert_array_equal(columns.numbers(table)[:, 0], numbers)
    assert columns.categories == {}
    with pytest.raises(TypeError, match="must hold numbers, as in fit; got String") as caught:
        columns.numbers(X)  # of a frame to rank, which was read again
    np.testing.assert_array_equal(columns.numbers(advised(X, str(caught.value)))[:, 0], numbers)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("dtype", [None, "category"])
@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1,000", "2.5"], [1000, 2.5]),
        (["2026-01-03", "2026-01-04"], [20456, 20457]),
        (["2026-01-03T06:00:00Z", "2026-01-04T12:00:00Z"], [20456.25, 20457.5]),
        (["x", "y"], None),
        (["01.02.2026", "13.02.2026"], None),
    ],
)
def test_text_where_fit_had_numbers_is_answered_by_numbers_or_a_new_fit(
    kind, dtype, texts, numbers
):
    X = series(kind, texts, pl.Categorical if dtype and kind is pl.DataFrame else dtype)
    with pytest.raises(TypeError, match="'a' of X must hold numbers, as in fit") as caught:
        Columns().numbers(X)
    if numbers is None:
        assert re.search("fit a new model|numbers of it that fit had", str(caught.value))
        assert "Make it text" not in str(caught.value)
    else:
        X = advised(X, str(caught.value))
        np.testing.assert_array_equal(Columns().numbers(X)[:, 0], numbers)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_numbers_where_fit_had_text_become_text(kind):
    """As of a CSV file of new rows, in which all sizes are numbers."""
    columns, X = Columns({0: ["38", "39", "M"]}), kind({"a": [39, 38]})
    with pytest.raises(TypeError, match="'a' of X must hold categories, as in fit") as caught:
        columns.numbers(X)
    np.testing.assert_array_equal(columns.numbers(advised(X, str(caught.value)))[:, 0], [1, 0])
    X = kind({"a": [38.0, None]})  # "38.0" is no category
    with pytest.raises(TypeError, match="'a' of X must hold categories, as in fit") as caught:
        columns.numbers(X)
    np.testing.assert_array_equal(columns.numbers(advised(X, str(caught.value)))[:, 0], [0, np.nan])
    with pytest.raises(TypeError, match=r"The categories of fit are \['38', '39', 'M'\]"):
        columns.numbers(kind({"a": [38.5, None]}))


def test_categories_of_numbers_where_fit_had_numbers_become_numbers():
    X = pd.DataFrame({"a": pd.Categorical([2.5, None, 1.0])})
    with pytest.raises(TypeError, match="'a' of X must hold numbers, as in fit") as caught:
        Columns().numbers(X)
    np.testing.assert_array_equal(
        Columns().numbers(advised(X, str(caught.value)))[:, 0], [2.5, np.nan, 1]
    )


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["281", "77", "5"], "text such as '281'"),
        (["1.5", "2", "3", "1.5kg"], "text such as '1.5', beside '1.5kg'"),
        (["36", "38", "40", "M"], "text such as '36', beside 'M'"),
        (["64 GB", "128 GB", "256 GB"], "text such as '128 GB', beside '256 GB'.* Make numbers"),
        (["1.5 kg", "800 g", "2 kg"], "text such as '1.5 kg', .* of one unit .* g, kg"),
    ],
)
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_numbers_that_may_be_categories_are_warned_of(kind, texts, said):
    X = series(kind, texts)
    with pytest.warns(UserWarning, match=f"Column 'a' of X becomes a category.* {said}"):
        assert Columns.of(X).categories == {0: sorted(texts)}
    dtype = pl.Categorical if kind is pl.DataFrame else "category"
    assert Columns.of(series(kind, texts, dtype)).categories == {0: sorted(texts)}


MEASURES = {
    "5kg": (lambda i: f"{i}kg", lambda i: i),
    "1,000 m": (lambda i: f"{1000 + i:,} m", lambda i: 1000 + i),
    "2.5 m\N{SUPERSCRIPT TWO}": (lambda i: f"{i / 2} m\N{SUPERSCRIPT TWO}", lambda i: i / 2),
    "missing": (lambda i: "n/a" if i == 0 else f"-{i} dB", lambda i: -i if i else np.nan),
}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("written", MEASURES)
def test_many_numbers_with_units_are_refused_with_what_makes_numbers_of_them(kind, written):
    text_of, number_of = MEASURES[written]
    X = series(kind, [text_of(i) for i in range(30)])
    rule = "Column 'a' of X must be numbers, not numbers with units as text, each of which"
    with pytest.raises(ValueError, match=f"{rule}.*; got '.*' and '.*'. Make numbers") as caught:
        Columns.of(X)
    first, second = re.search("got '(.*)' and '(.*)'. Make", str(caught.value)).groups()
    assert first != second
    table = advised(X, str(caught.value))
    expected = [number_of(i) for i in range(30)]
    np.testing.assert_array_equal(Columns.of(table).numbers(table)[:, 0], expected)


@pytest.mark.filterwarnings("ignore:Column 'a' of X becomes a category")
def test_numbers_with_units_that_come_back_are_categories():
    X = series(pd.DataFrame, [f"{i} kg" for i in range(25)] * 3)
    assert len(Columns.of(X).categories[0]) == 25


@pytest.mark.parametrize(
    "texts", [["02139", "10001", "90210"], ["0", "1"], ["2WD", "4WD"], ["4th", "5th", "6th"]]
)
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_codes_and_flags_are_categories(kind, texts):
    assert Columns.of(series(kind, texts)).categories == {0: sorted(texts)}


def test_numbers_as_text_beside_other_columns_are_refused_before_training():
    prices = [f"{price:,}" for price in range(900, 1500, 10)]
    frame = pd.DataFrame({"color": ["red", "blue"] * 30, "stock": np.arange(60), "price": prices})
    y, qid = np.arange(60) % 3, np.arange(60) // 10
    for ranker in (TreeDirectRanker(), NestedRanker(TreeDirectRanker("linear"), sizes=(5,))):
        with pytest.raises(ValueError, match="'price' of X must be numbers, not numbers as text"):
            ranker.fit(frame, y, qid)
    codes = frame.astype({"price": "category"})
    ranker = TreeDirectRanker("linear", random_state=0).fit(codes, y, qid)
    np.testing.assert_array_equal(ranker.predict(frame), ranker.predict(codes))
    with pytest.raises(
        TypeError, match=r"must hold categories, .* Write X\['price'\] = .*astype\('str'\)"
    ):
        ranker.predict(frame.assign(price=np.arange(60)))


#: Sizes of another kind than the categories of fit, which are text or numbers.
OTHER_KINDS = {
    "objects of ints": (pd.DataFrame, pd.Series([36, None, 38], dtype=object)),
    "objects of floats": (pd.DataFrame, pd.Series([36.0, None, 38.0], dtype=object)),
    "categories of ints": (pd.DataFrame, pd.Series(pd.Categorical([36, None, 38]))),
    "floats": (pd.DataFrame, pd.Series([36.0, None, 38.0])),
    "bytes": (pd.DataFrame, pd.Series([b"36", None, b"38"])),
    "categories of bytes": (pd.DataFrame, pd.Series(pd.Categorical([b"36", None, b"38"]))),
    "ints of polars": (pl.DataFrame, [36, None, 38]),
    "floats of polars": (pl.DataFrame, [36.0, None, 38.0]),
    "bytes of polars": (pl.DataFrame, [b"36", None, b"38"]),
    "ints of Arrow": (pa.table, [36, None, 38]),
    "bytes of Arrow": (pa.table, [b"36", None, b"38"]),
    "dictionary of Arrow": (pa.table, pa.array([b"36", None, b"38"]).dictionary_encode()),
    "text": (pd.DataFrame, pd.Series(["36", None, "38"])),
    "categories of text": (pd.DataFrame, pd.Series(["36", None, "38"], dtype="category")),
}


@pytest.mark.parametrize(
    ("kind", "levels"),
    [(kind, ["36", "38"]) for kind in OTHER_KINDS if "text" not in kind]
    + [(kind, [36, 38]) for kind in ("text", "categories of text", "floats")],
)
def test_categories_of_another_kind_than_in_fit_are_refused_with_what_makes_them(kind, levels):
    frame, sizes = OTHER_KINDS[kind]
    columns, X = Columns({0: levels}), frame({"size": sizes})
    with pytest.raises(TypeError, match="'size' of X must hold categories, as in fit") as caught:
        columns.numbers(X)
    written = re.search(r"Write (.*?)\.(?= categories=|$)", str(caught.value)).group(1)
    scope = {"X": X, "pd": pd, "pl": pl}
    exec(written, scope)
    np.testing.assert_array_equal(columns.numbers(scope["X"]), [[0], [np.nan], [1]])


def test_categories_of_another_kind_that_no_code_makes_are_listed():
    for sizes in (pd.Categorical([date(2026, 5, 1)]), pd.Series([36.5], dtype=object)):
        with pytest.raises(TypeError, match=r"The categories of fit are \['36', '38'\]"):
            Columns({0: ["36", "38"]}).numbers(pd.DataFrame({"size": sizes}))


@pytest.mark.parametrize("values", [["40", None], ["40", 36], pd.Categorical(["40", None])])
def test_new_categories_of_the_kind_of_fit_are_missing(values):
    X = pd.DataFrame({"size": values})
    for levels in (["36", "38"], []):
        np.testing.assert_array_equal(Columns({0: levels}).numbers(X), [[np.nan], [np.nan]])


DAYS = [date(2026, 5, 1), None, date(2026, 5, 3)]
#: Columns that are no numbers, by a word of their type, and the numbers that they become.
NO_NUMBERS = {
    "period": (pd.DataFrame, pd.Series(pd.PeriodIndex(DAYS, freq="D")), [20574, np.nan, 20576]),
    "date": (pd.DataFrame, pd.Series(DAYS, dtype=object), [20574, np.nan, 20576]),
    "datetime64": (
        pd.DataFrame,
        pd.Series([np.datetime64("2026-05-01"), None], dtype=object),
        [20574, np.nan],
    ),
    "Datetime": (pd.DataFrame, pd.to_datetime(pd.Series(DAYS)), [20574, np.nan, 20576]),
    "zone": (
        pd.DataFrame,
        pd.Series(pd.to_datetime(DAYS)).dt.tz_localize("UTC"),
        [20574, np.nan, 20576],
    ),
    "Duration": (pd.DataFrame, pd.Series(pd.to_timedelta(["36h", None])), [1.5, np.nan]),
    "time": (pd.DataFrame, pd.Series([time(6, 30), None], dtype=object), [6.5, np.nan]),
    "interval": (pd.DataFrame, pd.Series(pd.interval_range(0, 2)), [0, 1]),
    "Sparse": (pd.DataFrame, pd.Series(pd.arrays.SparseArray([0, 2])), [0, 2]),
    "arrow date32": (pa.table, pa.array(DAYS), [20574, np.nan, 20576]),
    "arrow Duration": (pa.table, pa.array([timedelta(hours=36), None]), [1.5, np.nan]),
    "polars Date": (pl.DataFrame, pl.Series(DAYS), [20574, np.nan, 20576]),
    "polars Datetime": (
        pl.DataFrame,
        pl.Series([datetime(2026, 5, 1, 12), None]),
        [20574.5, np.nan],
    ),
    "polars Time": (pl.DataFrame, pl.Series([time(6, 30), None]), [6.5, np.nan]),
    "polars Duration": (pl.DataFrame, pl.Series([timedelta(hours=36), None]), [1.5, np.nan]),
}


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_what_is_no_number_is_refused_with_what_makes_numbers_of_it(name):
    kind, column, numbers = NO_NUMBERS[name]
    X = kind({"a": column})
    with pytest.raises(TypeError, match="Column 'a' of X must hold numbers, text or cat") as caught:
        Columns.of(X).numbers(X)
    assert name.split()[-1] in str(caught.value) or name in ("zone", "arrow date32")
    np.testing.assert_array_equal(Columns().numbers(advised(X, str(caught.value)))[:, 0], numbers)


def test_text_among_numbers_is_refused_with_what_makes_one_kind_of_it():
    X = pd.DataFrame({"a": ["1,000", 5, None]})
    with pytest.raises(TypeError, match="got objects such as '1,000'") as caught:
        Columns.of(X).numbers(X)
    numbers = Columns().numbers(advised(X, str(caught.value)))
    np.testing.assert_array_equal(numbers[:, 0], [1000, 5, np.nan])
    X = pd.DataFrame({"a": ["red", 5, None]})
    with pytest.raises(TypeError, match="Make it text, and so categories") as caught:
        Columns.of(X).numbers(X)
    assert Columns.of(advised(X, str(caught.value))).categories == {0: ["5", "red"]}
    periods = pd.DataFrame({"a": pd.PeriodIndex(["2026-05", None], freq="M").astype("category")})
    with pytest.raises(TypeError, match=r"got Period\('2026-05', 'M'\)") as caught:
        Columns.of(periods)
    assert Columns.of(advised(periods, str(caught.value))).categories == {0: ["2026-05"]}


def text_frame(kind, n_rows, n_values):
    titles = [f"title {row % n_values}" for row in range(n_rows)]
    return kind({"price": np.zeros(n_rows), "title": titles})


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(("n_rows", "n_values"), [(599, 300), (257, 257)])
def test_text_that_is_hardly_ever_repeated_is_refused_with_a_remedy(kind, n_rows, n_values):
    rule = rf"Column 'title' .* got {n_values} distinct values in {n_rows} rows"
    with pytest.raises(ValueError, match=rule) as e:
        Columns.of(text_frame(kind, n_rows, n_values))
    for remedy in (
        "if it holds ids or texts; predict may",
        "encode it as numbers",
        "give it a categorical dtype",
    ):
        assert remedy in str(e.value)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(("n_rows", "n_values"), [(600, 300), (256, 256), (5000, 2000)])
def test_text_that_is_repeated_or_short_is_categories(kind, n_rows, n_values):
    categories = Columns.of(text_frame(kind, n_rows, n_values)).categories
    assert [len(values) for values in categories.values()] == [n_values]


@pytest.mark.parametrize("dtype", [pd.CategoricalDtype(), pl.Categorical, pl.Enum])
def test_a_categorical_dtype_insists_on_many_categories(dtype):
    titles = [f"title {row}" for row in range(300)]
    if isinstance(dtype, pd.CategoricalDtype):
        table = pd.DataFrame({"title": pd.Series(titles, dtype=dtype)})
    else:
        kind = pl.Enum(titles) if dtype is pl.Enum else dtype
        table = pl.DataFrame({"title": pl.Series(titles, dtype=kind)})
    assert Columns.of(table).categories == {0: sorted(titles)}


def test_many_new_texts_are_missing_in_predict():
    columns = Columns({1: ["title 1"]})
    codes = columns.numbers(text_frame(pd.DataFrame, 300, 300))[:, 1]
    assert np.flatnonzero(~np.isnan(codes)).tolist() == [1]


@pytest.mark.parametrize("X", [np.ones((2, 1)), [1.0], [["u"]], {"title": ["u"]}, 5])
def test_nothing_can_stand_in_for_a_frame_with_categories(X):
    fitted = SimpleNamespace(columns_=Columns({0: ["u"]}), n_features_in_=1)
    with pytest.raises(TypeError, match=r"X must be (an array or )?a data frame"):
        check_features(fitted, X)


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_columns_of_arrow_that_lie_apart_are_copied(n_columns):
    """Two are as far from each other as those of some matrix, whose strides end the process."""
    values = np.arange(4.0 * n_columns).reshape(4, n_columns)
    table = pa.table({f"c{i}": pa.array(values[:, i].copy()) for i in range(n_columns)})
    for rows in (slice(0, 4), slice(1, 3)):
        found = Columns().numbers(table.slice(rows.start, rows.stop - rows.start))
        np.testing.assert_array_equal(found, values[rows])
        assert max(map(abs, found.strides)) <= 32


@pytest.mark.parametrize("dtype", [pa.int64(), pa.uint64()])
def test_whole_numbers_that_a_double_rounds_are_the_same_in_every_frame(dtype):
    numbers = [2**62 + 1, None, *range(2**60, 2**60 + 30)]
    table = pa.table({"hash_id": pa.array(numbers, dtype), "price": np.arange(32.0)})
    expected = [np.nan if number is None else float(number) for number in numbers]
    for frame in (table, pl.from_arrow(table), table.to_pandas(types_mapper=pd.ArrowDtype)):
        np.testing.assert_array_equal(Columns.of(frame).numbers(frame)[:, 0], expected)
        warn_of_names(frame)  # most rows have equal numbers once they are rounded


def test_tables_of_several_parts_are_read_as_one_table():
    parts = [np.asfortranarray(np.arange(6.0).reshape(3, 2) + 10 * part) for part in range(2)]
    tables = [pa.table({"a": part[:, 0], "b": part[:, 1]}) for part in parts]
    table = pa.concat_tables(tables)  # each of its columns is in two pieces
    np.testing.assert_array_equal(Columns.of(table).numbers(table), np.vstack(parts))
    assert np.shares_memory(Columns.of(tables[0]).numbers(tables[0]), parts[0])


@pytest.mark.parametrize("name", ["clicks", "Click_Count", "CTR", "dwell_time", "position"])
def test_a_column_that_is_known_too_late_by_its_name_is_warned_of(name):
    frame = pd.DataFrame({"price": [1.0, 2.0, 3.0], name: [0.0, 1.0, 4.0]})
    with pytest.warns(UserWarning, match=f"'{name}' of X is a feature, though its name sugg"):
        TreeDirectRanker("linear", random_state=0).fit(frame, [0, 1, 2], [7, 7, 7])
    with warnings.catch_warnings(action="error"):
        earlier = frame.rename(columns={name: f"{name}_last_month"})
        TreeDirectRanker("linear", random_state=0).fit(earlier, [0, 1, 2], [7, 7, 7])


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_advice_to_leave_an_id_out_is_a_call_of_its_data_frame(kind):
    frame = kind({"price": [1.0, 2.0, 3.0], "doc_id": [7, 8, 9]})
    with pytest.warns(UserWarning, match="its name suggests that it is an id") as caught:
        warn_of_names(frame)
    call = re.search(r"as in (X\..*);", str(caught[0].message))[1]
    assert as_frame(eval(call, {"X": frame})).columns == ["price"]


@pytest.mark.parametrize("name", ["passage_id", "passageId", "PassageID", "chunk.id", "SKU Id"])
@pytest.mark.parametrize("kind", [np.int64, np.float64, "Int64"])
def test_a_number_of_each_row_is_an_id_by_its_name(name, kind):
    n = 60
    frame = pd.DataFrame({"price": np.arange(n) % 7.0, name: pd.array(np.arange(n) + 9, kind)})
    y, qid, ranker = np.arange(n) % 3, np.arange(n) // 10, TreeDirectRanker("linear")
    with pytest.warns(UserWarning, match=f"'{name}' of X is a feature, though its name .* an id"):
        ranker.fit(frame, y, qid)
    some_twice = np.where(np.arange(n) < 20, 0, np.arange(n))  # as of several questions
    with pytest.warns(UserWarning, match="its name suggests that it is an id"):
        ranker.fit(frame.assign(**{name: some_twice}), y, qid)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("bid", np.arange(60)),
        ("paid", np.arange(60)),
        ("covid", np.arange(60)),
        ("brand_id", np.arange(60) % 25),  # few values, which may tell something
        ("score_of_id", np.arange(60) + 0.5),
        ("age", np.arange(60)),
    ],
)
def test_numbers_that_are_no_ids_are_not_warned_of(name, values):
    frame = pd.DataFrame({"price": np.arange(60) % 7.0, name: values})
    with warnings.catch_warnings(action="error"):
        TreeDirectRanker("linear").fit(frame, np.arange(60) % 3, np.arange(60) // 10)


@pytest.mark.parametrize(("old", "new"), [("color", 0), (0, "color"), (0, 0), ("color", "color")])
def test_categories_keep_their_codes_by_position_where_a_side_has_no_names(old, new):
    earlier = Columns.of(pd.DataFrame({old: ["red", "green"]}))
    later = Columns.of(pd.DataFrame({new: ["red", "blue"]}), [earlier])
    assert later.categories == {0: ["green", "red", "blue"]}


def table_of(frame):
    """Return the names and values of a data frame whose rows two workers share."""
    halves = [TableValues(), TableValues()]
    for half, start in zip(halves, (0, len(frame) // 3), strict=True):
        half.add(nw.from_native(frame.iloc[start : len(frame) // 3 if start == 0 else None]))
    tables = [half.as_plain() for half in halves]
    for half in halves:
        half.join(tables)
    assert halves[0].as_plain() == halves[1].as_plain()
    return halves[0]


@pytest.mark.parametrize(("n_words", "n_rows"), [(300, 600), (301, 601), (301, 602), (257, 257)])
def test_free_text_of_several_workers_is_that_of_one(n_words, n_rows):
    words = [f"word {chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(n_words)]
    frame = pd.DataFrame({"title": [words[row % n_words] for row in range(n_rows)]})
    if n_words > n_rows / 2:
        rule = "must not be text of that many values"
        for read in (Columns.of, lambda frame: Columns.of_values(table_of(frame))):
            with pytest.raises(ValueError, match=rule):
                read(frame)
    else:
        assert Columns.of_values(table_of(frame)) == Columns.of(frame)


def test_categories_of_several_workers_are_those_of_one():
    days = pd.Series(["2026-01-02", "2026-01-01", "2026-01-03"] * 2).astype("category")
    frame = pd.DataFrame({"day": days, "price": np.arange(6.0), "color": ["red", "blue"] * 3})
    assert Columns.of_values(table_of(frame)) == Columns.of(frame)
    with pytest.raises(ValueError, match="must be numbers, not dates or times as text"):
        Columns.of_values(table_of(frame.assign(day=days.astype(str))))


@pytest.mark.parametrize(
    ("to_frame", "start"),
    [
        (pd.DataFrame, "Keep kinds = sorted(set(X['lang'].dropna()))"),
        (pl.DataFrame, "Keep kinds = sorted(X['lang'].drop_nulls().unique())"),
        (pa.table, "Write X = X.to_pandas(). Keep kinds = sorted(set(X['lang'].dropna()))"),
    ],
    ids=["pandas", "polars", "arrow"],
)
def test_advice_on_categories_is_of_the_program_of_the_data_frame(to_frame, start):
    X, y = to_frame({"price": [1.0, 2.0, 3.0], "lang": ["en", "de", None]}), [0, 1, 2]
    with pytest.raises(ValueError, match=re.escape(start)):
        RankSVM().fit(X, y)
    with pytest.warns(UserWarning, match=re.escape(start)):
        TreeDirectRanker("linear").fit(X, y)


def test_advice_for_polars_can_be_run():
    X = pl.DataFrame({"price": [1.0, 2.0, 3.0], "lang": ["en", "de", None]})
    with pytest.raises(ValueError, match="Keep kinds") as caught:
        RankSVM().fit(X, [0, 1, 2])
    kinds, frame = re.search(r"Keep kinds = (.*), write (.*): so", str(caught.value)).groups()
    later = pl.DataFrame({"price": [4.0], "lang": ["en"]})
    read = eval(f"lambda X, kinds: {frame}", {"pl": pl})
    kinds = eval(kinds, {"X": X})
    assert read(X, kinds).to_dict(as_series=False) == {
        "price": [1.0, 2.0, 3.0],
        "lang_de": [0.0, 1.0, 0.0],
        "lang_en": [1.0, 0.0, 0.0],
    }
    assert read(later, kinds).columns == ["price", "lang_de", "lang_en"]
