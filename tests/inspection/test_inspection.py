import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from scipy.sparse import csr_matrix, issparse
from sklearn.inspection import permutation_importance as sklearn_importance

from treerank import HistogramTrees, TreeDirectRanker
from treerank.baselines import RankSVM
from treerank.documents.queries import QueryGroups
from treerank.documents.reading import Accepts
from treerank.inspection import data_sheet, drift, effect, explain_lead, slices
from treerank.inspection.data_sheets import label_shares
from treerank.inspection.importance import permutation_importance
from treerank.inspection.leaks import duplicates, single_features
from treerank.inspection.rank_changes import costly_rank_changes
from treerank.metrics import NDCG, RankingScorer, get_metric
from treerank.rankers import ForestRanker
from treerank.rankers.ranker import Ranker
from treerank.statistics import adjust_holm

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
QID = np.repeat(["b", "a", "c"], [7, 5, 3])
Y = np.array([0, 2, 1, 0, 4, 0, 1, 0, 0, 3, 1, 0, 0, 0, 0.0])
SCORES = RNG.permutation(15) / 15
X = RNG.normal(size=(15, 4)).round(1)


@pytest.mark.parametrize("metric", [NDCG(k=3), NDCG(gain="linear", discount="delayed_log2")])
def test_the_cost_of_a_swap_is_what_ndcg_gains_when_the_two_change_places(metric):
    found = costly_rank_changes(Y, SCORES, QID, metric=metric, n_pairs=1000)
    before, groups = metric.per_query(Y, SCORES, QID), QueryGroups.from_qid(QID)
    costs = {}
    for i in range(15):
        for j in range(15):
            if groups.codes[i] == groups.codes[j] and Y[i] < Y[j] and SCORES[i] > SCORES[j]:
                swapped = SCORES.copy()
                swapped[[i, j]] = SCORES[[j, i]]
                gain = metric.per_query(Y, swapped, QID) - before
                if gain[groups.codes[i]] > 1e-12:
                    costs[i, j] = gain[groups.codes[i]]
    assert {*zip(found.above.tolist(), found.below.tolist(), strict=True)} == set(costs)
    expected = [costs[pair] for pair in zip(found.above, found.below, strict=True)]
    np.testing.assert_allclose(found.cost, expected, atol=1e-12)
    assert (np.diff(found.cost) <= 0).all()
    np.testing.assert_array_equal(found.query, groups.codes[found.above])


def test_unjudged_documents_change_no_place():
    labels = np.where(np.arange(15) % 4 == 1, np.nan, np.where(QID == "a", np.nan, Y))
    judged = np.flatnonzero(~np.isnan(labels))
    found = costly_rank_changes(labels, SCORES, QID)
    alone = costly_rank_changes(labels[judged], SCORES[judged], QID[judged])
    assert len(found) > 0
    np.testing.assert_array_equal(found.above, judged[alone.above])
    np.testing.assert_array_equal(found.below, judged[alone.below])
    np.testing.assert_array_equal(found.query, QueryGroups.from_qid(QID).codes[found.above])
    np.testing.assert_array_equal(found.cost, alone.cost)


def test_swaps_of_a_query_are_as_many_as_asked_for():
    found = costly_rank_changes(Y, SCORES, QID, n_pairs=3, per_query=1)
    assert found.query.tolist() in ([0, 1], [1, 0])  # the third query has nothing to find
    assert len(costly_rank_changes(Y, Y, QID)) == 0
    with pytest.raises(ValueError, match="metric must be an NDCG; got 'map'"):
        costly_rank_changes(Y, SCORES, QID, metric="map")
    with pytest.raises(ValueError, match="n_pairs must be"):
        costly_rank_changes(Y, SCORES, QID, n_pairs=0)


def test_columns_of_other_lengths_are_refused():
    for call in (data_sheet, single_features):
        with pytest.raises(ValueError, match="y must have one entry per document"):
            call(X, Y[1:], QID[1:])
    with pytest.raises(ValueError, match="reference must have as many columns as X"):
        drift(X, X[:, 1:])
    with pytest.raises(ValueError, match="reference: X must have a row for each document"):
        drift(X, X[0])


def test_a_data_sheet_counts_as_pandas_does():
    holes = np.where(RNG.random(X.shape) < 0.3, np.nan, X)
    frame = pd.DataFrame(holes)
    sheet = data_sheet(holes, Y, QID)
    np.testing.assert_allclose(sheet.missing, frame.isna().mean(), atol=1e-15)
    assert sheet.distinct.tolist() == frame.nunique().tolist()
    assert sheet.labels == pd.Series(Y).value_counts().sort_index().to_dict()
    assert (sheet.n_queries, sheet.without_pairs) == (3, 1)
    assert sheet.documents_per_query == {"least": 3, "median": 5, "mean": 5, "most": 7}
    of_sparse = data_sheet(csr_matrix(np.nan_to_num(holes)), Y, QID)
    assert of_sparse.distinct.tolist() == frame.fillna(0).nunique().tolist()


@pytest.mark.parametrize("n_labels", [3, 21])
def test_large_labels_keep_names_and_shares_of_their_own(n_labels):
    labels = {1e6 + i / 2: 1 for i in range(n_labels)}
    shares = label_shares(labels)
    assert len(shares) == min(n_labels, 10)
    assert sum(shares.values()) == pytest.approx(1)
    assert next(iter(shares)) == {3: "1000000", 21: "1000000 to 1000001"}[n_labels]


def test_what_is_not_judged_is_left_out():
    gaps = np.where(np.arange(15) % 4 == 1, np.nan, np.where(QID == "c", np.nan, Y))
    judged = ~np.isnan(gaps)
    found = single_features(X, gaps, QID)
    np.testing.assert_array_equal(found, single_features(X[judged], Y[judged], QID[judged]))
    sheet = data_sheet(X, gaps, QID)
    assert sheet.labels == data_sheet(X[judged], Y[judged], QID[judged]).labels
    assert (sheet.n_documents, sheet.n_queries, sheet.without_pairs) == (15, 3, 1)


def test_columns_of_frames_are_compared_by_name_and_categories_by_what_they_are():
    frame = pd.DataFrame({"shop": ["a", "b", "b", None], "price": [1.0, 2.0, 3.0, 4.0]})
    other = pd.DataFrame({"id": [7, 8], "price": [1.0, 2.0], "shop": ["b", "c"]})
    # Shares .25, .5, 0 and .25 of a, b, c and missing ones, less 0, .5, .5 and 0.
    np.testing.assert_allclose(drift(frame, other), [0.5, 0.5])
    named = {"a": "z", "b": "y", "c": "x"}
    renamed = (each.replace({"shop": named}) for each in (frame, other))
    np.testing.assert_array_equal(drift(*renamed), drift(frame, other))
    found = duplicates(frame, reference=pd.DataFrame({"price": [2.0, 1.0], "shop": ["b", "c"]}))
    assert found.in_reference.tolist() == [1]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (pd.DataFrame({"shop": ["a"]}), "must have the columns of X; 'price' is missing"),
        (pd.DataFrame({"shop": [1.0], "price": 2}), "must hold categories in column 'shop', as X"),
        (np.ones((1, 2)), "must be a data frame, as X, in which columns .0. are categories"),
    ],
)
def test_a_reference_has_the_columns_of_x(reference, message):
    frame = pd.DataFrame({"shop": ["a", "b"], "price": [1.0, 2.0]})
    for compare in (drift, lambda X, other: duplicates(X, reference=other)):
        with pytest.raises((TypeError, ValueError), match=f"^reference {message}"):
            compare(frame, reference)


def test_a_category_ranks_by_its_labels_in_other_queries_and_not_by_its_name():
    shop, qid = np.array(["b", "a", "b", "a", "c", "a"]), np.array([1, 1, 2, 2, 3, 3])
    labels = np.array([1, 0, 1, 0, 0, 1])  # in the last query, c is unknown and comes last
    for names in ({}, {"a": "c", "c": "a"}):
        frame = pd.DataFrame({"shop": [names.get(each, each) for each in shop]})
        assert single_features(frame, labels, qid, metric="ndcg").tolist() == [1.0]
    alone = pd.DataFrame({"shop": np.arange(6).astype(str)}).astype("category")  # tied at random
    low = 1 / np.log2(3)
    assert single_features(alone, labels, qid, metric="ndcg") == pytest.approx((1 + low) / 2)


def test_drift_is_the_statistic_of_kolmogorov_and_smirnov():
    other = RNG.normal(size=(40, 4)).round(1) + np.array([0, 0, 1, 9])
    expected = [stats.ks_2samp(X[:, j], other[:, j]).statistic for j in range(4)]
    np.testing.assert_allclose(drift(X, other), expected)
    assert drift(np.array([[np.nan], [1.0]]), np.array([[1.0], [1.0]])).tolist() == [0.5]


def test_copies_are_counted_within_queries_and_in_the_training_data():
    documents = np.vstack([X[:3], X[:1], X[1:2]])
    qid = [1, 1, 2, 1, 2]
    found = duplicates(documents, qid, reference=np.vstack([X[2:4], X[1:2]]))
    assert (found.within, found.queries_in_reference) == (2, 1)
    assert found.in_reference.tolist() == [1, 2, 4]
    assert len(duplicates(documents, qid).in_reference) == 0


def test_a_feature_ranks_alone_in_its_better_direction_and_unknown_values_come_last():
    metric = get_metric("ndcg@3")
    values = single_features(np.column_stack([-Y, X[:, 0]]), Y, QID, metric=metric)
    both = metric(Y, X[:, 0], QID), metric(Y, -X[:, 0], QID)
    np.testing.assert_allclose(values, [1, max(both)])
    known = np.where(Y > 1, Y, np.nan)
    last = np.where(Y > 1, Y, -99), np.where(Y > 1, -Y, -99)
    expected = max(metric(Y, scores, QID) for scores in last)
    np.testing.assert_allclose(single_features(known[:, None], Y, QID, metric=metric), expected)


def test_single_features_average_a_function_over_queries_in_which_it_has_a_value():
    def first_label(y, scores, qid=None):
        return y[np.argmax(scores)] or np.nan

    found = single_features(np.column_stack([X[:, 0], Y, -Y]), Y, QID, metric=first_label)
    by_query = get_metric(first_label).per_query
    both = [np.nanmean(by_query(Y, scores, QID)) for scores in (X[:, 0], -X[:, 0])]
    best = np.mean([np.max(Y[QID == q]) for q in ("b", "a")])  # "c" has none
    np.testing.assert_allclose(found, [np.nanmax(both), best, best])
    only_down = np.where(Y > 1, 0.0, 1.0)  # upwards, the first documents have the label 0
    found = single_features(only_down[:, None], Y // 2, QID, metric=first_label)
    assert found > 0


@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame])
def test_features_of_a_frame_rank_alone_beside_named_labels_and_queries(frame_of):
    columns = {"a": X[:, 0], "kind": np.where(X[:, 1] > 0, "x", "w"), "b": X[:, 2]}
    alike = columns["kind"][:, None] == columns["kind"]
    elsewhere = alike & (QID[:, None] != QID)
    means = elsewhere @ Y / elsewhere.sum(axis=1)
    by_category = get_metric("ndcg@10")(Y, means, QID)
    numbers = single_features(X[:, [0, 2]], Y, QID)
    expected = [numbers[0], by_category, numbers[1]]
    frame = frame_of({"bought": Y, **columns, "user": QID, "week": QID})
    found = single_features(frame_of({"bought": Y, **columns, "user": QID}), "bought", "user")
    np.testing.assert_array_equal(found, expected)
    found = single_features(frame, "bought", ("user", "week"))
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="y must name a column of X; got 'sold'"):
        single_features(frame, "sold", "user")


def test_the_effect_of_a_category_is_shown_by_its_name():
    frame = pd.DataFrame({"shop": np.where(X[:, 1] > 0, "b", "a"), "price": X[:, 0]})
    fitted = TreeDirectRanker(HistogramTrees(5, min_child_samples=1), random_state=0)
    fitted.fit(frame, np.where(frame["shop"] == "b", 2.0, Y > 1), QID)
    found = effect(fitted, frame, QID, feature="shop")
    assert found.values.tolist() == ["a", "b"]
    for shop, score in zip(found.values, found.score, strict=True):
        assert score == fitted.predict(frame.assign(shop=shop)).mean()
    assert found.chart().names == ("a", "b")
    np.testing.assert_array_equal(found.chart(of="rank").estimates, found.rank)
    alone = effect(fitted, frame, QID, feature="shop", values=["b"])
    assert (alone.values.tolist(), alone.score.tolist()) == (["b"], found.score[1:].tolist())
    with pytest.raises(ValueError, match=r"values must be categories of the feature.*got 'c'"):
        effect(fitted, frame, QID, feature="shop", values=["a", "c"])
    for feature in ("price", "shop"):
        with pytest.raises(ValueError, match="values must have at least one entry; got"):
            effect(fitted, frame, QID, feature=feature, values=[])
        with pytest.raises((TypeError, ValueError), match=r"values must be .*; got"):
            effect(fitted, frame, QID, feature=feature, values=0.5)


def test_the_effect_of_categories_leaves_out_codes_of_no_category():
    frame = pd.DataFrame({"price": X[:, 0], "shop": np.where(X[:, 1] > 0, "b", "a")})
    fitted = TreeDirectRanker(HistogramTrees(5, min_child_samples=1), random_state=0)
    trees = fitted.fit(frame, np.where(frame["shop"] == "b", 2.0, Y > 1), QID).forest()
    codes = np.column_stack([frame["price"], np.resize([1.0, 0.0, -1.0, 7.0, 0.5, 1e30], len(X))])
    ranker = ForestRanker(replace(trees, feature_names=None))
    found = effect(ranker, codes, QID, feature=1)
    assert found.values.tolist() == ["a", "b"]
    codes[:, 1] = -1.0
    with pytest.raises(ValueError, match="feature must have a value in some document; got none"):
        effect(ranker, codes, QID, feature=1)


class Product(Ranker):
    """Scores that are the product of the first two features, plus the third."""

    _accepts = Accepts(sparse=True)

    def _learn(self, data, held_out, seed):
        pass

    def _scores(self, X):
        X = X.toarray() if issparse(X) else X
        return X[:, 0] * X[:, 1] + X[:, 2]


@pytest.fixture(scope="module")
def product():
    return Product().fit(X, Y, QID)


@pytest.mark.parametrize("shuffle", ["within", "across"])
def test_importances_are_the_mean_drops_of_shuffled_columns(product, shuffle):
    settings = {"shuffle": shuffle, "n_repeats": 400, "metric": "map"}
    found = permutation_importance(product, X, Y, QID, **settings)
    metric, rng = get_metric("map"), np.random.default_rng(1)
    whole = metric.per_query(Y, product.predict(X), QID)
    values = []
    for _ in range(1500):
        changed = X.copy()
        rows = [np.flatnonzero(QID == q) for q in "abc"] if shuffle == "within" else [np.arange(15)]
        for own in rows:
            changed[own, 0] = X[rng.permutation(own), 0]
        values.append(metric.per_query(Y, product.predict(changed), QID))
    np.testing.assert_allclose(found.drops[0], whole - np.mean(values, axis=0), atol=0.05)
    assert found.drops[3, :2].tolist() == [0, 0]  # nobody reads the fourth feature
    assert np.isnan(found.drops[:, 2]).all()  # nothing to find
    assert str(found).startswith("Permutation importance of 4 features: drop of map over 2 queries")
    assert (np.diff(found.means[found.order]) <= 0).all()
    interval = found.interval(0)
    assert interval.low <= interval.estimate <= interval.high
    assert found.interval(3).low == found.interval(3).high == 0


def test_what_the_documents_of_a_query_share_is_only_shuffled_across_queries(product):
    shared = X.copy()
    shared[:, 0] = np.unique(QID, return_inverse=True)[1] * 3 - 3
    within, across = (
        permutation_importance(product, shared, Y, QID, groups={"q": [0]}, shuffle=shuffle).drops
        for shuffle in ("within", "across")
    )
    assert within[0, :2].tolist() == [0, 0]
    assert across[0, :2].any()


def test_groups_are_shuffled_together_and_sparse_rows_alike(product):
    both = {"factors": [0, "f1"], "rest": [3]}
    found = permutation_importance(product, X, Y, QID, groups=both)
    sparse = permutation_importance(product, csr_matrix(X), Y, QID, groups=both)
    assert found.names == ("factors", "rest")
    np.testing.assert_array_equal(found.drops, sparse.drops)
    alone = permutation_importance(product, X, Y, QID, groups={"rest": [3]})
    np.testing.assert_array_equal(alone.drops[0], found.drops[1])
    for groups, message in [({"a": ["price"]}, "must be one of"), ({"a": [4]}, "at most 3")]:
        with pytest.raises(ValueError, match=message):
            permutation_importance(product, X, Y, QID, groups=groups)


def test_importances_of_one_query_say_why_they_have_no_interval(product):
    alone, note = QID == "b", "A single query has no interval."
    assert note in repr(permutation_importance(product, X[alone], Y[alone], QID[alone]))
    assert note not in repr(permutation_importance(product, X, Y, QID))


def test_scikit_learn_permutes_with_the_query_ids_of_a_scorer(product):
    scorer = RankingScorer("map", qid=QID)
    found = sklearn_importance(product, X, Y, scoring=scorer, n_repeats=300, random_state=0)
    ours = permutation_importance(product, X, Y, QID, metric="map", shuffle="across", n_repeats=300)
    np.testing.assert_allclose(found.importances_mean, ours.means, atol=0.05)


def test_effects_are_those_of_brute_force(product):
    grid = [-1.0, 0.0, 0.5]
    found = effect(product, X, QID, feature=0, values=grid)
    scores, ranks = product.predict(X), np.empty((3, 15))
    for n, value in enumerate(grid):
        for i in range(15):
            changed = scores.copy()
            changed[i] = value * X[i, 1] + X[i, 2]
            others = (QID == QID[i]) & (np.arange(15) != i)
            above, level = changed[others] > changed[i], changed[others] == changed[i]
            ranks[n, i] = 1 + above.sum() + level.sum() / 2
        expected = np.mean(value * X[:, 1] + X[:, 2])
        assert found.score[n] == pytest.approx(expected)
    np.testing.assert_allclose(found.rank, ranks.mean(axis=1))
    linear = effect(product, X, QID, feature=2, values=6)
    np.testing.assert_allclose(np.diff(linear.score), np.diff(linear.values))


def test_slices_are_the_tests_of_scipy_adjusted_by_holm():
    rng = np.random.default_rng(0)
    n, qid = 90, np.repeat(np.arange(90), 2)
    values = rng.normal(size=n)
    kind = np.repeat(["a", "b", "c"], 30)
    values[kind == "b"] -= 1
    values[5] = np.nan
    number = rng.normal(size=n)
    number[-25:] = np.nan
    columns = {"kind": np.repeat(kind, 2), "number": np.repeat(number, 2) + np.tile([1, -1], n)}
    found = slices(values, columns, qid, n_bins=2)
    known, edge = ~np.isnan(values), np.quantile(number[:-25], 0.5, method="inverted_cdf")
    low, high = number <= edge + 1e-12, number > edge + 1e-12
    p = [
        stats.ttest_ind(values[part & known], values[~part & known], equal_var=False).pvalue
        for part in (*(kind == text for text in "abc"), np.isnan(number), low, high)
    ]
    np.testing.assert_allclose([one.p_value for one in found], np.sort(adjust_holm(p)))
    assert (found[0].column, found[0].values) == ("kind", "b")
    assert found[0].mean == pytest.approx(values[kind == "b"].mean())
    low, high = found[0].difference.low, found[0].difference.high
    assert low < found[0].difference.estimate < high < 0
    assert slices(values, columns, qid, at_least=46) == []
    assert {one.p_value for one in slices(np.ones(n), columns, qid, n_bins=2)} == {1.0}
    with pytest.raises(ValueError, match="one entry per query of qid, 180; got 90"):
        slices(values, columns, np.arange(180))


def test_leads_are_the_same_in_any_number_of_batches(monkeypatch):
    ranker = RankSVM().fit(X, Y, QID)
    parts = explain_lead(ranker, X, QID)
    for n_pairs in (1, 11, 40):
        monkeypatch.setattr("treerank.inspection.lead._PAIRS_AT_A_TIME", n_pairs)
        np.testing.assert_array_equal(explain_lead(ranker, X, QID), parts)
        np.testing.assert_array_equal(explain_lead(ranker, X, QID, rows=[8, 2]), parts[[8, 2]])


def test_standing_is_the_mean_over_the_rivals_of_the_query():
    ranker = RankSVM().fit(X, Y, QID)
    parts, scores = explain_lead(ranker, X, QID), ranker.predict(X)
    rivals = np.flatnonzero((QID == "a") & (np.arange(15) != 8))
    expected = np.mean([ranker.explain(X[8:9], X[[j]])[0] for j in rivals], axis=0)
    np.testing.assert_allclose(parts[8], expected, atol=1e-12)
    np.testing.assert_allclose(parts[8].sum(), scores[8] - scores[rivals].mean(), atol=1e-12)
    frame = pd.DataFrame(X)
    np.testing.assert_array_equal(explain_lead(ranker, frame, QID, rows=[8, 2]), parts[[8, 2]])
    assert not explain_lead(ranker, X, np.arange(15)).any()  # no document has a rival
    assert parts.names == ["f0", "f1", "f2", "f3"]
    side = "above" if parts[8].sum() > 0 else "below"
    assert str(parts).splitlines()[8].startswith(f"The document is {side} the others because of f")
    assert f"the document {side} the others" in parts.chart(pair=8).title
    for wrong in ([15], np.arange(15) < 2):  # a mask is no list of rows
        with pytest.raises(ValueError, match="rows must be numbers of 15 documents"):
            explain_lead(ranker, X, QID, rows=wrong)
    for wrong in (3, "ab"):
        with pytest.raises(TypeError, match=r"groups\['a'\] must be a sequence"):
            permutation_importance(ranker, X, Y, QID, groups={"a": wrong})


def test_numbers_are_numbers_in_any_column():
    values, row = np.linspace(0, 1, 60), np.arange(60)
    numbers = np.where(row < 9, np.nan, row % 2)
    found = slices(values, {"n": numbers}, np.arange(60), at_least=5)
    assert [one.values for one in found] == ["missing", "1", "0"]
    listed = [None if number != number else number for number in numbers]
    for same in (listed, numbers.astype(object), pd.Series(listed, dtype="Int64")):
        assert slices(values, {"n": same}, np.arange(60), at_least=5) == found


@pytest.mark.parametrize(
    ("common", "expected"),
    [
        (0, {"0": 60, "1 to 15": 15, "15 to 39": 24}),
        (100, {"100": 60, "1 to 25": 25, "25 to 39": 14}),
        (20, {"20": 61, "1 to 19": 19, "21 to 39": 19}),
        (None, {"1 to 10": 10, "10 to 20": 10, "20 to 30": 10, "30 to 39": 9, "missing": 60}),
    ],
)
def test_a_number_that_most_queries_have_is_a_slice_of_its_own(common, expected):
    numbers = [*range(1, 40), *[common] * 60]
    values = np.random.default_rng(0).random(99)
    found = slices(values, {"n": numbers}, np.arange(99), at_least=9)
    assert {one.values: one.n_queries for one in found} == expected


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([1000001, 1000002, 1000003], ["1000001", "1000002", "1000003"]),
        ([-0.0, 0.1, 1e300], ["0", "0.1", "1e+300"]),
        ([0.12345678, 0.12345679], ["0.12345678", "0.12345679"]),
        ([0.1 + 0.2, 0.3, 0.7], ["0.3", "0.7"]),
        ([2**52 - 1, 2**52], ["4503599627370495", "4503599627370496"]),
        (range(20440, 20448), ["20440 to 20443", "20443 to 20447"]),
        (np.arange(8) / 8 + 20440, ["20440 to 20440.4", "20440.4 to 20440.9"]),
        (np.arange(8) / 7, ["0 to 0.4286", "0.4286 to 1"]),
        ([1e6 + 1] * 9 + [1e6 + 2, 1e6 + 3, 1e6 + 4], ["1000001", "1000002 to 1000004"]),
    ],
)
def test_names_tell_slices_of_numbers_apart(numbers, expected):
    column = np.tile(numbers, 6)
    n_bins = 3 if len({*numbers}) <= 3 else 2
    values, qid = np.random.default_rng(0).random(len(column)), np.arange(len(column))
    found = slices(values, {"n": column}, qid, n_bins=n_bins, at_least=5)
    assert sorted(one.values for one in found) == expected


def test_missing_text_is_missing_in_any_column():
    values, row = np.linspace(0, 1, 60), np.arange(60)
    texts = [["red", "blue"][i % 2] if i >= 9 else None for i in row]
    found = slices(values, {"t": texts}, row, at_least=5)
    assert [one.values for one in found] == ["missing", "blue", "red"]
    with_nan = [np.nan if text is None else text for text in texts]
    kinds = [pd.Series(texts, dtype=kind) for kind in ("str", "string", "category", object)]
    for same in (with_nan, np.array(with_nan, dtype=object), pl.Series(texts), *kinds):
        assert slices(values, {"t": same}, row, at_least=5) == found
    days = np.where(row < 9, np.datetime64("NaT"), np.datetime64("2026-01-01") + row % 2)
    assert slices(values, {"t": days}, row, at_least=5)[0].values == "missing"


def test_a_document_without_a_value_comes_last_however_large_the_values_are():
    X = np.array([[1.7e18], [np.nan], [1.8e18]])
    np.testing.assert_array_equal(single_features(X, [1, 0, 2]), 1.0)
    with pytest.raises(ValueError, match="X must have no masked entries"):
        data_sheet(np.ma.array(X, mask=X > 1.7e18), [1, 0, 2])


def test_a_shuffle_takes_one_copy_of_the_features():
    ranker = RankSVM().fit(np.eye(30), np.arange(30))
    X = np.random.default_rng(0).normal(size=(20_000, 30))
    tracemalloc.start()
    try:
        permutation_importance(ranker, X, np.arange(20_000) % 3, groups={"a": [0]}, n_repeats=1)
        assert tracemalloc.get_traced_memory()[1] < 1.9 * X.nbytes
    finally:
        tracemalloc.stop()
