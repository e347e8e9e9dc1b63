"""Fitted rankers in a comparison: which ones are, and files of models."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from treerank.checks import naming
from treerank.evaluation.engine_rankers import duplicate
from treerank.files.archive import is_archive
from treerank.registry import load


def read_models(rankers: Mapping[str, Any]) -> dict[str, Any]:
    """Return rankers by name, with those that are paths of model files read from them."""
    found = {}
    for name, ranker in rankers.items():
        if isinstance(ranker, str | Path):
            path = Path(ranker)
            if path.is_file() and not is_archive(path):
                raise ValueError(
                    f"rankers[{name!r}] must be an estimator or a file that its method save wrote; "
                    f"got {str(ranker)!r}. ForestRanker(read_forest(path)) is a ranker of trees of "
                    "other programs."
                )
            with naming(f"rankers[{name!r}]"):
                ranker = load(path)
        found[name] = ranker
    return found


def is_fitted(ranker: Any) -> bool:
    """Tell whether a ranker was fitted; what cannot be fitted is taken as it is.

    By scikit-learn's rule fitted attributes end in an underscore. Attributes that an unfitted copy
    does not have tell it of classes that do not keep the rule.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> is_fitted(LinearRegression()), is_fitted(LinearRegression().fit([[1.0], [2.0]], [1, 2]))
    (False, True)
    """
    if not hasattr(ranker, "fit"):
        return True
    if isinstance(ranker, Pipeline):
        return is_fitted(ranker.steps[-1][1])
    if not needs_fit(ranker):
        return False
    try:
        check_is_fitted(ranker)
    except NotFittedError:
        return bool(vars(ranker).keys() - vars(duplicate(ranker)).keys())
    return True


def needs_fit(ranker: Any) -> bool:
    """Tell whether a ranker has anything to learn, as scikit-learn's tags say."""
    if isinstance(ranker, Pipeline):
        return any(needs_fit(step) for _, step in ranker.steps if hasattr(step, "fit"))
    return not hasattr(ranker, "__sklearn_tags__") or bool(get_tags(ranker).requires_fit)


def fitted_names(rankers: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the rankers that were fitted before.

    One that has nothing to learn is among them if no other one is to be fitted.
    """
    fitted = set()
    for name, ranker in rankers.items():
        with naming(f"rankers[{name!r}]"):  # wrong settings are found here
            fitted |= {name} if is_fitted(ranker) else set()
    free = {n for n, ranker in rankers.items() if n not in fitted and not needs_fit(ranker)}
    if fitted and fitted | free == set(rankers):
        fitted |= free
    return tuple(name for name in rankers if name in fitted)
