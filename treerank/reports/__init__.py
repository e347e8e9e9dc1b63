"""Reports: one HTML file about a ranker, to read in a browser, to print, or to pass on."""

from treerank.reports.reporting import Report, report

__all__ = ["Report", "report"]
