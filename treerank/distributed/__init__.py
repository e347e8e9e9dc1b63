"""Fits by several workers: the same model, bit for bit, as by one.

>>> from treerank.distributed import DaskWorkers, Processes, fit
"""

from treerank.distributed.dask_workers import DaskWorkers
from treerank.distributed.fitting import fit
from treerank.distributed.launcher import Launcher
from treerank.distributed.processes import Processes

__all__ = ["DaskWorkers", "Launcher", "Processes", "fit"]
