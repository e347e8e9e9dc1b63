"""Method: what was compared, and how."""

from importlib.metadata import version

from treerank.reports.page import Section, element, joined
from treerank.reports.subject import Subject
from treerank.reports.tables import paragraphs, table

_HOW = (
    "Means are over the queries for which the metric is defined. Intervals hold the true mean in "
    "95 % of samples of queries (bootstrap, bias-corrected and accelerated); they take the ranker "
    "as given. p-values are from a paired randomization test over queries; the interval of a "
    "difference is that of the test. Neither is adjusted for the number of metrics.",
    "What a feature adds to a margin is its Shapley value, with the lower document as the "
    "reference. It is exact for sums of trees and linear models, and drawn for others.",
)
_BY_CLUSTER = (
    "Queries of a cluster are correlated: all intervals draw, and all tests exchange, whole "
    "clusters of queries. Slices are tested with standard errors by cluster."
)


def method(subject: Subject) -> Section:
    """Return the section on what was compared: settings, versions, and how numbers are computed."""
    rows = [*subject.about.items(), ("ranker", type(subject.ranker).__name__)]
    rows += [("metrics", ", ".join(repr(metric) for metric in subject.metrics))]
    rows += [("seed", str(subject.random_state)), ("treerank", version("treerank"))]
    how = _HOW if subject.clusters is None else (*_HOW, _BY_CLUSTER)
    parameters = element("pre", repr(subject.ranker))
    settings = element("details", element("summary", "Settings of the ranker"), parameters)
    body = [table("What was compared", ["", "value"], rows, text=2), settings, paragraphs(*how)]
    return Section("method", "What was compared, and how", joined(body))
