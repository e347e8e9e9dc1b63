"""Metrics by name: ``"ndcg@10"``, ``"map"``, ``"mrr"``, ``"p@5"``, ``"err@20"``.

To add a metric, list it in ``METRICS``: everything that takes a metric, and the tests that hold
for all metrics, find it there. A user's function of labels, scores and query ids is used like a
metric, as :class:`FunctionMetric`. For scikit-learn's ``scoring=``, a metric is a
:class:`RankingScorer`, which passes the query ids on. To reproduce the numbers of another script,
list the settings that do so in ``CONVENTIONS``.
"""

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import MetadataRequest

from treerank.checks import (
    check_choice,
    check_column,
    check_signature,
    closest,
    quote,
    refuse_other_order,
)
from treerank.documents.ids import check_ids
from treerank.documents.labels import refuse_several_labels
from treerank.documents.queries import ByRow, Queries, QueryGroups
from treerank.documents.training_queries import overlap_with_training, warn_of_cut_queries
from treerank.metrics.all_relevant import OF_ALL
from treerank.metrics.base import JUDGED_ALONE, Metric, refuse_estimator
from treerank.metrics.graded_metrics import NDCG, ExpectedReciprocalRank, RankBiasedPrecision
from treerank.metrics.judged import Judged
from treerank.metrics.pairwise_accuracy import PairwiseAccuracy
from treerank.metrics.threshold_metrics import (
    AveragePrecision,
    BinaryPreference,
    Precision,
    Recall,
    ReciprocalRank,
    Success,
    ThresholdMetric,
)
from treerank.parameters import PlainSignature, Rule, check_arguments
from treerank.spelling import spelled


@dataclass(frozen=True)
class FunctionMetric:
    """A user's function ``f(y, scores, qid) -> float`` with the methods of a metric.

    Parameters
    ----------
    function : callable
        Higher is better. It gets arrays of the judged documents alone, whose label is not NaN:
        their labels, scores and query ids. ``qid`` is None where the caller passed none. For values
        by query, as in a comparison, it is called once for each query, with its documents alone. A
        query for which it is NaN is then left out, as by rankers that optimize it query by query.

    Examples
    --------
    >>> def first_label(y, scores, qid=None):
    ...     return y[np.argmax(scores)]
    >>> metric = FunctionMetric(first_label)
    >>> metric.name, metric([0, 1, 2], [0.3, 0.2, 0.1])
    ('first_label', 0.0)
    """

    function: Callable[[Any, Any, Any], float]

    def __post_init__(self) -> None:
        """Check the arguments of the function before anything is trained."""
        check_signature("metric", self.function, "y", "scores", "qid")

    @property
    def name(self) -> str:
        """Name of the function."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, y: ArrayLike, scores: ArrayLike, qid: ByRow = None) -> float:
        """Return the value of the function for the judged documents."""
        refuse_estimator(self.name, y)
        refuse_other_order({"y": y, "scores": scores, "qid": qid})
        labels = check_column("y", y, some_unjudged=True, or_table=True)
        scores = check_column("scores", scores, len(labels))
        queries = None if qid is None else check_ids("qid", qid, len(labels))
        return _value_of(self, labels, scores, queries)

    def on_scale(self, max_label: float) -> "FunctionMetric":
        """Return the metric unchanged: a function computes gains of its own."""
        return self

    @check_arguments
    def per_query(self, y: ArrayLike, scores: ArrayLike, qid: Queries = None) -> np.ndarray:
        """Return the value of the function on each query alone; NaN if no document is judged."""
        return _prepared(
            self, check_column("y", y, some_unjudged=True, or_table=True), qid
        ).per_query(scores)

    @check_arguments
    def prepared(self, y: ArrayLike, qid: Queries = None) -> "PreparedFunction":
        """Return a :class:`PreparedFunction`, which maps scores to the value of the function.

        Labels must be finite: leave unjudged documents (NaN) out of all columns.
        """
        return _prepared(self, check_column("y", y, advice=JUDGED_ALONE, or_table=True), qid)


@dataclass(frozen=True, eq=False)
class PreparedFunction:
    """A function metric with the labels and queries of data: ``prepared(scores)`` is a float.

    Attributes
    ----------
    metric : FunctionMetric
        The function.
    y : ndarray of shape (n_documents,)
        Labels.
    groups : QueryGroups
        Queries of the documents.
    qid : ndarray of shape (n_documents,) or None
        Query ids as the function gets them, which are checked once and not at every call.
    """

    metric: FunctionMetric
    y: np.ndarray
    groups: QueryGroups
    qid: np.ndarray | None

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self.metric.name

    def __call__(self, scores: ArrayLike) -> float:
        """Return the value of the function."""
        scores = check_column("scores", scores, len(self.y))
        return _value_of(self.metric, self.y, scores, self.qid)

    def per_query(self, scores: ArrayLike) -> np.ndarray:
        """Return the function's value on each query alone, in the order of the groups.

        It is NaN if no document of the query is judged.
        """
        scores = check_column("scores", scores, len(self.y))
        values = (
            np.nan
            if np.isnan(self.y[rows]).all()
            else _value_of(
                self.metric,
                self.y[rows],
                scores[rows],
                None if self.qid is None else self.qid[rows],
            )
            for rows in self.groups.rows
        )
        return np.array([*values], dtype=np.float64)


def _prepared(metric: FunctionMetric, y: np.ndarray, qid: Queries) -> PreparedFunction:
    """Return a function metric with checked labels, of which some may be NaN, and queries."""
    groups = QueryGroups.from_qid(qid, len(y))
    return PreparedFunction(metric, y, groups, _ids_by_row(qid, groups))


def _ids_by_row(qid: Queries, groups: QueryGroups) -> np.ndarray | None:
    """Return the query id of each row as ``score`` gives it to a function.

    Groups without ids are a single query, which is None as the caller's ``qid`` was, or several
    that have numbers alone.
    """
    if not isinstance(qid, QueryGroups):
        return None if qid is None else check_ids("qid", qid, groups.n_documents)
    if qid.ids is None:
        return qid.codes if qid.n_queries > 1 else None
    return check_ids("qid", [*qid.ids])[qid.codes]


def _value_of(
    metric: FunctionMetric, y: np.ndarray, scores: np.ndarray, qid: np.ndarray | None
) -> float:
    """Return the value of the function for the judged documents; refuse one that is no number."""
    judged = ~np.isnan(y)
    if not judged.all():
        y, scores, qid = y[judged], scores[judged], None if qid is None else qid[judged]
    value = metric.function(y, scores, qid)
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"metric {quote(metric.name)} must return one number, of which higher is better; got "
            f"{quote(value)}."
        ) from error


METRICS: dict[str, Metric] = {
    "ndcg": NDCG(),
    "map": AveragePrecision(),
    "mrr": ReciprocalRank(),
    "p": Precision(),
    "err": ExpectedReciprocalRank(),
    "pairwise_accuracy": PairwiseAccuracy(),
    "recall": Recall(),
    "rbp": RankBiasedPrecision(),
    "success": Success(),
    "bpref": BinaryPreference(),
}
#: Shares that are reported beside metrics, and do not measure the quality of a ranking.
BESIDE: dict[str, Metric] = {"judged": Judged()}
#: Names of metrics in other programs, in lower case, by their names here.
_SYNONYMS = {
    "map": ("ap", "average_precision", "mean_average_precision"),
    "mrr": ("mean_reciprocal_rank", "reciprocal_rank", "recip_rank", "rr"),
    "p": ("pre", "prec", "precision", "precisionat"),
    "pairwise_accuracy": ("auc", "mean_auc", "roc_auc"),
    "recall": ("r", "recallat"),
    "success": ("hit", "hit_rate", "hitrate", "hits", "hr"),
}
_NAME_OF = {synonym: name for name, synonyms in _SYNONYMS.items() for synonym in synonyms}


@check_arguments
def get_metric(metric: str | Callable[..., float]) -> Metric | FunctionMetric:
    """Return a metric by its name, or turn a function of yours into a metric.

    Parameters
    ----------
    metric : str, Metric or callable
        A name in ``METRICS``, or "judged", with settings in brackets and ``@k`` for a cutoff; or a
        metric, returned unchanged; or a function ``f(y, scores, qid) -> float``, higher is better.

    Examples
    --------
    >>> get_metric("map(threshold=2)@5")
    AveragePrecision(k=5, ties='average', no_relevant='exclude', threshold=2, n_relevant=None)
    >>> get_metric("map")([0, 1], [0.2, 0.1])
    0.5
    """
    if isinstance(metric, Metric | FunctionMetric):
        return metric
    if callable(metric) and not isinstance(metric, type):
        return FunctionMetric(metric)
    if not isinstance(metric, str):
        raise TypeError(f"metric must be a name, a Metric or callable; got {quote(metric)}.")
    bare, settings = _settings_of(metric)
    stem, at, cutoff = bare.partition("@")
    named = METRICS | BESIDE
    # Longer numbers, and digits of other alphabets, are no cutoff.
    is_cut = re.fullmatch("[0-9]{1,18}", cutoff)
    if stem.removesuffix(OF_ALL) in named and stem not in named:
        of_all = type(named[stem.removesuffix(OF_ALL)]).__name__
        raise ValueError(
            "metric must be a metric, not its name, if it counts relevant documents that are not "
            f"among the rows; got {quote(metric)}. A metric's name cannot hold their number: write "
            f"{of_all}(10, n_relevant=...)."
        )
    if stem not in named or (at and not is_cut):
        names = ", ".join(named)
        # XGBoost ends the name of a metric that is 0 without a relevant document in a minus.
        written, zero = bare.removesuffix("-"), "(no_relevant=0.0)" if bare[-1:] == "-" else ""
        # ndcg10, ndcg_10, ndcg_at_10 and CatBoost's NDCG:top=10 are ndcg@10: without its cutoff it
        # would be another metric.
        cuts = "(.*?[^0-9_.])(?:@|:top=|(?:_?at)?_?)([0-9]{1,18})(?:;.*)?"
        run_on = re.fullmatch(cuts, written)
        word, cut = run_on.groups() if run_on else (written.partition("@")[0], "")
        synonym = _NAME_OF.get(word.lower())
        question = f" Did you mean '{synonym}'?" if synonym else closest(word, named)
        meant: Any = named.get(question.partition("'")[2].rpartition("'")[0])
        ending = zero + (f"@{cut}" if cut and meant and meant.has_cutoff else "")
        suggestion = question.replace("'?", f"{ending}'?") if stem not in named or zero else ""
        raise ValueError(
            f"metric must be one of {names}, or one with @k; got {quote(metric)}.{suggestion}"
        )
    settings |= {"k": int(cutoff)} if at else {}
    try:
        return replace(named[stem], **settings) if settings else named[stem]
    except TypeError as error:
        allowed = [field.name for field in fields(named[stem])]
        raise ValueError(
            f"metric must have settings among {allowed}; got {quote(metric)}."
        ) from error


def metric_with(
    metric: str | Callable[..., float], settings: Mapping[str, Any]
) -> Metric | FunctionMetric:
    """Return the metric of :func:`get_metric`, with ``settings`` that its name leaves at defaults.

    Settings that the metric does not have are ignored. A metric that is no name keeps its own.

    Examples
    --------
    >>> settings = {"gain": "linear", "threshold": 2}
    >>> [metric_with(name, settings).name for name in ("ndcg@5", "map", "map(threshold=3)")]
    ["ndcg(gain='linear')@5", 'map(threshold=2)', 'map(threshold=3)']
    >>> metric_with(NDCG(5), settings).name
    'ndcg@5'
    """
    resolved = get_metric(metric)
    if not isinstance(metric, str) or not isinstance(resolved, Metric):
        return resolved
    open_settings = {field.name for field in fields(resolved)} - {*_settings_of(metric)[1]}
    return replace(resolved, **{n: value for n, value in settings.items() if n in open_settings})


def _settings_of(metric: str) -> tuple[str, dict[str, Any]]:
    """Return ``(name and cutoff, settings)`` of a name such as ``"ndcg(gain='linear')@5"``.

    The settings are a dict, empty without brackets. Refuses anything in them but ``name=literal``.

    Examples
    --------
    >>> _settings_of("ndcg(gain='linear')@5")
    ('ndcg@5', {'gain': 'linear'})
    """
    match = re.fullmatch(r"(\w+)\((.*)\)(@[^@]*)?", metric)
    if match is None:
        return metric, {}
    try:
        call: Any = ast.parse(f"metric({match[2]})", mode="eval").body
        settings = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
        if call.args or "None" in settings or "k" in settings:
            raise ValueError("settings have names")
    except (AttributeError, SyntaxError, ValueError) as error:
        raise ValueError(
            "metric must be a name, settings and a cutoff, as in \"ndcg(gain='linear')@5\"; got "
            f"{quote(metric)}."
        ) from error
    return match[1] + (match[3] or ""), settings


#: A metric by name, a metric, or a function that is used like one.
AnyMetric = Annotated[str | Callable[..., float], Rule(lambda _, metric: get_metric(metric))]
#: One metric, or several.
Metrics = str | Callable[..., float] | Iterable[str | Callable[..., float]]


def as_metrics(metrics: Metrics) -> list[Any]:
    """Return metrics as a list; a single one is a list of one.

    Examples
    --------
    >>> as_metrics("map"), as_metrics(("map", "mrr"))
    (['map'], ['map', 'mrr'])
    """
    if isinstance(metrics, str | type) or not isinstance(metrics, Iterable):
        return [metrics]
    return list(metrics)


def refuse_equal_names(argument: str, metrics: Iterable[Metric | FunctionMetric]) -> None:
    """Refuse two metrics of one name, by which values are kept.

    Examples
    --------
    >>> refuse_equal_names("metrics", [get_metric("map"), get_metric("map(threshold=1)")])
    Traceback (most recent call last):
    ...
    ValueError: metrics must have different names; got 'map' twice.
    """
    names: set[str] = set()
    for metric in metrics:
        if metric.name in names:
            advice = "" if isinstance(metric, Metric) else " Give functions different names."
            raise ValueError(
                f"{argument} must have different names; got {quote(metric.name)} twice.{advice}"
            )
        names.add(metric.name)


@dataclass(frozen=True)
class Convention:
    """Settings of metrics that reproduce another program's scores.

    Attributes
    ----------
    summary : str
        Description for the note below a table; empty if metrics describe themselves.
    policies : dict from str to dict, or None
        Settings that differ from the defaults, by stem of the metric; ``None`` changes nothing.
    """

    summary: str = ""
    policies: dict[str, dict[str, Any]] | None = None


_LETOR4: dict[str, Any] = {"ties": "stable", "no_relevant": 0.0}

CONVENTIONS: dict[str, Convention] = {
    "treerank": Convention(),
    "letor4": Convention(
        "as LETOR's Eval-Score-4.0.pl: discounts 1, 1, 1/log2(3), ...; tied scores in the order "
        "of the rows; queries without a relevant document count 0, and so do queries of fewer than "
        "k documents in NDCG@k",
        {
            "ndcg": _LETOR4 | {"discount": "delayed_log2", "short_lists": "zero"},
            "map": _LETOR4,
            "p": _LETOR4,
        },
    ),
}
#: Descriptions of the default settings; other settings are part of a metric's name.
_DESCRIPTIONS: list[tuple[str, tuple[type, ...], dict[str, Any]]] = [
    (
        "NDCG with gains 2^y - 1 and discounts 1/log2(i + 1)",
        (NDCG,),
        {"gain": "exponential", "discount": "log2"},
    ),
    ("ERR with gains 2^y - 1", (ExpectedReciprocalRank,), {"gain": "exponential"}),
    ("labels of at least 1 count as relevant", (ThresholdMetric,), {"threshold": 1}),
    ("tied scores averaged over their orders", (Metric,), {"ties": "average"}),
    ("queries without a relevant document excluded", (Metric,), {"no_relevant": "exclude"}),
]


def describe_metrics(
    metrics: Iterable[Metric | FunctionMetric], convention: str = "treerank"
) -> str:
    """Return a sentence on the rules by which metrics score, for the note below a table.

    It also has the rules of a convention other than "treerank". Settings that are part of a
    metric's name are not repeated.

    Examples
    --------
    >>> describe_metrics([NDCG(k=5, gain="linear")])
    'tied scores averaged over their orders; queries without a relevant document excluded'
    """
    if CONVENTIONS[convention].summary:
        return CONVENTIONS[convention].summary
    described = [metric for metric in metrics if isinstance(metric, Metric)]
    return "; ".join(
        text
        for text, classes, settings in _DESCRIPTIONS
        if any(
            isinstance(metric, classes)
            and all(getattr(metric, name) == value for name, value in settings.items())
            for metric in described
        )
    )


@check_arguments
def with_convention(
    metric: str | Callable[..., float], convention: str = "treerank"
) -> Metric | FunctionMetric:
    """Return a metric with the settings of a convention, such as that of LETOR 4.0.

    ``"treerank"`` leaves the metric as it is. ``"letor4"`` gives the numbers of the official script
    of LETOR 4.0, digit for digit; it supports NDCG, MAP and precision.

    Examples
    --------
    >>> y, scores = [0, 1, 2], [0.3, 0.2, 0.1]
    >>> with_convention("ndcg@2")(y, scores), with_convention("ndcg@2", "letor4")(y, scores)
    (0.17376534287144002, 0.25)
    """
    check_choice("convention", convention, CONVENTIONS)
    metric, policies = get_metric(metric), CONVENTIONS[convention].policies
    if policies is None:
        return metric
    if not isinstance(metric, Metric) or metric.stem not in policies:
        raise ValueError(
            f"metric must be one of {list(policies)} for {spelled('convention', convention)}; "
            f"got {quote(metric.name)}."
        )
    return replace(metric, **policies[metric.stem])


@dataclass(frozen=True)
class RankingScorer:
    """A metric of ``estimator.predict(X)``, for ``cross_validate`` and hyperparameter searches.

    With metadata routing enabled, ``qid`` is requested by default. Without metadata routing
    scikit-learn passes no ``qid``, and all documents are ranked as one query.

    Parameters
    ----------
    metric : str, Metric or callable, default="ndcg@10"
        See :func:`~treerank.metrics.registry.get_metric`.
    qid : array-like of shape (n_documents,), default=None
        Query ids of the rows, for tools of scikit-learn that pass no ``qid`` and neither select nor
        reorder the rows, such as ``permutation_importance``.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y, qid = [[0.0], [1.0], [0.0], [1.0]], [0, 1, 0, 2], ["a", "a", "b", "b"]
    >>> scorer = RankingScorer("ndcg@10")
    >>> scorer(LinearRegression().fit(X, y), X, y, qid=qid)
    1.0
    """

    __signature__ = PlainSignature()

    metric: str | Callable[..., float] = "ndcg@10"
    qid: ByRow = None

    def __post_init__(self) -> None:
        """Refuse an unknown metric now, not in the middle of a search."""
        get_metric(self.metric)

    def __call__(self, estimator: Any, X: Any, y: ArrayLike, *, qid: ByRow = None) -> float:
        """Return the metric of the estimator's scores; higher is better."""
        refuse_several_labels(
            y,
            where=" for a RankingScorer",
            advice="Without scoring=, the ranker's own score is the weighted mean of its labels: "
            f"TreeDirectRanker(metric={quote(self.metric)}).",
        )
        qid = self.qid if qid is None else qid
        value = get_metric(self.metric)(y, estimator.predict(X), qid)
        overlap = overlap_with_training(estimator, X, y, qid)
        if overlap is not None:
            warn_of_cut_queries(overlap)
        return value

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the request for ``qid``; scikit-learn calls this."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="qid", alias=True)
        return request
