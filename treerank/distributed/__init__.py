"""Distributed: fits to data frames of Dask and Spark, the same model bit for bit as on one machine.

>>> from treerank.distributed import fit, predict
"""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
