"""Export: rankers for other programs, which then rank documents as the rankers do."""

from treerank.export.exporting import export
from treerank.export.report import ExportReport

__all__ = ["ExportReport", "export"]
