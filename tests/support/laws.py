"""The laws that every ranker keeps, by name.

A law is a function of a ``Case`` that fails where its ranker breaks it. To add one, write it here,
and a mutant that breaks it in ``test_ranker_mutants.py``. Comparisons are of drawn documents, some
of which are equal.
"""

import os
import pickle
import tempfile
from functools import cached_property
from pathlib import Path
from types import FunctionType

import numba
import numpy as np
import sklearn
from ranking_sample import make_ranking_sample
from shared_kernels import shared_by
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

import treerank
from treerank import NDCG, QueryKFold
from treerank.numerics.threads import kernel_threads
from treerank.rankers.direct_ranker import DirectRanker, objective_for_labels

#: Some engines compute NDCG in single precision.
TOLERANCE = 1e-5


class Case:
    """A ranker, which is never fitted itself, and data to fit copies of it to."""

    def __init__(self, ranker, data):
        self.ranker, self.data = ranker, data

    @cached_property
    def fitted(self):
        return self.fit(self.data)

    @cached_property
    def scores(self):
        return np.asarray(self.fitted.predict(self.data.X))

    def unfitted(self, **changed):
        """Return a copy of the ranker; ``random_state=None`` becomes 0."""
        params = self.ranker.get_params()
        seeds = [name for name in params if name.split("__")[-1] == "random_state"]
        return clone(self.ranker).set_params(
            **dict.fromkeys([name for name in seeds if params[name] is None], 0), **changed
        )

    def fit(self, data, **changed):
        return _fitted(self.unfitted(**changed), data)

    def drawn(self, n_documents):
        """Draw documents with replacement; in the last draws, all documents are the same."""
        rows = np.random.default_rng(5).integers(len(self.data.X), size=(n_documents, 200))
        rows[:, -10:] = rows[0, -10:]
        return [self.data.X[some] for some in rows]


def _fitted(ranker, data):
    """Fit to a copy of the data, because a wrong ``fit`` may change it."""
    given = data.copy()
    return ranker.fit(given.X, given.y, qid=given.qid)


def row_order(case):
    """Rows of a query may be anywhere, in any order, and queries, too."""
    data = case.data
    shuffled = np.random.default_rng(1).permutation(len(data.y))
    for order in shuffled, np.concatenate(data.rows_by_query[::-1]):
        found = case.fit(data.taking(order)).predict(data.X)
        np.testing.assert_array_equal(found, case.scores)


def query_names(case):
    """Query ids may be texts, in any order."""
    places = np.random.default_rng(3).permutation(case.data.codes.max() + 1)
    names = np.array([f"query {place:05d}" for place in places[case.data.codes]])
    found = case.fit(case.data._replace(qid=names)).predict(case.data.X)
    np.testing.assert_array_equal(found, case.scores)


def form_of_features(case):
    """Features may be of single precision and stored column by column, and nothing writes to them.

    The features of the sample are multiples of 1/64.
    """
    given = case.data.copy()
    given = given._replace(X=np.asfortranarray(given.X.astype(np.float32)))
    ranker = case.unfitted().fit(given.X, given.y, qid=given.qid)
    np.testing.assert_array_equal(ranker.predict(given.X), case.scores)
    for name in ("X", "y", "qid"):
        np.testing.assert_array_equal(getattr(given, name), getattr(case.data, name))


def refit(case):
    """Equal rankers learn the same, also one that was fitted before; no fit sets a parameter."""
    ranker = case.unfitted()
    before = repr(ranker.get_params())
    for again in ranker, ranker, clone(ranker):
        found = _fitted(again, case.data).predict(case.data.X)
        np.testing.assert_array_equal(found, case.scores)
        assert repr(again.get_params()) == before


def threads(case):
    """The number of threads changes no score."""
    data = make_ranking_sample(n_queries=150)  # engines divide only large data among threads
    names = [name for name in case.ranker.get_params() if name.split("__")[-1] == "n_jobs"]
    with kernel_threads(1), threadpool_limits(1):
        alone = case.fit(data, **dict.fromkeys(names, 1)).predict(data.X)
    n_threads, before = max(2, os.cpu_count() or 1), numba.get_num_threads()
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)  # tests may have set fewer
    try:
        with shared_by(n_threads):  # otherwise kernels get one thread
            together = case.fit(data, **dict.fromkeys(names, n_threads)).predict(data.X)
    finally:
        numba.set_num_threads(before)
    np.testing.assert_array_equal(together, alone)


def copies(case):
    """A pickled and a saved model give the same scores."""
    load = getattr(case.ranker, "load", treerank.load)
    with tempfile.TemporaryDirectory() as folder:
        case.fitted.save(Path(folder) / "model")
        loaded = load(Path(folder) / "model")
    for copy in loaded, pickle.loads(pickle.dumps(case.fitted)):
        np.testing.assert_array_equal(copy.predict(case.data.X), case.scores)


def one_by_one(case):
    """The score of a document does not depend on the documents scored with it."""
    X = case.data.X
    np.testing.assert_array_equal(case.fitted.predict(X[::-1])[::-1], case.scores)
    alone = [case.fitted.predict(X[row : row + 1])[0] for row in range(20)]
    np.testing.assert_array_equal(alone, case.scores[:20])


def little_to_learn(case):
    """Labels may be all equal, queries of one document or without a relevant one."""
    data = case.data
    some_alone, without_relevance = data.qid.copy(), data.y.copy()
    first_rows = [rows[0] for rows in data.rows_by_query]
    some_alone[first_rows] = some_alone.max() + 1 + np.arange(len(first_rows))
    without_relevance[np.concatenate(data.rows_by_query[::2])] = 0
    for little in (
        *(data._replace(y=np.full_like(data.y, label)) for label in (0, 1)),
        data._replace(qid=some_alone).taking(np.argsort(some_alone, kind="stable")),
        data._replace(qid=np.arange(len(data.qid))),
        data._replace(y=without_relevance),
    ):
        fitted = case.fit(little)
        scores = fitted.predict(data.X)
        assert scores.shape == (len(data.X),)
        assert np.isfinite(scores).all()
    assert 0 <= fitted.score(data.X, without_relevance, qid=data.qid) <= 1


def shifted_scores(case):
    """Adding a number to all scores of a query does not change the gradient of the objective."""
    ranker, (_, y, qid) = case.ranker, case.data[:3]
    is_direct = isinstance(ranker, DirectRanker)
    objective = objective_for_labels(ranker, y, qid) if is_direct else ranker.objective(y, qid)
    rng = np.random.default_rng(4)
    scores = rng.integers(-32, 33, size=(len(case.data.y), objective.n_outputs)) / 16.0
    shift = rng.integers(-8, 9, size=(case.data.codes.max() + 1, 1))[case.data.codes]
    if objective.n_outputs == 1:
        scores, shift = scores[:, 0], shift[:, 0]
    both = (objective.derivatives(given) for given in (scores, scores + shift))
    for old, new in zip(*both, strict=True):
        np.testing.assert_allclose(new, old, rtol=0, atol=1e-6 * np.abs(old).max())


def ranks(case):
    """Ranks of a query are 1, 2, ..., n, and top_k returns the rows of the first, best first."""
    ranks = case.fitted.rank(case.data.X, qid=case.data.qid)
    top = case.fitted.top_k(case.data.X, qid=case.data.qid, k=3)
    for rows in case.data.rows_by_query:
        best_first = rows[np.argsort(ranks[rows])]
        assert ranks[best_first].tolist() == [*range(1, len(rows) + 1)]
        assert top[np.isin(top, rows)].tolist() == best_first[:3].tolist()


def ranks_agree_with_predict(case):
    """Within each query, no document is ranked above a document with a higher score."""
    ranks = case.fitted.rank(case.data.X, qid=case.data.qid)
    for rows in case.data.rows_by_query:
        assert (np.diff(case.scores[rows[np.argsort(ranks[rows])]]) <= 0).all()


def score_is_ndcg(case):
    """Without tied scores and empty queries, the score is the mean NDCG@10."""
    kept = []
    for rows in case.data.rows_by_query:  # one row for each score: the most relevant one
        best_first = rows[np.argsort(-case.data.y[rows], kind="stable")]
        kept += best_first[np.unique(case.scores[best_first], return_index=True)[1]].tolist()
    plain = case.data.taking(np.sort(kept))
    expected = NDCG(k=10)(plain.y, case.fitted.predict(plain.X), plain.qid)
    assert abs(case.fitted.score(plain.X, plain.y, qid=plain.qid) - expected) <= TOLERANCE


def ties(case):
    """The score does not depend on the order of rows with tied scores."""
    y, qid = case.data.y, case.data.qid
    X = case.data.X[np.unique(qid, return_index=True)[1]][case.data.codes]
    high, low = (
        case.fitted.score(X[rows], y[rows], qid=qid[rows])
        for rows in (np.lexsort((-y, qid)), np.lexsort((y, qid)))
    )
    assert abs(high - low) <= TOLERANCE


def grid_search(case):
    """GridSearchCV passes qid to the splitter, to fit and to score."""
    given, cv, by_hand = case.data.copy(), QueryKFold(2), []
    for train, test in cv.split(given.X, qid=given.qid):
        fitted = case.fit(case.data.taking(train))
        by_hand.append(fitted.score(given.X[test], given.y[test], qid=given.qid[test]))
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(case.unfitted(), {}, cv=cv, error_score="raise")
        search.fit(given.X, given.y, qid=given.qid)
    assert abs(search.best_score_ - np.mean(by_hand)) <= TOLERANCE
    np.testing.assert_array_equal(search.predict(case.data.X), case.scores)


def antisymmetry(case):
    """r(b, a) is -r(a, b), and a number, so that one of both is at least 0."""
    a, b = case.drawn(2)
    assert (case.fitted.compare(a, b) == -case.fitted.compare(b, a)).all()


def comparing_agrees_with_predict(case):
    """r(a, b) has the sign of the difference of the two scores; hence it is transitive."""
    a, b = case.drawn(2)
    margin = case.fitted.predict(a) - case.fitted.predict(b)
    np.testing.assert_array_equal(np.sign(case.fitted.compare(a, b)), np.sign(margin))


def pair_probabilities(case):
    """p(a, b) + p(b, a) = 1, both lie between 0 and 1, and p(a, a) is one half."""
    a, b = case.drawn(2)
    forth, back = case.fitted.predict_pair_proba(a, b), case.fitted.predict_pair_proba(b, a)
    assert (np.abs(forth + back - 1) <= _rounding(forth)).all()
    assert min(forth.min(), back.min()) >= 0
    assert (case.fitted.predict_pair_proba(a, a) == 0.5).all()


def chained_pair_probabilities(case):
    """P(a over c) follows from P(a over b) and P(b over c): equation 5 of RankNet."""
    probability, (a, b, c) = case.fitted.predict_pair_proba, case.drawn(3)
    p, q = probability(a, b).astype(float), probability(b, c).astype(float)
    chained = p * q / (1 + 2 * p * q - p - q)
    # Near 1, the digits of 1 - p are lost.
    exact = (np.abs(p - 0.5) < 0.499) & (np.abs(q - 0.5) < 0.499)
    np.testing.assert_allclose(probability(a, c)[exact], chained[exact], rtol=1e-5)


def pseudometric(case):
    """d(a, a) = 0, d(a, b) = d(b, a) >= 0, and d(a, b) <= d(a, c) + d(c, b)."""
    distance, (a, b, c) = case.fitted.distance, case.drawn(3)
    forth = distance(a, b)
    assert (distance(a, a) == 0).all()
    assert (forth >= 0).all()
    assert (forth == distance(b, a)).all()
    assert (forth <= distance(a, c) + distance(c, b) + _rounding(forth)).all()


def _rounding(values):
    """Return the rounding error of a sum of two values, which may have single precision."""
    return 4 * np.finfo(values.dtype).eps * np.abs(values).max()


LAWS = {
    name: law
    for name, law in list(vars().items())
    if isinstance(law, FunctionType) and law.__module__ == __name__ and name[0] != "_"
}
