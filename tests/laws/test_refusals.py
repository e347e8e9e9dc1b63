"""What is refused deep inside says so in words, and what is returned where there is nothing to do.

Most of these lines are out of reach of a user who begins at the public functions: files were
forged, or a developer made a wrong value. Each is reached here, and says which rule was broken.
"""

import json
import warnings
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from drawn_forests import one_leaf
from noting_rankers import DATA, FITS, Weigher
from sklearn.linear_model import LinearRegression

from treerank import TreeDirectRanker, checkpointing, compare, compare_scores, make_objective
from treerank.checks import check_instance
from treerank.datasets import RankingData
from treerank.documents.columns import Columns, check_columns
from treerank.documents.date_texts import checked_times
from treerank.documents.embeddings import _is_entry
from treerank.documents.features import check_features, check_fitted, check_matrix
from treerank.documents.gains import check_gain
from treerank.documents.ids import text_ids
from treerank.documents.labels import split_labels, weights_of_labels
from treerank.documents.queries import QueryGroups
from treerank.documents.ranking_data import checked_comments
from treerank.documents.rows import Rows
from treerank.documents.training_queries import TrainingQueries
from treerank.documents.training_set import _sums_over_pairs, training_set
from treerank.evaluation.engine_rankers import _category
from treerank.evaluation.fitted_rankers import is_fitted
from treerank.evaluation.labels import _shares
from treerank.files.archive import read_archive, write_archive
from treerank.files.scratch import scratch_array
from treerank.files.states import check_state, history
from treerank.objectives.base import NoDocuments, Objective
from treerank.objectives.pairs.rules import GivenPairs
from treerank.rankers import ColumnRanker, ForestRanker, NestedRanker, StreamingRanker, calibration
from treerank.rankers.calibration import _log_loss, scale_of
from treerank.rankers.click_training import check_saved_propensities
from treerank.rankers.nested_ranker import _check_rankers
from treerank.rankers.ranker import Ranker
from treerank.rankers.saved_values import _RANDOM_STATE, saved
from treerank.rankers.scored import Scored
from treerank.rankers.scoring import Scoring

X = np.random.default_rng(0).normal(size=(12, 2))
Y, QID = np.arange(12) % 3.0, np.arange(12) // 4
OBJECTIVE = make_objective(Y, QID)
CURVES = {
    "labels": np.array([0.0, 1.0]),
    "scores": np.array([-1.0, 1.0]),
    "steps": np.array([[0.1, 0.9]]),
    "lines": np.array([[1.0, 0.0]]),
    "is_line": np.array([True]),
}


def curves(**changed):
    return scale_of({"relevance_scale": CURVES | changed})


class Unfinished(Ranker):
    """A ranker of a developer who has written neither of the two methods."""


REFUSED = {
    "categories that are no dict": (
        lambda: check_columns(None, [1], 2),
        "categories must be a dict",
    ),
    "a category that is no plain value": (
        lambda: check_columns(None, {1: [None]}, 2),
        "The categories of column 1 must be a list of plain values",
    ),
    "a category of a column that is none": (
        lambda: check_columns(None, {2: ["a"]}, 2),
        "A column of categories must be a whole number of at least 0 and at most 1; got 2",
    ),
    "too few names": (
        lambda: check_columns(["a"], {}, 2),
        "feature_names must be None or a list of 2 texts",
    ),
    "times of which some have a zone": (
        lambda: checked_times("time", ["2026-11-27T10:00:00Z", "2026-11-27T10:00:00"]),
        "time must all have a zone, or none; got both",
    ),
    "an unfitted thing": (
        lambda: check_fitted("ranker", "linear"),
        "ranker must be a fitted ranker; got 'linear'",
    ),
    "dates as features": (
        lambda: check_matrix("X", np.array([["2026-01-01"]], dtype="datetime64[D]")),
        "X must be numbers; got datetime64",
    ),
    "a gain without a name": (
        lambda: check_gain("exponentially"),
        r"gain must be an array or one of \['exponential', 'linear'\]; got 'exponentially'",
    ),
    "a gain below 0": (lambda: check_gain([0, -1]), "gain must not be negative; got -1"),
    "ids in Latin-1": (
        lambda: text_ids("qid", ["é".encode("latin-1")]),
        "qid must be text in UTF-8; got b",
    ),
    "no label": (lambda: split_labels({}), "y must hold at least one label; got {}"),
    "weights of 0 alone": (
        lambda: weights_of_labels({"a": 0, "b": 0.0}, ["a", "b"]),
        "label_weights must not all be 0; got",
    ),
    "several labels in an evaluation set": (
        lambda: TreeDirectRanker("linear").fit(X, Y, QID, eval_set=(X, {"a": Y, "b": Y}, QID)),
        r"eval_set must have a single label, as y; got \['a', 'b'\]",
    ),
    "ids of no comments": (
        lambda: RankingData(X, Y, QID).doc_ids,
        "comments must be kept to know doc_ids; got comments=None",
    ),
    "comments of other rows": (
        lambda: checked_comments(["a"], 2),
        r"comments must have one entry per row of X; got shape \(1,\) for 2 rows",
    ),
    "rows of one dimension": (
        lambda: Rows(np.zeros(3)),
        r"values must be two-dimensional; got shape \(3,\)",
    ),
    "no rankers": (lambda: compare({}, (X, Y, QID)), "rankers must name some"),
    "curves that are no dict": (
        lambda: history("curves", {"validation": [0.5]}, {}),
        "curves must hold a dict of lists",
    ),
    "a set without a number": (
        lambda: history("curves", {"validation_": {}}, {}),
        "curves must be a dict of 'validation', 'validation_1' and so on",
    ),
    "a further entry of a state": (
        lambda: check_state({"a": 1}, {}),
        r"A state must have the entries \[\] and no others",
    ),
    "scores of other documents": (
        lambda: OBJECTIVE.derivatives(np.zeros(11)),
        r"scores must have one entry per document, 12; got \(11,\)",
    ),
    "labels beside other curves": (
        lambda: curves(labels=np.array([0.0, 1.0, 2.0])),
        "labels of a relevance scale must be one more than its curves",
    ),
    "labels that fall": (
        lambda: curves(labels=np.array([1.0, 0.0])),
        "labels, scores and steps of a relevance scale must rise",
    ),
    "scores that fall": (
        lambda: curves(scores=np.array([1.0, -1.0])),
        "labels, scores and steps of a relevance scale must rise",
    ),
    "probabilities that fall": (
        lambda: curves(steps=np.array([[0.9, 0.1]])),
        "labels, scores and steps of a relevance scale must rise",
    ),
    "probabilities above 1": (lambda: curves(steps=np.array([[0.9, 1.1]])), "steps must be from 0"),
    "probabilities below 0": (lambda: curves(steps=np.array([[-0.1, 1]])), "steps must be from 0"),
    "infinite propensities": (
        lambda: check_saved_propensities("propensities", np.array([np.inf]), {}),
        "propensities must be numbers of at least 0, one for each position",
    ),
    "propensities below 0": (
        lambda: check_saved_propensities("propensities", np.array([-1e-9]), {}),
        "propensities must be numbers of at least 0, one for each position",
    ),
    "no stages": (lambda: _check_rankers("rankers", [], {}), "rankers must be a list of rankers"),
    "a stage of other features": (
        lambda: _check_rankers("rankers", [ColumnRanker(0).fit(X, Y, QID)], {"n_features": 3}),
        "rankers must be fitted to 3 features",
    ),
    "sizes that are equal": (
        lambda: NestedRanker(ColumnRanker(0), sizes=(3, 3)).fit(X, Y, QID),
        r"sizes must be falling; got \(3, 3\)",
    ),
    "sizes that rise": (
        lambda: NestedRanker(ColumnRanker(0), sizes=(2, 3)).fit(X, Y, QID),
        r"sizes must be falling; got \(2, 3\)",
    ),
    "a ranker that predicts nothing": (
        lambda: NestedRanker("linear").fit(X, Y, QID),
        "ranker must have fit; got 'linear'",
    ),
    "a part that does not stream": (
        lambda: StreamingRanker("linear").fit(X, Y, QID),
        "feature_part must be StreamingTrees; got",
    ),
    "a part without parameters": (
        lambda: TreeDirectRanker(7).set_params(feature_part__depth=3),
        "feature_part must have get_params and set_params for its parameters to be set; got 7",
    ),
    "another generator of numbers": (
        lambda: saved(np.random.RandomState(np.random.PCG64(0))),
        r"random_state must be a number or RandomState\(number\) to be saved; got one of PCG64",
    ),
    "a ranker that is no sum": (
        lambda: Scored.components(ColumnRanker(0)),
        "ranker must be a sum of trees and linear models; got ColumnRanker",
    ),
    "columns of other documents": (
        lambda: check_features(ColumnRanker(0).fit(X, Y, QID), Rows(X[:, :1])),
        "X must have 2 columns without names, as in fit; got 1 columns without names",
    ),
    "trees without names": (
        lambda: ForestRanker(one_leaf(2)).feature_names_in_,
        "the trees have no names of features",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_broken_rule_is_said_in_words(name):
    call, message = REFUSED[name]
    with pytest.raises((ValueError, TypeError, AttributeError), match=message):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: Ranker._learn(ColumnRanker(0), None, None, 0),
        lambda: Scoring._scores(ColumnRanker(0), X),
    ],
)
def test_a_ranker_without_its_methods_says_so(call):
    with pytest.raises(NotImplementedError):
        call()


def test_what_is_no_search_is_not_asked_for_its_best_estimator():
    with pytest.raises(TypeError, match=r"^ranker must be a Ranker; got \{\}\.$"):
        check_instance("ranker", {}, [Ranker, type(None)])


def test_valid_states_are_taken():
    assert scale_of({"relevance_scale": None}) is None
    assert curves().probability(np.zeros(1), 1).tolist() == [0.5]
    equal = curves(scores=np.zeros(2), steps=np.array([[0.0, 1.0]]), is_line=np.array([False]))
    assert 0 <= equal.probability(np.zeros(1), 1)[0] <= 1
    check_columns(["a", "b"], {0: ["a", 1, 0.5], 1: []}, 2)
    check_saved_propensities("propensities", np.array([0.0, np.nan, 1.0]), {})
    check_saved_propensities("propensities", None, {})
    history("curves", {"validation": {"ndcg": [0.5, 1]}, "validation_12": {}}, {})
    assert saved(np.float32(0.5)) == 0.5
    assert checked_comments(None, 2) is None
    assert checked_comments(["a", "b"], 2).dtype == object


def test_nothing_is_returned_where_there_is_nothing():
    assert scratch_array((0, 3), np.float64).shape == (0, 3)
    nothing = NoDocuments()
    assert nothing.taking(np.zeros(0, dtype=int), QueryGroups.from_qid([])) is nothing
    value, gradient, hessian = nothing(np.zeros(0))
    assert (value, len(gradient), len(hessian)) == (0.0, 0, 0)
    assert (nothing.n_queries, nothing.groups.n_documents) == (0, 0)
    assert Objective.with_loss(OBJECTIVE, "listnet") is None
    assert OBJECTIVE.name == "logistic"
    assert Objective.name.fget(OBJECTIVE) == "PairwiseObjective"
    assert np.isnan(_shares(np.array([[0.5, 1.0], [np.nan, np.nan]]), np.array([1.0, 1.0]))).all()
    assert _shares(np.array([[0.5, 1.0], [np.nan, 0.0]]), np.array([1.0, 0.0])).tolist() == [0.5, 1]
    assert _shares(np.array([[0.5, 1.0], [np.nan] * 2]), np.array([1.0, 0.0])).tolist() == [0.5, 1]
    of_the_second = _shares(np.array([[0.5, np.nan], [1.0, 1.0]]), np.array([1.0, 0.0]))
    np.testing.assert_array_equal(of_the_second, [0.5, np.nan])


@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame])
def test_a_lazy_frame_is_asked_to_be_collected(frame_of):
    frame = pl.DataFrame({"a": [1.0, 2.0]}).lazy()
    with pytest.raises(TypeError, match=r"X must be in memory; got .*LazyFrame.*Collect its rows"):
        Columns.of(frame)
    assert Columns.of(frame_of({"a": [1.0, 2.0]})).names == ("a",)


def test_groups_print_their_sizes():
    assert repr(QueryGroups.from_qid(QID)) == "QueryGroups(12 documents, 3 queries)"


def test_rows_know_their_first_and_one_process_has_all():
    rows = Rows(X)
    assert rows.holds_first
    assert not rows.is_shard
    assert rows.n_total == 12
    held = [Rows(X, global_indices=np.arange(12) + n).holds_first for n in (0, 1)]
    assert held == [True, False]


def test_scores_that_are_all_equal_have_the_metric_of_equal_scores():
    same = np.zeros((12, 2))
    with warnings.catch_warnings(action="ignore"):
        ranker = TreeDirectRanker("lightgbm").fit(same, Y, QID, eval_set=(same, Y, QID))
    assert set(ranker.predict(same)) == {ranker.predict(same)[0]}
    with warnings.catch_warnings(action="ignore"):
        equal = ranker.score(same, Y, QID)
    (curve,) = ranker.evals_result_["validation"].values()
    assert curve == pytest.approx([equal] * len(curve))


def test_a_ranker_of_another_package_has_a_thread_in_a_nested_one():
    class Regression(LinearRegression):
        def fit(self, X, y, qid=None):
            return super().fit(X, y)

    nested = NestedRanker(Regression(), sizes=(2,)).fit(X, Y, QID)
    assert nested._n_threads == 1
    assert nested._resumes is False


@pytest.mark.parametrize(("has_gauss", "is_allowed"), [(0, True), (1, True), (2, False)])
def test_saved_random_numbers_have_one_in_store_or_none(has_gauss, is_allowed):
    state = np.random.RandomState(5)
    state.normal()
    content = saved({"seed": state})["seed"]["object"][1]
    check = partial(check_state, content | {"has_gauss": has_gauss}, _RANDOM_STATE)
    if is_allowed:
        check()
    else:
        with pytest.raises(ValueError, match="has_gauss must be a whole number of at least 0"):
            check()
    for pos, allowed in ((624, True), (625, False)):
        changed = partial(check_state, content | {"pos": pos}, _RANDOM_STATE)
        if allowed:
            changed()
        else:
            with pytest.raises(ValueError, match="pos must be a whole number"):
                changed()


def test_a_log_loss_of_a_certain_mistake_is_finite():
    certain = np.array([1.0, 0.0])
    assert _log_loss(certain, np.array([False, True])) == pytest.approx(
        -2 * np.log(1e-12), rel=1e-4
    )
    assert _log_loss(certain, np.array([True, False])) == pytest.approx(0, abs=1e-11)
    assert _log_loss(np.array([0.5]), np.array([True])) == pytest.approx(np.log(2))


class Address:
    """An object whose text is its address, and which no file can hold."""

    def __deepcopy__(self, memo):
        return self

    def __reduce_ex__(self, protocol):
        raise TypeError("not pickled")


def test_what_a_comparison_refuses_it_refuses_before_any_fit(tmp_path):
    FITS.clear()
    rankers = {"plain": Weigher(), "other": Weigher(weight=Address())}
    with pytest.raises(ValueError, match="store must be None for what cannot be told apart"):
        compare(rankers, DATA, cv=2, store=tmp_path)
    assert FITS == []
    several = DATA[0], {"a": DATA[1], "b": DATA[1]}, DATA[2]
    with pytest.raises(ValueError, match="each label of label_weights must be one of"):
        compare({"plain": Weigher()}, several, cv=2, label_weights={"c": 1.0})
    with pytest.raises(ValueError, match="label_weights must not all be 0"):
        compare({"plain": Weigher()}, several, cv=2, label_weights={"a": 0, "b": 0})
    assert FITS == []


@pytest.mark.parametrize("every", [0, -1, 0.5])
def test_checkpoints_are_written_every_iteration_or_less_often(every, tmp_path):
    rule = "every must be a whole number of at least 1; got"
    with pytest.raises(ValueError, match=rule), checkpointing(tmp_path / "fit", every=every):
        pass
    with checkpointing(tmp_path / "fit", every=1):
        pass


def test_a_member_that_is_shorter_than_declared_is_refused(tmp_path):
    path = tmp_path / "m.treerank"
    write_archive(path, {"blob": b"abc" * 5})
    assert read_archive(path) == {"blob": b"abc" * 5}
    content, name = path.read_bytes(), b"0.bytes"
    entry = content.rindex(b"PK\x01\x02", 0, content.rindex(name))  # of the list at the end
    size = int.from_bytes(content[entry + 24 : entry + 28], "little")
    assert size == 15
    forged = content[: entry + 24] + (16).to_bytes(4, "little") + content[entry + 28 :]
    path.write_bytes(forged)
    with pytest.raises(ValueError, match=r"0\.bytes is shorter than it should be"):
        read_archive(path)


def test_the_isotonic_fit_must_win_by_more_than_a_standard_error(monkeypatch):
    wins = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    error = np.sqrt(5) * np.sqrt(2.5)  # of the sum of five, by the sample's standard deviation
    scores, won, fold = np.arange(20.0), np.arange(20) % 3 == 0, np.arange(20) % 5
    for total, is_line in ((error * 1.01, False), (error * 0.99, True)):
        gains = wins - wins.mean() + total / 5
        losses = iter(np.column_stack([gains, np.zeros(5)]).ravel())
        monkeypatch.setattr(calibration, "_log_loss", lambda *_, losses=losses: next(losses))
        assert calibration._curves(scores, won, fold, scores)[2] is is_line


def test_at_most_65536_queries_are_remembered():
    n = 65537
    ids = np.arange(n, dtype=np.uint64)[::-1]
    queries = TrainingQueries(ids, ids, np.ones(n, dtype=np.int32), ids)
    assert queries.smallest().ids.tolist() == list(range(65536))
    assert queries.take(ids < 10).smallest().ids.tolist() == list(range(10))
    half = queries.take(ids < 40000)
    both = half.and_earlier(queries.take(ids >= 30000))
    assert both.ids.tolist() == list(range(65536))
    assert half.and_earlier(half).ids.tolist() == half.smallest().ids.tolist()


def test_derivatives_are_those_of_the_first_iteration_by_default():
    objective = make_objective(Y, QID, weight="ndcg", smoothing=1.0, random_state=0)
    scores = np.linspace(0, 1, 12)
    first, later = (objective.derivatives(scores, iteration=n)[0] for n in (0, 1))
    assert (first != later).any()
    np.testing.assert_array_equal(objective.derivatives(scores)[0], first)
    np.testing.assert_allclose(objective(scores)[1], first, rtol=1e-4)
    assert not np.allclose(first, later, rtol=1e-4)


def test_calibration_leaves_out_the_unjudged():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    y, qid = (X[:, 0] + rng.logistic(size=200) > 0).astype(float), np.arange(200) // 10
    gaps, judged = np.where(np.arange(200) % 7 == 0, np.nan, y), np.arange(200) % 7 != 0
    with_gaps = ColumnRanker(0).fit(X, y, qid).calibrate(X, gaps, qid)
    without = ColumnRanker(0).fit(X, y, qid).calibrate(X[judged], y[judged], qid[judged])
    assert with_gaps.calibration_slope_ == without.calibration_slope_
    np.testing.assert_array_equal(with_gaps.predict_relevance(X), without.predict_relevance(X))


@pytest.mark.parametrize(
    ("value", "is_code", "expected"),
    [
        (np.nan, True, -1),
        (np.nan, False, "nan"),
        (None, False, "nan"),
        (2.0, True, 2),
        (np.float32(2), False, 2),
        (2.5, False, "2.5"),
        ("red", False, "red"),
    ],
)
def test_a_category_is_a_whole_number_or_text_for_catboost(value, is_code, expected):
    assert _category(value, is_code) == expected
    assert type(_category(value, is_code)) is type(expected)


@pytest.mark.parametrize(
    ("name", "base", "expected"),
    [
        ("title_0", "title", True),
        ("title_12", "title", True),
        ("title_01", "title", False),
        ("title_", "title", False),
        ("title_x", "title", False),
        ("title_\u0661", "title", False),
        ("title", "title", False),
        ("other_0", "title", False),
        (0, "title", False),
        ("title_0", 0, False),
    ],
)
def test_an_entry_of_an_embedding_is_named_by_its_number(name, base, expected):
    assert _is_entry(name, base) is expected


class OfAnotherPackage:
    """A ranker that knows nothing of scikit-learn."""

    def __init__(self, **attributes):
        vars(self).update(attributes)

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"coef_": 1}, True),
        ({"a_": 1}, True),
        ({"b__": 1}, True),
        ({"_coef_": 1}, False),
        ({"coef": 1}, False),
        ({}, False),
    ],
)
def test_a_fitted_attribute_ends_in_an_underscore_and_does_not_begin_with_one(attributes, expected):
    assert is_fitted(OfAnotherPackage(**attributes)) is expected


def test_a_chart_of_what_cannot_be_tested_has_differences_without_intervals():
    scores = {"a": [3.0, 0, 2, 1], "b": [0.0, 3, 1, 2]}
    result = compare_scores(scores, [1, 0, 1, 0], [1] * 4, metrics=["map"])
    chart = result.chart()
    assert chart.estimates == pytest.approx([(1 / 3 + 2 / 4) / 2 - 1])
    assert np.isnan([chart.low, chart.high]).all()
    assert (chart.names, chart.x) == (("b",), "map minus that of a")


def test_a_file_says_that_its_format_is_the_first(tmp_path):
    write_archive(tmp_path / "m.treerank", {})
    with zipfile.ZipFile(tmp_path / "m.treerank") as file:
        manifest = json.loads(file.read("treerank.json"))
    assert (manifest["format"], manifest["format_version"]) == ("treerank model", 1)


def test_pairs_tell_equal_rows_apart_by_what_they_win_and_lose():
    # Rows 0 and 1 are equal; the first has won against row 2, the second has lost to it.
    X, y, qid = np.array([[1.0], [1.0], [0.0], [0.5]]), np.zeros(4), np.zeros(4)
    pairs = np.array([[0, 2, 2.0, 0.75], [2, 1, 1.0, 1.0], [3, 2, 0.5, 0.5]])
    given = GivenPairs.from_table(pairs, QueryGroups.from_qid(qid))
    data = training_set(Rows(X), y, qid, pairs=given)
    won, lost = _sums_over_pairs(data)
    expected = {"won": np.zeros(4), "lost": np.zeros(4)}
    for i, j, weight, target in zip(
        data.pairs.i, data.pairs.j, data.pairs.weight, data.pairs.target, strict=True
    ):
        expected["won"][i] += weight * target
        expected["won"][j] += weight * (1 - target)
        expected["lost"][i] += weight * (1 - target)
        expected["lost"][j] += weight * target
    np.testing.assert_allclose(won, expected["won"])
    np.testing.assert_allclose(lost, expected["lost"])
    assert won.sum() == lost.sum() == 3.5


@pytest.mark.parametrize("name", ["sample_weight", "query_weight"])
def test_weights_of_rows_in_another_order_are_refused(name):
    index = [f"row {n}" for n in range(12)]
    frame, y = pd.DataFrame(X, index=index), pd.Series(Y, index=index)
    weight = pd.Series(1.0, index=index)
    assert ColumnRanker(0).fit(frame.to_numpy(), y, QID, **{name: weight}).n_features_in_ == 2
    with pytest.raises(ValueError, match=f"{name} must have the rows of . in their order"):
        TreeDirectRanker("linear").fit(frame.to_numpy(), y, QID, **{name: weight[::-1]})
