"""
A loop that runs unattended
===========================

Each night: read what the search engine logged, learn, and serve the new model only if it is not
worse.

Run ``python loop.py night DAY`` from cron or from a workflow. It exits with 1, and keeps the
served model, if the data or the new model are not good enough; the ``report.html`` of that day
says where. ``python loop.py back`` goes back to the previous model. Without arguments, as on this
page, it runs on synthetic days, one of which has broken data.
"""

# sphinx_gallery_thumbnail_path = "generated/diagrams/loop.svg"

# %%
# Files
# -----
# A day is a folder with the feature log of the engine, and with judgments or clicks. The loop
# writes all models below ``models``; the last line of ``served.txt`` names the one that is served.

import argparse
import csv
import json
import os
import sqlite3
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from treerank import TreeDirectRanker, export, load, read_feature_log, report
from treerank.clicks import ClickLog, ClickRelevance
from treerank.rankers import refresh

FORMAT = "opensearch"  # or "elasticsearch", "solr", ...
LOG, JUDGMENTS, CLICKS = "log.json", "judgments.csv", "clicks.csv"
FEWEST_QUERIES = 100  # with fewer, the gate mostly sees noise


class Stop(Exception):
    """The night ends here, and the served model stays."""


# %%
# One loop at a time
# ------------------
# SQLite releases its lock when the process ends, for whatever reason, on every operating system.


@contextmanager
def only_one(folder):
    connection = sqlite3.connect(folder / "lock.sqlite", timeout=0, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
        yield
    except sqlite3.OperationalError as error:
        raise Stop(f"another loop runs in {folder}: {error}") from error
    finally:
        connection.close()


# %%
# Read a day
# ----------
# The features must be the same as the served model's. Labels are the judgments of the day, or are
# learned from its clicks with position bias corrected. The night ends if a feature is missing far
# more often than in the reference queries, or if its median lies outside the 2 % and 98 % quantiles
# there: a model that learned from such a day could look good on that very day.


def read_day(day, features=None):
    if not (day / JUDGMENTS).exists():
        log = read_feature_log(day / LOG, features=features)
        return learned_from_clicks(day, log)
    log = read_feature_log(day / LOG, day / JUDGMENTS, features=features)
    return check_day(day, log.X, log.y, log.qid)


def learned_from_clicks(day, log):
    with open(day / CLICKS, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    table = {name: [row[name] for row in rows] for name in ("session", "query", "document")}
    table |= {name: [int(row[name]) for row in rows] for name in ("position", "click")}
    relevance = ClickRelevance(random_state=0)
    relevance.fit(ClickLog.from_table(table), (log.X, log.qid, log.doc_ids))
    return check_day(day, *relevance.training_data())


def check_day(day, X, y, qid):
    judged = np.unique(np.asarray(qid)[~np.isnan(np.asarray(y, dtype=float))])
    if len(judged) < FEWEST_QUERIES:
        raise Stop(f"{day.name} has labels of {len(judged)} queries; {FEWEST_QUERIES} are needed")
    return X, y, qid


def check_features(day, X, reference):
    new, old = (
        np.column_stack([part[name] for name in part.column_names]) for part in (X, reference)
    )
    missing = np.isnan(new).mean(axis=0) - np.isnan(old).mean(axis=0)
    low, high = np.nanquantile(old, [0.02, 0.98], axis=0)
    with np.errstate(invalid="ignore"):
        median = np.nanmedian(np.where(np.isnan(new).all(axis=0), 0.0, new), axis=0)
    for j, name in enumerate(X.column_names):
        if missing[j] > 0.2:
            raise Stop(f"{day.name} lacks {name!r} in {missing[j]:.0%} more documents than before")
        if not low[j] <= median[j] <= high[j]:
            usual = f"{low[j]:.3g} to {high[j]:.3g}"
            raise Stop(f"{day.name} has {median[j]:.3g} as median of {name!r}; {usual} was usual")


# %%
# A night
# -------
# New trees on top of the old ones are fitted to the new day. The gate is
# :func:`treerank.rankers.refresh`: in cross-validation on the new queries the mean gain must not be
# negative, and on the reference queries, which no model learns from, the new model must not be
# significantly worse. Then the export scores the documents of the day as the engine will, and
# refuses a model if the engine would rank documents differently.


def night(folder, name):
    """Refresh the served model by a day; return the command that uploads the new one."""
    day, served = folder / "days" / name, folder / "models" / served_model(folder)
    old = load(served / "model.treerank")
    reference = read_day(folder / "reference", old.feature_names_in_)
    new = read_day(day, old.feature_names_in_)
    check_features(day, new[0], reference[0])
    refreshed = refresh(old, *new, old=reference, learn="trees")
    if not refreshed.accepted:
        page = report(refreshed.candidate, *reference, baseline=old, train=new, n_examples=5)
        page.save(day / "report.html")
        raise Stop(f"{refreshed} See {day / 'report.html'}.")
    return publish(folder, name, refreshed.ranker, new)


def publish(folder, name, ranker, data):
    """Write a model and its upload, and serve it from now on."""
    model = folder / "models" / name
    model.mkdir(parents=True, exist_ok=True)
    ranker.save(model / "model.treerank")
    proof = export(ranker, model / "upload.json", format=FORMAT, check=data, name=f"shop-{name}")
    if proof.n_negative:
        raise Stop(f"the engine computes no negative values: {proof.n_negative}")
    write_served(folder, [*served_models(folder), name])
    return upload_command(model, f"shop-{name}", proof.upload)


def upload_command(model, name, request):
    """Address and password are environment variables, so that no file holds them."""
    verb, path = request.split(" ", 1)
    command = f"curl --fail-with-body -X {verb} --json @{model / 'upload.json'}"
    return f'{command} --user "$SEARCH_USER:$SEARCH_PASSWORD" "$SEARCH_URL/{path}"  # {name}'


# %%
# Which model is served, and the one before
# -----------------------------------------
# A model in an engine never changes, so every night uploads a new one. Searches use the model that
# the last line of ``served.txt`` names; the file is replaced atomically.


def served_models(folder):
    with suppress(FileNotFoundError):
        return (folder / "served.txt").read_text(encoding="utf-8").split()
    return []


def served_model(folder):
    models = served_models(folder)
    if not models:
        raise Stop(f"{folder} serves no model yet: python loop.py start DAY")
    return models[-1]


def write_served(folder, models):
    new = folder / "served.txt.new"
    new.write_text("".join(f"{model}\n" for model in models), encoding="utf-8")
    os.replace(new, folder / "served.txt")


def back(folder):
    """Serve the previous model again; return its name."""
    models = served_models(folder)
    if len(models) < 2:
        raise Stop(f"{folder} has no model before {models[-1] if models else 'the first'}")
    write_served(folder, models[:-1])
    return models[-2]


def start(folder, name):
    """Fit the first model to a day."""
    data = read_day(folder / "days" / name)
    return publish(folder, name, TreeDirectRanker("histogram", random_state=0).fit(*data), data)


def main(arguments):
    parser = argparse.ArgumentParser(description="Keep a ranker right while nobody looks.")
    parser.add_argument("verb", choices=("start", "night", "back"))
    parser.add_argument("day", nargs="?", help="a folder below days/")
    parser.add_argument("--folder", type=Path, default=Path("."))
    options = parser.parse_args(arguments)
    if options.verb != "back" and not options.day:
        parser.error(f"{options.verb} needs a DAY, a folder below days/")
    try:
        with only_one(options.folder):
            if options.verb == "back":
                print(f"served: {back(options.folder)}")
            elif options.day in served_models(options.folder):
                raise Stop(f"{options.day} has brought a model already")
            else:
                do = {"start": start, "night": night}[options.verb]
                print(do(options.folder, options.day))
    except (Stop, OSError, ValueError) as error:
        print(f"nothing has changed: {error}", file=sys.stderr)
        return 1
    return 0


# %%
# Synthetic days
# --------------
# Products with four features, of which three matter. On the second day a field of the index was
# renamed, so that BM25 has no value any more. The fourth day has clicks instead of judgments.

FEATURES = ["bm25", "price", "sales", "age"]


def synthetic_day(day, seed, *, broken=False, clicks=False):
    random = np.random.default_rng(seed)
    day.mkdir(parents=True)
    answers, judged, shown = {}, [], []
    for number in range(150):
        query = f"{day.name} query {number}"
        X = np.abs(random.normal(size=(20, 4))).round(3)
        wish = 2 * X[:, 0] - X[:, 1] + X[:, 2] * X[:, 0] + random.normal(0, 0.3, 20)
        grades = np.clip(np.round(wish), 0, 4).astype(int)
        hits = []
        for position, (row, grade) in enumerate(zip(X, grades, strict=True), start=1):
            log = [
                {"name": name} if broken and name == "bm25" else {"name": name, "value": value}
                for name, value in zip(FEATURES, row.tolist(), strict=True)
            ]
            hits.append({"_id": f"p{position}", "fields": {"_ltrlog": [{"main": log}]}})
            judged.append((query, f"p{position}", grade))
        for session in range(10):
            for position, row in enumerate(random.permutation(20), start=1):
                click = random.random() < grades[row] / 4 / position
                shown.append((f"{query} {session}", query, f"p{row + 1}", position, int(click)))
        answers[query] = {"hits": {"hits": hits}}
    (day / LOG).write_text(json.dumps(answers), encoding="utf-8")
    header, rows = ("query", "docid", "grade"), judged
    if clicks:
        header, rows = ("session", "query", "document", "position", "click"), shown
    with open(day / (CLICKS if clicks else JUDGMENTS), "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def demonstration(folder):
    synthetic_day(folder / "reference", 0)
    synthetic_day(folder / "days" / "2026-11-01", 1)
    synthetic_day(folder / "days" / "2026-11-02", 2, broken=True)
    synthetic_day(folder / "days" / "2026-11-03", 3)
    synthetic_day(folder / "days" / "2026-11-04", 4, clicks=True)
    where = ["--folder", str(folder)]
    codes = [main(["start", "2026-11-01", *where])]
    codes += [main(["night", f"2026-11-0{day}", *where]) for day in (2, 3, 4)]
    return [*codes, main(["back", *where])]


# %%
# The broken day changes nothing. The next two days bring models, and the last one is rolled back.

codes = None
if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(sys.argv[1:]))
    demo = Path(tempfile.mkdtemp())
    codes = demonstration(demo)
    print("exit codes:", codes, "served:", served_models(demo))

assert codes in (None, [0, 1, 0, 0, 0])
