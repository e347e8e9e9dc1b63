"""Files that a URL names or a file system holds are those of this machine."""

import os
import sys
import threading
from pathlib import Path

import fsspec
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from command_line import SMALL, refusal, run
from pyarrow import fs

from treerank import read_batches, read_csv, read_letor, read_parquet
from treerank.datasets import write_parquet
from treerank.datasets.parquet import parquet_batches
from treerank.files.object_stores import Store, as_url, shown

FRAME = pd.DataFrame({"price": np.arange(60.0), "query": np.arange(60) // 6})
FRAME["label"] = FRAME["price"] % 3


@pytest.fixture
def folder(tmp_path):
    """Return a folder with twelve files, in folders of Hive; a copy is in the memory of fsspec."""
    memory = fsspec.filesystem("memory")
    for part, rows in FRAME.groupby(np.arange(60) // 5):
        inner = tmp_path / "train" / f"day={part % 3}"
        inner.mkdir(parents=True, exist_ok=True)
        rows.to_parquet(inner / f"{part:02}.parquet", index=False)
    memory.put(str(tmp_path / "train"), "/bucket/", recursive=True)
    memory.touch("/bucket/train/_SUCCESS")
    yield tmp_path / "train"
    memory.rm("/bucket", recursive=True)


def assert_same(data, expected):
    assert data.X.equals(expected.X)
    np.testing.assert_array_equal(data.y, expected.y)
    np.testing.assert_array_equal(data.qid, expected.qid)


def test_a_url_and_a_file_system_name_the_files_of_a_folder(folder):
    expected = read_parquet(folder)
    assert expected.X.column_names == ["price", "day"]
    tree = fs.SubTreeFileSystem(str(folder.parent), fs.LocalFileSystem())
    sources = [
        ("memory://bucket/train", None),
        ("memory://bucket/train/", None),
        (Path("memory://bucket/train/"), None),
        (folder.as_uri(), None),
        (Path(folder.as_uri()), None),
        ("train", tree),
        ("train/", tree),
        ("/bucket/train", fsspec.filesystem("memory")),
        (str(folder), fsspec.filesystem("file")),
    ]
    for path, filesystem in sources:
        assert_same(read_parquet(path, filesystem=filesystem), expected)
        batches = [*read_batches(path, filesystem=filesystem, batch_size=2)]
        assert np.concatenate([b.y for b in batches]).tolist() == expected.y.tolist()
        assert max(map(len, batches)) == 2
    file = "memory://bucket/train/day=0/00.parquet"
    assert_same(read_parquet(file), read_parquet(folder / "day=0" / "00.parquet"))


def test_messages_name_the_files_of_a_store(folder):
    memory = fsspec.filesystem("memory")
    with pytest.raises(FileNotFoundError, match="'memory://bucket/absent'"):
        read_parquet("memory://bucket/absent")
    with pytest.raises(ValueError, match=r"^memory://bucket/train/day=0/00.parquet, column 'y':"):
        read_parquet("memory://bucket/train", label="y")
    memory.pipe("/bucket/train/day=1/99.parquet", b"PAR1 and more")
    with pytest.raises(
        ValueError, match=r"^memory://bucket/train/day=1/99.parquet: a Parquet file"
    ):
        read_parquet("memory://bucket/train")
    memory.mkdir("/bucket/empty")
    with pytest.raises(ValueError, match=r"^memory://bucket/empty: .* must hold \*.parquet"):
        read_parquet("memory://bucket/empty")


@pytest.mark.parametrize(
    ("read", "name"),
    [(read_csv, "a.csv"), (read_batches, "a.tsv.gz"), (read_batches, "a.txt"), (read_letor, "a")],
)
def test_files_of_text_are_read_from_this_machine_only(read, name):
    fsspec.filesystem("memory").pipe(f"/bucket/{name}", b"1 qid:1 1:2")
    rule = rf"memory://bucket/{name}: only Parquet files are read from an object store; copy"
    with pytest.raises(ValueError, match=rule):
        [*read(f"memory://bucket/{name}")]


def test_what_is_no_store_is_refused_with_what_to_do(monkeypatch):
    with pytest.raises(TypeError, match=r"filesystem must be a file system of pyarrow or fsspec"):
        read_parquet("train", filesystem="s3")
    with pytest.raises(ValueError, match=r"nowhere://bucket/train: Protocol not known: nowhere"):
        read_parquet("nowhere://bucket/train")
    with pytest.raises(ValueError, match=r"must be a URL of an object store; got .*query param"):
        read_parquet("s3://bucket/train?colour=red&region=us-east-1")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(ImportError, match=r"memory://bucket/x needs fsspec: pip install fsspec"):
        read_parquet("memory://bucket/x")


def test_no_message_shows_a_password(folder):
    for secret in ("key:SECRET@bucket/train?colour=red", "bucket/train?secret_key=SECRET&colour=1"):
        with pytest.raises(ValueError, match=r"^s3://bucket/train: must be a URL") as caught:
            read_parquet(f"s3://{secret}")
        assert "SECRET" not in str(caught.value)
    with pytest.raises(ValueError, match=r"^s3://bucket/t: .*'s3://bucket/t'") as caught:
        read_parquet("s3://key:SECRET%RET@bucket/t")
    assert "SECRET" not in str(caught.value)
    url = f"{folder.as_uri()}?secret=7"
    assert shown(url) == folder.as_uri()
    assert shown("abfs://container@account.net/x") == "abfs://container@account.net/x"
    assert f"{folder.as_uri()}," in repr(read_batches(url))
    store = Store(None, "https://key:SECRET@host/a.parquet?token=7", "https://")
    assert store.name_of(store.path) == "https://host/a.parquet"


def test_errors_of_a_store_name_what_was_looked_for():
    class Closed(fs.FileSystemHandler):
        """A store to which nobody is let in."""

        def get_type_name(self):
            return "closed"

        def get_file_info(self, paths):
            raise PermissionError("AWS Error ACCESS_DENIED\nduring HeadObject operation")

    for name in Closed.__abstractmethods__:
        setattr(Closed, name, lambda self, *arguments: None)
    Closed.__abstractmethods__ = frozenset()
    with pytest.raises(OSError, match=r"^bucket/train: must be within reach; got 'AWS Error"):
        read_parquet("bucket/train", filesystem=fs.PyFileSystem(Closed()))


def test_urls_are_told_from_paths():
    for path in ("train.parquet", "/data/train", "a/b:c/d", "C:/data", "C:\\data", "-", "day=1"):
        assert as_url(path) is None
        assert as_url(Path(path)) is None
    assert as_url(Path("s3://bucket/a b/train/")) == "s3://bucket/a b/train"
    assert as_url("hdfs:///user/x") == "hdfs:///user/x"
    assert shown("s3://bucket/x?secret=7") == "s3://bucket/x"
    assert Store.of("train") is None


def test_metadata_of_files_in_a_store_are_read_at_the_same_time(folder, monkeypatch):
    """A request takes long: the files of a folder must not wait for each other."""
    barrier, opened = threading.Barrier(4, timeout=10), pq.ParquetFile

    def waiting(source, **settings):
        if settings.get("metadata") is None:
            barrier.wait()  # until four are here; 12 files are three rounds
        return opened(source, **settings)

    monkeypatch.setattr(pq, "ParquetFile", waiting)
    assert len(read_parquet("memory://bucket/train")) == 60


def test_a_store_is_read_one_group_of_rows_at_a_time(tmp_path):
    """What is fetched of a file in a store stays in memory until its last row is read."""
    import pyarrow as pa

    n_rows, n_columns = 2**14, 40
    X = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    table = pa.table({f"f{j}": X[:, j] for j in range(n_columns)})
    table = table.append_column("label", pa.array(X[:, 0])).append_column("query", [[7] * n_rows])
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=n_rows // 16)
    tree = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    before, n_read, held = pa.total_allocated_bytes(), 0, []
    for batch in parquet_batches("a.parquet", filesystem=tree, batch_size=512):
        n_read += len(batch)
        held.append(pa.total_allocated_bytes() - before)
    assert n_read == n_rows
    assert max(held) < os.path.getsize(tmp_path / "a.parquet") / 3


def test_commands_read_a_url_and_write_to_this_machine(folder, tmp_path):
    model, url = tmp_path / "model.treerank", "memory://bucket/train/"
    said = run("fit", url, "--model", model, *SMALL).stderr
    assert "read memory://bucket/train: 60 documents of 10 queries, 2 features" in said
    expected = run("evaluate", model, folder).stdout
    assert run("evaluate", model, url).stdout == expected
    assert run("evaluate", model, url, "--memory", "1M").stdout == expected
    run("compare", model, url)
    run("convert", url, tmp_path / "train.csv")
    assert len((tmp_path / "train.csv").read_text().splitlines()) == 61
    said = refusal("fit", folder, "--model", "s3://bucket/model.treerank")
    assert "s3://bucket/model.treerank: files are written to this machine only" in said


def test_a_folder_that_was_written_here_is_the_same_in_a_store(tmp_path):
    write_parquet(tmp_path / "a.parquet", [[0.5], [1.5]], [1, 0], [7, 7])
    fsspec.filesystem("memory").put(str(tmp_path / "a.parquet"), "/one/a.parquet")
    assert_same(read_parquet("memory://one/a.parquet"), read_parquet(tmp_path / "a.parquet"))
    assert_same(read_parquet("memory://one"), read_parquet(tmp_path))
