"""Folds of ``bench_first_line.py``: what is learned from, and what is tested on.

Validation parts are left out. MSRD's folds 0 to 2 train and its folds 3 and 4 test.
"""

import functools

import numpy as np

from treerank import make_web_search, read_letor

FIVE = ("mq2008", "ohsumed", "clueweb09")
WEB = {"web 50x40": (50, 40), "web 300x40": (300, 40), "web 1500x120": (1500, 120)}
SETS = (*FIVE, "mslr_web30k_sample", "msrd", *WEB)


def folds(data, name):
    """Yield (train, test), each X, y, qid."""
    if name == "msrd":
        yield _msrd(data / name / "msrd.npz")
    elif name in WEB:
        yield _web(*WEB[name])
    elif name == "clueweb09":
        parts = [tuple(read_letor(data / name / f"S{place}.txt")) for place in range(1, 6)]
        for place, test in enumerate(parts):
            out = place, (place + 1) % 5
            learned = [part for other, part in enumerate(parts) if other not in out]
            yield tuple(map(np.concatenate, zip(*learned, strict=True))), test
    else:
        folders = [f"Fold{fold}" for fold in range(1, 6)] if name in FIVE else ["."]
        for folder in folders:
            yield tuple(
                tuple(read_letor(data / name / folder / f"{part}.txt"))
                for part in ("train", "test")
            )


def _msrd(path):
    data = np.load(path)
    columns, test = [data[column] for column in ("X", "y", "qid")], data["fold"] > 2
    return tuple(column[~test] for column in columns), tuple(column[test] for column in columns)


@functools.cache
def _web(n_queries, documents):
    """Return noisy queries of web search: a third of the labels belongs to other documents."""
    X, y, qid = make_web_search(n_queries + 1000, documents_per_query=documents, random_state=0)
    rng = np.random.default_rng(0)
    rows = np.flatnonzero(rng.random(len(y)) < 1 / 3)
    y[rows] = y[rng.permutation(rows)]
    train = qid < n_queries
    return tuple(c[train] for c in (X, y, qid)), tuple(c[~train] for c in (X, y, qid))
