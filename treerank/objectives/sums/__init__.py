"""Objectives made of others: weighted sums, and sums that start from given scores."""
