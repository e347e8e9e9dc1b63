"""
The second stage of a recommender
=================================

Two retrievers propose items for each user, and a ranker orders them. Features use only the past,
the data are split by time, and the main metric is the share of all purchases that are in the top
ten.
"""

# %%
# A log of purchases
# ------------------
# Simulated users have a taste (a share for each category of items) and a budget.

# sphinx_gallery_thumbnail_path = "generated/diagrams/hybrid.svg"
import numpy as np
import pandas as pd

from treerank import TreeDirectRanker, compare
from treerank.metrics import NDCG, Recall
from treerank.rankers import ColumnRanker

random = np.random.default_rng(0)
n_users, n_items, n_kinds, n_weeks = 800, 300, 10, 12
kind, price = random.integers(n_kinds, size=n_items), random.lognormal(3, 0.6, n_items)
taste, budget = random.dirichlet(np.full(n_kinds, 0.2), n_users), random.normal(3, 0.4, n_users)
utility = 3 * taste[:, kind] + random.normal(0, 0.7, n_items)
utility = utility - 1.5 * (np.log(price) - budget[:, None]) ** 2

rows = []
for user in range(n_users):
    weeks = np.sort(random.integers(n_weeks, size=random.integers(8, 25)))
    odds = np.exp(utility[user])
    bought = random.choice(n_items, len(weeks), p=odds / odds.sum(), replace=False)
    rows += [(f"user {user}", item, week) for item, week in zip(bought, weeks, strict=True)]
log = pd.DataFrame(rows, columns=["user", "item", "week"])
items = pd.DataFrame({"item": range(n_items), "kind": kind, "price": price})

# %%
# Candidates of two retrievers
# ----------------------------
# One retriever returns the best sellers of the last two weeks, the other returns items bought by
# users who bought the same items as this user. If a retriever did not find an item, the item has no
# score from it.


def candidates(past, users):
    """Return the candidates of users, with the scores of both retrievers."""
    recent = past[past.week >= past.week.max() - 1].groupby("item").size().rename("popular")
    recent = recent.reset_index().sort_values(["popular", "item"], ascending=False).head(30)
    popular = pd.DataFrame({"user": users}).merge(recent, how="cross")
    pairs = past.merge(past, on="user", suffixes=("", "_2")).query("item != item_2")
    pairs = pairs.groupby(["item", "item_2"]).size().rename("together").reset_index()
    near = past[past.user.isin(users)].merge(pairs, on="item")
    near = near.groupby(["user", "item_2"])["together"].sum().reset_index()
    near = near.rename(columns={"item_2": "item"}).sort_values(["together", "item"])
    both = popular.merge(near.groupby("user").tail(30), on=["user", "item"], how="outer")
    owned = pd.MultiIndex.from_frame(past[["user", "item"]])
    return both[~pd.MultiIndex.from_frame(both[["user", "item"]]).isin(owned)]


# %%
# Features of the past only
# -------------------------
# ``table(week)`` is computed as it would be on the first morning of that week: candidates and
# features come from ``past`` alone, and the week itself provides only the labels. Every candidate
# that was not bought is a negative. All columns except the label and those of the query are
# features. So the ids of items become the index; as a column, they would be a feature, too.


def table(week, history=None, users=None):
    """Return the candidates of users, and whether they buy them; by default of all who buy."""
    past, now = log[log.week < week], log[log.week == week]
    users = now.user.unique() if users is None else users
    X = candidates(past, users).merge(items, on="item")
    known = (past if history is None else history).merge(items, on="item")
    X["price_ratio"] = X.price / X.user.map(known.groupby("user")["price"].mean())
    share = known.groupby(["user", "kind"]).size() / known.groupby("user").size()
    X["kind_share"] = pd.MultiIndex.from_frame(X[["user", "kind"]]).map(share).fillna(0)
    bought = pd.MultiIndex.from_frame(now[["user", "item"]])
    X["bought"] = pd.MultiIndex.from_frame(X[["user", "item"]]).isin(bought).astype(float)
    return X.assign(week=week).set_index("item").drop(columns="kind")


# %%
# Weeks in the order of time
# --------------------------
# Train on five weeks, choose the number of trees on the next one, and measure on the last two. The
# query is a user in a week.

train, valid, test = (pd.concat([table(w) for w in ws]) for ws in (range(4, 9), [9], [10, 11]))
query = ("user", "week")
ranker = TreeDirectRanker(["lightgbm", "linear"], random_state=0)
ranker.fit(train, "bought", query, eval_set=(valid, "bought", query))

# %%
# Metrics of all purchases
# ------------------------
# ``recall@10`` divides by the number of purchases among the candidates, and leaves out users for
# whom no purchase was retrieved. So does NDCG. ``n_relevant`` is the number of all purchases, in
# which an item that a user buys twice in a week counts only once.
#
# A user who buys in both test weeks appears as two queries, which are correlated. So ``clusters``
# names the user, and intervals and tests are computed over whole users.

n_bought = log.drop_duplicates(["user", "week", "item"]).groupby(["user", "week"]).size()
of_all = NDCG(10, n_relevant=n_bought), Recall(10, n_relevant=n_bought)

# A ``ColumnRanker`` ranks by a column as it is: it needs no fit.
retrievers = {name: ColumnRanker(name) for name in ("popular", "together")}
comparison = compare(
    retrievers | {"trees and linear model": ranker},
    (test, "bought", query),
    metrics=["ndcg@10", "recall@10", *of_all],
    clusters="user",
)
print(comparison)
print(comparison.difference("recall_of_all@10", "trees and linear model", "together"))

found = test.bought.sum() / n_bought.loc[:, [10, 11]].sum()
print(f"Of all purchases, {found:.0%} are among the candidates.")

best = ranker.score(test, "bought", query)
assert comparison.by_split("ndcg@10")[0].argmax() == 2

# %%
# What a leak looks like
# ----------------------
# Category shares over the whole log include the purchases of the week itself. Offline, the model
# looks much better. In production, where only the features of that day exist, it gains nothing.

leaky = pd.concat([table(week, history=log) for week in range(4, 9)])
leaking = TreeDirectRanker(["lightgbm", "linear"], random_state=0)
leaking.fit(leaky, "bought", query, eval_set=(table(9, history=log), "bought", query))
offline = pd.concat([table(week, history=log) for week in (10, 11)])
promised, served = (leaking.score(rows, "bought", query) for rows in (offline, test))
print(f"NDCG@10: {promised:.3f} offline, {served:.3f} served; without the leak {best:.3f}")

assert promised > best + 0.05 > served

# %%
# Ten items for one user next week
# --------------------------------
# ``users`` names the users who get recommendations for a week of which nothing is known yet. The
# labels in that table are all 0 and mean nothing, so they are dropped. The rows belong to one
# query, so ``top_k`` needs no ``qid``; it returns row numbers, best first.

next_week = table(n_weeks, users=["user 7"]).drop(columns=["user", "week", "bought"])
top = ranker.top_k(next_week, k=10)
recommended = next_week.index[top]
print(f"For user 7: {', '.join(f'item {item}' for item in recommended)}")

assert len({*recommended}) == 10
assert not {*recommended} & {*log[log.user == "user 7"].item}
