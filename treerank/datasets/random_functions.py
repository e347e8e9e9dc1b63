"""Random target functions: the synthetic data of the RankNet paper.

Features are uniform in [-1, 1]. The relevance of a document is a function of its features: a random
network, which a network of the same shape can learn, or a random cubic polynomial, which is much
more difficult [1]_. The values of the function are divided into relevance levels of equal size. The
paper does not give the number of levels, but its numbers of pairs (20,382 of 24,500 for 20 queries
of 50 documents) are those of six levels, where a sixth of the pairs is tied.

References
----------
.. [1] Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender (2005). Learning to rank
   using gradient descent. ICML. Section 5.1.
"""

import numpy as np

from treerank.checks import check_count
from treerank.datasets.generator_arguments import RandomState, as_generator, check_cells


def make_random_network(
    n_queries: int = 1000,
    *,
    documents_per_query: int = 50,
    n_features: int = 50,
    n_hidden: int = 10,
    n_levels: int | None = 6,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make data ranked by a two-layer tanh network with weights uniform in [-1, 1].

    Parameters
    ----------
    n_queries : int, default=1000
        Number of queries; the paper trains on up to 800, validates on 100 and tests on 100.
    documents_per_query : int, default=50
        Rows of each query.
    n_features : int, default=50
        Number of columns, each uniform in [-1, 1].
    n_hidden : int, default=10
        Number of hidden units. There are no biases, and the output is linear: any increasing
        function of the output would give the same levels.
    n_levels : int or None, default=6
        Number of relevance levels, equally frequent in the whole data; ``None`` returns the
        values of the function.
    random_state : int, Generator, RandomState or None, default=None
        Seed; the same seed gives the same data.

    Returns
    -------
    X : ndarray of shape (n_documents, n_features)
        Features.
    y : ndarray of shape (n_documents,)
        Levels from 0 to ``n_levels - 1``, or values of the function.
    qid : ndarray of shape (n_documents,)
        Query of each row, from 0.

    Examples
    --------
    >>> X, y, qid = make_random_network(n_queries=6, documents_per_query=5, random_state=0)
    >>> X.shape, np.bincount(y)
    ((30, 50), array([5, 5, 5, 5, 5, 5]))
    """
    check_cells(n_features=n_features, n_hidden=n_hidden)
    X, qid, rng = _uniform_documents(
        n_queries, documents_per_query, n_features, n_levels, random_state
    )
    hidden = np.tanh(X @ rng.uniform(-1, 1, (n_features, n_hidden)))
    return X, _in_levels(hidden @ rng.uniform(-1, 1, n_hidden), n_levels), qid


def make_random_polynomial(
    n_queries: int = 1000,
    *,
    documents_per_query: int = 50,
    n_features: int = 50,
    n_levels: int | None = 6,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Make data ranked by a random cubic polynomial.

    The target is the mean of a linear, a quadratic and a cubic term, each scaled to zero mean
    and unit variance over the data:

    .. math:: \sum_i a_i x_i, \quad \sum_i x_i x_{Q(i)}, \quad \sum_i x_i x_{R(i)} x_{S(i)},

    with ``a`` uniform in [-1, 1] and Q, R, S random permutations of the features.

    Parameters
    ----------
    n_queries : int, default=1000
        Number of queries; the paper trains on up to 800, validates on 100 and tests on 100.
    documents_per_query : int, default=50
        Rows of each query.
    n_features : int, default=50
        Number of columns, each uniform in [-1, 1].
    n_levels : int or None, default=6
        Number of relevance levels, equally frequent in the whole data; ``None`` returns the
        values of the function.
    random_state : int, Generator, RandomState or None, default=None
        Seed; the same seed gives the same data.

    Returns
    -------
    X : ndarray of shape (n_documents, n_features)
        Features.
    y : ndarray of shape (n_documents,)
        Levels from 0 to ``n_levels - 1``, or values of the function.
    qid : ndarray of shape (n_documents,)
        Query of each row, from 0.

    Examples
    --------
    >>> X, y, qid = make_random_polynomial(n_queries=6, documents_per_query=5, random_state=0)
    >>> X.shape, np.bincount(y)
    ((30, 50), array([5, 5, 5, 5, 5, 5]))
    """
    X, qid, rng = _uniform_documents(
        n_queries, documents_per_query, n_features, n_levels, random_state
    )
    q, r, s = (rng.permutation(n_features) for _ in range(3))
    linear = X @ rng.uniform(-1, 1, n_features)
    quadratic = np.einsum("ni,ni->n", X, X[:, q])
    cubic = np.einsum("ni,ni,ni->n", X, X[:, r], X[:, s])
    target = np.mean([_standardized(term) for term in (linear, quadratic, cubic)], axis=0)
    return X, _in_levels(target, n_levels), qid


def _uniform_documents(n_queries, documents_per_query, n_features, n_levels, random_state):
    """Return features, query ids and the random generator for the target function."""
    counts = {"n_queries": n_queries, "documents_per_query": documents_per_query}
    check_cells(**counts, n_features=n_features)
    if n_levels is not None:
        check_count("n_levels", n_levels, at_least=2, at_most=2**31 - 1)
    rng = as_generator(random_state)
    qid = np.repeat(np.arange(n_queries), documents_per_query)
    return rng.uniform(-1, 1, (len(qid), n_features)), qid, rng


def _standardized(term):
    """Return a term with mean 0 and, unless it is constant, standard deviation 1."""
    deviation = term.std()
    return (term - term.mean()) / (deviation if deviation > 0 else 1.0)


def _in_levels(values, n_levels):
    """Return the level of each value; levels have equal size. ``None`` returns the values."""
    if n_levels is None:
        return values
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return ranks * n_levels // len(values)
