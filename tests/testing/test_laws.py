"""The laws of ranking, over everything that the registries list: what is listed is tested."""

from unittest import SkipTest

import pytest
from small_rankers import DATA, NAMES, PART_SETTINGS, SETTINGS, made

from treerank.feature_parts.registry import FEATURE_PARTS
from treerank.registry import RANKERS
from treerank.testing import LAWS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

#: Laws that a ranker cannot keep, and why.
EXCEPTIONS = {
    "SortNet": dict.fromkeys(
        [
            *("ranks_agree_with_predict", "score_is_ndcg", "ties"),
            *("transitivity", "comparing_agrees_with_predict", "pseudometric"),
        ],
        "a comparator need not be transitive, and no score says what it prefers",
    ),
    "MART": {"shifted_scores": "regression looks at scores, not at their differences"},
    "RankProp": {"shifted_scores": "regression looks at scores, not at their differences"},
    "RankNetStar": {"shifted_scores": "its pairs are of different queries"},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_listed_keeps_the_laws(name, law):
    if law in EXCEPTIONS.get(name, {}):
        pytest.skip(EXCEPTIONS[name][law])
    try:
        LAWS[law](made(name), DATA)
    except SkipTest as reason:
        pytest.skip(str(reason))


def test_small_settings_and_exceptions_are_of_what_is_listed():
    assert set(PART_SETTINGS) <= set(FEATURE_PARTS)
    assert set(SETTINGS) | set(EXCEPTIONS) <= set(RANKERS)
    assert all(set(laws) <= set(LAWS) for laws in EXCEPTIONS.values())
