"""The laws of ranking, over everything that the registries list: what is listed is tested."""

from functools import cache

import pytest
from laws import LAWS, Case
from small_rankers import DATA, NAMES, PART_SETTINGS, SETTINGS, made

from treerank import LightGBMTrees, TreeDirectRanker, XGBoostTrees
from treerank.feature_parts.registry import FEATURE_PARTS
from treerank.registry import RANKERS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore"),
]

#: Laws that a ranker cannot keep, and why.
EXCEPTIONS = {
    "SortNet": dict.fromkeys(
        [
            *("ranks_agree_with_predict", "score_is_ndcg", "ties"),
            *("comparing_agrees_with_predict", "pseudometric", "chained_pair_probabilities"),
        ],
        "a comparator need not be transitive, and no score says what it prefers",
    ),
    "MART": {"shifted_scores": "regression looks at scores, not at their differences"},
    "RankProp": {"shifted_scores": "regression looks at scores, not at their differences"},
    "RankNetStar": {"shifted_scores": "its pairs are of different queries"},
}
# Noise and drawn rows, which are the same wherever the rows stand.
TREES = {"n_estimators": 4, "n_jobs": 1, "subsample": 0.6}
DRAWING = {
    "LightGBM": TreeDirectRanker(LightGBMTrees(**TREES, subsample_freq=1), smoothing=1.0),
    "XGBoost": TreeDirectRanker(XGBoostTrees(**TREES), smoothing=1.0),
}


@cache
def case_of(name):
    return Case(DRAWING[name] if name in DRAWING else made(name), DATA)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_listed_keeps_the_laws(name, law):
    if law in EXCEPTIONS.get(name, {}):
        pytest.skip(EXCEPTIONS[name][law])
    if law == "shifted_scores" and not hasattr(case_of(name).ranker, "make_objective"):
        pytest.skip("it learns in another way")
    LAWS[law](case_of(name))


def test_small_settings_and_exceptions_are_of_what_is_listed():
    assert set(PART_SETTINGS) <= set(FEATURE_PARTS)
    assert set(SETTINGS) | set(EXCEPTIONS) <= set(RANKERS)
    assert all(set(laws) <= set(LAWS) for laws in EXCEPTIONS.values())


@pytest.mark.parametrize("law", ["row_order", "query_names", "refit"])
@pytest.mark.parametrize("name", DRAWING)
def test_what_is_drawn_at_random_does_not_depend_on_the_order_of_rows(name, law):
    LAWS[law](case_of(name))
