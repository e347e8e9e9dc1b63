import json

import numpy as np
import pytest
from noting_rankers import DATA, FITS, Weigher, X, lines, qid, y

from treerank.evaluation import compare, store
from treerank.evaluation.store import Store

pytestmark = pytest.mark.slow


def test_what_is_stored_is_not_fitted_again(tmp_path):
    options = {"cv": 3, "store": tmp_path / "store"}
    first = compare(lines(), DATA, **options)
    assert len(FITS) == 3
    again = compare(lines(), DATA, metrics=("p@2",), **options)  # metrics cost no fit
    assert len(FITS) == 3
    assert again.metrics == ("p@2",)
    same = compare(lines(), DATA, **options)
    np.testing.assert_array_equal(same.values["value"], first.values["value"])
    compare({"first": Weigher(weight=2.0)}, DATA, **options)
    assert len(FITS) == 6
    compare({"first": Weigher()}, (X + 1, y, qid), **options)
    assert len(FITS) == 9
    compare({"first": Weigher()}, DATA, **options, grid={"first": {"weight": [1.0]}})
    assert len(FITS) == 9 + 3 * (3 + 1)


@pytest.mark.parametrize("package", ["treerank", "lightgbm", "xgboost"])
def test_another_version_of_a_package_is_another_fit(tmp_path, monkeypatch, package):
    compare({"first": Weigher()}, DATA, cv=2, store=tmp_path)
    real = store.version
    monkeypatch.setattr(store, "version", lambda name: "99" if name == package else real(name))
    compare({"first": Weigher()}, DATA, cv=2, store=tmp_path)
    assert len(FITS) == 4


def test_damaged_files_are_done_again(tmp_path):
    options = {"cv": 2, "store": tmp_path}
    expected = compare({"first": Weigher()}, DATA, **options).by_query("map")
    whole, *_ = files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    with np.load(whole) as file:
        about = json.loads(str(file["about"]))
    assert about["configuration"]["ranker"]["params"] == {"random_state": 0, "weight": 1.0}
    assert {"treerank", "numpy", "python"} <= set(about["configuration"]["versions"])
    files[0].write_bytes(files[0].read_bytes()[:100])
    files[1].write_bytes(b"")
    again = compare({"first": Weigher()}, DATA, **options)
    np.testing.assert_array_equal(again.by_query("map"), expected)
    assert len(FITS) == 4
    assert sorted(tmp_path.iterdir()) == files


def test_a_store_that_fails_later_is_an_error_of_its_own(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "fits/first.npz")

    monkeypatch.setattr(Store, "write", full)
    with pytest.raises(OSError, match=r"No space left on device: 'fits/first\.npz'"):
        compare({"first": Weigher()}, DATA, cv=3, store=tmp_path)
    assert len(FITS) == 1
