"""Clicks: rankers learned from logs of clicks, models of clicks, and evaluation from logs."""

from treerank.clicks.click_data import ClickData, count_data
from treerank.clicks.click_shares import ClickShares
from treerank.clicks.counts import ClickCounts
from treerank.clicks.evaluation import LogEvaluation, evaluate_from_log
from treerank.clicks.interleaving import (
    Credited,
    Interleaved,
    Preference,
    interleaving_preference,
    optimized_interleaving,
    team_draft,
)
from treerank.clicks.items import Items
from treerank.clicks.log import ClickLog
from treerank.clicks.models.registry import CLICK_MODELS
from treerank.clicks.propensities import (
    PropensityIntervals,
    estimate_propensities,
    propensity_intervals,
)
from treerank.clicks.regression import regression_propensities
from treerank.clicks.relevance import ClickRelevance
from treerank.clicks.simulation import make_click_log, simulate_clicks
from treerank.clicks.ubi import read_ubi

__all__ = [
    "CLICK_MODELS",
    "ClickCounts",
    "ClickData",
    "ClickLog",
    "ClickRelevance",
    "ClickShares",
    "Credited",
    "Interleaved",
    "Items",
    "LogEvaluation",
    "Preference",
    "PropensityIntervals",
    "count_data",
    "estimate_propensities",
    "evaluate_from_log",
    "interleaving_preference",
    "make_click_log",
    "optimized_interleaving",
    "propensity_intervals",
    "read_ubi",
    "regression_propensities",
    "simulate_clicks",
    "team_draft",
]
