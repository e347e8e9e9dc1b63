"""SortNet: a neural comparator, trained on the pairs that sorting by it gets wrong."""

from dataclasses import KW_ONLY
from functools import partial
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from treerank.baselines.neural.comparator import COMPARATOR_RULES, Comparator
from treerank.baselines.neural.sorting import ComparedDocuments, Preference, sort_by_comparison
from treerank.baselines.training_checks import (
    refuse_weights,
    warn_of_constant_model,
    warn_of_equal_documents,
)
from treerank.checks import check_count
from treerank.documents.eval_set import EvalSet
from treerank.documents.labels import check_labels
from treerank.documents.queries import ByRow, QueryGroups
from treerank.documents.reading import (
    Accepts,
    check_n_pairs,
    read_documents,
    read_pairs,
    take_columns,
)
from treerank.documents.rows import Rows
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.standardization import STANDARDIZATION_RULES, Standardization
from treerank.files.states import array, count, entries, numbers
from treerank.metrics.registry import AnyMetric
from treerank.parameters import Count, LearningRate, Rule, Seed, Size, check_arguments
from treerank.rankers.calibration import fit_calibration_slope, pair_probability
from treerank.rankers.ranker import Ranker
from treerank.rankers.scoring import measured, warn_of_one_query

#: Number of training documents that a single document is compared with for its score.
_N_REFERENCES = 100


@estimator
class SortNet(Ranker):
    """SortNet [1]_: a network that compares two documents, and a sorting algorithm.

    The comparator is a network of two documents. Starting from random weights, it sorts the
    training queries. Pairs that it compares wrongly while sorting join its training set, and it is
    trained on that. This is repeated until sorting finds no new wrong pair. The comparator of the
    best ranking by ``metric``, on the ``eval_set`` if there is one, is kept.

    ``rank``, ``top_k``, ``score``, ``compare`` and ``predict_pair_proba`` use the comparator, which
    need not be transitive. ``predict`` returns how much it prefers a document, on average, to some
    of the training documents, so sorting by it may give another order. ``fit`` takes weights of
    documents and queries, and refuses a list of pairs.

    ``random_state`` is explained at :class:`~treerank.rankers.ranker.Ranker`,
    with the other attributes.

    Parameters
    ----------
    n_hidden : int, default=20
        Number of pairs of hidden units that share their weights.
    max_iter : int, default=20
        Largest number of rounds of sorting and training.
    n_epochs : int, default=20
        Number of epochs of each training, of which the best is kept.
    batch_size : int, default=128
        Number of pairs of a batch.
    learning_rate : float, default=0.01
        Learning rate of Adam.
    metric : str or Metric, default="map"
        Quality of a ranking, such as "map", "p@10" or "ndcg@10"; ``score`` measures it, too.

    Attributes
    ----------
    weights_ : dict of ndarray
        Weights of the comparator, see :class:`~treerank.baselines.neural.comparator.Comparator`.
    qualities_ : list of float
        Quality of the ranking before each round of training.
    n_pairs_ : int
        Number of pairs trained on in the last round.
    inputs_ : dict of ndarray
        Mean and scale of each feature.
    references_ : ndarray of shape (n_references, n_features)
        Standard features of the training documents that ``predict`` compares with.

    References
    ----------
    .. [1] Rigutini, Papini, Maggini and Scarselli (2011). SortNet: learning to rank by a neural
       preference function. IEEE Transactions on Neural Networks.

    Examples
    --------
    >>> X, y, qid = [[1.0], [2.0], [3.0], [1.0], [3.0]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> ranker = SortNet(random_state=0).fit(X, y, qid)
    >>> ranker.rank(X, qid)
    array([3, 2, 1, 2, 1])
    """

    _learned: ClassVar = {
        "weights_": entries(COMPARATOR_RULES),
        "qualities_": numbers,
        "n_pairs_": count(),
        "inputs_": entries(STANDARDIZATION_RULES),
        "references_": array("float64", "n_references", "n_features"),
    }
    _accepts = Accepts(categories=False)

    n_hidden: Annotated[int, Rule(check_count, at_most=2**16)] = 20
    _: KW_ONLY
    max_iter: Count = 20
    n_epochs: Count = 20
    batch_size: Size = 128
    learning_rate: LearningRate = 1e-2
    metric: AnyMetric = "map"
    random_state: Seed = None

    @check_arguments
    def score(
        self, X: Any, y: Any = None, qid: ByRow = None, *, sample_weight: ByRow = None
    ) -> float:
        """Return the mean of ``metric`` over the lists sorted by the comparator.

        With ``sample_weight``, a query counts by the mean weight of its documents.
        """
        X, (y, qid) = take_columns(X, y=y, qid=qid)
        groups, best_first = self._lists(X, qid, serves=False)
        scores = np.empty(len(best_first))
        scores[best_first] = -groups.positions
        return measured(self, scores, y, qid, sample_weight)

    def compare(self, X_a: Any, X_b: Any) -> np.ndarray:
        """Return the comparator's preference for a, row by row; one may be a single row."""
        X_a, X_b = read_pairs(self, X_a, X_b)
        both = np.concatenate([X_a, X_b])
        n_a, n_b = len(X_a), len(X_b)
        n = check_n_pairs(n_a, n_b)
        i, j = np.broadcast_to(np.arange(n_a), n), n_a + np.broadcast_to(np.arange(n_b), n)
        return self._preference(both)(i, j)

    def predict_pair_proba(self, X_a: Any, X_b: Any) -> np.ndarray:
        """Return the comparator's probability, row by row, that a is more relevant than b."""
        return pair_probability(_log_odds(self.compare(X_a, X_b)), self.calibration_slope_)

    @check_arguments
    def calibrate(self, X: Any, y: Any = None, qid: ByRow = None) -> Self:
        """Fit the probabilities of pairs and of relevance to documents that were not trained on."""
        rows, labels, queries = read_documents(
            self, X, y, qid
        )  # refuses batches before anything is set
        super().calibrate(X, y, qid)
        labels = check_labels(labels, len(rows))
        groups = QueryGroups.from_qid(queries, len(rows))
        documents = Rows(rows, columns=self.columns_)
        self._fit_calibration_slope(EvalSet(documents, labels, groups).judged())
        return self

    def _fit_calibration_slope(self, calibrating: EvalSet) -> None:
        """Fit the slope to the comparisons of different labels that sorting makes."""
        y = calibrating.y
        _, (i, j, preference) = sort_by_comparison(
            calibrating.groups, self._preference(calibrating.X)
        )
        margin, has_winner = _log_odds(preference), y[i] != y[j]
        won, n = (y[i] > y[j])[has_winner], np.count_nonzero(has_winner)
        if np.any(margin[has_winner]):  # each comparison is a query of two documents
            scores = np.append(margin[has_winner], np.zeros(n))
            self.calibration_slope_ = fit_calibration_slope(
                scores, np.append(won, ~won), np.tile(np.arange(n), 2)
            )

    def _preference(self, X: np.ndarray) -> Preference:
        """Return the function that compares rows of checked documents."""
        comparator = Comparator(**self.weights_)
        projected = comparator.project(self._standard(X))
        return lambda i, j: comparator.prefer(*projected, i, j)

    def _learn(self, data, held_out, seed):
        refuse_weights(self, data, {"given_pairs": "it chooses its pairs itself"})
        standardization = Standardization.of(Rows(data.X, order=data.rows))
        self.inputs_ = {"mean": standardization.mean, "scale": standardization.scale}
        X = self._standard(data.X[data.rows])
        if not np.ptp(X, axis=0).any():
            warn_of_equal_documents(len(X))
        self.references_ = X[np.linspace(0, len(X) - 1, min(len(X), _N_REFERENCES)).astype(int)]
        train = ComparedDocuments.of_training(X, data, self.metric)
        judge = train
        if held_out is not None:
            X = self._standard(held_out.X)
            judge = ComparedDocuments.of_held_out(X, held_out, self.metric)
        best = self._search(train, judge, seed)
        self.weights_ = {name: np.array(part) for name, part in best._asdict().items()}

    def _search(self, train, judge, seed):
        """Sort and train in turns; return the comparator whose ranking of ``judge`` is best.

        ``train`` and ``judge`` are :class:`ComparedDocuments`, ``judge`` being the held-out ones or
        ``train``.
        """
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
            wrong, wrong_to_judge = _union(wrong, more), _union(wrong_to_judge, more_to_judge)
            if turn == self.max_iter or wrong.shape[1] + wrong_to_judge.shape[1] == before:
                break
            comparator = self._train(comparator, train, wrong, judge, wrong_to_judge, seed + turn)
        if self.n_pairs_ or train.has_pairs:
            return best
        warn_of_constant_model("No query has two different labels")
        return best.without_preference()

    def _train(self, comparator, train, wrong, judge, wrong_to_judge, seed):
        """Return the comparator trained on the pairs ``wrong`` of ``train``; set ``n_pairs_``.

        The epoch that is best on the pairs ``wrong_to_judge`` of ``judge`` is kept. Without pairs,
        the comparator is returned as it is.
        """
        self.n_pairs_ = wrong.shape[1]
        if not wrong.shape[1]:
            return comparator
        weight, check = train.weight[wrong].prod(axis=0), partial(judge.error, pairs=wrong_to_judge)
        settings = self.n_epochs, int(self.batch_size), self.learning_rate, seed
        return comparator.trained(train.X, tuple(wrong), weight, check, *settings)

    def _scores(self, X):
        comparator, references = Comparator(**self.weights_), self.references_
        as_first, as_second = comparator.project(self._standard(X))
        other_first, other_second = comparator.project(references)
        scores = np.zeros(len(X))
        for first, second in zip(other_first, other_second, strict=True):
            both = np.broadcast_to(first, as_first.shape), np.broadcast_to(second, as_first.shape)
            i = np.arange(len(X))
            stacked = np.stack([as_first, both[0]]), np.stack([as_second, both[1]])
            scores += comparator.prefer(*stacked, (0, i), (1, i))
        return scores / len(references)

    def _lists(self, X, qid, *, serves=True):
        X, _, qid = read_documents(self, X, None, qid)
        warn_of_one_query(self, qid, len(X), serves=serves)
        groups, prefer = QueryGroups.from_qid(qid, len(X)), self._preference(X)
        return groups, sort_by_comparison(groups, prefer)[0]

    def _standard(self, X):
        return Standardization(**self.inputs_)(Rows(X), np.float64)


def _log_odds(preference):
    """Return the log odds of the probability that is (1 + preference) / 2."""
    size = np.minimum(np.abs(preference), 1 - 1e-15)
    return np.copysign(2 * np.arctanh(size), preference)


def _union(pairs, more):
    """Return the distinct pairs of two arrays of shape (2, n_pairs), sorted."""
    return np.unique(np.concatenate([pairs, more], axis=1), axis=1)
