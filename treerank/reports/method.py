"""Method: what was compared, and how."""

import re
from importlib.metadata import version

from treerank.metrics.registry import FunctionMetric
from treerank.reports.page import Section, element, joined
from treerank.reports.subject import Subject
from treerank.reports.tables import paragraphs, table

_HOW = (
    "Means are over the queries for which the metric is defined. Intervals contain the true mean "
    "for 95 % of samples of queries (bootstrap, bias-corrected and accelerated); they take the "
    "ranker as given. p-values are from a paired randomization test over queries, and the "
    "intervals of differences match this test. Neither is adjusted for the number of metrics.",
    "The contribution of a feature to a margin is its Shapley value, with the lower document as "
    "the reference. It is exact for trees, linear models and sums of these, and estimated by "
    "sampling for other models.",
)
_BY_CLUSTER = (
    "Queries of a cluster are correlated, so all intervals and tests resample whole clusters of "
    "queries. Slices are tested with cluster-robust standard errors."
)


def method(subject: Subject) -> Section:
    """Return the section on what was compared: settings, versions, and how numbers are computed."""
    rows = [*subject.about.items(), ("ranker", type(subject.ranker).__name__)]
    metrics = [m.name if isinstance(m, FunctionMetric) else repr(m) for m in subject.metrics]
    rows += [("metrics", ", ".join(metrics))]
    rows += [("seed", str(subject.random_state)), ("treerank", version("treerank"))]
    how = _HOW if subject.clusters is None else (*_HOW, _BY_CLUSTER)
    # Functions among the settings have addresses, which differ from process to process.
    parameters = element("pre", re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(subject.ranker)))
    settings = element("details", element("summary", "Settings of the ranker"), parameters)
    body = [table("What was compared", ["", "value"], rows, text=2), settings, paragraphs(*how)]
    return Section("method", "What was compared, and how", joined(body))
