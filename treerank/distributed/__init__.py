"""Fits by several workers: the same model, bit for bit, as by one.

>>> from treerank.distributed import fit
"""

from treerank.distributed.fitting import fit

__all__ = ["fit"]
