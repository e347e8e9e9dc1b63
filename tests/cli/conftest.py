import pytest
from command_line import letor_files


@pytest.fixture(scope="package")
def files(tmp_path_factory):
    return letor_files(tmp_path_factory.mktemp("letor"))
