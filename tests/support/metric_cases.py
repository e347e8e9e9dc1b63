"""Every metric with and without a cut, and judged documents to measure."""

import numpy as np
import pytest

from treerank.metrics import METRICS, get_metric

CUTS = ("", "@1", "@3", "@100")
WITHOUT_CUT = ("pairwise_accuracy", "bpref")
NAMES = [stem + cut for stem in METRICS for cut in CUTS if stem not in WITHOUT_CUT or not cut]
every_metric = pytest.mark.parametrize("metric", [get_metric(n) for n in NAMES], ids=NAMES)


def make_judged(n_queries=40, n_documents=600, seed=0):
    """Labels, scores and query ids, with ties of scores and queries without relevance."""
    rng = np.random.default_rng(seed)
    qid = rng.integers(n_queries, size=n_documents)
    y = np.minimum(rng.poisson(0.8, n_documents), 4)
    y[np.unique(qid, return_index=True)[1]] = 2
    y[qid % 10 == 7] = 0
    return y, np.round(y + 2 * rng.normal(size=n_documents), 1), qid
