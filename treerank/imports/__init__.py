"""Imports: trees that other programs have grown, read from their files as forests."""

from treerank.imports.reading import read_forest

__all__ = ["read_forest"]
