"""Write the corpus, from definitions in plain Python: ``python -m tests.corpus.make``.

It counts with 40 digits, and imports nothing of treerank. Numbers are rounded once, at the end, to
the nearest double.
"""

import itertools
import json
import random
from decimal import Decimal, localcontext
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
DIGITS = 40
ONE, TWO = Decimal(1), Decimal(2)

GAINS = {"exponential": lambda label: TWO**label - 1, "linear": Decimal}


@cache
def log2(number):
    with localcontext(prec=DIGITS):
        return Decimal(number).ln() / TWO.ln()


def dcg(labels, case):
    gain = GAINS[case["gain"]]
    return sum(gain(y) / log2(i + 2) for i, y in enumerate(labels[: case["k"]]))


def ndcg(labels, case):
    return dcg(labels, case) / dcg(sorted(labels, reverse=True), case)


def err(labels, case):
    value, goes_on = Decimal(0), ONE
    largest = GAINS[case["gain"]](case["max_label"])
    for i, y in enumerate(labels[: case["k"]], 1):
        stop = GAINS[case["gain"]](y) / (largest + 1)
        value, goes_on = value + goes_on * stop / i, goes_on * (1 - stop)
    return value


def found(labels, case):
    """Return the positions of relevant documents among the first k, and how many there are."""
    relevant = [i for i, y in enumerate(labels, 1) if y >= case["threshold"]]
    return [i for i in relevant if i <= (case["k"] or len(labels))], Decimal(len(relevant))


def average_precision(labels, case):
    positions, n_relevant = found(labels, case)
    return sum(n / Decimal(i) for n, i in enumerate(positions, 1)) / n_relevant


def reciprocal_rank(labels, case):
    positions, _ = found(labels, case)
    return ONE / positions[0] if positions else Decimal(0)


def precision(labels, case):
    return Decimal(len(found(labels, case)[0])) / case["k"]


def recall(labels, case):
    positions, n_relevant = found(labels, case)
    return len(positions) / n_relevant


def success(labels, case):
    return Decimal(bool(found(labels, case)[0]))


def rank_biased_precision(labels, case):
    goes_on = Decimal("0.8")
    return sum(goes_on ** (i - 1) for i in found(labels, case)[0]) * (1 - goes_on)


def pairwise_accuracy(labels, case):
    pairs = [a > b for a, b in itertools.combinations(labels, 2) if a != b]
    return Decimal(sum(pairs)) / len(pairs)


#: Function and cuts of each metric.
METRICS = {
    "ndcg": (ndcg, (None, 1, 3, 10)),
    "map": (average_precision, (None, 3)),
    "mrr": (reciprocal_rank, (None, 2)),
    "p": (precision, (1, 5)),
    "recall": (recall, (1, 3)),
    "success": (success, (1, 3)),
    "err": (err, (None, 5)),
    "rbp": (rank_biased_precision, (None, 3)),
    "pairwise_accuracy": (pairwise_accuracy, (None,)),
}


def orders(scores):
    """Return every order of the documents by falling score: ties in every way."""
    levels = sorted(set(scores), reverse=True)
    tied = [[i for i, score in enumerate(scores) if score == level] for level in levels]
    ways = itertools.product(*(itertools.permutations(block) for block in tied))
    return [list(itertools.chain(*way)) for way in ways]


def has_something_to_find(case):
    if case["metric"] == "pairwise_accuracy":
        return len(set(case["labels"])) > 1
    return max(case["labels"]) >= case.get("threshold", 1)


def metric_value(case):
    """Return the mean, or the least, over the orders of tied documents; None for nothing."""
    if not has_something_to_find(case):
        return None
    function, _ = METRICS[case["metric"]]
    values = [function([case["labels"][i] for i in way], case) for way in orders(case["scores"])]
    return min(values) if case["ties"] == "pessimistic" else sum(values) / len(values)


def draw_labels(rng, n):
    top = rng.choice([1, 2, 4, 4])
    return [rng.randint(0, top) for _ in range(n)]


def draw_scores(rng, n):
    if rng.random() < 0.5:  # some tie
        return [rng.randint(-4, 4) / 4 for _ in range(n)]
    return [round(rng.gauss(0, 2), 3) for _ in range(n)]


def metric_cases(rng, n_each):
    for metric, (_, cuts) in METRICS.items():
        for _ in range(n_each * (3 if metric == "ndcg" else 1)):
            n = rng.randint(1, 6)
            case = {"metric": metric, "k": rng.choice(cuts)}
            case["ties"] = rng.choice(["average", "average", "pessimistic"])
            if metric in ("ndcg", "err"):
                case["gain"] = rng.choice(list(GAINS))
            elif metric != "pairwise_accuracy":
                case["threshold"] = rng.choice([1, 1, 2])
            case |= {"labels": draw_labels(rng, n), "scores": draw_scores(rng, n)}
            if metric == "err":
                case["max_label"] = 4
            value = metric_value(case)
            yield case | {"value": None if value is None else float(value)}


def wrong(margin):
    """Return the probability of the wrong order, and of the right one."""
    u = 1 / (1 + margin.exp())
    return u, 1 - u


def logistic(m):
    u, p = wrong(m)
    return (1 + (-m).exp()).ln(), -u, u * p


def half_squared_tanh(m):
    u, p = wrong(2 * m)
    return 2 * u * u, -8 * u * u * p, 16 * u * u * p * p


def squared_sigmoid(m):
    u, p = wrong(m)
    return u * u, -2 * u * u * p, 2 * u * u * p * p


def fidelity(m):
    u, p = wrong(m)
    return 1 - p.sqrt(), -u * p.sqrt() / 2, u * p / 4


def half_squared(m):
    return (1 - m) ** 2 / 2, m - 1, ONE


def exponential(m):
    return (-m).exp(), -(-m).exp(), (-m).exp()


def hinge(m):
    return (1 - m, -ONE, ONE) if m < 1 else (Decimal(0),) * 3


def squared_hinge(m):
    return ((1 - m) ** 2, -2 * (1 - m), TWO) if m < 1 else (Decimal(0),) * 3


_LOSSES = logistic, half_squared, half_squared_tanh, squared_sigmoid, hinge, squared_hinge
PAIR_LOSSES = {loss.__name__: loss for loss in (*_LOSSES, exponential, fidelity)}
WHOLE = {"k": None, "gain": "exponential", "threshold": 1}
METRIC_WEIGHTS = {"ndcg": ndcg, "map": average_precision, "mrr": reciprocal_rank}
WEIGHTS = ["uniform", "query", "label", "label_gap", *METRIC_WEIGHTS]


def pairs_of(labels):
    places = itertools.permutations(range(len(labels)), 2)
    return [(i, j) for i, j in places if labels[i] > labels[j]]


def pair_weight(case, i, j):
    """Return what a pair matters; for a metric, how much it changes if both swap places."""
    labels, weight = case["labels"], case["weight"]
    fixed = {"uniform": 1, "label": labels[i], "label_gap": labels[i] - labels[j]}
    if weight in fixed:
        return Decimal(fixed[weight])
    if weight == "query":  # alike for all pairs, and the number of documents in all
        return Decimal(len(labels)) / len(pairs_of(labels))
    return Decimal(0) if max(labels) < 1 else swap_change(case, i, j, WHOLE)


def swap_change(case, i, j, rule):
    """Return how much a metric changes if i and j swap places: the mean over orders of ties."""
    metric, labels, changes = METRIC_WEIGHTS[case["weight"]], case["labels"], []
    for way in orders(case["scores"]):
        swapped = [{i: j, j: i}.get(t, t) for t in way]
        before, after = ([labels[t] for t in each] for each in (way, swapped))
        changes.append(abs(metric(before, rule) - metric(after, rule)))
    return sum(changes) / len(changes)


def pair_sums(case):
    """Return value, gradient and hessian, summed over all pairs."""
    sigma, n = Decimal(case["sigma"]), len(case["labels"])
    value, gradient, hessian = Decimal(0), [Decimal(0)] * n, [Decimal(0)] * n
    for i, j in pairs_of(case["labels"]):
        margin = sigma * (Decimal(case["scores"][i]) - Decimal(case["scores"][j]))
        price, slope, curvature = PAIR_LOSSES[case["loss"]](margin)
        w = pair_weight(case, i, j)
        value += w * price
        gradient[i] += w * sigma * slope
        gradient[j] -= w * sigma * slope
        for t in (i, j):
            hessian[t] += w * sigma**2 * curvature
    return value, gradient, hessian


def listnet(case):
    labels = [Decimal(y).exp() for y in case["labels"]]
    masses = [Decimal(s).exp() for s in case["scores"]]
    t, p = ([mass / sum(each) for mass in each] for each in (labels, masses))
    value = -sum(a * b.ln() for a, b in zip(t, p, strict=True))
    gradient = [b - a for a, b in zip(t, p, strict=True)]
    return value, gradient, [b * (1 - b) for b in p]


def listmle(case):
    """Return Plackett-Luce's likelihood of the labels, with ties as Efron treats them."""
    labels, scores = case["labels"], [Decimal(s) for s in case["scores"]]
    masses, n = [s.exp() for s in scores], len(labels)
    value, gradient, hessian = Decimal(0), [Decimal(0)] * n, [Decimal(0)] * n
    for label in sorted(set(labels))[1:]:  # the lowest ones come last in any case
        level = [i for i in range(n) if labels[i] == label]
        left = [i for i in range(n) if labels[i] <= label]
        for i in level:
            value, gradient[i] = value - scores[i], gradient[i] - 1
        for m in range(len(level)):
            share = {i: ONE - Decimal(m) / len(level) if i in level else ONE for i in left}
            total = sum(share[i] * masses[i] for i in left)
            value += total.ln()
            for i in left:
                p = share[i] * masses[i] / total
                gradient[i], hessian[i] = gradient[i] + p, hessian[i] + p * (1 - p)
    return value, gradient, hessian


LIST_LOSSES = {"listnet": listnet, "listmle": listmle}


def rounded(value, gradient, hessian):
    lists = {"gradient": gradient, "hessian": hessian}
    return {"value": float(value)} | {name: list(map(float, x)) for name, x in lists.items()}


def loss_cases(rng, n_each):
    for loss, weight in itertools.product(PAIR_LOSSES, WEIGHTS):
        for _ in range(n_each):
            n = rng.randint(2, 4)
            case = {"loss": loss, "weight": weight, "sigma": rng.choice([1.0, 1.0, 2.0])}
            case |= {"labels": draw_labels(rng, n), "scores": draw_scores(rng, n)}
            yield case | rounded(*pair_sums(case))
    for loss, function in LIST_LOSSES.items():
        for _ in range(8 * n_each):
            n = rng.randint(2, 5)
            case = {"loss": loss, "labels": draw_labels(rng, n), "scores": draw_scores(rng, n)}
            yield case | rounded(*function(case))


def propensities(case):
    """Return how likely Plackett-Luce draws each document at each of the first k positions."""
    masses = [(Decimal(s) / Decimal(case["temperature"])).exp() for s in case["scores"]]
    likely = [[Decimal(0)] * case["k"] for _ in masses]
    for drawn in itertools.permutations(range(len(masses)), case["k"]):
        left, chance = sum(masses), ONE
        for i in drawn:
            chance, left = chance * masses[i] / left, left - masses[i]
        for position, i in enumerate(drawn):
            likely[i][position] += chance
    return [list(map(float, row)) for row in likely]


def propensity_cases(rng, n_cases):
    for _ in range(n_cases):
        n = rng.randint(1, 5)
        case = {"temperature": rng.choice([0.5, 1.0, 2.0]), "k": rng.randint(1, n)}
        case["scores"] = [rng.randint(-8, 8) / 4 for _ in range(n)]
        yield case | {"propensity": propensities(case)}


def tanh(m):
    return ((2 * m).exp() - 1) / ((2 * m).exp() + 1)


TAUS = {"identity": lambda m: m, "tanh": tanh, "softsign": lambda m: m / (1 + abs(m))}


def order_cases(rng, n_cases):
    """Compare all pairs of documents by tau(<w, f(a) - f(b)>); ``order`` has the best one first."""
    for _ in range(n_cases):
        n, d = rng.randint(2, 5), rng.randint(1, 3)
        outputs = [[rng.randint(-8, 8) / 4 for _ in range(d)] for _ in range(n)]
        weight = [rng.randint(-4, 4) / 2 for _ in range(d)]
        tau = rng.choice(list(TAUS))
        scores = [
            sum(Decimal(w) * Decimal(x) for w, x in zip(weight, f, strict=True)) for f in outputs
        ]
        compare = [[float(TAUS[tau](a - b)) for b in scores] for a in scores]
        levels = sorted(set(scores), reverse=True)
        order = [[i for i in range(n) if scores[i] == level] for level in levels]
        yield {"tau": tau, "weight": weight, "outputs": outputs, "compare": compare, "order": order}


FILES = {
    "metrics": lambda rng: metric_cases(rng, 110),
    "losses": lambda rng: loss_cases(rng, 10),
    "propensities": lambda rng: propensity_cases(rng, 150),
    "orders": lambda rng: order_cases(rng, 150),
}


def text_of(name):
    """Return the text of one file of the corpus."""
    with localcontext() as context:
        context.prec = DIGITS
        cases = list(FILES[name](random.Random(name)))
    return "".join(json.dumps(case, separators=(",", ":")) + "\n" for case in cases)


if __name__ == "__main__":
    for name in FILES:
        (FOLDER / f"{name}.jsonl").write_text(text_of(name), encoding="utf-8")
