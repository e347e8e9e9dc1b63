"""
Comparing rankers
=================

Fit several rankers on the same splits, and test which differences are significant.
"""

# %%
# Rankers
# -------
# This example compares two of treerank's rankers and two of scikit-learn's regressors, which ignore
# queries. You can compare any estimators with ``fit`` and ``predict``.

from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from treerank import QueryShuffleSplit, TreeDirectRanker, compare, make_web_search

rankers = {
    "default": TreeDirectRanker(random_state=0),
    "all pairs alike": TreeDirectRanker(weight="uniform", smoothing=0.0, random_state=0),
    "linear": Ridge(),
    "stump": DecisionTreeRegressor(max_depth=1),
}

# %%
# Fits
# ----
# All rankers are fitted on the same splits. ``grid`` lists values of hyperparameters. The best ones
# are chosen on each training set, which is split by query for this purpose. With
# ``store="some folder"``, finished fits are kept, so that an interrupted run can resume.

comparison = compare(
    rankers,
    make_web_search(150, documents_per_query=20, random_state=0),
    cv=QueryShuffleSplit(5, random_state=0),
    metrics=("ndcg@10", "map"),
    grid={"linear": {"alpha": [1.0, 100.0]}},
)

# %%
# Summary
# -------
# Arrows mark rankers that differ significantly from the best. The test, Nadeau and Bengio's
# corrected t-test, takes into account that the splits overlap.

summary = comparison.summary()
print(summary)
assert not comparison.failures
assert summary.cells["stump", "ndcg@10"].verdict == "worse"

# %%
# A forest plot shows the difference between each ranker and the default, with its confidence
# interval. A gray interval includes 0, so the difference is not significant.

comparison.plot(metric="ndcg@10", reference="default")

# %%
# A test over queries
# -------------------
# Fisher's randomization test compares the values query by query instead.

print(comparison.test("ndcg@10", "default", "linear", test="randomization"))

# %%
# All values
# ----------
# ``values`` holds all values by ranker, split, query and metric, as columns for a data frame.

import pyarrow as pa

for row in pa.table(comparison.values).slice(0, 5).to_pylist():
    print(row)
