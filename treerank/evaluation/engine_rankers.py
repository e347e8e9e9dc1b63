"""Engine rankers: LGBMRanker, XGBRanker and CatBoostRanker, fitted like rankers of this package.

Their ``fit`` wants the rows of a query next to each other, and sizes of groups or numbers of
queries. Data frames become numbers, and the engine is told which of them are categories; so do
those of the packages' regressors. To add a ranker to the command line, list it in
``ENGINE_RANKERS``.
"""

import inspect
import warnings
from importlib.util import find_spec
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from treerank.inputs.columns import Columns, as_frame, fitted_columns
from treerank.inputs.grouping import QueryGroups
from treerank.lazy import load_object

#: Packages of rankers, and settings under which these print nothing and write no files.
ENGINE_RANKERS: dict[str, tuple[str, dict[str, Any]]] = {
    "CatBoostRanker": ("catboost", {"silent": True, "allow_writing_files": False}),
    "LGBMRanker": ("lightgbm", {"verbosity": -1}),
    "XGBRanker": ("xgboost", {}),
}


def installed_rankers() -> list[str]:
    """Return the names of the rankers of packages that are installed."""
    return [name for name, (package, _) in ENGINE_RANKERS.items() if find_spec(package)]


def engine_ranker(name: str) -> Any:
    """Return a ranker of another package, with its default settings.

    Examples
    --------
    >>> engine_ranker("LGBMRanker")
    LGBMRanker(verbosity=-1)
    """
    package, settings = ENGINE_RANKERS[name]
    return load_object(f"{package}:{name}")(**settings)


def adapted(ranker: Any) -> Any:
    """Return a ranker whose ``fit`` takes ``qid`` and frames, if the given one is an engine's.

    Examples
    --------
    >>> adapted(engine_ranker("LGBMRanker"))
    EngineRanker(ranker=LGBMRanker(verbosity=-1))
    """
    engines = {package for package, _ in ENGINE_RANKERS.values()}
    packages = {base.__module__.partition(".")[0] for base in type(ranker).__mro__}
    return EngineRanker(ranker) if engines & packages or _words_of_queries(ranker) else ranker


def _words_of_queries(ranker):
    """Return which of ``group`` and ``group_id`` a ranker's ``fit`` takes; a regressor's, none."""
    return {"group", "group_id"} & set(inspect.signature(ranker.fit).parameters)


class EngineRanker(BaseEstimator):
    """A ranker or regressor of an engine, with ``fit(X, y, qid)`` for rows in any order."""

    __metadata_request__fit: ClassVar = {"qid": True}

    def __init__(self, ranker: Any):
        self.ranker = ranker

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the ranker; the prefix ``ranker__`` may be left out."""
        prefix = "ranker__"
        own = {n if n.startswith((prefix, "ranker")) else prefix + n: v for n, v in params.items()}
        return super().set_params(**own)

    def fit(self, X: Any, y: Any, qid: Any) -> Self:
        """Fit a copy of the ranker to the rows, sorted by query."""
        self.columns_ = Columns.of(X)
        frame = as_frame(X)
        self.names_ = None if frame is None else frame.columns
        self.fitted_ = clone(self.ranker)
        words = inspect.signature(self.fitted_.fit).parameters
        groups = QueryGroups.from_qid(qid)
        order = groups.order
        queries = {"group_id": groups.codes[order], "group": groups.sizes}
        queries = {word: queries[word] for word in _words_of_queries(self.fitted_)}
        settings = self._of_categories(words, sorted(self.columns_.categories), X)
        self.fitted_.fit(self._numbers(X)[order], np.asarray(y)[order], **queries, **settings)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the scores of the ranker."""
        with warnings.catch_warnings():
            # LightGBM 4.6 names the columns of an array, and scikit-learn then misses the names.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return self.fitted_.predict(self._numbers(X))

    def _of_categories(self, words, places, X):
        """Tell the ranker which columns are categories; return what its ``fit`` is told."""
        known = [word for word in ("categorical_feature", "cat_features") if word in words]
        if places and not known:  # XGBoost
            types = ["c" if place in places else "q" for place in range(X.shape[1])]
            self.fitted_.set_params(feature_types=types, enable_categorical=True)
        return {known[0]: places} if places and known else {}

    def _numbers(self, X):
        """Return a matrix; CatBoost takes categories as integers among objects only."""
        if as_frame(X) is None:
            return X if hasattr(X, "shape") else np.asarray(X)
        matrix = self.columns_.numbers(fitted_columns(X, self.names_))
        places = list(self.columns_.categories)
        if places and "cat_features" in inspect.signature(self.fitted_.fit).parameters:
            matrix = matrix.astype(object)
            matrix[:, places] = np.nan_to_num(matrix[:, places].astype(float), nan=-1).astype(int)
        return matrix
