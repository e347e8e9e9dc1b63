"""Fitted rankers in a comparison, also from model files."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from treerank.checks import naming, quote
from treerank.documents.ranking_data import RankingData
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
                    f"rankers[{quote(name)}] must be an estimator or a file that its method save "
                    f"wrote; got {quote(str(ranker))}. ForestRanker(read_forest(path)) is a ranker "
                    "of trees of other programs."
                )
            with naming(f"rankers[{quote(name)}]"):
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


def scored_names(
    rankers: Mapping[str, Any], searched: Collection[str], *, has_splits: bool
) -> tuple[str, ...]:
    """Return the names of the rankers that are only scored: those that were fitted before.

    Rankers that learn from no labels need no training set. They are included unless some other
    ranker needs one, or their hyperparameters are ``searched``, which needs labels. If data
    ``has_splits`` already, only rankers that require no fit are, beside others that were fitted.
    """
    fitted = set()
    for name, ranker in rankers.items():
        with naming(f"rankers[{quote(name)}]"):  # raises for wrong settings
            fitted |= {name} if is_fitted(ranker) else set()
    needs_training = needs_fit if has_splits else learns_from_labels
    free = {n for n, ranker in rankers.items() if not needs_training(ranker)} - {*searched}
    if (fitted or not has_splits) and fitted | free == set(rankers):
        fitted |= free
    return tuple(name for name in rankers if name in fitted)


def fitted_without_labels(ranker: Any, documents: RankingData) -> Any:
    """Return a ranker that is only scored, fitted to the documents if it is not fitted yet.

    It learns from no labels, and sees none: they are all 0.

    Examples
    --------
    >>> from treerank import make_web_search
    >>> from treerank.rankers.column_ranker import ColumnRanker
    >>> documents = RankingData(*make_web_search(5))
    >>> fitted_without_labels(ColumnRanker(2), documents).column_index_
    2
    """
    if is_fitted(ranker) or not needs_fit(ranker):
        return ranker
    no_labels = np.zeros(len(documents))
    return duplicate(ranker).fit(documents.X, no_labels, documents.qid)
