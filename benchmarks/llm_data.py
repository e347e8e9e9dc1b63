"""Labels of people and of a simulated LLM judge, for training on both.

The labels of two public data sets are taken as people's. The LLM's grades from 0 to 3 are simulated
from them, with noise of each document:

* "fair": depends on the label alone;
* "likes words": raises documents that stand high in a ranking by BM25, whatever their label;
* "poor": depends little on the label.

The archive of MSRD and the folder of MQ2008 are not in the repository.
"""

from dataclasses import dataclass

import numpy as np

from treerank import make_web_search
from treerank.datasets import load_folds
from treerank.reranking import fuse

JUDGES = ("fair", "likes words", "poor")
SETS = ("msrd", "mq2008")
#: Slope of the label, of the position by BM25, and standard deviation of the noise, by judge.
_LATENT = {
    "msrd": {"fair": (1.6, 0, 1), "likes words": (1.0, 1.6, 0.8), "poor": (0.7, 0.4, 1)},
    "mq2008": {"fair": (1.0, 0, 0.8), "likes words": (0.6, 1.6, 0.8), "poor": (0.4, 0.3, 0.8)},
}
_LATENT["drawn"] = _LATENT["mq2008"]
_THRESHOLDS = [0.8, 1.5, 2.2]


@dataclass(frozen=True, eq=False)
class Judged:
    """Documents with people's labels, the LLM's grades, and a score by words."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray
    bm25: np.ndarray

    def take(self, rows):
        """Return some documents."""
        return Judged(self.X[rows], self.y[rows], self.qid[rows], self.bm25[rows])


def read(name, path):
    """Return the documents of a data set whose queries have a relevant document."""
    if name == "drawn":
        X, y, qid = make_web_search(60, documents_per_query=12, n_features=10, random_state=0)
        y, bm25 = np.clip(y, 0, 2), X[:, 0]
    elif name == "msrd":
        archive = np.load(path)
        names = archive["names"].tolist()
        numbers = np.setdiff1d(np.arange(len(names)), archive["categorical"])
        X = archive["X"][:, numbers].astype(np.float64)
        y, qid = archive["y"].astype(np.float64), archive["qid"]
        bm25 = np.nan_to_num(X[:, names.index("tags_bm25")] + X[:, names.index("overview_bm25")])
    else:
        fold = next(iter(load_folds(path)))
        sets = fold.train, fold.validation, fold.test
        X, y, qid = (np.concatenate([[*part][i] for part in sets]) for i in range(3))
        bm25 = X[:, 24]  # feature 25: BM25 of the whole document
    kept = np.isin(qid, np.unique(qid[y > 0]))
    return Judged(X[kept], y[kept], qid[kept], bm25[kept])


def grades(name, judge, data, rng):
    """Return the LLM's grades of all documents."""
    of_label, of_words, noise = _LATENT[name][judge]
    codes = np.unique(data.qid, return_inverse=True)[1]
    position = 1 / fuse({"bm25": data.bm25}, codes, k=1) - 2  # 0 is the first of its query
    relative = position / np.bincount(codes)[codes]
    latent = of_label * data.y + of_words * np.clip(1 - 2 * relative, 0, 1)
    return np.digitize(latent + noise * rng.normal(size=len(codes)), _THRESHOLDS).astype(float)
