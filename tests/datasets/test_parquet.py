import os
import time
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import run

from treerank import read_batches
from treerank.datasets import parquet_files, read_letor, read_parquet, write_letor, write_parquet
from treerank.datasets.parquet import parquet_batches, read_csv
from treerank.datasets.parquet import write_parquet_batches as write_batches
from treerank.documents.columns import Columns

GOOD = {"label": [1.0, 0.0], "query": ["a", "a"], "price": pa.array([0.5, None], pa.float32())}


def write(path, **columns):
    pq.write_table(pa.table(GOOD | columns), path)
    return path


@pytest.fixture
def file(tmp_path):
    return tmp_path / "train.parquet"


def test_numbers_are_one_matrix_that_is_read_without_a_copy(file):
    write(file, stock=pa.array([3, None], pa.int16()), sale=[True, None])
    X = read_parquet(file).X
    assert X.schema == pa.schema([(name, pa.float32()) for name in ("price", "stock", "sale")])
    matrix = Columns.of(X).numbers(X)
    np.testing.assert_array_equal(matrix, np.float32([[0.5, 3, 1], [np.nan] * 3]))
    assert np.shares_memory(matrix, X.column("stock").chunk(0).to_numpy())


def test_numbers_that_need_double_precision_get_it(file):
    for column in (pa.array([2**24 + 1, 0], pa.int32()), pa.array([Decimal("-25165118.65"), None])):
        X = read_parquet(write(file, stock=column)).X
        assert {column.type for column in X.columns} == {pa.float64()}
        assert X["stock"][0].as_py() == float(column[0].as_py())


def test_categories_and_documents_come_along(file):
    colors = pa.array(["red", None]).dictionary_encode()
    write(file, color=colors, size=pa.array(["S", None]), document=["a", "b"])
    X, *_ = data = read_parquet(file, comments=True)
    assert (data.doc_ids.tolist(), data.comments.tolist()) == (["a", "b"], ["", ""])
    assert Columns.of(X).categories == {1: ["red"], 2: ["S"]}
    np.testing.assert_array_equal(Columns.of(X).numbers(X)[:, 1:], [[0, 0], [np.nan, np.nan]])


def test_categories_of_numbers_that_pandas_wrote_are_numbers_as_pandas_reads_them(file):
    sizes = pd.Categorical([3, 4, None, 4])
    frame = pd.DataFrame({"label": [1, 0, 1, 0], "query": 7, "price": 0.5, "size": sizes})
    frame.to_parquet(file)
    X, *_ = read_parquet(file)
    assert Columns.of(X) == Columns.of(pd.read_parquet(file)[["price", "size"]])
    np.testing.assert_array_equal(Columns.of(X).numbers(X)[:, 1], [3, 4, np.nan, 4])


def test_categories_of_numbers_are_written_as_text_alone(tmp_path, file):
    X = pd.DataFrame({"size": pd.Categorical([3, None, 7])})
    for name in ("a.parquet", "a.csv"):
        with pytest.raises(ValueError, match=r"'size': must hold .* of text.*; got 3\.") as e:
            write_parquet(tmp_path / name, X, [1, 0, 1], [7, 7, 7])
    advice = str(e.value).split("In pandas, ")[1].split(" makes")[0]
    exec(advice, {"X": X})
    write_parquet(file, X, [1, 0, 1], [7, 7, 7])
    assert (
        Columns.of(read_parquet(file).X)
        == Columns.of(X)
        == Columns({0: ["3", "7"]}, names=("size",))
    )


def test_documents_that_nobody_asked_for_may_be_ids_of_any_type(tmp_path):
    ids = pa.array([Decimal(7), Decimal(8)], pa.decimal128(18, 0))
    file = write(tmp_path / "ids.parquet", document=ids)
    assert read_parquet(file, comments=True).documents.tolist() == [7, 8]
    with pytest.raises(ValueError, match="numbers, text or dates; got decimal128"):
        read_parquet(file, document="document")


def test_the_index_of_a_data_frame_and_reserved_names_are_no_features(file):
    frame = pd.DataFrame({"clicks": [1, 0], "query": [7, 7], "label": [1, 0], "price": [0.5, 1]})
    frame.set_index(pd.Index(["x", "z"], name="id")).to_parquet(file)
    data = read_parquet(file, label="clicks")
    assert data.X.column_names == ["price"]
    both = ["id", "label"]
    assert read_parquet(file, label="clicks", features=both).X.column_names == both
    assert read_parquet(file, features="price").X.column_names == ["price"]


def test_a_folder_is_its_files_in_the_order_of_their_names(tmp_path):
    for name in ("b", "a"):
        write(tmp_path / f"{name}.parquet", query=[name, name])
    (tmp_path / "_SUCCESS").touch()
    assert read_parquet(tmp_path).qid.tolist() == ["a", "a", "b", "b"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="tells which files are open")
def test_few_files_of_a_folder_are_open_at_once(tmp_path):
    for name in range(20):
        write(tmp_path / f"{name}.parquet")
    before = len(os.listdir("/proc/self/fd"))
    batches = iter(parquet_batches(tmp_path))
    data = read_parquet(tmp_path)
    next(batches)
    assert len(os.listdir("/proc/self/fd")) <= before + 2
    assert len(data) == sum(len(batch) for batch in batches) + 2


@pytest.mark.parametrize("name", ["wide.parquet", "wide.csv"])
def test_a_file_of_many_columns_is_opened_a_few_times(tmp_path, monkeypatch, name):
    """Whoever opens a file reads the names of all columns: the work must not be their square."""
    opened, open_file = [], pq.ParquetFile
    monkeypatch.setattr(
        pq, "ParquetFile", lambda *a, **k: (opened.append(1), open_file(*a, **k))[1]
    )
    X = np.arange(1200.0).reshape(2, 600)
    write_parquet(tmp_path / name, X, [1, 0], ["q", "q"])
    np.testing.assert_array_equal(np.asarray(read_parquet(tmp_path / name).X), X)
    assert len(opened) <= 5


@pytest.mark.parametrize("name", ["wide.parquet", "wide.csv"])
def test_the_time_of_two_rows_grows_with_the_columns_and_not_with_their_square(tmp_path, name):
    """The square of 2,500 columns was not done in 45 s; now they take about .2 s."""
    path, seconds = tmp_path / name, []
    write_parquet(path, np.ones((2, 2500)), [1, 0], ["q", "q"])
    for _ in range(2):  # the first call imports
        start = time.process_time()
        assert read_parquet(path).X.num_columns == 2500
        seconds.append(time.process_time() - start)
    assert min(seconds) <= 1


def test_of_a_large_file_only_some_columns_are_held_twice(file, monkeypatch):
    n_rows, n_columns = 2**16, 100
    numbers = {f"f{i}": np.full(n_rows, i, float) for i in range(n_columns)}
    pq.write_table(pa.table({"label": numbers["f0"], "query": numbers["f1"]} | numbers), file)
    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    before = pa.default_memory_pool()
    try:
        pa.set_memory_pool(pool)
        X = read_parquet(file).X
    finally:
        pa.set_memory_pool(before)
    assert [column[-1].as_py() for column in X.columns] == [*range(n_columns)]
    assert pool.max_memory() < 1.5 * parquet_files._GROUP_BYTES < n_rows * n_columns * 8


def test_batches_are_the_same_rows(file):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(1000, 3)), rng.integers(40, size=1000).astype(str)
    comments = [f"docid = {i}" for i in range(1000)]
    write_parquet(file, X, X[:, 0], qid, comments=comments)
    whole = read_parquet(file, comments=True)
    np.testing.assert_array_equal(np.asarray(whole.X), X)
    assert whole.qid.tolist() == qid.tolist()
    assert whole.doc_ids.tolist() == [str(i) for i in range(1000)]
    write_batches(file, parquet_batches(file, batch_size=99, comments=True))
    again = read_parquet(file, comments=True)
    assert again.X.equals(whole.X)
    assert again.comments.tolist() == comments


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_data_frames_are_written_with_their_names(file, frame):
    columns = {"price": np.array([0.5, 1.0]), "color": ["red", "blue"]}
    write_parquet(file, frame(columns), [1, 0], [7, 7], query="user")
    data = read_parquet(file, query="user")
    assert data.X.to_pydict() == {"price": [0.5, 1.0], "color": ["red", "blue"]}
    assert data.qid.tolist() == [7, 7]
    with pytest.raises(ValueError, match=r"X must hold numbers only .* text in \['color'\]"):
        write_letor(file.with_suffix(".txt"), frame(columns), [1, 0], [7, 7])


NESTED = pa.array([[1.0], [2.0]])


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({}, {"label": "y"}, r"column 'y': the column for label must exist; got \['label'"),
        ({}, {"features": ["a"]}, "column 'a': must exist; got"),
        ({"label": ["1", "0"]}, {}, "column 'label': must hold numbers; got string"),
        ({"label": [np.inf, 1]}, {}, "column 'label': the label must be finite; got inf in row 0"),
        (
            {"label": [None, 2**53 + 1]},
            {},
            "the label must be below 2..53 in size; got 9.* in row 1",
        ),
        ({"query": ["a", None]}, {}, "column 'query': must not be missing; .* row 1"),
        ({"query": [1.0, np.nan]}, {}, "column 'query': must not be missing; .* row 1"),
        ({"query": NESTED}, {}, "column 'query': must hold numbers, text or dates; got list"),
        ({"query": ["a" * 300, "b"]}, {}, "column 'query': a query id must be text of at most 255"),
        ({"price": pa.array([[[1.0]], [[2.0]]])}, {}, "'price': must hold numbers, .*; got list"),
        ({"price": pa.array([["a"], ["b"]])}, {}, "'price': must hold numbers, text .*; got list"),
        ({}, {"features": []}, "must have a column of features"),
    ],
)
def test_a_wrong_column_is_an_error_that_names_file_and_column(file, columns, options, message):
    write(file, **columns)
    with pytest.raises(ValueError, match=message) as caught:
        read_parquet(file, **options)
    assert str(caught.value).startswith(str(file))
    assert len(str(caught.value)) < 600
    with pytest.raises(ValueError, match=message):
        list(parquet_batches(file, **options))


WHOLE = pa.table(GOOD)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table(GOOD | {"price": [1, 2]}), "'price': must be as in .*, float; got int64"),
        (WHOLE.append_column("new", [[1, 2]]), "'new': must be as in .*, no column; got int64"),
        (WHOLE.append_column("price", GOOD["price"]), "'price': must be there once; got it twice"),
    ],
)
def test_files_of_a_folder_have_the_same_columns(tmp_path, table, message):
    write(tmp_path / "a.parquet")
    pq.write_table(table, tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=f"b.parquet, column {message}"):
        read_parquet(tmp_path)


def test_what_is_no_whole_file_is_an_error_that_names_it(tmp_path, file):
    content = write(file).read_bytes()
    for damaged in (b"", content[:-9], content[:4] + b"\xff" * 40 + content[44:], b"1 qid:1 1:2\n"):
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=f"^{file}: a Parquet file must be whole and readable"):
            read_parquet(file)
    pq.write_table(pa.table(GOOD).slice(0, 0), file)
    with pytest.raises(ValueError, match=f"^{file}: a table must have rows; got none"):
        read_parquet(file)
    with pytest.raises(ValueError, match="a folder of Parquet files must hold"):
        read_parquet(tmp_path / "..")
    with pytest.raises(FileNotFoundError, match="absent"):
        read_parquet(tmp_path / "absent.parquet")


def test_row_groups_have_as_many_rows_as_the_file(file):
    query = np.arange(60)
    pq.write_table(pa.table({"label": query % 2, "query": query, "price": query}), file, 40)
    content = bytearray(file.read_bytes())
    rows_of_first_group = content.rfind(b"\x16\x50") + 1  # 40, as Thrift writes it
    content[rows_of_first_group] = 2 * 41
    file.write_bytes(content)
    metadata = pq.read_metadata(file)
    assert (metadata.num_rows, metadata.row_group(0).num_rows) == (60, 41)
    for read in (read_parquet, parquet_batches):
        with pytest.raises(ValueError, match=f"^{file}: must hold 60 rows, as it says; got 61"):
            read(file)


def test_a_failed_write_leaves_the_old_file(file):
    content = write(file).read_bytes()
    with pytest.raises(ValueError, match="label and query must be names that no other column has"):
        write_parquet(file, pd.DataFrame({"label": [1.0]}), [1], [7])
    with pytest.raises(ValueError, match="qid must have one entry per row; got 2 for 1 rows"):
        write_parquet(file, [[1.0]], [1], [7, 8])
    with pytest.raises(ValueError, match="batches must have rows; got no batch"):
        write_batches(file, [])
    assert file.read_bytes() == content
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_a_conversion_to_parquet_and_back_changes_no_byte(tmp_path):
    text = tmp_path / "train.txt"
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[0] = [np.nan, np.inf, -0.0]
    write_letor(text, X, X[:, 1] > 0, ["007", *["8"] * 59], comments=["docid = a", *[""] * 59])
    for source, target in [("train.txt", "a.parquet"), ("a.parquet", "back.txt")]:
        run("convert", tmp_path / source, tmp_path / target)
    assert (tmp_path / "back.txt").read_bytes() == text.read_bytes()
    assert read_letor(tmp_path / "back.txt").qid[0] == "007"


def test_ids_that_no_type_of_arrow_holds_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"qid must be numbers, text or dates; got .*2361183241"):
        write_parquet(tmp_path / "a.parquet", np.ones((1, 1)), [1], [2**71])
    for name in ("a.parquet", "a.csv"):
        with pytest.raises(
            TypeError, match=r"qid must be numbers, text or dates; got.*as one text"
        ):
            write_parquet(tmp_path / name, np.ones((2, 1)), [1, 0], [(1, 2), (1, 3)])


def test_numbers_of_another_byte_order_are_written_and_masked_ones_refused(tmp_path):
    file, X = tmp_path / "a.parquet", np.array([[0.5], [1.5]])
    write_parquet(file, X.astype(">f8"), [1, 0], [7, 7])
    np.testing.assert_array_equal(read_parquet(file).X.column(0).to_numpy(), X[:, 0])
    for write in (write_parquet, write_letor):
        with pytest.raises(ValueError, match="X must have no masked entries; got 1 of 2"):
            write(file, np.ma.array(X, mask=[[True], [False]]), [1, 0], [7, 7])
    write_parquet(file, X, [1, 0], ["a\0b", "a\0c"])
    with pytest.raises(ValueError, match=r"a query id must be text of .* without NUL"):
        read_parquet(file)  # ids are not cut at the character


def test_dates_are_days_since_a_date_in_files_of_any_kind(tmp_path):
    zone = timezone(timedelta(hours=2))
    times = [datetime(2026, 1, 2, 12), None, datetime(2025, 12, 31, 0, 0, 1)]
    zoned = [datetime(2026, 1, 1, 14, tzinfo=zone), datetime(2026, 1, 1, 1, tzinfo=zone), None]
    days = [date(2026, 1, 1), date(2028, 3, 1), None]
    table = {
        "label": [1, 0, 1],
        "query": [7, 7, 7],
        "day": pa.array(days, pa.date32()),
        "day64": pa.array(days, pa.date64()),
        **{f"time_{unit}": pa.array(times, pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
        "zoned": pa.array(zoned, pa.timestamp("us", "Europe/Berlin")),
        "price": [0.5, 1.0, 2.0],
    }
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(table), path)

    def by_hand(values, start):
        start = start.replace(tzinfo=UTC)
        times = [
            v if v is None or isinstance(v, datetime) else datetime(*v.timetuple()[:3])
            for v in values
        ]
        times = [v if v is None or v.tzinfo else v.replace(tzinfo=UTC) for v in times]
        return [np.nan if v is None else (v - start).total_seconds() / 86400 for v in times]

    for start in (datetime(2026, 1, 1), datetime(1969, 7, 20, 6)):
        expected = {"day": days, "day64": days, "time_s": times, "time_ms": times, "time_us": times}
        expected |= {"time_ns": times, "zoned": zoned}
        X = read_parquet(path, days_since=start.isoformat()).X
        assert X.column_names == [*expected, "price"]
        for name, values in expected.items():
            np.testing.assert_allclose(
                X.column(name).to_numpy(), by_hand(values, start), rtol=1e-15
            )
        (batch,) = read_batches(path, days_since=start)
        np.testing.assert_array_equal(batch.X.to_pandas(), X.to_pandas())
    assert X.column("price").to_pylist() == [0.5, 1, 2]
    same = read_parquet(path, days_since=date(2026, 1, 1)).X
    zoned_start = read_parquet(path, days_since="2026-01-01T02:00+02:00").X
    np.testing.assert_array_equal(same.to_pandas(), zoned_start.to_pandas())

    with pytest.raises(ValueError, match=r"'day': .* Write days_since='2026-01-01' for the number"):
        read_parquet(path)
    for wrong in ("01/02/2026", 20260101, ""):
        with pytest.raises(ValueError, match=rf"days_since must be a date .*; got {wrong!r}"):
            read_parquet(path, days_since=wrong)


def test_texts_of_dates_are_days_as_they_are_in_a_csv_file(tmp_path):
    frame = pd.DataFrame(
        {
            "label": [1, 0, 2],
            "query": ["2026-01-01"] * 3,
            "day": ["2026-01-03", "2026-02-01", "NA"],
            "mixed": ["2026-01-03", "2026-01-01 12:00", "2026-01-01T00:00:00.5"],
            "zoned": ["2026-01-01T02:00:00+02:00", None, "2026-01-02T00:00:00Z"],
            "word": ["2026-01-03", "2026-02-01", "soon"],
            "kind": pd.Categorical(["2026-01-03", "2026-02-01", "2026-02-01"]),
        }
    )
    text = frame.drop(columns="kind")
    text.to_csv(tmp_path / "t.csv", index=False)
    expected = read_csv(tmp_path / "t.csv", days_since="2026-01-01")
    assert expected.X["mixed"].to_pylist() == [2, 0.5, 0.5 / 86_400]
    assert expected.X["word"].to_pylist() == [*frame["word"]]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pandas(text), path, row_group_size=1)
    whole = read_parquet(path, days_since="2026-01-01")
    batches = [*read_batches(path, days_since="2026-01-01", batch_size=1)]
    for tables in ([whole.X], [batch.X for batch in batches]):
        read = pa.concat_tables(tables).to_pandas()
        pd.testing.assert_frame_equal(read, expected.X.to_pandas())
    assert whole.qid.tolist() == [*frame["query"]]
    assert read_parquet(path).X["day"].to_pylist() == [*frame["day"]]
    frame.to_parquet(path)
    kind = read_parquet(path, days_since="2026-01-01").X["kind"]
    assert kind.to_pylist() == [*frame["kind"]]


def test_dates_of_a_csv_file_are_days_and_dates_of_queries_stay_dates(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "label,query,at\n1,2026-05-01,2026-01-02\n0,2026-05-01,\n0,2026-05-02,2025-12-31\n"
    )
    data = read_csv(path, days_since="2026-01-01")
    np.testing.assert_array_equal(data.X.column("at").to_numpy(), [1, np.nan, -1])
    plain = read_csv(path, features=["at"], label=None, days_since="2026-01-01")
    assert data.qid.tolist() == plain.qid.tolist()
    assert len(set(data.qid.tolist())) == 2


def test_text_without_a_date_stays_text_and_far_dates_are_numbers(file):
    texts = {"brand": pa.array([None, None], pa.string()), "day": ["9999-12-31", "1500-01-02"]}
    X = read_parquet(write(file, **texts), days_since="2026-01-01").X
    assert pa.types.is_large_string(X.schema.field("brand").type)
    start = date(2026, 1, 1)
    days = [(date(*day) - start).days for day in ((9999, 12, 31), (1500, 1, 2))]
    assert X.column("day").to_pylist() == days
