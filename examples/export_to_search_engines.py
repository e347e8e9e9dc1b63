"""
Models for OpenSearch and Solr
==============================

Search engines compute in single precision and treat missing values in their own ways. The export
scores documents as the engine would, and refuses a model that the engine would rank differently.
"""

# %%
# Export with a check
# -------------------
# Thresholds are moved to numbers at which the engine makes the same decisions as the ranker.

# sphinx_gallery_thumbnail_path = "generated/diagrams/export.svg"
import json
import tempfile
from pathlib import Path

import numpy as np

from treerank import LightGBMTrees, TreeDirectRanker, export, make_web_search
from treerank.exports import write_feature_set

X, y, qid = make_web_search(n_queries=30, documents_per_query=20, n_features=20, random_state=0)
X -= X.min(axis=0)  # no query of OpenSearch or Elasticsearch has a negative score
trees = LightGBMTrees(n_estimators=50)
ranker = TreeDirectRanker(trees, random_state=0).fit(X, y, qid)
folder = Path(tempfile.mkdtemp())
for engine in ("opensearch", "solr"):
    report = export(ranker, folder / f"{engine}.json", format=engine, check=(X, y, qid))
    print(report)
    assert report.n_changed_pairs == 0

# %%
# Features and upload
# -------------------
# If you pass a name, the file is the complete request body. Send it to the printed path with ``curl
# --json @shop.json``. The draft of the feature set contains the names of the model's features;
# replace its templates with your queries.

for engine in ("opensearch", "elasticsearch", "solr"):
    file = folder / f"{engine}_shop.json"
    print(export(ranker, file, format=engine, check=(X, y, qid), name="shop"))
for engine in ("opensearch", "solr"):
    write_feature_set(ranker, folder / f"{engine}_features.json", format=engine, name="shop")
store = json.loads((folder / "solr_features.json").read_text())
assert [feature["name"] for feature in store] == [f"f{i}" for i in range(20)]

# %%
# What an engine cannot do
# ------------------------
# Solr 8 treats missing values as 0. A model for which this matters is refused, and the error names
# the features and the counts. From Solr 9.2 on, each split determines where missing values go.

X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
ranker = TreeDirectRanker(trees, random_state=0).fit(X, y, qid)
try:
    export(ranker, folder / "refused.json", format="solr", version="8", check=(X, y, qid))
except ValueError as error:
    print(str(error)[:120], "...")
assert not (folder / "refused.json").exists()
print(export(ranker, folder / "solr.json", format="solr", check=(X, y, qid)))
