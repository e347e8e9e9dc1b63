"""Clicks: rankers learned from logs of clicks, propensities, and evaluation from logs.

:meth:`ClickLog.from_table` reads sessions, and :meth:`ClickCounts.from_table` what a database sums
up of a log of any size. :func:`count_data` adds the features of documents to either, and
``ranker.fit(**data._asdict())`` learns from that. :class:`ClickRelevance` has the settings.
"""

from treerank.clicks.click_data import ClickData, count_data
from treerank.clicks.click_shares import ClickShares
from treerank.clicks.counts import ClickCounts
from treerank.clicks.evaluation import LogEvaluation, evaluate_from_log
from treerank.clicks.interleaving import (
    Interleaved,
    Preference,
    interleaving_preference,
    team_draft,
)
from treerank.clicks.items import Items
from treerank.clicks.log import ClickLog
from treerank.clicks.propensities import (
    PropensityIntervals,
    estimate_propensities,
    propensity_intervals,
)
from treerank.clicks.regression import regression_propensities
from treerank.clicks.relevance import ClickRelevance
from treerank.clicks.simulation import make_click_log, simulate_clicks
from treerank.clicks.trust_bias import TrustBias, estimate_trust_bias
from treerank.clicks.ubi import read_ubi

__all__ = [
    "ClickCounts",
    "ClickData",
    "ClickLog",
    "ClickRelevance",
    "ClickShares",
    "Interleaved",
    "Items",
    "LogEvaluation",
    "Preference",
    "PropensityIntervals",
    "TrustBias",
    "count_data",
    "estimate_propensities",
    "estimate_trust_bias",
    "evaluate_from_log",
    "interleaving_preference",
    "make_click_log",
    "propensity_intervals",
    "read_ubi",
    "regression_propensities",
    "simulate_clicks",
    "team_draft",
]
