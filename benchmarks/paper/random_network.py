"""A random network as target function: the synthetic data of the RankNet paper, section 5.1.

Features are uniform in [-1, 1]. The paper does not give the number of relevance levels, but its
numbers of pairs (20,382 of 24,500 for 20 queries of 50 documents) are those of six levels, where a
sixth of the pairs is tied.
"""

import numpy as np

N_FEATURES, N_HIDDEN, PER_QUERY, N_LEVELS = 50, 10, 50, 6


def make_random_network(n_queries, *, random_state=None):
    """Return X, levels of relevance, the values of the function, and qid.

    The function is a two-layer tanh network without biases, of weights uniform in [-1, 1]. Its
    values are divided into levels that are equally frequent in the whole data.
    """
    rng, qid = np.random.default_rng(random_state), np.repeat(np.arange(n_queries), PER_QUERY)
    X = rng.uniform(-1, 1, (len(qid), N_FEATURES))
    hidden = np.tanh(X @ rng.uniform(-1, 1, (N_FEATURES, N_HIDDEN)))
    values = hidden @ rng.uniform(-1, 1, N_HIDDEN)
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return X, ranks * N_LEVELS // len(values), values, qid
