"""Features of a fit, two and three at a time: each meets each other, and keeps the laws.

``python -m tests.laws`` runs larger arrays, on other data, for as long as one likes.
"""

from itertools import combinations, product

import pytest
from covering_array import covering_array
from feature_cases import FORBIDDEN, LEVELS, REFUSED, RISKIEST, Case, broken_laws, described

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

PAIRS = covering_array(LEVELS, 2, forbidden=FORBIDDEN)
TRIPLES = covering_array(LEVELS, 3, among=RISKIEST, forbidden=FORBIDDEN, seed=1)
#: Each case has data of its own.
NUMBERS = {described(levels): number for number, levels in enumerate([*PAIRS, *TRIPLES])}


@pytest.mark.parametrize("levels", [*PAIRS, *TRIPLES], ids=described)
def test_a_fit_keeps_all_laws(levels):
    assert broken_laws(levels, seed=NUMBERS[described(levels)]) == {}


@pytest.mark.parametrize(
    ("levels", "message"), REFUSED, ids=[" ".join(each) for each, _ in REFUSED]
)
def test_what_cannot_be_together_is_refused_by_name(levels, message):
    with pytest.raises(ValueError, match=message):
        Case(levels).fit()


@pytest.mark.parametrize(("cases", "names", "n"), [(PAIRS, LEVELS, 2), (TRIPLES, RISKIEST, 3)])
def test_all_combinations_that_are_not_forbidden_are_in_some_case(cases, names, n):
    for some in combinations(names, n):
        for values in product(*(LEVELS[name] for name in some)):
            levels = dict(zip(some, values, strict=True))
            is_forbidden = any(each.items() <= levels.items() for each in FORBIDDEN)
            assert is_forbidden != any(levels.items() <= case.items() for case in cases), levels
