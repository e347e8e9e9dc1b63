"""Documents: what users pass as X, y and qid, in the form in which the library computes with it."""

from treerank.documents.queries import QueryGroups

__all__ = ["QueryGroups"]
