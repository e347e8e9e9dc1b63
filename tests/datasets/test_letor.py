import gzip
import os
from codecs import BOM_UTF8

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from letor_blocks import read_in_blocks
from scipy.sparse import csr_array, csr_matrix

from treerank.datasets.letor import read_letor, write_letor
from treerank.datasets.parquet import write_parquet

IS_INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"


def same_bits(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and bits(a) == bits(b)


def bits(values):
    return np.where(np.isnan(values), np.nan, values).tobytes()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "train.txt"


MESSY = (
    b"# a line of comment\r\n\r\n"
    b"2 qid:10 1:0.5 3:-1.25e1 # docid = GX1 inc = 1\r\n"
    b"\t0.5  qid:10\t2:NULL   4:1\r\n"
    b"   \n 1 qid:9 #docid = GX2\n"
    b"-3 qid:9 1:nan 2:.5 3:5. 4:+7#no space\n"
    b"1e0 qid:9 4:0.1234567890123456789012"
)


def test_reads_the_format_in_all_its_looks(file):
    file.write_bytes(MESSY)
    X, y, qid = data = read_letor(file, comments=True)
    nan = np.nan
    expected = [[0.5, 0, -12.5, 0], [0, nan, 0, 1], [0] * 4, [nan, 0.5, 5, 7]]
    expected += [[0, 0, 0, 0.12345678901234568]]
    np.testing.assert_array_equal(X, expected)
    assert y.tolist() == [2, 0.5, 1, -3, 1]
    assert qid.dtype == np.int64
    assert qid.tolist() == [10, 10, 9, 9, 9]
    assert data.comments.tolist() == ["docid = GX1 inc = 1", "", "docid = GX2", "no space", ""]
    assert data.doc_ids.tolist() == ["GX1", "", "GX2", "", ""]
    assert read_letor(file).comments is None


def test_blocks_and_chunks_and_the_mark_of_utf8_leave_no_trace(file):
    file.write_bytes(MESSY * 3)  # the last line runs into the next first one: a comment
    whole = read_letor(file, comments=True)
    packed = file.with_suffix(".gz")
    for mark, sizes in [(b"", (1, 1)), (BOM_UTF8, (1, 1)), (BOM_UTF8, (4, 3)), (b"", (100, 50))]:
        file.write_bytes(mark + MESSY * 3)
        packed.write_bytes(gzip.compress(file.read_bytes()))
        for path in file, packed:
            data = read_in_blocks(path, *sizes, comments=True)
            assert same_bits(data.X, whole.X)
            for name in ("y", "qid", "comments"):
                assert getattr(data, name).tolist() == getattr(whole, name).tolist()


def test_float32_is_the_double_rounded(file):
    file.write_bytes(b"1 qid:1 1:0.1 2:16777217\n")
    X, _, _ = read_letor(file, dtype=np.float32)
    assert X.dtype == np.float32
    assert X.tolist() == [[np.float32(0.1), 16777216]]
    file.write_bytes(b"1 qid:1 1:1e39 2:-1.000000000000000000000000000e39\n")
    assert read_letor(file, dtype=np.float32).X.tolist() == [[np.inf, -np.inf]]


def test_a_sparse_matrix_has_the_entries_that_are_named(file):
    file.write_bytes(b"1 qid:1 2:0 4:7\n0 qid:1\n")
    X = read_letor(file, sparse=True).X
    assert (X.data.tolist(), X.indices.tolist(), X.indptr.tolist()) == ([0, 7], [1, 3], [0, 2, 2])
    for sparse in (False, True):
        X = read_letor(file, n_features=5, sparse=sparse).X
        assert csr_matrix(X).toarray().tolist() == [[0, 0, 0, 7, 0], [0] * 5]
    file.write_bytes(b"1 qid:1 2:1 0000000012:2 2147483647:3\n")
    X = read_letor(file, sparse=True).X
    assert (X.shape, X.indices.tolist()) == ((1, 2**31 - 1), [1, 11, 2**31 - 2])


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["3", "-1", "0"], [3, -1, 0]),
        (["7", "007", "+7"], ["7", "007", "+7"]),
        (["1", "-0", "1.0"], ["1", "-0", "1.0"]),
        (["1", "9" * 18, "-" + "9" * 18], [1, 10**18 - 1, 1 - 10**18]),
        (["1", "9" * 19, "-" + "9" * 19], ["1", "9" * 19, "-" + "9" * 19]),  # int64 ends between
        (["1", "größe", "12:5"], ["1", "größe", "12:5"]),
    ],
)
@pytest.mark.parametrize("block_size", [1, 2**20])
def test_qids_are_integers_if_all_are_else_strings(file, ids, expected, block_size):
    file.write_bytes("".join(f"1 qid:{token}\n" for token in ids).encode())
    X, _, qid = read_in_blocks(file, block_size)
    assert X.shape == (3, 0)
    assert qid.tolist() == expected
    assert qid.dtype.kind == ("i" if isinstance(expected[0], int) else "U")


# Halves between two doubles, the ends of the range, and where a product is almost a half.
HARD = (
    f"""
    9007199254740993 9007199254740992.5 9007199254740993e10 4.5e15 1e23 1.7976931348623158e308
    1.7976931348623159e308 2.2250738585072014e-308 5e-324 2.4703282292062327e-324 0e999 -0 -0.0e-7
    1e-9999 1e99999 6.631236846766476e-316 3.2378839133029012895883524125015321748630094331665e-319
    7.3177701707893310e+15 8.533e+68 1448997445238699 0.500000000000000166533453 +.5 -5. 1000e-25
    444492805699292575e-2 947081990738675755e-12 308212581543943661e-33 {"1" * 22}.{"3" * 22}e-40
""".split()
    + [f"{2**53 + k}e{e}" for k in (1, 3, 5) for e in (-5, -3, 1, 3, 8, 23)]
)


def test_every_value_equals_float_of_its_token(file):
    rng = np.random.default_rng(0)
    n = 200 if IS_INTERPRETED else 100_000
    mantissas = rng.integers(0, 10 ** rng.integers(1, 19, n))
    exponents = rng.integers(-310, 300, n)
    tokens = [f"{m}e{e}" for m, e in zip(mantissas.tolist(), exponents.tolist(), strict=True)]
    tokens += HARD
    usual = (rng.normal(size=n // 4) * 10.0 ** rng.integers(-3, 9, n // 4)).tolist()
    for text in ("{!r}", "{:.18e}", "{:.6f}", "{:.17f}"):
        tokens += map(text.format, usual)
    file.write_text("".join(f"0 qid:1 1:{token}\n" for token in tokens))
    assert same_bits(read_letor(file).X[:, 0], np.array([float(token) for token in tokens]))


plain_text = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\t\v\f #\x1c\x00"))


@st.composite
def letor_contents(draw):
    n_rows, n_features = draw(st.integers(1, 8)), draw(st.integers(1, 5))
    X = draw(arrays(float, (n_rows, n_features), elements=st.floats()))
    y = draw(arrays(float, n_rows, elements=st.floats(allow_nan=False, allow_infinity=False)))
    ids = draw(st.sampled_from([st.integers(-(10**17), 10**17), plain_text.filter(bool)]))
    qid, comments = (draw(st.lists(x, min_size=n_rows, max_size=n_rows)) for x in (ids, plain_text))
    return X, y, qid, comments


@given(contents=letor_contents(), sparse=st.booleans(), suffix=st.sampled_from(["txt", "gz"]))
@settings(max_examples=60)
def test_what_was_written_is_read_bit_for_bit(tmp_path_factory, contents, sparse, suffix):
    X, y, qid, comments = contents
    path = tmp_path_factory.getbasetemp() / f"written.{suffix}"
    write_letor(path, csr_matrix(X) if sparse else X, y, qid, comments=comments)
    data = read_letor(path, n_features=X.shape[1], sparse=sparse, comments=True)
    if sparse:
        assert same_bits(data.X.data, csr_matrix(X).data)
        assert data.X.indices.tolist() == csr_matrix(X).indices.tolist()
    else:
        assert same_bits(data.X, X)
    assert same_bits(data.y, y)
    assert data.qid.astype(str).tolist() == [str(token) for token in qid]
    assert data.comments.tolist() == comments


def test_written_files_look_like_letor_files(file):
    X = [[0.25, 3, -0.0], [np.nan, 1e20, 0]]
    write_letor(file, X, [2, 0.5], [7, 7], comments=["a.0 b", ""])
    assert file.read_text() == "2 qid:7 1:0.25 2:3 3:-0 # a.0 b\n0.5 qid:7 1:nan 2:1e+20 3:0\n"


def test_a_sparse_matrix_is_written_in_order_and_left_as_it_was(file):
    X = csr_matrix(([1.0, 2.0, 3.0], [2, 0, 2], [0, 3]), shape=(1, 3))
    write_letor(file, X, [1], [1])
    assert file.read_text() == "1 qid:1 1:2 3:4\n"
    assert X.indices.tolist() == [2, 0, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [1], [1]), r"X must be two-dimensional; got shape \(1,\)"),
        (([[1.0]], [1, 2], [1]), "y must have one entry per document; got 2 for 1"),
        (([[1.0]] * 2, [1, np.nan], [1, 1]), "got nan in row 1. Leave documents out that are not"),
        (([[1.0]], [1], [1, 2]), "qid must have one entry per row"),
        (([[1.0]] * 2, [1, 1], [1, "1"]), "qid must be ids that differ as text"),
        (([[1.0]], [1], np.array([0], "M8[us]")), "qid must be a word of .* without spaces .*1970"),
        (([[1.0]], [1], [""]), "qid must be a word"),
        (([[1.0]], [1], ["a#"]), "qid must be a word"),
        (([[1.0]], [1], ["a" * 256]), r"at most 255 bytes .*; got 'a{12}\.\.\.a{13}'"),
        (([[1.0]], [1], [1], ["a\nb"]), "comments must be of one line"),
        (([[1.0]], [1], [1], ["a\rb"]), "comments must be of one line"),
        (([[1.0]], [1], [1], []), "comments must have one entry per row"),
    ],
)
def test_the_writer_refuses_what_could_not_be_read_back(file, arguments, message):
    X, y, qid, *comments = arguments
    with pytest.raises(ValueError, match=message):
        write_letor(file, X, y, qid, comments=comments[0] if comments else None)
    assert not file.exists()


@pytest.mark.parametrize("name", ["a.txt", "a.parquet", "a.csv"])
def test_complex_numbers_are_not_written_as_real_ones(tmp_path, name):
    write = write_letor if name == "a.txt" else write_parquet
    for X in (np.ones((1, 1)) * 1j, csr_array([[1j]])):
        with pytest.raises(ValueError, match=r"X must be real numbers: .* got complex128"):
            write(tmp_path / name, X, [1], ["q"])
    assert not (tmp_path / name).exists()
