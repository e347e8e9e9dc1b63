"""Objectives: from the scores of all documents to one number and its derivatives."""

from treerank.objectives.chained_probabilities import chained_probabilities
from treerank.objectives.factory import make_objective

__all__ = ["chained_probabilities", "make_objective"]
