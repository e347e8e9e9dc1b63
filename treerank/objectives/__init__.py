"""Objectives: from the scores of all documents to one number and its derivatives."""

from treerank.objectives.factory import make_objective

__all__ = ["make_objective"]
