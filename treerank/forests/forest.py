"""Forest: trees in one neutral form, into which trees of LightGBM, XGBoost and treerank convert.

A document with value ``x`` goes left at a split if ``x <= threshold`` in double precision. The
rules of the engines become such thresholds exactly: XGBoost's ``float32(x) < t``, for example, is
``x <= d`` for the largest double ``d`` that rounds to a number below ``t``. So the code that uses a
forest (scoring, export, explanation) needs one comparison only. The engines still differ in how
they sum: a score starts as the constant, and the trees are added one after the other, in single or
double precision.

To add a source of trees, write a function that returns a :class:`Forest`.
"""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from treerank.checks import check_choice, is_of_engine, is_whole, quote
from treerank.documents.columns import Columns, check_columns
from treerank.documents.training_queries import TrainingQueries
from treerank.files.states import array, check_state, count, optional
from treerank.forests.layouts import BitVectors, Traversal, make_bitvectors, make_traversal

#: How a value becomes the code of a category, by name; see :class:`CategorySets`.
CODE_RULES = ("exact", "truncated", "single", "whole")
CodeRule = Literal["exact", "truncated", "single", "whole"]
SUM_DTYPES = ("float64", "float32")
SumDtype = Literal["float64", "float32"]


@dataclass(frozen=True, eq=False)
class CategorySets:
    """Sets of codes: a document goes left at a split by category if its code is in the set.

    All other codes go right, including codes that no document had in training.

    Attributes
    ----------
    of_node : ndarray of int32, shape (n_nodes,)
        Number of the set of each split by category; -1 in other nodes.
    starts : ndarray of int64, shape (n_sets + 1,)
        First code of each set, and the number of all codes.
    codes : ndarray of float64
        Codes of all sets, set after set; ascending within a set.
    rule : {"exact", "truncated", "single", "whole"}
        How a value becomes a code: the value itself, the value without its fraction (LightGBM),
        or the largest whole number up to the value in single precision (XGBoost). "whole" is the
        value itself, for a sum of trees of several engines, which agree on whole numbers only.
    """

    of_node: np.ndarray
    starts: np.ndarray
    codes: np.ndarray
    rule: CodeRule


@dataclass(frozen=True, eq=False, repr=False)
class Forest:
    """Trees as arrays over all their nodes.

    The constructor refuses arrays that are no trees. So scoring a forest always ends, reads nothing
    outside the arrays, and returns finite scores.

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
    gain : ndarray of float64, shape (n_nodes,), default=None
        Gain of each split, 0 in leaves, if it is known.
    levels : dict from int to list, default=None
        The categories of columns, by column number, in the order of their codes, if known.
    training_queries : TrainingQueries, default=None
        What is remembered of the queries that the trees were trained on, if anything is. A ranker
        that starts from the trees remembers them, too.
    monotone_constraints : dict from int to int, default=None
        -1 or 1 by column number: where the trees are known to fall or to rise in a feature, as a
        model of LightGBM says. ``None`` is unknown.
    has_all_columns : bool, default=True
        Whether ``n_features`` and ``feature_names`` are those of all columns, in their order. A
        dump of XGBoost and a model of RankLib have only the features that the trees use.

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
    sum_dtype: SumDtype = "float64"
    feature_names: tuple[str, ...] | None = None
    gain: np.ndarray | None = None
    levels: dict[int, list[Any]] | None = None
    training_queries: TrainingQueries | None = None
    monotone_constraints: dict[int, int] | None = None
    has_all_columns: bool = True

    def __post_init__(self) -> None:
        """Refuse arrays that are no forest."""
        check_choice("sum_dtype", self.sum_dtype, SUM_DTYPES)
        state = {name: getattr(self, name) for name in _RULES}
        check_state(state, _RULES, n_features=self.n_features)
        self._check_splits()
        self._check_values()
        check_columns(None, self.levels or {}, self.n_features)
        if self.categories is not None:
            self._check_categories(self.categories)
        n_below_roots = sum(len(nodes) for nodes, _ in self.by_depth)
        _require("left", n_below_roots == self.n_nodes, "one tree below each root, without cycles")

    def __repr__(self) -> str:
        """Return the sizes of the forest as a text."""
        sizes = f"n_trees={self.n_trees}, n_nodes={self.n_nodes}, n_features={self.n_features}"
        return f"Forest({sizes})"

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without what is computed from them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def as_state(self) -> dict[str, Any]:
        """Return the fields as a dict of plain values and arrays, for model files."""
        sets, state = self.categories, self.__getstate__()
        queries = state.pop("training_queries")
        entries = {} if queries is None else {"training_queries": queries.as_state()}
        if self.has_all_columns:
            del state["has_all_columns"]
        if self.monotone_constraints is None:
            del state["monotone_constraints"]
        return state | {"categories": None if sets is None else dict(vars(sets))} | entries

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> Self:
        """Return the forest of the fields that :meth:`as_state` returned; refuse anything else."""
        names = {field.name for field in fields(cls)} - _OPTIONAL
        if set(state) - _OPTIONAL != names:
            raise ValueError(f"A forest must have the entries {sorted(names)} and no others.")
        sets = state["categories"]
        restored = {
            "categories": None if sets is None else CategorySets(**sets),
            "training_queries": TrainingQueries.of_state(state.get("training_queries")),
            "has_all_columns": bool(state.get("has_all_columns", True)),
        }
        return cls(**{**state, **restored})

    @property
    def columns(self) -> Columns:
        """Names and categories of the columns, where the forest has them.

        Arrays hold codes of categories.
        """
        return Columns(self.levels or {}, takes_codes=True, names=self.feature_names)

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

    @property
    def is_by_set(self) -> np.ndarray:
        """Whether each node is a split by category."""
        sets = self.categories
        return np.zeros(self.n_nodes, dtype=bool) if sets is None else sets.of_node >= 0

    @property
    def split_shares(self) -> np.ndarray:
        """Number of splits of each feature, divided by the number of all splits."""
        counts = np.bincount(self.feature[~self.is_leaf], minlength=self.n_features)
        shares: np.ndarray = counts / max(counts.sum(), 1)
        return shares

    @property
    def features_by_set(self) -> list[int]:
        """Features of the splits by category, ascending."""
        return np.unique(self.feature[self.is_by_set]).tolist()

    @property
    def by_depth(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Pairs (nodes, trees) of each depth, the roots first.

        ``nodes`` are the numbers of all nodes of this depth, and ``trees`` the numbers of their
        trees. The left and the right child of a split stand next to each other, in the order of
        their parents.
        """
        nodes, trees, levels = self.roots, np.arange(self.n_trees, dtype=np.int32), []
        while len(nodes):
            levels.append((nodes, trees))
            is_split = self.feature[nodes] >= 0
            splits, trees = nodes[is_split], np.repeat(trees[is_split], 2)
            nodes = np.stack([self.left[splits], self.right[splits]], axis=1).ravel()
        return levels

    @cached_property
    def by_tree(self) -> np.ndarray:
        """Numbers of the nodes by tree, and by depth within a tree, so siblings are adjacent."""
        levels = self.by_depth
        nodes, trees = (
            np.concatenate([self.roots[:0], *(level[i] for level in levels)]) for i in (0, 1)
        )
        return nodes[np.argsort(trees, kind="stable")]

    @cached_property
    def index_by_tree(self) -> np.ndarray:
        """Index of each node in :attr:`by_tree`."""
        index = np.empty(self.n_nodes, dtype=np.int64)
        index[self.by_tree] = np.arange(self.n_nodes)
        return index

    @property
    def preorder(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``(position, size, depth)`` of each node: index in preorder, subtree size, and depth.

        Preorder goes tree after tree, parents first, then all of the left subtree.
        """
        levels = [(nodes, nodes[self.feature[nodes] >= 0]) for nodes, _ in self.by_depth]
        position, size, depth = np.ones((3, self.n_nodes), dtype=np.int32)
        for _, splits in reversed(levels):
            size[splits] += size[self.left[splits]] + size[self.right[splits]]
        position[self.roots] = np.cumsum(size[self.roots]) - size[self.roots]
        for level, (nodes, splits) in enumerate(levels):
            depth[nodes] = level
            left, right = self.left[splits], self.right[splits]
            position[left] = position[splits] + 1
            position[right] = position[left] + size[left]
        return position, size, depth

    @property
    def tree_of_node(self) -> np.ndarray:
        """Number of the tree of each node."""
        tree_of_node = np.empty(self.n_nodes, dtype=np.int64)
        for nodes, trees in self.by_depth:
            tree_of_node[nodes] = trees
        return tree_of_node

    @cached_property
    def depth(self) -> int:
        """Largest number of splits on a path from a root to a leaf."""
        return max(len(self.by_depth) - 1, 0)

    @cached_property
    def bitvectors(self) -> BitVectors | None:
        """The splits as bit vectors, for fast scoring; None if a tree has more than 64 leaves."""
        return make_bitvectors(self)

    @cached_property
    def traversal(self) -> Traversal | None:
        """The nodes in an order for fast scoring; None if some splits are by category."""
        return make_traversal(self)

    @cached_property
    def of_used_features(self) -> tuple[np.ndarray, "Forest"]:
        """``(features, forest)``: indices of features that splits read, and trees over these."""
        used = np.unique(self.feature[~self.is_leaf])
        feature = np.where(self.is_leaf, -1, np.searchsorted(used, self.feature)).astype(np.int32)
        return used, replace(
            self,
            n_features=len(used),
            feature=feature,
            feature_names=None,
            levels=None,
            monotone_constraints=None,
        )

    def _check_splits(self) -> None:
        is_leaf, is_split = self.is_leaf, ~self.is_leaf
        for children in (self.left, self.right):
            _require("left", ((children == -1) == is_leaf).all(), "-1 in leaves, and only there")
        reached = np.concatenate([self.roots, self.left[is_split], self.right[is_split]])
        is_one = np.bincount(reached, minlength=self.n_nodes) == 1
        _require("left", is_one.all(), "such that each node has one parent or is a root")
        names = self.feature_names
        texts = [name for name in names or () if isinstance(name, str)]
        are_texts = names is None or len(names) == len(texts) == self.n_features
        _require("feature_names", are_texts, "one text for each feature")
        signs = self.monotone_constraints or {}
        are_columns = all(is_whole(j) and 0 <= j < self.n_features for j in signs)
        are_signs = are_columns and all(sign in (-1, 1) for sign in signs.values())
        _require("monotone_constraints", are_signs, "-1 or 1 by column number")

    def _check_values(self) -> None:
        width, outputs = self.values.shape[1], self.tree_output
        _require("values", width in (1, self.n_outputs), "one column, or one for each output")
        _require("tree_output", (outputs <= self.n_outputs - width).all(), "an output")
        largest, constant = (np.abs(a).max(initial=0.0) for a in (self.values, self.constant))
        is_number = isinstance(self.missing_up_to, float) and np.isfinite(self.missing_up_to)
        _require("missing_up_to", is_number, "a number")
        with np.errstate(over="ignore"):
            bound = largest * self.n_trees + constant
        is_finite = bound < np.finfo(self.sum_dtype).max
        _require("values", is_finite, f"small enough for finite sums in {self.sum_dtype}")

    def _check_categories(self, sets: CategorySets) -> None:
        check_choice("rule", sets.rule, CODE_RULES)
        state = {name: getattr(sets, name) for name in _SET_RULES}
        check_state(state, _SET_RULES, n_nodes=self.n_nodes, n_sets=len(sets.starts) - 1)
        ends = sets.starts[[0, -1]].tolist() == [0, len(sets.codes)]
        _require("starts", ends and (np.diff(sets.starts) >= 0).all(), "ascending ends of sets")
        rises = np.append(sets.codes[:-1] < sets.codes[1:], True)
        rises[sets.starts[1:] - 1] = True  # the last code of a set, or of an earlier one
        _require("codes", rises.all(), "ascending in each set")


#: Entries of a state that are there only where they are not the default.
_OPTIONAL = {"has_all_columns", "monotone_constraints", "training_queries"}
_RULES = {
    "n_features": count(),
    "feature": array("int32", "n_nodes", at_least=-1, below="n_features"),
    "threshold": array("float64", "n_nodes", infinite=True),
    "left": array("int32", "n_nodes", at_least=-1, below="n_nodes"),
    "right": array("int32", "n_nodes", at_least=-1, below="n_nodes"),
    "missing_left": array("bool", "n_nodes"),
    "values": array("float64", "n_nodes", "n_values"),
    "roots": array("int32", "n_trees", at_least=0, below="n_nodes"),
    "tree_output": array("int32", "n_trees", at_least=0),
    "constant": array("float64", "n_outputs"),
    "gain": optional(array("float64", "n_nodes")),
}
_SET_RULES = {
    "of_node": array("int32", "n_nodes", at_least=-1, below="n_sets"),
    "starts": array("int64", "n_ends"),
    "codes": array("float64", "n_codes", infinite=True),
}


def check_trees(name: str, value: Any) -> None:
    """Refuse anything but a forest with one output."""
    if not isinstance(value, Forest):
        advice = f" Write {name}=read_forest(model)." if is_of_engine(value) else ""
        rule = f"{name} must be a Forest, as read_forest returns"
        raise TypeError(f"{rule}; got {quote(value)}.{advice}")
    if value.n_outputs != 1:
        raise ValueError(f"{name} must have one output; got {value.n_outputs}.")


def _require(name: str, holds: bool | np.bool_, rule: str) -> None:
    if not holds:
        raise ValueError(f"{name} must be {rule} in a forest; got something else.")
