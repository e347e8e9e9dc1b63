"""
From the search engine and back
===============================

The full cycle of a ranker in a shop: log features in the search engine, judge, train, upload, learn
from clicks, compare with users, refresh.

Here, SQLite's full-text search plays the role of the search engine. Its responses have the same
form as those of the learning-to-rank plugin of OpenSearch and Elasticsearch.
"""

# %%
# A small search engine
# ---------------------
# Products have a title, a text, a price and sales. Only the simulation knows what users want: words
# in the title count more than words in the text, and best-selling products are preferred.

# sphinx_gallery_thumbnail_path = "generated/diagrams/from-log-to-model.svg"
import json
import sqlite3
import tempfile
from pathlib import Path

import numpy as np

from treerank import TreeDirectRanker, export, read_feature_log, read_judgments
from treerank.clicks import (
    ClickLog,
    count_data,
    interleaving_preference,
    simulate_clicks,
    team_draft,
)
from treerank.exports import write_feature_set
from treerank.rankers import refresh

folder, random = Path(tempfile.mkdtemp()), np.random.default_rng(0)
words = np.array([f"{kind}{number}" for kind in ("shoe", "red", "run") for number in range(15)])
products = [f"p{number}" for number in range(2_000)]
price, sales = random.lognormal(3, 1, 2_000).round(2), random.lognormal(2, 1.5, 2_000).round()
titles = [" ".join(random.choice(words, 4)) for _ in products]
texts = [" ".join(random.choice(words, 15)) for _ in products]
engine = sqlite3.connect(":memory:")
engine.execute("CREATE VIRTUAL TABLE shop USING fts5(id UNINDEXED, title, text)")
rows = zip(products, titles, texts, strict=True)
_ = engine.executemany("INSERT INTO shop VALUES (?, ?, ?)", rows)

# %%
# A search returns the top 30 by BM25, each with its features in ``_ltrlog``. A feature has no value
# if its query does not match the document.


def search(query):
    columns = "-bm25(shop, 0, 1, 0), -bm25(shop, 0, 0, 1), -bm25(shop, 0, 1, 1)"
    sql = f"SELECT id, {columns} FROM shop WHERE shop MATCH ? ORDER BY 4 DESC, id LIMIT 30"
    found = engine.execute(sql, (" OR ".join(query.split()),)).fetchall()
    return {"hits": {"hits": [hit(*each) for each in found]}}


def hit(product, title, text, _):
    row = int(product[1:])
    values = {"title": title, "text": text, "price": price[row], "sales": sales[row]}
    log = [
        {"name": name, "value": value} if value else {"name": name}
        for name, value in values.items()
    ]
    return {"_id": product, "fields": {"_ltrlog": [{"log": log}]}}


queries = [" ".join(random.choice(words, 2, replace=False)) for _ in range(400)]
answers = {query: search(query) for query in queries}
print(json.dumps(answers[queries[0]]["hits"]["hits"][0]))

# %%
# Judgments and features
# ----------------------
# Judges have graded the first 100 queries in a CSV file. ``read_feature_log`` joins the log and the
# judgments, and reports what is in only one of them.


def wanted(query, product, sold=0.4):
    row = int(product[1:])
    title, text = (
        sum(word in place.split() for word in query.split()) for place in (titles[row], texts[row])
    )
    return 1.2 * title + 0.3 * text + sold * np.log1p(sales[row]) - 0.3 * np.log(price[row])


def grades(query, **taste):
    found = [each["_id"] for each in answers[query]["hits"]["hits"]]
    return {each: int(np.clip(wanted(query, each, **taste), 0, 4)) for each in found}


lines = [
    f"{query},{each},{grade}" for query in queries[:100] for each, grade in grades(query).items()
]
(folder / "judgments.csv").write_text("\n".join(["query,docid,grade", *lines[:-2]]))
judged = {query: answers[query] for query in dict.fromkeys(queries[:100])}
log = read_feature_log(judged, read_judgments(folder / "judgments.csv"))
print(log.X.column_names, len(log.y), "documents; not judged:", log.unjoined()["document"])

# %%
# Learn, and upload
# -----------------
# The file is the request that creates the model, and ``write_feature_set`` drafts the feature set
# that the model needs. The export has scored the documents in ``check`` as the plugin would.

ranker = TreeDirectRanker(random_state=0).fit(*log)
report = export(ranker, folder / "shop.json", format="opensearch", check=log.X, name="shop")
write_feature_set(ranker, folder / "features.json", format="opensearch", name="shop")
print(report)

# %%
# For each document, the plugin evaluates the trees in this file. The following function does the
# same, and orders all lists as the ranker does.


def plugin_score(features):
    total = np.float32(0)
    for node in trees:
        while "leaf" not in node:
            value = features.get(node["split"])
            key = (
                "missing"
                if value is None
                else "yes"
                if np.float32(value) < node["split_condition"]
                else "no"
            )
            node = next(each for each in node["children"] if each["nodeid"] == node[key])
        total += np.float32(node["leaf"])
    return float(total)


trees = json.loads(json.loads((folder / "shop.json").read_text())["model"]["model"]["definition"])
scores = ranker.predict(log.X)
served = np.array(
    [
        plugin_score(
            {entry["name"]: entry.get("value") for entry in each["fields"]["_ltrlog"][0]["log"]}
        )
        for query in judged
        for each in judged[query]["hits"]["hits"]
    ]
)
for query in judged:
    rows = log.qid == query
    assert (
        np.argsort(-scores[rows], kind="stable") == np.argsort(-served[rows], kind="stable")
    ).all()

# %%
# Learn from its users
# --------------------
# The new order is live for all queries, and users click: they look at position k with probability
# 1/k. A second ranker learns from their clicks, which are read from the table of a log.

live = read_feature_log(answers, features=ranker.feature_names_in_)
truth = np.array([grades(query)[each] for query, each in zip(live.qid, live.doc_ids, strict=True)])
shown = simulate_clicks(
    truth, live.qid, ranker.predict(live.X), n_sessions=20, exploration=0.5, random_state=0
)
table = {
    "session": shown.session,
    "query": shown.items.query[shown.item],
    "document": live.doc_ids[shown.items.document[shown.item]],
    "position": shown.position,
    "click": shown.clicked.astype(int),
}
data = count_data(ClickLog.from_table(table), (live.X, live.qid, live.doc_ids))
clicked = TreeDirectRanker(random_state=0).fit(data)
print("looked at:", clicked.propensities_[:5].round(2))

# %%
# Which of the two do users prefer? Interleave their lists, and count the clicks on the documents of
# each.

clicks = []
by_judges, by_clicks = ranker.predict(live.X), clicked.predict(live.X)
for query in queries[100:]:
    rows = np.flatnonzero(live.qid == query)
    lists = [rows[np.argsort(-found[rows])] for found in (by_judges, by_clicks)]
    for _ in range(5):
        mixed = team_draft(*lists, random_state=random.integers(2**31))
        looks = random.random(len(mixed.team)) < 1 / np.arange(1, len(mixed.team) + 1)
        hits = looks & (random.random(len(looks)) < truth[mixed.documents] / 4)
        clicks.append([(hits & (mixed.team == team)).sum() for team in (0, 1)])
print(interleaving_preference(*np.transpose(clicks)))

# %%
# When tastes change
# ------------------
# Months later, users care less about best sellers. ``refresh`` refits the old trees to new
# judgments, and returns the new ranker only if it is not worse on queries that were left out.

fresh = read_feature_log({query: answers[query] for query in dict.fromkeys(queries[100:])})
new = [grades(query, sold=0.1)[each] for query, each in zip(fresh.qid, fresh.doc_ids, strict=True)]
refreshed = refresh(ranker, fresh.X, np.array(new), fresh.qid)
print(refreshed)
again = export(
    refreshed.ranker, folder / "new.json", format="opensearch", check=live.X, name="shop2"
)
print(again)

assert refreshed.accepted
assert report.n_changed_pairs == again.n_changed_pairs == 0
