import json
import os
import pickle
import tracemalloc
import zipfile
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treerank.files import archive
from treerank.files.archive import FORMAT_VERSION, read_archive, write_archive

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
keys = st.text() | st.integers()
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner) | st.lists(inner).map(tuple),
    max_leaves=10,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("archives")


@pytest.fixture(scope="module")
def whole(folder):
    path = folder / "whole.treerank"
    write_archive(path, {"weight": np.arange(3.0), "text": "ä" * 50, "blob": bytes(range(256))})
    return path


def rewritten(path, to, **changed):
    """Copy an archive with changes to its manifest."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(to, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name == "treerank.json":
                data = json.dumps(json.loads(data) | changed).encode()
            target.writestr(name, data)
    return to


@settings(max_examples=40)  # each one waits for the disk
@given(st.dictionaries(st.text(), trees))
def test_values_come_back_with_their_types(folder, content):
    path = folder / "round.treerank"
    write_archive(path, content)
    assert repr(read_archive(path)) == repr(content)


def test_values_that_are_not_compressed_come_back_from_a_larger_file(folder, whole):
    path, content = folder / "stored.treerank", read_archive(whole)
    write_archive(path, content, compress=False)
    assert repr(read_archive(path)) == repr(content)
    assert path.stat().st_size > whole.stat().st_size


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int8).reshape(2, 3),
        np.asfortranarray(np.ones((2, 3), dtype=np.float32)),
        np.array([np.nan, -0.0, np.inf]),
        np.array(["a", "bc"]),
        np.array(["a", 1, None], dtype=object),
        np.empty((0, 4)),
    ],
    ids=lambda array: str(array.dtype),
)
def test_arrays_come_back_with_their_types(folder, array):
    path = folder / "array.treerank"
    write_archive(path, {"array": array})
    back = read_archive(path)["array"]
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


def test_numpy_scalars_become_numbers_and_objects_are_kept_by_name_only(folder):
    numbers = {"a": np.float32(0.5), "b": np.int64(3), "c": np.True_}
    write_archive(folder / "own", numbers | {"seed": np.random.default_rng(0)})
    expected = "{'a': 0.5, 'b': 3, 'c': True, 'seed': 'Generator (not saved)'}"
    assert repr(read_archive(folder / "own")) == expected


@pytest.mark.parametrize(
    "value",
    [
        date(2026, 5, 1),
        datetime(2026, 5, 1, 10, 30, 0, 250),
        datetime(2026, 5, 1, 12, tzinfo=timezone(timedelta(hours=2))),
        pd.Timestamp("2026-05-01 10:30:00.000000001"),
        pd.Timestamp("2026-05-01", tz="Asia/Tokyo"),
        np.datetime64("2026-05-01T10:30:00.000000001"),
        np.datetime64("2026-05"),
    ],
    ids=str,
)
def test_dates_come_back_in_utc(folder, value):
    write_archive(folder / "dates", {"pairs": {value: value}, "list": [value]})
    back = read_archive(folder / "dates")
    expected = pd.Timestamp(value)
    expected = expected if expected.tzinfo is None else expected.tz_convert(None)
    ((key, entry),) = back["pairs"].items()
    assert [pd.Timestamp(one) for one in (key, entry, *back["list"])] == [expected] * 3


def test_the_same_content_gives_the_same_bytes(folder, whole):
    write_archive(folder / "again", read_archive(whole))
    assert (folder / "again").read_bytes() == whole.read_bytes()


def test_a_file_cut_anywhere_is_truncated(folder, whole):
    data, cut = whole.read_bytes(), folder / "cut"
    for length in range(len(data)):
        cut.write_bytes(data[:length])
        with pytest.raises(ValueError, match=r"complete file; .*cut is truncated or damaged"):
            read_archive(cut)


def test_a_damaged_byte_is_noticed_or_harmless(folder, whole):
    data, damaged = whole.read_bytes(), folder / "damaged"
    expected = repr(read_archive(whole))
    for place in range(len(data)):
        damaged.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        try:
            found = read_archive(damaged)
        except ValueError:
            continue
        assert repr(found) == expected  # a byte that carries nothing, such as a date


@given(st.binary())
def test_random_bytes_are_no_model(folder, data):
    (folder / "random").write_bytes(data)
    with pytest.raises(ValueError, match=r"is something else|is truncated or damaged"):
        read_archive(folder / "random")


def test_other_files_are_something_else(folder):
    with zipfile.ZipFile(folder / "other.zip", "w") as other:
        other.writestr("readme.txt", "Hello")
    (folder / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    (folder / "model.txt").write_text("tree\nversion=v4\n")
    (folder / "model.pickle").write_bytes(pickle.dumps({"weight": 1.0}))
    for name in ("other.zip", "image.png", "model.txt", "model.pickle"):
        with pytest.raises(ValueError, match=f"treerank model; .*{name} is something else"):
            read_archive(folder / name)


OURS = {"format": "treerank model", "content": {}}
NO_VERSIONS = [OURS | {"format_version": version} for version in (0, True, "1")]


@pytest.mark.parametrize("manifest", [[], {}, {"format": "other"}, "text", 3, *NO_VERSIONS])
def test_a_manifest_of_something_else_is_something_else(folder, manifest):
    with zipfile.ZipFile(folder / "alien", "w") as alien:
        alien.writestr("treerank.json", json.dumps(manifest))
    with pytest.raises(ValueError, match="is something else"):
        read_archive(folder / "alien")


def test_a_newer_file_is_newer(folder, whole):
    newer = rewritten(
        whole, folder / "newer", format_version=FORMAT_VERSION + 1, library_version="9.9"
    )
    versions = rf"version {FORMAT_VERSION} or older; .* is newer: version {FORMAT_VERSION + 1}"
    with pytest.raises(ValueError, match=rf"{versions}, written by treerank '9.9'"):
        read_archive(newer)


class Trap:
    """Pickled, it would create a file on loading."""

    def __reduce__(self):
        return os.mkdir, ("sprung",)


@pytest.mark.parametrize(
    "content",
    [
        {"a": {"$array": "trap.npy"}},
        {"a": {"$array": "nowhere.npy"}},
        {"a": {"$pickle": "trap.npy"}},
        {"a": {"$float": "__import__('os')"}},
        {"a": {"$items": [[[], 1]]}},
        {"a": {"$tuple": 3}},
        {"a": {"$date": "today and"}},
        {"a": {"$date": [3]}},
    ],
)
def test_what_no_writer_wrote_is_refused_and_nothing_runs(tmp_path, monkeypatch, whole, content):
    monkeypatch.chdir(tmp_path)
    forged = rewritten(whole, tmp_path / "forged", content=content)
    with zipfile.ZipFile(forged, "a") as target, target.open("trap.npy", "w") as member:
        np.lib.format.write_array(member, np.array([Trap()], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="undamaged file"):
        read_archive(forged)
    assert not Path("sprung").exists()


def test_a_manifest_that_never_ends_is_refused(folder):
    with zipfile.ZipFile(folder / "deep", "w") as deep:
        deep.writestr("treerank.json", "[" * 100_000)
    with pytest.raises(ValueError, match="is truncated or damaged"):
        read_archive(folder / "deep")


@pytest.mark.posix
def test_a_pipe_and_a_device_are_refused_and_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(ValueError, match="path must be a regular file"):
            read_archive(path)
    with pytest.raises(IsADirectoryError):
        read_archive(tmp_path)


def forged(path, manifest, members):
    """Write an archive of any content; a member is bytes, or bytes and a method."""
    manifest = OURS | {"format_version": 1} | manifest
    with zipfile.ZipFile(path, "w") as target:
        target.writestr("treerank.json", json.dumps(manifest), zipfile.ZIP_DEFLATED)
        for name, data in members.items():
            data, method = data if isinstance(data, tuple) else (data, zipfile.ZIP_DEFLATED)
            target.writestr(name, data, method)
    return path


def peak_of_reading(path):
    """Return the most memory that reading takes, and the error if there is one."""
    tracemalloc.start()
    try:
        read_archive(path)
        return tracemalloc.get_traced_memory()[1], None
    except ValueError as error:
        return tracemalloc.get_traced_memory()[1], str(error)
    finally:
        tracemalloc.stop()


def test_a_member_that_nobody_names_is_not_read(tmp_path):
    path = forged(tmp_path / "unnamed", {}, {"bomb": bytes(10**8)})
    assert peak_of_reading(path)[0] < 10**7
    assert read_archive(path) == {}


def test_a_small_file_of_large_members_is_refused_before_they_are_inflated(tmp_path):
    array = {"a": {"$array": "a.npy"}}
    path = forged(tmp_path / "bomb", {"content": array}, {"a.npy": bytes(10**8)})
    peak, error = peak_of_reading(path)
    assert (peak < 10**7, str(path) in error, "too large" in error) == (True, True, True)
    lie = bytearray(path.read_bytes())
    place = lie.rindex(b"PK\x01\x02")
    lie[place + 24 : place + 28] = (100).to_bytes(4, "little")
    path.write_bytes(lie)
    peak, error = peak_of_reading(path)
    assert (peak < 10**7, str(path) in error) == (True, True)


def test_a_manifest_of_endless_values_is_refused(tmp_path):
    path = forged(tmp_path / "many", {"content": {"a": [[]] * 1_500_000}}, {})
    peak, error = peak_of_reading(path)
    assert peak < 5 * 10**7
    assert "values beside arrays" in error


def npy(header, data=b"", version=b"\x01\x00"):
    return b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header.encode() + data


HEADER = "{{'descr': {}, 'fortran_order': False, 'shape': {}, }}\n"
ARRAYS = {
    "more than there is": npy(HEADER.format("'<f8'", "(10**9,)")),
    "huge": npy(HEADER.format("'<f8'", "(1000000000000,)"), bytes(8)),
    "beyond integers": npy(HEADER.format("'<f8'", f"({'9' * 400},)"), bytes(8)),
    "negative": npy(HEADER.format("'<f8'", "(-1,)"), bytes(8)),
    "no tokens": npy("{'descr'", bytes(8)),
    "nested": npy("(" * 900, bytes(8)),
    "long": npy(" " * 60_000, bytes(8)),
    "objects": npy(HEADER.format("'|O'", "(1,)"), bytes(8)),
    "records": npy(HEADER.format("[('a', '<f8')]", "(1,)"), bytes(8)),
    "empty": b"",
    "version": npy(HEADER.format("'<f8'", "(1,)"), bytes(8), b"\x09\x00"),
    "lzma": (npy(HEADER.format("'<f8'", "(1,)"), bytes(8)), zipfile.ZIP_LZMA),
}


@pytest.mark.parametrize("member", ARRAYS.values(), ids=ARRAYS)
def test_an_array_that_is_none_is_one_clear_error(tmp_path, member):
    content = {"a": {"$array": "a.npy"}}
    path = forged(tmp_path / "forged", {"content": content}, {"a.npy": member})
    with pytest.raises(ValueError, match=r"must be an undamaged file; .*forged is damaged; got"):
        read_archive(path)


def test_a_member_is_read_once(tmp_path, whole):
    write_archive(tmp_path / "one", {"a": np.arange(3)})
    twice = {"a": {"$array": "0.npy"}, "b": {"$array": "0.npy"}}
    with pytest.raises(ValueError, match=r"KeyError: '0.npy'"):
        read_archive(rewritten(tmp_path / "one", tmp_path / "two", content=twice))


def test_what_compresses_too_well_is_stored_as_it_is_and_comes_back(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_MOST_BYTES", 1000)
    write_archive(tmp_path / "zeros", {"a": np.zeros(10_000)})
    assert not read_archive(tmp_path / "zeros")["a"].any()


def test_a_file_is_compressed_up_to_the_size_that_the_reader_takes(tmp_path, monkeypatch):
    content = {"a": np.zeros(10_000)}
    write_archive(tmp_path / "zeros", content)
    with zipfile.ZipFile(tmp_path / "zeros") as file:
        n_bytes = sum(member.file_size for member in file.infolist())
    monkeypatch.setattr(archive, "_TIMES_FILE", 0)
    for most, method in ((n_bytes, zipfile.ZIP_DEFLATED), (n_bytes - 1, zipfile.ZIP_STORED)):
        monkeypatch.setattr(archive, "_MOST_BYTES", most)
        write_archive(tmp_path / "zeros", content)
        with zipfile.ZipFile(tmp_path / "zeros") as file:
            assert {member.compress_type for member in file.infolist()} == {method}
        if most == n_bytes:
            assert not read_archive(tmp_path / "zeros")["a"].any()


def test_a_model_holds_a_million_values_and_one_for_each_eight_bytes_of_its_file():
    most = 1024 * 1024 + 5  # of a file of 40 to 47 bytes
    for size in (40, 47):
        archive._check_n_values(b"," * most, size)
        with pytest.raises(
            ValueError, match=f"at most {most} values beside arrays; got {most + 1}"
        ):
            archive._check_n_values(b"[" + b"," * (most - 1) + b"{", size)
    archive._check_n_values(b"," * (most + 1), 48)


def test_members_are_of_the_first_day_that_a_zip_file_knows(whole):
    with zipfile.ZipFile(whole) as file:
        assert {member.date_time for member in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_objects_are_never_pickled():
    with pytest.raises(ValueError, match="allow_pickle"):
        archive._npy(np.array([Trap()], dtype=object))


@pytest.mark.parametrize("length", [1000, 1001])
def test_a_header_of_an_array_has_up_to_1000_bytes(tmp_path, length):
    header = HEADER.format("'<f8'", "(1,)").strip().ljust(length - 1) + "\n"
    content, member = {"a": {"$array": "a.npy"}}, npy(header, np.array([3.0]).tobytes())
    path = forged(tmp_path / "header", {"content": content}, {"a.npy": member})
    if length == 1000:
        assert read_archive(path)["a"].tolist() == [3.0]
    else:
        with pytest.raises(ValueError, match="Header info length"):
            read_archive(path)
