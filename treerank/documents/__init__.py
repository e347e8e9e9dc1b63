"""Documents: X, y and qid in the form in which the library uses them."""

from treerank.documents.queries import QueryGroups

__all__ = ["QueryGroups"]
