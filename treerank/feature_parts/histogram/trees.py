"""Feature part of histogram trees, which are grown by this package's own engine."""

from typing import Annotated, Any, ClassVar

import numpy as np

from treerank.checks import check_count, quote
from treerank.documents.rows import Rows
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.histogram.binning import MOST_BINS, find_bins
from treerank.feature_parts.histogram.boost import boost
from treerank.feature_parts.histogram.packing import PRECISIONS
from treerank.feature_parts.histogram.splitter import TreeRules
from treerank.feature_parts.histogram.tree import GROW_POLICIES
from treerank.feature_parts.trees.arguments import constraints_of
from treerank.feature_parts.trees.auto_sizes import Sizes
from treerank.feature_parts.trees.boosting import BoostedTrees, GrowthTask
from treerank.forests.forest import Forest
from treerank.numerics.threads import kernel_threads
from treerank.parameters import Auto, NotNegative, Rule, Share, Size

#: Smallest sum of hessians of a leaf, even if ``min_child_weight`` is 0: a divisor must not be 0.
_LEAST_WEIGHT = 1e-15


@estimator(kw_only=True)
class HistogramTrees(BoostedTrees):
    """Boosted trees for any objective, grown by treerank's own engine; several outputs are allowed.

    Parameters have LightGBM's names and defaults. Trees are the same, bit for bit, for any
    ``n_jobs``. With several outputs a leaf holds a vector, and each iteration grows one tree for
    all outputs.

    All other parameters and attributes are as in
    :class:`~treerank.feature_parts.trees.boosting.BoostedTrees`.

    Parameters
    ----------
    grow_policy : {"leafwise", "depthwise"}, default="leafwise"
        Which leaf is split next: the one with the largest gain, or the one nearest to the root.
    min_child_samples : int or "auto", default="auto"
        Smallest number of documents in a leaf; counted exactly.
    subsample : float, default=1.0
        Probability of each document to be used for a tree.
    subsample_queries : float, default=1.0
        Probability of each query, as a whole, to be used for a tree.
    max_bin : int, default=255
        Largest number of bins of a feature, in addition to the one for missing values.
    precision : {"float32", "int16", "int8"}, default="float32"
        How derivatives are stored in the search for splits: in single precision, or rounded at
        random to integers, which is faster and needs half the memory. Leaf values are not rounded.
    monotone_constraints : sequence of {-1, 0, 1} or dict of column to sign, default=None
        -1 if the score may only fall with a feature, 1 if it may only rise, 0 for both. Only for
        objectives with one output.
    categorical_features : sequence of indices or names, default=None
        Columns with codes of categories, which are whole numbers from 0 and below 2^31, or NaN if
        missing. Columns of a data frame that are text or categories are categorical anyway. The
        ``max_bin`` most frequent codes are distinguished; the others are treated as missing values.
    cat_smooth : float, default=10.0
        Number added to the sum of hessians of each category when categories are sorted.
    cat_l2 : float, default=10.0
        Additional L2 penalty of leaves in splits by category.
    warm_start : bool, default=False
        Whether ``fit`` adds trees to the previous fit. In a ranker, its own ``warm_start`` says so.
        On the same data and with the same seed, a continued fit equals one long fit bit for bit.

    Attributes
    ----------
    booster_ : Forest
        The trees.

    Examples
    --------
    >>> import numpy as np
    >>> class HalfSquare:
    ...     n_outputs = 1
    ...
    ...     def derivatives(self, scores, *, iteration=0):
    ...         return scores - target, np.ones_like(scores)
    >>> X = np.arange(100.0).reshape(-1, 1)
    >>> target = (X[:, 0] > 50).astype(float)
    >>> part = HistogramTrees(50, learning_rate=0.1, n_jobs=1).fit(X, HalfSquare())
    >>> part.transform(np.array([[20.0], [80.0]])).round(1)
    array([[0.],
           [1.]])
    """

    accepts_batches: ClassVar[bool] = True
    settings_to_resume: ClassVar[dict[str, Any]] = {}  # draws depend on the number of the tree
    settings_by_workers: ClassVar[dict[str, Any] | None] = {"warm_start": False}

    grow_policy: Annotated[str, Rule.one_of(GROW_POLICIES)] = "leafwise"
    min_child_samples: Auto | Size = "auto"
    subsample_queries: Share = 1.0
    max_bin: Annotated[int, Rule(check_count, at_least=2, at_most=MOST_BINS)] = 255
    precision: Annotated[str, Rule.one_of(PRECISIONS)] = "float32"
    cat_smooth: NotNegative = 10.0
    cat_l2: NotNegative = 10.0

    def grow(self, task: GrowthTask) -> Forest:
        """Return a forest with ``n_new`` more trees than ``earlier``."""
        rows, categorical = task.rows, task.categorical
        signs, groups = self._constraints(rows, categorical, task.derivatives.n_outputs)
        bins = find_bins(rows, most=self.max_bin, categorical=categorical, seed=task.seed)
        with kernel_threads(task.n_threads):
            rules = self._rules(task.sizes, bool(signs.any()))
            bins.columns["sign"] = signs[bins.columns["feature"]]
            return boost(self, task, bins, rules, groups)

    def read_booster(self, booster: Forest) -> Forest:
        """Return the trees, which are a forest."""
        return booster

    def importance(self) -> np.ndarray:
        """Return the total gain of the splits by each feature."""
        forest, split = self.booster_, ~self.booster_.is_leaf
        return np.bincount(forest.feature[split], forest.gain[split], forest.n_features)

    def dump_booster(self, booster: Forest) -> dict[str, Any]:
        """Return the trees as plain values."""
        return booster.as_state()

    def restore_booster(self, model: dict[str, Any]) -> Forest:
        """Return a forest from its plain values, and refuse anything else."""
        return _checked(Forest.of_state(model))

    def describe(self, booster: Forest) -> tuple[int, int, int]:
        """Return ``(n_features, n_outputs, n_trees)`` of a forest."""
        return booster.n_features, booster.n_outputs, booster.n_trees

    def _rules(self, sizes: Sizes, is_monotone: bool) -> TreeRules:
        penalties = self.reg_alpha, self.reg_lambda, self.min_split_gain
        return TreeRules(
            int(sizes.num_leaves),
            int(self.max_depth),
            GROW_POLICIES[self.grow_policy],
            is_monotone,
            int(sizes.min_child_samples),
            max(float(self.min_child_weight), _LEAST_WEIGHT),
            *map(float, (*penalties, self.cat_smooth, self.cat_l2)),
        )

    def _constraints(
        self, rows: Rows, categorical: tuple[int, ...], n_outputs: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return ``(signs, groups)``: monotone and interaction constraints.

        ``signs`` has -1, 0 or 1 for each feature. ``groups``, of bool and shape (n_groups,
        n_features), has the features of each group: all features on a path are in one group.
        Refuses monotone constraints of categories, and with several outputs.
        """
        monotone, columns = self.monotone_constraints, range(rows.shape[1])
        constraints = constraints_of(self, len(columns), rows.columns.names, categorical)
        signs = np.array(constraints.get("monotone_constraints", [0] * len(columns)))
        if signs.any() and n_outputs > 1:
            raise ValueError(
                f"monotone_constraints must be None with several outputs; got {quote(monotone)}."
            )
        groups = constraints.get("interaction_constraints", [columns])
        return signs, np.array([np.isin(columns, list(group)) for group in groups])


def _checked(forest: Forest) -> Forest:
    """Return a forest; refuse one that is not of the kind that histogram trees grow.

    It must have gains, and sum in double precision without a constant.
    """
    sets = forest.categories
    is_sum = forest.sum_dtype == "float64" and not forest.constant.any()
    is_sum &= forest.values.shape[1] == forest.n_outputs
    by_value = forest.missing_up_to < 0 and (sets is None or sets.rule == "exact")
    if forest.gain is None or not (is_sum and by_value):
        raise ValueError("A forest of HistogramTrees must be one that they have grown.")
    return forest
