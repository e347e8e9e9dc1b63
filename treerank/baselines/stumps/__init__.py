"""Stump rankers: a sum of functions of one feature each."""
