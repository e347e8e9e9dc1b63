"""Clicks: learning from click logs, propensities, and off-policy evaluation.

:meth:`ClickLog.from_table` reads sessions, and :meth:`ClickCounts.from_table` reads counts that a
database has aggregated from a log of any size. :func:`count_data` adds the features of documents to
either of them, and ``ranker.fit(data)`` learns from the result. :class:`ClickRelevance` has the
settings.
"""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
