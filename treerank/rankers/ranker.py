"""Ranker: an estimator that learns to score documents.

A ranker checks what the user passes, puts the rows into an order that depends on their content
alone, and lets its subclass learn from them. To add a ranker, derive a class from :class:`Ranker`
with ``_learn`` and ``_scores``, name the attributes that model files keep in ``_learned``, each
with a rule of :mod:`treerank.files.states`, and list the class in :mod:`treerank.registry`. If it
fits a feature part to an objective, derive it from
:class:`~treerank.rankers.direct_ranker.DirectRanker` instead.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.validation import check_is_fitted

from treerank.all_or_nothing import all_or_nothing
from treerank.checks import check_count, check_number, quote, refuse_other_order, warn_user
from treerank.documents.canonical_order import row_hashes
from treerank.documents.columns import (
    Columns,
    check_columns,
    indicator_advice,
    warn_of_new_categories,
)
from treerank.documents.copied_columns import warn_of_copied_columns
from treerank.documents.eval_set import EvalSet, is_share
from treerank.documents.features import (
    check_features,
    feature_names_of,
    set_columns,
    shown_names,
)
from treerank.documents.labels import (
    check_labels,
    check_labels_by_name,
    labels_with_weight,
    split_labels,
    weights_of_labels,
)
from treerank.documents.queries import ByRow, QueryGroups, warn_without_qid
from treerank.documents.ranking_data import Batches
from treerank.documents.reading import (
    documents_of_batches,
    refuse_arrays,
    take_columns,
)
from treerank.documents.rows import Rows
from treerank.documents.training_queries import TrainingQueries, warn_of_copied_queries
from treerank.documents.training_set import TrainingSet, training_set
from treerank.feature_parts.engine_words import missing_attribute
from treerank.feature_parts.estimator import answered
from treerank.files.checkpoint import current_checkpoint
from treerank.files.states import StateRule, array, check_state, unshared
from treerank.objectives.pairs.rules import GivenPairs
from treerank.parameters import Seed, check_arguments
from treerank.progress import (
    Callbacks,
    LearningCurves,
    current_listener,
    listening,
    together,
)
from treerank.rankers.calibration import fit_calibration_slope, scale_of
from treerank.rankers.click_training import (
    Clicks,
    check_saved_propensities,
    relevance_of_clicks,
    restored_propensities,
)
from treerank.rankers.early_stopping import hold_out, hold_out_share, metrics_of
from treerank.rankers.head import AntisymmetricHead, Tau
from treerank.rankers.scored import Scored
from treerank.rankers.scoring import scores_of
from treerank.spelling import spelled


class Ranker(Scored):
    """Base class of rankers: scores of documents, and the rankings and comparisons based on them.

    A subclass has two methods. ``_learn(data, held_out, seed)`` learns from ``data``, a
    :class:`~treerank.documents.training_set.TrainingSet`. ``held_out`` is ``None`` or a
    :class:`~treerank.documents.eval_set.EvalSet`, for early stopping. For ``_scores(X)``, see
    :class:`~treerank.rankers.scoring.Scoring`.

    A subclass declares what it can do by class attributes or properties: ``_accepts``, an
    :class:`~treerank.documents.reading.Accepts`, says which documents it reads; ``_n_threads`` is
    the number of threads of explanations; ``_given_columns`` are the columns of the models from
    which it starts, whose categories keep their codes in ``fit``; and ``_given_queries`` are the
    queries that these models were trained on.

    A subclass may have the parameters below, and ``tau`` and ``clicks``, which are explained at
    :class:`~treerank.rankers.tree_direct_ranker.TreeDirectRanker`. If it lacks them, the defaults
    apply, except that the seed is 0, so all fits to the same rows are equal.

    Parameters
    ----------
    metric : str or Metric, default="ndcg@10"
        Metric that ``score`` measures and early stopping watches on the ``eval_set``: a name, or a
        function ``f(y, scores, qid) -> float`` of your own. Higher is better: negate a loss.
    random_state : int, RandomState instance or None, default=None
        Seed of all random numbers.

    Attributes
    ----------
    head_ : AntisymmetricHead
        The head, which compares two documents.
    calibration_slope_ : float
        Factor from a difference of scores to the log odds of a pair: fitted to the ``eval_set``,
        if there is one, or by ``calibrate``; otherwise the slope of the loss, or 1.
    propensities_ : Propensities of shape (n_positions,) or None
        Position bias: the probability that a position is examined, relative to the first position,
        if ``fit`` got positions. It is NaN for positions without documents. The array has
        ``plot()``.
    training_queries_ : TrainingQueries or None
        Hashes of the ids and of the documents of the training queries, 28 bytes a query for at
        most 65,536 queries. They let ``score`` warn of training queries. None if ``fit`` got
        clicks.
    columns_ : Columns
        Names of the columns, and the categories of categorical columns.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if ``X`` had names.

    Examples
    --------
    >>> class FirstFeature(Ranker):
    ...     def _learn(self, data, held_out, seed):
    ...         self.calibration_slope_ = 2.0
    ...
    ...     def _scores(self, X):
    ...         return X[:, 0]
    >>> X = [[1.0], [3.0], [2.0]]
    >>> FirstFeature().fit(X, [0, 2, 1]).rank(X)
    array([3, 1, 2])
    """

    __metadata_request__fit: ClassVar = {"qid": True, "position": True}

    #: Rules of the fitted attributes of a subclass: plain values, arrays, feature parts, rankers.
    _learned: ClassVar[dict[str, StateRule]] = {}

    tau: Tau = "identity"
    clicks: Clicks = None
    random_state: Seed = None

    #: Columns of models from which the ranker starts: their categories keep their codes.
    _given_columns: Sequence[Columns] = ()
    #: Queries that these models were trained on: the ranker remembers them as its own.
    _given_queries: Sequence[TrainingQueries] = ()
    #: Whether a fit goes on from a checkpoint.
    _resumes: bool = False
    #: Whether a fit is running that takes nothing from the last one: it reads documents anew.
    _starts_anew: bool = False
    #: Whether an ``eval_set`` may change what is learned, not only the calibration.
    _stops_early: ClassVar[bool] = True
    propensities_: np.ndarray | None = None
    evals_result_: Any

    if not TYPE_CHECKING:  # a type checker would take any name
        __getattr__ = missing_attribute

    @answered
    @check_arguments
    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: ByRow = None,
        *,
        sample_weight: ByRow = None,
        query_weight: ByRow = None,
        given_pairs: ArrayLike | None = None,
        position: ByRow = None,
        eval_set: Any = None,
        eval_metric: Any = None,
        callbacks: Callbacks | None = (),
    ) -> Self:
        """Fit the ranker to documents and their relevance.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_documents, n_features)
            Features of the documents. Missing values are NaN. Text and categorical columns are
            encoded. A sparse matrix stays sparse if the ranker reads sparse matrices, and is
            refused otherwise. If the rows do not fit into memory, pass
            :class:`~treerank.documents.ranking_data.Batches`; scores and ranks are in their order.
            The result of a file reader can be unpacked, as in ``fit(*read_parquet(path))``. The
            result of :func:`~treerank.clicks.count_data` replaces ``X``, ``y``, ``qid``,
            ``sample_weight`` and ``position``.
        y : array-like of shape (n_documents,), several labels, or str
            Relevance; higher is better. NaN marks unjudged documents, which are ignored here, in
            ``eval_set`` and by metrics; write 0 for those that are to count as not relevant, if
            others of their query are judged. Several labels, each with its own missing values, are
            an array of shape (n_documents, n_labels) or a mapping from names to columns; rankers
            with the parameter ``label_weights`` take them. A str is the name of a column of ``X``.
        qid : array-like of shape (n_documents,) or str, default=None
            Query of each document, of any dtype and in any order. A str is the name of a column of
            ``X``. ``None`` means that all documents belong to one query.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of each document. The weight of a pair is the product of its two weights. Rows
            with weight 0 are ignored. In a loss over pairs or over single documents, a document
            with weight 2 counts as two copies; in another listwise loss, its weight multiplies its
            term. Elsewhere it is one row: it has one rank if pairs are weighted by ranks, as with
            ``weight="ndcg"``, and counts once towards the minimum number of documents in a leaf.
        query_weight : array-like of shape (n_documents,), default=None
            Weight of the query of each row, the same in all rows of a query.
        given_pairs : array-like of shape (n_pairs, 2 to 4), default=None
            Your own pairs, instead of the parameter ``pairs``. The columns are row i, row j, the
            weight of the pair and the probability that i should rank above j. The last two columns
            may be omitted; they default to 1.
        position : array-like of shape (n_documents,) or str, default=None
            Position at which each document was shown, from 1. Then ``y`` are clicks, 0 or 1, and a
            row is an impression, or as many impressions as its ``sample_weight`` says. Rows of a
            query with equal features are one document. A str is the name of a column of ``X``.
            ``eval_set`` and ``score`` need relevance labels: metrics on clicks favor the ranking
            that was shown.
        eval_set : tuple (X, y) or (X, y, qid), list of them, or float, default=None
            Validation set for early stopping and calibration, which is not trained on. Of several,
            the first decides; the metrics of the others are recorded in ``evals_result_``. A number
            such as 0.2 holds out this share of the queries, which depends on ``random_state`` and
            on their content, and trains on the rest; ``given_pairs`` among the held-out rows are
            then ignored.
        eval_metric : str, Metric or list of them, default=None
            Metrics to record on each ``eval_set``, under different names; higher is better. The
            first one decides when to stop. None is ``metric``.
        callbacks : sequence of callables or None, default=()
            Each is called as ``callback(n_done, n_total, values)`` after every iteration, with the
            latest values of the metrics on the first ``eval_set`` by name. The fit ends if one
            returns True. Stages then go on with the next part, and an ensemble keeps the parts
            whose fits are complete. A fit without iterations, as of a linear model, calls none, and
            warns.

        Returns
        -------
        Ranker
            The ranker itself.
        """
        self._check_settings()
        self._refuse_useless_checkpoint()
        self._starts_anew = not self._continues()
        if isinstance(X, tuple):  # other fits do not wait for this import
            from treerank.clicks.click_data import ClickData

            if isinstance(X, ClickData):
                if any(value is not None for value in (y, qid, sample_weight, position)):
                    raise ValueError("y, qid, sample_weight and position must be None: X has them.")
                X, y, qid, position, sample_weight = X
        callbacks = callbacks or ()
        iterations: list[int] = []
        listener = together(
            [
                *(current_listener(), *callbacks),
                lambda n_done, n_total, values: iterations.append(n_done),
            ]
        )
        seed = seed_of(self)
        if is_share(eval_set) and position is not None:
            raise ValueError(
                "eval_set must be queries with labels, (X, y, qid), if position is given; got "
                f"{quote(eval_set)}. A share of clicks would prefer the ranking that was shown."
            )
        weights = {"sample_weight": sample_weight, "query_weight": query_weight}
        data = self._read_training_set(X, y, qid, position, given_pairs, weights)
        self.propensities_ = None
        if data.position is not None:
            data, self.propensities_ = relevance_of_clicks(data, self.clicks, seed)
        with listening(listener):
            self._fit_training_set(data, eval_set=eval_set, eval_metric=eval_metric, seed=seed)
        adds_to_a_fit = getattr(self, "warm_start", False)  # and warns itself if it adds nothing
        if callbacks and not iterations and not adds_to_a_fit:
            warn_user(
                f"callbacks are not used: {quote(self)} was fitted without iterations after which "
                "they could be called. Leave them out."
            )
        is_stage = isinstance(qid, QueryGroups)  # its NestedRanker records the metrics
        if eval_metric is not None and not is_stage and not getattr(self, "evals_result_", None):
            warn_user(
                f"eval_metric is not recorded: {quote(self)} records no metrics during its fit. "
                "score(X, y, qid) and get_metric(name)(y, ranker.predict(X), qid) measure the "
                "fitted ranker."
            )
        self.__dict__.pop("_starts_anew", None)
        return self

    @answered
    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of the feature part as ``feature_part__name``."""
        ranker: Self = super().set_params(**params)
        return ranker

    def _refuse_categories(self) -> None:
        """Refuse columns of categories if the ranker would take their codes for numbers."""
        if self._accepts.categories or not self.columns_.categories:
            return
        name = shown_names(self)[min(self.columns_.categories)]
        raise ValueError(
            f"X must have no categories for {type(self).__name__}, which would treat their codes "
            f"as numbers; got column {quote(name)}. Use TreeDirectRanker(), or encode the column "
            f"one-hot. {indicator_advice(name, self.columns_.library)}"
        )

    def _refuse_useless_checkpoint(self) -> None:
        """Refuse a fit within ``checkpointing(path)`` if the ranker cannot resume."""
        if current_checkpoint() is not None and not self._resumes:
            raise ValueError(
                f"checkpointing must be of fits of boosted trees; got {quote(self)}, whose fits "
                "start anew. Fit it outside of checkpointing(path)."
            )

    def _read_training_set(
        self, X: Any, y: Any, qid: Any, position: Any, given_pairs: Any, weights: dict[str, Any]
    ) -> TrainingSet:
        """Check the arguments of ``fit``, and return them as a training set, in training order.

        ``weights`` are ``sample_weight`` and ``query_weight`` by name.
        """
        reset, earlier = not self._continues(), self._given_columns
        if isinstance(X, Batches):
            refuse_arrays(y, qid, position, given_pairs, *weights.values())
            X, y, qid = documents_of_batches(self, X, reset=reset, earlier=earlier)
        else:
            refuse_other_order({"X": X, "y": y, **weights})
            X, (y, qid, position) = take_columns(X, y=y, qid=qid, position=position)
        labels = self._labels_of(y, given_pairs)
        self._check_position(position, labels, given_pairs)
        in_batches = getattr(self, "warm_start", False)
        labels, label_weights = labels_with_weight(
            labels, self.label_weights, in_batches=in_batches
        )
        y = y if labels is None else next(iter(labels.values()))
        y, table = check_labels(y), X
        X = check_features(self, X, reset=reset, earlier=earlier)
        if not reset:
            warn_of_new_categories(self.columns_, table)
        y = check_labels(y, X.shape[0])
        self._refuse_categories()
        by_row = {"position": position, **weights}
        if reset:
            further_labels = {f"y[{n!r}]": values for n, values in [*(labels or {}).items()][1:]}
            warn_of_copied_columns(self, X, {"y": y, "qid": qid, **by_row, **further_labels})
        documents = Rows(X, columns=self.columns_)
        pairs = None
        if given_pairs is not None:
            pairs = GivenPairs.from_table(given_pairs, QueryGroups.from_qid(qid, len(y)))
            _tell_of_unlabeled(pairs, y)
        data = training_set(
            documents, y, qid, pairs=pairs, labels=labels, label_weights=label_weights, **by_row
        )
        warn_without_qid(qid, len(data.y))
        return data

    def _fit_training_set(
        self,
        data: TrainingSet,
        *,
        eval_set: Any,
        seed: int,
        eval_metric: Any = None,
        earlier: TrainingQueries | None = None,
    ) -> Self:
        """Fit to a training set, drawing all seeds from one.

        ``eval_set`` is the argument of ``fit``, or an ``EvalSet``. The seed also decides which
        queries a share holds out. ``earlier`` are the training queries of the model from which this
        fit starts.
        """
        if not self._continues():
            set_columns(self, data.documents.columns, data.documents.shape[1])
            self.head_ = AntisymmetricHead(np.ones(1), self.tau)
            self.calibration_slope_, self._relevance_scale = 1.0, None
        self._had_queries = data.n_queries > 1 or (self._continues() and self._had_queries)
        earlier_queries = self.training_queries_ if self._continues() else earlier
        if is_share(eval_set):
            metrics = metrics_of(self, eval_metric)
            data, eval_set = hold_out_share(data, eval_set, metrics, seed, earlier_queries)
            eval_metric = None
        remembered = data.remembered if self._accepts.labels else None
        for queries in (earlier_queries, *self._given_queries):
            remembered = queries if remembered is None else remembered.and_earlier(queries)
        self.training_queries_ = remembered
        held_out = self._held_out(data, eval_set, eval_metric)
        calibrating = held_out and _with_pairs(held_out.first.judged())
        recorded = vars(self).get("evals_result_", {}) if self._continues() else {}
        self._learn(data, held_out, seed)
        if "evals_result_" in vars(self):
            recorder: Any = None if held_out is None else held_out.metric
            results = self.evals_result_
            results = results if recorder is None else recorder.results(results, recorded)
            self.evals_result_ = LearningCurves(results)
        if calibrating is not None:
            self._fit_calibration_slope(calibrating)
        return self

    def _fit_calibration_slope(self, calibrating: EvalSet) -> None:
        """Fit the slope of pair probabilities; it stays 1 if all held-out scores are equal."""
        scores, y, groups = calibrating.of_all(scores_of(self, calibrating.X))
        if np.ptp(scores) > 0:
            self.calibration_slope_ = fit_calibration_slope(scores, y, groups)

    def get_metadata_routing(self) -> MetadataRequest:
        """Return what scikit-learn passes on to ``fit`` and other methods, in each fold.

        Refuses a request of ``given_pairs``, whose row numbers are of other documents in a fold.
        """
        routing = super().get_metadata_routing()
        if routing.fit.requests.get("given_pairs"):
            raise ValueError(
                "given_pairs must not be requested of fit, since their row numbers are of other "
                "documents in each fold. Write a loop over the folds, and number the pairs anew in "
                "each; set_fit_request(given_pairs=False) takes the request back."
            )
        return routing

    @check_arguments
    def save(self, path: str | Path) -> None:
        """Write the fitted ranker to a file; :func:`treerank.load` reads it."""
        from treerank.rankers.model_file import save

        save(self, path)

    def get_state(self) -> dict[str, Any]:
        """Return what the ranker has learned, as plain values, arrays and feature parts."""
        check_is_fitted(self)
        names = feature_names_of(self)
        state = {
            "head": {"weight": self.head_.weight, "tau": self.head_.tau},
            "calibration_slope": self.calibration_slope_,
            "categories": self.columns_.categories,
            "takes_codes": self.columns_.takes_codes,
            "feature_names": None if names is None else list(names),
            "n_features": self.n_features_in_,
            "had_queries": self._had_queries,
            "propensities": self.propensities_,
            "training_queries": self.training_queries_ and self.training_queries_.as_state(),
            "relevance_scale": self._relevance_scale and vars(self._relevance_scale),
            "learned": {name: getattr(self, name) for name in self._learned},
        }
        return unshared(state)

    def set_state(self, state: dict[str, Any]) -> Self:
        """Restore what :meth:`get_state` returned, and return the ranker; refuse anything else."""
        n_features, names = state["n_features"], state["feature_names"]
        check_count("n_features", n_features)
        check_number("calibration_slope", state["calibration_slope"], at_least=0)
        array("float64", "n_outputs")("The weight of the head", state["head"]["weight"], {})
        check_columns(names, state["categories"], n_features)
        check_saved_propensities("propensities", state["propensities"], {})
        check_state(state["learned"], self._learned, **self._sizes(n_features))
        self._relevance_scale = scale_of(state)
        self.head_ = AntisymmetricHead(**state["head"])
        self.calibration_slope_ = state["calibration_slope"]
        columns = Columns(
            state["categories"],
            takes_codes=bool(state["takes_codes"]),
            names=None if names is None else tuple(names),
        )
        set_columns(self, columns, n_features)
        self._had_queries = bool(state["had_queries"])
        self.propensities_ = restored_propensities(state["propensities"])
        self.training_queries_ = TrainingQueries.of_state(state["training_queries"])
        for name, value in state["learned"].items():
            setattr(self, name, LearningCurves(value) if name == "evals_result_" else value)
        return self

    def _sizes(self, n_features: int) -> dict[str, int]:
        """Return the sizes to which the rules of ``_learned`` refer."""
        return {"n_features": n_features}

    def _learn(self, data: TrainingSet, held_out: EvalSet | None, seed: int) -> None:
        """Learn from the documents ``data.documents`` with the labels ``data.y``.

        ``held_out`` are the documents for early stopping, or None; ``seed`` is the seed of all
        random numbers.
        """
        raise NotImplementedError

    def _continues(self) -> bool:
        """Tell whether ``fit`` continues an earlier fit, with the same columns."""
        return False

    def _check_position(self, position: Any, labels: Any, given_pairs: Any) -> None:
        """Refuse settings and arguments that contradict ``position``, or need it."""
        if position is None:
            if self.clicks is not None:
                raise ValueError(
                    f"clicks must be None where position is None; got {quote(self.clicks)}."
                )
        elif not self._accepts.clicks:
            name = type(self).__name__
            raise ValueError(f"position must be None for {name}, which does not learn from clicks.")
        elif labels is not None:
            raise ValueError(
                f"y must be a single column if position is given; got {quote([*labels])}."
            )
        elif given_pairs is not None:
            raise ValueError("given_pairs must be None if position is given.")

    def _held_out(self, data, eval_set, eval_metric):
        """Return the documents for early stopping and calibration; None if ``eval_set`` is None.

        ``eval_set`` is the argument of ``fit``, or an ``EvalSet``. Warns if queries are also in the
        training set ``data``.
        """
        if not isinstance(eval_set, EvalSet | None):
            return hold_out(self, data, eval_set, eval_metric, had_queries=self._had_queries)
        if eval_metric is not None:
            raise ValueError("eval_set must be given where eval_metric is.")
        if eval_set is not None and data.query_hashes is not None:
            first = eval_set.first
            hashes, width = row_hashes(first.X), first.X.shape[1]
            trained, total = data.documents.of_all(data.query_hashes), data.documents.total
            of_first = trained, hashes, first.y, first.groups, width, total
            warn_of_copied_queries(*of_first, of_several=len(eval_set.sizes) > 1)
        return eval_set

    def _labels_of(self, y: Any, given_pairs: Any = None) -> dict[str, np.ndarray] | None:
        """Return checked labels by name if ``y`` holds several labels, None for a single label.

        Refuses several labels of a ranker that takes one, or with ``given_pairs``, and
        ``label_weights`` with a single label.
        """
        labels = split_labels(y)
        if labels is None:
            if self.label_weights is not None:
                raise ValueError(
                    "label_weights must be None for a single label y; got "
                    f"{quote(self.label_weights)}. Several labels are a mapping, {{name: column}}."
                )
            return None
        if not self._accepts.several_labels:
            raise ValueError(
                f"y must be a single label for {type(self).__name__}; got {quote([*labels])}. Pass "
                "one of them, or fit a TreeDirectRanker, which takes several."
            )
        if given_pairs is not None:
            raise ValueError(
                f"given_pairs must be None where y has several labels; got {quote([*labels])}. "
                "Pass one label, or no pairs."
            )
        weights_of_labels(self.label_weights, labels)
        n_documents = np.size(next(iter(labels.values())))
        return check_labels_by_name(labels, n_documents, all_unjudged=True)


def fit_training_set(ranker: Ranker, data: TrainingSet, *, eval_set: Any, seed: int) -> Ranker:
    """Fit a ranker to a training set that another package has read, drawing all seeds from one."""
    return ranker._fit_training_set(data, eval_set=eval_set, seed=seed)


def seed_of(ranker: Ranker) -> int:
    """Draw the seed of a fit; warn if a checkpoint could not be resumed for want of a seed."""
    random_state = ranker.get_params(deep=False).get("random_state", 0)
    if random_state is None and current_checkpoint() is not None:
        warn_user(
            "random_state must be a number for a fit that goes on from its checkpoint; got None, "
            f"which draws other random numbers each time. Write {type(ranker).__name__}"
            "(random_state=0)."
        )
    return int(check_random_state(random_state).randint(2**31 - 1))


def _with_pairs(calibrating: EvalSet) -> EvalSet:
    """Return documents to calibrate on; refuse them if no query has two different labels."""
    if not calibrating.has_pairs:
        raise ValueError(
            f"{spelled('eval_set')} must hold out a query with two different labels; got none "
            f"among {len(calibrating.y)} documents."
        )
    return calibrating


def _tell_of_unlabeled(pairs: GivenPairs, y: np.ndarray) -> None:
    """Warn of pairs with a document without a label, which is not learned from.

    Refuses pairs of which none is left.
    """
    n_pairs, n_lost = len(pairs.i), int((np.isnan(y[pairs.i]) | np.isnan(y[pairs.j])).sum())
    advice = (
        "A row without a label is not learned from: give it one, such as 0. The default weight of "
        "given_pairs does not depend on labels."
    )
    if n_lost == n_pairs:
        raise ValueError(
            f"given_pairs must hold pairs of rows with labels; got NaN in y for each of {n_pairs}. "
            f"{advice}"
        )
    if n_lost:
        warn_user(
            f"{n_lost} of {n_pairs} given_pairs do not count: y is NaN for one of their rows. "
            f"{advice}"
        )


def may_stop_early(ranker: Ranker) -> bool:
    """Return whether an ``eval_set`` may change what a ranker learns.

    Examples
    --------
    >>> from treerank.baselines import ListNet, RankSVM
    >>> may_stop_early(ListNet()), may_stop_early(RankSVM())
    (True, False)
    """
    return ranker._stops_early
