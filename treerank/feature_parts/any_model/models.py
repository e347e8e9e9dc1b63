"""Models: what regressors and transformers of scikit-learn have in common."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from treerank.checks import has_methods, quote
from treerank.feature_parts.base import copy_of
from treerank.feature_parts.registry import LEARNS_FROM_LABELS

#: What models say that look for columns by their names.
_WANTS_NAMES = (
    *("only supported for dataframes", "without feature names"),
    "only be applied to pandas dataframes",
)
#: Rows of one call. It is fixed: the last bits of a product depend on its shape.
_BLOCK = 1024


def seeded_copy(model: Any, number: int, rng: np.random.RandomState) -> Any:
    """Return an unfitted copy of a model, and of those within it, with seeds.

    Each ``random_state`` of None is drawn from ``rng``; to one that is set, ``number`` is added.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesRegressor
    >>> model = ExtraTreesRegressor(random_state=7)
    >>> [seeded_copy(model, number, None).random_state for number in range(3)]
    [7, 8, 9]
    """
    copy = copy_of(model)
    seeds: dict[str, int] = {}
    for name, value in sorted(params_by_name(copy).items()):
        if name.rpartition("__")[2] == "random_state":
            start = rng if value is None else value
            if isinstance(start, np.random.RandomState):
                start = int(start.randint(2**31 - 1))  # of the copy, if it is the model's own
            seeds[name] = (start + (0 if value is None else number)) % 2**32
    return copy.set_params(**seeds) if seeds else copy


def params_by_name(model: Any) -> dict[str, Any]:
    """Return all parameters of a model and of those within it; empty without ``get_params``."""
    return dict(model.get_params()) if has_methods(model, "get_params") else {}


def weight_argument(model: Any) -> str | None:
    """Return the name under which ``fit`` of a model takes weights of rows, or None.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_argument(make_pipeline(Ridge())), weight_argument(KNeighborsRegressor())
    ('ridge__sample_weight', None)
    """
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        inner = weight_argument(last)
        return inner and f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else None


def in_blocks(function: Callable[[Any], Any], matrix: Any) -> np.ndarray:
    """Return the results of ``function`` for all rows of a matrix, called with blocks of 1024 rows.

    So the result of a row does not depend on the rows that are given with it, also where a model
    multiplies matrices. The last block is filled up by copies of its last row. A sparse matrix is
    passed as a whole, since sparse products do not depend on other rows.

    Examples
    --------
    >>> in_blocks(lambda X: X.sum(axis=1), np.ones((2, 3)))
    array([3., 3.])
    """
    if issparse(matrix):
        return _dense(function(matrix))
    starts = range(0, len(matrix), _BLOCK)
    blocks = [matrix[start : start + _BLOCK] for start in starts]
    return np.concatenate([_of_block(function, block) for block in blocks])


def _of_block(function: Callable[[Any], Any], block: np.ndarray) -> np.ndarray:
    filled = block[np.minimum(np.arange(_BLOCK), len(block) - 1)]
    return _dense(function(filled))[: len(block)]


def _dense(values: Any) -> np.ndarray:
    """Return numbers as an array in double precision."""
    return np.asarray(values.toarray() if issparse(values) else values, dtype=np.float64)


@contextmanager
def calling(owner: Any, model: Any, matrix: Any) -> Iterator[None]:
    """Context of a call of ``model`` on ``matrix``, which explains errors of the model.

    These are errors about missing values, labels, names of columns and targets; the message says
    what to write instead. ``owner`` is the feature part that wraps the model. Steps of the model
    return arrays, whatever ``sklearn.set_config(transform_output=...)`` says: data frames would
    have other last bits, and cannot be sparse.
    """
    try:
        with config_context(transform_output="default"):
            yield
    except ValueError as error:
        if "requires y" in str(error):
            raise ValueError(f"{quote(model)} {LEARNS_FROM_LABELS}") from error
        if any(text in str(error) for text in _WANTS_NAMES):
            raise ValueError(
                f"{quote(model)} must not name columns: a feature part gets a matrix, the columns "
                "of numbers first, then one of zeros and ones for each category. Choose columns "
                "before the ranker, as in make_pipeline(transformer, TreeDirectRanker())."
            ) from error
        if "out of the valid range of the loss" in str(error):
            raise ValueError(
                f"regressor must take targets of both signs, since Newton steps are; got "
                f"{quote(model)}: {error} Take one of squared error, and loss= of the ranker for "
                "counts."
            ) from error
        if "NaN" not in str(error) or issparse(matrix) or not np.isnan(matrix).any():
            raise
        filled = f"make_pipeline(SimpleImputer(), {quote(model)})"
        if hasattr(owner, "regressor"):
            filled = f"{type(owner).__name__}({filled})"
        raise ValueError(
            f"X must have no missing values for {quote(model)}; got {int(np.isnan(matrix).sum())} "
            f"that are NaN. Write {filled}, or fill them in before."
        ) from error


def refuse_to_save(part: Any) -> NoReturn:
    """Raise an error, because models of other libraries are not saved; say what to do instead."""
    raise TypeError(
        "feature_part must be of arrays to be saved, because loading a model file runs no code; "
        f"got {quote(part)}. joblib.dump(ranker, path) writes objects of any library; "
        "joblib.load(path) runs code that is in the file, so load only what you wrote."
    )
