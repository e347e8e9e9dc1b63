"""Forests: trees of every kind in one neutral form, read from models of any program, and scored."""
