from treerank.distributed.fitting import fit as fit  # xgboost
from treerank.distributed.fitting import predict as predict  # xgboost
