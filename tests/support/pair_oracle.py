"""What pairwise objectives are, written out in plain Python, for tests to compare with."""

import itertools
import math

import numpy as np


def dcg(gains, k):
    return sum(gain / math.log2(2 + rank) for rank, gain in enumerate(gains[:k]))


def ndcg(labels, k):
    gains = [2.0**label - 1 for label in labels]
    ideal = dcg(sorted(gains, reverse=True), k)
    return dcg(gains, k) / ideal if ideal else 0.0


def average_precision(labels, k):
    relevant = [label >= 1 for label in labels]
    hits = [sum(relevant[: r + 1]) / (r + 1) for r in range(len(labels[:k])) if relevant[r]]
    return sum(hits) / max(sum(relevant), 1)


def reciprocal_rank(labels, k):
    return next((1 / (r + 1) for r, label in enumerate(labels[:k]) if label >= 1), 0.0)


def expected_reciprocal_rank(labels, k, top_gain):
    value, reach = 0.0, 1.0
    for r, label in enumerate(labels[:k]):
        stop = (2.0**label - 1) / (top_gain + 1)
        value += reach * stop / (r + 1)
        reach *= 1 - stop
    return value


METRIC_OF_WEIGHT = {"ndcg": ndcg, "map": average_precision, "mrr": reciprocal_rank}


def orders(scores):
    """Every order of the documents by falling score, ties in every way."""
    blocks = [
        [t for t in range(len(scores)) if scores[t] == score]
        for score in sorted(set(scores), reverse=True)
    ]
    for ways in itertools.product(*(itertools.permutations(block) for block in blocks)):
        yield list(itertools.chain(*ways))


def swap_change(metric, labels, scores, i, j, k=None):
    """Mean over random tie-breaking of how much the metric changes when i and j trade places."""
    changes = []
    for order in orders(scores):
        swapped = [{i: j, j: i}.get(t, t) for t in order]
        values = [metric([labels[t] for t in way], k) for way in (order, swapped)]
        changes.append(abs(values[0] - values[1]))
    return np.mean(changes)


def pairwise_sums(loss, weigh, labels, scores, queries):
    """Value, gradient and hessian over all pairs, by the definition."""
    value, gradient, hessian = 0.0, np.zeros(len(labels)), np.zeros(len(labels))
    for query in queries:
        for i, j in itertools.product(query, query):
            if labels[i] > labels[j]:
                pair_value, slope, curvature = loss(scores[i] - scores[j])
                w = weigh(i, j)
                value += w * pair_value
                gradient[[i, j]] += w * slope, -w * slope
                hessian[[i, j]] += w * curvature
    return value, gradient, hessian
