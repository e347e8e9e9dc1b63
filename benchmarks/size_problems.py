"""Problems of ``bench_default_sizes.py``: queries to learn from, and others to measure on.

LETOR's sets give their training and validation parts, ClueWeb09 three parts to learn from and the
next one. MSRD gives draws of its folds 0 to 2. None reads a part that other scripts test on.
"""

import functools
from pathlib import Path

import numpy as np

from treerank import make_web_search, read_letor

DATA = Path(__file__).parents[2] / "shared" / "data"
MEASURED = 2000
FAMILIES = {
    f"msrd {n}": [f"msrd {n} {draw}" for draw in range(4 if n <= 300 else 1)]
    for n in (30, 100, 300, 1000, 3000)
}
FAMILIES |= {
    name: [f"{name} {fold}" for fold in range(5)] for name in ("mq2008", "ohsumed", "clueweb09")
}
FAMILIES["mslr sample"] = ["mslr_web30k_sample 0"]
for n, documents, noise in ((100, 20, 0.5), (300, 100, 0.3), (1000, 20, 0.3), (100, 1000, 0.3)):
    FAMILIES[f"web {n}x{documents}"] = [f"web {n} {documents} {noise} {draw}" for draw in range(2)]


def problem(name):
    """Return X, y, qid to learn from, and X, y, qid to measure on."""
    kind, *words = name.split()
    if kind == "msrd":
        return _msrd(*map(int, words))
    if kind == "web":
        return _web(int(words[0]), int(words[1]), float(words[2]), int(words[3]))
    fold = int(words[0])
    if kind == "clueweb09":
        parts = [f"S{place + 1}.txt" for place in range(5)]
        measured = parts[(fold + 1) % 5]
        learned = [part for part in parts if part not in (parts[fold], measured)]
    else:
        folder = "" if kind.startswith("mslr") else f"Fold{fold + 1}/"
        learned, measured = [f"{folder}train.txt"], f"{folder}vali.txt"
    columns = zip(*(_letor(DATA / kind / part) for part in learned), strict=True)
    return *map(np.concatenate, columns), *_letor(DATA / kind / measured)


@functools.cache
def _letor(path):
    return tuple(read_letor(path))


@functools.cache
def _folds():
    data = np.load(DATA / "msrd" / "msrd.npz")
    kept = data["fold"] < 3
    return tuple(data[column][kept] for column in ("X", "y", "qid"))


def _msrd(n, draw):
    queries = np.random.default_rng(5).permutation(np.unique(_folds()[2]))
    first = MEASURED + draw * n
    return *_of(_folds(), queries[first : first + n]), *_of(_folds(), queries[:MEASURED])


def _web(n, documents, noise, draw):
    """Return queries of web search, where a share of the labels belongs to other documents."""
    rng = np.random.default_rng(draw)
    X, y, qid = make_web_search(n + 1000, documents_per_query=documents, random_state=draw)
    rows = np.flatnonzero(rng.random(len(y)) < noise)
    y[rows] = y[rng.permutation(rows)]
    queries = rng.permutation(np.unique(qid))
    return *_of((X, y, qid), queries[:n]), *_of((X, y, qid), queries[n:])


def _of(columns, queries):
    rows = np.isin(columns[2], queries)
    return tuple(column[rows] for column in columns)
