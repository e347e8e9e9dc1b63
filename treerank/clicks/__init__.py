"""Clicks: rankers learned from logs of clicks, models of clicks, and evaluation from logs."""

from treerank.clicks.counts import ClickCounts
from treerank.clicks.items import Items
from treerank.clicks.log import ClickLog
from treerank.clicks.models.registry import CLICK_MODELS
from treerank.clicks.simulation import make_click_log, simulate_clicks

__all__ = [
    "CLICK_MODELS",
    "ClickCounts",
    "ClickLog",
    "Items",
    "make_click_log",
    "simulate_clicks",
]
