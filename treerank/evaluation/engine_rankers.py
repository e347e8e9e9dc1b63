"""Engine rankers: LGBMRanker, XGBRanker and CatBoostRanker, fitted like rankers of this package.

Their ``fit`` needs the rows of each query next to each other, and sizes of groups or numbers of
queries. Data frames become numbers, and the engine gets the list of categorical columns; the same
holds for the packages' regressors. With a validation set, they stop early by their own metric and
their own setting. Without such a setting, they keep the best of all their iterations, as rankers of
this package do. To add a ranker to the command line, list it in ``ENGINE_RANKERS``.
"""

import inspect
import warnings
from copy import copy, deepcopy
from importlib.util import find_spec
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.pipeline import Pipeline

from treerank.checks import quote
from treerank.documents.columns import Columns, as_frame, fitted_columns
from treerank.documents.embeddings import with_entries
from treerank.documents.queries import QueryGroups, is_missing
from treerank.lazy import load_object

#: Packages of rankers, and settings under which these print nothing and write no files.
ENGINE_RANKERS: dict[str, tuple[str, dict[str, Any]]] = {
    "CatBoostRanker": ("catboost", {"silent": True, "allow_writing_files": False}),
    "LGBMRanker": ("lightgbm", {"verbosity": -1}),
    "XGBRanker": ("xgboost", {}),
}
#: More iterations without a better value than any fit has: the best of all are kept.
_ALL = 10**6
#: Names under which LightGBM takes after how many iterations without a better value it stops.
_LIGHTGBM_PATIENCE = {
    "early_stopping",
    "early_stopping_round",
    "early_stopping_rounds",
    "n_iter_no_change",
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


def engine_of(ranker: Any) -> str | None:
    """Return the package of the engine that a ranker's class is from or derives from.

    None for others.

    Examples
    --------
    >>> engine_of(engine_ranker("LGBMRanker"))
    'lightgbm'
    """
    packages = [base.__module__.partition(".")[0] for base in type(ranker).__mro__]
    engines = {package for package, _ in ENGINE_RANKERS.values()}
    return next((package for package in packages if package in engines), None)


def needs_groups(ranker: Any) -> bool:
    """Return whether a ranker is an engine's, or one whose ``fit`` takes groups as theirs do."""
    return engine_of(ranker) is not None or bool(_words_of_queries(ranker))


def _words_of_queries(ranker):
    """Return the subset of {"group", "group_id"} that the ranker's ``fit`` takes as arguments."""
    fit = getattr(ranker, "fit", None)
    return {"group", "group_id"} & set(inspect.signature(fit).parameters) if fit else set()


def duplicate(ranker: Any) -> Any:
    """Return an unfitted copy of a ranker, also of one that scikit-learn cannot clone.

    That is ``CatBoostRanker(cat_features=[...])``, which copies its parameter, and a pipeline that
    ends in one.

    Examples
    --------
    >>> duplicate(engine_ranker("LGBMRanker"))
    LGBMRanker(verbosity=-1)
    """
    if isinstance(ranker, Pipeline):
        shell = copy(ranker)
        shell.steps = [*ranker.steps[:-1], (ranker.steps[-1][0], "passthrough")]
        made = clone(shell)
        made.steps[-1] = (ranker.steps[-1][0], duplicate(ranker.steps[-1][1]))
        return made
    if engine_of(ranker) == "catboost":
        return type(ranker)(**deepcopy(ranker.get_params()))
    return clone(ranker, safe=False)


class Wrapped(BaseEstimator):
    """Base class of an estimator that wraps another one, its only parameter.

    Parameters are passed on to the wrapped estimator.
    """

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy; :func:`duplicate` copies the wrapped ranker."""
        params = {name: duplicate(value) for name, value in self.get_params(deep=False).items()}
        return type(self)(**params)

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the wrapped estimator.

        The prefix, such as ``ranker__``, may be left out.
        """
        (inner,) = self.get_params(deep=False)
        prefixed = {
            name if name == inner or name.startswith(f"{inner}__") else f"{inner}__{name}": value
            for name, value in params.items()
        }
        return super().set_params(**prefixed)


class EngineRanker(Wrapped):
    """A ranker or regressor of an engine, with ``fit(X, y, qid)`` for rows in any order.

    Examples
    --------
    >>> from treerank import make_web_search
    >>> X, y, qid = make_web_search(40, documents_per_query=10, random_state=0)
    >>> fit, valid = qid < 30, qid >= 30
    >>> ranker = EngineRanker(engine_ranker("LGBMRanker"))
    >>> ranker = ranker.fit(X[fit], y[fit], qid[fit], eval_set=(X[valid], y[valid], qid[valid]))
    >>> ranker.stops_, ranker.fitted_.best_iteration_ < 100
    (True, True)
    """

    __metadata_request__fit: ClassVar = {"qid": True, "eval_set": True}

    def __init__(self, ranker: Any):
        self.ranker = ranker

    def fit(self, X: Any, y: Any, qid: Any, *, eval_set: Any = None) -> Self:
        """Fit a copy of the ranker to the rows, sorted by query.

        ``eval_set`` are documents ``(X, y, qid)`` by which it chooses how many iterations it keeps.
        """
        X = with_entries(X)
        self.columns_ = Columns.of(X)
        frame = as_frame(X)
        self.names_ = None if frame is None else frame.columns
        self.fitted_ = duplicate(self.ranker)
        settings = self._settings_of_categories(X)
        matrix, labels, queries = self._sorted(X, y, qid)
        watched = {} if eval_set is None else self._watching(*self._sorted(*eval_set))
        self.stops_ = bool(watched)
        self.fitted_.fit(matrix, labels, **queries, **settings, **watched)
        if self.stops_ and engine_of(self.fitted_) == "lightgbm":  # or its settings forbid it
            self.stops_ = (self.fitted_.best_iteration_ or 0) > 0
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the scores of the ranker."""
        with warnings.catch_warnings():
            # LightGBM 4.6 names the columns of an array, and scikit-learn then misses the names.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return self.fitted_.predict(self._numbers(X))

    def _sorted(self, X: Any, y: Any, qid: Any) -> tuple[Any, np.ndarray, dict[str, Any]]:
        """Return ``(matrix, labels, queries)`` for ``fit``, sorted by query.

        ``queries`` are the keyword arguments ``group`` and ``group_id``, as far as ``fit`` takes
        them.
        """
        groups = QueryGroups.from_qid(qid, len(y))
        order = groups.order
        queries = {"group_id": groups.codes[order], "group": groups.sizes}
        arguments = {word: queries[word] for word in _words_of_queries(self.fitted_)}
        return self._numbers(X)[order], np.asarray(y)[order], arguments

    def _watching(self, X: Any, y: np.ndarray, queries: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of ``fit`` for early stopping, or to keep the best iteration.

        ``X``, ``y`` and ``queries`` are the validation set, as ``_sorted`` returns it. The dict is
        empty for classifiers, and where settings of the engine forbid it.
        """
        params, engine = self.fitted_.get_params(), engine_of(self.fitted_)
        if is_classifier(self.fitted_):
            return {}
        groups = {"eval_group": [queries["group"]]} if "group" in queries else {}
        if engine == "lightgbm":
            return self._watching_of_lightgbm(params, X, y, groups)
        if engine == "xgboost":
            if params.get("early_stopping_rounds") is None:
                self.fitted_.set_params(early_stopping_rounds=_ALL)
            return {"eval_set": [(X, y)], "verbose": False} | groups
        if engine == "catboost" and params.get("use_best_model") is not False:
            pool = load_object("catboost:Pool")
            return {"eval_set": pool(X, y, cat_features=self.categorical_ or None, **queries)}
        return {}

    def _watching_of_lightgbm(self, params, X, y, groups):
        """Return the arguments for LightGBM; an empty dict for DART, which cannot stop early.

        Unless its parameters stop it early, a callback keeps the best of all iterations.
        """
        if params.get("boosting_type") == "dart":  # which cannot stop early
            return {}
        is_new = "eval_X" in inspect.signature(self.fitted_.fit).parameters  # LightGBM 4.7
        watched: dict[str, Any] = {"eval_set": [(X, y)]}
        if is_new:
            watched = {"eval_X": (X,), "eval_y": (y,)}
        if groups:  # NDCG at the cutoff of the rankers of this package, not at 1, 2, 3, 4 and 5
            watched |= groups | {"eval_at": [10]}
        if not _LIGHTGBM_PATIENCE & set(params):
            stop = load_object("lightgbm:early_stopping")
            watched["callbacks"] = [stop(_ALL, first_metric_only=True, verbose=False)]
        return watched

    def _settings_of_categories(self, X):
        """Set which columns are categories, and return further keyword arguments for ``fit``."""
        self.categorical_ = positions = sorted(self.columns_.categories)
        parameters = inspect.signature(self.fitted_.fit).parameters
        if engine_of(self.fitted_) == "catboost":
            cat_features = self.fitted_.get_params().get("cat_features")
            if cat_features is not None:  # names of columns, or their positions
                names = list(self.names_ or ())
                unknown = [c for c in cat_features if isinstance(c, str) and c not in names]
                if unknown:
                    listed = quote(names) if names else "an array, whose columns have no names"
                    raise ValueError(
                        f"cat_features must be columns of X; got {quote(unknown[0])} and {listed}."
                    )
                columns = [names.index(c) if c in names else c for c in cat_features]
                self.categorical_ = sorted({*positions, *columns})
            if self.categorical_:
                self.fitted_.set_params(cat_features=self.categorical_)
        elif "categorical_feature" in parameters:
            return {"categorical_feature": positions} if positions else {}
        elif positions:  # XGBoost
            types = ["c" if column in positions else "q" for column in range(X.shape[1])]
            self.fitted_.set_params(feature_types=types)
        return {}

    def _numbers(self, X):
        """Return the documents as a matrix, of categories as codes.

        CatBoost gets a matrix of objects if there are categories, which are integers or texts in
        it.
        """
        if as_frame(X) is None:
            matrix = X if hasattr(X, "shape") else np.asarray(X)
        else:
            matrix = self.columns_.numbers(fitted_columns(X, self.names_))
        if self.categorical_ and engine_of(self.fitted_) == "catboost":
            matrix = matrix.astype(object)
            for column in self.categorical_:
                is_coded = column in self.columns_.categories
                values = [_category(value, is_coded) for value in matrix[:, column]]
                matrix[:, column] = values
        return matrix


def _category(value: Any, is_code: bool) -> Any:
    """Return a category as CatBoost takes it: an integer, or the text of any other value.

    A missing value is -1 if the category is a code, otherwise "nan".
    """
    if is_missing(value):
        return -1 if is_code else "nan"
    is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return int(value) if is_whole else str(value)
