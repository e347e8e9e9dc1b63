"""Boosting by an engine: what LightGBM and XGBoost have in common.

An engine asks for gradient and hessian of its current scores, grows a tree, and asks again. A
new engine is a :class:`BoostedTrees` with the methods listed there; continuation, early
stopping, checks and the forms of output are here.
"""

from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from treerank.checks import check_choice, check_count
from treerank.feature_parts.engines.fixed_point import FixedPointDerivatives
from treerank.feature_parts.engines.tree_outputs import OUTPUTS, LeafTable
from treerank.feature_parts.rows import as_rows
from treerank.numerics.threads import kernel_threads, threads_allowed
from treerank.progress import Progress

IMPORTANCE_TYPES = ("gain", "split")
_STATE = ("n_features_in_", "n_scores_", "best_iteration_", "evals_result_")


class BoostedTrees(BaseEstimator):
    """A sum of trees, each a Newton step down the objective.

    An engine brings ``grow``, ``predict_scores``, ``predict_nodes``, ``leaf_values``,
    ``importance``, ``dump_booster``, ``load_booster``, ``count_iterations``,
    ``count_features`` and ``count_scores``.
    """

    #: Entries of X that keep a thread busy for longer than threads wait for each other.
    cells_per_thread: ClassVar[int] = 2**16
    #: Documents below which an objective gets one thread, if that is the engine's to say.
    few_documents: ClassVar[int | None] = None

    _leaf_table: LeafTable | None
    evals_result_: dict

    def fit(self, X, objective, *, validation=None):
        """Grow the trees; row ``i`` of ``X`` earns score ``i`` of ``objective``.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_documents, n_features), or Rows
            Features; missing values are NaN.
        objective : Objective
            Asked for ``derivatives(scores, iteration=t)``; ``t`` counts from the first tree ever,
            those of an earlier fit included.
        validation : tuple (X, metric), default=None
            ``metric(scores)``, higher better, is taken after every iteration.
        """
        rows = self._as_rows(X)
        self._check_parameters(validation)
        earlier = self._earlier_booster(rows.shape[1], objective.n_outputs)
        start = 0 if earlier is None else self.count_iterations(earlier, objective.n_outputs)
        n_new = self._count_new(start)
        if n_new == 0:
            return self
        metric, rounds = validation and validation[1], self.early_stopping_rounds
        progress = Progress(metric, rounds, start, start + n_new)
        validation_rows = validation and self._rows_of_width(validation[0], rows.shape[1])
        derivatives = FixedPointDerivatives(objective, len(rows), start)
        seed = check_random_state(self.random_state).randint(2**30)
        with kernel_threads(self.n_threads, few_documents=self.few_documents):
            booster = self.grow(rows, derivatives, n_new, earlier, validation_rows, progress, seed)
        return self._remember(booster, rows.shape[1], objective.n_outputs, progress)

    def transform(self, X):
        """Return f(x), of shape (n_documents, n_outputs_), in the form ``output`` names."""
        check_is_fitted(self)
        rows = self._rows_of_width(X, self.n_features_in_)
        if len(rows) == 0:
            return np.zeros((0, self.n_outputs_))
        return OUTPUTS[self.output].transform(self, rows.array())

    @property
    def n_outputs_(self):
        """Columns of :meth:`transform`."""
        check_is_fitted(self)
        return OUTPUTS[self.output].width(self)

    @property
    def feature_importances_(self):
        """Share of each feature in the gain, or in the splits, by ``importance_type``."""
        check_is_fitted(self)
        importance = np.asarray(self.importance(self.importance_type), dtype=np.float64)
        return importance / max(importance.sum(), np.finfo(np.float64).tiny)

    def n_threads_for(self, rows):
        """Return the threads that grow trees: with ``n_jobs=None`` those that rows keep busy."""
        busy = max(1, rows.shape[0] * rows.shape[1] // self.cells_per_thread)
        return self.n_threads if self.n_jobs is not None else min(busy, self.n_threads)

    @property
    def n_threads(self):
        """Most threads of engine and kernels; ``n_jobs=None`` is all that the process may use."""
        if self.n_jobs is None or self.n_jobs < 0:
            return max(1, threads_allowed() + 1 + (-1 if self.n_jobs is None else self.n_jobs))
        return self.n_jobs

    def leaf_table(self):
        """Return the values of all leaves."""
        if self._leaf_table is None:
            self._leaf_table = LeafTable.from_trees(self.leaf_values())
        return self._leaf_table

    def get_state(self):
        """Return the fitted state: the engine's own model and a few numbers."""
        check_is_fitted(self)
        model = self.dump_booster(self.booster_)
        return {"model": model, **{name: getattr(self, name) for name in _STATE}}

    def set_state(self, state):
        """Restore what :meth:`get_state` returned."""
        for name in _STATE:
            setattr(self, name, state[name])
        self.booster_, self._leaf_table = self.load_booster(state["model"]), None
        return self

    def __sklearn_is_fitted__(self):
        """Tell scikit-learn whether there are trees."""
        return hasattr(self, "booster_")

    def __sklearn_clone__(self):
        """Clone, but do not unfit ``init_model``: its trees are what it is there for."""
        params = self.get_params(deep=False)
        kept = {"init_model": params.pop("init_model")}
        return type(self)(**kept, **{name: clone(v, safe=False) for name, v in params.items()})

    def _continues_itself(self):
        return self.warm_start and hasattr(self, "booster_")

    def _check_parameters(self, validation):
        check_count("n_estimators", self.n_estimators)
        if self.n_jobs is not None and (not isinstance(self.n_jobs, Integral) or self.n_jobs == 0):
            raise ValueError(f"n_jobs must be None or a whole number but 0; got {self.n_jobs!r}.")
        check_choice("output", self.output, OUTPUTS)
        check_choice("importance_type", self.importance_type, IMPORTANCE_TYPES)
        if self.early_stopping_rounds is not None:
            check_count("early_stopping_rounds", self.early_stopping_rounds)
            if validation is None:
                raise ValueError(
                    "validation must be given where early_stopping_rounds is; got None. "
                    "A ranker takes it as eval_set."
                )

    def _count_new(self, start):
        """Count iterations to do: ``warm_start`` grows up to ``n_estimators``, as elsewhere."""
        n_new = self.n_estimators - (start if self._continues_itself() else 0)
        if n_new < 0:
            raise ValueError(
                f"n_estimators must be at least {start}, the iterations done already, with "
                f"warm_start=True; got {self.n_estimators!r}."
            )
        return n_new

    def _earlier_booster(self, n_features, n_scores):
        """Return the booster to continue, if any, once it is known to fit the data."""
        if self._continues_itself():
            earlier, name = self, "the earlier fit"
        elif self.init_model is not None:
            earlier, name = self.init_model, "init_model"
        else:
            return None
        if isinstance(earlier, BoostedTrees):
            check_is_fitted(earlier)
        booster = self.load_booster(getattr(earlier, "booster_", earlier))
        if self.count_features(booster) != n_features:
            raise ValueError(
                f"{name} must have as many features as X, {n_features}; "
                f"got {self.count_features(booster)}."
            )
        if self.count_scores(booster) != n_scores:
            raise ValueError(
                f"{name} must have as many outputs as the objective, {n_scores}; "
                f"got {self.count_scores(booster)}."
            )
        return booster

    def _as_rows(self, X):
        return as_rows(X, sparse=get_tags(self).input_tags.sparse)

    def _rows_of_width(self, X, n_features):
        rows = self._as_rows(X)
        if rows.shape[1] != n_features:
            raise ValueError(f"X must have {n_features} features; got {rows.shape[1]}.")
        return rows

    def _remember(self, booster, n_features, n_scores, progress):
        history = progress.history()
        if self._continues_itself() and history:
            earlier = self.evals_result_.get("validation", {}).get(progress.name, [])
            history = {"validation": {progress.name: earlier + progress.values}}
        self.booster_, self._leaf_table, self.evals_result_ = booster, None, history
        self.n_features_in_, self.n_scores_ = n_features, n_scores
        self.best_iteration_ = self.count_iterations(booster, n_scores)
        return self


def check_free(engine_params, taken):
    """Refuse engine parameters that have an argument of their own or that we must set."""
    for name in engine_params:
        if name in taken:
            raise ValueError(
                f"engine_params must not hold what has an argument of its own or is set by the "
                f"objective; got {name!r}."
            )
