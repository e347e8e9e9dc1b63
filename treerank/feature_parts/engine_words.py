"""Engine words: what to write here for arguments of other libraries.

These are LightGBM, XGBoost and CatBoost, and for networks scikit-learn, torch and Keras. To add a
word, add it to ``THEIRS`` if it has a name here, to ``INSTEAD`` if something else does the same,
and to ``NOTHING`` if nothing does. ``IN_FIT`` has words that mean something else in ``fit``, and
``ATTRIBUTES`` has attributes.
"""

import inspect
from importlib.util import find_spec
from typing import Any

from treerank.checks import quote
from treerank.feature_parts.registry import FEATURE_PARTS, feature_part_class

#: Words of other programs by the names that they have here.
THEIRS = {
    "alpha": ("l2_regularization", "lambda", "lambda_l2", "reg_lambda"),
    "batch_size": ("minibatch_size",),
    "categorical_features": (
        *("cat_column", "cat_feature", "cat_features", "categorical_column", "categorical_feature"),
    ),
    "colsample_bytree": ("feature_fraction", "max_features", "rsm", "sub_feature"),
    "decay": ("lr_scheduler", "scheduler"),
    "depth": ("max_depth",),
    "dropout": ("dropout_rate",),
    "early_stopping_rounds": (
        *("early_stopping", "early_stopping_round", "n_iter_no_change", "od_wait", "patience"),
    ),
    "gain": ("label_gain",),
    "hidden": (
        *("hidden_layer_sizes", "hidden_layers", "hidden_sizes", "hidden_units", "layers"),
        "n_hidden",
    ),
    "interaction_constraints": ("interaction_cst",),
    "k": ("lambdarank_truncation_level",),
    "learning_rate": ("eta", "learning_rate_init", "lr", "shrinkage_rate"),
    "max_bin": ("border_count", "max_bins"),
    "max_depth": ("depth",),
    "metric": ("metric_types", "metrics"),
    "min_child_samples": ("min_data", "min_data_in_leaf", "min_data_per_leaf", "min_samples_leaf"),
    "min_child_weight": (
        *("min_hessian", "min_sum_hessian", "min_sum_hessian_in_leaf", "min_sum_hessian_per_leaf"),
    ),
    "min_split_gain": ("gamma", "min_gain_to_split", "min_split_loss"),
    "monotone_constraints": ("mc", "monotone_constraint", "monotonic_cst"),
    "n_estimators": (
        *("iterations", "max_iter", "n_iter", "nrounds", "num_boost_round", "num_iteration"),
        *("n_trees", "num_iterations", "num_round", "num_rounds", "num_tree", "num_trees"),
    ),
    "n_epochs": ("epochs", "max_epochs", "max_iter", "n_iter", "num_epochs"),
    "n_jobs": ("nthread", "nthreads", "num_thread", "num_threads", "thread_count"),
    "n_hidden": ("hidden", "hidden_layer_sizes", "hidden_units"),
    "num_leaves": ("max_leaf", "max_leaf_nodes", "max_leaves", "num_leaf"),
    "optimizer": ("solver",),
    "random_state": (
        *("bagging_fraction_seed", "bagging_seed", "data_random_seed", "data_seed"),
        *("extra_seed", "feature_fraction_seed", "objective_seed", "random_seed", "seed"),
    ),
    "reg_alpha": ("alpha", "l1_regularization", "lambda_l1"),
    "reg_lambda": ("l2_leaf_reg", "l2_regularization", "lambda", "lambda_l2"),
    "sigma": ("sigmoid",),
    "start": ("init", "initializer"),
    "subsample": ("bagging", "bagging_fraction", "sub_row"),
    "subsample_freq": ("bagging_freq",),
    "weight_decay": ("alpha", "l2_regularization", "lambda_l2", "reg_lambda"),
}
#: Names here of each word of others, which may be one of trees and one of networks.
_OURS: dict[str, list[str]] = {}
for _ours, _words in THEIRS.items():
    for _word in _words:
        _OURS.setdefault(_word, []).append(_ours)
#: Parameters of TreeDirectRanker that trees do not have, besides the settings of pairs.
OF_RANKER = ("clicks", "feature_part", "head_alpha", "label_weights", "loss", "metric", "tau")
#: What an engine reads, and has no name here, by the class of the trees.
OF_ENGINE = {
    "LightGBMTrees": (
        *("bin_construct_sample_cnt", "cat_l2", "cat_smooth", "colsample_bynode"),
        *("data_sample_strategy", "device_type", "extra_tree", "extra_trees"),
        *("feature_fraction_bynode", "force_col_wise", "force_row_wise", "max_bin_by_feature"),
        *("max_cat_threshold", "max_cat_to_onehot", "max_delta_step", "max_leaf_output"),
        *("max_tree_output", "mc_method", "mc_penalty", "min_data_in_bin", "min_data_per_group"),
        *("monotone_constraining_method", "monotone_constraints_method", "monotone_penalty"),
        *("monotone_splits_penalty", "ms_penalty", "other_rate", "path_smooth"),
        *("sub_feature_bynode", "subsample_for_bin", "top_rate"),
        "use_quantized_grad",
    ),
    "XGBoostTrees": (
        *("colsample_bylevel", "colsample_bynode", "device", "max_cat_threshold"),
        *("max_cat_to_onehot", "max_delta_step", "multi_strategy", "sampling_method"),
    ),
}
#: How the iterations of a fit are shown.
SHOW_PROGRESS = "with treerank.show_progress(): ranker.fit(X, y, qid)"
#: Words whose value is the name of a loss.
_OF_LOSS = ("app", "application", "loss_function", "objective", "objective_type")
#: What to write for words that have no name here.
INSTEAD = {
    "calibrate(X, y, qid) of the fitted ranker, or eval_set=(X, y, qid) in fit": ("calibration",),
    "eval_metric=['ndcg@5', 'ndcg@10'] in fit": (
        *("custom_metric", "eval_at", "eval_metric", "map_at", "map_eval_at", "ndcg_at"),
        "ndcg_eval_at",
    ),
    "eval_set=[(X, y, qid)] in fit, with one query id per row": (
        *("eval_group", "eval_names", "eval_qid", "eval_set", "eval_X", "eval_y", "valid_sets"),
    ),
    "eval_set=0.1 in fit, a share of the queries": ("validation_fraction",),
    "gain='linear' or 'exponential' of the ranker": ("ndcg_exp_gain",),
    "given_pairs in fit of TreeDirectRanker, with the weight of each pair in its third column": (
        "pairs_weight",
    ),
    "position, from 1, in fit of the ranker": (
        *("lambdarank_position_bias_regularization", "lambdarank_unbiased", "positions"),
    ),
    "qid in fit, one query id per row in any order": (
        *("group_column", "group_id", "groups", "query", "query_column", "query_id"),
    ),
    "qid=np.repeat(np.arange(len(group)), group) in fit, one query id per row": ("group",),
    "sample_weight or query_weight in fit of the ranker": (
        *("class_weight", "group_weight", "is_unbalance", "neg_bagging", "neg_bagging_fraction"),
        *("neg_sub_row", "neg_subsample", "pos_bagging", "pos_bagging_fraction", "pos_sub_row"),
        *("pos_subsample", "scale_pos_weight", "unbalance", "unbalanced_sets", "weight_column"),
    ),
    "TreeDirectRanker(loss='logistic', weight='ndcg'), the defaults, which are lambdarank's": (
        _OF_LOSS
    ),
    "TreeDirectRanker(HistogramTrees(subsample_queries=0.5))": ("bagging_by_query",),
    "TreeDirectRanker(pairs=treerank.objectives.Pairs(top=8))": (
        *("lambdarank_num_pair_per_sample", "lambdarank_pair_method"),
    ),
    "TreeDirectRanker(query_normalization='log')": ("lambdarank_norm", "lambdarank_normalization"),
    SHOW_PROGRESS: (*("logging_level", "plot", "silent", "verbose", "verbose_eval", "verbosity"),),
    "treerank.distributed.fit, with a data frame of Dask": (
        *("machine_list", "machine_list_file", "machine_list_filename", "machines", "mlist"),
        *("n_workers", "nodes", "num_machine", "num_machines", "tree", "tree_learner"),
        *("tree_learner_type", "tree_type", "workers"),
    ),
    "TreeDirectRanker(warm_start=True), or treerank.rankers.refresh": ("init_model", "xgb_model"),
    "X as a data frame, which has names: columns of text or of dtype category are categories": (
        *THEIRS["categorical_features"],
        *("enable_categorical", "feature_name", "feature_names", "feature_types"),
    ),
    "X without the columns that are no features": ("blacklist", "ignore_column", "ignore_feature"),
    "y in fit": ("label", "label_column"),
}
ADVICE = {name: advice for advice, names in INSTEAD.items() for name in names}
#: What to write for words of ``ADVICE`` with one of these values.
OF_VALUE: dict[tuple[str, str | bool], str] = {
    ("lambdarank_norm", False): "TreeDirectRanker(query_normalization=None), the default",
    ("lambdarank_normalization", False): "TreeDirectRanker(query_normalization=None), the default",
    ("lambdarank_pair_method", "mean"): "TreeDirectRanker(pairs='all'), the default",
}
#: What to write in ``fit`` for words that have another meaning as parameters of the ranker.
IN_FIT = {
    "pairs": "given_pairs=[(better_row, worse_row), ...] in fit of TreeDirectRanker",
    "weight": "sample_weight in fit, one weight per row",
}
#: Why nothing does what a word asks for, and what comes close.
NOTHING = {
    "bins are always found as by tree_method='hist'; max_bin is their largest number": (
        "tree_method",
    ),
    "each query of an eval_set counts the same. A function f(y, scores, qid) as eval_metric can "
    "weight queries": ("eval_class_weight", "eval_sample_weight", "sample_weight_eval_set"),
    "every fit starts from scores of 0. Make such scores a feature, or let treerank.feature_parts."
    "Stages fit trees to what another part leaves": (
        *("base_margin", "base_margin_eval_set", "base_score", "baseline", "eval_init_score"),
        "init_score",
    ),
    "feature_importances_ are shares in the gain, and treerank.inspection.permutation_importance "
    "says what a metric loses": ("importance_type",),
    "leaves are numbers. TreeDirectRanker.best() adds a linear model to its trees": (
        *("linear_lambda", "linear_tree", "linear_trees"),
    ),
    "missing values are NaN in X. Others are to be replaced, as by np.where(X == -1, np.nan, X)": (
        "missing",
    ),
    "trees are boosted as by gbdt and gbtree, and there are no others. TreeDirectRanker('linear') "
    "is a linear model, and LightGBMTrees(engine_params={'data_sample_strategy': 'goss'}) draws "
    "documents as GOSS does": (
        *("boost", "booster", "boosting", "boosting_type", "drop_rate", "drop_seed", "max_drop"),
        *("rate_drop", "skip_drop", "uniform_drop", "xgboost_dart_mode"),
    ),
    "the best iteration is kept wherever there is an eval_set": ("use_best_model",),
    "the first of eval_metric alone decides when to stop": ("first_metric_only",),
    "with random_state=0, the model is the same for any number of threads": ("deterministic",),
}
_WHY_NOT = {name: reason for reason, names in NOTHING.items() for name in names}
#: What to write for attributes and methods of other rankers.
ATTRIBUTES = {
    name: advice
    for advice, names in {
        "best_iteration_": (*("best_iteration", "best_ntree_limit", "get_best_iteration"),),
        "forest().n_trees": ("n_estimators_", "tree_count_"),
        "forest().n_trees of trees, or best_iteration_ of a network": ("n_iter_",),
        "evals_result_": ("evals_result", "get_evals_result"),
        "score(X, y, qid) with the validation set": (
            *("best_score", "best_score_", "get_best_score"),
        ),
        "feature_importances_": ("feature_importance", "get_feature_importance", "get_score"),
        "feature_names_in_, which there are if X had names": (
            *("feature_name_", "feature_names", "feature_names_"),
        ),
        "forest(), which has the trees, or export(ranker, path, format='lightgbm' or 'xgboost')": (
            *("booster_", "get_booster"),
        ),
        "predict_relevance(X) or predict_pair_proba(X_a, X_b)": ("predict_proba",),
        "save(path), or export(ranker, path, format='lightgbm' or 'xgboost') for other programs": (
            *("dump_model", "save_model"),
        ),
        "treerank.load(path)": ("load_model",),
        "treerank.report(ranker, X, y, qid)": ("report",),
        "calibration_slope_": ("steepness_",),
        "components()": ("terms",),
    }.items()
    for name in names
}


def refuse_word(cls: type, method: str, name: str, value: Any, first: Any) -> None:
    """Raise an error for an argument of other programs, and say what to write here.

    What to write may depend on the ``value`` of the argument. ``first`` is the first argument of
    the call of the class, which may be another estimator or the name of a feature part. Other names
    are left to Python or scikit-learn.
    """
    parameters = inspect.signature(cls).parameters
    ours = [*_OURS.get(name, ()), name]
    own = _parameter_of(cls, ours)
    if method == "set_params" and name in parameters:
        return
    advice: str | None
    whose = f"{cls.__name__}.fit has" if method == "fit" else f"{cls.__name__} has"
    if method == "fit" and name in IN_FIT:
        advice = IN_FIT[name]
    elif own is not None:
        advice = f"{cls.__name__}({own})"
    else:
        is_named = isinstance(first, str) and first in FEATURE_PARTS
        inner = feature_part_class(first) if is_named else type(first)
        given = _parameter_of(inner, ours) if hasattr(inner, "get_params") else None
        of_first = f"{cls.__name__}({inner.__name__}({given}))" if given else None
        advice = of_first or _advice_for(name, value)
        if advice is None and (advice := _elsewhere(cls, ours)):
            is_part = "feature_part" in parameters and hasattr(inner, "get_params")
            whose = f"{cls.__name__} and {inner.__name__} have" if is_part else whose
        advice = "TreeDirectRanker(warm_start=True)" if "warm_start" in ours else advice
    if advice is not None:
        raise TypeError(f"{whose} no {name}; write {advice}.")
    if name in _WHY_NOT:
        raise TypeError(f"{whose} no {name}: {_WHY_NOT[name]}.")


def instead_of(cls: type, name: str) -> str:
    """Return the end of a message that refuses a parameter of the engine of some trees.

    It says what to write here, or why nothing does the same, if that is known.

    Examples
    --------
    >>> from treerank import LightGBMTrees
    >>> instead_of(LightGBMTrees, "lambda_l2")
    '. Write LightGBMTrees(reg_lambda=...).'
    """
    names = [*_OURS.get(name, ()), name]
    own = _parameter_of(cls, names)
    advice = f"{cls.__name__}({own})" if own else ADVICE.get(name) or _elsewhere(cls, names)
    if advice:
        return f". Write {advice}."
    return f": {_WHY_NOT[name]}." if name in _WHY_NOT else "."


def _advice_for(name: str, value: Any) -> str | None:
    """Return what to write for a word that has no name here; None if it is not known."""
    if name in _OF_LOSS and isinstance(value, str):
        from treerank.objectives.factory import synonym_of  # trees alone do not wait for losses

        if synonym := synonym_of(value):
            settings, remark = synonym
            return f"TreeDirectRanker({settings}){remark}"
    of_value = OF_VALUE.get((name, value)) if isinstance(value, str | bool) else None
    return of_value or ADVICE.get(name)


def _parameter_of(cls: type, names: list[str]) -> str | None:
    """Return how a class takes one of several names, such as ``"alpha=..."``; None if it does not.

    The last name is that of the call, which may be a parameter of the engine.
    """
    parameters = inspect.signature(cls).parameters
    if own := next((name for name in names if name in parameters), None):
        return f"{own}=..."
    is_of_engine = names[-1] in OF_ENGINE.get(cls.__name__, ())
    return f"engine_params={{{quote(names[-1])}: ...}}" if is_of_engine else None


def _elsewhere(cls: type, names: list[str]) -> str | None:
    """Return how to write a parameter that ``cls`` does not have but another class has.

    None if no other has it. ``names`` are what it may be called, as for ``_parameter_of``.
    """
    parts = ["lightgbm", *["xgboost"] * (find_spec("xgboost") is not None), "histogram"]
    if "feature_part" not in inspect.signature(cls).parameters:  # rankers on histogram trees
        parts.reverse()
    from treerank.objectives.factory import PairSettings  # trees alone do not wait for losses

    of_ranker = {*OF_RANKER, *inspect.signature(PairSettings).parameters}
    if own := next((name for name in names if name in of_ranker), None):
        is_part = hasattr(cls, "transform") and not hasattr(cls, "predict")
        parameters = inspect.signature(cls).parameters.values()
        given = (
            "..." if any(parameter.default is parameter.empty for parameter in parameters) else ""
        )
        return f"TreeDirectRanker({f'{cls.__name__}({given}), ' * is_part}{own}=...)"
    for part in (*parts, *["mlp"] * (find_spec("torch") is not None)):
        kind = feature_part_class(part)
        if taken := _parameter_of(kind, names):
            return f"TreeDirectRanker({kind.__name__}({taken}))"
    return None


def missing_attribute(ranker: Any, name: str) -> Any:
    """Raise the error for an attribute that a ranker lacks.

    For an attribute of rankers of other programs, it says what to write here.
    """
    if name in ATTRIBUTES:
        cls = type(ranker).__name__
        raise AttributeError(f"{cls} has no {name}; write {ATTRIBUTES[name]}.")
    return object.__getattribute__(ranker, name)


def refuse_callbacks(callbacks: Any) -> None:
    """Refuse callbacks of LightGBM and XGBoost."""
    for callback in callbacks if isinstance(callbacks, list | tuple) else ():
        package = type(callback).__module__.partition(".")[0]
        if package in ("lightgbm", "xgboost"):
            raise TypeError(
                f"callbacks must be functions of (n_done, n_total, values); got one of {package}. "
                "Write TreeDirectRanker(LightGBMTrees(early_stopping_rounds=50)) to stop early, "
                f"eval_metric in fit to record metrics, and {SHOW_PROGRESS} to see them."
            )
