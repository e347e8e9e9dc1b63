"""Rankers: estimators that learn to rank, and the parts that they consist of."""
