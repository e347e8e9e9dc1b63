"""Tree outputs: the forms in which a sum of trees can be the function f.

- ``"score"``: the sum of the trees, one column (or one per output of the objective). f is what
  boosting fitted, and the head has nothing left to learn.
- ``"trees"``: one column per tree. The head fits one weight per tree on the pairs, a convex
  problem; with an L1 penalty it drops trees.
- ``"leaves"``: one sparse column per leaf, 1 where the document reaches it. The head fits the
  value of every leaf anew. This form is the widest and needs a penalty most.

``"score"`` is as good as the others where early stopping limits the number of trees. Where too
many trees were grown, a head with a strong L2 penalty on ``"trees"`` or ``"leaves"`` can repair
them. Choose by validation.

To add a form, list a :class:`TreeOutput` in ``OUTPUTS``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from treerank.feature_parts.engines.fast_scores import scores_of


@dataclass(frozen=True, eq=False)
class LeafTable:
    """Values of all nodes of all trees in one table, tree after tree.

    Attributes
    ----------
    values : ndarray of shape (n_all_nodes, n_values)
        Value of each node; several numbers where leaves are vectors, NaN in inner nodes.
    starts : ndarray of shape (n_trees,)
        Row of the first node of each tree.
    leaves : ndarray of shape (n_all_nodes,)
        Column of each node in the ``"leaves"`` output; -1 for an inner node.

    Examples
    --------
    >>> tree = np.array([[np.nan], [1.0], [2.0]])
    >>> table = LeafTable.from_trees([tree, tree])
    >>> table.n_leaves, table.leaves
    (4, array([-1,  0,  1, -1,  2,  3]))
    """

    values: np.ndarray
    starts: np.ndarray
    leaves: np.ndarray

    @classmethod
    def from_trees(cls, trees: Sequence[np.ndarray]) -> "LeafTable":
        """Join one array of shape (n_nodes, n_values) per tree; inner nodes are NaN."""
        sizes = np.array([len(values) for values in trees], dtype=np.int64)
        values = np.concatenate(trees)
        is_leaf = ~np.isnan(values[:, 0])
        leaves = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1)
        return cls(values, np.append(0, np.cumsum(sizes)[:-1]), leaves)

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees."""
        return int((self.leaves >= 0).sum())

    @property
    def n_outputs(self) -> int:
        """Number of columns of the ``"trees"`` output."""
        return len(self.starts) * self.values.shape[1]

    def tree_values(self, nodes: np.ndarray) -> np.ndarray:
        """Return the ``"trees"`` output for node numbers of shape (n_documents, n_trees)."""
        return self.values[nodes + self.starts].reshape(len(nodes), self.n_outputs)

    def indicator(self, nodes: np.ndarray) -> sparse.csr_matrix:
        """Return the ``"leaves"`` output for node numbers of shape (n_documents, n_trees)."""
        n_documents, n_trees = nodes.shape
        columns = self.leaves[nodes + self.starts].ravel()
        indptr = np.arange(n_documents + 1) * n_trees
        shape = n_documents, self.n_leaves
        return sparse.csr_matrix((np.ones(len(columns)), columns, indptr), shape=shape)


@dataclass(frozen=True)
class TreeOutput:
    """A form of output of :class:`~treerank.feature_parts.engines.boosting.BoostedTrees`.

    Attributes
    ----------
    transform : callable
        ``transform(part, values)`` returns the outputs of some documents.
    width : callable
        ``width(part)`` returns the number of columns of the output.
    """

    transform: Callable[[Any, Any], np.ndarray | sparse.csr_matrix]
    width: Callable[[Any], int]


OUTPUTS = {
    "score": TreeOutput(scores_of, lambda part: part.n_scores_),
    "trees": TreeOutput(
        lambda part, X: part.leaf_table().tree_values(part.predict_nodes(X)),
        lambda part: part.leaf_table().n_outputs,
    ),
    "leaves": TreeOutput(
        lambda part, X: part.leaf_table().indicator(part.predict_nodes(X)),
        lambda part: part.leaf_table().n_leaves,
    ),
}
