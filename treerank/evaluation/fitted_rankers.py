"""Fitted rankers in a comparison, also from model files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from treerank.checks import naming
from treerank.documents.reading import accepted_by
from treerank.evaluation.engine_rankers import duplicate
from treerank.files.archive import is_archive
from treerank.registry import load


def read_models(rankers: Mapping[str, Any]) -> dict[str, Any]:
    """Return rankers by name, with paths replaced by the rankers in their files."""
    loaded = {}
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
        loaded[name] = ranker
    return loaded


def is_fitted(ranker: Any) -> bool:
    """Return whether a ranker is fitted; an object without ``fit`` counts as fitted.

    By scikit-learn's rule, fitted attributes end in an underscore. Classes that break the rule
    count as fitted if they have attributes that an unfitted copy lacks.

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
    if not hasattr(ranker, "__sklearn_tags__"):  # check_is_fitted would ask for them
        return any(name.endswith("_") and name[0] != "_" for name in vars(ranker))
    try:
        check_is_fitted(ranker)
    except NotFittedError:
        return bool(vars(ranker).keys() - vars(duplicate(ranker)).keys())
    return True


def needs_fit(ranker: Any) -> bool:
    """Tell whether a ranker requires fitting, by scikit-learn's tags.

    A pipeline, if any step does.
    """
    if isinstance(ranker, Pipeline):
        return any(needs_fit(step) for _, step in ranker.steps if hasattr(step, "fit"))
    return not hasattr(ranker, "__sklearn_tags__") or bool(get_tags(ranker).requires_fit)


def learns_from_labels(ranker: Any) -> bool:
    """Tell whether a fit depends on labels, so that it must not see labels of test queries.

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> from treerank.rankers.column_ranker import ColumnRanker
    >>> learns_from_labels(TreeDirectRanker()), learns_from_labels(ColumnRanker("bm25"))
    (True, False)
    """
    if isinstance(ranker, Pipeline):
        return any(learns_from_labels(step) for _, step in ranker.steps if hasattr(step, "fit"))
    return needs_fit(ranker) and accepted_by(ranker).labels


def fitted_names(rankers: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the rankers that were fitted before.

    Rankers that require no fitting are included if all others were fitted before, and there is at
    least one such.
    """
    fitted = set()
    for name, ranker in rankers.items():
        with naming(f"rankers[{name!r}]"):  # raises for wrong settings
            fitted |= {name} if is_fitted(ranker) else set()
    free = {n for n, ranker in rankers.items() if n not in fitted and not needs_fit(ranker)}
    if fitted and fitted | free == set(rankers):
        fitted |= free
    return tuple(name for name in rankers if name in fitted)
