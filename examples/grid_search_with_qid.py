"""
Grid search with queries
========================

scikit-learn's searches shuffle and split rows. Since ``qid`` has one entry per row, it is split in
the same way, and it is passed to ``fit``, to ``score`` and to the splitter, which keeps queries
whole.
"""

# %%
# Data
# ----

import sklearn
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer

from treerank import LightGBMTrees, QueryKFold, TreeDirectRanker, make_web_search
from treerank.metrics import RankingScorer

X, y, qid = make_web_search(n_queries=60, documents_per_query=20, n_features=30, random_state=0)

# %%
# Search
# ------
# With metadata routing enabled, one ``qid=qid`` is enough: the ranker and the splitter request it.
# The names of the feature part's parameters begin with ``feature_part__``.

ranker = TreeDirectRanker(LightGBMTrees(n_estimators=20), random_state=0)
grid = {"weight": ["uniform", "ndcg"], "feature_part__num_leaves": [4, 16]}
with sklearn.config_context(enable_metadata_routing=True):
    search = GridSearchCV(ranker, grid, cv=QueryKFold(3)).fit(X, y, qid=qid)
print("best:", search.best_params_, f"NDCG@10 {search.best_score_:.3f}")

# %%
import matplotlib.pyplot as plt

tried = search.cv_results_["params"]
names = [f"{each['weight']}, {each['feature_part__num_leaves']} leaves" for each in tried]
plt.barh(names, search.cv_results_["mean_test_score"])
plt.xlabel("NDCG@10")
plt.tight_layout()

# %%
# Pipelines and other metrics
# ---------------------------
# A pipeline passes ``qid`` on. ``RankingScorer`` turns any metric into a scorer.

pipeline = make_pipeline(QuantileTransformer(n_quantiles=50), search.best_estimator_)
with sklearn.config_context(enable_metadata_routing=True):
    scoring = {"map": RankingScorer("map"), "ndcg@5": RankingScorer("ndcg@5")}
    results = cross_validate(pipeline, X, y, cv=QueryKFold(3), params={"qid": qid}, scoring=scoring)
for name in scoring:
    print(f"{name}: {results[f'test_{name}'].mean():.3f}")

assert set(search.best_params_) == set(grid)
assert len(search.cv_results_["params"]) == 4
assert results["test_map"].mean() > 0.5
