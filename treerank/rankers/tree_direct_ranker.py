"""Tree direct ranker: the direct ranker with all of its settings as parameters.

To add a setting, add a field to :class:`TreeDirectRanker`, document it, and use it in one of
the objective, the feature part and the head. A setting of pairs is a field of
:class:`~treerank.objectives.PairSettings`, too. Another one has a default in
:class:`~treerank.rankers.direct_ranker.DirectRanker`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any, Literal, Self

from treerank.documents.eval_set import EvalSet
from treerank.documents.training_set import TrainingSet
from treerank.feature_parts.base import FeaturePart
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.registry import AUTO, feature_part_class, is_auto, make_feature_part
from treerank.metrics.registry import AnyMetric
from treerank.objectives.factory import Loss
from treerank.objectives.pairs.rules import PairRule
from treerank.objectives.pairs.settings import Gain, Normalization
from treerank.objectives.pairs.weights import Weight
from treerank.parameters import Finite, NotNegative, Positive, Seed, Size
from treerank.progress import say
from treerank.rankers.click_training import Clicks
from treerank.rankers.direct_ranker import DirectRanker
from treerank.rankers.head import Tau
from treerank.rankers.held_out_sizes import MANY_QUERIES, smaller_trees


@estimator
class TreeDirectRanker(DirectRanker):
    """Learn to rank by comparing two documents at a time, with boosted trees by default.

    A feature part f maps a document to numbers, and a head compares two documents by
    r(a, b) = tau(<w, f(a) - f(b)>). For every f, this comparison is antisymmetric, total
    and transitive, so documents can be sorted by their scores <w, f(x)>. The feature part is fitted
    to an objective: a sum over pairs of documents of a pair loss times a pair weight, or another
    loss, such as a listwise one.

    Rows may come in any order and queries may have any names: the model is the same, bit for bit.

    The attributes are explained at :class:`~treerank.rankers.ranker.Ranker` and at
    :class:`~treerank.rankers.direct_ranker.DirectRanker`: ``feature_part_``, ``evals_result_``,
    ``best_iteration_``, ``calibration_slope_``, ``propensities_``, ``feature_names_in_``, and more.

    Parameters
    ----------
    feature_part : str, feature part or list of them, default="auto"
        The model f, a function from documents to numbers. "auto" is "lightgbm", boosted trees, with
        a second sum of trees if there are few judged queries, see Notes. Other names are "xgboost",
        "histogram", "streaming", "linear", "ensemble", "stages", "mlp", "polynomial" and
        "soft_trees". To set its parameters, pass an instance, such as
        ``LightGBMTrees(n_estimators=500)``; a copy of it is fitted. It may also be a model of your
        own: a transformer of scikit-learn, :class:`~treerank.feature_parts.NewtonBoosting` of a
        regressor, :class:`~treerank.feature_parts.TorchModule`, or any object with
        ``fit(X, objective, validation=None)`` and ``transform(X)``. A list is an
        :class:`~treerank.feature_parts.ensemble.Ensemble` of the parts in it. For the most accurate
        ranker see :meth:`best`.
    loss : str or object, default="logistic"
        Loss to minimize. A pair loss is "logistic", "half_squared", "half_squared_tanh",
        "squared_sigmoid", "hinge", "squared_hinge", "exponential", "fidelity", or your own
        function of the margin, see :mod:`treerank.objectives.pairs.losses`. A loss without pairs is
        "listnet", "listmle", "xendcg", "approx_ndcg", "half_squared_error", or an object with a
        method ``bind``, see :func:`~treerank.objectives.factory.make_objective`. The parameters
        from ``weight`` to ``query_normalization``, except ``tau``, are for pair losses.
    weight : str, PairWeight or None, default="auto"
        Weight of a pair: "uniform", "query", "label", "label_gap", "ndcg", "map", "mrr", "err" or
        your own, see :mod:`treerank.objectives.pairs.weights`. "auto" is "ndcg" for pair losses,
        but None for other losses and for pairs of your own (``given_pairs``). None is "uniform".
    pairs : str, Pairs or None, default="all"
        Pairs of documents that enter the loss: "all" pairs with different labels, "adjacent",
        "balanced", "top_10", "with_ties" or your own :class:`~treerank.objectives.Pairs`. None is
        "all".
    tau : {"identity", "tanh", "softsign", "arctan"}, default="identity"
        Function of the difference of two scores in ``compare`` and ``distance``. It does not change
        any ranking.
    sigma : float, default=1.0
        Scale of the scores in a pair loss: the margin of two documents is sigma times the
        difference of their scores.
    k : int, default=None
        Cutoff rank of the metric in ``weight``, such as 10 for NDCG@10; None counts whole lists.
    gain : {"exponential", "linear"} or array-like, default="exponential"
        Gain of a label for the weights "ndcg" and "err": 2^y - 1, y, or one number per label. In
        ``score`` and early stopping, a metric given by name, such as "ndcg@10", also uses this
        gain; a metric that is an object or names its gain keeps its own.
    threshold : float, default=1.0
        Smallest label that is relevant for the weights "map" and "mrr", and for metrics given by
        name, such as "map", in ``score`` and early stopping.
    smoothing : float or "auto", default="auto"
        Scale of Gumbel noise on the scores from which pair weights take ranks, drawn anew for
        every tree. "auto" is 1.0 for pair losses and 0.0, which is no noise, for other losses.
        It acts as regularization and costs time. Choose it by validation.
    query_normalization : {None, "equal", "log"}, default=None
        None does not change the pair weights; "equal" scales them so that each query has the same
        sum of weights, and "log" so that the sum becomes log2(1 + sum).
    label_weights : dict from str to float, default=None
        Weight of each label in the objective, in ``score`` and in early stopping, if ``y`` has
        several labels. It is 1 for labels that are not named.
    metric : str or Metric, default="ndcg@10"
        Metric that ``score`` computes and early stopping watches on the ``eval_set``: a name, or a
        function ``f(y, scores, qid) -> float`` of your own. Higher is better: negate a loss.
    head_alpha : float, default=10.0
        Strength of the L2 penalty on the weight w of the head, if the feature part has several
        outputs. See :func:`treerank.feature_parts.head_fitting.fit_head`.
    clicks : ClickRelevance, default=None
        Estimator of the relevance of documents if ``fit`` gets positions, such as
        ``ClickRelevance(propensities=...)``. None is ``ClickRelevance()``, see
        :class:`~treerank.clicks.relevance.ClickRelevance`.
    warm_start : bool, default=False
        Whether ``fit`` continues the last fit: new trees are added up to the number of trees of
        the feature part.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers of the objective, and of the feature part if it has no seed of
        its own.

    Notes
    -----
    With 25 to 100 judged queries, ``feature_part="auto"`` fits a second sum of trees to the labels
    by squared error, and adds it with half the weight: ``feature_part_`` is then an
    :class:`~treerank.feature_parts.ensemble.Ensemble`. This ranks better and takes twice as long.
    It applies to the defaults of ``loss``, ``weight``, ``pairs`` and ``gain``, and to fits with a
    single label and without ``eval_set``, ``given_pairs``, ``position`` and ``warm_start``; any
    other fit is the same as with "lightgbm". A feature part that you choose is never changed.
    As for any ensemble, ``callbacks`` of ``fit`` are called after whole fits, which here means
    once, at the end: choose "lightgbm" to stop a fit by a callback.

    With 1,000 or more queries, the hyperparameters of LightGBM's trees also follow from the labels,
    if the numbers of trees and of leaves and the learning rate are all "auto". Trees of the usual
    sizes, and trees with .4 times the leaves and half the sum of learning rates, are fitted to some
    of the training queries and rank others. If the smaller trees have the lower loss there, and a
    ``metric`` that is higher by more than its standard error, as with noisy labels, all queries are
    fitted with their sizes. The conditions are those above: with an ``eval_set``, early stopping
    limits the trees instead.

    References
    ----------
    Köppel et al. (2025), Pairwise learning to rank by neural networks revisited. Machine Learning
    114:112. https://doi.org/10.1007/s10994-024-06644-6

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] > 0).astype(int)
    >>> ranker = TreeDirectRanker(random_state=0).fit(X, y, qid)
    >>> round(ranker.score(X, y, qid), 2)
    1.0
    >>> ranker.compare([[1.0, 0.0, 0.0]], [[-1.0, 0.0, 0.0]]) > 0
    array([ True])
    """

    feature_part: str | FeaturePart | Sequence[str | FeaturePart] = AUTO
    _: KW_ONLY
    loss: Loss = "logistic"
    weight: Literal["auto"] | Weight | None = "auto"
    pairs: PairRule | None = "all"
    tau: Tau = "identity"
    sigma: Positive = 1.0
    k: Size | None = None
    gain: Gain = "exponential"
    threshold: Finite = 1.0
    smoothing: Literal["auto"] | NotNegative = "auto"
    query_normalization: Normalization = None
    label_weights: Mapping[str, float] | None = None
    metric: AnyMetric = "ndcg@10"
    head_alpha: NotNegative = 10.0
    clicks: Clicks = None
    warm_start: bool = False
    random_state: Seed = None

    @classmethod
    def best(cls, time: float | None = None, **settings: Any) -> Self:
        """Return an unfitted ensemble: more accurate on most data sets, and slower to fit.

        On the data sets of the manual's evidence page, a fit takes 3 to 7 times as much processor
        time as a fit of the default. The feature part is an ensemble of trees fitted to the loss of
        the ranker and trees fitted to the labels by squared error, each with three seeds, and a
        linear model. With at least 500 queries, the weights of these three kinds are chosen on
        held-out queries; with fewer, they are fixed. The sizes of the trees are chosen from the
        data, as in the default. So pass all judged queries to ``fit``: an ``eval_set`` only
        calibrates the slope of pair probabilities. :func:`treerank.export` writes the ensemble in
        the formats for trees with a linear model: "c", "javascript", "json", "onnx", "python",
        "sql" and "vespa-expression".

        Parameters
        ----------
        time : float, default=None
            Seconds for all fits, at least one of each kind; see
            :class:`~treerank.feature_parts.ensemble.Ensemble`. Fits for which there is no time are
            skipped; ``feature_part_.n_left_out_`` counts them. The model then depends on the speed
            of the machine.
        **settings
            Parameters of the ranker other than ``feature_part``.

        Examples
        --------
        >>> TreeDirectRanker.best(metric="map").metric
        'map'
        """
        part = feature_part_class("ensemble")(
            ["lightgbm", "lightgbm", "linear"],
            n_bags="auto",
            losses=[None, "half_squared_error", None],
            shares=[1.0, 0.5, 0.15],
            n_refits=3,
            time=time,
        )
        return cls(part, **settings)

    def _part_for(self, data: TrainingSet, held_out: EvalSet | None) -> Any:
        """Return the feature part: it follows from the data with few and with many queries.

        With few judged queries, "auto" is trees of two losses; with many, sizes that are "auto"
        may be smaller than the rule says.
        """
        has_more = held_out is not None or data.documents.is_shard or self.warm_start
        has_more |= any(
            value is not None for value in (data.pairs, data.labels, self.propensities_)
        )
        if has_more or not _is_measured(self):
            return self.feature_part
        if data.n_queries >= MANY_QUERIES:
            smaller = smaller_trees(self, make_feature_part(self.feature_part), data)
            return self.feature_part if smaller is None else smaller
        if is_auto(self.feature_part) and adds_second_loss(self, data.n_queries):
            return trees_for_few(data.n_queries)
        return self.feature_part


#: Numbers of judged queries for which "auto" adds trees of a second loss: those that were measured,
#: see ``python -m benchmarks few``.
_FEW_QUERIES = range(25, 101)
#: Parameters that say what is learned, and the values that were measured: the defaults.
_MEASURED: dict[str, tuple[str | None, ...]] = {
    "loss": ("logistic",),
    "weight": ("auto", "ndcg"),
    "pairs": ("all", None),
    "gain": ("exponential",),
}


def adds_second_loss(ranker: TreeDirectRanker, n_queries: int) -> bool:
    """Tell whether trees of a second loss help a ranker that learns from few judged queries.

    Examples
    --------
    >>> [adds_second_loss(TreeDirectRanker(), n_queries) for n_queries in (24, 25, 100, 101)]
    [False, True, True, False]
    >>> adds_second_loss(TreeDirectRanker(loss="listnet"), 50)
    False
    """
    return n_queries in _FEW_QUERIES and _is_measured(ranker)


def _is_measured(ranker: TreeDirectRanker) -> bool:
    """Tell whether a ranker learns what was measured where its trees follow from the data."""
    chosen = {name: getattr(ranker, name) for name in _MEASURED}
    return all(
        isinstance(value, str | None) and value in _MEASURED[name] for name, value in chosen.items()
    )


def trees_for_few(n_queries: int, n_jobs: int | None = None) -> Any:
    """Return trees of the ranker's loss, to which trees of squared error are added, and say so.

    Examples
    --------
    >>> trees_for_few(50).losses
    [None, 'half_squared_error']
    """
    say(
        f"{n_queries} queries are few: trees of the ranker's loss and of squared error are added; "
        "the feature part 'lightgbm' is the former alone"
    )
    trees = feature_part_class("lightgbm")(n_jobs=n_jobs)
    losses = [None, "half_squared_error"]
    return feature_part_class("ensemble")(
        [trees, trees], losses=losses, shares=[1.0, 0.5], n_bags=0, n_refits=1
    )
