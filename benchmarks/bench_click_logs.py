"""Do click models predict real clicks better than the click rates of positions?

    python benchmarks/bench_click_logs.py --open-bandit zr-obp/obd \
        --clara2 naver-pyclick/examples/data/clara2/CLARA2SearchLog_beta \
        --wscd PyClick/examples/data/trainSample PyClick/examples/data/testSample

Five folds of sessions. The Open Bandit Dataset logs impressions one by one, so only models of
positions can learn from it; an item is one of a campaign, whatever the policy that showed it.
Prints perplexities, and the gain in log likelihood of an impression with its error by session.
"""

import argparse
import csv
import re
from pathlib import Path

import numpy as np
from timing import say_versions

from treerank.clicks import CLICK_MODELS, ClickCounts, ClickLog, Items

N_FOLDS = 5
#: Models that need no sessions, and the one that takes no session of several clicks.
OF_POSITIONS, ONE_CLICK = ("position_based", "trust_bias"), "cascade"


def open_bandit(folder):
    """Return query, document, position and click of each impression of four logs."""
    rows = []
    for campaign in ("men", "women"):
        for policy in ("bts", "random"):
            with open(folder / policy / campaign / f"{campaign}.csv") as file:
                rows += [
                    (campaign, row["item_id"], int(row["position"]), int(row["click"]))
                    for row in csv.DictReader(file)
                ]
    return list(map(np.array, zip(*rows, strict=True)))


def clara2(path):
    """Return the sessions of CLARA2 that show no document twice."""
    rows, last, last_user = [], {}, None
    for number, line in enumerate(path.read_text().splitlines()):
        user, _, kind, *rest = line.split("\t")
        if kind == "Q":
            query, shown = rest[0], [document for document in rest[2:] if document]
            last, last_user = {}, user
            if len(set(shown)) == len(shown):
                last = {document: len(rows) + i for i, document in enumerate(shown)}
                rows += [[number, query, document, k, 0] for k, document in enumerate(shown, 1)]
        elif user == last_user and rest[0] in last:
            rows[last[rest[0]]][-1] = 1
    return ClickLog.from_columns(*map(np.array, zip(*rows, strict=True)))


def wscd(paths):
    """Return the sessions of samples of Yandex's WSCD log: query, documents and clicked ones."""
    rows, number = [], 0
    for session in ";".join(path.read_text() for path in paths).replace("\n", ";").split(";"):
        if "\t" in session:
            query, shown, clicked = re.split("[\t:]", session)
            clicked = [document.strip() for document in clicked.split(",")]
            for k, document in enumerate(shown.strip().split(","), 1):
                rows.append([number, query.strip(), document, k, document in clicked])
            number += 1
    return ClickLog.from_columns(*map(np.array, zip(*rows, strict=True)))


def log_of(proba, clicked):
    """Return the log likelihood of clicks."""
    return np.where(clicked, np.log(proba), np.log1p(-proba))


def by_rates(slot, clicked, left_out):
    """Return the log likelihood of some impressions by the click rates of positions."""
    rates = np.bincount(slot[~left_out], clicked[~left_out]) / np.bincount(slot[~left_out])
    return log_of(rates[slot[left_out]], clicked[left_out])


def said(name, found, rates, session):
    """Print the perplexities of a model and of rates, and the gain."""
    gain = found - rates
    by_session = np.bincount(session, gain)
    error = by_session.std() * np.sqrt(len(by_session)) / len(gain)
    perplexities = np.exp(-found.mean()), np.exp(-rates.mean())
    print(f"{name:17}", *(f"{value:.5f}" for value in perplexities), end=" ")
    print(f"gain {gain.mean():+.6f} +- {error:.6f}", flush=True)


def of_counts(query, document, position, clicked, fold):
    """Compare models of positions on impressions that belong to no session."""
    items, item = Items.of_rows(query, document)
    slot = position - 1
    for name in OF_POSITIONS:
        found, rates = np.empty((2, len(slot)))
        for k in range(N_FOLDS):
            out = fold == k
            seen = ClickCounts.of(item[~out], slot[~out], clicked[~out], items)
            model = CLICK_MODELS[name]().fit(seen)
            trust = getattr(model, "trust_", np.zeros(seen.n_slots))
            proba = model.examination_[slot[out]] * model.attraction_[item[out]] + trust[slot[out]]
            found[out], rates[out] = log_of(proba, clicked[out]), by_rates(slot, clicked, out)
        said(name, found, rates, np.arange(len(slot)))


def of_sessions(log, fold):
    """Compare all models on sessions."""
    out_of = fold[log.session]
    for name, model in CLICK_MODELS.items():
        if name == ONE_CLICK:
            continue
        found, given, rates = np.empty((3, len(log.item)))
        for k in range(N_FOLDS):
            fitted = model().fit(log.taking(np.flatnonzero(fold != k)))
            out = out_of == k
            found[out] = log_of(fitted.predict_click_proba(log), log.clicked)[out]
            above = fitted.predict_click_proba(log, given_clicks=True)
            given[out] = log_of(above, log.clicked)[out]
            rates[out] = by_rates(log.position - 1, log.clicked, out)
        said(name, found, rates, log.session)
        print(f"{'':17} {np.exp(-given.mean()):.5f} given the clicks above", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--open-bandit", type=Path, help="folder obd of st-tech/zr-obp")
    parser.add_argument("--clara2", type=Path, help="CLARA2SearchLog_beta of naver/naver-pyclick")
    parser.add_argument("--wscd", type=Path, nargs="+", help="samples in markovi/PyClick, 2014")
    parser.add_argument("--seed", type=int, default=0, help="of the folds")
    arguments = parser.parse_args()
    say_versions()
    rng = np.random.default_rng(arguments.seed)
    if arguments.open_bandit:
        columns = open_bandit(arguments.open_bandit)
        of_counts(*columns, rng.permutation(len(columns[0])) % N_FOLDS)
    for read, path in (clara2, arguments.clara2), (wscd, arguments.wscd):
        if path is None:
            continue
        log = read(path)
        print(log)
        of_sessions(log, rng.permutation(log.n_sessions) % N_FOLDS)


if __name__ == "__main__":
    main()
