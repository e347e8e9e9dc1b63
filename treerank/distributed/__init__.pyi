from treerank.distributed.dask_workers import DaskWorkers as DaskWorkers
from treerank.distributed.fitting import fit as fit
from treerank.distributed.processes import Processes as Processes
