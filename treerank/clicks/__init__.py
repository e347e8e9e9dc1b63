"""Clicks: rankers learned from logs of clicks, propensities, and evaluation from logs.

:meth:`ClickLog.from_table` reads sessions, and :meth:`ClickCounts.from_table` what a database sums
up of a log of any size. :func:`count_data` adds the features of documents to either, and
``ranker.fit(data)`` learns from that. :class:`ClickRelevance` has the settings.
"""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
