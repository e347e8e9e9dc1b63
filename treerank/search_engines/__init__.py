"""Search engines: readers of judgment lists, feature logs and click logs.

``read_judgments`` reads judgment lists, ``read_feature_log`` reads the features that an engine has
logged for the documents it returned, and ``read_ubi`` reads the events of
OpenSearch's User Behavior Insights.
"""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
