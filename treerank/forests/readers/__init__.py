"""Readers of forests: one file for each program whose models are read."""
