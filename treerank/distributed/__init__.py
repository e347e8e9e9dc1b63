"""Fits by several workers: the same model, bit for bit, as by one.

>>> from treerank.distributed import Predictor, fit
"""

from treerank.distributed.fitting import fit
from treerank.distributed.predicting import Predictor

__all__ = ["Predictor", "fit"]
