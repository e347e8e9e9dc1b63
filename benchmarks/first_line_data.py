"""Folds of ``bench_first_line.py``: what is learned from, and what is tested on.

Validation parts are left out where they are not asked for. MSRD's folds 0 to 2 train and its folds
3 and 4 test; it and the web searches have no validation part, so it is a fifth of the queries.
"""

import functools

import numpy as np

from treerank import QueryShuffleSplit, make_web_search, read_letor

FIVE = ("mq2008", "ohsumed", "clueweb09")
WEB = {"web 50x40": (50, 40), "web 300x40": (300, 40), "web 1500x120": (1500, 120)}
SETS = (*FIVE, "mslr_web30k_sample", "msrd", *WEB)


def folds(data, name, with_validation):
    """Yield (train, validation, test), each X, y, qid; without validation, it is ``None``."""
    if name == "msrd" or name in WEB:
        train, test = _msrd(data / name / "msrd.npz") if name == "msrd" else _web(*WEB[name])
        validation = None
        if with_validation:
            splitter = QueryShuffleSplit(1, random_state=0)
            rows = next(splitter.split(*train))
            train, validation = (tuple(column[part] for column in train) for part in rows)
        yield train, validation, test
    elif name == "clueweb09":
        parts = [tuple(read_letor(data / name / f"S{place}.txt")) for place in range(1, 6)]
        for place, test in enumerate(parts):
            out = place, (place + 1) % 5
            learned = [part for other, part in enumerate(parts) if other not in out]
            yield tuple(map(np.concatenate, zip(*learned, strict=True))), parts[out[1]], test
    else:
        folders = [f"Fold{fold}" for fold in range(1, 6)] if name in FIVE else ["."]
        for folder in folders:
            yield tuple(
                tuple(read_letor(data / name / folder / f"{part}.txt"))
                for part in ("train", "vali", "test")
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
