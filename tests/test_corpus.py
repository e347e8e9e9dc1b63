"""The corpus says what its definitions say, and four programs agree with it."""

import pytest

from tests.corpus.make import FILES, FOLDER, text_of
from tests.corpus.programs import PROGRAMS, check, read_cases

#: At least so many cases can be said in the words of a program.
N_CASES = {"treerank": 2000, "scikit-learn": 200, "trec_eval": 400, "LightGBM": 100}


@pytest.fixture(scope="module")
def cases():
    return read_cases()


@pytest.mark.parametrize("name", FILES)
def test_a_file_holds_what_the_definitions_say(name):
    assert (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8") == text_of(name)


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_agrees_with_every_case_that_it_can_say(program, cases):
    found = check(PROGRAMS[program], cases)
    assert found.wrong == []
    assert found.n_said >= N_CASES[program]


def test_what_differs_in_the_eleventh_digit_is_wrong(cases):
    case = next(case for case in cases if case.get("value"))
    found = check(lambda case: [case["value"] * (1 + 1e-11)], [case])
    assert [wrong for wrong, _ in found.wrong] == [case]
