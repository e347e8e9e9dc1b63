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

All forms come from the trees as a forest, whichever engine grew them. The engine scores only what
no forest can: trees whose leaves are linear functions, and rows on a graphics card.

To add a form, list a :class:`TreeOutput` in ``OUTPUTS``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from treerank.forests.forest import Forest
from treerank.forests.scoring import forest_leaves, forest_scores


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


def scores_of(part: Any, values: Any) -> np.ndarray:
    """Return the scores of rows, of shape (n_documents, n_scores_)."""
    forest = part.scoring_forest()
    if forest is None:
        scores: np.ndarray = part.predict_scores(values)
        return scores
    return forest_scores(forest, values, n_threads=part.n_threads)


def values_of_trees(part: Any, values: Any) -> np.ndarray:
    """Return the ``"trees"`` output of rows."""
    leaves = forest_leaves(_forest(part), values, n_threads=part.n_threads)
    found: np.ndarray = part.node_values()[leaves]
    return found.reshape(len(leaves), -1)


def indicator_of_leaves(part: Any, values: Any) -> sparse.csr_matrix:
    """Return the ``"leaves"`` output of rows; columns are leaves in the order of nodes."""
    is_leaf = _forest(part).is_leaf
    leaves = forest_leaves(_forest(part), values, n_threads=part.n_threads)
    columns = (np.cumsum(is_leaf) - 1)[leaves.ravel()]
    starts = np.arange(len(leaves) + 1) * leaves.shape[1]
    shape = len(leaves), int(is_leaf.sum())
    return sparse.csr_matrix((np.ones(len(columns)), columns, starts), shape=shape)


def _n_tree_values(part: Any) -> int:
    forest = _forest(part)
    return forest.n_trees * forest.values.shape[1]


def _forest(part: Any) -> Forest:
    if part.read_forest is None:
        raise ValueError(
            "output must be 'score' with linear_tree and other trees that no forest holds; "
            f"got {part.output!r}."
        )
    forest: Forest = part.read_forest
    return forest


OUTPUTS = {
    "score": TreeOutput(scores_of, lambda part: part.n_scores_),
    "trees": TreeOutput(values_of_trees, _n_tree_values),
    "leaves": TreeOutput(indicator_of_leaves, lambda part: int(_forest(part).is_leaf.sum())),
}
