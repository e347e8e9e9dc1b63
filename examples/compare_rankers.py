"""
Comparing rankers
=================

Fit several rankers on the same splits, and test which differences are more than chance.
"""

# %%
# Rankers
# -------
# Two rankers of treerank and two regressors of scikit-learn, which ignore queries. Every estimator
# with ``fit`` and ``predict`` can be compared.

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
# All rankers are fitted on the same splits. ``grid`` lists parameters to choose from, on each
# training set, split by query. With ``store="some folder"`` finished fits are kept, and a run that
# was interrupted continues there.

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
# As a picture: the difference of each ranker to the default, with its interval.

import matplotlib.pyplot as plt

for name in ("stump", "linear", "all pairs alike"):
    gap = comparison.difference("ndcg@10", name, "default").interval
    plt.plot([gap.low, gap.high], [name, name], color="C0")
    plt.plot(gap.estimate, name, "o", color="C0")
plt.axvline(0, linestyle="--", color="gray")
plt.xlabel("NDCG@10, less that of the default")
plt.tight_layout()

# %%
# A test over queries
# -------------------
# Fisher's randomization test compares the values of single queries instead.

print(comparison.test("ndcg@10", "default", "linear", test="randomization"))

# %%
# All values
# ----------
# Columns hold each value by ranker, split, query and metric, for a data frame of any kind.

import pyarrow as pa

for row in pa.table(comparison.values).slice(0, 5).to_pylist():
    print(row)
