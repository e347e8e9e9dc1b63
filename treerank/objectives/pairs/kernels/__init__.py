"""Kernels: compiled sums over the pairs of each query, and the ranks behind their weights.

Compiled functions have no type hints here: behind ``njit``, no type checker reads them.
"""
