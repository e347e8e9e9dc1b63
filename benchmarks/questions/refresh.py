"""Refresh: whether ``refresh`` ships a model that is worse, over drawn drifts.

In each drift the new queries differ from the old ones: features are scaled or get lost, or labels
are turned around or drawn anew, for a drawn share of them. A ranker of 100 synthetic queries is
refreshed by the new ones, and both are compared on 200 queries that neither saw.
"""

import functools
import warnings

import numpy as np

from benchmarks.drawing import intervals, table
from benchmarks.measurements import Measurement
from benchmarks.page import Section
from treerank import NDCG, HistogramTrees, TreeDirectRanker, make_web_search
from treerank.rankers import refresh
from treerank.statistics import bootstrap_interval

TITLE = "Does refresh accept a model that is worse?"
IS_TIMING = False
KINDS = ("scaled features", "lost features", "turned labels", "labels drawn anew")

#: Names of the page for those of the rows.
SHOWN = {
    "scaled features": "scaled features",
    "lost features": "lost features",
    "turned labels": "reversed labels",
    "labels drawn anew": "shuffled labels",
    "shipped": "accepted",
    "shipped, worse": "accepted, worse",
    "not shipped, worse": "rejected, worse",
    "not shipped, better": "rejected, better",
}


def drifted(X, y, kind, share, rng):
    """Return documents and labels after a drift."""
    X, y = X.copy(), y.copy()
    columns, rows = rng.random(X.shape[1]) < share, rng.random(len(y)) < share
    if kind == "scaled features":
        X[:, columns] *= rng.uniform(0.2, 5)
    elif kind == "lost features":
        X[:, columns] = np.nan
    elif kind == "turned labels":
        y[rows] = y.max() - y[rows]
    else:
        y[rows] = rng.permutation(y[rows])
    return X, y


def one_drift(kind, seed, n_new):
    """Return whether the new model is shipped, and its gain on other queries."""
    rng = np.random.default_rng(seed)
    X, y, qid = make_web_search(500, documents_per_query=12, n_features=20, random_state=seed)
    old = qid < 100
    ranker = TreeDirectRanker(HistogramTrees(30, n_jobs=1), random_state=0)
    ranker.fit(X[old], y[old], qid[old])
    X, y = drifted(X, y, kind, rng.uniform(0, 0.6), rng)
    new, fresh = (qid >= 100) & (qid < 100 + n_new), qid >= 300
    with warnings.catch_warnings(action="ignore"):
        found = refresh(ranker, X[new], y[new], qid[new], learn=("leaves", "trees")[seed // 4 % 2])
    values = [
        NDCG(k=10).per_query(y[fresh], each.predict(X[fresh]), qid[fresh])
        for each in (found.candidate, ranker)
    ]
    return found.accepted, bootstrap_interval(values[0] - values[1])


def counted(kind, n_drifts, n_new):
    """Return how many drifts of a kind shipped, and were significantly worse elsewhere."""
    drifts = [
        one_drift(kind, seed, n_new) for seed in range(KINDS.index(kind), n_drifts, len(KINDS))
    ]
    shipped = [gain for accepted, gain in drifts if accepted]
    kept = [gain for accepted, gain in drifts if not accepted]
    return {
        "drifts": len(drifts),
        "shipped": len(shipped),
        "shipped, worse": sum(gain.high < 0 for gain in shipped),
        "not shipped, worse": sum(gain.high < 0 for gain in kept),
        "not shipped, better": sum(gain.low > 0 for gain in kept),
    }


def measurements(options):
    """Yield counts by kind of drift and number of new queries."""
    for n_new in (30,) if options.quick else (100, 30):
        for kind in KINDS[:1] if options.quick else KINDS:
            measure = functools.partial(counted, kind, 2 if options.quick else 200, n_new)
            yield Measurement({"drift": kind, "new queries": n_new}, measure)


def section(rows):
    """Return counts by kind of drift."""
    cells = [(row["conditions"], row["values"]) for row in rows]
    parts = []
    for n_new in dict.fromkeys(c["new queries"] for c, _ in cells):
        own = [v for c, v in cells if c["new queries"] == n_new]
        names = ("shipped, worse", "shipped", "drifts")
        worse, accepted, drifts = (sum(v[name] for v in own) for name in names)
        parts.append(
            f"With {n_new} new queries, `refresh` accepts {accepted} of {drifts} new models; on "
            f"other queries, {worse or 'none'} of the accepted models "
            f"{'is' if worse < 2 else 'are'} significantly worse than the old model."
        )
    answer = (
        f"{' '.join(parts)} Even if all accepted models were exactly as good as the old ones, "
        "about 2.5 % of the accepted models would appear significantly worse by chance."
    )
    groups = {
        f"{SHOWN[c['drift']]}, {c['new queries']}": {
            SHOWN[k]: (v[k], None, None) for k in ("shipped", "shipped, worse")
        }
        for c, v in cells
    }
    chart = intervals(answer, groups, "models of 50 drifts")
    names = list(cells[0][1])
    head = ["drift", "new queries", *(SHOWN.get(name, name) for name in names)]
    body = [[SHOWN[c["drift"]], c["new queries"], *(v[name] for name in names)] for c, v in cells]
    notes = (
        "All data is synthetic. In each simulated drift, a random share of the features of the "
        "new queries is scaled or lost, or a random share of their labels is reversed or "
        'shuffled. "Worse" and "better" mean significantly worse or better than the old model on '
        "200 other queries with the same drift."
    )
    return Section(answer, [chart], [("Drifts", table(head, body))], notes)
