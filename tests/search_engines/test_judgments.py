import gzip
import io
import json

import numpy as np
import pandas as pd
import pytest
from search_files import JUDGED, judgment_files

from treerank import read_csv
from treerank.datasets import Qrels, write_letor
from treerank.search_engines import read_judgments

FILES = judgment_files(JUDGED)


def qrels(rows):
    return Qrels(*(np.array(column) for column in zip(*rows, strict=True)))


def read(tmp_path, text, name="judgments.json", **options):
    path = tmp_path / name
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8-sig")
    return read_judgments(path, **options)


@pytest.mark.parametrize("name", FILES)
def test_every_program_says_the_same(name, tmp_path):
    assert sorted(zip(*read(tmp_path, FILES[name], name), strict=True)) == sorted(JUDGED)


def test_columns_of_tables_may_have_any_name_and_qrels_have_none(tmp_path):
    text = "q1,d1,bad,good\nshoes,a,1,3\n"
    options = {"query": "q1", "document": "d1"}
    assert read(tmp_path, text, "a.csv", **options, label="good").y.tolist() == [3]
    assert read(tmp_path, text, "a.csv", **options, label=["good", "bad"]).y.tolist() == [3, 1]
    assert read(tmp_path, "Query Text,Doc ID,Rating\nshoes,a,3\n", "b.csv").y.tolist() == [3]
    assert read(tmp_path, "q 0 a 2\nq 0 b 0\n", "qrels.txt").y.tolist() == [2, 0]
    for label in ("2", "-1", "0.7", ".5", "1e-3"):
        assert read(tmp_path, f"q\t0\ta\t{label}\nq\t0\tb\t0\n", "a.tsv").y[0] == float(label)
    with pytest.raises(ValueError, match="query, document and label must be None"):
        read(tmp_path, FILES["rre.json"], query="q")


def test_columns_are_labels_by_their_names_and_judges_by_what_they_hold(tmp_path):
    """The header of a file of features of vespa-engine/sample-apps, rag-blueprint."""
    text = "query_id,doc_id,relevance_label,bm25,price\n1,a,3,12.5,99\n1,b,0,2.5,7\n"
    assert read(tmp_path, text, "a.csv").y.tolist() == [3, 0]
    assert read(tmp_path, text.replace("relevance_label", "Grade (0-3)"), "b.csv").y.sum() == 3
    judges = "query,docid,Ann,Bob\nq,a,3,\nq,b,10,2.0\n"
    assert read(tmp_path, judges, "c.csv").y.tolist() == [3, 10, 2]
    commas = "query;docid;Ann;Bob\nq;a;3;\nq;b;10;2,0\n"
    assert read(tmp_path, commas, "commas.csv").y.tolist() == [3, 10, 2]
    with pytest.raises(ValueError, match=r"'Bob' holds no grades; got '2,5' in it"):
        read(tmp_path, commas.replace("2,0", "2,5"), "cell.csv")
    features = text.replace("relevance_label", "clicks")
    message = r"label must name .*, since 'bm25' holds no grades; got '12.5' in it\. Columns are"
    with pytest.raises(ValueError, match=message):
        read(tmp_path, features, "d.csv")
    assert read(tmp_path, features, "d.csv", label=["clicks", "price"]).y.tolist() == [3, 99, 0, 7]
    for two in ("rating,rating", "ann_rating,bob_rating"):
        with pytest.raises(
            ValueError, match=r"label must (be one column|name the column of labels)"
        ):
            read(tmp_path, f"query,docid,{two}\nq,a,1,3\n", "e.csv")


@pytest.mark.parametrize("index", ["", "Unnamed: 0"])
def test_the_index_of_a_data_frame_is_no_judge(tmp_path, index):
    judges = "query,docid,Ann,Bob\nq,a,3,2\nq,b,0,1\n"
    frame = pd.read_csv(io.StringIO(judges)).rename_axis(index)
    with_index = read(tmp_path, frame.to_csv(), "with_index.csv")
    assert repr(with_index) == repr(read(tmp_path, judges, "without.csv"))
    ratings = read(tmp_path, frame.to_csv(), "with_index.csv", label=["Ann", index])
    assert ratings.y.tolist() == [3, 0, 0, 1]


@pytest.mark.parametrize(
    "name", ["clicks", "Position", "bm25_score", "relevance score", "n_clicks"]
)
def test_clicks_positions_and_scores_are_no_judges_unless_label_names_them(tmp_path, name):
    for text in (f"query,docid,{name}\nq,a,3\n", f"query,docid,Ann,{name}\nq,a,3,3\n"):
        message = rf"label must name the column of labels.* '{name}' is by its name no judge\. Col"
        with pytest.raises(ValueError, match=message):
            read(tmp_path, text, "a.csv")
        assert read(tmp_path, text, "a.csv", label=name).y.tolist() == [3]
    rated = f"query,docid,{name},rating\nq,a,9,3\n"
    assert read(tmp_path, rated, "a.csv").y.tolist() == [3]


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_cells_of_tables_end_at_what_the_first_line_says(tmp_path, separator):
    text = "query,docid,rating\nshoes,a,3\n".replace(",", separator)
    assert [*zip(*read(tmp_path, text, "a.CSV"), strict=True)] == [("shoes", "a", 3)]


def test_commas_in_files_with_semicolons_are_decimal_commas_as_in_read_csv(tmp_path):
    text = "query;docid;rating;f\nq;a,b;3;1\nq;b;1,5;2\nr;a;0;3\nr;b; 1,000 ;4\nr;c;;5\n"
    found = read(tmp_path, text, "a.csv")
    assert (found.doc_ids.tolist(), found.y.tolist()) == (["a,b", "b", "a", "b"], [3, 1.5, 0, 1])
    data = read_csv(
        tmp_path / "a.csv", label="rating", query="query", document="docid", features=["f"]
    )
    assert data.y[:4].tolist() == found.y.tolist()
    judges = "query;docid;Ann;Bob\nq;a;2,0;1\nq;b;;3,0\n"
    assert read(tmp_path, judges, "a.csv").y.tolist() == [2, 1, 3]
    points = read(tmp_path, "query;docid;rating\nq;a;1.5\nq;b;2\n", "a.csv")
    assert points.y.tolist() == [1.5, 2]
    with pytest.raises(ValueError, match=r"'rating' must have decimal commas or .* got '1\.5'"):
        read(tmp_path, "query;docid;rating\nq;a;1,5\nq;b;1.5\n", "a.csv")
    for text in ('query,docid,rating\nq,a,"1,5"\n', "query;docid;rating\nq;a;1,5,0\n"):
        with pytest.raises(ValueError, match="rating must be a finite number; got '1,5"):
            read(tmp_path, text, "a.csv")


@pytest.mark.parametrize("missing", ["", "NA", " NaN", "null", r"\N", "-", "None"])
def test_missing_ratings_are_those_of_read_csv(tmp_path, missing):
    text = f"query,docid,rating,f\nq,a,3,1\nq,b,{missing},2\n"
    assert read(tmp_path, text, "a.csv").doc_ids.tolist() == ["a"]
    options = {"label": "rating", "query": "query", "document": "docid"}
    np.testing.assert_array_equal(read_csv(tmp_path / "a.csv", **options).y, [3, np.nan])
    judges = f"query;docid;Ann;Bob\nq;a;2,0;{missing}\nq;b;{missing};3\n"
    assert read(tmp_path, judges, "a.csv").y.tolist() == [2, 3]
    rated = {"queries": [{"query": "q", "ratings": {"a": missing, "b": "1"}}]}
    assert read(tmp_path, rated, "a.json").doc_ids.tolist() == ["b"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("separator", [",", ";"])
def test_empty_lines_of_tables_are_skipped_as_in_read_csv(tmp_path, separator, end):
    lines = ["", "", "query,docid,rating,f", "", "q,a,3,1", "", "q,b,0,2", "", ""]
    text = end.join(lines).replace(",", separator)
    assert read(tmp_path, text, "a.csv").y.tolist() == [3, 0]
    options = {"label": "rating", "query": "query", "document": "docid"}
    assert read_csv(tmp_path / "a.csv", **options).y.tolist() == [3, 0]


def test_training_sets_tell_the_ids_in_their_comments_and_qrels_may_have_odd_ones(tmp_path):
    write_letor(tmp_path / "a.txt", [[1.0]], [2], ["q"], comments=["docid = GX1 inc = 1"])
    assert [*zip(*read_judgments(tmp_path / "a.txt"), strict=True)] == [("q", "GX1", 2)]
    found = read(tmp_path, "q1 0 x-qid:5 2\n", "a.qrels")
    assert [*zip(*found, strict=True)] == [("q1", "x-qid:5", 2)]
    found = read(tmp_path, '3 qid:1 # a\n0    qid:1 #    b;c; "shoes"\n', "case_ltr.txt")
    assert list(zip(*found, strict=True)) == [("1", "a", 3), ("1", "b;c", 0)]


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("query,docid,rating,grade\nq,a,4.5,1\n", "a.csv", "label must name the column of labels"),
        ("3 qid:1 # a\n1 0 b 2\n", "a.txt", "a line must be as '3 qid:1 # document'; got '1 0 b"),
        ("query,docid,rating\nq,a,high\n", "a.csv", "must be a finite number; got 'high'"),
        ("query,docid,rating\nq,a,inf\n", "a.csv", "rating must be a finite number"),
        ("query,docid,rating\n,a,1\n", "a.csv", "query must be text or a number; got ''"),
        ("query,docid,rating\nshoes,a,\n", "a.csv", "must hold a judgment; got none"),
        ("query,docid,rating\nshoes,a,1,2\n", "a.csv", "a row must have 3 cells"),
        ("query,docid,rating\nshoes,a,1\nshoes,b\n", "a.csv", r"3 cells; got \['shoes', 'b'\]"),
        ("query,docid,rating\nq,a,1_0\n", "a.csv", "must be a finite number; got '1_0'"),
        ("search,docid,rating\n", "a.csv", r"query must be a column, one of \['query'"),
        ("query,film,rating\n", "a.csv", r"write read_judgments\(path, document=\.\.\.\)\."),
        ("{", "a.json", "must be JSON"),
        ({"name": "n"}, "a.json", r"must have one of \['judgmentRatings'"),
        ({"queries": [{"query": "a"}]}, "a.json", "it has no 'ratings'"),
        ({"queries": [{"query": "a", "ratings": 3}]}, "a.json", "known format; 'int' object"),
    ],
)
def test_a_file_that_says_no_judgments_is_refused_by_name(text, name, message, tmp_path):
    with pytest.raises(ValueError, match=f"{name}: .*{message}"):
        read(tmp_path, text, name)


@pytest.mark.parametrize("name", ["quepid.csv", "rre.json", "hello_ltr.txt"])
def test_a_damaged_file_is_named(name, tmp_path):
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(FILES[name].encode())[:-9])
    with pytest.raises(ValueError, match=f"{name}.gz: the gzip stream must be whole"):
        read_judgments(path)


def test_judges_who_differ_have_to_be_merged_in_any_order():
    with pytest.raises(ValueError, match=r"got several for \('q', 'a'\). merged\(\) makes one"):
        qrels([("q", "a", 1.0), ("q", "a", 2.0)]).labels_of(["q"], ["a"])
    rows = [("q", "a", label) for label in (0.1, 0.7, 0.2, 0.7, 0.1)] + [("p", "a", 3.0)]
    orders = [qrels(each) for each in (rows, rows[::-1], rows[2:] + rows[:2])]
    means = [judged.merged().y.tolist() for judged in orders]
    assert means[0] == means[1] == means[2] == [3.0, pytest.approx(0.36)]
    large = [("q", "a", label) for label in (2.0**53, 1.0, 1.0, -(2.0**53))]
    assert qrels(large).merged().y == qrels(large[1:] + large[:1]).merged().y
    for judged in orders:
        assert judged.merged("majority").labels_of(["q", "p"], ["a", "a"]).tolist() == [0.1, 3]
    none = Qrels(np.empty(0, str), np.empty(0, str), np.empty(0))
    assert [len(none.merged(how).y) for how in ("mean", "majority")] == [0, 0]


def test_ids_may_be_numbers_bytes_and_columns_of_a_frame():
    frame = pd.DataFrame({"q": [1, 1, 2], "d": [7, 7, 8], "y": [1, 3, 0]}, index=[2, 0, 1])
    for how, label in (("mean", 2), ("majority", 1)):
        merged = Qrels(frame["q"], frame["d"], frame["y"]).merged(how)
        assert merged.labels_of([b"1", b"2", b"3"], [b"7", b"8", b"7"]).tolist() == [label, 0, 0]
    assert Qrels(frame["q"], frame["d"], frame["y"]).agreement() == 0


def test_a_line_ends_at_its_newline_alone(tmp_path):
    rated = {"ratings": [{"docId": "a", "rating": 1}]}
    judged = [{"judgmentRatings": [{"query": q} | rated]} for q in ("a\u2028b", "c")]
    lines = "\n".join(json.dumps(each, ensure_ascii=False) for each in judged)
    assert read(tmp_path, lines, "a.ndjson").qid.tolist() == ["a\u2028b", "c"]


#: The example of Krippendorff (2011): four observers of twelve units, - where one did not look.
OBSERVERS = ["123321412---", "1233224125-3", "-3332342251-", "12332441251-"]


def test_agreement_is_that_of_the_literature_and_needs_two_judges_and_two_labels():
    units = [enumerate(labels) for labels in OBSERVERS]
    rows = [("q", str(unit), float(y)) for pairs in units for unit, y in pairs if y != "-"]
    assert qrels(rows).agreement() == pytest.approx(0.815, abs=5e-4)
    with pytest.raises(ValueError, match="a document with two judges"):
        qrels(JUDGED).agreement()
    assert np.isnan(qrels([("q", "a", 1.0)] * 2).agreement())


@pytest.mark.parametrize("document", ["doc", "docno", "pid", "passage_id", "product_id", "Item ID"])
@pytest.mark.parametrize("query", ["question", "question_id"])
def test_columns_are_known_by_the_names_of_public_data_sets(query, document, tmp_path):
    text = f"{query},{document},grade,explanation\nwhy,p1,2,because\n"
    assert read(tmp_path, text, "llm.csv").doc_ids.tolist() == ["p1"]
