"""Distributed: fits by several workers, the same model bit for bit as by one.

>>> from treerank.distributed import DaskWorkers, Processes, fit
"""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
