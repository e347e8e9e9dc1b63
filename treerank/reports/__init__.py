"""Reports: one HTML file about a ranker, to read in a browser, print or share."""

from treerank.reports.reporting import Report, report

__all__ = ["Report", "report"]
