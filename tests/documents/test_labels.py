"""Labels are one real number for each document, or NaN."""

import numpy as np
import pandas as pd
import pytest

from treerank.documents.labels import (
    are_judged,
    check_labels,
    check_labels_by_name,
    split_labels,
)


@pytest.mark.parametrize("made", [np.array, list, pd.Series, lambda y: pd.DataFrame({"y": y})])
@pytest.mark.filterwarnings("ignore:A column-vector")
def test_integers_that_floats_round_are_refused(made):
    labels = check_labels(made([0, 2**53 - 1]))
    assert labels.tolist() == [0.0, 2**53 - 1]
    with pytest.raises(ValueError, match=r"y must be below 2\*\*53 in size as integers.*row 1"):
        check_labels(made([0, 2**53]))


def test_floats_of_any_size_are_labels():
    assert check_labels([0.0, 2.0**60]).tolist() == [0.0, 2.0**60]


@pytest.mark.parametrize("y", [[1j, 0], np.array([[1j], [0]])])
def test_complex_numbers_are_refused(y):
    with pytest.raises(ValueError, match="y must be real numbers: Complex data not supported"):
        check_labels(y)


@pytest.mark.parametrize("y", [{0: 1.0}, (label for label in [0, 1]), 3.0])
def test_what_is_no_list_is_refused(y):
    with pytest.raises((TypeError, ValueError), match="y must be"):
        check_labels(y)
    with pytest.raises(ValueError, match="y must be one label per row of X: fit requires y"):
        check_labels(None)


def test_a_name_and_a_number_of_documents_are_those_of_the_argument():
    assert np.isnan(check_labels([np.nan, 1.0], 2)[0])
    with pytest.raises(ValueError, match="grade must"):
        check_labels([0.0, 1.0], 3, "grade")


#: Labels of two values, one of which is missing, as pandas holds them.
MISSING = pd.Series([True, pd.NA, False], dtype="boolean")
FORMS = {
    "boolean": MISSING,
    "arrow": MISSING.astype("bool[pyarrow]"),
    "array": MISSING.array,
    "objects": MISSING.astype(object),
    "list": [*MISSING],
    "frame": MISSING.to_frame("y"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore:A column-vector")
def test_the_missing_value_of_pandas_is_no_judgment(form):
    y = FORMS[form]
    np.testing.assert_array_equal(check_labels(y), [1.0, np.nan, 0.0])
    assert are_judged(y).tolist() == [True, False, True]
    several = split_labels(pd.DataFrame({"a": np.asarray(y).ravel(), "b": np.asarray(y).ravel()}))
    for column in check_labels_by_name(several, 3).values():
        np.testing.assert_array_equal(column, [1.0, np.nan, 0.0])
