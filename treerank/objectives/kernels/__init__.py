"""Kernels of the objectives: compiled sums over the pairs or documents of each query."""
