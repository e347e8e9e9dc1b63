"""Reports: one HTML file about a ranker, to read in a browser, to print, or to pass on."""

from treerank.reports.report import Report
from treerank.reports.reporting import report

__all__ = ["Report", "report"]
