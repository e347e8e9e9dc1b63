"""Small ranking data, and rankers fitted to them."""

import pytest
from example_rankers import fitted_rankers, ranking_data


@pytest.fixture(scope="module")
def data():
    return ranking_data()


@pytest.fixture(scope="module")
def fitted():
    return fitted_rankers()
