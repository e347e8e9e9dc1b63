"""Metrics: the quality of rankings, as used in early stopping, ``score`` and reports.

Call a metric with labels, scores and query ids: ``NDCG(k=10)(y, scores, qid)``, or by its name,
``get_metric("ndcg@10")(y, scores, qid)``. To add a metric, write its class
(see :mod:`treerank.metrics.base`) and list it in :data:`treerank.metrics.registry.METRICS`.
"""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
