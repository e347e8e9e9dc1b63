import pytest
from noting_rankers import FITS


@pytest.fixture(autouse=True)
def _no_fits_yet():
    FITS.clear()
