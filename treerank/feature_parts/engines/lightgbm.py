"""Trees grown by LightGBM."""

import re
from pathlib import Path

import numpy as np

from treerank.checks import check_choice
from treerank.feature_parts.engines.bin_sample import SAMPLE_SIZE
from treerank.feature_parts.engines.boosting import BoostedTrees, check_free
from treerank.feature_parts.engines.column_arguments import (
    column_indices,
    engine_names,
    interaction_groups,
    monotone_signs,
)

_BOOSTING = ("gbdt", "dart")
_ROWS_PER_THREAD = 1024
_FORBIDDEN = '",:[]{}'
#: Our arguments that are LightGBM's parameters as they stand.
_SHARED = (
    "boosting",
    "colsample_bytree",
    "learning_rate",
    "max_bin",
    "max_depth",
    "min_child_samples",
    "min_child_weight",
    "min_split_gain",
    "num_leaves",
    "reg_alpha",
    "reg_lambda",
    "subsample",
    "subsample_freq",
)
#: What the part sets itself.
_OWN = (
    "categorical_feature",
    "data_random_seed",
    "early_stopping_round",
    "interaction_constraints",
    "metric",
    "monotone_constraints",
    "num_class",
    "num_iterations",
    "num_threads",
    "objective",
    "seed",
    "verbosity",
)


class LightGBMTrees(BoostedTrees):
    """A sum of trees grown by LightGBM on any objective.

    Parameters bear LightGBM's names and defaults. The trees are the same, bit for bit, for any
    ``n_jobs``; see :mod:`treerank.feature_parts.engines.fixed_point`. ``X`` may be a sparse matrix: the
    trees and the scores are those of the same numbers as an array.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees, one per output of the objective and iteration. With ``warm_start`` the number in
        all, with ``init_model`` the number of new ones.
    learning_rate : float, default=0.1
        Shrinkage of each tree.
    num_leaves : int, default=31
        Most leaves of a tree.
    max_depth : int, default=-1
        Most splits on a path; -1 is no limit.
    min_child_samples : int, default=20
        Fewest documents in a leaf.
    min_child_weight : float, default=1e-3
        Smallest sum of hessians in a leaf.
    subsample, subsample_freq : float and int, default=1.0 and 0
        Share of documents drawn every ``subsample_freq`` iterations; 0 never draws.
    colsample_bytree : float, default=1.0
        Share of features drawn for each tree.
    reg_alpha, reg_lambda : float, default=0.0
        L1 and L2 penalty of leaves.
    min_split_gain : float, default=0.0
        Smallest gain of a split.
    max_bin : int, default=255
        Most bins of a feature. They are found from 50,000 rows, where LightGBM takes 200,000;
        ``engine_params={"bin_construct_sample_cnt": ...}`` is another number.
    boosting : {"gbdt", "dart"}, default="gbdt"
        Plain boosting, or with dropped trees; dropping rescales earlier trees, so that early
        stopping is refused there.
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
    init_model : fitted LightGBMTrees, lightgbm.Booster, str or Path, default=None
        Trees to start from; a string is a model's text, or the path to one. Without drawing of
        rows or columns a continued fit equals one long fit bit for bit. It gathers the rows.
    output : {"score", "trees", "leaves"}, default="score"
        What ``transform`` returns; see :mod:`treerank.feature_parts.engines.tree_outputs`.
    importance_type : {"gain", "split"}, default="gain"
        What ``feature_importances_`` shares out: the gain, or the number of splits.
    n_jobs : int, default=None
        Threads; ``None`` is all cores, or in a worker of joblib its share of them.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is drawn.
    engine_params : dict, default=None
        Further parameters of LightGBM, by any of their names; unknown ones are refused.

    Attributes
    ----------
    booster_ : lightgbm.Booster
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
    >>> part = LightGBMTrees(n_estimators=50, n_jobs=1).fit(X, HalfSquare())
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
        min_child_samples=20,
        min_child_weight=1e-3,
        subsample=1.0,
        subsample_freq=0,
        colsample_bytree=1.0,
        reg_alpha=0.0,
        reg_lambda=0.0,
        min_split_gain=0.0,
        max_bin=255,
        boosting="gbdt",
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
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.min_child_samples = min_child_samples
        self.min_child_weight = min_child_weight
        self.subsample = subsample
        self.subsample_freq = subsample_freq
        self.colsample_bytree = colsample_bytree
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.min_split_gain = min_split_gain
        self.max_bin = max_bin
        self.boosting = boosting
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
        import lightgbm

        from treerank.feature_parts.engines.lightgbm_boundary import make_dataset, progress_callback

        params = self._parameters(rows, derivatives, seed)
        params["objective"] = lambda scores, _: derivatives(scores)
        data = make_dataset(
            rows,
            whole=earlier is not None,
            feature_name=engine_names(rows.feature_names, _FORBIDDEN) or "auto",
            categorical_feature=list(self._categorical(rows)) or "auto",
        )
        held_out = None
        if validation_rows is not None:
            held_out = [make_dataset(validation_rows, whole=earlier is not None, reference=data)]
        booster = lightgbm.train(
            params,
            data,
            num_boost_round=n_new,
            valid_sets=held_out,
            feval=progress.metric
            and (lambda scores, _: (progress.name, progress.measure(scores), True)),
            callbacks=[progress_callback(progress, derivatives.n_outputs)],
            init_model=earlier,
            keep_training_booster=True,
        )
        return self.load_booster(booster.model_to_string(num_iteration=progress.kept() or -1))

    def predict_scores(self, values):
        """Return the scores, of shape (n_documents, n_scores_)."""
        scores = self._predict(values, raw_score=True)
        return scores.reshape(values.shape[0], self.n_scores_)

    def predict_nodes(self, values):
        """Return the leaf of every tree that each document falls into."""
        leaves = self._predict(values, pred_leaf=True)
        return leaves.reshape(values.shape[0], -1).astype(np.int64)

    def leaf_values(self):
        """Return the values of all leaves, one array per tree, exact as the model's text is."""
        text = self.booster_.model_to_string()
        if re.search(r"^is_linear=1$", text, re.MULTILINE):
            raise ValueError(
                f"output must be 'score' with linear_tree; got {self.output!r} though such "
                "leaves have no single value."
            )
        lines = re.findall(r"^leaf_value=(.*)$", text, re.MULTILINE)
        return [np.array(line.split(), dtype=np.float64)[:, None] for line in lines]

    def importance(self, kind):
        """Return the gain or the number of splits of each feature."""
        return self.booster_.feature_importance(kind)

    def dump_booster(self, booster):
        """Return LightGBM's own text, from which predictions are the same bits."""
        return booster.model_to_string()

    def load_booster(self, model):
        """Return a booster from itself, its text or its path."""
        import lightgbm

        if isinstance(model, lightgbm.Booster):
            return model
        text = str(model) if "\n" in str(model) else Path(model).read_text(encoding="utf-8")
        return lightgbm.Booster(model_str=text)

    def count_iterations(self, booster, n_scores):
        """Return how many trees each output has."""
        return booster.num_trees() // n_scores

    def count_features(self, booster):
        """Return how many features the trees were grown on."""
        return booster.num_feature()

    def count_scores(self, booster):
        """Return how many outputs the trees have."""
        return booster.num_model_per_iteration()

    def _predict(self, values, **kind):
        # Waking a second thread takes longer than scoring a single query.
        n_threads = min(self.n_threads, 1 + values.shape[0] // _ROWS_PER_THREAD)
        return self.booster_.predict(values, num_threads=n_threads, **kind)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_parameters(self, validation):
        super()._check_parameters(validation)
        check_choice("boosting", self.boosting, _BOOSTING)
        if self.boosting == "dart" and self.early_stopping_rounds is not None:
            raise ValueError(
                "early_stopping_rounds must be None with boosting='dart', where later trees "
                f"rescale earlier ones; got {self.early_stopping_rounds!r}."
            )

    def _categorical(self, rows):
        if self.categorical_features is None:
            return tuple(rows.categorical or ())
        names = rows.feature_names
        n_features = rows.shape[1]
        return column_indices(
            self.categorical_features, n_features, names, name="categorical_features"
        )

    def _parameters(self, rows, derivatives, seed):
        n_features, names = rows.shape[1], rows.feature_names
        params = {name: getattr(self, name) for name in _SHARED}
        params |= {
            "num_class": derivatives.n_outputs,
            "num_threads": self.n_threads_for(rows),
            "metric": "None",
            "verbosity": -1,
            "feature_pre_filter": False,  # or it aborts on tiny data
            # A continued fit must not draw the same rows again, but find the same bins.
            "seed": seed + derivatives.iteration,
            "data_random_seed": seed,
            "bin_construct_sample_cnt": SAMPLE_SIZE,
        }
        if self.monotone_constraints is not None:
            signs = monotone_signs(self.monotone_constraints, n_features, names)
            params["monotone_constraints"] = list(signs)
        if self.interaction_constraints is not None:
            groups = interaction_groups(self.interaction_constraints, n_features, names)
            params["interaction_constraints"] = groups
        return params | self._engine_parameters()

    def _engine_parameters(self):
        """Return further parameters under LightGBM's main names."""
        from treerank.feature_parts.engines.lightgbm_boundary import main_names as names_of_engine

        given, main_names = self.engine_params or {}, names_of_engine()
        for name in given:
            if name not in main_names:
                raise ValueError(f"engine_params must be known to LightGBM; got {name!r}.")
        params = {main_names[name]: value for name, value in given.items()}
        check_free(params, {main_names[name] for name in (*_SHARED, *_OWN)})
        if "goss" in params.values():  # reweights gradients, so that sums are not exact any more
            params = {"deterministic": True, "force_col_wise": True} | params
        return params
