"""Consumer: how the program that reads an exported model scores a document.

What a program computes is described by a few facts: how it compares, where missing values go, and
in which precision it adds. From them follows, for any forest and its thresholds in the file, the
forest that the program in fact evaluates. Scoring documents with this second forest emulates the
program exactly.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from treerank.exports.split_rule import AT_MOST, SplitRule
from treerank.forests.forest import Forest
from treerank.forests.scoring import forest_scores

Precision = Literal["float64", "float32"]


@dataclass(frozen=True)
class Consumer:
    """A program that scores documents with a model.

    Attributes
    ----------
    rule : SplitRule
        Which values go left.
    missing : {"side", "zero", "right", "refused"}
        What a missing value is: it goes to a side that each split has, it is the number 0, it
        always goes right, or it is an error.
    leaf_dtype, sum_dtype, score_dtype : {"float64", "float32"}
        Precision of the values of leaves, in which they are added, tree after tree, and of the
        final score.
    categories : {"exact", "truncated", "single"}, default=None
        How a value becomes the code of a category, see
        :class:`~treerank.forests.forest.CategorySets`; ``None`` if the program has no categories.
    missing_category : {"side", "right"}, default="side"
        Where missing values go at splits by category.
    lifts_least : bool, default=False
        Whether a constant is added before the score is rounded, so that the least score that the
        trees could have is not below 0. Reports are on the scores without it.
    zero_up_to : float, default=-1
        Numbers up to this magnitude are missing, if zeros are missing in the forest; -1 if the
        program knows no such forests.
    largest : float, default=inf
        Largest size of a number in a document; the program refuses documents with larger ones.
    """

    rule: SplitRule = AT_MOST
    missing: Literal["side", "zero", "right", "refused"] = "side"
    leaf_dtype: Precision = "float64"
    sum_dtype: Precision = "float64"
    score_dtype: Precision = "float64"
    categories: Literal["exact", "truncated", "single"] | None = None
    missing_category: Literal["side", "right"] = "side"
    lifts_least: bool = False
    zero_up_to: float = -1.0
    largest: float = np.inf

    def rounded(self, forest: Forest) -> Forest:
        """Return a forest with the values of leaves as the program reads them."""
        if self.leaf_dtype == "float64":
            return forest
        with np.errstate(over="ignore"):
            values = forest.values.astype(self.leaf_dtype).astype(np.float64)
        return replace(forest, values=values)

    def evaluated(self, written: Forest, thresholds: np.ndarray) -> Forest:
        """Return the forest that this program evaluates, given the thresholds in the file.

        ``written`` are the trees in the file, see :meth:`rounded`.
        """
        sets, is_leaf, by_set = written.categories, written.is_leaf, written.is_by_set
        reached = np.where(is_leaf | by_set, 0.0, self.rule.reaches(thresholds))
        sides = {
            "side": written.missing_left,
            "zero": reached >= 0,
            "right": np.zeros_like(is_leaf),
            "refused": ~written.missing_left,  # then every missing value makes a difference
        }
        missing_left = sides[self.missing] & ~is_leaf
        if self.missing_category == "right":
            missing_left &= ~by_set
        return replace(
            written,
            threshold=reached,
            missing_left=missing_left,
            missing_up_to=self.zero_up_to if written.missing_up_to >= 0 else -1.0,
            sum_dtype=self.sum_dtype,
            categories=sets and replace(sets, rule=self.categories or sets.rule),
        )

    def scores(self, evaluated: Forest, X: np.ndarray) -> np.ndarray:
        """Return the scores of the program for documents ``X``, given :meth:`evaluated`."""
        scores = forest_scores(evaluated, X)[:, 0]
        added = max(0.0, -_least_score(evaluated)) if self.lifts_least else 0.0
        return (scores + added).astype(self.score_dtype).astype(np.float64) - added


def _least_score(forest: Forest) -> float:
    """Return the sum of the smallest leaf value of each tree."""
    least = np.full(forest.n_trees, np.inf)
    leaves = forest.is_leaf
    np.minimum.at(least, forest.tree_of_node[leaves], forest.values[leaves, 0])
    return float(least.sum())
