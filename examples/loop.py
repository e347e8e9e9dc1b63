"""
A loop that runs unattended
===========================

Each night: read what the search engine logged, learn, and serve the new model only if it is not
worse.

Run ``python loop.py night`` from cron or from a workflow. It takes all days after the last one that
was learned from, uploads the new models, and exits with

* 0 if all new days are learned from, or wait for more queries;
* 1 if there is no new day, or the data or the new model of at least one day are not good enough.
  ``report.html`` of that day says where, and the last line of the output says what is served, or
  that nothing has changed;
* 75 if an upload failed and no day was rejected, or if another loop is running. The served model
  stays the same; run the same night again.

``python loop.py back`` goes back to the previous model. Without arguments, as on this page, it runs
on synthetic days, one of which has broken data, against a server that fails once.
"""

# %%
# Files
# -----
# A day is a folder with the feature log of the engine, and with judgments or clicks. The loop
# writes all models below ``models``; the last line of ``served.txt`` names the one that is served,
# and ``learned.txt`` has all days that were learned from.

# sphinx_gallery_thumbnail_path = "generated/diagrams/loop.svg"
import argparse
import base64
import csv
import html
import http.client
import itertools
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import urllib.request
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pyarrow as pa

from treerank import TreeDirectRanker, export, load, read_feature_log, report
from treerank.clicks import ClickLog, ClickRelevance
from treerank.inspection import drift
from treerank.rankers import refresh

FORMATS = ["opensearch", "elasticsearch-plugin", "elasticsearch", "solr"]  # that can be uploaded
FORMAT = "opensearch"  # or another one; for "elasticsearch" see the guide
FEATURE_SET = "shop"  # in the engine, with which features are logged; names of models begin with it
COLLECTION = "shop"  # of Solr
LOG, JUDGMENTS, CLICKS = "log.json", "judgments.csv", "clicks.csv"
CLICK_COLUMNS = ["session", "query", "document", "position", "click"]
FEWEST_QUERIES = 100  # to learn from; days with fewer wait for the next ones
FEWEST_REFERENCE_QUERIES = 100  # with fewer, the gate mostly sees noise
MOST_DRIFT = 0.1  # of a feature; on good days of this page it is at most 0.04
TRY_AGAIN = 75  # exit code of a temporary failure, as in sysexits.h


class Stop(Exception):
    """The night ends here, and the served model stays."""


class TryAgain(Exception):
    """The night can be run again, and the served model stays."""


# %%
# One loop at a time
# ------------------
# SQLite releases its lock when the process ends, for whatever reason, on every operating system.


@contextmanager
def only_one(folder):
    try:
        connection = sqlite3.connect(folder / "lock.sqlite", timeout=0, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            raise TryAgain(f"Another loop runs in {folder.resolve()}.") from error
        raise Stop(f"{folder.resolve()} cannot be locked: {error}") from error
    with closing(connection):
        yield


# %%
# Read a day
# ----------
# The features must be the same as the served model's. The labels are the judgments of the day, or
# are learned from its clicks, corrected for position bias.


def read_day(day, features=None, whose="the served model"):
    """Return X, y and qid of a day; ``features`` are those of ``whose``."""
    has_judgments = (day / JUDGMENTS).exists()
    if not has_judgments and not (day / CLICKS).exists():
        raise Stop(f"{day} has neither {JUDGMENTS} nor {CLICKS}")
    try:
        log = read_feature_log(
            day / LOG, *[day / JUDGMENTS] if has_judgments else [], features=features
        )
    except ValueError as error:
        logged = read_feature_log(day / LOG).X.column_names
        lacking = [name for name in features or logged if name not in logged]
        more = [name for name in logged if name not in (features or logged)]
        if lacking:
            names = ", ".join(map(repr, lacking))
            raise Stop(
                f"{day / LOG}: the log lacks the feature {names}, which {whose} has"
            ) from None
        if more:
            names = ", ".join(map(repr, more))
            raise Stop(
                f"{day / LOG}: the log has the feature {names}, which {whose} does not have. To "
                "add it, log the reference queries with it, then start DAY with a day that has it"
            ) from None
        raise Stop(f"{day.name}: {error}") from error
    if has_judgments:
        return log.X, log.y, log.qid
    X, y, qid = learned_from_clicks(day / CLICKS, log)
    return X, y, qid


def learned_from_clicks(path, log):
    rows = []
    with open(path, encoding="utf-8") as file:
        reader = csv.DictReader(file)
        lacking = [name for name in CLICK_COLUMNS if name not in (reader.fieldnames or ())]
        if lacking:
            raise Stop(f"{path} lacks the column {', '.join(map(repr, lacking))}")
        for row in reader:
            try:
                rows.append(row | {name: int(row[name]) for name in ("position", "click")})
            except (TypeError, ValueError):
                got = f"{row['position']!r} and {row['click']!r}"
                rule = "position and click must be integers"
                raise Stop(f"{path}, line {reader.line_num}: {rule}; got {got}") from None
    table = {name: [row[name] for row in rows] for name in CLICK_COLUMNS}
    relevance = ClickRelevance(random_state=0)
    try:
        relevance.fit(ClickLog.from_table(table), (log.X, log.qid, log.doc_ids))
    except ValueError as error:
        raise Stop(f"{path}: {error}") from error
    return relevance.training_data()


def read_days(folder, days, features, whose="the served model"):
    """Return X, y and qid of each day by its name."""
    return {day: read_day(folder / "days" / day, features, whose) for day in days}


def count_labeled(data):
    """Return the number of queries with labels in the data of several days."""
    return sum(
        len(np.unique(np.asarray(qid)[~np.isnan(np.asarray(y, dtype=float))])) for _, y, qid in data
    )


def together(data):
    """Return the data of days as one; a query that two days have counts as two queries."""
    n_labeled, names = count_labeled(data.values()), ", ".join(data)
    if n_labeled < FEWEST_QUERIES:
        raise Stop(
            f"{names} has labels of {n_labeled} queries; {FEWEST_QUERIES} are needed "
            "(FEWEST_QUERIES). Name several days to learn from them together"
        )
    if len(data) == 1:
        return next(iter(data.values()))
    X = pa.concat_tables([X for X, _, _ in data.values()]).combine_chunks()
    y = np.concatenate([y for _, y, _ in data.values()])
    return X, y, np.array([f"{day} {query}" for day, (_, _, qid) in data.items() for query in qid])


def read_reference(folder, features=None):
    day = folder / "reference"
    if not (day / JUDGMENTS).exists() and (day / CLICKS).exists():
        print(
            f"{day} has clicks and no judgments: the gate compares models with a model of clicks, "
            "which saw the same features. "
            f"Judge {FEWEST_REFERENCE_QUERIES} queries, or let an LLM help.",
            file=sys.stderr,
        )
    reference = read_day(day, features)
    n_labeled = count_labeled([reference])
    if n_labeled < FEWEST_REFERENCE_QUERIES:
        raise Stop(
            f"{day} has labels of {n_labeled} queries; {FEWEST_REFERENCE_QUERIES} are needed "
            "(FEWEST_REFERENCE_QUERIES)"
        )
    return reference


# %%
# Compare the data with the reference queries
# -------------------------------------------
# A model that learned from a day with broken data could look good on that very day. So the night
# ends if the distribution of a feature has drifted by more than ``MOST_DRIFT``
# (:func:`treerank.inspection.drift`, from 0 to 1; missing values count), or if only half as many
# documents have a value other than 0.


def check_features(day, X, reference, names=None):
    """Stop with a table in the folder ``day`` if data, of the days ``names``, look broken."""
    names = names or day.name
    now, then = (
        np.column_stack([part[name] for name in part.column_names]) for part in (X, reference)
    )
    moved, rows, broken = drift(now, then), [], []
    for j, name in enumerate(X.column_names):
        new, old = summary(now[:, j]), summary(then[:, j])
        expected = old["other than 0"] * len(now)
        lost = expected >= 50 and new["other than 0"] < old["other than 0"] / 2
        rows.append([name, moved[j], *(part[key] for key in old for part in (old, new))])
        if lost or moved[j] > MOST_DRIFT:
            changes = [f"{key} {old[key]:.3g}, now {new[key]:.3g}" for key in old]
            broken.append(f"{name!r} has drifted by {moved[j]:.2f} ({'; '.join(changes)})")
    if broken:
        heads = [f"{key}, {when}" for key in new for when in ("reference", names)]
        write_table(day / "report.html", ["feature", "drift", *heads], rows)
        raise Stop(f"in {names}, {', '.join(broken)}. See {day / 'report.html'}")


def summary(column):
    values = column[~np.isnan(column)]
    return {
        "missing": 1 - len(values) / len(column),
        "other than 0": np.count_nonzero(values) / len(column),
        "median": np.median(values) if len(values) else np.nan,
    }


def write_table(path, heads, rows):
    lines = ["".join(f"<th>{html.escape(head)}</th>" for head in heads)]
    for name, *numbers in rows:
        cells = [html.escape(name), *(f"{number:.3g}" for number in numbers)]
        lines.append("".join(f"<td>{cell}</td>" for cell in cells))
    table = "\n".join(f"<tr>{line}</tr>" for line in lines)
    page = f"<!doctype html><html><meta charset='utf-8'><table>\n{table}\n</table></html>\n"
    path.write_text(page, encoding="utf-8")


# %%
# A night
# -------
# New trees on top of the old ones are fitted to the new day. The gate is
# :func:`treerank.rankers.refresh`: in cross-validation on the new queries the mean gain must not be
# negative, and on the reference queries, which no model learns from, the new model must not be
# significantly worse. Then the export scores the documents of the day as the engine will, and
# rejects a model if the engine would rank documents differently. Last, it is uploaded.


def load_served(folder):
    return load(folder / "models" / served_model(folder) / "model.treerank")


def night(folder, data):
    """Refresh the served model by the data of days, upload it, and return its name."""
    old, new, day = load_served(folder), together(data), folder / "days" / last_of(data)
    reference = read_reference(folder, old.feature_names_in_.tolist())
    check_features(day, new[0], reference[0], ", ".join(data))
    refreshed = refresh(old, *new, old=reference, learn="trees")
    if not refreshed.accepted:
        page = report(
            refreshed.candidate,
            *reference,
            baseline=old,
            train=new,
            metrics=[refreshed.metric],
            n_examples=5,
        )
        page.save(day / "report.html")
        raise Stop(f"{refreshed} See {day / 'report.html'}")
    return publish(folder, list(data), refreshed.ranker, new)


def last_of(days):
    return list(days)[-1]


def publish(folder, days, ranker, data):
    """Write a model and upload it; only then it is served. Its name is the last day's."""
    name = free_name(folder, last_of(days))
    model = folder / "models" / name
    model.mkdir(parents=True)
    ranker.save(model / "model.treerank")
    proof = export(
        ranker,
        model / "upload.json",
        format=FORMAT,
        check=data,
        name=in_engine(name),
        feature_set=None if FORMAT == "elasticsearch" else FEATURE_SET,
    )
    if proof.n_negative:
        raise Stop(f"the engine computes no negative values: {proof.n_negative}")
    if FORMAT == "elasticsearch":
        put_extractors(folder / "extractors.json", model / "upload.json")
    try:
        upload(model / "upload.json", proof.upload, in_engine(name))
    except (OSError, http.client.HTTPException, subprocess.SubprocessError) as error:
        answer = error.read(500).decode("utf-8", "replace") if hasattr(error, "read") else ""
        raise TryAgain(
            f"The upload of {in_engine(name)} failed, and the served model stays: {error} {answer}"
        ) from error
    learned = dict.fromkeys([*learned_days(folder), *days])
    write_served(folder, [*served_models(folder), name])
    write_lines(folder / "learned.txt", learned)
    return name


def free_name(folder, day_name):
    """Return a name that no attempt had: the engine may have a model whose upload timed out."""
    names = itertools.chain([day_name], (f"{day_name}.{number}" for number in itertools.count(2)))
    return next(name for name in names if not (folder / "models" / name).exists())


def in_engine(name):
    return f"{FEATURE_SET}-{name}"


def put_extractors(extractors, path):
    """Replace the drafts in a model for Elasticsearch's own learning to rank by your queries."""
    if not extractors.exists():
        raise Stop(f"{extractors} must hold the feature_extractors with which features are logged")
    request = json.loads(path.read_text(encoding="utf-8"))
    queries = json.loads(extractors.read_text(encoding="utf-8"))
    request["inference_config"]["learning_to_rank"]["feature_extractors"] = queries
    path.write_text(json.dumps(request), encoding="utf-8")


# %%
# The upload
# ----------
# An HTTP request to the engine. If your models go elsewhere, replace this function, for example by
# ``subprocess.run(["./upload.sh", path, name], check=True)``. A night whose upload fails is run
# again.


def engine_url():
    """Address and password are environment variables, so that no file holds them."""
    url = os.environ.get("SEARCH_URL", "").rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise Stop("the variable SEARCH_URL must be the address of the engine, as https://...")
    return url


def upload(path, request, name):
    """Send a file by a request such as "POST _ltr/..."; the engine calls the model ``name``."""
    method, target = request.split(" ", 1)
    url = f"{engine_url()}/{target.replace('COLLECTION', COLLECTION)}"
    headers = {"Content-Type": "application/json"}
    message = urllib.request.Request(url, path.read_bytes(), headers, method=method)
    if os.environ.get("SEARCH_USER"):
        secret = f"{os.environ['SEARCH_USER']}:{os.environ.get('SEARCH_PASSWORD', '')}"
        encoded = base64.b64encode(secret.encode()).decode()
        message.add_unredirected_header("Authorization", f"Basic {encoded}")
    with urllib.request.urlopen(message, timeout=60) as answer:
        answer.read()


# %%
# Which model is served, and the one before
# -----------------------------------------
# A model in an engine never changes, so every night uploads a new one. The search application reads
# the last line of ``served.txt``, and uses the model that it names. The file is replaced
# atomically, after the upload.


def read_lines(path):
    with suppress(FileNotFoundError):
        return path.read_text(encoding="utf-8").split()
    return []


def write_lines(path, lines):
    new = path.with_name(f"{path.name}.new")
    new.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    os.replace(new, path)


def served_models(folder):
    return read_lines(folder / "served.txt")


def served_model(folder):
    models = served_models(folder)
    if not models:
        raise Stop(f"{folder} serves no model yet: python loop.py start DAY")
    return models[-1]


def write_served(folder, models):
    write_lines(folder / "served.txt", models)


def back(folder, day_name=None):
    """Serve the previous model again, or the model of a day; return its name."""
    models = served_models(folder)
    kept = models[:-1]
    while day_name is not None and kept and not is_of_day(kept[-1], day_name):
        kept.pop()
    if not kept:
        wanted, later = "model", ""
        if day_name is not None:
            wanted = f"model of {day_name}"
            later = ". For one that was taken back, add its name in models/ as last line"
            later += f" of {folder / 'served.txt'}"
        raise Stop(f"no {wanted} was served before {models[-1] if models else 'the first'}{later}")
    write_served(folder, kept)
    return kept[-1]


def is_of_day(name, day_name):
    return re.fullmatch(rf"{re.escape(day_name)}(\.\d+)?", name) is not None


# %%
# Which days are next
# -------------------
# A night takes all days since the last one that was learned from, in the order of their names. So a
# night on which the machine was off is made up for, and a day that was rejected is tried again
# until a later day is learned from. Days wait until they have ``FEWEST_QUERIES`` queries in total.
# After ``back``, no night learns again from the days of the model that was taken back.


def day_of(name):
    """Return the day of a model, whose further attempts are numbered from 2."""
    return re.sub(r"\.\d+$", "", name)


def learned_days(folder):
    days = map(day_of, served_models(folder))
    return [*dict.fromkeys([*read_lines(folder / "learned.txt"), *days])]


def next_days(folder):
    """Return the days to learn from, and name those that are left out on standard error."""
    served, learned = day_of(served_model(folder)), learned_days(folder)
    last = max(learned)
    folders = sorted(day for day in (folder / "days").iterdir() if day.is_dir())
    days = [day.name for day in folders if day.suffix != ".part"]
    left_out = {
        f"earlier than {last}": [day for day in days if day < last and day not in learned],
        "taken back": [day for day in days if day > served and day in learned],
    }
    for reason, names in left_out.items():
        if names:
            todo = "Learn from one with night DAY, or delete its folder."
            print(f"left out: {', '.join(names)} ({reason}). {todo}", file=sys.stderr)
    return [day for day in days if day > last]


def start(folder, days):
    """Fit a model to days without an old one, upload it, and return its name."""
    reference = read_reference(folder)
    data = read_days(folder, days, list(reference[0].column_names), "the reference")
    new = together(data)
    check_features(folder / "days" / last_of(days), new[0], reference[0], ", ".join(days))
    ranker = TreeDirectRanker("histogram", random_state=0).fit(*new)
    return publish(folder, days, ranker, new)


def run(verb, folder, days):
    """Do what the command line asks for; return the exit code."""
    if FORMAT not in FORMATS:
        raise Stop(f"FORMAT must be one of {', '.join(FORMATS)}; got {FORMAT!r}")
    if not days and verb == "night":
        return nights(folder)
    if verb == "back":
        announce(back(folder, *days))
        return 0
    days = sorted(set(days))
    for day in days:
        if any(is_of_day(served, day) for served in served_models(folder)):
            raise Stop(f"{day} has brought a model already")
    if verb == "start":
        announce(start(folder, days))
    else:
        features = load_served(folder).feature_names_in_.tolist()
        announce(night(folder, read_days(folder, days, features)))
    return 0


def nights(folder):
    """Learn from all new days; return the exit code."""
    days = next_days(folder)
    if not days:
        raise Stop(f"{folder / 'days'} has no day after {max(learned_days(folder))}")
    features, waiting, code = load_served(folder).feature_names_in_.tolist(), {}, 0
    for day in days:
        tried = [day]
        try:
            waiting |= read_days(folder, [day], features)
            if count_labeled(waiting.values()) < FEWEST_QUERIES:
                continue
            tried, data, waiting = list(waiting), waiting, {}
            announce(night(folder, data))
        except TryAgain as error:
            if not code:
                raise
            print(f"{error} The next night tries again.", file=sys.stderr)
            break  # with 1: run again now, the night would end with 0, and hide what was rejected
        except (Stop, OSError, ValueError) as error:
            if len(days) == 1:
                raise
            print(f"{', '.join(tried)} has changed nothing: {error}", file=sys.stderr)
            code = 1
    if waiting:
        n_labeled = count_labeled(waiting.values())
        print(
            f"waiting for more: {', '.join(waiting)}, with labels of {n_labeled} of the "
            f"{FEWEST_QUERIES} queries needed (FEWEST_QUERIES)",
            file=sys.stderr,
        )
    if code:
        print(f"served: {served_model(folder)}", file=sys.stderr)
    return code


def announce(name):
    print(f"served: {name}. Searches must now use the model {in_engine(name)!r}.", flush=True)


def main(arguments):
    parser = argparse.ArgumentParser(description="Keep a ranker right while nobody looks.")
    parser.add_argument("verb", choices=("start", "night", "back"))
    parser.add_argument(
        "days",
        nargs="*",
        metavar="DAY",
        help="a folder below days/, or several to learn from together; night takes all new ones",
    )
    parser.add_argument("--folder", type=Path, default=Path("."))
    options = parser.parse_args(arguments)
    if options.verb == "start" and not options.days:
        parser.error("start needs a DAY, a folder below days/")
    if options.verb == "back" and len(options.days) > 1:
        parser.error("back takes one DAY")
    try:
        with only_one(options.folder):
            return run(options.verb, options.folder, options.days)
    except TryAgain as error:
        print(f"{error} Run it again.", file=sys.stderr)
        return TRY_AGAIN
    except (Stop, OSError, ValueError) as error:
        print(f"nothing has changed: {error}", file=sys.stderr)
        return 1


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
        header, rows = CLICK_COLUMNS, shown
    with open(day / (CLICKS if clicks else JUDGMENTS), "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


# %%
# This server plays the role of the engine. It answers uploads with the given status codes.


@contextmanager
def synthetic_engine(statuses):
    remaining, requests = iter(statuses), []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            requests.append((self.command, self.path, dict(self.headers), json.loads(body)))
            self.send_response(next(remaining))
            self.end_headers()

        do_PUT = do_POST

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", requests
        finally:
            server.shutdown()


def demonstration(folder):
    synthetic_day(folder / "reference", 0)
    synthetic_day(folder / "days" / "2026-11-01", 1)
    synthetic_day(folder / "days" / "2026-11-02", 2, broken=True)
    synthetic_day(folder / "days" / "2026-11-03", 3)
    synthetic_day(folder / "days" / "2026-11-04", 4, clicks=True)
    where = ["--folder", str(folder)]
    with synthetic_engine([201, 503, 201, 201]) as (url, _):
        os.environ["SEARCH_URL"] = url
        codes = [main(["start", "2026-11-01", *where])]
        codes += [main(["night", f"2026-11-0{day}", *where]) for day in (2, 3, 3, 4)]
        return [*codes, main(["back", *where])]


# %%
# The broken day changes nothing. The upload of the next day fails, so its night is run again. The
# last model is rolled back.

codes = None
if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(sys.argv[1:]))
    demo = Path(tempfile.mkdtemp())
    codes = demonstration(demo)
    print("exit codes:", codes, "served:", served_models(demo))

assert codes in (None, [0, 1, TRY_AGAIN, 0, 0, 0])
