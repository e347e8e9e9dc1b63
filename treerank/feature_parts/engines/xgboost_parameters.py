"""Parameters of XGBoost: what trees tell it, and the names that no one else may set."""

import json
from typing import Any

import numpy as np

from treerank.feature_parts.engines.boosting import TREE_PARAMETERS
from treerank.feature_parts.engines.column_arguments import interaction_groups, monotone_signs
from treerank.feature_parts.engines.growth_task import GrowthTask

#: Smallest number above 0 of normal single precision.
_SMALLEST = float(np.finfo(np.float32).tiny)
#: Arguments of XGBoostTrees that are passed to XGBoost.
_SHARED = (*TREE_PARAMETERS, "device", "grow_policy", "multi_strategy", "tree_method")
#: XGBoost's names of some of them.
_RENAMED = {"min_split_gain": "gamma", "num_leaves": "max_leaves"}
#: Parameters of XGBoost that ``fit`` sets itself, and further names of arguments.
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
#: Names that ``engine_params`` must not have.
TAKEN = (*_SHARED, *_RENAMED.values(), *_OWN)


def xgboost_parameters(part: Any, task: GrowthTask) -> dict[str, Any]:
    """Return the parameters for the trees of a task, given the ``XGBoostTrees`` that grow them."""
    rows, derivatives = task.rows, task.derivatives
    n_features, names = rows.shape[1], rows.feature_names
    sizes = task.sizes.of_tree()
    given = {name: sizes.get(name, getattr(part, name)) for name in _SHARED}
    params = {_RENAMED.get(name, name): _legible(value) for name, value in given.items()}
    params |= {
        "num_target": derivatives.n_outputs,
        "max_bin": part.n_bins_for(rows),
        "nthread": part.n_threads_for(rows),
        "disable_default_eval_metric": 1,
        "seed": task.seed + derivatives.iteration,  # a continued fit must not draw the same rows
    }
    if derivatives.n_outputs == 1:
        del params["multi_strategy"]
    if task.earlier is None:
        params["base_score"] = 0.0
    if part.monotone_constraints is not None:
        signs = monotone_signs(part.monotone_constraints, n_features, names)
        params["monotone_constraints"] = str(signs)
    if part.interaction_constraints is not None:
        groups = interaction_groups(part.interaction_constraints, n_features, names)
        params["interaction_constraints"] = json.dumps(groups)
    return params | (part.engine_params or {})


def _legible(value: Any) -> Any:
    """Return a parameter as XGBoost can read it: it refuses numbers near 0 as out of range."""
    return _SMALLEST if isinstance(value, float) and 0 < value < _SMALLEST else value
