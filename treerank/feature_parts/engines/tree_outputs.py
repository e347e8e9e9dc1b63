"""Tree outputs: the forms in which a sum of trees can be the function f.

- ``"score"``: the sum of the trees, one column (or one per output of the objective): f is what
  boosting fitted. The head then has nothing left to learn.
- ``"trees"``: every tree its own column. The head fits one weight per tree on the pairs,
  convexly; with an L1 penalty it drops trees.
- ``"leaves"``: one sparse column per leaf, 1 where the document falls into it. The head then
  refits every leaf; the widest form, and the one that most needs a penalty.

What they are for, by NDCG@10 on five folds of MQ2008 and OHSUMED
(``bench_vector_outputs.py --quick``): where early stopping guards the trees, the sum is as good
(the others: -.012 to 0, no difference shown), or better (on ClueWeb09 leaves under L2: -.051 ±
.018, p = .025). Where trees were grown for too long, 100 of them on OHSUMED, a strong head repairs
them: under L2 with ``head_alpha=10``, .020 ± .006 above the sum by trees and .040 ± .011 by leaves.
L1 with 0.1 to 0.2 keeps 8 to 35 of 100 trees and costs at most .007 there, but with 0.2 .03 to .04
on folds of ClueWeb09 and synthetic data; as few trees from the start do as well. Under L2 with
0.001 both forms fall .04 to .08 below the sum.

A new form is a :class:`TreeOutput` listed in ``OUTPUTS``.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse


@dataclass(frozen=True, eq=False)
class LeafTable:
    """Values of all leaves of all trees, one after the other.

    Attributes
    ----------
    values : ndarray of shape (n_slots, n_values)
        Value of each node number that an engine may return; several for vector leaves.
    starts : ndarray of shape (n_trees,)
        Slot of node number 0 of each tree.
    leaves : ndarray of shape (n_slots,)
        Column of each slot in the ``"leaves"`` output; -1 for an inner node.
    """

    values: np.ndarray
    starts: np.ndarray
    leaves: np.ndarray

    @classmethod
    def from_trees(cls, trees):
        """Join per-tree arrays of shape (n_nodes, n_values); NaN in the nodes that are no leaf."""
        sizes = np.array([len(values) for values in trees], dtype=np.int64)
        values = np.concatenate(trees)
        is_leaf = ~np.isnan(values[:, 0])
        leaves = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1)
        return cls(values, np.append(0, np.cumsum(sizes)[:-1]), leaves)

    @property
    def n_leaves(self):
        """Number of leaves of all trees."""
        return int((self.leaves >= 0).sum())

    @property
    def n_outputs(self):
        """Number of outputs of single trees."""
        return len(self.starts) * self.values.shape[1]

    def tree_values(self, nodes):
        """Return the outputs of single trees, from node numbers of shape (n_documents, n_trees)."""
        return self.values[nodes + self.starts].reshape(len(nodes), self.n_outputs)

    def indicator(self, nodes):
        """Return the indicator of leaves as a CSR matrix, one 1 per document and tree."""
        n_documents, n_trees = nodes.shape
        columns = self.leaves[nodes + self.starts].ravel()
        indptr = np.arange(n_documents + 1) * n_trees
        shape = n_documents, self.n_leaves
        return sparse.csr_matrix((np.ones(len(columns)), columns, indptr), shape=shape)


def _score_output(part, values):
    return part.predict_scores(values)


def _tree_output(part, values):
    return part.leaf_table().tree_values(part.predict_nodes(values))


def _leaf_output(part, values):
    return part.leaf_table().indicator(part.predict_nodes(values))


@dataclass(frozen=True)
class TreeOutput:
    """A form of output: what ``transform`` returns and how wide it is."""

    transform: Callable
    width: Callable


OUTPUTS = {
    "score": TreeOutput(_score_output, lambda part: part.n_scores_),
    "trees": TreeOutput(_tree_output, lambda part: part.leaf_table().n_outputs),
    "leaves": TreeOutput(_leaf_output, lambda part: part.leaf_table().n_leaves),
}
