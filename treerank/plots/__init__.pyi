from treerank.plots.curves import ndcg_over_k as ndcg_over_k
from treerank.plots.propensities import propensity_curves as propensity_curves
from treerank.plots.significance import p_value_matrix as p_value_matrix
