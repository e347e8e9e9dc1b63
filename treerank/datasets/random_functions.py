"""Random target functions: the artificial data of the RankNet paper.

Vectors with components uniform in [-1, 1] are ranked by a random network, which a network of
the same shape can learn, or by a random cubic polynomial, which is much harder [1]_. The value
of the function is binned into relevance levels of equal size: the numbers of pairs that the
paper gives (20,382 of 24,500 for 20 queries of 50 documents) are those of six equal bins, a
sixth of the pairs being tied.

References
----------
.. [1] Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender (2005). Learning to rank
   using gradient descent. ICML. Section 5.1.
"""

import numpy as np

from treerank.checks import check_count
from treerank.datasets.arguments import as_generator


def make_random_network(
    n_queries=1000,
    *,
    documents_per_query=50,
    n_features=50,
    n_hidden=10,
    n_levels=6,
    random_state=None,
):
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
        Hidden units. There are no biases, and the output unit is linear: any increasing
        function of it gives the same levels.
    n_levels : int or None, default=6
        Relevance levels, equally frequent over the whole data; ``None`` returns the value of
        the function itself.
    random_state : int, Generator, RandomState or None, default=None
        Seed; the same one gives the same data.

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
    >>> from treerank.datasets.random_functions import make_random_network
    >>> X, y, qid = make_random_network(n_queries=6, documents_per_query=5, random_state=0)
    >>> X.shape, np.bincount(y)
    ((30, 50), array([5, 5, 5, 5, 5, 5]))
    """
    check_count("n_hidden", n_hidden)
    X, qid, rng = _uniform_documents(
        n_queries, documents_per_query, n_features, n_levels, random_state
    )
    hidden = np.tanh(X @ rng.uniform(-1, 1, (n_features, n_hidden)))
    return X, _in_levels(hidden @ rng.uniform(-1, 1, n_hidden), n_levels), qid


def make_random_polynomial(
    n_queries=1000, *, documents_per_query=50, n_features=50, n_levels=6, random_state=None
):
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
        Relevance levels, equally frequent over the whole data; ``None`` returns the value of
        the function itself.
    random_state : int, Generator, RandomState or None, default=None
        Seed; the same one gives the same data.

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
    >>> from treerank.datasets.random_functions import make_random_polynomial
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
    """Documents without labels, and the generator to go on with."""
    check_count("n_queries", n_queries)
    check_count("documents_per_query", documents_per_query)
    check_count("n_features", n_features)
    if n_levels is not None:
        check_count("n_levels", n_levels, at_least=2)
    rng = as_generator(random_state)
    qid = np.repeat(np.arange(n_queries), documents_per_query)
    return rng.uniform(-1, 1, (len(qid), n_features)), qid, rng


def _standardized(term):
    deviation = term.std()
    # One document, or one constant term: nothing to scale.
    return (term - term.mean()) / (deviation if deviation > 0 else 1.0)


def _in_levels(values, n_levels):
    """Bins of equal frequency, from the ranks; the values themselves for ``None``."""
    if n_levels is None:
        return values
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return ranks * n_levels // len(values)
