import gzip

import numpy as np
import pytest

from treerank.datasets.folds import load_folds
from treerank.datasets.parquet import write_parquet


def write_fold(folder, label):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.txt").write_text(f"{label} qid:1 1:1 2:2 # a\n")
    (folder / "vali.txt").write_text(f"{label} qid:2 1:3\n")
    (folder / "test.txt.gz").write_bytes(gzip.compress(b"%d qid:3 3:4\n" % label))


def test_folds_come_in_the_order_of_their_numbers(tmp_path):
    for number in (10, 2, 1):
        write_fold(tmp_path / f"Fold{number}", number)
    (tmp_path / "Fold1.zip").touch()
    folds = list(load_folds(tmp_path, comments=True))
    assert [fold.name for fold in folds] == ["Fold1", "Fold2", "Fold10"]
    assert [fold.train.y.tolist() for fold in folds] == [[1], [2], [10]]
    assert folds[0].train.comments.tolist() == ["a"]
    assert [fold.test.qid.tolist() for fold in folds] == [[3]] * 3


@pytest.mark.parametrize("sparse", [False, True])
def test_the_parts_of_a_fold_have_the_same_features(tmp_path, sparse):
    write_fold(tmp_path, 1)
    (fold,) = load_folds(tmp_path, sparse=sparse)
    assert fold.name == tmp_path.name
    parts = [fold.train.X, fold.validation.X, fold.test.X]
    expected = [[[1, 2, 0]], [[3, 0, 0]], [[0, 0, 4]]]
    assert [(X.toarray() if sparse else X).tolist() for X in parts] == expected


def test_a_table_with_one_column_less_is_refused(tmp_path):
    for part, n_features in ("train", 2), ("vali", 2), ("test", 1):
        nothing = np.zeros(n_features)
        write_parquet(tmp_path / f"{part}.parquet", np.eye(n_features), nothing, nothing)
    with pytest.raises(ValueError, match="parts of a fold must have the same columns; got 1 feat"):
        list(load_folds(tmp_path))


def test_missing_files_are_all_named_before_any_is_read(tmp_path):
    write_fold(tmp_path / "Fold1", 1)
    write_fold(tmp_path / "Fold2", 1)
    (tmp_path / "Fold1" / "test.txt.gz").unlink()
    (tmp_path / "Fold2" / "vali.txt").unlink()
    (tmp_path / "Fold2" / "train.txt").write_text("nonsense")
    with pytest.raises(FileNotFoundError, match=r"Fold1/test\.txt, .*Fold2/vali\.txt\."):
        load_folds(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"nowhere/train\.txt"):
        load_folds(tmp_path / "nowhere")


def test_a_fold_is_read_only_when_it_is_asked_for(tmp_path):
    write_fold(tmp_path / "Fold1", 1)
    write_fold(tmp_path / "Fold2", 1)
    (tmp_path / "Fold2" / "train.txt").write_text("nonsense")
    folds = load_folds(tmp_path)
    assert next(folds).name == "Fold1"
    with pytest.raises(ValueError, match="line 1, column 1"):
        next(folds)
