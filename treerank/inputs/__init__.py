"""Inputs: what users pass as X, y and qid, in the form in which the library computes with it."""

from treerank.inputs.grouping import QueryGroups

__all__ = ["QueryGroups"]
