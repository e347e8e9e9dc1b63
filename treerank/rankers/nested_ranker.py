"""Nested ranker: the documents with the highest scores are ranked again by a second ranker."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from inspect import Parameter, signature
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from treerank.checks import check_counts, has_methods, quote
from treerank.documents.columns import Columns
from treerank.documents.eval_set import EvalSet
from treerank.documents.features import n_features_of
from treerank.documents.reading import Accepts
from treerank.documents.rows import Rows
from treerank.documents.training_queries import TrainingQueries
from treerank.documents.training_set import TrainingSet
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.registry import is_model_for
from treerank.files.states import history, numbers
from treerank.parameters import Rule, Seed
from treerank.progress import Progress
from treerank.rankers.early_stopping import RecordedMetrics
from treerank.rankers.head import Tau
from treerank.rankers.ranker import Ranker
from treerank.rankers.scoring import n_threads_of, scores_of


def _check_rankers(name: str, rankers: Any, sizes: dict[str, int]) -> None:
    """Refuse a value that is no list of fitted rankers of ``sizes["n_features"]`` features."""
    if not isinstance(rankers, list) or not rankers:
        raise ValueError(f"{name} must be a list of rankers.")
    for ranker in rankers:
        if n_features_of(ranker) != sizes["n_features"]:
            raise ValueError(f"{name} must be fitted to {sizes['n_features']} features.")


@estimator
class NestedRanker(Ranker):
    """Rank in stages: each stage reranks the best documents of the stage before.

    The first ranker learns from all documents. Each further one learns from the documents that
    reach its stage, so it learns only the differences between these. A document reaches a stage
    if the ranker before gives it at least a certain score, which ``fit`` sets so that ``sizes``
    documents of an average training query reach the stage. For this, ``fit`` also trains a ranker
    on each half of the queries, which scores the other half: a ranker gives higher scores to the
    documents that it learned from. The last ranker orders the documents that reach its stage, the
    one before it orders those that follow, and so on.

    So the score of a document depends on this document alone.

    An ``eval_set`` is given to rankers whose ``fit`` takes one, so that each may stop early.
    Further stages get the documents of the ``eval_set`` that reach them. The metric, the ``gain``
    and the ``threshold`` of metrics, ``tau`` and ``clicks`` are taken from the ranker, which also
    decides whether matrices may be sparse.

    Parameters
    ----------
    ranker : estimator
        A ranker with ``fit(X, y, qid)`` and ``predict(X)``; each stage fits a copy. A ranker of
        another class than :class:`~treerank.rankers.ranker.Ranker` gets arrays of numbers, without
        the names of columns, and with codes instead of categories. A regressor, whose ``fit`` has
        no ``qid``, becomes a ranker as ``TreeDirectRanker(NewtonBoosting(regressor))``.
    sizes : sequence of int, default=(20,)
        Number of documents of an average query that the second stage ranks, the third and so on;
        falling.
    random_state : int, RandomState instance or None, default=None
        Seed of the rankers that have no seed of their own.

    Attributes
    ----------
    rankers_ : list of estimators
        The fitted ranker of each stage. There are fewer stages if no query has documents of two
        different labels, or given pairs, that reach them.
    thresholds_ : list of float
        Score of the stage before from which a document reaches the second stage, the third and
        so on.
    evals_result_ : dict
        ``{"validation": {name of the metric: [value]}}`` of all stages together, given an
        ``eval_set``. The results of single stages are attributes of ``rankers_``.

    Examples
    --------
    >>> from treerank.feature_parts.trees.lightgbm import LightGBMTrees
    >>> from treerank.rankers.tree_direct_ranker import TreeDirectRanker
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(300, 2)), np.repeat(np.arange(10), 30)
    >>> y = np.digitize(X[:, 0], [0.0, 1.0])
    >>> ranker = NestedRanker(TreeDirectRanker(LightGBMTrees(n_estimators=5)), sizes=(10,))
    >>> len(ranker.fit(X, y, qid).rankers_), ranker.rank(X, qid).max()
    (2, np.int64(30))
    """

    _learned: ClassVar = {
        "rankers_": _check_rankers,
        "thresholds_": numbers,
        "evals_result_": history,
    }

    ranker: Any
    _: KW_ONLY
    sizes: Annotated[Sequence[int], Rule(check_counts, at_least=2)] = (20,)
    random_state: Seed = None

    def _learn(self, data: TrainingSet, held_out: EvalSet | None, seed: int) -> None:
        eval_sets = _StageEvalSets.of(held_out)
        first = _fitted(self._make_ranker(seed), data, eval_sets)
        self.rankers_: list[Any] = [first]
        self.thresholds_: list[float] = []
        n_queries = data.groups.n_queries
        for size in self.sizes:
            scores = self._scores_of_unseen(data, eval_sets, seed)
            lowest_first = np.sort(scores)
            threshold = float(lowest_first[-min(size * n_queries, len(scores))])
            data = data.take(np.flatnonzero(scores >= threshold))
            if not _have_pairs(data).any():
                break
            eval_sets = eval_sets and eval_sets.reaching(self.rankers_[-1], threshold)
            self.rankers_.append(_fitted(self._make_ranker(seed), data, eval_sets))
            self.thresholds_.append(threshold)
        progress = Progress(held_out and held_out.metric, None)
        if held_out is not None:
            progress.measure(scores_of(self, held_out.X))
        self.evals_result_ = progress.history()

    def _scores_of_unseen(self, data, eval_sets, seed):
        """Return scores of documents, each by a ranker trained on the other half of the queries.

        With fewer than two queries that have pairs, it is the ranker of the last stage that scores.
        """
        teaches = _have_pairs(data)
        if teaches.sum() < 2:
            return _predicted(self.rankers_[-1], data.documents)
        half = (np.cumsum(teaches) % 2)[data.groups.codes]
        rows, scores = [np.flatnonzero(half == side) for side in (0, 1)], np.empty(len(half))
        for seen, unseen in (rows, rows[::-1]):
            ranker = _fitted(self._make_ranker(seed), data.take(seen), eval_sets)
            scores[unseen] = _predicted(ranker, data.documents.take(unseen))
        return scores

    def _scores(self, X: Any) -> np.ndarray:
        """Return the last stage that each document reaches, plus its score squashed into (0, 1)."""
        documents = Rows(X, columns=self.columns_)
        result, kept = np.zeros(len(documents)), np.arange(len(documents))
        for stage, ranker in enumerate(self.rankers_):
            if len(kept) == 0:
                break
            scores = _predicted(ranker, documents.take(kept))
            # Squashed into (0, 1): a further stage then adds more than any score could.
            result[kept] = stage + 0.5 + scores / (2 * (1 + np.abs(scores)))
            if stage < len(self.thresholds_):
                kept = kept[scores >= self.thresholds_[stage]]
        return result

    @property
    def metric(self) -> Any:  # type: ignore[override]
        """Metric of the ranker."""
        return self._of_ranker("metric")

    @property
    def gain(self) -> Any:
        """Gain of the ranker, which metrics take, if it has one."""
        return self._of_ranker("gain")

    @property
    def threshold(self) -> Any:
        """Threshold of the ranker, which metrics take, if it has one."""
        return self._of_ranker("threshold")

    @property
    def tau(self) -> Tau:  # type: ignore[override]
        """The ranker's function of the differences of scores."""
        tau: Tau = self._of_ranker("tau")
        return tau

    @property
    def clicks(self) -> Any:
        """The ranker's estimator of relevance from clicks, used once for all stages."""
        return self._of_ranker("clicks")

    @property
    def _accepts(self) -> Accepts:  # type: ignore[override]
        """What the ranker of the first stage accepts, except batches and several labels."""
        is_fitted = "rankers_" in vars(self) and not self._starts_anew
        first: Any = self.rankers_[0] if is_fitted else self.ranker
        accepts: Accepts = _attribute_of(first, "_accepts")
        return replace(accepts, batches=False, several_labels=False)

    @property
    def _given_columns(self) -> Sequence[Columns]:  # type: ignore[override]
        """Columns of the models from which the inner ranker starts."""
        columns: Sequence[Columns] = self._of_ranker("_given_columns")
        return columns

    @property
    def _given_queries(self) -> Sequence[TrainingQueries]:  # type: ignore[override]
        """Queries of the models from which the inner ranker starts."""
        queries: Sequence[TrainingQueries] = self._of_ranker("_given_queries")
        return queries

    @property
    def _resumes(self) -> bool:  # type: ignore[override]
        """Whether fits of the inner ranker go on from a checkpoint."""
        return bool(self._of_ranker("_resumes"))

    @property
    def _n_threads(self) -> int:  # type: ignore[override]
        """Largest number of threads of any ranker of a stage."""
        of_package = [ranker for ranker in self.rankers_ if isinstance(ranker, Ranker)]
        return max(map(n_threads_of, of_package), default=1)

    def _of_ranker(self, name: str) -> Any:
        """Return the attribute ``name`` of the inner ranker, or the default of ``Ranker``."""
        return _attribute_of(self.ranker, name)

    def _make_ranker(self, seed: int) -> Any:
        """Return a new ranker, with a seed wherever it has a parameter for one and no seed.

        Clicks have become labels before a stage sees them.
        """
        ranker = clone(self.ranker)
        if "clicks" in ranker.get_params(deep=False):
            ranker.set_params(clicks=None)
        unset = [name for name, value in ranker.get_params().items() if value is None]
        seeded = [name for name in unset if name.split("__")[-1] == "random_state"]
        return ranker.set_params(**dict.fromkeys(seeded, seed))

    def _check_settings(self) -> None:
        """Refuse wrong settings, and an object that is not a ranker."""
        super()._check_settings()
        sizes = list(self.sizes)
        if sizes != sorted(set(sizes), reverse=True):
            raise ValueError(f"sizes must be falling; got {quote(self.sizes)}.")
        for verb in ("fit", "predict", "get_params"):
            if not has_methods(self.ranker, verb):
                raise TypeError(f"ranker must have {verb}; got {quote(self.ranker)}.")
        if not _takes(self.ranker, "qid"):
            raise TypeError(
                "ranker must have fit(X, y, qid), where qid is the query of each document; got "
                f"{quote(self.ranker)}.{_instead_of(self.ranker)}"
            )


def _attribute_of(ranker: Any, name: str) -> Any:
    """Return the attribute ``name`` of a ranker, or the default of ``Ranker``.

    The default holds for rankers of other packages.
    """
    return getattr(ranker if isinstance(ranker, Ranker) else Ranker, name)


def _instead_of(estimator: Any) -> str:
    """Return advice on what to write instead of an estimator whose ``fit`` takes no queries."""
    if is_model_for("regressor", estimator):
        return f" Write TreeDirectRanker(NewtonBoosting({quote(estimator)})) for a regressor."
    if isinstance(estimator, Pipeline):
        return (
            " Write the steps before its ranker before the NestedRanker, as in "
            "make_pipeline(StandardScaler(), NestedRanker(ranker))."
        )
    if _has_groups(estimator):
        packages = {base.__module__.partition(".")[0] for base in type(estimator).__mro__}
        engines = [name for name in ("lightgbm", "xgboost") if name in packages]
        return "".join(f' Write TreeDirectRanker("{engine}").' for engine in engines)
    return ""


def _takes(ranker, name):
    """Return whether ``ranker.fit`` takes an argument by name, also as one of any others.

    Pipelines and ensembles of regressors take others for their parts, but no ``qid``.
    """
    parameters = signature(ranker.fit).parameters
    if name in parameters or _instead_of(ranker):
        return name in parameters
    return any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values())


def _has_groups(ranker):
    """Return whether ``fit`` is that of LightGBM or XGBoost, whose other arguments are by group.

    A weight is that of a query, and an ``eval_set`` has its queries in an argument of its own.
    """
    return "group" in signature(ranker.fit).parameters


def _have_pairs(data):
    """Return a mask of the queries of ``data`` that have pairs to learn from.

    These are the given pairs, or else pairs of documents with different labels.
    """
    if data.pairs is None:
        return data.groups.with_two_labels(data.y)
    return np.bincount(data.groups.codes[data.pairs.i], minlength=data.groups.n_queries) > 0


@dataclass(frozen=True, eq=False)
class _StageEvalSets:
    """Evaluation sets of one stage: the held-out documents that reach it.

    Attributes
    ----------
    sets : list of EvalSet
        Documents that reach the stage, of each evaluation set that still has a pair.
    metrics : sequence
        Metrics to be recorded, the same at every stage.
    """

    sets: list[EvalSet]
    metrics: Sequence[Any]

    @classmethod
    def of(cls, held_out: EvalSet | None) -> "_StageEvalSets | None":
        """Return the evaluation sets of the first stage: all held-out documents.

        None if nothing is held out, or if no metrics are to be recorded.
        """
        if held_out is None or not isinstance(held_out.metric, RecordedMetrics):
            return None
        return cls(held_out.sets, held_out.metric.metrics)

    def reaching(self, ranker: Any, threshold: float) -> "_StageEvalSets | None":
        """Return the evaluation sets of the next stage.

        Their documents are those that ``ranker`` scores ``threshold`` or more.

        Sets without a pair are left out; None if the first set has none.
        """
        sets = [_reaching(held_out, ranker, threshold) for held_out in self.sets]
        top = [held_out for held_out in sets if held_out is not None]
        return _StageEvalSets(top, self.metrics) if sets[0] is not None else None

    def arguments_of(self, ranker: Any) -> dict[str, Any]:
        """Return ``eval_set`` and ``eval_metric`` as arguments of ``ranker.fit``.

        A ranker of another package gets the first set alone, if its ``fit`` has an ``eval_set``,
        and no metrics.
        """
        names = signature(ranker.fit).parameters
        sets = [
            (_as_read_by(ranker, part.documents), part.y, _queries_for(ranker, part.groups))
            for part in self.sets
        ]
        if not isinstance(ranker, Ranker):
            return {"eval_set": sets[0]} if "eval_set" in names else {}
        return {"eval_set": sets, "eval_metric": list(self.metrics)}


def _fitted(ranker, data, eval_sets):
    """Fit ``ranker`` to the training set of its stage, and return it.

    ``eval_sets`` are the evaluation sets of the stage, or None.
    """
    arguments = {"sample_weight": data.sample_weight, "query_weight": data.query_weight}
    arguments["given_pairs"] = data.pairs and data.pairs.table()
    if eval_sets is not None:
        arguments |= eval_sets.arguments_of(ranker)
    arguments = {name: value for name, value in arguments.items() if value is not None}
    _refuse_others(ranker, arguments)
    X = _as_read_by(ranker, data.documents)
    # As groups, queries have no ids, which the whole ranker remembers and not each stage.
    qid = _queries_for(ranker, data.groups)
    return ranker.fit(X, data.y, qid=qid, **arguments)


def _refuse_others(ranker, arguments):
    """Refuse arguments that ``fit`` of a ranker of another package does not have."""
    for name in arguments:
        if _has_groups(ranker) or not _takes(ranker, name):
            form = " in this form" if _takes(ranker, name) else ""
            raise TypeError(
                f"{name} must be None for {type(ranker).__name__}, whose fit does not take it"
                f"{form}.{_instead_of(ranker)}"
            )


def _queries_for(ranker, groups):
    """Return queries as ``ranker.fit`` takes them.

    A ranker of this package gets groups, others the number of the query of each document.
    """
    return groups if isinstance(ranker, Ranker) else groups.codes


def _as_read_by(ranker, documents):
    """Return documents as ``ranker.fit`` takes them.

    A ranker of this package gets them with their columns, others an array of numbers.
    """
    return documents if isinstance(ranker, Ranker) else documents.array()


def _predicted(ranker, documents):
    """Return the scores of documents by the ranker of a stage."""
    return ranker.predict(_as_read_by(ranker, documents))


def _reaching(held_out, ranker, threshold):
    """Return the held-out documents that ``ranker`` scores ``threshold`` or more.

    None if there is no pair among them.
    """
    reaching = np.flatnonzero(_predicted(ranker, held_out.documents) >= threshold)
    top = held_out.take(reaching) if len(reaching) else None
    return top if top is not None and top.has_pairs else None
