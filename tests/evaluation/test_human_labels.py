"""Comparisons by an LLM's labels of all queries and people's of some."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from treerank import (
    NDCG,
    HistogramTrees,
    QueryShuffleSplit,
    TreeDirectRanker,
    compare,
    compare_scores,
    get_metric,
    load,
)
from treerank.datasets import Qrels, RankingData
from treerank.evaluation.labels import _defined_queries
from treerank.evaluation.ranker_comparison import Comparison
from treerank.feature_parts import RefitTrees, Stages
from treerank.metrics import Recall
from treerank.rankers import ColumnRanker, ForestRanker
from treerank.statistics import prediction_powered_mean

RNG = np.random.default_rng(0)
QID = np.repeat(np.arange(80), 8)
Y = RNG.integers(3, size=640).astype(float)
LLM = np.clip(Y + RNG.integers(-1, 2, size=640) * (RNG.random(640) < 0.4), 0, 2)
JUDGED = RNG.permutation(80)[:35]
HUMAN = np.where(np.isin(QID, JUDGED), Y, np.nan)
X = np.column_stack([Y + RNG.normal(scale=s, size=640) for s in (1.0, 3.0, 2.0)])
FRAME = pd.DataFrame(X, columns=["bm25", "age", "dense"]).assign(
    shop=np.array(["a", "b", "c"])[RNG.integers(3, size=640)]
)
SCORES = {"bm25": X[:, 0], "age": X[:, 1]}
pytestmark = [
    pytest.mark.filterwarnings("ignore:The LLM's labels add almost nothing"),
    pytest.mark.filterwarnings("ignore:Intervals of fewer than 30"),
    pytest.mark.filterwarnings("ignore:rankers.*was fitted to 80 of the 80"),
    pytest.mark.filterwarnings("ignore:rankers.'other'. was fitted to 45 of the 80"),
]


def expected(metric, *columns):
    """Return the estimate for the mean of a column, or for the difference of two."""
    values = [
        [get_metric(metric).per_query(labels, column, QID) for labels in (HUMAN, LLM)]
        for column in columns
    ]
    human, llm = np.subtract(*values) if len(columns) == 2 else values[0]
    return prediction_powered_mean(human=human, llm=llm, judged=np.isin(np.arange(80), JUDGED))


def test_scores_are_estimated_by_both_kinds_of_labels():
    comparison = compare_scores(SCORES, LLM, QID, human_labels=HUMAN, metrics=["ndcg@3"])
    level, gap = expected("ndcg@3", X[:, 0]), expected("ndcg@3", X[:, 0], X[:, 1])
    assert comparison.prediction_powered("ndcg@3", "bm25") == level
    found = comparison.difference("ndcg@3", "bm25", "age")
    assert (found.interval, found.prediction_powered) == (gap.interval, gap)
    assert comparison.test("ndcg@3", "bm25", "age") == gap.test()
    p_value = comparison.test("ndcg@3", "bm25", "age").p_value
    assert (p_value < 0.05) == (gap.interval.low > 0 or gap.interval.high < 0)
    assert f"35 human and 80 LLM-graded queries: as precise as {gap.effective_n:.0f}" in str(found)
    assert comparison.has_human_labels
    values = comparison.values
    is_first = values["ranker"] == "bm25"
    human = get_metric("ndcg@3").per_query(HUMAN, X[:, 0], QID)
    np.testing.assert_array_equal(values["human"][is_first], human)


def test_people_and_llm_grade_on_one_scale():
    human = np.where(HUMAN == 2, 3, HUMAN)
    err = get_metric("err(max_label=3.0)")
    for comparison in (
        compare_scores(SCORES, LLM, QID, human_labels=human, metrics="err"),
        compare({"bm25": ColumnRanker(0)}, (X, LLM, QID), human_labels=human, metrics="err"),
    ):
        values = comparison.values
        is_first = values["ranker"] == "bm25"
        for column, labels in {"value": LLM, "human": human}.items():
            found = values[column][is_first]
            np.testing.assert_array_equal(found, err.per_query(labels, X[:, 0], QID))


def test_table_text_and_html_have_the_effective_number_and_the_correlation():
    comparison = compare_scores(SCORES, LLM, QID, human_labels=HUMAN, metrics=["ndcg@3", "map"])
    summary, level = comparison.summary(), expected("map", X[:, 1])
    columns = ["map", "map: effective queries", "map: correlation"]
    assert summary.header[4:] == tuple(columns)
    (row,) = [row for row in summary.rows(lambda cell, best: cell) if row[0] == "age"]
    assert row[4].startswith(f"{level.interval.estimate:.4f} ± {level.standard_error:.4f}")
    assert row[5:] == [f"{level.effective_n:.0f}", f"{level.correlation:.2f}"]
    for text in (str(summary), summary.to_html().replace("&#x27;", "'"), summary.to_markdown()):
        assert "One test set, 80 queries judged by the LLM and 35 of them by people" in text
        assert "must be drawn at random" in text
        assert "35 human and 80 LLM-graded queries: as precise as" in text
        assert f"{level.effective_n:.0f}" in text


def test_without_human_labels_nothing_changes():
    comparison = compare_scores(SCORES, LLM, QID)
    assert "human" not in comparison.values
    assert "effective" not in str(comparison)
    with pytest.raises(ValueError, match="human_labels must be given to compare"):
        comparison.prediction_powered("map", "bm25")


def test_all_queries_by_people_are_the_plain_mean():
    """The estimate is then that of people, whatever the LLM says."""
    with pytest.warns(UserWarning, match="judge all documents.* by NaN, not by 0"):
        comparison = compare_scores(SCORES, LLM, QID, human_labels=Y, metrics=["ndcg@3"])
    values = get_metric("ndcg@3").per_query(Y, X[:, 0], QID)
    found = comparison.prediction_powered("ndcg@3", "bm25")
    assert found.interval.estimate == pytest.approx(np.nanmean(values))
    few = values[~np.isnan(values)]
    assert found.standard_error == pytest.approx(few.std(ddof=1) / np.sqrt(len(few)), rel=0.1)


def test_fitted_rankers_and_frames_with_a_column_of_labels():
    rankers = {"bm25": ColumnRanker("bm25"), "trees": TreeDirectRanker("histogram", random_state=0)}
    train = QID < 20
    fitted = {n: r.fit(FRAME[train], LLM[train], QID[train]) for n, r in rankers.items()}
    frame, test = FRAME.assign(people=HUMAN, llm=LLM, query=QID)[~train], ~train
    named = compare(fitted, (frame, "llm", "query"), human_labels="people", metrics="map")
    given = compare(
        fitted, (FRAME[test], LLM[test], QID[test]), human_labels=HUMAN[test], metrics="map"
    )
    for name in rankers:
        assert named.prediction_powered("map", name) == given.prediction_powered("map", name)
    assert "fitted before" in str(given)


def test_splits_the_store_and_the_order_of_rows(tmp_path):
    rankers = {
        "few": TreeDirectRanker(HistogramTrees(3), random_state=0),
        "trees": TreeDirectRanker("histogram", random_state=0),
    }
    settings = {"cv": 4, "metrics": ["ndcg@3"], "store": tmp_path}
    first = compare(rankers, (FRAME, LLM, QID), human_labels=HUMAN, **settings)
    files = sorted(path.name for path in tmp_path.iterdir())
    again = compare(rankers, (FRAME, LLM, QID), human_labels=HUMAN, **settings)
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    found = first.prediction_powered("ndcg@3", "few", "trees")
    assert found == again.prediction_powered("ndcg@3", "few", "trees")
    assert (found.n_human, found.n_llm) == (35, 80)
    # Another draw of people's queries needs no new fit.
    others = np.where(np.isin(QID, RNG.permutation(80)[:30]), Y, np.nan)
    compare(rankers, (FRAME, LLM, QID), human_labels=others, **settings)
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    order = RNG.permutation(640)
    shuffled = compare(
        {"bm25": ColumnRanker(0).fit(X, LLM, QID)},
        (X[order], LLM[order], QID[order]),
        human_labels=HUMAN[order],
        metrics="map",
    )
    plain = compare(
        {"bm25": ColumnRanker(0).fit(X, LLM, QID)}, (X, LLM, QID), human_labels=HUMAN, metrics="map"
    )
    assert shuffled.prediction_powered("map", "bm25") == plain.prediction_powered("map", "bm25")


def test_rankers_learn_from_the_llm_alone_and_the_tests_are_over_queries():
    comparison = compare(
        {"a": ColumnRanker(0), "b": ColumnRanker(1)}, (X, LLM, QID), human_labels=HUMAN, cv=4
    )
    np.testing.assert_allclose(
        comparison.by_query("map")[:, 0], get_metric("map").per_query(LLM, X[:, 0], QID)
    )
    gap = expected("map", X[:, 0], X[:, 1])
    assert comparison.prediction_powered("map", "a", "b") == gap
    assert "4 splits, 80 queries judged by the LLM and 35 of them by people" in str(comparison)
    assert "given the models" in str(comparison)
    with pytest.raises(ValueError, match="test must be None if human_labels are given"):
        comparison.difference("map", "a", "b", test="corrected_t")


def test_one_of_two_labels_may_be_that_of_people():
    """So a ranker may learn from both, or from one of them."""
    both = {"llm": LLM, "human": HUMAN}
    rankers = {
        "people alone": TreeDirectRanker("linear", label_weights={"llm": 0.0}),
        "both": TreeDirectRanker("linear"),
    }
    comparison = compare(rankers, (X, both, QID), human_labels="human", metrics="map", cv=4)
    assert comparison.metrics == ("map",)
    assert comparison.prediction_powered("map", "both").n_human == 35
    given = compare_scores(SCORES, both, QID, human_labels="human", metrics="map")
    assert given.prediction_powered("map", "age") == expected("map", X[:, 1])


@pytest.mark.parametrize("cv", [None, 2])
def test_estimates_are_over_the_queries_that_the_llm_has_graded(cv):
    graded, n_human = QID >= 10, np.sum(JUDGED >= 10)
    llm = np.where(graded, LLM, np.nan)
    message = f"{35 - n_human} of 35 queries with human labels are left out, since the LLM has gr"
    with pytest.warns(UserWarning, match=message):
        comparison = compare_scores(SCORES, llm, QID, human_labels=HUMAN, metrics="map")
    cut = {name: scores[graded] for name, scores in SCORES.items()}
    human = np.where(graded, HUMAN, np.nan)
    of_graded = compare_scores(
        cut, LLM[graded], QID[graded], human_labels=human[graded], metrics="map"
    )
    rankers = {"bm25": ColumnRanker(0), "age": ColumnRanker(1)}
    for y, given in ((llm, human), ({"llm": llm, "human": human}, "human")):
        compared = compare(rankers, (X, y, QID), human_labels=given, metrics="map", cv=cv)
        for of_all in (comparison, compared):
            found = of_all.prediction_powered("map", "bm25", "age")
            assert found == of_graded.prediction_powered("map", "bm25", "age")
            assert (found.n_human, found.n_llm) == (n_human, 70)
    assert f"70 queries judged by the LLM and {n_human} of them by people" in str(comparison)


@pytest.mark.parametrize("no_relevant", ["exclude", 0.5])
def test_queries_that_people_have_not_judged_are_no_warning_of_metrics_of_all(no_relevant):
    counts = dict.fromkeys(range(80), 9)
    metric = Recall(3, n_relevant=counts, no_relevant=no_relevant)
    comparison = compare_scores(SCORES, LLM, QID, human_labels=HUMAN, metrics=metric)
    found = comparison.prediction_powered(metric, "bm25")
    few = ~np.isnan(HUMAN)
    by_people = metric.per_query(HUMAN[few], X[few, 0], QID[few])
    assert (found.n_human, found.human_mean) == (35, pytest.approx(by_people.mean()))


def test_a_split_may_have_no_query_of_people_s():
    rankers, rows = {"bm25": ColumnRanker(0), "age": ColumnRanker(1)}, np.arange(640)
    with_people = np.isin(QID, JUDGED)
    parts = [rows[with_people], rows[~with_people]]
    found = compare(
        rankers,
        (X, LLM, QID),
        human_labels=HUMAN,
        metrics="map",
        cv=[(parts[1], parts[0]), (parts[0], parts[1])],
    )
    gap = expected("map", X[:, 0], X[:, 1])
    assert found.prediction_powered("map", "bm25", "age") == gap


def test_queries_of_people_that_the_llm_has_not_graded_are_not_enough():
    llm = np.where(np.isin(QID, JUDGED[:16]), np.nan, LLM)
    message = r"human_labels .* at least 20 queries.*got 19"
    with (
        pytest.warns(UserWarning, match="16 of 35 queries with human labels are left out"),
        pytest.raises(ValueError, match=message),
    ):
        compare_scores(SCORES, llm, QID, human_labels=HUMAN)
    with (
        pytest.warns(UserWarning, match="16 of 35 queries with human labels are left out"),
        pytest.raises(ValueError, match=message),
    ):
        compare({"a": Never()}, (X, llm, QID), human_labels=HUMAN)


@pytest.mark.parametrize(
    ("data", "human_labels", "message"),
    [
        ((X, LLM, QID), HUMAN[1:], "human_labels must have one entry per document; got 639"),
        ((X, LLM, QID), np.full(640, np.nan), "human_labels must hold a label in some row"),
        ((X, LLM, QID), np.where(QID < 19, Y, np.nan), "human_labels .* 20 queries.*got 19"),
        ((X, {"a": LLM, "b": Y}, QID), HUMAN, r"must name a label of y where y has several"),
        ((X, {"a": LLM, "b": Y, "c": Y}, QID), "b", "y must have two labels, a human one and the"),
        ((FRAME, LLM, QID), "people", "human_labels"),
        ((X, {"a": LLM, "b": Y}, QID), "people", "human_labels"),
    ],
)
def test_wrong_labels_are_refused_before_any_fit(data, human_labels, message):
    with pytest.raises(ValueError, match=message):
        compare({"a": Never()}, data, human_labels=human_labels)


def test_too_few_labels_are_refused_before_a_ranker_fitted_before_is_scored():
    few = np.where(np.isin(QID, JUDGED[:19]), Y, np.nan)
    with pytest.raises(ValueError, match=r"human_labels .* at least 20 queries.*got 19"):
        compare({"a": Unscored(0).fit(X, LLM, QID)}, (X, LLM, QID), human_labels=few)


class Unscored(ColumnRanker):
    """A ranker that must not be scored."""

    def predict(self, X):
        raise AssertionError("scored")


class Never(TreeDirectRanker):
    """A ranker that must not be fitted."""

    def fit(self, *args, **kwargs):
        raise AssertionError("fitted")


def with_threes(n_queries):
    """Return people's labels, of which one is 3 in each of some judged queries."""
    labels = HUMAN.copy()
    labels[[np.flatnonzero(QID == query)[0] for query in JUDGED[:n_queries]]] = 3
    return labels


@pytest.mark.parametrize("cv", [None, 4, QueryShuffleSplit(3, test_size=0.9, random_state=0)])
def test_a_metric_that_few_queries_of_people_define_is_refused_before_any_fit(cv):
    metrics = ["ndcg@3", "map(threshold=3)"]
    message = r"human_labels must define 'map\(threshold=3\)' for at least 20 tested .* got 12, "
    data, people = (X, LLM, QID), with_threes(12)
    if isinstance(cv, QueryShuffleSplit):
        message = message.replace("got 12", "got 1[0-2]")
    with pytest.raises(ValueError, match=message):
        compare({"a": Never()}, data, human_labels=people, metrics=metrics, cv=cv)


def test_a_metric_without_a_value_is_refused_also_for_scores():
    with pytest.raises(ValueError, match=r"'map\(threshold=3\)' for at least .* got 19, since"):
        compare_scores(SCORES, LLM, QID, human_labels=with_threes(19), metrics="map(threshold=3)")
    with pytest.raises(ValueError, match=r"y must define 'map\(threshold=3\)' for some tested"):
        compare_scores(SCORES, LLM, QID, human_labels=with_threes(35), metrics="map(threshold=3)")
    both = {"llm": LLM, "human": with_threes(19)}
    with pytest.raises(ValueError, match=r"'map\(threshold=3\)' for at least .* got 19, since"):
        compare({"a": Never()}, (X, both, QID), human_labels="human", metrics="map(threshold=3)")
    llm = np.where(np.isnan(with_threes(35)), LLM, with_threes(35))
    some = compare_scores(
        SCORES, llm, QID, human_labels=with_threes(20), metrics="map(threshold=3)"
    )
    assert some.metrics == ("map(threshold=3)",)
    # A query without a value counts 0 here, so that all judged queries have one.
    counted = "map(no_relevant=0.0, threshold=2)"
    comparison = compare_scores(SCORES, LLM, QID, human_labels=HUMAN, metrics=counted)
    assert comparison.prediction_powered(counted, "bm25").n_human == 35


def test_data_in_folds_have_no_human_labels(tmp_path):
    with pytest.raises(ValueError, match="human_labels must be None for data in folds"):
        compare({"a": ColumnRanker(0)}, tmp_path, human_labels=HUMAN)


def test_data_of_the_same_documents_are_taken_for_their_labels():
    people = RankingData(X, HUMAN, QID)
    rankers = {"bm25": ColumnRanker(0).fit(X, LLM, QID)}
    found = compare(rankers, (X, LLM, QID), human_labels=people, metrics="map")
    assert found.prediction_powered("map", "bm25") == expected("map", X[:, 0])
    others = RankingData(X, HUMAN, QID + 1)
    scored = compare_scores({"bm25": X[:, 0]}, LLM, QID, human_labels=people, metrics="map")
    assert scored.prediction_powered("map", "bm25") == expected("map", X[:, 0])
    with pytest.raises(ValueError, match=r"got RankingData\(.*\), whose queries are others"):
        compare(rankers, (X, LLM, QID), human_labels=others)
    with pytest.raises(ValueError, match=r"got RankingData\(.*\), whose queries are others"):
        compare_scores({"bm25": X[:, 0]}, LLM, QID, human_labels=others)


OTHER = FRAME.assign(grade=LLM, query=QID, user=(QID % 7).astype(str))
PEOPLE = OTHER.assign(grade=HUMAN)


@pytest.mark.parametrize(
    "people",
    [
        RankingData(PEOPLE, "grade", "query"),
        RankingData(PEOPLE.rename(columns={"grade": "people", "query": "q"}), "people", "q"),
        RankingData(pl.from_pandas(PEOPLE), "grade", "query"),
    ],
    ids=["same names", "other names", "polars"],
)
@pytest.mark.parametrize(
    "llm",
    [RankingData(OTHER, "grade", "query"), (pa.table(OTHER), "grade", "query"), (FRAME, LLM, QID)],
    ids=["names", "arrow", "arrays"],
)
def test_data_that_name_columns_are_taken_for_the_values_of_their_labels(llm, people):
    rankers = {name: ColumnRanker(name) for name in SCORES}
    found = compare(rankers, llm, human_labels=people, metrics="map")
    gap = expected("map", X[:, 0], X[:, 1])
    assert found.prediction_powered("map", "bm25", "age") == gap
    scored = compare_scores(SCORES, LLM, QID, human_labels=people, metrics="map")
    assert scored.prediction_powered("map", "bm25", "age") == gap


def test_ids_of_several_columns_are_those_of_tuples():
    people = RankingData(PEOPLE, "grade", ("user", "query"))
    tuples = [*zip(OTHER["user"], OTHER["query"], strict=True)]
    found = compare_scores(SCORES, LLM, tuples, human_labels=people, metrics="map")
    assert found.prediction_powered("map", "bm25").n_human == 35


def test_rows_in_another_order_are_refused_where_they_can_be_seen_to_be():
    rankers, llm = {"bm25": ColumnRanker("bm25")}, RankingData(OTHER, "grade", "query")
    shuffled = PEOPLE.sample(frac=1, random_state=0)
    with pytest.raises(ValueError, match="whose queries are others"):
        compare(rankers, llm, human_labels=RankingData(shuffled, "grade", "query"))
    within = shuffled.sort_values("query", kind="stable")
    human = RankingData(within, "grade", "query")
    message = r"whose index has them in another one.* human_labels.X\['grade'\].to_numpy\(\)\."
    with pytest.raises(ValueError, match=message):
        compare(rankers, llm, human_labels=human)
    with pytest.raises(ValueError, match=message):
        compare_scores(SCORES, OTHER["grade"], QID, human_labels=human)
    compare(rankers, llm, human_labels=human.X["grade"].to_numpy())  # as the message advises


@pytest.mark.parametrize(
    "labels",
    [
        {"0": {"a": 1.0}},
        Qrels(np.array(["0"]), np.array(["a"]), np.ones(1)),
        Path(__file__),
        __file__,
    ],
    ids=["dict", "qrels", "path", "text"],
)
def test_judgments_that_are_not_joined_are_sent_to_read_runs(labels):
    message = r"human_labels must hold a label for each document .* human_labels=read_runs\(runs, j"
    with pytest.raises(TypeError, match=message):
        compare({"a": ColumnRanker(0)}, (X, LLM, QID), human_labels=labels)


def test_people_have_judged_the_same_documents_and_not_others_of_the_same_queries():
    names = np.array([f"document {number}" for number in range(len(QID))])
    llm = RankingData(X, LLM, QID, documents=names)
    rankers = {"bm25": ColumnRanker(0).fit(X, LLM, QID)}
    same = RankingData(X, HUMAN, QID, documents=names.astype(object))
    found = compare(rankers, llm, human_labels=same, metrics="map")
    assert found.prediction_powered("map", "bm25") == expected("map", X[:, 0])
    comments = np.array([f"docid = {name.replace(' ', '')}" for name in names])
    for other in (names[::-1], None):
        people = RankingData(X, HUMAN, QID, comments if other is None else None, other)
        with pytest.raises(ValueError, match=r"got RankingData\(.*\), whose documents are others"):
            compare(rankers, llm, human_labels=people, metrics="map")


def test_few_labels_and_weak_judges_are_warned_of():
    few = np.where(np.isin(QID, JUDGED[:25]), Y, np.nan)
    with pytest.warns(UserWarning, match="fewer than 30 human queries"):
        compare_scores(SCORES, LLM, QID, human_labels=few, metrics=[NDCG(3)])
    noise = RNG.integers(3, size=640)
    with pytest.warns(UserWarning, match=r"below 0.4: map of bm25 \(.*\), map of age"):
        compare_scores(SCORES, noise, QID, human_labels=HUMAN, metrics="map")


def test_a_ranker_that_failed_has_no_estimate():
    class Fails(ColumnRanker):
        def predict(self, X):
            raise RuntimeError("no")

    rankers = {"a": ColumnRanker(0), "b": Fails(1)}
    with pytest.warns(UserWarning, match="b failed"):
        comparison = compare(rankers, (X, LLM, QID), human_labels=HUMAN, cv=4, metrics="map")
    assert isinstance(comparison, Comparison)
    assert "failed" in str(comparison)
    with pytest.raises(ValueError, match="rankers must have results for all splits"):
        comparison.prediction_powered("map", "b")


def test_weights_of_labels_are_refused_with_human_labels():
    """The metrics are people's, so weights would change nothing; fits have weights of their own."""
    weights, metrics = {"llm": 0.3}, ["ndcg@3"]
    both = {"llm": LLM, "human": HUMAN}
    with pytest.raises(ValueError, match=r"TreeDirectRanker\(label_weights={'llm': 0, 'human': 1"):
        compare_scores(SCORES, both, QID, human_labels="human", label_weights=weights)
    with pytest.raises(ValueError, match=r"label_weights must be None if human_labels"):
        compare({"trees": TreeDirectRanker()}, (X, LLM, QID), human_labels=HUMAN, label_weights={})
    with pytest.raises(ValueError, match="label_weights must be None for a single label y"):
        compare_scores(SCORES, LLM, QID, label_weights=weights, metrics=metrics)
    with pytest.raises(ValueError, match="each label of label_weights"):
        compare_scores(SCORES, both, QID, label_weights={"margin": 1}, metrics=metrics)


def test_notes_say_which_labels_unfitted_rankers_learned_from():
    trees = TreeDirectRanker(HistogramTrees(2), random_state=0)
    old = TreeDirectRanker(HistogramTrees(2), random_state=0).fit(X, LLM, QID)
    rankers, settings = {"trees": trees, "old": old}, {"metrics": ["ndcg@3"]}
    alone = compare(rankers, (X, LLM, QID), human_labels=HUMAN, **settings)
    assert "trees: fitted to the LLM's labels." in alone.summary().notes
    both = compare(
        {"trees": trees}, (X, {"llm": LLM, "human": HUMAN}, QID), human_labels="human", **settings
    )
    assert "trees: fitted to the LLM's and the human labels, weighted by each" in str(both)
    assert "fitted to the LLM" not in str(compare_scores(SCORES, LLM, QID, human_labels=HUMAN))
    assert "fitted to the LLM" not in str(compare({"trees": trees}, (X, LLM, QID), cv=2))


@pytest.mark.filterwarnings("ignore:Of the first 3 documents")
@pytest.mark.parametrize("share", [1.0, 0.5], ids=["all they judged", "half of it"])
def test_a_ranker_of_people_s_queries_is_recognized_among_the_llm_s(share):
    drawn = np.random.default_rng(2).random(640) < 0.9
    human = np.where(drawn, HUMAN, np.nan)  # people have not judged all documents of a query
    some = np.flatnonzero(~np.isnan(human) & (np.random.default_rng(3).random(640) < share))
    ids = np.char.add("q", QID.astype(str))
    people = TreeDirectRanker("linear").fit(X[some], human[some], ids[some])
    other = TreeDirectRanker("linear").fit(
        X[np.isnan(HUMAN)], LLM[np.isnan(HUMAN)], QID[np.isnan(HUMAN)]
    )
    with pytest.warns(UserWarning, match="'people'.* of the 80 test queries") as caught:
        comparison = compare(
            {"people": people, "other": other}, (X, LLM, ids), human_labels=human, metrics="ndcg@3"
        )
    assert (comparison.seen("other").n_same, comparison.seen("other").n_shared) == (45, 0)
    seen, n_people = comparison.seen("people"), len(np.unique(ids[some]))
    assert seen.n_same + seen.n_shared == n_people > 30
    assert (seen.n_same if share == 1 else seen.n_shared) > 30
    texts = [str(warning.message) for warning in caught if "'people'" in str(warning.message)]
    assert sum(int(text.split(" of the 80")[0].split()[-1]) for text in texts) == n_people
    assert "people was fitted to " in str(comparison.summary())


def test_a_ranker_that_starts_from_an_llm_s_trees_remembers_the_llm_s_queries(tmp_path):
    by_people = ~np.isnan(HUMAN)
    of_llm = TreeDirectRanker(HistogramTrees(3), random_state=0)
    of_llm.fit(X[~by_people], LLM[~by_people], QID[~by_people])
    kept = RefitTrees(of_llm.forest(), learning_rate=0.0)
    parts = ["histogram", "linear"]
    stacked = TreeDirectRanker([kept, *parts], random_state=0)
    nested = TreeDirectRanker(Stages([kept, HistogramTrees(2)]), random_state=0)
    rankers = {"stacked": stacked, "stages": nested, "forest": ForestRanker(of_llm.forest())}
    for name, ranker in rankers.items():
        ranker.fit(X[by_people], HUMAN[by_people], QID[by_people])
        ranker.save(tmp_path / name)
        clone(ranker).fit(X[by_people], HUMAN[by_people], QID[by_people])
    files = {name: tmp_path / name for name in rankers}
    with pytest.warns(UserWarning, match="was fitted to 45 of the 45 test queries"):
        comparison = compare(files, (X[~by_people], LLM[~by_people], QID[~by_people]))
    assert {comparison.seen(name).n_same for name in rankers} == {45}
    again = load(tmp_path / "stacked").fit(X[by_people], HUMAN[by_people], QID[by_people])
    assert len(again.training_queries_.ids) == 80
    assert load(tmp_path / "forest").forest().training_queries is not None


def test_the_advice_on_unjudged_documents_keeps_unjudged_queries_unjudged():
    human = np.where(np.random.default_rng(6).random(640) < 0.6, HUMAN, np.nan)
    kept = human.copy()
    with pytest.warns(UserWarning, match=r"judged@3\)") as caught:
        compare_scores(SCORES, LLM, QID, human_labels=human, metrics=["ndcg@3", "mrr@1"])
    (text,) = [str(warning.message) for warning in caught if "judged@" in str(warning.message)]
    code = text.partition("queries alone: ")[2].partition(", or unjudged")[0]
    labels = {"np": np, "y": human, "qid": QID}
    exec(code, labels)
    np.testing.assert_array_equal(
        np.unique(QID[~np.isnan(labels["y"])]), np.unique(QID[~np.isnan(kept)])
    )
    judged = np.isin(QID, QID[~np.isnan(kept)])
    np.testing.assert_array_equal(labels["y"], np.where(judged, np.nan_to_num(kept), np.nan))
    compare_scores(SCORES, LLM, QID, human_labels=labels["y"], metrics=["ndcg@3"])


@pytest.mark.parametrize("documents", [X, FRAME])
def test_a_name_that_is_no_label_is_answered_by_the_labels(documents):
    labels = {"llm": LLM, "human": HUMAN}
    message = r"human_labels must be one of \['human', 'llm'\]; got 'humans'. Did you mean 'human'"
    with pytest.raises(ValueError, match=message):
        compare_scores(SCORES, labels, QID, human_labels="humans")
    with pytest.raises(ValueError, match=message):
        compare({"a": Never()}, (documents, labels, QID), human_labels="humans")


def test_without_judged_documents_a_metric_is_defined_for_no_query():
    labels = np.array([np.nan, np.nan, 1.0, 0.0, 0.0, 0.0])
    queries = np.array([1, 1, 2, 2, 3, 3])
    assert _defined_queries(get_metric("map"), labels, queries).tolist() == [2]
    assert _defined_queries(get_metric("map"), labels[:2], queries[:2]).tolist() == []


def test_too_few_labels_are_refused_beside_scores():
    few = np.where(np.isin(QID, JUDGED[:19]), Y, np.nan)
    with pytest.raises(ValueError, match=r"human_labels .* at least 20 queries.*got 19"):
        compare_scores(SCORES, LLM, QID, human_labels=few)


def test_a_test_by_name_is_refused_with_human_labels():
    comparison = compare_scores(SCORES, LLM, QID, human_labels=HUMAN, metrics="map")
    for ask in (comparison.test, comparison.difference):
        assert ask("map", "bm25", "age")
        with pytest.raises(ValueError, match="test must be None"):
            ask("map", "bm25", "age", test="randomization")


def test_errors_of_several_splits_are_given_the_models():
    rankers = {"a": ColumnRanker(0), "b": ColumnRanker(1)}
    whole = str(compare(rankers, (X, LLM, QID), human_labels=HUMAN).summary())
    assert "± is their standard error." in " ".join(whole.split())
    several = str(compare(rankers, (X, LLM, QID), human_labels=HUMAN, cv=2).summary())
    assert "± is their standard error, given the models." in " ".join(several.split())
