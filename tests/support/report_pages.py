"""Pages of reports, with names that would be harmful if they were HTML."""

import numpy as np
import pandas as pd

from treerank import report
from treerank.baselines import RankSVM

#: Text that would run, load or end something if it were not escaped.
HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
NAMES = ["plain", HOSTILE, "a & b", '"quoted"', "<b>bold</b>"]


def documents(n_queries, seed=0, size=12):
    """Draw documents as a data frame with hostile names, labels and query ids."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * size, len(NAMES))).round(2)
    X[rng.random(X.shape) < 0.05] = np.nan
    noise = rng.normal(size=len(X))
    y = np.clip(np.round(np.nan_to_num(X[:, 0] + X[:, 1]) + noise), 0, 4)
    qid = np.array([f"{HOSTILE if q == 3 else 'query'} {q}" for q in range(n_queries)])
    return pd.DataFrame(X, columns=NAMES), y, np.repeat(qid, size)


def ranker():
    """Return a ranker that knows the hostile names."""
    return RankSVM().fit(*documents(40, seed=1))


def page(n_queries, size=12, **options):
    """Return a report with a baseline and training data."""
    X, y, qid = documents(n_queries, size=size)
    given = {"baseline": X["plain"].fillna(0), "train": documents(40, seed=1), "title": HOSTILE}
    given |= {"document_names": [f"{HOSTILE[:12]} {row}" for row in range(len(y))]}
    return report(ranker(), X, y, qid, **given | options)
