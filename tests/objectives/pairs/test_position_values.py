"""The worth of ranks: what a swap changes, ties broken in every way and averaged."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus.make import METRIC_WEIGHTS, WHOLE, swap_change
from treerank.numerics.threads import in_parts, in_turn
from treerank.objectives import make_objective
from treerank.objectives.pairs import exact_pairs

#: The function in plain Python, which kernels copy.
weigh = getattr(exact_pairs.weigh, "py_func", exact_pairs.weigh)
documents = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=2, max_size=6
).filter(lambda pairs: len({label for label, _ in pairs}) > 1)


def weights_of_pairs(name, labels, scores, k, **settings):
    """Weight of every pair (i, j) of one query under the named weight."""
    problem = make_objective(labels, weight=name, k=k, **settings)
    _, ranks, calls = problem.ranking(np.array(scores, dtype=float), 0)
    in_parts(in_turn(*calls), problem.labels.indptr)
    of_pair, row = problem.weight.of_pair, problem.labels.row.tolist()
    return {
        (row[a], row[b]): weigh(of_pair, False, a, b, problem.weights, ranks)
        for a, b in itertools.permutations(range(len(row)), 2)
        if labels[row[a]] > labels[row[b]]
    }


@pytest.mark.parametrize("name", METRIC_WEIGHTS)
@pytest.mark.parametrize("k", [None, 2])
@settings(max_examples=60)
@given(documents=documents)
def test_a_weight_is_the_expected_change_of_its_metric(name, k, documents):
    labels, scores = zip(*documents, strict=True)
    case = {"weight": name, "labels": labels, "scores": scores}
    for (i, j), weight in weights_of_pairs(name, labels, scores, k).items():
        expected = swap_change(case, i, j, WHOLE | {"k": k})
        np.testing.assert_allclose(weight, float(expected), atol=1e-12)


def err_change_of_mean_stops(labels, scores, i, j, k, gain):
    """Change of ERR were every document of a tied block as good as the block's mean."""
    gains = np.array(labels, dtype=float) if gain == "linear" else 2.0 ** np.array(labels) - 1
    gains /= max(gains) + 1
    reach, gained, worth = 1.0, 0.0, []
    for rank, score in enumerate(sorted(scores, reverse=True)):
        stop = np.mean([gain for gain, own in zip(gains, scores, strict=True) if own == score])
        discount = 1 / (rank + 1) if rank < (k or len(labels)) else 0.0
        worth.append(reach * discount + gained)
        gained, reach = gained + reach * stop * discount, reach * (1 - stop)
    falling = sorted(scores, reverse=True)
    places = [[r for r, score in enumerate(falling) if score == scores[t]] for t in (i, j)]
    gaps = [abs(worth[r] - worth[s]) for r, s in itertools.product(*places) if r != s]
    upper = i if scores[i] >= scores[j] else j
    return (gains[i] - gains[j]) * np.mean(gaps) / (1 - gains[upper])


@pytest.mark.parametrize("gain", ["exponential", "linear"])  # single precision has no thirds
@pytest.mark.parametrize("k", [None, 2])
@settings(max_examples=60)
@given(documents=documents)
def test_tied_documents_stand_for_the_mean_of_their_block_in_err(k, gain, documents):
    labels, scores = zip(*documents, strict=True)
    for (i, j), weight in weights_of_pairs("err", labels, scores, k, gain=gain).items():
        expected = err_change_of_mean_stops(labels, scores, i, j, k, gain)
        np.testing.assert_allclose(weight, expected, atol=1e-12)
