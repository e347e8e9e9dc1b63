"""Which ranker learns most from clicks? Ours and the engines', under five ways to click.

    python benchmarks/bench_clicks.py --data synthetic FOLDER ... --plot build

A weak ranker, learned from a few labeled queries, logs its top 10 with some exploration, and users
click. NDCG@10 on other queries, against the true labels. A cell is a data set, a way to click and a
severity of the bias. Finished fits are kept in ``build/clicks``, so that the same command continues
after a stop. Errors are standard errors of differences by seed; with one seed, by query, which
leaves out that other clicks would have been drawn.
"""

import argparse
import importlib
import json
import sys
from itertools import product
from pathlib import Path

import numpy as np
from click_rankers import NAIVE, OURS, REMEDIES, WAYS, drawn_clicks, rankers
from timing import say_versions

from treerank import NDCG, make_web_search
from treerank.baselines.linear.ranksvm import RankSVM
from treerank.clicks import simulate_clicks

sys.path.append(str(Path(__file__).resolve().parent / "paper"))
data_sets, draw = map(importlib.import_module, ("data_sets", "draw"))

FITS = Path("build/clicks")
TRUTH, LOGGED = "true labels of shown documents", "ranker that logged"
PEERS = ("LightGBM", "LightGBM, position=", "XGBoost", "XGBoost, lambdarank_unbiased")


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


def _compared(by_seed):
    """Return the mean of each seed, or the values of all queries of one seed."""
    known = [values[~np.isnan(values)] for values in by_seed]
    return known[0] if len(known) == 1 else np.array([values.mean() for values in known])


def verdict(values, name, others):
    """Return the mean of a ranker less that of the best of others, and its standard error."""
    best = max(others, key=lambda other: np.mean(values[other]))
    difference = values[name] - values[best]
    return difference.mean(), difference.std(ddof=1) / np.sqrt(len(difference))


def said(cells):
    """Print a line for each cell, and how often ours is best."""
    print(f"{'':32}", *(f"{name:>9.9}" for name in (OURS, *NAIVE, *PEERS, TRUTH, LOGGED)))
    n_best = n_within = n_below = 0
    for cell, values in cells.items():
        means = (f"{np.mean(values[name]):9.4f}" for name in (OURS, *NAIVE, *PEERS, TRUTH, LOGGED))
        (best, error), (naive, naive_error) = (
            verdict(values, OURS, others) for others in ([*NAIVE, *PEERS], NAIVE)
        )
        data, way, severity = cell
        print(f"{data_sets.name_of(data):12} {way:10} {severity:8}", *means, end=" ")
        print(f"{best:+.4f} +- {error:.4f}, to naive {naive:+.4f} +- {naive_error:.4f}")
        n_best += best >= 0
        n_within += best >= -error
        n_below += naive < -2 * naive_error
    print(f"{len(cells)} cells: ours is best in {n_best}, best or within an error of the best in")
    print(f"{n_within}, and two errors below the best naive one in {n_below}")


def said_of_some(cells, names):
    """Print the mean of ours, and of each of some rankers with what it differs from ours."""
    for (data, way, severity), values in cells.items():
        cell = f"{data_sets.name_of(data):12} {way:10} {severity:8}"
        print(f"{cell}  {OURS:36} {np.mean(values[OURS]):.4f}")
        for name in names[1:]:
            difference, error = verdict(values, name, [OURS])
            mean = np.mean(values[name])
            print(f"{cell}  {name:36} {mean:.4f}  {difference:+.4f} +- {error:.4f}")


def drawn(cells, data):
    """Draw a panel for each way to click: NDCG@10 over the severity."""
    figure, axes = draw.panel_axes(len(WAYS))
    names = (OURS, *NAIVE, "LightGBM, position=", "XGBoost, lambdarank_unbiased", TRUTH)
    for axis, way in zip(axes, WAYS, strict=True):
        severities = sorted(cell[2] for cell in cells if cell[:2] == (data, way))
        for name, style in zip(names, draw.line_styles(len(names)), strict=True):
            means = [np.mean(cells[data, way, severity][name]) for severity in severities]
            axis.plot(severities, means, label=name, linewidth=1, marker="o", markersize=3, **style)
        draw.tidy(axis, x="severity of the bias", y="NDCG@10")
        axis.set_title(way, fontsize=8, loc="left")
    draw.shared_legend(figure, axes)
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=["synthetic"], help="or folders")
    parser.add_argument("--sessions", type=int, default=20, help="of each query")
    parser.add_argument("--severity", type=float, nargs="+", default=[0.0, 0.5, 1.0, 1.5, 2.0])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=[*WAYS])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--plot", type=Path, help="folder of an SVG file for each data set")
    others = (*NAIVE, *PEERS, *REMEDIES)
    parser.add_argument("--rankers", nargs="+", choices=others, help="compare only these with ours")
    arguments = parser.parse_args()
    say_versions("lightgbm", "xgboost")
    names, cells = [OURS, *(arguments.rankers or (*NAIVE, *PEERS, TRUTH, LOGGED))], {}
    for cell in product(arguments.data, arguments.ways, arguments.severity):
        found = [measured(cell, seed, arguments.sessions, names) for seed in arguments.seeds]
        by_query = {name: [np.array(each[name]) for each in found] for name in names}
        cells[cell] = {name: _compared(values) for name, values in by_query.items()}
    if arguments.rankers:
        return said_of_some(cells, names)
    said(cells)
    for data in arguments.data if arguments.plot else ():
        draw.save(drawn(cells, data), arguments.plot / f"clicks-{data_sets.name_of(data)}.svg")


if __name__ == "__main__":
    main()
