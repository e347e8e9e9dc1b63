"""The worth of ranks: what a swap changes, ties broken in every way and averaged."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pair_oracle import METRIC_OF_WEIGHT, expected_reciprocal_rank, swap_change

from treerank.grouping import QueryGroups
from treerank.objectives.ranking import RankRule, Ranks, rank_kernel
from treerank.weights import PAIR_WEIGHTS, WeightOptions

documents = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=2, max_size=6
).filter(lambda pairs: len({label for label, _ in pairs}) > 1)


def weights_of_pairs(name, labels, scores, k):
    """Weight of every pair (i, j) of one query under the named weight."""
    y = np.array(labels, dtype=float)
    order = np.argsort(y, kind="stable")
    groups = QueryGroups.from_qid(None, len(y))
    weight, options = PAIR_WEIGHTS[name], WeightOptions(k, largest_label=max(labels))
    gain = np.asarray(weight.gains(y[order], groups, options), dtype=float)
    x = np.array(scores, dtype=float)[order]
    ranks = Ranks(np.arange(len(y), dtype=np.int32), *np.zeros((6, len(y))))
    rule = RankRule(options.discounts(weight.discount, groups), 0, 0.0, 0)
    kernel = rank_kernel(weight.ranks, False, False)
    kernel(x, gain, order, groups.indptr, 0, rule, ranks)
    found = {}
    for a, i in enumerate(order):
        for b, j in enumerate(order):
            if y[i] > y[j]:
                ups = ranks.up[a], ranks.up[b], ranks.down[a], ranks.down[b]
                found[i, j] = weight.of_pair(gain[a], gain[b], *ups, ranks.tie[a], x[a] == x[b])
    return found


@pytest.mark.parametrize("name", METRIC_OF_WEIGHT)
@pytest.mark.parametrize("k", [None, 2])
@settings(max_examples=60)
@given(documents=documents)
def test_a_weight_is_the_expected_change_of_its_metric(name, k, documents):
    labels, scores = zip(*documents, strict=True)
    for (i, j), weight in weights_of_pairs(name, labels, scores, k).items():
        expected = swap_change(METRIC_OF_WEIGHT[name], labels, scores, i, j, k)
        np.testing.assert_allclose(weight, expected, atol=1e-12)


@pytest.mark.parametrize("k", [None, 2])
@settings(max_examples=60)
@given(documents=documents)
def test_the_err_weight_is_the_change_of_err_when_no_scores_tie(k, documents):
    labels = [label for label, _ in documents]
    scores = list(np.random.default_rng(len(labels)).permutation(len(labels)))
    top_gain = 2.0 ** max(labels) - 1

    def err(labels, k):
        return expected_reciprocal_rank(labels, k, top_gain)

    for (i, j), weight in weights_of_pairs("err", labels, scores, k).items():
        np.testing.assert_allclose(weight, swap_change(err, labels, scores, i, j, k), atol=1e-12)
