"""The laws find what is wrong, and let pass what is right."""

import numba
import pytest
from laws import LAWS, Case
from ranker_mutants import MUTANTS, Honest
from small_rankers import DATA

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("law", LAWS)
def test_an_honest_ranker_keeps_every_law_and_is_never_fitted_itself(law):
    ranker = Honest()
    LAWS[law](Case(ranker, DATA))
    assert vars(ranker) == {"random_state": None}


def is_broken(law, ranker):
    try:
        LAWS[law](Case(ranker, DATA))
    except Exception:
        return True
    return False


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_mutant_fails_the_law_it_breaks_and_no_other(mutant):
    if mutant.__name__ == "DependsOnThreads" and numba.config.NUMBA_NUM_THREADS == 1:
        pytest.skip("numba has but one thread here")
    assert {law for law in LAWS if is_broken(law, mutant())} == {mutant.breaks, *mutant.entails}


def test_every_law_has_a_mutant():
    assert {mutant.breaks for mutant in MUTANTS} == set(LAWS)
