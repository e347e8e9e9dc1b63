"""Logs in which all documents of a query are shown in random order."""

import numpy as np

from treerank.clicks import simulate_clicks


def random_log(n_sessions, *, n_queries=10, seed=0, **options):
    """Return a log of 8 documents of each query, of which a session shows 5."""
    rng = np.random.RandomState(seed)
    qid = np.repeat(np.arange(n_queries), 8)
    y, scores = rng.randint(5, size=len(qid)), rng.random_sample(len(qid))
    sizes = {"n_sessions": n_sessions // n_queries, "n_positions": 5, "exploration": 100.0}
    return simulate_clicks(y, qid, scores, **sizes | options, random_state=rng)
