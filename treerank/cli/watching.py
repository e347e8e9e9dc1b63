"""Watching a fit: a feature part between the ranker and the real one that counts iterations.

``fit`` hands the real part a watched objective and a watched metric and returns the real part,
so nothing of this is left in the fitted ranker.
"""

from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.utils import get_tags


@dataclass(frozen=True)
class WatchedObjective:
    """An objective that says how often it was asked for derivatives."""

    objective: Any
    watcher: Any

    @property
    def groups(self):
        """Queries of the objective."""
        return self.objective.groups

    @property
    def n_outputs(self):
        """Columns of the scores."""
        return self.objective.n_outputs

    def __call__(self, scores, *, iteration=0):
        """Return value, gradient and hessian."""
        return self.objective(scores, iteration=iteration)

    def derivatives(self, scores, *, iteration=0):
        """Return gradient and hessian; after ``iteration`` iterations, that is."""
        self.watcher.after(iteration)
        return self.objective.derivatives(scores, iteration=iteration)

    def restricted_to(self, queries):
        """Return the part of the given queries, unwatched."""
        return self.objective.restricted_to(queries)


@dataclass(frozen=True)
class WatchedMetric:
    """A metric that tells its values."""

    metric: Any
    watcher: Any

    @property
    def name(self):
        """Name of the metric."""
        return self.metric.name

    def __call__(self, scores):
        """Return the value."""
        value = self.metric(scores)
        self.watcher.note = f"{self.name} {value:.4f}"
        return value


class WatchedPart:
    """A feature part whose fit is watched.

    Parameters
    ----------
    part : feature part
        The real one; fitted in a copy.
    show : callable
        Told the number of iterations done, and the last value of the metric as text.
    """

    def __init__(self, part, show):
        self.part, self.show = part, show
        self.note = ""

    def after(self, iterations):
        """Show that so many iterations are done."""
        self.show(iterations, self.note)

    def fit(self, X, objective, *, validation=None):
        """Fit and return a copy of the real part."""
        if validation is not None:
            validation = validation[0], WatchedMetric(validation[1], self)
        part = clone(self.part).fit(X, WatchedObjective(objective, self), validation=validation)
        self.evals_result_ = getattr(part, "evals_result_", {})
        self.best_iteration_ = getattr(part, "best_iteration_", None)
        self.after(self.best_iteration_)
        return part

    def transform(self, X):
        """Refuse: only the part that ``fit`` returns is fitted."""
        raise NotImplementedError

    def get_params(self, deep=True):
        """Return nothing that the ranker could set."""
        del deep
        return {}

    def __sklearn_tags__(self):
        """Read what the real part reads."""
        return get_tags(self.part)

    def __sklearn_clone__(self):
        """Stay the one that is watched."""
        return self


def fit_watched(ranker, part, show, X, y, qid, *, eval_set=None):
    """Fit a ranker with the given feature part, showing each iteration."""
    ranker.set_params(feature_part=WatchedPart(part, show))
    ranker.fit(X, y, qid, eval_set=eval_set)
    return ranker.set_params(feature_part=part)
