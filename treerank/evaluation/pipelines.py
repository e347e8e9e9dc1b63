"""Pipelines in a comparison: the last step gets the queries and the transformed validation set.

scikit-learn's pipelines route metadata, but the documents of a validation set would reach the last
step untransformed.
"""

from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object

from treerank.evaluation.engine_rankers import EngineRanker, Wrapped, duplicate, needs_groups
from treerank.rankers.ranker import Ranker, may_stop_early


def adapted(ranker: Any) -> Any:
    """Wrap a ranker so that its ``fit`` takes ``qid``, data frames and an ``eval_set``.

    Rankers of LightGBM, XGBoost and CatBoost are wrapped. So are pipelines that end in one of them,
    in a ranker of this package, or in any ranker whose ``fit`` takes ``qid``. Others are returned
    unchanged.

    Examples
    --------
    >>> from lightgbm import LGBMRanker
    >>> adapted(LGBMRanker())
    EngineRanker(ranker=LGBMRanker())
    """
    if isinstance(ranker, Pipeline):
        last = adapted(ranker.steps[-1][1])
        if takes_eval_set(last) or "qid" in signature(getattr(last, "fit", len)).parameters:
            return PipelineRanker(ranker)
    return EngineRanker(ranker) if needs_groups(ranker) else ranker


def takes_eval_set(ranker: Any) -> bool:
    """Return whether an adapted ranker takes a validation set."""
    if isinstance(ranker, PipelineRanker):
        return takes_eval_set(adapted(ranker.pipeline.steps[-1][1]))
    return isinstance(ranker, Ranker | EngineRanker)


def stops(ranker: Any) -> bool:
    """Tell whether a fitted ranker used its validation set for early stopping.

    Rankers of this package do, unless they learn in one step, all their ``early_stopping_rounds``
    are None, or their feature part keeps no best iteration, as a linear model or an ensemble. A
    nested ranker does if that of some stage does.
    """
    if not isinstance(ranker, Ranker):
        return bool(ranker.stops_)
    stages = getattr(ranker, "rankers_", None)
    if stages:
        return any(
            stops(stage) if takes_eval_set(stage) else "eval_set" in signature(stage.fit).parameters
            for stage in stages
        )
    if not may_stop_early(ranker) or getattr(ranker, "best_iteration_", 0) is None:
        return False
    patience = [
        value
        for name, value in ranker.get_params().items()
        if name.split("__")[-1] == "early_stopping_rounds"
    ]
    return not patience or any(value is not None for value in patience)


def takes_qid(ranker: Any) -> bool:
    """Return whether ``fit`` requests ``qid``."""
    return bool(get_routing_for_object(ranker).consumes("fit", {"qid"}))


def request_metadata(ranker: Any) -> Any:
    """Let an estimator request ``qid`` and ``eval_set`` if its ``fit`` takes them, and return it.

    Only rankers of this package take an ``eval_set`` here. The user's own request for ``qid`` is
    kept.
    """
    request = get_routing_for_object(ranker)
    requests = getattr(getattr(request, "fit", None), "requests", {})
    if "qid" in requests and requests["qid"] is None:
        ranker.set_fit_request(qid=True)
    if isinstance(ranker, Ranker):
        ranker.set_fit_request(eval_set=True)
    return ranker


class PipelineRanker(Wrapped):
    """A pipeline that ends in a ranker, with ``fit(X, y, qid, eval_set=)``."""

    __metadata_request__fit: ClassVar = {"qid": True, "eval_set": True}

    def __init__(self, pipeline: Any):
        self.pipeline = pipeline

    def fit(self, X: Any, y: Any, qid: Any, *, eval_set: Any = None) -> Self:
        """Fit a copy of the pipeline; the steps before the last transform the ``eval_set``, too."""
        pipeline = duplicate(self.pipeline)
        self.front_ = pipeline[:-1] if len(pipeline) > 1 else None
        self.ranker_ = request_metadata(adapted(pipeline[-1]))
        if self.front_ is not None:
            metadata = {"qid": qid} if takes_qid(self.front_) else {}
            X = self.front_.fit_transform(X, y, **metadata)
        validation = {}
        if eval_set is not None:
            validation["eval_set"] = (self._transformed(eval_set[0]), *eval_set[1:])
        metadata = {"qid": qid} if takes_qid(self.ranker_) else {}
        self.ranker_.fit(X, y, **metadata, **validation)
        self.stops_ = bool(validation) and stops(self.ranker_)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the scores of the pipeline."""
        return self.ranker_.predict(self._transformed(X))

    def _transformed(self, X: Any) -> Any:
        """Return documents transformed by the steps before the last."""
        return X if self.front_ is None else self.front_.transform(X)
