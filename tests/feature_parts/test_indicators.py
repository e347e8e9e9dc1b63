import numpy as np
import pytest
from scipy.sparse import csr_matrix

from treerank.documents.columns import Columns
from treerank.documents.rows import Rows
from treerank.feature_parts.indicators import IndicatorColumns


def test_columns_of_numbers_come_first_in_their_order():
    columns = Columns({0: ["x", "y"], 2: ["p", "q"]}, names=("a", "b", "c", "d"))
    values = np.array([[1.0, 0.5, 0.0, 7.0], [np.nan, np.nan, 1.0, 8.0]], dtype=np.float32)
    found = IndicatorColumns.of(Rows(values, columns=columns), "model")(values)
    expected = [[0.5, 7, 0, 1, 1, 0], [np.nan, 8, 0, 0, 0, 1]]
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.float64


def test_a_sparse_matrix_stays_sparse():
    found = IndicatorColumns({})(csr_matrix(np.eye(2, dtype=np.float32)))
    assert found.dtype == np.float64
    assert found.nnz == 2


def test_categories_of_all_columns_are_counted():
    columns = Columns({column: [*map(str, range(600))] for column in (0, 1)})
    with pytest.raises(ValueError, match=r"X must have at most 1000 categories .* got 1200"):
        IndicatorColumns.of(Rows(np.zeros((1, 2)), columns=columns), "model")
