import gzip
import os
import re
import warnings
from unittest.mock import ANY

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import SMALL, run

import treerank
from treerank.clicks import ClickLog
from treerank.datasets import Qrels
from treerank.datasets.formats import read_batches, read_ranking_data
from treerank.datasets.parquet import (
    read_csv,
    read_parquet,
    write_parquet,
    write_parquet_batches,
)
from treerank.datasets.parquet_files import column_names
from treerank.documents.ranking_data import RankingData

rng = np.random.default_rng(0)
N = 120
TABLE = pd.DataFrame(
    {
        "session": np.repeat([f"q{i}" for i in range(12)], 10),
        "clicks": rng.integers(0, 3, N),
        "sku": [f"item {i}" for i in range(N)],
        "bm25": np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N)),
        "color": rng.choice(["red", "blue"], N),
        "new": rng.random(N) < 0.5,
    }
)
COLUMNS = {"label": "clicks", "query": "session", "document": "sku"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The table as a file of each format."""
    folder = tmp_path_factory.mktemp("tables")
    TABLE.to_parquet(folder / "a.parquet")
    for name, sep in {"a.csv": ",", "a.csv.gz": ",", "a.tsv": "\t", "a.tsv.gz": "\t"}.items():
        TABLE.to_csv(folder / name, sep=sep, index=name == "a.csv")
    return folder


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv", "a.tsv.gz"])
def test_text_is_read_as_parquet_is(files, name):
    expected = read_parquet(files / "a.parquet", **COLUMNS)
    batches = read_batches(files / name, batch_size=50, **COLUMNS)
    for data in (read_csv(files / name, **COLUMNS), read_ranking_data(files / name, **COLUMNS)):
        pd.testing.assert_frame_equal(data.X.to_pandas(), expected.X.to_pandas())
        for part in ("y", "qid", "doc_ids"):
            np.testing.assert_array_equal(getattr(data, part), getattr(expected, part))
    assert np.concatenate([b.doc_ids for b in batches]).tolist() == TABLE["sku"].tolist()


def test_cells_may_end_at_semicolons_be_empty_in_many_words_and_have_decimal_commas(tmp_path):
    words = ["", "NA", "N/A", "NaN", "None", "null", "-", "?", "1.5"]
    lines = ["query;label;price;title", *(f"a;1;{word};x, y" for word in words)]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    for name in ("a.csv", "b.csv.gz"):
        X = read_csv(tmp_path / name).X.to_pydict()
        assert X["title"] == ["x, y"] * 9
        np.testing.assert_array_equal(np.array(X["price"], float), [np.nan] * 8 + [1.5])
    path = tmp_path / "a.csv"
    rows = "1,1;1;1,5;0,25;1,5;5\n1,10;0;-2;;1,5 kg;5,1\n"
    path.write_text(f"query;label;price;rate;title;id\n{rows}")
    X, _, qid = data = read_csv(path, document="id")
    expected = {"price": [1.5, -2], "title": ["1,5", "1,5 kg"]}
    assert X.select(["price", "title"]).to_pydict() == expected
    np.testing.assert_array_equal(X["rate"].to_numpy(), [0.25, np.nan])
    assert [*qid, *data.doc_ids] == ["1,1", "1,10", "5", "5,1"]


def test_ids_keep_every_character_and_are_joined_as_text(tmp_path):
    path, names = tmp_path / "a.csv", "query,document,position,click,label,f\n"
    path.write_text(f"{names}007,1.10,1,0,3,1\n7,1e2,1,1,0,2\n8,true,1,0,0,2\n")
    data = read_csv(path, document="document")
    assert [*data.qid, *data.doc_ids] == ["007", "7", "8", "1.10", "1e2", "true"]
    assert ClickLog.from_table(path, session="query").items.document.tolist() == [*data.doc_ids]
    path.write_text(f"{names} 7,1.0,1,0,3,1\n-8,2.5,1,1,0,2\n")
    data = read_csv(path, document="document")
    ids = np.array(["7", "-8", "07"]), np.array(["1", "2.5", "1"])
    assert Qrels(*ids, np.array([3, 1, 0])).labels_of(data.qid, data.doc_ids).tolist() == [3, 1]
    assert read_csv(path, features="document").X["document"].to_pylist() == [1, 2.5]


@pytest.mark.parametrize("ids", [["2", "2.5"], ["1", "1.0"], ["1.0", "2"]])
def test_ids_of_which_some_have_a_fraction_are_text(tmp_path, ids):
    path = tmp_path / "a.csv"
    path.write_text("label,query,document,a\n" + "".join(f"1,{i},{i},1\n" for i in ids))
    data = read_csv(path, document="document")
    assert data.qid.tolist() == data.doc_ids.tolist() == ids


@pytest.mark.parametrize("name", ["b.csv", "b.tsv.gz"])
def test_what_is_written_as_text_is_read_again(tmp_path, name):
    X = np.array([[0.1, np.nan], [1e-300, 3.0]])
    write_parquet(tmp_path / name, X, [1, 0], ["a", "b"], comments=["x", "y,z"])
    data = read_ranking_data(tmp_path / name, comments=True)
    np.testing.assert_array_equal(data.X.to_pandas(), X)
    assert data.comments.tolist() == ["x", "y,z"]


LOST = {
    "a missing value": [["NA", "DE"], ["x", ""], ["null", None], pd.Categorical(["?", "b"])],
    "numbers or truth values": [["1", "2.5"], ["true", "False"], [" 7", None], ["1", "true"]],
    "categories of text": [pd.Categorical([3, 4])],
}


@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz"])
@pytest.mark.parametrize(("rule", "values"), [(rule, v) for rule in LOST for v in LOST[rule]])
def test_what_a_file_of_text_would_change_is_not_written(tmp_path, name, rule, values):
    X = pd.DataFrame({"price": [1.0, 2.0], "country": values})
    with pytest.raises(ValueError, match=rf"{name}, column 'country': .*{rule}.* Parquet"):
        write_parquet(tmp_path / name, X, [1, 0], ["a", "b"])
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match=r"column 'query': .* a missing value.* got 'NA'"):
        write_parquet(tmp_path / name, X[["price"]], [1, 0], ["NA", "b"])


def test_text_of_numbers_beside_other_text_is_written(tmp_path):
    X = pd.DataFrame({"size": ["1", "2", "true", "XL"], "code": ["7", None, "x", None]})
    halves = [RankingData(X[i : i + 2], np.arange(2.0), np.array(["1", "2"])) for i in (0, 2)]
    write_parquet_batches(tmp_path / "a.csv", halves)
    assert read_csv(tmp_path / "a.csv").X.to_pandas().fillna("").equals(X.fillna(""))


WRONG = {
    "label,query,a\n1,q,2\n0,q\n": r"a CSV file must be whole.*Row #3: Expected 3 columns, got 2",
    "": "a CSV file must be whole and readable; got 'Empty CSV file'",
    "query,a\nq,1\n": "column 'label': the column for label must exist.* Write label='NAME'",
    "label,query,a\n" + "1,q,2\n" * 20 + "0,q,1O\n": "'a': must hold numbers.*'1O' in row 20",
    "label,query,a\n1,q,2024-01-31\n": "'a': must hold .*date32.* Write days_since=.*, or drop",
    "label,query,doc_id,a\n1,q,7,2\n": "'doc_id': an id must not be a feature.*document='doc_id'",
    "label:query:a\n1:q:7\n": r"column 'label': the column for label must exist.*label:query",
    "label,query,a\n5%,q,1\n3%,q,2\n": r"'5%' in row 0 \(line 2\)\. Write .* signs and units\.$",
    "label,query,a\n5,q,1\nbad,q,2\n3,q,2\n": r"the label must .* got 'bad' in row 1 \(line 3\)",
}


#: Two cells of a column that would be a category, or another number, and the one that is named.
NO_DIGITS = {
    ('"1,000"', "2"): "1,000",
    ("5%", "10%"): "5%",
    ("1_000", "2"): "1_000",
    ("7", "\N{MINUS SIGN}5"): "\N{MINUS SIGN}5",
    ("0x1F", "2"): "0x1F",
    ("0x1F", "2.5"): "0x1F",
    ("$5", "$6"): "$5",
    ('"1,5"', "2"): "1,5",
    ("1e999", "2"): "1e999",
    ("1 000", ""): "1 000",
    ("7", "(5)"): "(5)",
}


@pytest.mark.parametrize("cells", NO_DIGITS)
def test_numbers_in_other_notations_are_no_categories_and_can_be_left_out(tmp_path, cells):
    path, (first, second) = tmp_path / "a.csv", cells
    path.write_text(f"label,query,a,b\n1,q,{first},3\n0,q,{second},4\n", encoding="utf-8")
    found = NO_DIGITS[cells]
    rule = rf"'a': must hold numbers .*; got '{re.escape(found)}' in row {int(found in second)}"
    with pytest.raises(ValueError, match=rule):
        read_csv(path)
    for options in ({"drop": "a"}, {"features": "b"}):
        assert read_csv(path, **options).X.to_pydict() == {"b": [3, 4]}


def test_categories_stay_text_whatever_they_contain(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("label;query;size;code;day\n1;q;38;01;2026-01-01\n0;q;39;1,5;-\n")
    names = ["size", "code", "day"]
    for data in (
        read_csv(path, categories=names, days_since="2026-01-01"),
        next(iter(read_batches(path, categories=names))),
    ):
        assert data.X["size"].to_pylist() == ["38", "39"]
        assert data.X["code"].to_pylist() == ["01", "1,5"]
        assert data.X["day"].to_pylist() == ["2026-01-01", None]
    with pytest.raises(ValueError, match=r"column 'sise': must exist; got \['label', 'query', 's"):
        read_csv(path, categories="sise")
    assert read_csv(path, categories="size", features="size").X["size"].to_pylist() == ["38", "39"]


def test_hexadecimal_digits_are_found_wherever_the_file_is_cut(tmp_path):
    path, head = tmp_path / "a.csv", "label,query,a\n"
    for at in (2**20 - 1, 2**20 - 2):  # of a piece that is read at once
        rows = "1,q,7\n" * ((at - len(head)) // 6 - 1)
        pad = at - len(head) - len(rows) - len("1,q,")
        path.write_text(f"{head}{rows}{' ' * pad}1,q,0x1F\n")
        assert path.read_bytes()[at : at + 2] == b"0x"
        with pytest.raises(
            ValueError, match=r"'a': must hold numbers .* got '0x1F' in row \d+ \(line"
        ):
            read_csv(path)


def test_text_stays_text_beside_numbers_and_missing_values_have_the_names_of_spreadsheets(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("label,query,a,b,c\n1,q,5%,1-2,#N/A\n0,q,much,3,2\n0,q,1.2.3,x,inf\n")
    X = read_csv(path).X.to_pydict()
    assert X == {"a": ["5%", "much", "1.2.3"], "b": ["1-2", "3", "x"], "c": [ANY, 2, np.inf]}
    assert np.isnan(X["c"][0])


@pytest.mark.parametrize("marker", [r"\N", "#DIV/0!", "--"])
def test_markers_of_databases_and_spreadsheets_are_missing_values(tmp_path, marker):
    path = tmp_path / "a.csv"
    path.write_text(f"label,query,a\n1,q,2.5\n0,q,{marker}\n")
    np.testing.assert_array_equal(read_csv(path).X["a"].to_numpy(), [2.5, np.nan])


@pytest.mark.parametrize("text", ["1.5kg", "1/2", "#REF!", "unknown"])
def test_a_column_that_becomes_a_category_for_some_cells_is_warned_of(tmp_path, text):
    path = tmp_path / "a.csv"
    rows = [f'{i % 2},q,{i}.5,"x{chr(10)}y"' for i in range(5)]
    path.write_text("label,query,a,b\n" + "\n".join([*rows, "", f"0,q,{text},z"]) + "\n")
    with pytest.warns(UserWarning, match=r"column 'a': is read as text.*category") as caught:
        assert read_csv(path).X["a"].to_pylist()[-1] == text
    # Two lines of each of five rows, the head and an empty line stand before.
    assert f"got '{text}' in row 5 (line 13). Write a number, or leave the" in str(
        caught[0].message
    )
    assert f"na_values=['{text}']" in str(caught[0].message)
    with warnings.catch_warnings(action="error"):  # one that is left out may hold anything
        read_csv(path, drop="a")


def test_a_column_of_numbers_with_one_unit_is_warned_of_and_codes_are_not(tmp_path):
    path, lines = tmp_path / "a.csv", ["label,query,a,b"]
    codes = ["007", "12", "13", "A4"]
    lines += [f"{i % 2},q,{i}.5 kg,{code}" for i, code in enumerate(codes)]
    path.write_text("\n".join(lines))
    with pytest.warns(
        UserWarning, match=r"'a': is read .* '0.5 kg' in row 0 \(line 2\).*units"
    ) as caught:
        assert read_csv(path).X["b"].to_pylist() == codes
    assert len(caught) == 1


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_cells_end_at_what_the_first_line_says_and_suffixes_have_any_case(tmp_path, separator):
    text = "label,query,a\n1,q,2.5\n0,q,3\n".replace(",", separator)
    for name, content in {"a.csv": text.encode(), "b.CSV.GZ": gzip.compress(text.encode())}.items():
        (tmp_path / name).write_bytes(content)
        X, y, qid = read_ranking_data(tmp_path / name)
        assert [X.to_pydict(), y.tolist(), qid.tolist()] == [{"a": [2.5, 3]}, [1, 0], ["q", "q"]]
    write_parquet(tmp_path / "c.Csv.Gz", X, y, qid)
    assert (tmp_path / "c.Csv.Gz").read_bytes()[:2] == b"\x1f\x8b"
    assert read_csv(tmp_path / "c.Csv.Gz").X == X


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_the_first_line_that_is_not_empty_names_the_columns(tmp_path, end, start):
    lines = [
        b"",
        b"",
        b'query;label;"in\r\nstock";"3"" wide";5" deep',
        b"q;1;2,5;3;4",
        b"q;0;1;2;3",
    ]
    text, names = start + end.join(lines), ["in\r\nstock", '3" wide', '5" deep']
    for name, content in {"a.csv": text, "b.csv.gz": gzip.compress(text)}.items():
        (tmp_path / name).write_bytes(content)
        assert column_names(tmp_path / name) == ["query", "label", *names]
        X, y, _ = read_csv(tmp_path / name)
        assert [X.column_names, X[names[0]].to_pylist(), [*y]] == [names, [2.5, 1], [1, 0]]


WORDS = [
    "1-2",
    "12_34",
    "10x20",
    "v1.2",
    "$$",
    "1/2",
    "12.30 h",
    "5+",
    "1st",
    "+49 170 1234567",
    "10 kg",
]


@pytest.mark.parametrize("word", WORDS)
def test_words_with_digits_are_categories(tmp_path, word):
    path = tmp_path / "a.csv"
    path.write_text(f"label,query,a\n1,q,{word}\n0,q,{word}\n1,q,\n")
    assert read_csv(path).X.to_pydict() == {"a": [word, word, None]}


def test_a_column_has_decimal_commas_or_points(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("label;query;a\n1;q;1.000\n0;q;2,5\n")
    with pytest.raises(
        ValueError, match=r"'a': must have decimal commas or .* got '1.000' in row 0"
    ):
        read_csv(path)


@pytest.mark.parametrize(
    ("cell", "rule"),
    [("1.000,5", "such as -1234.5 or -1234,5"), ("5 %", "numbers in digits"), ("x", "numbers")],
)
@pytest.mark.parametrize("label", ["a", "label"])
def test_decimal_commas_are_not_what_is_wrong_in_a_column(tmp_path, cell, rule, label):
    path = tmp_path / "a.csv"
    path.write_text("label;query;a\n" + "1;q;2,5\n" * 20 + f"0;q;{cell}\n")
    with pytest.raises(ValueError, match=rf"'a': .*{rule}.* got '{cell}' in row 20 \(line 22\)"):
        read_csv(path, label=label)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "folder"])
def test_columns_that_are_not_read_may_have_the_same_name(tmp_path, name):
    names, values = (
        ["label", "query", "f", "x", "x"],
        [[1, 0], ["q", "q"], [2, 3], [0, 0], [1, 2]],
    )
    table = pa.table([pa.array(column) for column in values], names=names)
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
        for part in ("a", "b"):
            pq.write_table(table, path / f"{part}.parquet")
    elif name == "a.csv":
        path.write_text(f"{','.join(names)}\n1,q,2,0,1\n0,q,3,0,2\n")
    else:
        pq.write_table(table, path)
    for options in ({"drop": "x"}, {"features": "f"}, {"features": ["f", "x"], "drop": ["x"]}):
        assert read_parquet(path, **options).X["f"].to_pylist()[:2] == [2, 3]
        for batch in read_batches(path, **options, comments=True):
            assert batch.X.column_names == ["f"]
    for options in ({}, {"features": "x"}, {"features": "f", "label": "x"}):
        with pytest.raises(ValueError, match="column 'x': must be there once; got it twice"):
            read_parquet(path, **options)


def test_a_column_is_one_thing(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,3\n0,4\n")
    for roles in (("label", "query"), ("label", "document"), ("query", "document")):
        with pytest.raises(
            ValueError, match=f"{roles[0]} and {roles[1]} must be different columns"
        ):
            read_csv(path, **({"label": "b", "query": "b"} | dict.fromkeys(roles, "a")))
    for features, rule in (
        (["b", "a"], "not name the label, .* got 'a'"),
        (["b", "b"], "'b' 2 ti"),
    ):
        for read in (read_csv, read_batches):
            with pytest.raises(ValueError, match=f"features must .*{rule}"):
                read(path, label="a", query=None, features=features)


def test_gzip_needs_no_name_and_what_is_no_text_is_called_by_its_kind(tmp_path):
    path, text = tmp_path / "a.csv", b"label,query,a\n1,q,5\n0,q,1\n"
    path.write_bytes(gzip.compress(text))
    assert read_csv(path).X.to_pydict() == {"a": [5, 1]}
    kinds = {b"PK\x03\x04": "a zip archive or a spreadsheet", b"\xff\xfe": "text in UTF-16"}
    for begin, kind in (kinds | {b"PAR1\x15": "a Parquet file"}).items():
        path.write_bytes(begin + text)
        with pytest.raises(
            ValueError, match=rf"a.csv: .* text in UTF-8, plain or gzip; got {kind}"
        ):
            read_csv(path)


@pytest.mark.parametrize(
    "text",
    [
        ',label,query,price,title\n0,1,q,2.5,"a\n1,0,q,3.5,b\n2,1,q,2,c"\n3,0,q,2,d\n',  # an index
        'query,title,label,price\r\nq,"a,1,2.5\r\nq,b,0,\r\nq,c",1,2\r\nq,d,0,1\r\n',
    ],
    ids=["index", "CRLF"],
)
def test_rows_between_quotes_are_found_beside_an_index_and_before_any_line_end(tmp_path, text):
    (tmp_path / "a.csv").write_bytes(text.encode())
    with pytest.raises(ValueError, match="'title': a cell must not hold rows of the file"):
        read_csv(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("header", "cell"),
    [
        ("title,query,label,price", "see, a, b, c\nok"),
        ("title,query,label", "Comfy, warm, soft\nnice"),
        ("query,title,brand,label", "Soft, warm, dry\nby, Acme"),
    ],
)
def test_texts_of_several_lines_that_have_the_commas_of_rows_are_texts(tmp_path, header, cell):
    values = {"title": f'"{cell}"', "query": "q", "label": "1", "price": "2", "brand": "b"}
    names, other = header.split(","), values | {"title": "plain", "label": "0"}
    rows = [",".join(each[name] for name in names) for each in (values, other)]
    (tmp_path / "a.csv").write_text("\n".join([header, *rows, ""]))
    X, y, _ = read_csv(tmp_path / "a.csv")
    assert X["title"].to_pylist() == [cell, "plain"]
    assert y.tolist() == [1, 0]


@pytest.mark.parametrize("place", [0, 2, 4])
@pytest.mark.parametrize("end", ['" end"', '"', '5" disk'])
def test_rows_between_two_cells_that_begin_with_a_quote_are_not_lost(tmp_path, place, end):
    path, header = tmp_path / "a.tsv", ["label", "query", "a", "b"]
    header.insert(place, "title")
    lines = ["\t".join(header)]
    for i, title in enumerate(["tv", '"big tv"', '" loose', "x", "y", end, "z"]):
        cells = [str(i % 2), "q", str(i), ""]
        cells.insert(place, title)
        lines.append("\t".join(cells))
    path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"'title': a cell must not hold rows .* in row 2\. Dou"):
        read_csv(path)


@pytest.mark.parametrize("cell", ["Main Street 5\nParis, France, EU", "a\n\n", "1\n1,2,3\n2"])
def test_cells_may_have_lines(tmp_path, cell):
    path = tmp_path / "a.csv"
    path.write_text(f'label,query,address\n1,q,"{cell}"\n0,q,b\n')
    assert read_csv(path).X["address"].to_pylist() == [cell, "b"]


@pytest.mark.parametrize("name", ["query", "sku", "brand"])
def test_a_column_that_is_not_utf_8_is_named(tmp_path, name):
    path, cells = tmp_path / "a.csv", {"query": "q", "sku": "s", "brand": "b"} | {name: "né"}
    row = ",".join(cells.values())
    path.write_bytes(f"label,{','.join(cells)}\n1,q,s,b\n0,{row}\n".encode("latin-1"))
    message = rf"a.csv, column '{name}': must be text in UTF-8; got other bytes\."
    with pytest.raises(ValueError, match=message):
        read_csv(path, document="sku")


def test_a_long_cell_is_read_and_a_quote_that_is_never_closed_is_not(tmp_path):
    path, long = tmp_path / "a.csv", "y" * 3_000_000
    path.write_text(f'label,query,a\n1,q,{long}\n0,q,"x\n1,2,3\n"\n')
    assert read_csv(path).X["a"].to_pylist() == [long, "x\n1,2,3\n"]
    path.write_text('label,query,a\n1,q,red\n0,q,"red\n' + "1,q,red\n" * 200_000)
    with pytest.raises(ValueError, match=r"'a': a quote must be closed; got .* in row 1\.$"):
        read_csv(path)


@pytest.mark.parametrize("text", WRONG)
def test_errors_name_file_column_row_and_rule(tmp_path, text):
    path = tmp_path / "w.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"(?s)^{path}.*{WRONG[text]}"):
        read_csv(path)


def test_the_shell_reads_text_by_names_of_columns_prints_ids_and_refuses_others(files, tmp_path):
    model, columns = tmp_path / "m", ["--label", "clicks", "--query", "session"]
    named = [*columns, "--id", "sku", "--drop", "new"]
    run("fit", files / "a.csv", "--model", model, *named, *SMALL)
    assert treerank.load(model).feature_names_in_.tolist() == ["bm25", "color"]
    ranked = run("rank", model, files / "a.tsv", "--query", "session", "--id", "sku", "--quiet")
    rows = [tuple(line.split("\t")[:2]) for line in ranked.stdout.splitlines()[1:]]
    assert sorted(rows) == sorted(zip(TABLE["session"], TABLE["sku"], strict=True))
    one, other = (run("evaluate", model, files / n, *columns) for n in ("a.csv", "a.parquet"))
    assert one.stdout == other.stdout
    path = tmp_path / "t.csv"  # an id that would be a feature
    path.write_text("label,query,doc_id,a\n1,q,7,2\n0,q,8,3\n")
    refused = run("fit", path, "--model", tmp_path / "m", code=1).stderr
    assert "--id doc_id" in refused
    assert "--drop doc_id" in refused
    run("convert", path, tmp_path / "t.txt.gz", "--id", "doc_id")
    text = gzip.decompress((tmp_path / "t.txt.gz").read_bytes()).decode()
    assert text == "1 qid:q 1:2 # docid = 7\n0 qid:q 1:3 # docid = 8\n"


WRONG_NAMES = {
    "label": [2, ["clicks"]],
    "query": [0, ["session", "sku"], ("session", "sku")],
    "document": [0, ("sku",)],
    "features": [3, [0, "bm25"]],
    "drop": [3, [None], None],
}


@pytest.mark.parametrize("read", [read_csv, read_parquet, read_batches])
@pytest.mark.parametrize("argument", WRONG_NAMES)
def test_columns_are_named_by_text(tmp_path, read, argument):
    for name in WRONG_NAMES[argument]:
        with pytest.raises(TypeError, match=f"^{argument} must be the name of .*; got .* [Ww]rite"):
            read(tmp_path / "missing.csv", **COLUMNS | {argument: name})


def test_several_columns_of_the_query_are_left_to_fit(files):
    several = COLUMNS | {"query": ["session", "new"]}
    fit = "ranker.fit(frame, 'clicks', ('session', 'new'))."
    with pytest.raises(TypeError, match=re.escape(f"frame = pandas.read_csv(path), and {fit}")):
        read_csv(files / "a.csv", **several)


@pytest.mark.posix
def test_a_pipe_and_words_of_other_readers_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"read_csv has no sep\. .* commas, semicolons"):
        read_csv("a.csv", sep=";")
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"a.csv: must be a regular file, which can be read twice"):
        read_csv(tmp_path / "a.csv")


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_numbers_of_any_precision_are_read_as_they_were_written(dtype, tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 2)).astype(dtype)
    X[3] = np.nan
    write_parquet(tmp_path / "t.csv", X, np.ones(50), np.ones(50))
    table = read_csv(tmp_path / "t.csv").X
    np.testing.assert_array_equal(np.column_stack([*table.to_pydict().values()]), X)
