import numpy as np
import pytest

from treerank.metrics import NDCG, alpha_ndcg, err_ia, exposure_by_group

RNG = np.random.default_rng(0)
ASPECTS = (RNG.random((60, 4)) < 0.3).astype(int)
ASPECTS[40:] = 0
SCORES, QID = RNG.permutation(60) / 60, np.repeat([7, 3, 5], 20)
BOTH = pytest.mark.parametrize("measure", [alpha_ndcg, err_ia])


@BOTH
def test_queries_are_measured_alone_in_the_order_of_their_ids(measure):
    values = measure(ASPECTS, SCORES, QID, k=5)
    alone = [measure(ASPECTS[QID == q], SCORES[QID == q], k=5)[0] for q in (3, 5, 7)]
    np.testing.assert_array_equal(values, alone)
    assert np.isnan(values[1])  # without a relevant document
    mixed = RNG.permutation(np.flatnonzero(QID != 5))
    assert measure(ASPECTS[mixed], SCORES[mixed], QID[mixed], k=5).shape == (2,)


def test_one_aspect_without_redundancy_is_ndcg():
    one = ASPECTS[:, :1]
    expected = NDCG(k=5).per_query(one[:, 0], SCORES, QID)
    np.testing.assert_allclose(alpha_ndcg(one, SCORES, QID, k=5, alpha=0.0), expected)


@BOTH
def test_wrong_aspects_and_settings_are_named(measure):
    with pytest.raises(ValueError, match="aspects must have no masked entries"):
        alpha_ndcg(np.ma.array([[1, 0]], mask=[[True, False]]), [0.5])
    with pytest.raises(ValueError, match=r"aspects must be 0 or 1, of shape \(2, n_aspects\)"):
        measure([[1], [2]], [0.1, 0.2])
    with pytest.raises(ValueError, match="alpha must be"):
        measure([[1], [0]], [0.1, 0.2], alpha=2)
    with pytest.raises(ValueError, match="k must be"):
        measure([[1], [0]], [0.1, 0.2], k=0)
    with pytest.raises(ValueError, match=r"k must be .* 1000000"):
        err_ia([[1], [0]], [0.1, 0.2], k=10**12)


def test_ndeval_computes_the_same():
    pyndeval = pytest.importorskip("pyndeval")
    for _ in range(50):
        n, m, depth = RNG.integers(1, 30), RNG.integers(1, 5), RNG.choice([5, 10, 20])
        aspects, scores = (RNG.random((n, m)) < 0.4).astype(int), RNG.permutation(n) / n
        aspects[0, 0] = 1
        qrels = [
            pyndeval.SubtopicQrel("q", str(j), f"{i:02}", int(aspects[i, j]))
            for i in range(n)
            for j in range(m)
        ]
        run = [pyndeval.ScoredDoc("q", f"{i:02}", float(scores[i])) for i in range(n)]
        names = f"alpha-nDCG@{depth}", f"ERR-IA@{depth}"
        theirs = pyndeval.ndeval(qrels, run, measures=list(names))["q"]
        ours = alpha_ndcg(aspects, scores, k=depth)[0], err_ia(aspects, scores, k=depth)[0]
        np.testing.assert_allclose(ours, [theirs[name] for name in names], atol=1e-12)


def test_exposure_adds_up_to_that_of_all_positions():
    sellers = RNG.choice(["a", "b", "c"], 60)
    scores = RNG.integers(0, 5, 60)  # with ties
    exposure = exposure_by_group(sellers, scores, QID, k=10)
    total = sum(exposure[name] * np.count_nonzero(sellers == name) for name in "abc")
    np.testing.assert_allclose(total, 3 * (1 / np.log2(np.arange(2, 12))).sum())
    assert exposure_by_group(["x", "y"], [0.0, 1.0]) == {"x": 1 / np.log2(3), "y": 1.0}
