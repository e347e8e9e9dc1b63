"""Exports: rankers for other programs, which then rank documents as the rankers do."""

from treerank.exports.exporting import export
from treerank.exports.feature_sets import write_feature_set
from treerank.exports.report import ExportReport

__all__ = ["ExportReport", "export", "write_feature_set"]
