"""Writing LETOR files: how they look, and what is refused."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from treerank.datasets.letor import write_letor


@pytest.fixture
def file(tmp_path):
    return tmp_path / "train.txt"


def test_written_files_look_like_letor_files(file):
    write_letor(
        file, [[0.25, 3, -0.0], [np.nan, 1e20, 0]], [2, 0.5], [7, 7], comments=["a.0 b", ""]
    )
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
        (([[1.0]], [1, 2], [1]), "y must have one entry per row of X; got 2 for 1"),
        (([[1.0]], [np.nan], [1]), "y must be finite; got nan"),
        (([[1.0]], [1], [1, 2]), "qid must have one entry per row"),
        (([[1.0]], [1], ["a b"]), "qid must be a word of .* without spaces and '#'; got 'a b'"),
        (([[1.0]], [1], [""]), "qid must be a word"),
        (([[1.0]], [1], ["a#"]), "qid must be a word"),
        (([[1.0]], [1], ["a" * 256]), r"at most 255 bytes .*; got 'a{12}\.\.\.a{13}'"),
        (([[1.0]], [1], [1], ["a\nb"]), "comments must be of one line"),
        (([[1.0]], [1], [1], []), "comments must have one entry per row"),
    ],
)
def test_the_writer_refuses_what_could_not_be_read_back(file, arguments, message):
    X, y, qid, *comments = arguments
    with pytest.raises(ValueError, match=message):
        write_letor(file, X, y, qid, comments=comments[0] if comments else None)
    assert not file.exists()
