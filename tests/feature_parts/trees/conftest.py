import pytest
from boosted_regression import PARTS


@pytest.fixture(params=PARTS, ids=lambda part_class: part_class.__name__)
def part_class(request):
    return request.param
