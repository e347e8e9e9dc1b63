"""Rankers: a feature part and an objective under an antisymmetric head, and what follows from scores."""
