"""Data on which the rankers of the literature are tested."""

import pytest
from ranking_sample import make_ranking_sample


@pytest.fixture(scope="session")
def data():
    return make_ranking_sample(n_queries=8, random_state=1)
