import numpy as np
from scipy.sparse import csr_matrix

from treerank.documents.columns import Columns
from treerank.documents.rows import Rows
from treerank.feature_parts.any_model.numbers import IndicatorColumns


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
