"""
A ranking expression for Vespa
==============================

Vespa evaluates expressions of rank features. A ranker that consists of a linear model and trees
becomes such an expression.
"""

# %%
# Export with a check
# -------------------
# The columns have the names of rank features, or of functions in the rank profile. Vespa stores the
# values of leaves in single precision, so the documents in ``check`` are scored as Vespa scores
# them.

# sphinx_gallery_thumbnail_path = "generated/diagrams/export.svg"
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from treerank import Ensemble, LightGBMTrees, TreeDirectRanker, export, make_web_search
from treerank.feature_parts import LinearModel

X, y, qid = make_web_search(n_queries=30, documents_per_query=20, n_features=4, random_state=0)
X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
names = ["bm25(title)", "bm25(body)", "attribute(popularity)", "freshness(published)"]
documents = pd.DataFrame(X, columns=names)
parts = Ensemble([LinearModel(), LightGBMTrees(n_estimators=10, num_leaves=7)], n_bags=2)
ranker = TreeDirectRanker(parts, random_state=0).fit(documents, y, qid)
folder = Path(tempfile.mkdtemp())
path = folder / "ranker.expression"
report = export(ranker, path, format="vespa-expression", check=(documents, y, qid))
print(report)
assert report.n_changed_pairs == 0

# %%
# The rank profile
# ----------------
# Put the file into the folder ``schemas`` of the application, and name it in the rank profile.

profile = """
rank-profile treerank {
    first-phase { expression: bm25(title) }
    second-phase { expression: file:ranker.expression }
}
"""
print(profile, path.read_text()[:200], "...")
