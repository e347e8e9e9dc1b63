"""Losses of whole queries and of single documents, as objectives."""
