"""The binary cache is never stale and never half-written, and reading works without it."""

import json
import os
import stat
import warnings
import zlib

import numpy as np
import pytest

from treerank.datasets import binary_cache, letor
from treerank.datasets.letor import read_letor

TEXT = b"2 qid:a 1:0.5 3:NULL # docid = GX1 \xff\n1 qid:b 2:-0.0\n0 qid:b 2:7 #\xc3\xa4\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "train.txt"
    path.write_bytes(TEXT)
    return path


@pytest.fixture
def parses(monkeypatch):
    """List of the files that were parsed rather than loaded."""
    parsed, parse = [], letor._parse_file

    def counted(path, options):
        parsed.append(path)
        return parse(path, options)

    monkeypatch.setattr(letor, "_parse_file", counted)
    return parsed


def caches_of(file):
    return sorted(place for place in file.parent.iterdir() if place.name.endswith("-cache"))


def same(a, b):
    X_a, X_b = (data.X if isinstance(data.X, np.ndarray) else data.X.toarray() for data in (a, b))
    assert X_a.dtype == X_b.dtype
    np.testing.assert_array_equal(X_a, X_b)
    assert (a.y.tolist(), a.qid.tolist()) == (b.y.tolist(), b.qid.tolist())
    assert a.qid.dtype == b.qid.dtype
    assert (a.comments is None) == (b.comments is None)
    return a.comments is None or a.comments.tolist() == b.comments.tolist()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("comments", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_second_read_equals_the_first_without_parsing(file, parses, sparse, comments, dtype):
    options = {"sparse": sparse, "comments": comments, "dtype": dtype}
    plain = read_letor(file, **options)
    for _ in range(2):
        assert same(read_letor(file, cache=True, **options), plain)
    assert len(parses) == 2
    assert type(plain.X) is type(read_letor(file, cache=True, **options).X)


def test_results_of_other_options_are_not_mixed_up(file, parses):
    for options in [{}, {"sparse": True}, {"comments": True}, {"n_features": 5}, {}]:
        assert same(read_letor(file, cache=True, **options), read_letor(file, **options))


def test_rows_without_features_are_cached_too(file, parses):
    file.write_bytes(b"1 qid:3\n2 qid:4\n")
    for sparse in False, True:
        for _ in range(2):
            assert read_letor(file, sparse=sparse, cache=True).X.shape == (2, 0)
    assert len(parses) == 2


def test_an_edit_is_seen_even_if_size_and_time_stay(file):
    read_letor(file, cache=True)
    before = os.stat(file)
    file.write_bytes(TEXT.replace(b"0.5", b"0.6"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert read_letor(file, cache=True).X[0, 0] == 0.6


def test_a_change_of_time_alone_parses_again(file, parses):
    read_letor(file, cache=True)
    os.utime(file, ns=(1, 1))
    read_letor(file, cache=True)
    assert len(parses) == 2


def test_a_file_that_changes_while_it_is_read_is_not_cached(file, monkeypatch):
    parse = letor._parse_file

    def overtaken(path, options):
        data = parse(path, options)
        file.write_bytes(TEXT.replace(b"0.5", b"0.6"))
        return data

    monkeypatch.setattr(letor, "_parse_file", overtaken)
    read_letor(file, cache=True)
    assert caches_of(file) == []


@pytest.mark.parametrize("sparse", [False, True])
def test_a_damaged_cache_is_ignored_and_replaced(file, parses, sparse):
    plain = read_letor(file, sparse=sparse)
    read_letor(file, sparse=sparse, cache=True)
    (place,) = caches_of(file)
    whole = place.read_bytes()
    cuts = [whole[:n] for n in (0, 1, 9, 10, 50, len(whole) // 2, len(whole) - 1)]
    flips = [
        whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        for at in (0, 8, 9, 20, whole.index(b"\n"), len(whole) // 2, len(whole) - 1)
    ]
    for damaged in [*cuts, *flips, whole + b"x", b"00000000 \n", b"\n" * 9]:
        place.write_bytes(damaged)
        n_parses = len(parses)
        assert same(read_letor(file, sparse=sparse, cache=True), plain)
        assert len(parses) == n_parses + 1
        assert place.read_bytes() == whole


def forge(place, change, header=None):
    """Write a cache with other arrays and right checksums."""
    with open(place, "rb") as cache:
        whole = binary_cache._read_header(cache)
        arrays = {name: binary_cache._read_array(cache, *rest) for name, *rest in whole["arrays"]}
    arrays.update(change)
    arrays = {
        name: np.ascontiguousarray(array) for name, array in arrays.items() if array is not None
    }
    entries = [
        [name, array.dtype.str, array.shape, binary_cache._array_checksums(array)]
        for name, array in arrays.items()
    ]
    line = json.dumps(whole | {"arrays": entries} | (header or {})).encode()
    content = b"".join(bytes(binary_cache._bytes_of(array)) for array in arrays.values())
    place.write_bytes(b"%08x %s\n" % (zlib.crc32(line), line) + content)


FORGED = [
    (False, {"X": np.zeros((2, 2))}),
    (False, {"X": np.zeros((3, 2, 1))}),
    (False, {"X": np.zeros(3)}),
    (False, {"X": np.zeros((3, 2), dtype=np.float32)}),
    (False, {"X": np.zeros((3, 2), dtype=">f8")}),
    (False, {"X": None}),
    (False, {"X": None, "data": np.zeros(0), "indices": np.zeros(0, int), "indptr": [0] * 4}),
    (True, {"indices": np.array([0, 7, 0, 1], dtype=np.int32)}),
    (True, {"indices": np.array([1, 0, 0, 1], dtype=np.int32)}),
    (True, {"indices": np.array([0, -1, 0, 1], dtype=np.int32)}),
    (True, {"indptr": np.array([0, 2, 1, 4])}),
    (True, {"indptr": np.array([0, 2, 4])}),
    (True, {"data": np.array(["a"] * 4)}),
    (True, {"data": None}),
    (True, {"data": np.zeros((4, 1))}),
    *[
        (sparse, change)
        for sparse in (False, True)
        for change in (
            {"y": np.array([1.0, np.nan, 0])},
            {"y": np.zeros(3, dtype=np.int64)},
            {"y": np.zeros((3, 1))},
            {"y": np.zeros(0), "qid": np.zeros(0, dtype=np.int64)},
            {"y": None},
            {"qid": np.zeros(3)},
            {"qid": np.zeros(2, dtype=np.int64)},
            {"qid": np.zeros(3, dtype=np.uint64)},
            {"qid": np.full(3, 2**31, dtype=np.uint32).view("U1")},
            {"qid": np.array(["a"] * 3).astype(">U1")},
            {"comment_ends": np.array([5, 4, 25])},
            {"comment_ends": np.array([-1, 4, 25])},
            {"comment_ends": np.array([1, 2])},
            {"comment_ends": np.array([1.0, 2, 25])},
            {"comments": np.zeros(3, dtype=np.uint8)},
            {"comments": None},
        )
    ],
]


@pytest.mark.parametrize(("sparse", "change"), FORGED)
def test_a_cache_of_what_no_file_gives_is_ignored(file, parses, sparse, change):
    plain = read_letor(file, sparse=sparse, comments=True)
    read_letor(file, sparse=sparse, comments=True, cache=True)
    (place,) = caches_of(file)
    forge(place, {})
    read_letor(file, sparse=sparse, comments=True, cache=True)
    assert len(parses) == 2
    forge(place, change)
    assert same(read_letor(file, sparse=sparse, comments=True, cache=True), plain)
    assert len(parses) == 3


@pytest.mark.parametrize(
    "header",
    [
        {"key": []},
        {"key": None},
        {"arrays": None},
        {"arrays": [1, 2]},
        {"arrays": {}},
        {"arrays": [["y"]]},
        {"arrays": [["y", "f8", [2**62], [0]]]},
        {"arrays": [["y", "f8", [-1, -5], [0]]]},
        {"arrays": [["y", "f8", "abc", [0]]]},
        {"arrays": [["y", 8, [3], [0]]]},
        {"arrays": [[["y"], "f8", [3], [0]]]},
        {"shape": 7},
        {"shape": ["a", "b"]},
        {"shape": [10**30, 10**30]},
    ],
)
def test_a_cache_with_a_forged_header_is_ignored(file, parses, header):
    plain = read_letor(file, sparse=True)
    read_letor(file, sparse=True, cache=True)
    (place,) = caches_of(file)
    forge(place, {}, header)
    assert same(read_letor(file, sparse=True, cache=True), plain)
    assert len(parses) == 3


def test_a_cache_of_another_version_is_replaced(file, parses, monkeypatch):
    monkeypatch.setattr(binary_cache, "_FORMAT", "treerank cache 0")
    read_letor(file, cache=True)
    monkeypatch.undo()
    parsed = read_letor(file, cache=True)
    monkeypatch.setattr(letor, "_parse_file", None)
    assert same(read_letor(file, cache=True), parsed)


def test_a_cache_cannot_smuggle_in_python_objects(tmp_path):
    with open(tmp_path / "forged", "wb+") as file, pytest.raises(ValueError, match="dtype"):
        binary_cache._read_array(file, "|O", [1], [0])


@pytest.mark.parametrize("function", ["replace", "fsync"])
def test_a_kill_while_writing_leaves_the_old_cache_or_none(file, monkeypatch, function):
    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"treerank.files.replaced.os.{function}", killed)
        with pytest.raises(KeyboardInterrupt):
            read_letor(file, cache=True)
    assert os.listdir(file.parent) == ["train.txt"]
    read_letor(file, cache=True)
    (place,) = caches_of(file)
    old = place.read_bytes()
    file.write_bytes(TEXT * 2)
    monkeypatch.setattr(f"treerank.files.replaced.os.{function}", killed)
    with pytest.raises(KeyboardInterrupt):
        read_letor(file, cache=True)
    assert place.read_bytes() == old
    assert len(os.listdir(file.parent)) == 2


def test_where_nothing_can_be_written_a_warning_replaces_the_cache(file, monkeypatch):
    def refused(*_args, **_options):
        raise PermissionError("read-only")

    monkeypatch.setattr(binary_cache, "replaced_file", refused)
    with pytest.warns(UserWarning, match="No cache could be written to .*read-only") as caught:
        data = read_letor(file, cache=True)
    assert same(data, read_letor(file))
    assert caught[0].filename == __file__


def test_a_read_only_folder_can_be_read(file):
    file.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the superuser may write there all the same
            assert same(read_letor(file, cache=True), read_letor(file))
    finally:
        file.parent.chmod(stat.S_IRWXU)


def test_nothing_is_written_unless_asked(file):
    read_letor(file)
    assert os.listdir(file.parent) == ["train.txt"]


def test_an_error_in_the_file_leaves_no_cache(file):
    file.write_bytes(b"1 qid:1 1:x\n")
    for _ in range(2):
        with pytest.raises(ValueError, match="line 1, column 11"):
            read_letor(file, cache=True)
    assert caches_of(file) == []
