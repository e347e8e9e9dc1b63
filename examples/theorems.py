"""
Theorems that run
=================

This page demonstrates what the papers prove about rankers that compare two documents. Each example
is small enough to be checked completely. The papers are: Köppel et al. (the head, and which orders
it can represent), Burges et al. (probabilities of pairs) and Rigutini et al. (SortNet, whose
comparator has no score).
"""

# %%
# Lemma 1: whatever f is, r is an order
# -------------------------------------
# Let f be any function of a document, w any weights, and :math:`\tau` odd and increasing. Then
# :math:`r(a, b) = \tau(\langle w, f(a) - f(b) \rangle)` is reflexive, antisymmetric and transitive.
# Here, f is completely arbitrary: three random numbers for each document. If the documents are
# sorted by their scores, each one beats all that follow it.

import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(0)
f, w = rng.normal(size=(60, 3)), rng.normal(size=3)
score = f @ w
r = np.tanh(score[:, None] - score)

assert (r.diagonal() == 0).all()
assert (r == -r.T).all()
at_least = r >= 0
by_way_of_another = (at_least[:, :, None] & at_least[None]).any(axis=1)  # a over b, b over c
assert at_least[by_way_of_another].all()

order = np.argsort(-score)
figure, panels = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for panel, rows, title in zip(panels, (np.arange(60), order), ("as drawn", "sorted"), strict=True):
    picture = panel.imshow(r[np.ix_(rows, rows)], cmap="RdBu_r", vmin=-1, vmax=1)
    panel.set(title=f"60 documents, {title}", xlabel="document b", ylabel="document a")
figure.colorbar(picture, ax=panels, label="r(a, b)")
plt.show()

# %%
# Proposition 2: every countable set has such an order
# ----------------------------------------------------
# Number the elements: the order of the numbers is such an order. For the positive fractions, Cantor
# walks along the diagonals. Two different fractions get two different numbers.

from fractions import Fraction

number, walk = {}, []
for diagonal in range(2, 14):
    for top in range(1, diagonal):
        bottom = diagonal - top
        walk.append((bottom, top))
        number.setdefault(Fraction(top, bottom), len(number))

assert sorted(number.values()) == list(range(len(number)))
first = sorted(number, key=number.get)[:7]
print("1 < 2 < 3 < ...:", " < ".join(map(str, first)))

plt.figure(figsize=(4.5, 4.2), layout="constrained")
plt.plot(*np.transpose(walk), color="0.8", zorder=1)
for bottom, top in walk:
    if np.gcd(bottom, top) == 1 and max(top, bottom) < 10:
        plt.text(bottom, top, number[Fraction(top, bottom)], ha="center", va="center")
plt.xlim(0.3, 9.6)
plt.ylim(0.3, 9.6)
plt.xlabel("denominator")
plt.ylabel("numerator")
plt.title("The number of each fraction")
plt.show()

# %%
# Theorem 3: any order of separate points has a continuous score
# --------------------------------------------------------------
# The documents are the points of a grid, with seven levels drawn at random, so that the levels of
# neighbors are unrelated. The proof gives the points their scores one by one: those of an equal
# point, one more than the highest, one less than the lowest, or the middle between the nearest two.
# Then it puts a bump of this height on each point. The bumps are less than half as wide as the
# distance between the points.

points = np.array([(a, b) for a in range(7) for b in range(7)], dtype=float)
level = rng.integers(7, size=len(points))


def scores_of_the_proof(level):
    scores = np.zeros(len(level))
    for i in range(1, len(level)):
        before, its = level[:i], scores[:i]
        lower, higher = its[before < level[i]], its[before > level[i]]
        if (before == level[i]).any():
            scores[i] = its[before == level[i]][0]
        elif not len(higher):
            scores[i] = lower.max() + 1
        elif not len(lower):
            scores[i] = higher.min() - 1
        else:
            scores[i] = (lower.max() + higher.min()) / 2
    return scores


def bumps(X, heights, width=0.5):
    distance = np.linalg.norm(X[:, None] - points, axis=2)
    return np.maximum(0, 1 - distance / width) @ heights


def share_in_order(scores, level):
    """Share of the pairs of different levels whose scores differ as their levels do."""
    higher = level[:, None] > level
    return np.mean((scores[:, None] > scores)[higher])


heights = scores_of_the_proof(level)
g = bumps(points, heights)
assert ((g[:, None] >= g) == (level[:, None] >= level)).all()  # exact, ties too
assert share_in_order(g, level) == 1

# %%
# So such a score exists; whether a fit finds it is another question. For the three orders below,
# trees, soft trees and a network with RankNet's loss find it. With the cost :math:`(1 - \tanh)^2 /
# 2` of the DirectRanker, which is flat where a pair is clearly wrong, the network may stop short.

from treerank import MLP, LightGBMTrees, SoftTrees, TreeDirectRanker

network = MLP((64, 64), n_epochs=300, learning_rate=0.01, start="glorot")
soft = SoftTrees(depth=4, n_epochs=300, learning_rate=0.03, average_weights=False)
fits = {
    "trees": (LightGBMTrees(150, num_leaves=15, min_child_samples=1, learning_rate=0.2), {}),
    "soft trees": (soft, {}),
    "network": (network, {}),
    "network, flat cost": (network, {"loss": "half_squared_tanh", "tau": "tanh"}),
}
one_query = np.zeros(len(points), dtype=int)
orders = [np.random.default_rng(seed).integers(7, size=len(points)) for seed in range(3)]
reached = {}
for name, (part, settings) in fits.items():
    settings |= {"weight": "uniform", "pairs": "adjacent", "smoothing": 0}
    ranker = TreeDirectRanker(part, **settings, random_state=1)
    scores = [ranker.fit(points, labels, one_query).predict(points) for labels in orders]
    reached[name] = list(map(share_in_order, scores, orders))
    print(f"{name}:", ", ".join(f"{share:.1%}" for share in reached[name]), "of the pairs in order")

assert min(reached["trees"] + reached["soft trees"] + reached["network"]) > 0.99

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
axis = np.linspace(-0.6, 6.6, 181)
plane = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
surface = bumps(plane, heights - heights.min() + 1).reshape(181, 181)
left.pcolormesh(axis, axis, surface, cmap="viridis", shading="auto")
for (a, b), its in zip(points, level, strict=True):
    left.text(a, b, its, color="white", ha="center", va="center")
left.set(title="The score of the proof, and the levels", aspect="equal")
for name, shares in reached.items():
    right.plot([100 * share for share in shares], [name] * 3, "o", alpha=0.5)
right.invert_yaxis()
right.set(title="Pairs in order after a fit, %; three orders", xlim=(45, 102))
plt.show()

# %%
# Theorem 4: orders of a region whose levels are apart
# ----------------------------------------------------
# Let the documents fill a convex open region, here a disc, and let what is better than x and what
# is worse than x be open. Then the distance from the level of some :math:`x_0`, with a sign, is a
# score. Here, documents are better the farther they are from the point (2, 0). Its levels are arcs.
# The distance between two of them is measured, not derived: it is the smallest distance between
# their points.

center = np.array([2.0, 0.0])
angle = np.linspace(np.pi / 2, 3 * np.pi / 2, 4001)


def arc(radius):
    """Return points of the disc at a distance from the center."""
    on_circle = center + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return on_circle[(on_circle**2).sum(axis=1) < 1]


from scipy.spatial import cKDTree

inside = rng.uniform(-1, 1, size=(200, 2))
inside = inside[(inside**2).sum(axis=1) < 0.97]
value = np.linalg.norm(inside - center, axis=1)
level_of_first = cKDTree(arc(value[0]))
apart = np.array([level_of_first.query(arc(radius))[0].min() for radius in value])
signed = np.sign(value - value[0]) * apart

i, j = np.triu_indices(len(inside), 1)
assert ((signed[i] >= signed[j]) == (value[i] >= value[j])).all()
print(f"all {len(i)} pairs of {len(inside)} points of the disc are in order")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.5"))
for radius in np.arange(1.2, 3, 0.2):
    left.plot(*arc(radius).T, color="0.8", zorder=1)
left.plot(*arc(value[0]).T, color="black", label="the level of the first point")
picture = left.scatter(*inside.T, c=signed, cmap="RdBu_r", vmin=-1.5, vmax=1.5, edgecolor="0.6")
left.set(title="A disc, and levels of the order", aspect="equal", ylim=(-1.3, 1.1))
left.legend(loc="lower left", fontsize="small")
figure.colorbar(picture, ax=left, label="g(x): distance of the levels, with a sign")
right.scatter(value, signed, s=8)
right.set(title="g increases with the order", xlabel="distance from (2, 0)", ylabel="g(x)")
plt.show()

# %%
# The condition is needed. Sort the points of a square by their first coordinate, and those with the
# same first coordinate by the second. What is better than a point is not open, and no real number
# can be the score: every first coordinate would need an interval of its own, and there are only
# countably many intervals.

# %%
# Proposition 5: how far apart documents are
# ------------------------------------------
# :math:`|r|` with the identity for :math:`\tau` is a pseudometric: 0 from a document to itself, the
# same in both directions, and no detour is shorter. So :math:`|r|` can serve as the distance in a
# search for neighbors. Different documents may have a distance of 0, if the model ranks them as
# equal.

from treerank import make_web_search

X, y, qid = make_web_search(40, documents_per_query=20, n_features=10, random_state=0)
ranker = TreeDirectRanker(random_state=0).fit(X, y, qid)
a, b, c = (X[rng.integers(len(X), size=2000)] for _ in range(3))
direct, detour = ranker.distance(a, c), ranker.distance(a, b) + ranker.distance(b, c)

assert (ranker.distance(a, a) == 0).all()
assert (direct == ranker.distance(c, a)).all()
assert (direct <= detour + 1e-12).all()

plt.figure(figsize=(4.5, 4), layout="constrained")
plt.scatter(direct, detour, s=4)
plt.axline((0, 0), slope=1, color="0.5")
plt.xlabel("|r(a, c)|")
plt.ylabel("|r(a, b)| + |r(b, c)|")
plt.title("2,000 triples: no detour is shorter")
plt.show()

# %%
# RankNet: the probabilities of neighbors determine all others
# ------------------------------------------------------------
# RankNet models the probability that a beats b by the logistic function of a difference of scores.
# So log-odds add up along a chain: the probabilities of adjacent documents can be chosen freely,
# and determine those of all other pairs. For two steps, this is equation 5 of the paper. The lemma:
# with the same probability P at each step, the order of a pair becomes more certain with each step
# if P is above one half, and its reversal does if P is below one half.


def chained(adjacent):
    """Return the probability that the first document beats each one after it."""
    log_odds = np.cumsum(np.log(adjacent) - np.log1p(-np.asarray(adjacent)))
    return 1 / (1 + np.exp(-log_odds))


p, q = rng.uniform(0.05, 0.95, size=(2, 1000))
two_steps = np.array([chained(pair)[1] for pair in zip(p, q, strict=True)])
np.testing.assert_allclose(two_steps, p * q / (1 + 2 * p * q - p - q), rtol=1e-12)

steps = np.arange(1, 11)
plt.figure(figsize=(6, 3.6), layout="constrained")
for P in (0.9, 0.6, 0.5, 0.4, 0.1):
    chain = chained(np.full(10, P))
    assert (np.sign(np.diff(chain)) == np.sign(P - 0.5)).all()
    plt.plot(steps, chain, marker="o", label=f"P = {P}")
plt.xlabel("steps between the two documents")
plt.ylabel("probability that the first wins")
plt.legend(loc="upper left", bbox_to_anchor=(1, 1))
plt.show()

# %%
# SortNet, Theorem 2.1: a comparator reaches what has no score
# ------------------------------------------------------------
# SortNet compares with a network of both documents. Each hidden unit has a dual, with the weights
# of the two documents and of the two outputs exchanged. So :math:`N_\succ(a, b) = N_\prec(b, a)`
# holds for all weights, and nothing is lost: if a network A approximates half of an antisymmetric
# comparison to :math:`\varepsilon / 2`, A with the duals of all of its units approximates the whole
# to :math:`\varepsilon`. Here, the comparison is circular, as in rock, paper, scissors: no score
# can represent it, and so, by Lemma 1, no DirectRanker can.


def comparison(a, b):
    """Both outputs: how surely a comes shortly after b on a circle, and b shortly after a."""
    around = np.sin(2 * np.pi * (a - b))
    return np.stack([1 + around, 1 - around], axis=1) / 2


def hidden_units(a, b, weights):
    return np.tanh(np.stack([a, b, np.ones_like(a)], axis=1) @ weights)


a, b = rng.uniform(size=(2, 4000))
third = np.array([0.0, 1 / 3, 2 / 3])
wins = comparison(third, np.roll(third, 1))[:, 0]
assert (wins > 0.9).all()  # a circle of three: each beats the one before

sizes, error_of_a, error_with_duals = (10, 20, 40, 80, 160), [], []
for n_units in sizes:
    weights = rng.normal(size=(3, n_units)) * [[6.0], [6.0], [3.0]]
    H, H_swapped = hidden_units(a, b, weights), hidden_units(b, a, weights)
    out, *_ = np.linalg.lstsq(H, comparison(a, b) / 2, rcond=None)
    network_a = H @ out
    both = network_a + (H_swapped @ out)[:, ::-1]  # A, and the dual of each of its units
    swapped = H_swapped @ out + network_a[:, ::-1]
    assert (both == swapped[:, ::-1]).all()
    error_of_a.append(np.abs(2 * network_a - comparison(a, b)).max())
    error_with_duals.append(np.abs(both - comparison(a, b)).max())
    of_swapped = np.abs(2 * (H_swapped @ out) - comparison(b, a)).max()
    assert error_with_duals[-1] <= (error_of_a[-1] + of_swapped) / 2 + 1e-12

assert error_with_duals[-1] < 0.1
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
axis = np.linspace(0, 1, 101)
grid_a, grid_b = (each.ravel() for each in np.meshgrid(axis, axis, indexing="ij"))
H = hidden_units(grid_a, grid_b, weights) @ out
H += (hidden_units(grid_b, grid_a, weights) @ out)[:, ::-1]
picture = left.pcolormesh(axis, axis, H[:, 0].reshape(101, 101), cmap="RdBu_r", vmin=0, vmax=1)
left.set(title="The comparator: who comes first?", xlabel="b", ylabel="a", aspect="equal")
figure.colorbar(picture, ax=left)
right.loglog(sizes, error_of_a, marker="o", label="A, twice")
right.loglog(sizes, error_with_duals, marker="o", label="A and its duals")
right.set(title="Largest error", xlabel="hidden units of A")
right.legend()
plt.show()
