"""Feature parts by name; a module is imported only when its part is asked for.

To add one, list it in ``FEATURE_PARTS`` under its short name.
"""

from inspect import Parameter, signature
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import has_fit_parameter

from treerank.checks import check_choice, closest, has_methods, quote
from treerank.feature_parts.base import copy_of
from treerank.lazy import load_object
from treerank.renamed import RENAMED_PARTS

FEATURE_PARTS = {
    "lightgbm": "treerank.feature_parts.trees.lightgbm:LightGBMTrees",
    "xgboost": "treerank.feature_parts.trees.xgboost:XGBoostTrees",
    "histogram": "treerank.feature_parts.histogram.trees:HistogramTrees",
    "streaming": "treerank.feature_parts.histogram.streaming:StreamingTrees",
    "mlp": "treerank.feature_parts.networks.mlp:MLP",
    "linear": "treerank.feature_parts.linear:LinearModel",
    "ensemble": "treerank.feature_parts.ensemble:Ensemble",
    "stages": "treerank.feature_parts.stages:Stages",
    "polynomial": "treerank.feature_parts.networks.polynomial:Polynomial",
    "soft_trees": "treerank.feature_parts.networks.soft_tree_part:SoftTrees",
}

#: Leaves the choice to the ranker and its data; where there is no choice, it is LightGBM's trees.
AUTO = "auto"
#: The same by the name of the class, for model files.
FEATURE_PART_CLASSES = {path.partition(":")[2]: path for path in FEATURE_PARTS.values()} | {
    "RefitTrees": "treerank.feature_parts.refit:RefitTrees",
    "TorchModule": "treerank.feature_parts.any_model.modules:TorchModule",
}
#: What is said of a model that needs labels.
LEARNS_FROM_LABELS = (
    "learns from labels, which no feature part sees: put it before the ranker, as in "
    "make_pipeline(transformer, TreeDirectRanker())."
)
#: The part over a transformer of scikit-learn.
_OVER_TRANSFORMERS = "treerank.feature_parts.any_model.transformers:TransformerPart"


def feature_part_class(name: str) -> type[Any]:
    """Return the class of a feature part, by its name in ``FEATURE_PARTS``.

    Examples
    --------
    >>> feature_part_class("lightgbm").__name__
    'LightGBMTrees'
    """
    check_choice("name", name, FEATURE_PARTS)
    part_class: type[Any] = load_object(FEATURE_PARTS[name])
    return part_class


def _learns_from_labels(candidate: Any) -> bool:
    """Tell whether a ``fit`` takes labels as its second argument, as scikit-learn's do.

    Also true for a ``fit`` that takes documents alone.
    """
    parameters = signature(candidate.fit).parameters
    return "validation" not in parameters and ("y" in parameters or len(parameters) < 2)


def _is_part(candidate: Any) -> bool:
    """Tell whether an object has ``fit(X, objective)`` and ``transform(X)``."""
    if not has_methods(candidate, "fit", "transform"):
        return False
    try:
        signature(candidate.fit).bind("X", "objective")
        return not _learns_from_labels(candidate)
    except (TypeError, ValueError):  # some functions in C have no signature
        return False


def _is_transformer(candidate: Any) -> bool:
    """Tell whether something is a transformer of scikit-learn that needs no labels."""
    if not has_methods(candidate, "fit", "transform", "get_params") or needs_labels(candidate):
        return False
    return not has_methods(candidate, "rank")


def needs_labels(candidate: Any) -> bool:
    """Tell whether an estimator of scikit-learn cannot be fitted without labels.

    A frozen one can: its fit takes labels and ignores them. Tags alone do not tell, since those of
    partial least squares say that labels are not required.

    Examples
    --------
    >>> from sklearn.cross_decomposition import PLSCanonical
    >>> from sklearn.preprocessing import StandardScaler
    >>> fitted = StandardScaler().fit([[1.0], [2.0]])
    >>> needs_labels(PLSCanonical()), needs_labels(FrozenEstimator(fitted))
    (True, False)
    """
    if isinstance(candidate, FrozenEstimator):
        return False
    y = signature(candidate.fit).parameters.get("y")
    if y is not None and y.default is Parameter.empty:
        return True
    tags = tags_of(candidate)
    return tags is not None and bool(tags.target_tags.required)


def tags_of(model: Any) -> Tags | None:
    """Return scikit-learn's tags of a model; None of a class that has none, as those of Keras.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> tags_of(Ridge()).estimator_type, tags_of("no model")
    ('regressor', None)
    """
    if not has_methods(model, "__sklearn_tags__"):
        return None
    try:
        return get_tags(model)
    except AttributeError:  # of a mixin without BaseEstimator
        return None


def is_model_for(task: str, model: Any) -> bool:
    """Tell whether a model is a "classifier" or a "regressor", by its tags.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> is_model_for("regressor", Ridge()), is_model_for("classifier", Ridge())
    (True, False)
    """
    tags = tags_of(model)
    return tags is not None and tags.estimator_type == task


def _instead_of(candidate: Any) -> str:
    """Return advice on what to write instead of an object that is no feature part."""
    if has_methods(candidate, "fit", "rank", "forest"):
        return (
            " To keep the trees of a fitted ranker as a part, write "
            "RefitTrees(ranker.forest(), learning_rate=0.0)."
        )
    if is_foreign_ranker(candidate):
        return " It ranks by itself: compare(rankers, data) takes it as it is."
    is_model = has_methods(candidate, "fit") and (
        has_methods(candidate, "predict")
        or (has_methods(candidate, "get_params") and is_model_for("regressor", candidate))
    )
    is_ranker = has_methods(candidate, "rank")
    if is_model and not is_ranker and not is_model_for("classifier", candidate):
        text = quote(candidate)
        code = f"{type(candidate).__name__}(...)" if text.startswith("<") else text
        return f" Write NewtonBoosting({code}) for a regressor."
    if has_methods(candidate, "fit", "transform", "get_params") and not has_methods(
        candidate, "rank"
    ):
        return f" It {LEARNS_FROM_LABELS}"
    if any(base.__module__.startswith("torch.nn") for base in type(candidate).__mro__):
        return " Write TorchModule(build), where build(n_features) returns the module."
    if isinstance(candidate, str) and candidate in RENAMED_PARTS:
        return f" It is called {RENAMED_PARTS[candidate]!r} now."
    return closest(candidate, FEATURE_PARTS)


def is_foreign_ranker(model: Any) -> bool:
    """Tell whether a model of another library learns from queries itself, by its ``fit``.

    Examples
    --------
    >>> from lightgbm import LGBMRanker, LGBMRegressor
    >>> is_foreign_ranker(LGBMRanker()), is_foreign_ranker(LGBMRegressor())
    (True, False)
    """
    return (
        has_methods(model, "fit", "predict")
        and not has_methods(model, "rank")
        and any(has_fit_parameter(model, name) for name in ("group", "group_id", "qid"))
    )


def is_auto(feature_part: Any) -> bool:
    """Tell whether a ranker chooses its feature part from the data.

    Examples
    --------
    >>> is_auto("auto"), is_auto("lightgbm")
    (True, False)
    """
    return isinstance(feature_part, str) and feature_part == AUTO


def make_feature_part(feature_part: Any) -> Any:
    """Return a new, unfitted feature part.

    A name becomes a part with default parameters, an instance is copied, a list becomes an
    ensemble, and a transformer of scikit-learn becomes a part, too. Refuses anything else.
    "auto" is "lightgbm", from which a ranker may deviate once it has seen the data.

    Examples
    --------
    >>> make_feature_part("lightgbm")
    LightGBMTrees()
    """
    if isinstance(feature_part, list | tuple) and feature_part:
        parts = [make_feature_part(part) for part in feature_part]
        return feature_part_class("ensemble")(parts)
    if is_auto(feature_part):
        return feature_part_class("lightgbm")()
    if isinstance(feature_part, str) and feature_part in FEATURE_PARTS:
        return feature_part_class(feature_part)()
    if _is_part(feature_part):
        return copy_of(feature_part)
    if _is_transformer(feature_part):
        return load_object(_OVER_TRANSFORMERS)(copy_of(feature_part))
    raise ValueError(
        "feature_part must have fit(X, objective, validation=None) and transform(X), or be a "
        f"transformer of scikit-learn, a list of parts or one of {sorted([AUTO, *FEATURE_PARTS])}; "
        f"got {quote(feature_part)}.{_instead_of(feature_part)}"
    )


def reads_sparse(part: Any) -> bool:
    """Tell whether a feature part reads sparse matrices, as its tag ``input_tags.sparse`` says.

    Examples
    --------
    >>> reads_sparse(make_feature_part("lightgbm")), reads_sparse(make_feature_part("mlp"))
    (True, False)
    """
    tags = tags_of(part)
    return tags is not None and bool(tags.input_tags.sparse)
