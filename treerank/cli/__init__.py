"""The command ``treerank``: a demonstration, and fit, rank, evaluate and compare on data files."""

from treerank.cli.app import app, main

__all__ = ["app", "main"]
