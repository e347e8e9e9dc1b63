"""The command ``treerank``: a demonstration, and fit, rank and evaluate on LETOR files."""

from treerank.cli.app import app, main

__all__ = ["app", "main"]
