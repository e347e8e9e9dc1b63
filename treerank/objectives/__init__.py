"""Objectives: from the scores of all documents to one number and its derivatives."""

from treerank.objectives.factory import make_objective
from treerank.objectives.pairs.rules import chained_probabilities

__all__ = ["chained_probabilities", "make_objective"]
