"""Every metric obeys the same laws; a new one is tested by being listed, with its oracle."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_cases import NAMES, every_metric, make_judged
from shared_kernels import shared_by
from sklearn.exceptions import UndefinedMetricWarning

from tests.corpus import make
from treerank.documents.gains import label_gains
from treerank.documents.queries import QueryGroups
from treerank.metrics import METRICS, NDCG, AveragePrecision, Precision, ReciprocalRank, get_metric
from treerank.metrics.graded_metrics import ExpectedReciprocalRank
from treerank.metrics.ranked import TIES


def binary_preference_of(y):
    n_relevant = sum(label >= 1 for label in y)
    few, value = min(n_relevant, len(y) - n_relevant), 0.0
    for i in range(len(y)):
        above = sum(label < 1 for label in y[:i])
        if y[i] >= 1:
            value += 1 - min(above, n_relevant) / few if above else 1
    return value / n_relevant


def value_of(metric, y, k):
    """The value of labels from first to last, by the definitions of the corpus."""
    if metric.stem == "bpref":
        return binary_preference_of(y)
    case = {"k": k, "gain": "exponential", "threshold": 1, "max_label": max(y)}
    return float(make.METRICS[metric.stem][0](y, case))


def values_over_ties(metric, y, scores):
    """The oracle's value of every order of one query that sorts the scores."""
    orders = ([y[i] for i in order] for order in make.orders(scores))
    return [value_of(metric, order, metric.k or len(y)) for order in orders]


def has_something_to_find(metric, y):
    return len(set(y)) > 1 if metric.stem == "pairwise_accuracy" else max(y) >= 1


@pytest.mark.slow
@every_metric
@settings(max_examples=40)
@given(documents=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=6))
def test_ties_average_over_all_orders_or_keep_the_rows(metric, documents):
    y, scores = zip(*documents, strict=True)
    if has_something_to_find(metric, y):
        expected = values_over_ties(metric, y, scores)  # the order of the rows is the first
        np.testing.assert_allclose(metric(y, scores), np.mean(expected), rtol=1e-12, atol=1e-15)
        stable = replace(metric, ties="stable")(y, scores)
        np.testing.assert_allclose(stable, expected[0])


@pytest.mark.slow
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", [n for n in NAMES if "@1" not in n])
def test_long_queries_equal_the_oracle(name, ties):
    """Long enough for merging, and for picking the top without sorting the rest."""
    metric = replace(get_metric(name), ties=ties)
    rng = np.random.default_rng(0)
    for n in (40, 333):
        y, scores = rng.integers(4, size=n), rng.permutation(n) - 0.5
        expected = value_of(metric, y[np.argsort(-scores)].tolist(), metric.k or n)
        np.testing.assert_allclose(metric(y, scores), expected, rtol=1e-10)


@pytest.mark.parametrize("k", [1, 5, 20, None])
def test_stable_takes_the_first_rows_of_a_long_tie(k):
    y, scores = make_judged(1, 300)[:2]
    scores = np.round(scores)
    expected = value_of(NDCG(), y[np.argsort(-scores, kind="stable")].tolist(), k or len(y))
    np.testing.assert_allclose(NDCG(k=k, ties="stable")(y, scores), expected)
    worst = y[np.lexsort((y, -scores))].tolist()
    value = NDCG(k=k, ties="pessimistic")(y, scores)
    np.testing.assert_allclose(value, value_of(NDCG(), worst, k or len(y)))


@every_metric
@pytest.mark.parametrize("ties", ["average", "pessimistic"])
def test_rows_names_of_queries_and_threads_change_no_bit(metric, ties):
    y, scores, qid = make_judged()
    metric, random = replace(metric, ties=ties), np.random.default_rng(1)
    values = metric.per_query(y, scores, qid)
    rows, names = random.permutation(len(y)), random.permutation(40).astype(str)
    assert metric(y, scores, qid) == metric(y[rows], scores[rows], names[qid][rows])
    for n_threads in (1, 2):
        with shared_by(n_threads):
            again = metric.per_query(y[rows], scores[rows], qid[rows])
        np.testing.assert_array_equal(again, values)


@every_metric
def test_only_the_order_of_scores_matters(metric):
    y, scores, qid = make_judged()
    moved = np.exp(scores / 2) * (1 + qid) - 5.0 * qid  # rises, differently in each query
    np.testing.assert_array_equal(metric.per_query(y, moved, qid), metric.per_query(y, scores, qid))


@every_metric
def test_lies_between_zero_and_one_and_a_better_order_is_no_worse(metric):
    y, scores, qid = make_judged()
    perfect, noisy, reverse = (metric.per_query(y, s, qid) for s in (y, scores, -y))
    for values in (perfect, noisy, reverse):
        assert (np.isnan(values) | ((values >= 0) & (values <= 1))).all()
    assert (np.isnan(perfect) | ((perfect >= noisy) & (noisy >= reverse))).all()
    if metric.name in ("ndcg", "ndcg@3", "map", "mrr", "pairwise_accuracy"):
        assert metric(y, y, qid) == 1.0
    sees_no_order = metric.stem in ("p", "recall", "success") and metric.k in (None, 100)
    if not sees_no_order:
        assert np.nanmean(perfect) >= np.nanmean(noisy) > np.nanmean(reverse)
        assert np.nanmean(perfect) > np.nanmean(noisy) or metric.name == "success@3"


@every_metric
def test_is_the_mean_of_its_values_per_query(metric):
    y, scores, qid = make_judged()
    if metric.stem == "err":  # else its scale is that of the labels it sees
        metric = replace(metric, max_label=4)
    values = metric.per_query(y, scores, qid)
    expected = [metric(y[qid == q], scores[qid == q]) for q in np.unique(qid) if q % 10 != 7]
    np.testing.assert_array_equal(values[np.unique(qid) % 10 != 7], expected)
    assert np.isnan(values[np.unique(qid) % 10 == 7]).all()
    np.testing.assert_allclose(metric(y, scores, qid), np.mean(expected))


@every_metric
def test_queries_without_relevance_get_the_number_asked_for(metric):
    y, scores, qid = make_judged()
    values = replace(metric, no_relevant=0.5).per_query(y, scores, qid)
    expected = np.nan_to_num(metric.per_query(y, scores, qid), nan=0.5)
    np.testing.assert_array_equal(values, expected)
    unjudged = np.where(qid == 17, np.nan, y)  # else without a relevant document
    values = replace(metric, no_relevant=0.5).per_query(unjudged, scores, qid)
    np.testing.assert_array_equal(values, np.where(np.unique(qid) == 17, np.nan, expected))


@every_metric
def test_nothing_to_find_at_all_is_undefined_or_refused(metric):
    with pytest.warns(UndefinedMetricWarning, match="is undefined for every query"):
        assert math.isnan(metric([0, 0], [0.1, 0.2]))
    with pytest.raises(ValueError, match=r"for at least one query; got 2 documents without"):
        metric.prepared([0, 0])
    assert replace(metric, no_relevant=0)([0, 0], [0.1, 0.2]) == 0


@every_metric
def test_prepared_equals_the_metric_and_survives_pickling(metric):
    y, scores, qid = make_judged()
    expected = metric(y, scores, qid)
    for by in (qid, QueryGroups.from_qid(qid)):
        prepared = pickle.loads(pickle.dumps(metric.prepared(y, by)))
        assert prepared.name == metric.name
        assert prepared(scores) == expected
        assert prepared(scores.astype(np.float32)) <= 1


@every_metric
def test_name_finds_the_metric_again(metric):
    assert get_metric(metric.name) == metric == get_metric(metric)
    assert hash(metric) == hash(get_metric(metric.name))
    assert pickle.loads(pickle.dumps(metric)) == metric == type(metric)(k=metric.k)


@pytest.mark.parametrize("stem", METRICS)
def test_lists_series_and_arrays_are_measured_alike(stem):
    y, scores, qid = make_judged()
    values = METRICS[stem].per_query(y.tolist(), pd.Series(scores), qid.astype(str))
    np.testing.assert_array_equal(values, METRICS[stem].per_query(y, scores, qid.astype(str)))


@pytest.mark.parametrize("stem", METRICS)
def test_parts_of_the_data_are_measured_on_the_scale_of_all(stem):
    metric, (y, scores, qid) = METRICS[stem], make_judged()
    y[np.argmax(y)] += 1  # in one part alone
    part = qid <= np.unique(qid)[3]
    of_parts = [
        metric.on_scale(float(y.max())).per_query(y[rows], scores[rows], qid[rows])
        for rows in (part, ~part)
    ]
    np.testing.assert_array_equal(np.concatenate(of_parts), metric.per_query(y, scores, qid))


def test_a_scale_that_is_set_stays():
    metric = get_metric("err(max_label=4.0)")
    assert metric.on_scale(2.0) is metric
    with pytest.raises(ValueError, match="y must not be negative where it has a gain"):
        get_metric("err").on_scale(-1.0)


def test_gains_can_be_chosen():
    y, scores = [0, 1, 2], [3, 2, 1]
    discounted = np.array([1 / math.log2(i + 2) for i in range(3)])
    for gain, gains in [("linear", [0, 1, 2]), ([0, 1, 10], [0, 1, 10]), ((5, 1, 0), [5, 1, 0])]:
        expected = discounted @ gains / (discounted @ sorted(gains, reverse=True))
        np.testing.assert_allclose(NDCG(k=10, gain=gain)(y, scores), expected)
    linear = ExpectedReciprocalRank(gain="linear")(y, scores)
    np.testing.assert_allclose(linear, 1 / 3 / 2 + 2 / 3 * 2 / 3 / 3)
    assert NDCG(gain=np.array([0, 1, 3])) == NDCG(gain=[0, 1, 3])
    assert ExpectedReciprocalRank(gain="linear", max_label=3000).max_label == 3000


def test_fractional_labels_have_a_gain_by_formula():
    np.testing.assert_allclose(label_gains([0.5, 2]), [math.sqrt(2) - 1, 3])
    np.testing.assert_array_equal(label_gains([0, 1, 30, 1000]), [0, 1, 2**30 - 1, 2.0**1000])


def test_threshold_says_from_which_label_on_a_document_is_relevant():
    y, scores = [1, 2, 0, -1], [4, 3, 2, 1]
    assert AveragePrecision(threshold=2)(y, scores) == 1 / 2
    assert ReciprocalRank(threshold=0)(y, scores) == 1
    assert Precision(threshold=1.5, k=4)(y, scores) == 1 / 4


def test_err_of_a_long_tie_is_the_sum_over_subsets_cut_off_where_it_vanishes():
    n, stops = 3000, 3 / 4  # all equal: a_t = (1 - R)^t
    ties = np.zeros(n), np.zeros(n)
    expected = sum(stops * (1 - stops) ** t / (t + 1) for t in range(60))
    np.testing.assert_allclose(ExpectedReciprocalRank()(np.full(n, 2), *ties), expected)
    rare = np.arange(n) == 0  # one document of R = 1/2, anywhere
    expected = np.mean(0.5 / np.arange(1, n + 1))
    np.testing.assert_allclose(ExpectedReciprocalRank()(rare, *ties), expected)


@pytest.mark.parametrize("metric", [NDCG(k=3), get_metric(lambda y, scores, qid: 0.0)])
def test_unjudged_documents_are_left_out_before_a_metric_is_prepared(metric):
    with pytest.raises(ValueError, match=r"y must be finite; got nan in row 1\. Leave such"):
        metric.prepared([1, np.nan])


def top_label(y, scores, qid):
    assert qid is None or len(qid) == len(y)
    return float(np.asarray(y)[np.argmax(scores)])


def test_a_function_is_a_metric():
    metric = get_metric(top_label)
    assert metric.name == "top_label"
    assert metric([1, 2], [0.1, 0.2]) == 2
    np.testing.assert_array_equal(metric.per_query([1, 2, 3], [3, 2, 1], [1, 0, 0]), [2, 1])
    for qid in ([7, 7], QueryGroups.from_qid([7, 7])):
        prepared = pickle.loads(pickle.dumps(metric.prepared([1, 2], qid)))
        assert (prepared.name, prepared([0.1, 0.2])) == ("top_label", 2)


def kind_of_ids(y, scores, qid):
    """Return a code of the type of the query ids that the function is given; -1 is None."""
    return -1.0 if qid is None else float("iufUO".index(qid.dtype.kind))


@pytest.mark.parametrize("ids", [None, [3, 3, 1], ["b", "b", "a"], [2.5, 2.5, 1.0], ["a", "a", 7]])
def test_a_function_is_given_groups_as_the_ids_that_made_them(ids):
    metric, y, scores = get_metric(kind_of_ids), [1, 0, 1], [3, 2, 1]
    for qid in (ids, ids and list(np.array(ids, dtype=object)), QueryGroups.from_qid(ids, 3)):
        assert metric.prepared(y, qid)(scores) == metric(y, scores, ids)
        np.testing.assert_array_equal(
            metric.prepared(y, qid).per_query(scores), metric.per_query(y, scores, ids)
        )
    several = QueryGroups.from_codes(np.array([1, 1, 0]))
    assert metric.prepared(y, several)(scores) == 0.0


def test_a_prepared_function_has_values_in_the_order_of_the_groups():
    groups = QueryGroups(None, np.array([0, 2, 3]), np.array(["b", "a"]))
    prepared = get_metric(lambda y, scores, qid: float(qid[0] == "b")).prepared([1, 0, 1], groups)
    assert prepared.per_query([3, 2, 1]).tolist() == [1.0, 0.0]
