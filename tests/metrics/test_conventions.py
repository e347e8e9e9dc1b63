import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treerank.metrics import METRICS, NDCG, with_convention

documents = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=14)
KNOWN = [f"{stem}{cut}" for stem in ("ndcg", "map", "p") for cut in ("", "@1", "@2", "@3", "@10")]


def letor_dcg(labels, k):
    return sum((2**y - 1) / max(1, math.log2(max(i, 1))) for i, y in enumerate(labels[:k], 1))


def letor_value(name, labels):
    """What the script computes of labels by falling score."""
    stem, _, cut = name.partition("@")
    k = int(cut or len(labels))
    if stem == "ndcg":
        ideal = letor_dcg(sorted(labels, reverse=True), k)
        return letor_dcg(labels, k) / ideal if ideal and len(labels) >= k else 0.0
    precisions = [sum(y > 0 for y in labels[:i]) / i for i in range(1, k + 1)]
    if stem == "p":
        return precisions[-1]
    found = [p for p, y in zip(precisions, labels, strict=False) if y > 0]
    n_relevant = sum(y > 0 for y in labels)
    return sum(found) / n_relevant if n_relevant else 0.0


@pytest.mark.parametrize("name", KNOWN)
@given(documents)
def test_letor4_is_the_official_script(name, documents):
    by_score = sorted(documents, key=lambda document: -document[1])  # stable: rows decide ties
    y, scores = zip(*documents, strict=True)
    expected = letor_value(name, [label for label, _ in by_score])
    assert with_convention(name, "letor4")(y, scores) == pytest.approx(expected, abs=1e-12)


def test_our_own_convention_changes_nothing():
    for metric in METRICS.values():
        assert with_convention(metric) is metric


def test_short_lists_and_discounts_are_policies_of_their_own():
    y, scores = [0, 1], [0.2, 0.1]
    assert NDCG(k=3, short_lists="zero")(y, scores) == 0.0
    assert NDCG(k=2, short_lists="zero")(y, scores) == NDCG(k=2)(y, scores)
    assert NDCG(short_lists="zero")(y, scores) == NDCG()(y, scores)
    assert NDCG(k=3, discount="delayed_log2")(y, scores) == 1.0
    # Nothing to find comes first: such a query is left out, however short.
    assert np.isnan(NDCG(k=3, short_lists="zero").per_query([0], [0.0])).all()


@pytest.mark.parametrize("k", [2, 100])
def test_ideal_is_the_value_of_the_best_order_whatever_the_discount(k):
    rng = np.random.default_rng(0)
    y, qid = rng.integers(4, size=900), rng.integers(6, size=900)
    metric = NDCG(k=k, discount="delayed_log2", ties="stable")
    np.testing.assert_allclose(metric.per_query(y, y + 0.0, qid), 1.0)
    assert metric(y, rng.normal(size=900), qid) < replace(metric, discount="log2")(y, y, qid)


@pytest.mark.slow
def test_the_conventions_of_the_guide_are_those_of_the_programs():
    """The table in ``docs/guide/validation.md``, on queries with ties and one without relevance."""
    import lightgbm
    from sklearn.metrics import ndcg_score

    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(30), 15)
    y, scores = rng.integers(0, 4, 450) * (qid != 7), rng.integers(0, 6, 450).astype(float)
    lists = (y.reshape(30, 15), scores.reshape(30, 15))
    ours = NDCG(10, gain="linear", no_relevant=0)(y, scores, qid)
    assert ours == pytest.approx(ndcg_score(*lists, k=10), abs=1e-12)
    found = {}
    data = lightgbm.Dataset(scores[:, None], y, group=[15] * 30, init_score=scores)
    lightgbm.train(
        {"objective": "lambdarank", "eval_at": [10], "learning_rate": 1e-12, "verbosity": -1}
        | {"metric": "ndcg", "num_leaves": 2, "feature_pre_filter": False, "num_threads": 1},
        data,
        1,
        valid_sets=[data],
        callbacks=[lightgbm.record_evaluation(found)],
    )
    (theirs,) = found["training"]["ndcg@10"]
    stable = NDCG(10, ties="stable", no_relevant=1)(y, scores, qid)
    assert stable == pytest.approx(theirs, abs=1e-6)
    assert stable != pytest.approx(NDCG(10)(y, scores, qid), abs=1e-3)
