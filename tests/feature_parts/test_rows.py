import numpy as np
import pytest

from treerank.documents.columns import Columns
from treerank.documents.rows import Rows
from treerank.feature_parts.rows import as_rows

VALUES = np.random.default_rng(0).normal(size=(50, 3))
ORDER = np.random.default_rng(1).permutation(50)[:40]


def test_rows_stay_rows_and_any_other_matrix_becomes_them():
    rows = Rows(VALUES, ORDER, Columns({1: [0.5, 1.5]}, names=("a", "b", "c")))
    assert as_rows(rows) is rows
    assert as_rows(VALUES.tolist()).shape == VALUES.shape
    with pytest.raises(ValueError, match=r"values must be two-dimensional; got shape \(3,\)"):
        Rows(VALUES[0])
    assert as_rows(VALUES.astype(">f8")).array().dtype == np.float64  # XGBoost reads it as "<f8"
    for wrong in (np.ma.array(VALUES, mask=VALUES > 1), VALUES + 1j, [["a"]]):
        with pytest.raises(ValueError, match=r"X must have no mask|Complex data|X must hold"):
            as_rows(wrong)
