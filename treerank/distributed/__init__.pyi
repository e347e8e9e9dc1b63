from treerank.distributed.fitting import fit as fit
from treerank.distributed.fitting import predict as predict
