"""Kernels: compiled sums over the pairs of each query, and the ranks behind their weights."""
