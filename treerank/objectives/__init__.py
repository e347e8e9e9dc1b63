"""Objectives: from the scores of all documents to one number and its derivatives."""

from treerank.objectives.factory import make_objective
from treerank.objectives.pairs.losses import PairLoss
from treerank.objectives.pairs.rules import Pairs
from treerank.objectives.pairs.weights import PairWeight
from treerank.objectives.sums import weighted_sum

__all__ = ["PairLoss", "PairWeight", "Pairs", "make_objective", "weighted_sum"]
