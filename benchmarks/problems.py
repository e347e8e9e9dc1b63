"""Problems: queries to learn from and others to measure on, of many sizes.

LETOR's sets give their training and validation parts, ClueWeb09 three parts to learn from and the
next one. MSRD gives draws of its folds 0 to 2. None reads a part that other questions test on.
"""

import numpy as np

from treerank import make_web_search

from . import data

MEASURED = 2000
#: Problems of up to 471 queries.
FAMILIES = {
    f"MSRD, {n:,} queries": [("MSRD", n, draw) for draw in range(4)] for n in (30, 100, 300)
}
FAMILIES |= {
    name: [(name, fold) for fold in range(5)] for name in ("MQ2008", "OHSUMED", "ClueWeb09")
}
FAMILIES["MSLR sample"] = [("MSLR sample", 0)]
for _n, _documents, _noise in ((100, 20, 0.5), (300, 100, 0.3), (100, 1000, 0.3)):
    FAMILIES[f"synthetic, {_n:,} x {_documents:,}"] = [
        ("synthetic", _n, _documents, _noise, draw) for draw in range(2)
    ]
#: Problems of many queries, by data set. The largest have short queries: a fit takes minutes.
MANY = {"MSRD": [("MSRD", n, draw) for n, draw in ((1000, 0), (1000, 1), (3000, 0), (4800, 0))]}
MANY |= {
    f"synthetic, {noise:.0%} noise".replace("%", " %"): [
        ("synthetic", n, documents, noise, 0)
        for n, documents in ((1000, 20), (3000, 20), (10_000, 10), (30_000, 10))
        if n < 10_000 or noise == 0.3
    ]
    for noise in (0.3, 0.5)
}
TINY = {"tiny": [("synthetic", 12, 8, 0.3, 0)]}


def problem(options, kind, *numbers):
    """Return X, y, qid to learn from, and X, y, qid to measure on."""
    if kind == "MSRD":
        return _msrd(options, *numbers)
    if kind == "synthetic":
        return _synthetic(*numbers)
    (fold,) = numbers
    folder = options.data / data.DATA_SETS[kind].folder
    if kind == "ClueWeb09":
        parts = [data.letor(folder / f"S{number}.txt") for number in range(1, 6)]
        measured = (fold + 1) % 5
        learned = data.joined(*(parts[n] for n in range(5) if n not in (fold, measured)))
        return *learned, *parts[measured]
    if kind != "MSLR sample":
        folder = folder / f"Fold{fold + 1}"
    return *data.letor(folder / "train.txt"), *data.letor(folder / "vali.txt")


def _msrd(options, n, draw):
    *columns, fold = data.msrd_by_fold(options.data)
    part = tuple(column[fold < 3] for column in columns)
    queries = np.random.default_rng(5).permutation(np.unique(part[2]))
    first = MEASURED + draw * n
    learned = data.of_queries(part, queries[first : first + n])
    return *learned, *data.of_queries(part, queries[:MEASURED])


def _synthetic(n, documents, noise, draw):
    """Return queries of web search, where a share of the labels belongs to other documents."""
    rng, others = np.random.default_rng(draw), 20 if n < 20 else 1000 if n <= 1000 else 2000
    others = min(others, 200_000 // documents)
    X, y, qid = make_web_search(n + others, documents_per_query=documents, random_state=draw)
    rows = np.flatnonzero(rng.random(len(y)) < noise)
    y[rows] = y[rng.permutation(rows)]
    queries, part = rng.permutation(np.unique(qid)), (X, y, qid)
    return *data.of_queries(part, queries[:n]), *data.of_queries(part, queries[n:])
