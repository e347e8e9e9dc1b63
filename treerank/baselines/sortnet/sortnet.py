"""SortNet: a neural comparator, trained on the pairs that sorting by it gets wrong."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

try:
    from treerank.baselines.sortnet.comparator import Comparator
except ImportError as error:
    raise ImportError("SortNet needs torch: pip install treerank[torch]") from error

from treerank.baselines.sortnet.comparison_sort import sort_by_comparison
from treerank.checks import check_count
from treerank.feature_parts.networks.standardization import Standardization
from treerank.feature_parts.rows import Rows
from treerank.inputs.documents import check_features
from treerank.inputs.grouping import QueryGroups
from treerank.metrics.base import Metric
from treerank.metrics.registry import get_metric
from treerank.rankers.ranker import Ranker

#: Documents of the training set that a single document is compared with for its score.
_REFERENCES = 100


class TransitivityReport(NamedTuple):
    """How often a comparator goes in circles.

    Attributes
    ----------
    n_triples : int
        Triples of documents of one query that were looked at.
    n_violations : int
        Those in which a beats b, b beats c and c beats a.
    """

    n_triples: int
    n_violations: int

    @property
    def share(self):
        """Share of the triples."""
        return self.n_violations / max(1, self.n_triples)


class SortNet(Ranker):
    """Learn to rank by a neural comparator and a sorting algorithm [1]_.

    The comparator sees both documents at once. Starting from random weights, it sorts the
    training queries; pairs that it compares wrongly on the way join the training set, and it is
    trained on that; and so on until nothing new is wrong. The comparator of the best ranking by
    ``metric``, of the ``eval_set`` if there is one, is kept.

    ``rank``, ``top_k``, ``score`` and ``compare`` go by the comparator, which need not be
    transitive; ``predict`` returns how much it prefers a document, on average, to some of the
    training documents, so sorting by it may give another order.

    Parameters
    ----------
    n_hidden : int, default=20
        Pairs of hidden units that share their weights.
    max_iter : int, default=20
        Most rounds of sorting and training.
    n_epochs : int, default=20
        Epochs of each training, of which the best is kept.
    batch_size : int, default=128
        Pairs of a batch.
    learning_rate : float, default=1e-2
        Of Adam.
    metric : str or Metric, default="map"
        Quality of a ranking, such as "map", "p@10" or "ndcg@10"; ``score`` measures it, too.
    calibration : {"eval_set", None} or float, default="eval_set"
        What pair probabilities are calibrated on; a float sets a share of the queries aside.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    weights_ : dict of ndarray
        Weights of the comparator, see :class:`~treerank.baselines.sortnet.comparator.Comparator`.
    qualities_ : list of float
        Quality of the ranking before each round of training.
    n_pairs_ : int
        Pairs trained on in the last round.

    References
    ----------
    .. [1] Rigutini, Papini, Maggini and Scarselli (2011). SortNet: learning to rank by a neural
       preference function. IEEE Transactions on Neural Networks.

    Examples
    --------
    >>> X, y, qid = [[1.0], [2.0], [3.0], [1.0], [3.0]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> ranker = SortNet(random_state=0).fit(X, y, qid)
    >>> ranker.rank(X, qid), ranker.transitivity(X, qid).n_violations
    (array([3, 2, 1, 2, 1]), 0)
    """

    _learned: ClassVar = ("weights_", "qualities_", "n_pairs_", "inputs_", "references_")

    def __init__(
        self,
        n_hidden=20,
        *,
        max_iter=20,
        n_epochs=20,
        batch_size=128,
        learning_rate=1e-2,
        metric="map",
        calibration="eval_set",
        random_state=None,
    ):
        self.n_hidden = n_hidden
        self.max_iter = max_iter
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.metric = metric
        self.calibration = calibration
        self.random_state = random_state

    def score(self, X, y, qid=None, *, sample_weight=None):
        """Return the mean of ``metric`` over the lists sorted by the comparator.

        With ``sample_weight``, a query counts by the mean weight of its documents.
        """
        return self._measured(-self.rank(X, qid), y, qid, sample_weight)

    def compare(self, X_a, X_b):
        """Return the comparator's preference for a, row by row; one may be a single row."""
        check_is_fitted(self)
        as_first, as_second = self._project(
            np.concatenate([self._numbers(X_a), self._numbers(X_b)])
        )
        n_a, n_b = len(X_a), len(X_b)
        if n_a != n_b and 1 not in (n_a, n_b):
            raise ValueError(
                "X_a and X_b must have equally many rows, or one of them a single row; got "
                f"{n_a} and {n_b}."
            )
        n = max(n_a, n_b)
        i, j = np.broadcast_to(np.arange(n_a), n), n_a + np.broadcast_to(np.arange(n_b), n)
        return self._comparator.prefer(as_first, as_second, i, j)

    def transitivity(self, X, qid=None, *, n_triples=10_000, random_state=0):
        """Report how often three documents of a query, drawn at random, run in a circle."""
        check_is_fitted(self)
        groups = QueryGroups.from_qid(qid, len(X))
        i, j, k = _triples(groups, n_triples, np.random.default_rng(random_state))
        projected = self._project(self._numbers(X))
        signs = [
            np.sign(self._comparator.prefer(*projected, a, b)) for a, b in ((i, j), (j, k), (k, i))
        ]
        return TransitivityReport(len(i), int((np.abs(sum(signs)) == 3).sum()))

    @property
    def _comparator(self):
        return Comparator(**self.weights_)

    def _learn(self, data, held_out, seed):
        self._check_parameters(data)
        standardization = Standardization.of(Rows(data.X, order=data.rows))
        self.inputs_ = {"mean": standardization.mean, "scale": standardization.scale}
        X = self._standard(data.X[data.rows])
        self.references_ = X[np.linspace(0, len(X) - 1, min(len(X), _REFERENCES)).astype(int)]
        train = _Documents.of_training(X, data, self.metric)
        judge = train
        if held_out is not None:
            judge = _Documents.of_held_out(self._standard(held_out.X), held_out, self.metric)
        best = self._search(train, judge, seed)
        self.weights_ = {name: np.array(part) for name, part in best._asdict().items()}

    def _search(self, train, judge, seed):
        """Sort and train in turn; return the comparator of the best ranking."""
        comparator = Comparator.at_random(train.X.shape[1], self.n_hidden, seed)
        best, best_quality, self.qualities_, self.n_pairs_ = comparator, (-np.inf, 0), [], 0
        wrong, wrong_to_judge = np.zeros((2, 0), np.int64), np.zeros((2, 0), np.int64)
        for turn in range(self.max_iter + 1):
            more, quality = train.sort(comparator)
            more_to_judge = more
            if judge is not train:
                more_to_judge, quality = judge.sort(comparator)
            self.qualities_.append(quality)
            # Metrics of the top are often perfect before the rest is: then fewer errors win.
            if (quality, -more_to_judge.shape[1]) > best_quality:
                best, best_quality = comparator, (quality, -more_to_judge.shape[1])
            before = wrong.shape[1] + wrong_to_judge.shape[1]
            wrong = np.unique(np.concatenate([wrong, more], axis=1), axis=1)
            wrong_to_judge = np.unique(
                np.concatenate([wrong_to_judge, more_to_judge], axis=1), axis=1
            )
            if turn == self.max_iter or wrong.shape[1] + wrong_to_judge.shape[1] == before:
                break
            comparator = self._train(comparator, train, wrong, judge, wrong_to_judge, seed + turn)
        return best if self.n_pairs_ or train.has_pairs else _constant(best)

    def _train(self, comparator, train, wrong, judge, wrong_to_judge, seed):
        self.n_pairs_ = wrong.shape[1]
        if not wrong.shape[1]:
            return comparator
        return comparator.trained(
            train.X,
            tuple(wrong),
            train.weight[wrong].prod(axis=0),
            lambda now: judge.error(now, wrong_to_judge),
            n_epochs=self.n_epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            seed=seed,
        )

    def _scores(self, X):
        comparator, references = self._comparator, self.references_
        as_first, as_second = comparator.project(self._standard(X))
        other_first, other_second = comparator.project(references)
        scores = np.zeros(len(X))
        for first, second in zip(other_first, other_second, strict=True):
            both = np.broadcast_to(first, as_first.shape), np.broadcast_to(second, as_first.shape)
            i = np.arange(len(X))
            stacked = np.stack([as_first, both[0]]), np.stack([as_second, both[1]])
            scores += comparator.prefer(*stacked, (0, i), (1, i))
        return scores / len(references)

    def _best_first(self, X, qid):
        check_is_fitted(self)
        groups = QueryGroups.from_qid(qid, len(X))
        projected = self._project(self._numbers(X))
        order, _ = sort_by_comparison(
            groups, lambda i, j: self._comparator.prefer(*projected, i, j)
        )
        return groups, order

    def _numbers(self, X):
        return check_features(self, X)

    def _project(self, X):
        return self._comparator.project(self._standard(X))

    def _standard(self, X):
        return Standardization(**self.inputs_)(Rows(X), np.float64)

    def _check_parameters(self, data):
        for name in ("n_hidden", "max_iter", "n_epochs", "batch_size"):
            check_count(name, getattr(self, name))
        rate = self.learning_rate
        if not isinstance(rate, Real) or not 0 < float(rate) < math.inf:
            raise ValueError(f"learning_rate must be a positive number; got {rate!r}.")
        if data.pairs is not None:
            raise ValueError(
                "given_pairs must be None for SortNet, which chooses its pairs itself."
            )


@dataclass(frozen=True, eq=False)
class _Documents:
    """Documents that a comparator sorts, and what is known about their order."""

    X: np.ndarray
    worth: np.ndarray
    groups: QueryGroups
    weight: np.ndarray
    metric: Any

    @classmethod
    def of_training(cls, X, data, metric):
        """Look at the training set; without anything to find in it, errors are the measure."""
        weight = np.ones(len(X)) if data.sample_weight is None else data.sample_weight
        if data.query_weight is not None:
            weight = weight * np.sqrt(data.query_weight)
        try:
            prepared = get_metric(metric).prepared(data.y, data.groups)
        except ValueError:
            prepared = None
        return cls(X, data.y, data.groups, weight, prepared)

    @classmethod
    def of_held_out(cls, X, held_out, metric):
        """Look at held-out documents, whose order counts as far as the metric sees it."""
        metric = get_metric(metric)
        worth = metric.worth(held_out.y) if isinstance(metric, Metric) else held_out.y
        return cls(X, worth, held_out.groups, np.ones(len(X)), held_out.metric)

    @property
    def has_pairs(self):
        return bool(self.groups.with_two_labels(self.worth).any())

    def sort(self, comparator):
        """Return the pairs that come out wrong while sorting, and the quality of the result."""
        projected = comparator.project(self.X)
        order, (i, j, preference) = sort_by_comparison(
            self.groups, lambda i, j: comparator.prefer(*projected, i, j)
        )
        advantage = self.worth[i] - self.worth[j]
        wrong = (advantage != 0) & (advantage * preference <= 0)
        better, worse = np.where(advantage > 0, i, j)[wrong], np.where(advantage > 0, j, i)[wrong]
        position = np.empty(len(order))
        position[order] = np.arange(len(order))
        quality = -float(wrong.sum()) if self.metric is None else self.metric(-position)
        return np.stack([better, worse]), quality

    def error(self, comparator, pairs):
        """Return the share of pairs that a comparator gets wrong."""
        if not pairs.shape[1]:
            return 0.0
        projected = comparator.project(self.X)
        return float((comparator.prefer(*projected, *pairs) <= 0).mean())


def _constant(comparator):
    """Return a comparator that prefers nothing: there was no pair to learn from."""
    return comparator._replace(ahead=0 * comparator.ahead, behind=0 * comparator.behind)


def _triples(groups, n_triples, rng):
    """Draw rows of three different documents of one query each; large queries more often."""
    sizes = groups.sizes.astype(np.float64)
    n_possible = sizes * (sizes - 1) * (sizes - 2)
    if not n_possible.any():
        return np.zeros((3, 0), np.int64)
    query = rng.choice(groups.n_queries, size=n_triples, p=n_possible / n_possible.sum())
    first, second, third = (rng.integers(groups.sizes[query] - n) for n in range(3))
    second = second + (second >= first)
    low, high = np.minimum(first, second), np.maximum(first, second)
    third = third + (third >= low)
    third = third + (third >= high)
    return groups.order[groups.indptr[query] + np.stack([first, second, third])]
