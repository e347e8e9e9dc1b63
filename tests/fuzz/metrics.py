"""Metrics and objectives of drawn queries, labels, scores and settings.

A good metric equals its definition, applied to every order of tied scores. A good objective equals
the sum over its pairs, written out, and its gradient is the slope of its value.
"""

import itertools
import math

import numpy as np
from pair_oracle import METRIC_OF_WEIGHT, orders, pairwise_sums, swap_change

from treerank.metrics import METRICS, get_metric
from treerank.objectives import make_objective
from treerank.objectives.lists.losses import LISTWISE, POINTWISE
from treerank.objectives.pairs.losses import PAIR_LOSSES

GAINS = {"exponential": lambda y: 2.0**y - 1, "linear": float}
FIXED_WEIGHTS = {
    "uniform": lambda y_i, y_j: 1.0,
    "label": lambda y_i, y_j: y_i,
    "label_gap": lambda y_i, y_j: y_i - y_j,
}
#: Levels of scores: few, so that they tie; of all magnitudes.
SCALES = (1.0, 1e-300, 1e300, 5e-324)


def draw_queries(random: np.random.Generator):
    """Draw labels, levels of scores and query ids; queries are short enough for every order."""
    sizes = random.integers(1, 7, size=random.integers(1, 5))
    qid = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    y = random.integers(random.integers(1, 6), size=len(qid)).astype(float)
    levels = random.integers(-3, random.integers(-2, 5), size=len(qid)).astype(float)
    return y, levels, qid


def rows_of(qid: np.ndarray) -> list[np.ndarray]:
    """Return the rows of each query."""
    return [np.flatnonzero(qid == query) for query in np.unique(qid)]


def case(random: np.random.Generator) -> None:
    """Check a metric or an objective."""
    kind = random.choice([check_metric, check_pair_loss, check_slope])
    kind(random, *draw_queries(random))


# ------------------------------------------------------------------------------------- metrics


def draw_metric(random: np.random.Generator, largest_label: float):
    """Draw a metric and settings of it that the definitions below know."""
    name = random.choice(list(METRICS))
    settings = {"ties": str(random.choice(["average", "pessimistic", "stable"]))}
    if random.random() < 0.3:
        settings["no_relevant"] = float(random.choice([0.0, 0.5, 1.0]))
    if name not in ("pairwise_accuracy", "bpref") and random.random() < 0.6:
        settings["k"] = int(random.integers(1, 9))
    if name in ("ndcg", "err"):
        settings["gain"] = str(random.choice(list(GAINS)))
    if name == "ndcg":
        settings["discount"] = str(random.choice(["log2", "delayed_log2"]))
        settings["short_lists"] = str(random.choice(["as_is", "zero"]))
    if name in ("map", "mrr", "p", "bpref"):
        settings["threshold"] = float(random.choice([0.5, 1, 2]))
    if name == "err" and random.random() < 0.5:
        settings["max_label"] = largest_label + float(random.integers(3))
    return type(get_metric(str(name)))(**settings)


def ndcg(metric, labels, top) -> float | None:
    """Return NDCG of labels in one order; None if there is nothing to find."""
    depth = metric.k or len(labels)
    shift = 1 if metric.discount == "log2" else 0

    def dcg(ranked):
        gains = [GAINS[metric.gain](label) for label in ranked[:depth]]
        return sum(gain / math.log2(max(i + shift, 2)) for i, gain in enumerate(gains, 1))

    ideal = dcg(sorted(labels, reverse=True))
    if ideal and metric.short_lists == "zero" and len(labels) < depth:
        return 0.0
    return dcg(labels) / ideal if ideal else None


def err(metric, labels, top) -> float | None:
    """Return the expected reciprocal rank."""
    gain = GAINS[metric.gain]
    value, goes_on = 0.0, 1.0
    largest = gain(top if metric.max_label is None else metric.max_label)
    for i, label in enumerate(labels[: metric.k], 1):
        stop = gain(label) / (largest + 1)
        value, goes_on = value + goes_on * stop / i, goes_on * (1 - stop)
    return value if max(labels) > 0 else None


def threshold_metric(metric, labels, top) -> float | None:
    """Return average precision, the reciprocal rank or precision."""
    hits = [label >= metric.threshold for label in labels]
    if not any(hits):
        return None
    found = [i for i, hit in enumerate(hits[: metric.k], 1) if hit]
    if metric.stem == "mrr":
        return 1 / found[0] if found else 0.0
    if metric.stem == "p":
        return len(found) / (metric.k or len(labels))
    if metric.stem == "recall":
        return len(found) / sum(hits)
    if metric.stem == "success":
        return float(bool(found))
    if metric.stem == "rbp":
        return sum((1 - metric.persistence) * metric.persistence ** (i - 1) for i in found)
    if metric.stem == "bpref":
        few, above = (
            max(min(sum(hits), len(hits) - sum(hits)), 1),
            [i - sum(hits[:i]) for i in found],
        )
        return sum(1 - min(n, sum(hits)) / few for n in above) / sum(hits)
    return sum(sum(hits[:i]) / i for i in found) / sum(hits)


def pairwise_accuracy(metric, labels, top) -> float | None:
    """Return the share of pairs in the right order."""
    right = [a > b for a, b in itertools.combinations(labels, 2) if a != b]
    return sum(right) / len(right) if right else None


DEFINITIONS = {"ndcg": ndcg, "err": err, "pairwise_accuracy": pairwise_accuracy} | dict.fromkeys(
    ("map", "mrr", "p", "recall", "rbp", "success", "bpref"), threshold_metric
)


def value_of_query(metric, labels, scores, top) -> float:
    """Return what the definition gives for one query under each policy for ties."""
    definition = DEFINITIONS[metric.stem]
    ways = list(orders(scores)) if metric.ties != "stable" else [np.argsort(-scores, kind="stable")]
    values = [definition(metric, [labels[i] for i in way], top) for way in ways]
    if values[0] is None:
        return math.nan if metric.no_relevant == "exclude" else metric.no_relevant
    return min(values) if metric.ties == "pessimistic" else float(np.mean(values))


def check_metric(random, y, levels, qid) -> None:
    """Compare a metric with its definition."""
    metric = draw_metric(random, y.max())
    scores = levels * random.choice(SCALES)
    scores[scores == 0] *= random.choice([1.0, -1.0])  # two zeros are one score
    expected = [value_of_query(metric, y[rows], scores[rows], y.max()) for rows in rows_of(qid)]
    found = metric.per_query(y, scores, qid)
    message = f"{metric}, y={y.tolist()}, scores={scores.tolist()}, qid={qid.tolist()}"
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=message)
    shuffle = random.permutation(len(y))
    if metric.ties != "stable":
        again = metric.per_query(y[shuffle], scores[shuffle], qid[shuffle])
        np.testing.assert_array_equal(again, found, err_msg=message)


# ---------------------------------------------------------------------------------- objectives


def draw_weights(random, qid) -> dict:
    """Draw weights of documents and of queries, or none."""
    n, weights = len(qid), {}
    if random.random() < 0.4:
        weights["sample_weight"] = random.choice([0.0, 0.5, 1.0, 3.0], size=n)
    if random.random() < 0.4:
        weights["query_weight"] = random.choice([0.0, 0.25, 2.0], size=qid.max() + 1)[qid]
    return weights


def weight_of_pair(name, y, scores, queries, k):
    """Return the function of two rows that the name of a pair weight stands for."""
    if name in FIXED_WEIGHTS:
        return lambda i, j: FIXED_WEIGHTS[name](y[i], y[j])
    home = {row: query.tolist() for query in queries for row in query}

    def change(i, j):
        rows = home[i]
        labels, local = y[rows], scores[rows]
        return swap_change(METRIC_OF_WEIGHT[name], labels, local, rows.index(i), rows.index(j), k)

    return change


def check_pair_loss(random, y, levels, qid) -> None:
    """Compare an objective over pairs with the sum over its pairs."""
    name, weights = str(random.choice(list(PAIR_LOSSES))), draw_weights(random, qid)
    weight = str(random.choice([*FIXED_WEIGHTS, *METRIC_OF_WEIGHT]))
    k = int(random.integers(1, 8)) if weight in METRIC_OF_WEIGHT and random.random() < 0.5 else None
    sigma, scores = float(random.choice([0.5, 1.0, 2.0])), levels * random.choice([0.0, 0.25, 1.0])
    queries, loss = rows_of(qid), PAIR_LOSSES[name].of_margin
    of_pair = weight_of_pair(weight, y, scores, queries, k)
    ones = np.ones(len(y))
    by_row, by_query = weights.get("sample_weight", ones), weights.get("query_weight", ones)

    def weigh(i, j):
        return of_pair(i, j) * by_row[i] * by_row[j] * by_query[i]

    def scaled(margin):
        value, slope, curvature = loss(sigma * margin)
        return value, sigma * slope, sigma**2 * curvature

    expected = pairwise_sums(scaled, weigh, y, scores, queries)
    objective = make_objective(y, qid, loss=name, weight=weight, k=k, sigma=sigma, **weights)
    message = f"{name}, {weight}, {k=}, {sigma=}, {weights}, {y=}, {scores=}, {qid=}"
    for found, wanted in zip(objective(scores), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9, err_msg=message)
    for found, wanted in zip(objective.derivatives(scores), expected[1:], strict=True):
        tolerance = 1e-5 * max(1.0, np.abs(wanted).max())
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=tolerance, err_msg=message)


def check_slope(random, y, levels, qid) -> None:
    """Compare the gradient of an objective with the slope of its value."""
    losses = [*LISTWISE, *POINTWISE, *PAIR_LOSSES]
    name, weights = str(random.choice(losses)), draw_weights(random, qid)
    # No ties, and no margin on a kink: a loss at its kink has no slope.
    scores = levels + np.linspace(0.01, 0.02, len(y)) * math.pi
    if name in PAIR_LOSSES:
        weights["weight"] = str(random.choice(["uniform", "ndcg", "err"]))
        weights["sigma"] = float(random.choice([0.7, 1.3]))
    objective = make_objective(y, qid, loss=name, **weights)
    gradient, step = objective(scores)[1], 1e-6
    slopes = np.empty(len(y))
    for i in range(len(y)):
        sides = [objective(np.where(np.arange(len(y)) == i, scores + d, scores))[0]
                 for d in (step, -step)]  # fmt: skip
        slopes[i] = (sides[0] - sides[1]) / (2 * step)
    message = f"{name}, {weights}, {y=}, {scores=}, {qid=}"
    tolerance = 1e-5 * max(1.0, np.abs(gradient).max())
    np.testing.assert_allclose(slopes, gradient, rtol=1e-4, atol=tolerance, err_msg=message)
