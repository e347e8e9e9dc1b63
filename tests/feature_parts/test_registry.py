import pytest
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from treerank import TreeDirectRanker
from treerank.feature_parts.registry import make_feature_part


class Own(BaseEstimator):
    """A part that passes on what its ``fit`` is given."""

    def fit(self, X, *args, **options):
        return self

    def transform(self, X):
        return X


def test_a_part_of_ones_own_may_pass_on_its_arguments():
    assert isinstance(make_feature_part(Own()), Own)


@pytest.mark.parametrize("given", [StandardScaler(), TreeDirectRanker(), 7, None])
def test_what_is_fitted_to_no_objective_is_refused(given):
    with pytest.raises(ValueError, match="feature_part must have fit"):
        make_feature_part(given)
