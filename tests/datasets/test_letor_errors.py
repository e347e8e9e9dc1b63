import gzip
import re
import tracemalloc

import numpy as np
import pytest
from letor_blocks import read_in_blocks

from treerank.datasets.folds import load_folds
from treerank.datasets.letor import read_letor

ERRORS = [
    (b"1 1:0.5\n", 1, 3, "qid"),
    (b"1 qid:1 1:2\n1\n", 2, 2, "qid"),
    (b"1 #qid:3\n", 1, 3, "qid"),
    (b"\n# c\n1 qid:1 1:x\n", 3, 11, "number; got 'x'"),
    (b"1 qid:1 1:\n", 1, 11, "number; got the end"),
    (b"1 qid:1 1:1.2.3\n", 1, 11, "number; got '1.2.3'"),
    (b"1 qid:1 1:1 7:2 8:4:5\n", 1, 19, "number; got '4:5'"),
    (b"1 qid:1 1:nulls\n", 1, 11, "number; got 'nulls'"),
    (b"1 qid:1 0:1\n", 1, 9, "index from 1 to 2147483647; got '0:1'"),
    (b"1 qid:1 2147483648:1\n", 1, 9, "index from 1"),
    (b"1 qid:1 00000000001:1\n", 1, 9, "index from 1"),
    (b"1 qid:1 :2\n", 1, 9, "index from 1"),
    (b"1 qid:1 1:1 2:1 2:1\n", 1, 17, "rise within a row; got '2:1'"),
    (b"abc qid:1 1:1\n", 1, 1, "label must be finite; got 'abc'"),
    (b"1 qid:1\n  inf qid:1 1:1\n", 2, 3, "label must be finite"),
    (b"1 qid:\xc3\xa4 1:x\n", 1, 11, "number; got 'x'"),
    (b"1 qid:1 1:1 2:1\n1 qid:1 9:1\n", 2, 9, "indices must not exceed n_features=8; got '9:1'"),
    (b"1 qid:1\n1 qid:" + b"a" * 256 + b"\n", 2, 7, "at most 255 bytes and no NUL; got 'a"),
    (b"1 qid:a 1:2\n1 qid:a\0 1:2\n", 2, 7, "no NUL; got 'a"),
    (
        b"1 qid:a 1:2\n1 qid:caf\xe9 1:2\n",
        2,
        7,
        "UTF-8, as `iconv -f latin1 -t utf-8` makes it; got",
    ),
    (
        b"\n1 qid:1 1:2 # a\r1 qid:2 1:2\r",
        2,
        16,
        r"in '\n' or '\r\n', as `tr '\r' '\n'` makes it; got '\r'",
    ),
    (b"1 qid:1 1:2\r\n#\r1 qid:2 1:2\r\n", 2, 2, "a line must end in"),
]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "train.txt"


def test_a_number_is_no_path():
    with pytest.raises(TypeError, match="not int"):
        read_letor(987)


@pytest.mark.parametrize(("text", "line", "column", "rule"), ERRORS)
def test_an_error_names_file_line_and_column(file, text, line, column, rule):
    file.write_bytes(text)
    width = 8 if "n_features" in rule else None
    for sparse in False, True:
        with pytest.raises(ValueError, match=re.escape(rule)) as error:
            read_letor(file, sparse=sparse, n_features=width)
        assert f"{file}, line {line}, column {column}: " in str(error.value)


def test_lines_are_counted_across_blocks_and_the_first_error_is_told(file):
    rows = [b"1 qid:1 1:0.12345678901234567890123 2:1\n"] * 40
    rows[30] = b"1 qid:1 1:2 1:5\n"
    rows[35] = b"x qid:1\n"
    file.write_bytes(b"".join(rows))
    with pytest.raises(ValueError, match=r"line 31, column 13: .* rise"):
        read_in_blocks(file, 16, 1)


@pytest.mark.parametrize("text", [b"", b"\n\r\n", b"# only\n#comments"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_file_without_rows_is_an_error(file, text, pack):
    file.write_bytes(pack(text))
    with pytest.raises(ValueError, match="must have rows"):
        read_letor(file)


def test_a_damaged_gzip_is_an_error_that_names_the_file(tmp_path):
    rng = np.random.default_rng(0)
    text = b"".join(b"1 qid:1 1:%r\n" % value for value in rng.normal(size=3000).tolist())
    whole = gzip.compress(text)
    path = tmp_path / "cut.txt.gz"
    half = len(whole) // 2
    for cut in (1, 11, half, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match=r"cut\.txt\.gz: the gzip stream must be whole"):
            read_in_blocks(path, 1000)
    path.write_bytes(whole[:half] + b"damage" + whole[half:])
    with pytest.raises(ValueError, match=r"cut\.txt\.gz"):
        read_in_blocks(path, 1000)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features": 0}, "n_features must be .* of at least 1.*; got 0"),
        ({"n_features": 2.5}, r"n_features must be a whole number .*; got 2\.5"),
        ({"n_features": 10**30}, "n_features must be .* at most 2147483647; got 1000"),
        ({"dtype": "int8"}, r"dtype must be one of \['float32', .*; got 'int8'"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(file, options, message):
    file.write_bytes(b"1 qid:1\n")
    with pytest.raises(ValueError, match=message):
        read_letor(file, **options)


def test_what_is_not_there_is_refused(file):
    with pytest.raises(FileNotFoundError):
        read_letor(file)
    file.write_bytes(b"1 qid:1\n")
    with pytest.raises(ValueError, match="comments must be kept"):
        _ = read_letor(file).doc_ids


@pytest.mark.parametrize("index", [2**31 - 1, 2**24 + 1])
def test_one_high_index_does_not_fill_memory(file, index):
    file.write_text(f"1 qid:1 1:1\n1 qid:1 {index}:1\n")
    tracemalloc.start()
    with pytest.raises(ValueError, match=rf"sparse must be True, .*{file}; got 2 rows and {index}"):
        read_letor(file)
    assert tracemalloc.get_traced_memory()[1] < 2**25
    tracemalloc.stop()
    if index < 2**25:
        assert read_letor(file, n_features=index).X.shape == (2, index)


def test_rows_without_values_do_not_fill_memory_behind_a_high_index(file):
    file.write_text("1 qid:1 1000000:1\n" + "1 qid:1\n" * 1000)
    with pytest.raises(ValueError, match="sparse must be True, or n_features set"):
        read_in_blocks(file, 1000)
    assert read_in_blocks(file, 1000, sparse=True).X.shape == (1001, 10**6)


def test_the_parts_of_a_fold_do_not_fill_memory_either(tmp_path):
    (tmp_path / "train.txt").write_text("1 qid:1 1:1\n" * 100)
    (tmp_path / "vali.txt").write_text("1 qid:1 1:1\n")
    (tmp_path / "test.txt").write_text("1 qid:1 1000000:1\n")
    with pytest.raises(ValueError, match="parts of a fold; got 100 rows and 1000000 columns"):
        next(load_folds(tmp_path))


@pytest.mark.parametrize("row", ["{}", "1 {}", "1 qid:{}", "1 qid:1 {}", "1 qid:1 1:{}"])
@pytest.mark.parametrize("letter", "1é")
def test_messages_are_short_whatever_the_token(file, row, letter):
    file.write_text(row.format(letter * 3000) + " x")
    with pytest.raises(ValueError, match="line 1") as error:
        read_letor(file)
    assert len(str(error.value)) < 200 + len(str(file))
