"""A store that speaks S3, on this machine: readers and commands read folders of Hive from it."""

import numpy as np
import pytest
from command_line import SMALL, run
from pyarrow import fs
from ranking_sample import make_ranking_sample
from s3_server import s3_server
from worker_fits import assert_equal_fits, frame_of

from treerank import HistogramTrees, TreeDirectRanker, load, read_batches, read_parquet

pytest.importorskip("s3fs")
pytest.importorskip("moto.server")

pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

X, Y, QID = make_ranking_sample(n_queries=15)
FRAME = frame_of(X, Y, [f"q{q}" for q in QID])


@pytest.fixture(scope="module")
def store():
    """Return the URL of a folder with twelve files, and file systems that reach its bucket."""
    with s3_server("bucket") as (address, files, _):
        for part in range(12):
            rows = FRAME[np.arange(len(FRAME)) % 12 == part]
            with files.open(f"bucket/train/day={part % 3}/{part:02}.parquet", "wb") as file:
                rows.to_parquet(file, index=False)
        with files.open("bucket/train/_SUCCESS", "wb"):
            pass
        query = f"endpoint_override={address}&scheme=http&region=us-east-1"
        of_pyarrow = fs.S3FileSystem(
            access_key="a", secret_key="b", endpoint_override=address, scheme="http"
        )
        yield f"s3://bucket/train/?{query}", files, of_pyarrow


@pytest.fixture(autouse=True)
def credentials(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "a")


def ranker():
    return TreeDirectRanker(HistogramTrees(n_estimators=4, n_jobs=1), random_state=0)


def test_readers_read_a_folder_by_its_url_or_by_a_file_system(store):
    url, *filesystems = store
    expected = ranker().fit(FRAME.drop(columns=["label", "query"]), FRAME["label"], FRAME["query"])
    for path, filesystem in [(url, None), *(("bucket/train", files) for files in filesystems)]:
        data = read_parquet(path, drop="day", filesystem=filesystem)
        assert len(data) == len(FRAME)
        assert_equal_fits(ranker().fit(*data), expected)
        batches = read_batches(path, drop="day", filesystem=filesystem, batch_size=50)
        assert_equal_fits(ranker().fit(batches), expected)
    with pytest.raises(FileNotFoundError, match="s3://bucket/absent"):
        read_parquet(url.replace("train", "absent"))
    with pytest.raises((OSError, ValueError), match="s3://nobucket/train"):
        read_parquet(url.replace("bucket", "nobucket"))


def test_commands_read_a_folder(store, tmp_path, monkeypatch):
    model, histogram = tmp_path / "model.treerank", ["--feature-part", "histogram", *SMALL]
    run("fit", store[0], "--model", model, "--drop", "day", *histogram)
    FRAME.to_parquet(tmp_path / "train.parquet", index=False)
    run("fit", tmp_path / "train.parquet", "--model", tmp_path / "here.treerank", *histogram)
    assert_equal_fits(load(model), load(tmp_path / "here.treerank"))
    assert (
        run("evaluate", model, store[0]).stdout
        == run("evaluate", model, tmp_path / "train.parquet").stdout
    )
    address = store[0].partition("endpoint_override=")[2].partition("&")[0]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{address}")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    plain = run("evaluate", model, "s3://bucket/train/").stdout
    assert plain == run("evaluate", model, store[0]).stdout
