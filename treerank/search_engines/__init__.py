"""Search engines: what they send, read as judgments, training sets and logs of clicks.

``read_judgments`` reads judgment lists, ``read_feature_log`` the features that an engine logged for
the documents it returned, and ``read_ubi`` the events of OpenSearch's User Behavior Insights.
"""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
