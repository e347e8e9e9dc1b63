"""Folders of Parquet files: columns that folders name, files that are read, and object stores."""

import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from command_line import SMALL, run

from treerank import HistogramTrees, TreeDirectRanker, checkpointing, compare, load, read_batches
from treerank.clicks.tables import named_columns
from treerank.datasets import read_parquet
from treerank.datasets.parquet import parquet_batches
from treerank.datasets.parquet_files import column_names

RNG = np.random.default_rng(0)
N = 240
FRAME = pd.DataFrame(RNG.normal(size=(N, 3)).astype(np.float32), columns=["a", "b", "c"]).assign(
    color=RNG.choice(["red", "blue", "green"], size=N),
    document=[f"d{i}" for i in range(N)],
    query=RNG.permutation(N) // 10,  # queries are cut across files
    shop=RNG.choice(["north", "south/east", "süd"], size=N),
    month=RNG.integers(1, 5, size=N),
)
FRAME["label"] = np.where(RNG.random(N) < 0.1, np.nan, (FRAME["a"] > 0) + FRAME["month"] % 2)
FRAME.loc[FRAME["month"] == 1, "color"] = "red"  # files differ in their categories
FEATURES = ["a", "b", "c", "color", "month", "shop"]


def ranker():
    return TreeDirectRanker(HistogramTrees(n_estimators=3, num_leaves=5, n_jobs=1), random_state=0)


def write(folder, frame=FRAME, columns=("month", "shop")):
    """Write a folder as pyarrow does, with folders named by some columns."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    names = pa.schema([table.schema.field(name) for name in columns])
    partitioning = ds.partitioning(names, flavor="hive")
    ds.write_dataset(table, folder, format="parquet", partitioning=partitioning)
    return folder


def rows_of(data):
    """Return the rows of what was read, by document."""
    frame = data.X.to_pandas().assign(label=data.y, query=data.qid, document=data.documents)
    return frame.sort_values("document", ignore_index=True)


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "train")


def test_names_of_folders_are_columns_as_pyarrow_reads_them(folder):
    data = read_parquet(folder, document="document")
    assert data.X.column_names == ["a", "b", "c", "color", "month", "shop"]
    assert data.X.schema.field("month").type == pa.float32()  # so small numbers need no more
    expected = ds.dataset(folder, partitioning="hive").to_table().to_pandas()
    read = rows_of(data)
    expected = expected.sort_values("document", ignore_index=True)[read.columns]
    pd.testing.assert_frame_equal(read, expected, check_dtype=False)
    assert column_names(folder)[-2:] == ["month", "shop"]
    assert set(column_names(folder)) == set(FRAME.columns)


def test_a_column_of_folders_may_be_label_query_or_document_or_be_dropped(folder):
    data = read_parquet(folder, label="month", query="shop", features=["a", "b"])
    assert np.unique(data.y).tolist() == [1, 2, 3, 4]
    assert np.unique(data.qid).tolist() == ["north", "south/east", "süd"]
    data = read_parquet(folder, document="shop", drop=["color", "month"])
    assert np.unique(data.documents).tolist() == ["north", "south/east", "süd"]
    assert data.X.column_names == ["a", "b", "c"]
    only = read_parquet(folder, features=["month"], label=None, query=None)
    assert only.X.column_names == ["month"]
    assert sorted(only.X.column("month").to_pylist()) == sorted(FRAME["month"])
    pieces = [*parquet_batches(folder, features=["month"], label=None, query=None, batch_size=7)]
    assert [v for p in pieces for v in p.X["month"].to_pylist()] == only.X["month"].to_pylist()
    shop, month = named_columns(folder, {"query": "shop", "position": "month"}, ["shop"])
    assert (shop[0], month[0]) == ("north", 1)


def test_values_of_folders_are_numbers_dates_or_text_and_ids_lose_no_character(tmp_path):
    def typed(*values, **options):
        shutil.rmtree(tmp_path, ignore_errors=True)
        for number, value in enumerate(values):
            inner = tmp_path / f"key={value}"
            inner.mkdir(parents=True)
            pq.write_table(
                pa.table({"label": [1.0], "query": [1], "n": [number]}), inner / "a.parquet"
            )
        return read_parquet(tmp_path, **options)

    def of_feature(*values, **options):
        return typed(*values, **options).X.column("key").to_pylist()

    assert of_feature("01", "2") == [1, 2]
    assert of_feature("1", "70000") == [1, 70000]
    assert of_feature("1", str(2**40)) == [1, 2**40]
    assert of_feature("-1.5", "1e3") == [-1.5, 1000]
    assert of_feature("0x1F", "1") == ["0x1F", "1"]
    assert of_feature("1", "nan") == ["1", "nan"]
    assert of_feature("false", "true") == [0, 1]
    assert of_feature("a", "b%2Fc", "d=e") == ["a", "b/c", "d=e"]
    np.testing.assert_array_equal(of_feature("1", "__HIVE_DEFAULT_PARTITION__"), [1, np.nan])
    assert of_feature("a", "__HIVE_DEFAULT_PARTITION__") == [None, "a"]  # in order of the names
    assert of_feature("2026-01-02", "2026-03-01", days_since="2026-01-01") == [1, 59]
    with pytest.raises(ValueError, match=r"column 'key': .* Write days_since="):
        typed("2026-01-02")
    assert typed("007", "7", query="key").qid.tolist() == ["007", "7"]
    assert typed("6", "7", query="key").qid.tolist() == [6, 7]
    assert typed("2026-01-02", query="key").qid.tolist() == ["2026-01-02"]
    with pytest.raises(ValueError, match=r"column 'key': must not be missing; got None in row 0"):
        typed("1", "__HIVE_DEFAULT_PARTITION__", query="key")


def test_the_names_of_folders_count_where_files_have_the_column_too(tmp_path):
    for year in (2025, 2026):
        inner = tmp_path / f"year={year}"
        inner.mkdir()
        table = pa.table({"label": [1.0], "year": pa.array([0], pa.int32()), "query": [year]})
        pq.write_table(table, inner / "a.parquet")
    data = read_parquet(tmp_path)
    assert data.X.to_pydict() == {"year": [2025, 2026]}
    of_pyarrow = ds.dataset(tmp_path, partitioning="hive").to_table()
    assert of_pyarrow["year"].to_pylist() == [2025, 2026]


def test_hidden_files_and_other_folders_are_not_read(folder):
    expected = rows_of(read_parquet(folder, document="document"))
    file = next(folder.rglob("*.parquet"))
    for name in ("_temporary/0", ".cache", "backup", "month=1/backup"):
        (folder / name).mkdir(parents=True)
        shutil.copy(file, folder / name / "copy.parquet")
    shutil.copy(file, folder / "month=1" / "_tmp.parquet")
    shutil.copy(file, folder / "month=1" / "._a.parquet")
    (folder / "_SUCCESS").touch()
    (folder / "README.txt").write_text("rows of shops")
    pd.testing.assert_frame_equal(rows_of(read_parquet(folder, document="document")), expected)


def test_folders_that_do_not_all_name_a_column_are_refused(folder):
    file = next(folder.rglob("*.parquet"))
    shutil.copy(file, folder / "month=1" / "z.parquet")
    with pytest.raises(ValueError, match=r"z.parquet, column 'shop': must be in the names of all"):
        read_parquet(folder)
    (folder / "month=1" / "z.parquet").unlink()
    (folder / "month=1" / "shop=north" / "year=7").mkdir()
    shutil.copy(file, folder / "month=1" / "shop=north" / "year=7" / "z.parquet")
    with pytest.raises(ValueError, match=r"z.parquet, column 'year': .* got year=7"):
        read_parquet(folder)


def test_a_folder_without_files_says_what_it_must_hold(tmp_path):
    (tmp_path / "plain").mkdir()
    with pytest.raises(ValueError, match=r"must hold \*.parquet, or folders such as year=2026"):
        read_parquet(tmp_path)


def test_missing_values_alone_and_other_kinds_of_text_are_no_difference(tmp_path):
    """pandas writes a column of nothing without a type, polars text with long offsets."""
    kinds = [pa.null(), pa.string(), pa.large_string(), pa.null()]
    for number, kind in enumerate(kinds):
        values = [None if pa.types.is_null(kind) else "red"]
        levels = pa.array(values, kind)
        levels = levels if pa.types.is_null(kind) else pa.array(["x"]).dictionary_encode()
        price = pa.array([None if number == 2 else 0.5], pa.null() if number == 2 else pa.float32())
        table = {"label": [1.0], "query": [number], "color": pa.array(values, kind)}
        table |= {"size": levels, "price": price}
        pq.write_table(pa.table(table), tmp_path / f"{number}.parquet")
    X = read_parquet(tmp_path).X
    assert X["color"].to_pylist() == [None, "red", "red", None]
    assert X["size"].to_pylist() == [None, "x", "x", None]
    np.testing.assert_array_equal(X["price"].to_numpy(), [0.5, 0.5, np.nan, 0.5])
    batches = [*parquet_batches(tmp_path)]
    assert [b.X["color"].to_pylist() for b in batches] == [[None], ["red"], ["red"], [None]]
    assert len({str(b.X.schema) for b in batches}) == 1


def test_a_fit_to_a_folder_is_the_fit_to_its_rows_in_memory(folder):
    X, y, qid = FRAME[FEATURES], FRAME["label"], FRAME["query"]
    expected = ranker().fit(X, y, qid)
    data = read_parquet(folder, document="document")
    for fitted in (
        ranker().fit(*data),
        ranker().fit(read_batches(folder, document="document", batch_size=17)),
    ):
        np.testing.assert_array_equal(fitted.predict(X), expected.predict(X))
        by_document = pd.Series(fitted.predict(data.X), index=data.documents)
        np.testing.assert_array_equal(by_document[FRAME["document"]], expected.predict(X))
    # Row groups of all files are dealt to workers: each row has one.
    shares = [parquet_batches(folder, document="document", share=(i, 3)) for i in range(3)]
    dealt = [d for share in shares for batch in share for d in batch.documents]
    assert sorted(dealt) == sorted(FRAME["document"])


def test_a_fit_to_a_folder_goes_on_unless_a_folder_was_renamed(folder, tmp_path):
    def interrupt(n_done, n_total, values):
        if n_done == 2:
            raise KeyboardInterrupt

    def resumed():
        done, data = [], read_batches(folder, drop="document")
        fitted = ranker().fit(data, callbacks=[lambda n_done, n_total, values: done.append(n_done)])
        return fitted.predict(data), done[0] - 1

    def killed():
        with pytest.raises(KeyboardInterrupt):
            ranker().fit(read_batches(folder, drop="document"), callbacks=[interrupt])

    expected, _ = resumed()
    with checkpointing(tmp_path / "fit", every=1):
        killed()
        scores, n_before = resumed()
        assert n_before > 0
        np.testing.assert_array_equal(scores, expected)
    (tmp_path / "fit").unlink()
    with checkpointing(tmp_path / "fit", every=1):
        killed()
        (folder / "month=1").rename(folder / "month=9")
        assert resumed()[1] == 0


@pytest.mark.filterwarnings("ignore:Of the first")
def test_rankers_are_compared_on_a_folder_as_on_its_rows(folder):
    X, y, qid = FRAME[FEATURES], FRAME["label"], FRAME["query"]
    rankers = {"small": ranker(), "other": ranker().set_params(weight="uniform")}
    data = read_parquet(folder, drop="document")
    both = [compare(rankers, d, cv=3, metrics="ndcg@5") for d in (data, (X, y, qid))]
    values = [comparison.by_query("ndcg@5") for comparison in both]
    assert np.unique(values[0]).size > 5
    np.testing.assert_array_equal(np.sort(values[0]), np.sort(values[1]))


def test_commands_read_a_folder(folder, tmp_path):
    model, options = tmp_path / "model.treerank", ["--drop", "document"]
    said = run("fit", folder, "--model", model, *options, *SMALL).stderr
    assert f"read {folder}: 240 documents of 24 queries" in said
    X = FRAME[FEATURES]
    rows = run("rank", model, folder, "--id", "document").stdout.splitlines()[1:]
    scores = {line.split("\t")[1]: float(line.split("\t")[3]) for line in rows}
    expected = load(model).predict(X)
    np.testing.assert_allclose([scores[d] for d in FRAME["document"]], expected, rtol=1e-6)
    by_month = ["--label", "label", "--query", "month", "--drop", "document"]
    run("fit", folder, "--model", model, *by_month, *SMALL)
    said = run("evaluate", model, folder, "--query", "month").stdout
    assert said.splitlines()[-1].startswith("all")
    run("compare", model, folder)
    batches = ["--feature-part", "histogram", "--memory", "1M", *options]
    run("fit", folder, "--model", model, *batches, *SMALL)
    run("convert", folder, tmp_path / "all.csv", "--id", "document")
    assert len((tmp_path / "all.csv").read_text().splitlines()) == N + 1
