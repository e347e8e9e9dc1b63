"""Histogram trees as a feature part: gradient boosting of our own."""

from dataclasses import replace
from math import isfinite
from numbers import Real

import numpy as np

from treerank.checks import check_choice, check_count
from treerank.feature_parts.engines.boosting import BoostedTrees
from treerank.feature_parts.engines.column_arguments import column_indices, monotone_signs
from treerank.feature_parts.histogram.bins import MOST_BINS, find_bins
from treerank.feature_parts.histogram.boost import Settings, boost
from treerank.feature_parts.histogram.forest import Forest
from treerank.feature_parts.histogram.growing import GROW_POLICIES, Shape
from treerank.feature_parts.histogram.packed_derivatives import PRECISIONS
from treerank.feature_parts.histogram.predicting import add_scores, find_leaves
from treerank.feature_parts.histogram.splits import Rules
from treerank.numerics.threads import kernel_threads

_POSITIVE = ("learning_rate",)
_NOT_NEGATIVE = (
    "cat_l2",
    "cat_smooth",
    "min_child_weight",
    "min_split_gain",
    "reg_alpha",
    "reg_lambda",
)
_SHARES = ("colsample_bytree", "subsample", "subsample_queries")
#: Lighter leaves would divide by zero.
_LEAST_WEIGHT = 1e-15


class HistogramTrees(BoostedTrees):
    """A sum of trees grown by our own engine on any objective, several outputs included.

    Parameters bear LightGBM's names and defaults. Trees are the same, bit for bit, for any
    ``n_jobs``. With several outputs a leaf holds a vector, and one tree per iteration serves
    them all.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees. With ``warm_start`` the number in all, with ``init_model`` the number of new ones.
    learning_rate : float, default=0.1
        Shrinkage of each tree.
    num_leaves : int, default=31
        Most leaves of a tree.
    max_depth : int, default=-1
        Most splits on a path; -1 is no limit.
    grow_policy : {"leafwise", "depthwise"}, default="leafwise"
        Which leaf is split next: the one that gains most, or the nearest to the root.
    min_child_samples : int, default=20
        Fewest documents in a leaf; counted, not estimated.
    min_child_weight : float, default=1e-3
        Smallest sum of hessians in a leaf.
    subsample, subsample_queries : float, default=1.0
        Chance of each document, and of each query as a whole, to take part in a tree.
    colsample_bytree : float, default=1.0
        Share of features drawn for each tree.
    reg_alpha, reg_lambda : float, default=0.0
        L1 and L2 penalty of leaves.
    min_split_gain : float, default=0.0
        Smallest gain of a split.
    max_bin : int, default=255
        Most bins of a feature, besides the one for missing values.
    precision : {"float32", "int16", "int8"}, default="float32"
        What splits are searched with: derivatives as they are, or rounded at random to whole
        numbers, which is faster and needs half the memory. Leaf values are never rounded.
    monotone_constraints : sequence of {-1, 0, 1} or dict of column to sign, default=None
        Whether the score may only fall or rise with a feature; for a single output.
    categorical_features : sequence of indices or names, or boolean mask, default=None
        Columns with codes of categories; ``None`` takes those that ``Rows`` names. The 255 most
        frequent are told apart, the others are missing values.
    cat_smooth, cat_l2 : float, default=10.0
        Dampening of the order of categories, and L2 penalty where they are split.
    early_stopping_rounds : int, default=None
        Stop after so many iterations without a better value on ``validation`` and keep the
        trees up to the best one.
    warm_start : bool, default=False
        Let ``fit`` add to the trees it finds.
    init_model : fitted HistogramTrees or Forest, default=None
        Trees to start from. On the same data and with the same seed, a continued fit equals one
        long fit bit for bit.
    output : {"score", "trees", "leaves"}, default="score"
        What ``transform`` returns; see :mod:`treerank.feature_parts.engines.tree_outputs`.
    importance_type : {"gain", "split"}, default="gain"
        What ``feature_importances_`` shares out: the gain, or the number of splits.
    n_jobs : int, default=None
        Threads; ``None`` is all cores, or in a worker of joblib its share of them.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is drawn.

    Attributes
    ----------
    booster_ : Forest
        The trees.
    best_iteration_ : int
        Iterations kept.
    evals_result_ : dict
        ``{"validation": {name of the metric: values}}``, one value per iteration.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Shares that sum to 1 (or 0 without a split).
    n_features_in_, n_outputs_, n_scores_ : int
        Columns of X, of ``transform``, and outputs of the objective.

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
    >>> part = HistogramTrees(n_estimators=50, n_jobs=1).fit(X, HalfSquare())
    >>> part.transform(np.array([[20.0], [80.0]])).round(1)
    array([[0.],
           [1.]])
    """

    def __init__(
        self,
        n_estimators=100,
        *,
        learning_rate=0.1,
        num_leaves=31,
        max_depth=-1,
        grow_policy="leafwise",
        min_child_samples=20,
        min_child_weight=1e-3,
        subsample=1.0,
        subsample_queries=1.0,
        colsample_bytree=1.0,
        reg_alpha=0.0,
        reg_lambda=0.0,
        min_split_gain=0.0,
        max_bin=MOST_BINS,
        precision="float32",
        monotone_constraints=None,
        categorical_features=None,
        cat_smooth=10.0,
        cat_l2=10.0,
        early_stopping_rounds=None,
        warm_start=False,
        init_model=None,
        output="score",
        importance_type="gain",
        n_jobs=None,
        random_state=None,
    ):
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.grow_policy = grow_policy
        self.min_child_samples = min_child_samples
        self.min_child_weight = min_child_weight
        self.subsample = subsample
        self.subsample_queries = subsample_queries
        self.colsample_bytree = colsample_bytree
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.min_split_gain = min_split_gain
        self.max_bin = max_bin
        self.precision = precision
        self.monotone_constraints = monotone_constraints
        self.categorical_features = categorical_features
        self.cat_smooth = cat_smooth
        self.cat_l2 = cat_l2
        self.early_stopping_rounds = early_stopping_rounds
        self.warm_start = warm_start
        self.init_model = init_model
        self.output = output
        self.importance_type = importance_type
        self.n_jobs = n_jobs
        self.random_state = random_state

    def grow(self, rows, derivatives, n_new, earlier, validation_rows, progress, seed):
        """Grow ``n_new`` trees on top of ``earlier``."""
        rows = _as_floats(rows)
        categorical = self._categorical(rows)
        signs = self._signs(rows, categorical, derivatives.n_outputs)
        n_threads = self.n_threads_for(rows)
        bins = find_bins(
            rows, most=self.max_bin, categorical=categorical, seed=seed, n_threads=n_threads
        )
        held_out = None if validation_rows is None else _as_floats(validation_rows)
        settings = self._settings(seed, signs.any())
        inputs = rows, bins, signs, derivatives, n_new, earlier, held_out, progress, settings
        with kernel_threads(n_threads):
            return boost(*inputs)

    def predict_scores(self, values):
        """Return the scores, of shape (n_documents, n_scores_)."""
        scores = np.zeros((len(values), self.n_scores_))
        add_scores(self.booster_, _float_array(values), scores, n_threads=self.n_threads)
        return scores

    def predict_nodes(self, values):
        """Return the leaf of every tree that each document falls into."""
        return find_leaves(self.booster_, _float_array(values))

    def leaf_values(self):
        """Return the values of all nodes, NaN where they are no leaves, one array per tree."""
        forest = self.booster_
        values = np.where(forest.is_leaf[:, None], forest.values, np.nan)
        return np.split(values, forest.starts[1:-1])

    def importance(self, kind):
        """Return the gain or the number of splits of each feature."""
        forest = self.booster_
        split = ~forest.is_leaf
        weight = forest.gain[split] if kind == "gain" else None
        return np.bincount(forest.feature[split], weight, minlength=forest.n_features)

    def dump_booster(self, booster):
        """Return the trees as plain numbers and arrays."""
        return booster.as_state()

    def load_booster(self, model):
        """Return a forest from itself or its numbers and arrays."""
        if isinstance(model, Forest):
            return model
        if not isinstance(model, dict):
            raise TypeError(f"init_model must be HistogramTrees or their Forest; got {model!r}.")
        return Forest(**model)

    def count_iterations(self, booster, n_scores):
        """Return how many trees there are."""
        return booster.n_trees

    def count_features(self, booster):
        """Return how many features the trees were grown on."""
        return booster.n_features

    def count_scores(self, booster):
        """Return how many outputs the trees have."""
        return booster.n_outputs

    def _check_parameters(self, validation):
        super()._check_parameters(validation)
        check_choice("grow_policy", self.grow_policy, GROW_POLICIES)
        check_choice("precision", self.precision, PRECISIONS)
        check_count("num_leaves", self.num_leaves)
        check_count("min_child_samples", self.min_child_samples)
        check_count("max_bin", self.max_bin)
        if not 2 <= self.max_bin <= MOST_BINS:
            raise ValueError(f"max_bin must be from 2 to {MOST_BINS}; got {self.max_bin!r}.")
        if not (self.max_depth == -1 or self.max_depth >= 1):
            raise ValueError(f"max_depth must be -1 or at least 1; got {self.max_depth!r}.")
        for name in _POSITIVE + _SHARES + _NOT_NEGATIVE:
            check_range(name, getattr(self, name))

    def _settings(self, seed, is_monotone):
        shape = Shape(int(self.num_leaves), int(self.max_depth), GROW_POLICIES[self.grow_policy])
        rules = Rules(
            int(self.min_child_samples),
            max(float(self.min_child_weight), _LEAST_WEIGHT),
            float(self.reg_alpha),
            float(self.reg_lambda),
            float(self.min_split_gain),
            float(self.cat_smooth),
            float(self.cat_l2),
            bool(is_monotone),
        )
        shares = {name: float(getattr(self, name)) for name in _SHARES}
        return Settings(
            float(self.learning_rate), shape, rules, self.precision, **shares, seed=seed
        )

    def _categorical(self, rows):
        if self.categorical_features is None:
            return tuple(rows.categorical or ())
        names = rows.feature_names
        return column_indices(
            self.categorical_features, rows.shape[1], names, name="categorical_features"
        )

    def _signs(self, rows, categorical, n_outputs):
        if self.monotone_constraints is None:
            return np.zeros(rows.shape[1], dtype=np.int64)
        signs = np.array(
            monotone_signs(self.monotone_constraints, rows.shape[1], rows.feature_names)
        )
        if signs.any() and n_outputs > 1:
            raise ValueError(
                "monotone_constraints must be None with several outputs; "
                f"got {self.monotone_constraints!r}."
            )
        if signs[list(categorical)].any():
            raise ValueError(
                "monotone_constraints must be 0 for categories, which have no order; "
                f"got {self.monotone_constraints!r}."
            )
        return signs


def check_range(name, value):
    """Refuse a number that is not in the range its name calls for."""
    allowed = "a positive number"
    fits = isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
    if name in _SHARES:
        allowed, fits = "above 0 and at most 1", fits and 0 < value <= 1
    elif name in _NOT_NEGATIVE:
        allowed, fits = "a number of at least 0", fits and value >= 0
    else:
        fits = fits and value > 0
    if not fits:
        raise ValueError(f"{name} must be {allowed}; got {value!r}.")


def _float_array(values):
    """Return floats, in doubles unless they are single ones."""
    values = np.asarray(values)
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _as_floats(rows):
    return replace(rows, values=_float_array(rows.values))
