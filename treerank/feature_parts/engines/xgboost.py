"""Trees grown by XGBoost."""

import json
from pathlib import Path

import numpy as np
from scipy.sparse import issparse

from treerank.checks import check_choice
from treerank.feature_parts.engines.boosting import BoostedTrees, check_free
from treerank.feature_parts.engines.column_arguments import (
    column_indices,
    interaction_groups,
    monotone_signs,
)
from treerank.feature_parts.rows import stored_as

_GROW_POLICIES = ("depthwise", "lossguide")
#: The booster's attribute that says what a zero was in ``fit``: a number, or missing.
_ZEROS = "treerank_zeros"
_DENSE_ROWS = 4096
_MULTI_STRATEGIES = ("one_output_per_tree", "multi_output_tree")
#: Our arguments that are XGBoost's parameters as they stand.
_SHARED = (
    "colsample_bytree",
    "device",
    "gamma",
    "grow_policy",
    "learning_rate",
    "max_bin",
    "max_depth",
    "max_leaves",
    "min_child_weight",
    "multi_strategy",
    "reg_alpha",
    "reg_lambda",
    "subsample",
    "tree_method",
)
#: What the part sets itself, and other names of what has an argument.
_OWN = (
    "alpha",
    "base_score",
    "booster",
    "disable_default_eval_metric",
    "eta",
    "eval_metric",
    "interaction_constraints",
    "lambda",
    "min_split_loss",
    "monotone_constraints",
    "n_jobs",
    "nthread",
    "num_class",
    "num_parallel_tree",
    "num_target",
    "objective",
    "random_state",
    "seed",
    "verbosity",
)


class XGBoostTrees(BoostedTrees):
    """A sum of trees grown by XGBoost on any objective.

    Parameters bear XGBoost's names and defaults. The trees are the same, bit for bit, for any
    ``n_jobs``; see :mod:`treerank.feature_parts.engines.fixed_point`.

    ``X`` may be a sparse matrix. XGBoost then takes zeros for missing values, which every split
    sends to the better side, as a fit to an array with NaN in their place does; and so they are
    to the trees from then on, whether ``transform`` gets a sparse matrix or an array.

    Parameters
    ----------
    n_estimators : int, default=100
        Iterations. With ``warm_start`` the number in all, with ``init_model`` the number of
        new ones.
    learning_rate : float, default=0.3
        Shrinkage of each tree.
    max_depth : int, default=6
        Most splits on a path; 0 is no limit.
    max_leaves : int, default=0
        Most leaves of a tree; 0 is no limit.
    grow_policy : {"depthwise", "lossguide"}, default="depthwise"
        Which leaf is split next: the highest, or the one with the largest gain.
    min_child_weight : float, default=1.0
        Smallest sum of hessians in a leaf.
    subsample : float, default=1.0
        Share of documents drawn for each tree.
    colsample_bytree : float, default=1.0
        Share of features drawn for each tree.
    reg_lambda, reg_alpha : float, default=1.0 and 0.0
        L2 and L1 penalty of leaves.
    gamma : float, default=0.0
        Smallest gain of a split.
    max_bin : int, default=256
        Most bins of a feature. They are found from about 50,000 rows, unless there are
        categories; XGBoost itself takes all.
    tree_method : {"hist"}, default="hist"
        Only histograms: other methods would need a copy of the data.
    device : str, default="cpu"
        ``"cuda"`` where there is one; asking for a device that is not there is an error.
    multi_strategy : {"one_output_per_tree", "multi_output_tree"}, default="one_output_per_tree"
        For an objective with several outputs: trees of their own for each, or trees whose
        leaves are vectors. The latter know neither monotone nor interaction constraints.
    monotone_constraints : sequence of {-1, 0, 1} or dict of column to sign, default=None
        Whether the score may only fall or rise with a feature.
    interaction_constraints : list of lists of columns, default=None
        Features that may meet on a path of a tree.
    categorical_features : sequence of indices or names, or boolean mask, default=None
        Columns with integer codes of categories; ``None`` takes those that ``Rows`` names.
    early_stopping_rounds : int, default=None
        Stop after so many iterations without a better value on ``validation`` and keep the
        trees up to the best one.
    warm_start : bool, default=False
        Let ``fit`` add to the trees it finds.
    init_model : fitted XGBoostTrees, xgboost.Booster, bytes, str or Path, default=None
        Trees to start from; a string is the path of a model, bytes are its content. It gathers
        the rows.
    output : {"score", "trees", "leaves"}, default="score"
        What ``transform`` returns; see :mod:`treerank.feature_parts.engines.tree_outputs`.
    importance_type : {"gain", "split"}, default="gain"
        What ``feature_importances_`` shares out: the gain, or the number of splits.
    n_jobs : int, default=None
        Threads; ``None`` is all cores, or in a worker of joblib its share of them.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is drawn.
    engine_params : dict, default=None
        Further parameters of XGBoost; unknown ones are refused.

    Attributes
    ----------
    booster_ : xgboost.Booster
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
    >>> part = XGBoostTrees(n_estimators=50, n_jobs=1).fit(X, HalfSquare())
    >>> part.transform(np.array([[20.0], [80.0]])).round(1)
    array([[0.],
           [1.]])
    """

    #: Its OpenMP is another than numba's: for a while after each call, threads of one stand in the
    #: way of those of the other, 10 ms in an iteration.
    few_documents = 500_000

    def __init__(
        self,
        n_estimators=100,
        *,
        learning_rate=0.3,
        max_depth=6,
        max_leaves=0,
        grow_policy="depthwise",
        min_child_weight=1.0,
        subsample=1.0,
        colsample_bytree=1.0,
        reg_lambda=1.0,
        reg_alpha=0.0,
        gamma=0.0,
        max_bin=256,
        tree_method="hist",
        device="cpu",
        multi_strategy="one_output_per_tree",
        monotone_constraints=None,
        interaction_constraints=None,
        categorical_features=None,
        early_stopping_rounds=None,
        warm_start=False,
        init_model=None,
        output="score",
        importance_type="gain",
        n_jobs=None,
        random_state=None,
        engine_params=None,
    ):
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.grow_policy = grow_policy
        self.min_child_weight = min_child_weight
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.reg_lambda = reg_lambda
        self.reg_alpha = reg_alpha
        self.gamma = gamma
        self.max_bin = max_bin
        self.tree_method = tree_method
        self.device = device
        self.multi_strategy = multi_strategy
        self.monotone_constraints = monotone_constraints
        self.interaction_constraints = interaction_constraints
        self.categorical_features = categorical_features
        self.early_stopping_rounds = early_stopping_rounds
        self.warm_start = warm_start
        self.init_model = init_model
        self.output = output
        self.importance_type = importance_type
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.engine_params = engine_params

    def grow(self, rows, derivatives, n_new, earlier, validation_rows, progress, seed):
        """Grow ``n_new`` iterations of trees on top of ``earlier``."""
        import xgboost

        from treerank.feature_parts.engines.xgboost_boundary import ProgressCallback, make_matrix

        zeros = _meaning_of_zeros(rows, earlier)
        options = {
            "categorical": self._categorical(rows),
            "sparse": rows.is_sparse,
            "whole": earlier is not None,
            "max_bin": self.max_bin,
            "n_threads": self.n_threads_for(rows),
            "seed": seed,
        }
        data = make_matrix(rows, **options)
        held_out = []
        if validation_rows is not None:
            reference = None if options["whole"] else data
            held_out = [(make_matrix(validation_rows, reference=reference, **options), "held_out")]
        booster = xgboost.train(
            self._parameters(rows, derivatives, seed, earlier),
            data,
            num_boost_round=n_new,
            obj=lambda scores, _: derivatives(scores),
            evals=held_out,
            custom_metric=lambda scores, _: (progress.name, progress.measure(scores)),
            callbacks=[ProgressCallback(progress)],
            verbose_eval=False,
            xgb_model=earlier,
        )
        kept = progress.kept()
        booster = booster if kept is None else booster[:kept]
        booster.set_attr(**{_ZEROS: zeros})
        booster.set_param({"nthread": self.n_threads})  # there may be more to score
        return booster

    def predict_scores(self, values):
        """Return the scores, of shape (n_documents, n_scores_)."""
        blocks = [
            self.booster_.inplace_predict(block, predict_type="margin")
            for block in self._as_fitted(values)
        ]
        scores = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        return scores.astype(np.float64, copy=False).reshape(values.shape[0], self.n_scores_)

    def predict_nodes(self, values):
        """Return the node of every tree that each document falls into."""
        nodes = np.concatenate([self._nodes(block) for block in self._as_fitted(values)])
        return nodes.reshape(values.shape[0], -1).astype(np.int64)

    def leaf_values(self):
        """Return the values of all nodes, NaN where they are no leaves, one array per tree."""
        from treerank.feature_parts.engines.xgboost_boundary import node_values

        model = json.loads(self.booster_.save_raw("json"))["learner"]["gradient_booster"]["model"]
        return [node_values(tree) for tree in model["trees"]]

    def importance(self, kind):
        """Return the gain or the number of splits of each feature."""
        kinds = {"gain": "total_gain", "split": "weight"}
        scores = self.booster_.get_score(importance_type=kinds[kind])
        names = self.booster_.feature_names or [f"f{i}" for i in range(self.n_features_in_)]
        return np.array([scores.get(name, 0.0) for name in names])

    def dump_booster(self, booster):
        """Return the model in UBJSON, from which predictions are the same bits."""
        return bytes(booster.save_raw("ubj"))

    def load_booster(self, model):
        """Return a booster from itself, its bytes or its path."""
        import xgboost

        if isinstance(model, xgboost.Booster):
            return model
        source = bytearray(model) if isinstance(model, bytes | bytearray) else str(Path(model))
        booster = xgboost.Booster(model_file=source)
        booster.set_param({"nthread": self.n_threads})
        return booster

    def count_iterations(self, booster, n_scores):
        """Return how many iterations the trees took."""
        return booster.num_boosted_rounds()

    def count_features(self, booster):
        """Return how many features the trees were grown on."""
        return booster.num_features()

    def count_scores(self, booster):
        """Return how many outputs the trees have."""
        config = json.loads(booster.save_config())
        return max(1, int(config["learner"]["learner_model_param"]["num_target"]))

    def _nodes(self, values):
        import xgboost

        matrix = xgboost.DMatrix(
            values,
            feature_names=self.booster_.feature_names,
            feature_types=self.booster_.feature_types,
            nthread=self.n_threads,
            enable_categorical=True,
        )
        return self.booster_.predict(matrix, pred_leaf=True)

    def _as_fitted(self, values):
        """Yield ``values`` in blocks that are sparse if ``fit`` had a sparse matrix, else dense."""
        sparse = self.booster_.attr(_ZEROS) == "missing"
        if sparse or not issparse(values):
            yield stored_as(values, sparse=sparse)
            return
        for start in range(0, values.shape[0], _DENSE_ROWS):
            yield stored_as(values[start : start + _DENSE_ROWS], sparse=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_parameters(self, validation):
        super()._check_parameters(validation)
        check_choice("tree_method", self.tree_method, ("hist",))
        check_choice("grow_policy", self.grow_policy, _GROW_POLICIES)
        check_choice("multi_strategy", self.multi_strategy, _MULTI_STRATEGIES)
        from treerank.feature_parts.engines.xgboost_boundary import check_device, check_known

        if self.engine_params:
            check_free(self.engine_params, (*_SHARED, *_OWN))
            check_known(self.engine_params)
        if self.device != "cpu":
            check_device(self.device)

    def _categorical(self, rows):
        if self.categorical_features is None:
            return tuple(rows.categorical or ())
        names = rows.feature_names
        n_features = rows.shape[1]
        return column_indices(
            self.categorical_features, n_features, names, name="categorical_features"
        )

    def _parameters(self, rows, derivatives, seed, earlier):
        n_features, names = rows.shape[1], rows.feature_names
        params = {name: getattr(self, name) for name in _SHARED}
        params |= {
            "num_target": derivatives.n_outputs,
            "nthread": self.n_threads_for(rows),
            "disable_default_eval_metric": 1,
            "seed": seed + derivatives.iteration,  # a continued fit must not draw the same rows
        }
        if derivatives.n_outputs == 1:
            del params["multi_strategy"]
        if earlier is None:
            params["base_score"] = 0.0
        if self.monotone_constraints is not None:
            signs = monotone_signs(self.monotone_constraints, n_features, names)
            params["monotone_constraints"] = str(signs)
        if self.interaction_constraints is not None:
            groups = interaction_groups(self.interaction_constraints, n_features, names)
            params["interaction_constraints"] = json.dumps(groups)
        return params | (self.engine_params or {})


def _meaning_of_zeros(rows, earlier):
    """Return what XGBoost makes of zeros, unless an earlier fit made something else of them."""
    zeros = "missing" if rows.is_sparse else "numbers"
    known = (zeros, None)
    if earlier is not None and earlier.attr(_ZEROS) not in known:
        form, other = ("dense", "sparse") if rows.is_sparse else ("sparse", "dense")
        raise ValueError(
            f"X must be {form}, as in the earlier fit: to XGBoost a zero is a number in an array "
            f"and missing in a sparse matrix; got a {other} one."
        )
    return zeros
