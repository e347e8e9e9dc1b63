"""Are probabilities of relevance right on test queries?

``TreeDirectRanker()`` learns from training parts, ``calibrate`` from validation parts, and test
parts are measured. The expected calibration error is the mean distance, over documents, between
the mean probability and the share of relevant documents in ten bins of equally many documents.
That of queries drawn with replacement, less the error that drawing itself makes, gives its
interval. The log loss is beside that of isotonic regression, clipped at 0 and 1.
"""

import argparse
from pathlib import Path

import numpy as np
from first_line_data import FIVE, WEB
from sklearn.isotonic import IsotonicRegression

from treerank import LightGBMTrees, TreeDirectRanker, make_web_search, read_letor
from treerank.documents import QueryGroups

N_DRAWS = 500


def parts(data, name):
    """Yield (train, validation, test), each X, y, qid."""
    if name == "clueweb09":
        own = [tuple(read_letor(data / name / f"S{place}.txt")) for place in range(1, 6)]
        for n in range(5):
            learned = zip(*(own[(n + ahead) % 5] for ahead in (2, 3, 4)), strict=True)
            yield tuple(map(np.concatenate, learned)), own[(n + 1) % 5], own[n]
    elif name in FIVE:
        for fold in range(1, 6):
            folder = data / name / f"Fold{fold}"
            yield tuple(tuple(read_letor(folder / f"{p}.txt")) for p in ("train", "vali", "test"))
    elif name == "msrd":
        found = np.load(data / name / "msrd.npz")
        drawn = found["fold"] < 2, found["fold"] == 2, found["fold"] > 2
        yield tuple(tuple(found[c][part] for c in ("X", "y", "qid")) for part in drawn)
    else:
        n_queries, documents = WEB[name]
        size = {"documents_per_query": documents, "random_state": 0}
        X, y, qid = make_web_search(2 * n_queries + 500, **size)
        ends = (qid < n_queries, (qid >= n_queries) & (qid < 2 * n_queries), qid >= 2 * n_queries)
        yield tuple((X[part], y[part], qid[part]) for part in ends)


def calibration_error(likely, won):
    """Return the expected calibration error."""
    order = np.argsort(likely, kind="stable")
    gaps = np.cumsum(np.append(0, (likely - won)[order]))
    ends = np.linspace(0, len(won), 11).astype(int)
    return np.abs(np.diff(gaps[ends])).sum() / len(won)


def log_loss(likely, won):
    return -np.log(np.where(won, likely, 1 - likely)).mean()


def measured(train, validation, test, at_least):
    """Return probabilities, those of isotonic regression, outcomes and queries of the test part."""
    ranker = TreeDirectRanker(LightGBMTrees(n_jobs=1), random_state=0).fit(*train)
    ranker.calibrate(*validation)
    scores, won = ranker.predict(validation[0]), validation[1] >= at_least
    alone, edge = IsotonicRegression(out_of_bounds="clip").fit(scores, won), 1 / (len(won) + 2)
    likely = ranker.predict_relevance(test[0], at_least=at_least)
    others = np.clip(alone.predict(ranker.predict(test[0])), edge, 1 - edge)
    return likely, others, test[1] >= at_least, test[2]


def row(name, found):
    """Print a line of the table of one data set and label."""
    likely, others, won = (np.concatenate([f[i] for f in found]) for i in range(3))
    qid = np.concatenate([[f"{n}-{q}" for q in f[3]] for n, f in enumerate(found)])
    groups = QueryGroups.from_qid(qid)
    rows = np.split(groups.order, groups.indptr[1:-1])
    rng = np.random.default_rng(0)
    error = calibration_error(likely, won)
    chosen = rng.integers(len(rows), size=(N_DRAWS, len(rows)))
    draws = [np.concatenate([rows[q] for q in some]) for some in chosen]
    errors = np.array([calibration_error(likely[drawn], won[drawn]) for drawn in draws])
    gap = np.array([log_loss(likely[d], won[d]) - log_loss(others[d], won[d]) for d in draws])
    low, high = np.quantile(errors, [0.025, 0.975]) - (errors.mean() - error)
    less, more = np.quantile(gap, [0.025, 0.975])
    print(f"{name:24}{won.mean():6.3f}  error {error:.4f} ({max(low, 0):.4f} to {high:.4f})  "
          f"log loss {log_loss(likely, won):.4f}, isotonic {log_loss(others, won):.4f} "
          f"({less:+.4f} to {more:+.4f})", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", nargs="+", default=[*FIVE, "msrd", "web 300x40"])
    arguments = parser.parse_args()
    for name in arguments.sets:
        folds = list(parts(arguments.data, name))
        for at_least in (1, 2)[: int(folds[0][1][1].max())]:
            row(f"{name}, y >= {at_least}", [measured(*fold, at_least) for fold in folds])


if __name__ == "__main__":
    main()
