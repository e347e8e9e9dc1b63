"""Drawn documents of ``bench_growth.py``, of any number of rows, features and queries."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, XGBoostTrees

PARTS = (LightGBMTrees, XGBoostTrees, HistogramTrees)
#: Rows that a ranker is fitted to where its fit is not measured.
FIT_ROWS = 2000


@dataclass(frozen=True)
class Data:
    """Drawn documents; five labels that lean on a few features."""

    n_rows: int
    n_features: int
    n_documents: int

    @cached_property
    def X(self):
        """Features in single precision."""
        rng = np.random.default_rng(0)
        return rng.standard_normal((self.n_rows, self.n_features), dtype=np.float32)

    @cached_property
    def scores(self):
        """Scores of the documents."""
        noise = np.random.default_rng(1).standard_normal(self.n_rows)
        return self.X[:, :5].sum(axis=1, dtype=np.float64) + 2 * noise

    @property
    def y(self):
        """Labels from 0 to 4."""
        return np.digitize(self.scores, [0, 2, 4, 6]).astype(np.float64)

    @property
    def qid(self):
        """Numbers of the queries, in ascending order."""
        return np.arange(self.n_rows) // self.n_documents

    def ranker(self, part):
        """Return a ranker of few trees on one thread."""
        return TreeDirectRanker(part(n_estimators=5, n_jobs=1), random_state=0)

    def fitted(self, part):
        """Return a ranker that was fitted to a part of the rows."""
        n = FIT_ROWS
        return self.ranker(part).fit(self.X[:n], self.y[:n], np.arange(len(self.X[:n])) // 100)
