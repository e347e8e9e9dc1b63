"""Forest: trees in one neutral form, which those of LightGBM, XGBoost and this package turn into.

A document with value ``x`` goes left at a split if ``x <= threshold`` in double precision. The
rules of the engines become such thresholds exactly: XGBoost's ``float32(x) < t``, for example, is
``x <= d`` for the largest double ``d`` that rounds to a number below ``t``. So every user of a
forest (scoring, export, explanation) knows one comparison only. What remains of an engine is how
it sums: a score starts as the constant, and the trees are added one after the other, in single or
double precision.

To add a source of trees, write a function that returns a :class:`Forest`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from treerank.checks import check_choice, check_count
from treerank.forests.structure import measure_trees

#: How a value becomes the code of a category, by name; see :class:`CategorySets`.
CODE_RULES = ("exact", "truncated", "single")
SUM_DTYPES = ("float64", "float32")


@dataclass(frozen=True, eq=False)
class CategorySets:
    """Sets of codes: a document goes left at a split by category if its code is in the set.

    All other codes go right, those that no document had in training, too.

    Attributes
    ----------
    of_node : ndarray of int32, shape (n_nodes,)
        Number of the set of each split by category; -1 in other nodes.
    starts : ndarray of int64, shape (n_sets + 1,)
        First code of each set, and the number of all codes.
    codes : ndarray of float64
        Codes of all sets, set after set; ascending within a set.
    rule : {"exact", "truncated", "single"}
        How a value becomes a code: the value itself, the value without its fraction (LightGBM),
        or the largest whole number up to the value in single precision (XGBoost).
    """

    of_node: np.ndarray
    starts: np.ndarray
    codes: np.ndarray
    rule: Literal["exact", "truncated", "single"]


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees as arrays over all their nodes.

    A forest checks itself when it is made: whatever arrays it was made from, scoring ends, reads
    nothing outside of the arrays, and returns finite scores.

    Attributes
    ----------
    n_features : int
        Number of columns of X.
    roots : ndarray of int32, shape (n_trees,)
        Root of each tree.
    feature : ndarray of int32, shape (n_nodes,)
        Feature of each split; -1 in leaves.
    threshold : ndarray of float64, shape (n_nodes,)
        Largest value that goes left.
    left, right : ndarray of int32, shape (n_nodes,)
        Children of each split; -1 in leaves.
    missing_left : ndarray of bool, shape (n_nodes,)
        Whether missing values (NaN) go left.
    values : ndarray of float64, shape (n_nodes, n_values)
        Values of the leaves: one number, or one for each output.
    tree_output : ndarray of int32, shape (n_trees,)
        Output that each tree is added to, where leaves have one value; else 0.
    constant : ndarray of float64, shape (n_outputs,)
        Scores before the first tree.
    categories : CategorySets, default=None
        Sets of codes, if there are splits by category.
    missing_up_to : float, default=-1
        Numbers up to this magnitude are missing, too; -1 for none. This is 0 for XGBoost's trees
        that were grown on a sparse matrix. Splits by category look at it only under the rule
        "single".
    sum_dtype : {"float64", "float32"}
        Precision in which trees are added.
    feature_names : tuple of str, default=None
        Names of the columns.

    Examples
    --------
    >>> stump = Forest(
    ...     n_features=1,
    ...     roots=np.array([0], dtype=np.int32),
    ...     feature=np.array([0, -1, -1], dtype=np.int32),
    ...     threshold=np.array([5.0, 0.0, 0.0]),
    ...     left=np.array([1, -1, -1], dtype=np.int32),
    ...     right=np.array([2, -1, -1], dtype=np.int32),
    ...     missing_left=np.array([True, False, False]),
    ...     values=np.array([[0.0], [-1.0], [1.0]]),
    ...     tree_output=np.array([0], dtype=np.int32),
    ...     constant=np.array([0.5]),
    ... )
    >>> from treerank.forests.scoring import forest_scores
    >>> forest_scores(stump, np.array([[5.0], [6.0], [np.nan]]))
    array([[-0.5],
           [ 1.5],
           [-0.5]])
    """

    n_features: int
    roots: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    values: np.ndarray
    tree_output: np.ndarray
    constant: np.ndarray
    categories: CategorySets | None = None
    missing_up_to: float = -1.0
    sum_dtype: Literal["float64", "float32"] = "float64"
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse arrays that are no forest."""
        check_count("n_features", self.n_features, at_least=0)
        check_choice("sum_dtype", self.sum_dtype, SUM_DTYPES)
        self._check_sizes()
        self._check_splits()
        self._check_values()
        if self.categories is not None:
            self._check_categories(self.categories)
        _require("left", self.depth >= 0, "one tree below each root, without cycles")

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.roots)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return len(self.feature)

    @property
    def n_outputs(self) -> int:
        """Number of scores of a document."""
        return len(self.constant)

    @property
    def is_leaf(self) -> np.ndarray:
        """Whether each node is a leaf."""
        return self.feature < 0

    @cached_property
    def depth(self) -> int:
        """Largest number of splits on a path from a root to a leaf."""
        return measure_trees(self.roots, self.left, self.right)

    def _check_sizes(self) -> None:
        for name, dtype in _PER_NODE.items():
            _require_array(name, getattr(self, name), dtype, (self.n_nodes,))
        _require("values", np.ndim(self.values) == 2, "a matrix")
        n_values = self.values.shape[1]
        _require_array("values", self.values, np.float64, (self.n_nodes, n_values))
        _require_array("roots", self.roots, np.int32, (self.n_trees,))
        _require_array("tree_output", self.tree_output, np.int32, (self.n_trees,))
        _require_array("constant", self.constant, np.float64, (self.n_outputs,))
        _require("constant", self.n_outputs >= 1, "one number for each output")
        _require("values", n_values in (1, self.n_outputs), "one column, or one for each output")
        names = self.feature_names
        is_whole = names is None or len(names) == self.n_features
        _require("feature_names", is_whole, "one name for each feature")

    def _check_splits(self) -> None:
        is_leaf, children = self.is_leaf, np.stack([self.left, self.right])
        _require("feature", (self.feature < self.n_features).all(), "below n_features")
        _require("threshold", not np.isnan(self.threshold[~is_leaf]).any(), "numbers in splits")
        _require("left", (children[:, is_leaf] == -1).all(), "-1 in leaves")
        nodes = np.concatenate([self.roots, *children[:, ~is_leaf]])
        in_range = ((nodes >= 0) & (nodes < self.n_nodes)).all()
        _require("left", in_range, "the number of a node in splits")
        is_once = in_range and (np.bincount(nodes, minlength=self.n_nodes) == 1).all()
        _require("left", is_once, "such that each node is a root or the child of one split")

    def _check_values(self) -> None:
        outputs = self.tree_output
        last = self.n_outputs - self.values.shape[1]
        _require("tree_output", ((outputs >= 0) & (outputs <= last)).all(), "an output")
        sizes = [np.abs(part).max(initial=0.0) for part in (self.values, self.constant)]
        with np.errstate(over="ignore"):
            most = sizes[0] * self.n_trees + sizes[1]
        is_finite = most < np.finfo(self.sum_dtype).max  # False for NaN
        _require("values", is_finite, f"small enough for finite sums in {self.sum_dtype}")

    def _check_categories(self, sets: CategorySets) -> None:
        check_choice("rule", sets.rule, CODE_RULES)
        n_sets = len(sets.starts) - 1
        _require_array("of_node", sets.of_node, np.int32, (self.n_nodes,))
        _require_array("starts", sets.starts, np.int64, (n_sets + 1,))
        _require_array("codes", sets.codes, np.float64, (len(sets.codes),))
        in_range = ((sets.of_node >= -1) & (sets.of_node < n_sets)).all()
        _require("of_node", in_range, "-1 or the number of a set")
        ends = n_sets >= 0 and sets.starts[0] == 0 and sets.starts[-1] == len(sets.codes)
        _require("starts", ends and (np.diff(sets.starts) >= 0).all(), "ascending ends of sets")
        is_first = np.isin(np.arange(len(sets.codes)), sets.starts)
        rises = np.append(True, np.diff(sets.codes) > 0)[: len(sets.codes)]
        is_number = not np.isnan(sets.codes).any()
        _require("codes", is_number and (rises | is_first).all(), "ascending in each set")


_PER_NODE = {
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "missing_left": np.bool_,
}


def _require(name: str, holds: bool | np.bool_, rule: str) -> None:
    if not holds:
        raise ValueError(f"{name} must be {rule} in a forest; got something else.")


def _require_array(name: str, array: np.ndarray, dtype: type, shape: tuple[int, ...]) -> None:
    kind, size = np.dtype(dtype).name, " x ".join(map(str, shape))
    is_such = isinstance(array, np.ndarray) and array.dtype == dtype and array.shape == shape
    _require(name, is_such, f"an array of {size} {kind}")
