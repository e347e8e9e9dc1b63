"""Folds: folders of files in any known format."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from treerank.datasets import formats
from treerank.datasets.folds import load_folds
from treerank.datasets.parquet import write_parquet
from treerank.datasets.ranking_data import RankingData

DATA = Path(os.environ.get("TREERANK_DATA", Path(__file__).parents[3] / "shared" / "data"))
IS_INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"


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
        write_parquet(
            tmp_path / f"{part}.parquet",
            np.eye(n_features),
            np.zeros(n_features),
            np.zeros(n_features),
        )
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


def test_mq2008_has_five_folds_of_all_its_queries():
    if IS_INTERPRETED or not (DATA / "mq2008").exists():
        pytest.skip("the data set is not here, or too big for the interpreter")
    folds = list(load_folds(DATA / "mq2008"))
    assert [fold.name for fold in folds] == [f"Fold{number}" for number in range(1, 6)]
    for fold in folds:
        parts = [fold.train, fold.validation, fold.test]
        assert sum(len(part) for part in parts) == 15211
        assert len(np.unique(np.concatenate([part.qid for part in parts]))) == 784
        assert {part.X.shape[1] for part in parts} == {46}


def read_numbers(path, **options):
    """A reader of another format: a file of labels."""
    del options
    y = np.array(Path(path).read_text().split(), dtype=float)
    return RankingData(np.zeros((len(y), 1)), y, np.zeros(len(y), dtype=int))


def test_a_format_is_one_line_in_the_table_of_formats(tmp_path, monkeypatch):
    known = formats.format_names()
    numbers = formats.FileFormat("numbers", f"{__name__}:read_numbers", "", "")
    monkeypatch.setitem(formats.FORMATS, ".numbers", numbers)
    write_fold(tmp_path / "Fold1", 1)
    (tmp_path / "Fold1" / "train.txt").rename(tmp_path / "Fold1" / "train.numbers")
    (tmp_path / "Fold1" / "train.numbers").write_text("3 4")
    (fold,) = load_folds(tmp_path)
    assert [part.y.tolist() for part in (fold.train, fold.validation)] == [[3, 4], [1]]
    assert formats.format_names() == f"{known}, numbers (.numbers)"
