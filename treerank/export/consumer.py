"""Consumer: how the program that reads an exported model scores a document.

What a program computes is described by a few facts: how it compares, where missing values go, and
in which precision it adds. From them follows, for any forest and its thresholds in the file, the
forest that the program in fact evaluates. Scoring documents with this second forest emulates the
program exactly.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from treerank.export.comparison import AT_MOST, Comparison
from treerank.forests.forest import Forest


@dataclass(frozen=True)
class Consumer:
    """A program that scores documents with a model.

    Attributes
    ----------
    comparison : Comparison
        Which values go left.
    missing : {"side", "zero", "right", "refused"}
        What a missing value is: it goes to a side that each split has, it is the number 0, it
        always goes right, or it is an error.
    leaf_dtype, sum_dtype : {"float64", "float32"}
        Precision of the values of leaves, and in which they are added, tree after tree.
    categories : bool
        Whether a split may be a set of categories.
    """

    comparison: Comparison = AT_MOST
    missing: Literal["side", "zero", "right", "refused"] = "side"
    leaf_dtype: Literal["float64", "float32"] = "float64"
    sum_dtype: Literal["float64", "float32"] = "float64"
    categories: bool = False

    def evaluated(self, written: Forest, thresholds: np.ndarray) -> Forest:
        """Return the forest that this program evaluates, given the thresholds in the file.

        Parameters
        ----------
        written : Forest
            The trees in the file.
        thresholds : ndarray of shape (n_nodes,)
            Thresholds in the file.

        Returns
        -------
        Forest
        """
        reached = self.comparison.reaches(thresholds)
        sides = {
            "side": written.missing_left,
            "zero": reached >= 0,
            "right": np.zeros(written.n_nodes, dtype=bool),
            "refused": ~written.missing_left,  # then every missing value makes a difference
        }
        return replace(
            written,
            threshold=np.where(written.is_leaf, 0.0, reached),
            missing_left=sides[self.missing] & ~written.is_leaf,
            values=written.values.astype(self.leaf_dtype).astype(np.float64),
            constant=written.constant.astype(self.leaf_dtype).astype(np.float64),
            missing_up_to=-1.0,
            sum_dtype=self.sum_dtype,
        )
