"""Exports: rankers for other programs, which then rank documents as the rankers do."""

from treerank.exports.exporting import export
from treerank.exports.report import ExportReport
from treerank.exports.uploads import write_feature_set

__all__ = ["ExportReport", "export", "write_feature_set"]
