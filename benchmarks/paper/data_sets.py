"""Data sets: folders of LETOR files, cut and labeled as in the papers.

A folder holds ``Fold1`` to ``Fold5`` (LETOR, MSLR-WEB), or parts ``S1.txt`` to ``S5.txt``: each
part is the test set once, the next one validates, the other three train. Or it holds ``msrd.npz``,
whose first two folds train, the third validates, and the others test. ``synthetic`` stands for
queries of our own generator, which needs no files.
"""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from treerank.datasets.folds import load_folds
from treerank.datasets.letor import read_letor
from treerank.datasets.web_search import make_web_search
from treerank.documents.ranking_data import RankingData
from treerank.evaluation import Split
from treerank.metrics import NDCG, AveragePrecision

_PART = re.compile(r"S\d+\.txt")


def name_of(folder):
    """Return the name of a data set."""
    return Path(folder).name


def read_splits(folder, *, binary=False, keep_empty=False, tiny=False):
    """Read the folds of a folder.

    Parameters
    ----------
    folder : path or "synthetic"
        See the docstring of this module.
    binary : bool, default=False
        Whether to merge the labels into relevant and not: from 2 on where there are labels of 3
        and 4, else from 1 on, as in section 4.3 of the DirectRanker paper.
    keep_empty : bool, default=False
        Whether to keep queries without a relevant document, which section 4.4 leaves out.
    tiny : bool, default=False
        Whether the synthetic queries are as few and short as they can be.

    Returns
    -------
    list of Split
    """
    splits = _synthetic(tiny) if str(folder) == "synthetic" else _read(Path(folder))
    highest = max(split.train.y.max() for split in splits)

    def prepared(data):
        data = replace(data, y=binarized(data.y, highest)) if binary else data
        return data if keep_empty else answered(data)

    return [
        Split(s.name, prepared(s.train), prepared(s.test), prepared(s.validation)) for s in splits
    ]


def whole(splits):
    """Return the data that folds were made of, whose test sets do not overlap."""
    tests = [split.test for split in splits]
    return RankingData(*(np.concatenate(arrays) for arrays in zip(*tests, strict=True)))


def without_validation(splits):
    """Return the folds for a search within their training sets."""
    return [replace(split, validation=None) for split in splits]


def answered(data):
    """Leave out queries without a relevant document."""
    _, codes = np.unique(data.qid, return_inverse=True)
    kept = np.bincount(codes, data.y > 0)[codes] > 0
    return RankingData(data.X[kept], data.y[kept], data.qid[kept])


def binarized(y, highest):
    """Return 1 for what is relevant."""
    return (y >= lowest_relevant(highest)).astype(np.float64)


def lowest_relevant(highest):
    """Return the lowest label that is relevant, given the highest label of the data."""
    return 2 if highest > 2 else 1


def binary_metrics(highest, **settings):
    """Return NDCG@10 and MAP on test labels made binary, whatever labels training has."""
    threshold = lowest_relevant(highest)
    gain = [float(label >= threshold) for label in range(int(highest) + 1)]
    return NDCG(k=10, gain=gain, **settings), AveragePrecision(threshold=threshold, **settings)


def document_holdouts(data, n_holdouts, *, at_least=10):
    """Return hold-outs of a third of the documents, as the paper's authors cut them.

    A query has documents in both sets. Queries of fewer documents than ``at_least`` are left out.
    """
    _, codes, sizes = np.unique(data.qid, return_inverse=True, return_counts=True)
    long_enough = np.flatnonzero(sizes[codes] >= at_least)
    n_test = round(0.33 * len(long_enough))
    splits = []
    for seed in range(n_holdouts):
        rows = np.random.default_rng(seed).permutation(long_enough)
        test, train = (np.sort(part) for part in (rows[:n_test], rows[n_test:]))
        parts = [RankingData(data.X[r], data.y[r], data.qid[r]) for r in (train, test)]
        splits.append(Split(f"{seed + 1:02d}", *parts))
    return splits


def _read(folder):
    if (folder / "msrd.npz").exists():
        return [_read_msrd(folder / "msrd.npz")]
    parts = sorted(p for p in folder.iterdir() if _PART.fullmatch(p.name))
    if not parts:
        return list(load_folds(folder))
    return _rotated([read_letor(part) for part in parts])


def _read_msrd(path):
    """Read the Movie Search Ranking Dataset as one split."""
    with np.load(path) as data:
        X, y, qid, fold = (data[name] for name in ("X", "y", "qid", "fold"))
    cuts = fold < 2, fold > 2, fold == 2
    return Split("1", *(RankingData(X[c], y[c].astype(np.float64), qid[c]) for c in cuts))


def _synthetic(tiny):
    size = {"documents_per_query": 10} if tiny else {}
    X, y, qid = make_web_search(40 if tiny else 250, random_state=0, **size)
    n_parts = 3 if tiny else 5
    parts = [qid % n_parts == i for i in range(n_parts)]
    return _rotated([RankingData(X[p], y[p].astype(np.float64), qid[p]) for p in parts])


def _rotated(parts):
    n_parts, splits = len(parts), []
    for test in range(n_parts):
        rest = [parts[(test + s) % n_parts] for s in range(2, n_parts)]
        train = RankingData(*(np.concatenate(arrays) for arrays in zip(*rest, strict=True)))
        splits.append(Split(f"Fold{test + 1}", train, parts[test], parts[(test + 1) % n_parts]))
    return splits
