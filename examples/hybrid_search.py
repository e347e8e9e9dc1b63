"""
Hybrid search: how far to trust each retriever
==============================================

BM25, vectors and a cross-encoder each return a list. A ranker learns from judged queries how to
combine them, and the weights go to the search engine.

The retrievers are small but real: BM25 of SQLite's full-text search, and topic vectors. The
cross-encoder is simulated: the true relevance plus noise.
"""

# %%
# Three retrievers
# ----------------
# A product belongs to a topic, and its text has words of this topic. A search also consists of
# words of its topic, but not always of the words in the product's text. In that case, only the
# vectors find the product.

# sphinx_gallery_thumbnail_path = "generated/diagrams/hybrid.svg"
import sqlite3
import tempfile
from pathlib import Path

import numpy as np

from treerank import TreeDirectRanker, compare, export, read_runs
from treerank.feature_parts import LinearModel
from treerank.rankers import ColumnRanker

random, n_products, n_topics = np.random.default_rng(0), 1_500, 60
topic = random.integers(n_topics, size=n_products)
quality = random.normal(size=n_products)
vectors = random.normal(size=(n_topics, 16))
embedded = vectors[topic] + 0.9 * random.normal(size=(n_products, 16))


def words(of_topic, size):
    """Draw words of a topic, and a few that any text has."""
    own = [f"word{number}" for number in of_topic * 12 + random.integers(12, size=size)]
    return " ".join([*own, *(f"word{number}" for number in random.integers(720, size=4))])


engine = sqlite3.connect(":memory:")
engine.execute("CREATE VIRTUAL TABLE shop USING fts5(id UNINDEXED, text)")
texts = [(f"p{number}", words(topic[number], 6)) for number in range(n_products)]
_ = engine.executemany("INSERT INTO shop VALUES (?, ?)", texts)


def by_words(query):
    """Return the 20 best products by BM25, with their scores."""
    sql = "SELECT id, -bm25(shop) FROM shop WHERE shop MATCH ? ORDER BY 2 DESC, id LIMIT 20"
    return dict(engine.execute(sql, (" OR ".join(query.split()),)).fetchall())


def by_vectors(vector):
    """Return the 20 best products by cosine similarity."""
    lengths = np.linalg.norm(embedded, axis=1) * np.linalg.norm(vector)
    cosines = embedded @ vector / lengths
    return {f"p{number}": float(cosines[number]) for number in np.argsort(-cosines)[:20]}


# %%
# Each search queries both of them. The cross-encoder scores the candidates of both. It returns
# logits, which become probabilities, because scores of search engines cannot be negative.

runs, judgments = {"bm25": {}, "dense": {}, "cross": {}}, {}
for number in range(300):
    wanted = int(random.integers(n_topics))
    query = words(wanted, 2)
    lists = {
        "bm25": by_words(query),
        "dense": by_vectors(vectors[wanted] + 0.5 * random.normal(size=16)),
    }
    products = sorted(set(lists["bm25"]) | set(lists["dense"]))
    rows = np.array([int(product[1:]) for product in products])
    relevance = np.where(topic[rows] == wanted, 1.5 + quality[rows], 0).clip(0, 3).round()
    logits = 1.5 * relevance - 2 + 1.5 * random.normal(size=len(rows))
    lists["cross"] = dict(zip(products, (1 / (1 + np.exp(-logits))).tolist(), strict=True))
    for name, scores in lists.items():
        runs[name][f"{number}: {query}"] = scores
    judgments[f"{number}: {query}"] = dict(zip(products, relevance.tolist(), strict=True))

# %%
# Which fusion ranks best?
# ------------------------
# The table of candidates contains each score in three forms: raw, normalized, and as a reciprocal
# rank. Single columns serve as baselines.

data = read_runs(runs, judgments)
print(data, data.X.column_names)
rankers = {
    "reciprocal rank fusion": ColumnRanker("rrf"),
    "cross-encoder": ColumnRanker("cross"),
    "linear model": TreeDirectRanker("linear"),
    "trees and linear model": TreeDirectRanker(["lightgbm", "linear"]),
}
comparison = compare(rankers, data, metrics=["ndcg@10"])
print(comparison.summary())
print(comparison.difference("ndcg@10", "trees and linear model", "reciprocal rank fusion"))

# %%
# Weights for the search engine
# -----------------------------
# OpenSearch adds up weighted min-max scores. A linear model learns these weights from columns that
# are computed as OpenSearch computes them. No weight may be negative. OpenSearch cannot weight a
# cross-encoder like a query, so its scores are left out. The export emulates the hybrid query for
# the candidates of each search.

folder = Path(tempfile.mkdtemp())
queries = {name: runs[name] for name in ("bm25", "dense")}
served = read_runs(queries, judgments, engine="opensearch")
linear = TreeDirectRanker(LinearModel(positive=True)).fit(*served.normalized())
report = export(
    linear, folder / "pipeline.json", format="opensearch-hybrid", check=served, name="shop"
)
print(report)
print((folder / "pipeline.json").read_text())

assert report.n_changed_pairs == 0
lead = comparison.difference("ndcg@10", "trees and linear model", "reciprocal rank fusion")
assert lead.interval.low > 0
