"""Click cells: a data set, a way to click and a severity, with NDCG@10 of each ranker on it."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
from click_rankers import WAYS, drawn_clicks, rankers

from treerank import NDCG, make_web_search
from treerank.baselines.linear.ranksvm import RankSVM
from treerank.clicks import simulate_clicks

sys.path.append(str(Path(__file__).resolve().parent / "paper"))
data_sets = importlib.import_module("data_sets")

FITS = Path("build/clicks")
TRUTH, LOGGED = "true labels of shown documents", "ranker that logged"


def queries(data, seed, n_train=250, n_test=500):
    """Return X, y, qid, the number of training queries and that of labeled ones."""
    if data == "synthetic":
        X, y, qid = make_web_search(n_train + n_test, documents_per_query=40, random_state=seed)
        return X, y, qid, n_train, 8
    splits = data_sets.read_splits(data)
    split = splits[seed % len(splits)]
    parts = [_first(split.train, n_train, seed), _first(split.test, n_test, seed)]
    train = len(np.unique(parts[0][2]))
    X, y = (np.concatenate(columns) for columns in list(zip(*parts, strict=True))[:2])
    qid = np.concatenate([parts[0][2], train + parts[1][2]])
    return np.nan_to_num(X), y, qid, train, 8


def _first(part, n_queries, seed):
    """Return some queries of a part, numbered."""
    qid = np.unique(part.qid, return_inverse=True)[1]
    number = np.random.default_rng(seed).permutation(qid.max() + 1)[qid]
    rows = np.flatnonzero(number < n_queries)
    rows = rows[np.argsort(number[rows], kind="stable")]
    return part.X[rows], part.y[rows], number[rows]


def measured(cell, seed, n_sessions, chosen):
    """Return the NDCG@10 of each test query by ranker; keep what is measured."""
    data, way, severity = cell
    path = FITS / f"{data_sets.name_of(data)}-{way}-{severity}-{n_sessions}-{seed}.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    if all(name in found for name in chosen):
        return found
    X, y, qid, n_train, n_labeled = queries(data, seed)
    few, train, test = qid < n_labeled, qid < n_train, qid >= n_train
    logged = RankSVM().fit(X[few], y[few], qid[few]).predict
    shown = y[train], qid[train], logged(X[train])
    log = simulate_clicks(*shown, n_sessions=n_sessions, random_state=seed)
    log = drawn_clicks(log, y[train], severity, np.random.default_rng(seed), **WAYS[way])
    fits = rankers(log, X[train], y[train], qid[train]) | {LOGGED: lambda: logged}
    for name in chosen:
        if name not in found:
            scores = fits[name]()(X[test])
            found[name] = NDCG(k=10).per_query(y[test], scores, qid[test]).round(5).tolist()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(found))
    return found
