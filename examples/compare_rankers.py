"""
Comparing rankers
=================

Which ranker is better, and is that more than luck?
"""

# %%
# Two rankers of ours and two that know nothing of queries: whatever has fit and predict will do.
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from treerank import TreeDirectRanker
from treerank.datasets.synthetic import make_web_search
from treerank.evaluation import compare
from treerank.feature_parts.engines.lightgbm import LightGBMTrees
from treerank.model_selection import QueryShuffleSplit

trees = LightGBMTrees(n_estimators=10, num_leaves=7)
rankers = {
    "trees, delta NDCG": TreeDirectRanker(trees),
    "trees, all pairs alike": TreeDirectRanker(trees, weight="uniform", smoothing=0.0),
    "line": Ridge(),
    "stump": DecisionTreeRegressor(max_depth=1),
}

# %%
# The same splits for all. With store="some folder", a second run goes on where a kill left off.
comparison = compare(
    rankers,
    make_web_search(80, documents_per_query=15, random_state=0),
    cv=QueryShuffleSplit(15, random_state=0),
    metrics=("ndcg@10", "map"),
    grid={"line": {"alpha": [1.0, 100.0]}},  # tried on each training set, split by query
)

# %%
# Arrows mark what differs from the best, by a test that knows that the splits overlap.
summary = comparison.summary()
print(summary)
assert not comparison.failures
assert summary.cells["stump", "ndcg@10"].verdict == "worse"

# %%
# The same over queries, each counted once: Fisher's randomization instead of Student's t.
print(comparison.test("ndcg@10", "randomization"))

# %%
# Every value is there, by ranker, split, query and metric, for pandas or polars.
print(comparison.values.to_polars().head())

# %%
# The p-values of all pairs, as a figure of a column's width (pip install treerank[plots]).
try:
    from treerank.plots import p_value_matrix

    p_value_matrix(comparison.test("ndcg@10"))
except ImportError as error:
    print(error)
