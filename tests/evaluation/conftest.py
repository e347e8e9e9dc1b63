"""Data to compare rankers on, and fits that are counted anew in each test."""

import pytest
from noting_rankers import FITS, ranking_data


@pytest.fixture(autouse=True)
def _no_fits_yet():
    FITS.clear()


@pytest.fixture
def data():
    return ranking_data()
