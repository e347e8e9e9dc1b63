import itertools

import numpy as np
import pytest
from noting_rankers import DATA, Weigher, lines
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from treerank import compare_scores, make_web_search, statistics
from treerank.documents.training_queries import QueryOverlap
from treerank.evaluation import compare
from treerank.evaluation.ranker_comparison import Comparison, Outcome
from treerank.evaluation.summary import Difference, _errors_note, _fit_notes
from treerank.model_selection import QueryShuffleSplit
from treerank.statistics import adjust_holm, randomization_interval, randomization_test
from treerank.statistics.resampled import Interval, corrected_interval, corrected_resampled_t_test

pytestmark = pytest.mark.slow


def test_what_cannot_be_tested_is_said():
    rows = np.arange(180)
    one = compare(lines(), DATA, cv=[(rows[:90], rows[90:])])
    with pytest.raises(ValueError, match="over queries if there is only one split, '1'"):
        one.test("map", *one.rankers, test="corrected_t")
    assert one.test("map", *one.rankers).test == "paired randomization test"
    assert "standard error over queries" in str(one.summary())
    queries = one.by_query("map")[:, 0]
    expected = stats.sem(queries[~np.isnan(queries)])
    assert one.summary().cells["linear", "map"].error == pytest.approx(expected)
    copies = compare({"a": Weigher(), "b": Weigher()}, DATA, cv=2)
    for test in ("corrected_t", "randomization"):
        found = copies.test("map", "a", "b", test=test)
        assert (found.difference, found.p_value) == (0, 1)
        alike = copies.difference("map", "a", "b", test=test)
        assert (
            str(alike)
            == "a - b by map: 0.0000 (95 %: 0.0000 to 0.0000) over 26 queries, not significant."
        )
    assert str(copies.difference("map", "b", "a")) in copies.summary().notes
    assert "Not tested" not in str(copies.summary())
    with pytest.raises(ValueError, match=r"metric must be one of .*; got 'err'"):
        copies.test("err", "a", "b")
    with pytest.raises(ValueError, match=r"ranker must be one of .*; got 'c'"):
        copies.test("map", "a", "c")
    with pytest.raises(ValueError, match=r"test must be one of .*; got 'sign'"):
        copies.test("map", "a", "b", test="sign")


def test_tests_go_over_what_is_random():
    cv = QueryShuffleSplit(4, test_size=0.2, random_state=0)
    comparison = compare(lines(), DATA, cv=cv)
    by_split, by_query = comparison.by_split("map"), comparison.by_query("map")
    expected = corrected_resampled_t_test(*by_split.T, test_to_train=1 / 4)
    assert comparison.test("map", *comparison.rankers) == expected
    found = comparison.test("map", *comparison.rankers, test="randomization")
    assert found == randomization_test(*by_query.T)


def test_differences_have_the_interval_of_the_test_and_the_queries_that_would_show_them():
    comparison = compare(lines(), DATA, cv=3)
    names = comparison.rankers
    tables = comparison.by_split("map"), comparison.by_query("map")
    by_split, by_query = (-np.diff(table)[:, 0] for table in tables)
    found = comparison.difference("map", *names)
    assert found.interval == corrected_interval(by_split, test_to_train=comparison.test_to_train)
    assert found.n_queries == np.count_nonzero(~np.isnan(by_query))
    rows = np.arange(180)
    one = compare(lines(), DATA, cv=[(rows[:90], rows[90:])])
    by_query = -np.diff(one.by_query("map"))[:, 0]
    over_queries = one.difference("map", *names, level=0.9)
    pair = one.by_query("map").T
    assert over_queries.interval == statistics.randomization_interval(*pair, level=0.9)
    assert over_queries.interval.estimate == pytest.approx(np.nanmean(by_query))
    for reference in names:
        (other,) = set(names) - {reference}
        notes = comparison.summary(reference=reference).notes
        assert str(comparison.difference("map", other, reference)) in notes


def test_a_difference_that_is_the_same_in_all_splits_has_neither_a_test_nor_bounds():
    values = {"a": [0.901, 1.801, 7.301], "b": [0.9, 1.8, 7.3]}  # they differ by rounding, too
    outcomes = [
        Outcome(name, f"{k}", np.array([k]), {"map": np.array([each])}, 0.5, {}, (0.0, 0.0, 0.0))
        for name, column in values.items()
        for k, each in enumerate(column)
    ]
    comparison = comparison_of_outcomes(outcomes)
    assert "Not tested by map: b and a cannot be compared" in str(comparison.summary())
    assert str(comparison.difference("map", "a", "b")) == "a - b by map: 0.0010 over 3 queries."


@pytest.mark.parametrize("n_queries", [7, 12, 40])
def test_an_interval_leaves_out_0_only_beside_a_p_value_that_rejects(n_queries):
    kinds = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        gains = rng.choice([0.0, 0.0, 0.5, 1.0], size=n_queries) * rng.normal(0.5, 1, n_queries)
        comparison = comparison_of({"a": gains, "b": np.zeros(n_queries)})
        interval = comparison.difference("map", "a", "b").interval
        rejects = comparison.test("map", "a", "b").p_value <= 0.05
        assert (interval.low > 0 or interval.high < 0) == rejects
        kinds.add(rejects)
    assert kinds == {True, False}


def test_a_plot_has_a_row_for_each_ranker_and_metric():
    X, y, qid = make_web_search(12, documents_per_query=8, n_features=3, random_state=0)
    scores = {name: X[:, j] for j, name in enumerate("abc")}
    comparison = compare_scores(scores, y, qid, metrics=["ndcg@3", "map"])
    one = comparison.chart("map", reference="b")
    assert (one.names, one.x) == (("a", "c"), "map minus that of b")
    both = comparison.chart(["ndcg@3", "map"], reference="b")
    assert both.names == ("a, ndcg@3", "a, map", "c, ndcg@3", "c, map")
    pairs = itertools.product("ac", comparison.metrics)
    ends = [comparison.difference(name, other, "b").interval.ends for other, name in pairs]
    rows = np.column_stack([both.estimates, both.low, both.high])
    np.testing.assert_array_equal(rows, ends)
    assert comparison.chart(reference="b").names == one.names  # by the first metric
    pair = compare_scores({"a": X[:, 0], "b": X[:, 1]}, y, qid, metrics=["ndcg@3", "map"])
    chart = pair.chart(["ndcg@3", "map"], reference="b")
    assert (chart.names, chart.x) == (("ndcg@3", "map"), "a minus b")
    with pytest.raises(ValueError, match=r"metric must be one of .*, or several; got none\."):
        pair.chart([])
    with pytest.raises(ValueError, match="metric must be one of"):
        pair.chart(["map", "mrr"])


def test_a_difference_that_is_not_shown_takes_more_queries_than_there_were():
    for gap, low, high in ((0.2, -0.1, 0.5), (-0.2, -0.5, 0.1), (0.2, 0.05, 0.35), (0, -1, 1)):
        found = Difference("map", "a", "b", Interval(gap, low, high, level=0.95), 100)
        is_open = low < 0 < high
        assert str(found).endswith("queries would be needed.") == (is_open and gap != 0)
        assert (", not significant; about " in str(found)) == (is_open and gap != 0)
        assert (found.queries_needed > 2 * 100) == is_open
    # Table of G*Power: a difference of 0.2 standard deviations takes 199.
    tiny = Difference("map", "a", "b", Interval(1e-200, -1, 1, level=0.95), 100)
    assert str(tiny).endswith("not significant; more than 10,000 queries would be needed.")
    found = Difference("map", "a", "b", Interval(0.2, 0.004, 0.396, level=0.95), 100)
    assert found.queries_needed == pytest.approx(199, abs=3)


def test_splits_share_their_mean_ratio_and_their_mean_seconds_of_search_and_fit():
    def outcome(split, ratio, seconds):
        values = {"map": np.array([0.5, 1.0])}
        return Outcome("a", split, np.arange(2), values, ratio, {}, seconds)

    outcomes = [outcome("1", 0.25, (1.0, 2.0, 9.0)), outcome("2", 0.75, (3.0, 4.0, 9.0))]
    comparison = comparison_of_outcomes(outcomes)
    assert comparison.test_to_train == 0.5
    summary = comparison.summary()
    assert summary.seconds == {"a": 5.0}
    assert summary.rows(lambda text, is_best: text)[0][-1] == "5.00"


def test_the_error_of_a_mean_is_over_splits_and_over_queries_for_rankers_fitted_before():
    values = {"1": np.array([0.5, 1.0]), "2": np.array([0.0, 0.5])}
    queries = {"1": np.array([0, 1]), "2": np.array([2, 3])}

    def error(ratio, before):
        settings = {"fitted_before": before}
        outcomes = [
            Outcome("a", name, queries[name], {"map": each}, ratio, {}, (0.0, 0.0, 0.0), **settings)
            for name, each in values.items()
        ]
        return comparison_of_outcomes(outcomes).summary().cells["a", "map"].error

    # The means of the splits are 0.75 and 0.25, of variance 1 / 8; Nadeau and Bengio (2003).
    assert error(0.25, before=False) == pytest.approx(np.sqrt(1 / 8 * (1 / 2 + 0.25)))
    over_queries = stats.sem([0.5, 1.0, 0.0, 0.5])
    assert error(0.25, before=True) == pytest.approx(over_queries)
    assert error(np.nan, before=True) == pytest.approx(over_queries)  # no training sets at all


def test_summary_marks_what_is_significant():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(60), 6)
    X = rng.normal(size=(360, 1))
    y = (X[:, 0] + 0.3 * rng.normal(size=360) > 0.7).astype(float)
    rankers = {"up": Weigher(), "down_&_out": Weigher(weight=-1.0)}
    comparison = compare(rankers, (X, y, qid), cv=5)
    summary = comparison.summary()
    cells = summary.cells
    assert cells["down_&_out", "map"].verdict == "worse"
    assert cells["up", "map"].is_best
    assert not cells["down_&_out", "map"].is_best
    assert comparison.summary(reference="down_&_out").cells["up", "map"].verdict == "better"
    assert comparison.summary(alpha=1e-300).cells["down_&_out", "map"].verdict == "same"
    means = comparison.by_split("map").mean(axis=0)
    assert (cells["up", "map"].mean, cells["down_&_out", "map"].mean) == tuple(means)
    text = str(summary)
    assert "↓" in text.splitlines()[3]
    assert "5 splits, 60 queries tested" in text
    assert "corrected resampled t-test, adjusted by Holm for all pairs" in text
    assert "gains 2^y - 1" in text


def test_summary_adjusts_for_the_number_of_rankers():
    rankers = {"linear": LinearRegression(), "down": Weigher(-1.0), "tree": DecisionTreeRegressor()}
    comparison = compare(rankers, DATA, cv=5)
    smallest = min(comparison.test("map", name, "linear").p_value for name in ("down", "tree"))
    for factor, n_worse in [(1.5, 0), (2.1, 1)]:
        cells = comparison.summary(reference="linear", alpha=factor * smallest).cells
        assert sum(cells[name, "map"].verdict == "worse" for name in rankers) >= n_worse
        assert n_worse or all(cells[name, "map"].verdict == "same" for name in rankers)


def comparison_of(values):
    """Return the comparison of rankers whose values by query are given."""
    outcomes = [
        Outcome(name, "1", np.arange(len(each)), {"map": each}, 1.0, {}, (0.0, 0.0, 0.0))
        for name, each in values.items()
    ]
    return comparison_of_outcomes(outcomes)


def comparison_of_outcomes(outcomes):
    rankers, splits = (
        dict.fromkeys(getattr(o, of) for o in outcomes) for of in ("ranker", "split")
    )
    found = {(each.ranker, each.split): each for each in outcomes}
    return Comparison(tuple(rankers), tuple(splits), ("map",), "treerank", found)


def test_a_best_that_the_values_chose_is_adjusted_for_all_pairs():
    values = np.random.default_rng(0).normal(size=(6, 60))  # of rankers that are equally good
    comparison = comparison_of({f"ranker {i}": each for i, each in enumerate(values)})
    best = comparison.rankers[int(np.argmax(comparison.by_split("map")))]
    pairs = list(itertools.combinations(comparison.rankers, 2))
    single = [comparison.test("map", *pair).p_value for pair in pairs]
    adjusted = dict(zip(pairs, adjust_holm(single), strict=True))
    smallest, pair = min((p, pair) for pair, p in adjusted.items() if best in pair)
    (worst,) = {*pair} - {best}
    for factor, verdict in [(0.999, "same"), (1.001, "worse")]:
        cells = comparison.summary(alpha=factor * smallest).cells
        assert cells[worst, "map"].verdict == verdict
    own = adjust_holm([p for pair, p in zip(pairs, single, strict=True) if best in pair]).min()
    assert own < smallest
    named = comparison.summary(reference=best, alpha=own)
    assert sum(cell.verdict == "worse" for cell in named.cells.values()) >= 1
    assert "for its pairs" in str(named)


def test_two_that_are_alike_differ_by_0_whatever_the_reference():
    queries = np.arange(5)
    values = {"a": queries / 10, "copy": queries / 10, "best": np.sqrt(queries)}
    comparison = comparison_of(values)
    assert "Not tested" not in str(comparison.summary())
    text = str(comparison.summary(reference="a"))
    assert (
        "copy - a by map: 0.0000 (95 %: 0.0000 to 0.0000) over 5 queries, not significant." in text
    )


def test_summaries_are_exported(tmp_path):
    summary = compare(lines(), DATA, cv=2).summary()
    texts = summary.to_text(), summary.to_markdown(), summary.to_html()
    for suffix, expected in zip((".txt", ".md", ".html"), texts, strict=True):
        summary.save(tmp_path / f"table{suffix}")
        assert (tmp_path / f"table{suffix}").read_text(encoding="utf-8") == expected + "\n"
    assert "**" in summary.to_markdown()
    odd = compare({"<i>|k_5`": Weigher(), "b": LinearRegression()}, DATA, cv=2)
    assert r"| \<i>\|k\_5\` |" in odd.summary().to_markdown()
    assert "<td>&lt;i&gt;|k_5`</td>" in odd._repr_html_()  # as notebooks show it
    with pytest.raises(ValueError, match=r"path must end in one of .*; got"):
        summary.save(tmp_path / "table.doc")


def test_many_queries_needed_are_capped():
    interval = Interval(0.0001, -0.02, 0.0202, level=0.95)
    text = str(Difference("map", "a", "b", interval, n_queries=200))
    assert "not significant; more than 10,000 queries would be needed." in text


def test_a_difference_over_too_few_queries_for_bounds_says_how_many_have_bounds():
    a, b, users = [0.6, 0.5, 0.75, 0.5, 0.9], [0.5, 0.25, 0.7, 0.4, 0.6], [1, 2, 3, 3, 3]
    comparison = Difference("map", "a", "b", randomization_interval(a, b), n_queries=5)
    assert str(comparison) == (
        "a - b by map: 0.1600 (95 %: -inf to inf) over 5 queries, not significant; "
        "at least 6 queries would be needed."
    )
    interval = randomization_interval(a, b, clusters=users)
    by_user = Difference("map", "a", "b", interval, n_queries=5, n_clusters=3)
    assert str(by_user).endswith(
        "of 3 clusters, not significant; at least 6 clusters of as many queries would be needed."
    )


def test_notes_say_that_intervals_are_not_adjusted_where_arrows_are():
    rng = np.random.default_rng(0)
    y, qid = rng.integers(3, size=400), np.repeat(np.arange(40), 10)
    scores = {name: y + rng.normal(size=400) for name in "abc"}
    several = str(compare_scores(scores, y, qid, metrics=["ndcg@3"]).summary())
    assert "not adjusted: of 3 pairs, one without an arrow may have an interval that" in several
    two = {name: scores[name] for name in "ab"}
    assert "without an arrow" not in str(compare_scores(two, y, qid, metrics=["ndcg@3"]).summary())
    given = compare_scores(scores, y, qid, metrics=["ndcg@3"]).summary(reference="a")
    assert "of 2 pairs" in str(given)


def test_a_note_names_the_rankers_that_cannot_be_tested_against_the_reference():
    scores = {
        name: np.arange(4.0)[order] for name, order in (("a", [3, 0, 2, 1]), ("b", [0, 3, 1, 2]))
    }
    result = compare_scores(scores | {"c": np.arange(4.0)}, [1, 0, 1, 0], [1] * 4, metrics=["map"])
    notes = [note for note in result.summary().notes if note.startswith("Not tested by map: ")]
    reason = "cannot be compared: a and b must have at least two pairs; got 1."
    assert notes == [f"Not tested by map: {name} and a {reason}" for name in "bc"]


@pytest.mark.parametrize(
    ("low", "high", "is_open"),
    [(0.0, 0.2, True), (-0.2, 0.0, True), (1e-9, 0.2, False), (-0.2, -1e-9, False)],
)
def test_a_difference_is_significant_if_its_interval_leaves_out_0(low, high, is_open):
    interval = Interval((low + high) / 2, low, high, level=0.95)
    text = str(Difference("map", "a", "b", interval, n_queries=200))
    assert ("not significant" in text) is is_open


def outcomes_of(rankers, n_splits=1, m=None, **more):
    """Return a comparison whose rankers have these further fields on every split."""
    values = np.linspace(0, 1, 10) if m is None else np.array(m, dtype=float)
    outcomes = {
        (name, split): Outcome(
            name,
            split,
            np.arange(len(values)),
            {"m": values[::-1] if name == "b" else values},
            test_to_train=0.5,
            best_params={},
            seconds=(0.0, 1.0, 0.0),
            **{
                field: value[n] if type(value) is list else value for field, value in fields.items()
            },
        )
        for name, fields in ((name, more | own) for name, own in rankers.items())
        for n, split in enumerate("123"[:n_splits])
    }
    return Comparison(tuple(rankers), tuple("123"[:n_splits]), ("m",), "treerank", outcomes)


FITTED, FREE = {"fitted_before": True}, {"fitted_before": True, "learns": False}
NOT_SEEN = FITTED | {"seen": QueryOverlap(10, 0, 0)}
HERE = "fitted to the training set of each split"
VALIDATION = "Validation set, for early stopping: used by"


@pytest.mark.parametrize(
    ("rankers", "expected"),
    [
        ({"a": {}, "b": {}}, []),
        ({"a": NOT_SEEN, "b": {}}, [f"a: fitted before, scored as it is; b: {HERE}."]),
        ({"a": NOT_SEEN, "b": NOT_SEEN}, ["a and b: fitted before, scored as they are."]),
        (
            {"a": FREE | NOT_SEEN | FREE, "b": {}, "c": {}},
            [f"a: learns from no labels, scored as it is; b and c: {HERE}."],
        ),
        (
            {"a": NOT_SEEN | FREE, "b": NOT_SEEN, "c": NOT_SEEN | FREE},
            [
                "b: fitted before, scored as it is; a and c: learn from no labels, scored as they "
                "are."
            ],
        ),
        (
            {"a": FITTED, "b": NOT_SEEN, "c": FITTED},
            [
                "a, b and c: fitted before, scored as they are.",
                "Whether a or c learned from test queries is not known here.",
            ],
        ),
        (
            {"a": FITTED | {"seen": QueryOverlap(10, 3, 0)}, "b": {}},
            [
                f"a: fitted before, scored as it is; b: {HERE}.",
                "a was fitted to 3 of the test queries: its values are too high.",
            ],
        ),
        ({"a": {"watched": True}, "b": {"watched": True}}, [f"{VALIDATION} a and b."]),
        ({"a": {"watched": True}, "b": {"watched": False}}, [f"{VALIDATION} a; not by b."]),
        ({"a": {"watched": False}, "b": {"watched": False}}, [f"{VALIDATION} none."]),
        ({"a": {"watched": True}, "b": {}}, [f"{VALIDATION} a."]),
        ({"a": NOT_SEEN | {"watched": True}, "b": {"watched": False}}, ["a: fitted", "none."]),
    ],
)
def test_notes_say_how_each_ranker_was_fitted(rankers, expected):
    notes = [*_fit_notes(outcomes_of(rankers))]
    assert len(notes) == len(expected)
    for note, words in zip(notes, expected, strict=True):
        assert note == words or (len(words) < 12 and words in note)


def test_a_ranker_that_stopped_early_on_some_splits_is_named_with_those_that_did_not():
    mixed = {"a": {"watched": [True, False]}, "b": {"watched": True}}
    assert [*_fit_notes(outcomes_of(mixed, 2))] == [f"{VALIDATION} b; not by a."]


ONE, TWO = "One test set, 10 queries", "2 splits, 10 queries tested"
CORRECTED = "± is the standard error over splits, corrected for their overlap (Nadeau and Bengio)"


@pytest.mark.parametrize(
    ("rankers", "more", "expected"),
    [
        ({"a": {}}, {}, f"{ONE}; ± is the standard error over queries."),
        (
            {"a": {}},
            {"m": [np.nan, *range(9)]},
            f"{ONE}; ± is the standard error over queries.",
        ),
        (
            {"a": {}},
            {"m": [np.nan, np.nan, *range(8)]},
            f"{ONE}, of which 8 have a defined metric; ± is the standard error over queries.",
        ),
        (
            {"a": {}},
            {"m": [np.nan, np.nan, *range(8)], "has_labels": np.arange(10) > 1},
            f"{ONE}, of which 8 are judged; ± is the standard error over queries.",
        ),
        (
            {"a": {}},
            {"m": [np.nan] * 4 + [*range(6)], "has_labels": np.arange(10) > 1},
            f"{ONE}, of which 8 are judged, and 6 have a defined metric; ± is the standard error "
            "over queries.",
        ),
        ({"a": {}}, {"n_splits": 2}, f"{TWO}; {CORRECTED}."),
        (
            {"a": FITTED, "b": FITTED},
            {"n_splits": 2},
            f"{TWO}; ± is the standard error over queries.",
        ),
        (
            {"a": FITTED, "b": {}},
            {"n_splits": 2},
            f"{TWO}; {CORRECTED}, and over queries for a. All values are means over splits.",
        ),
        (
            {"a": {}},
            {"clusters": np.arange(10) // 3},
            "One test set, 10 queries of 4 clusters; ± is the standard error over clusters of "
            "queries.",
        ),
        (
            {"a": {}},
            {"n_splits": 2, "clusters": np.arange(10) // 3, "has_cut_clusters": [False, True]},
            "2 splits, 10 queries of 4 clusters tested; ± is the standard error over clusters of "
            "queries, and so are the tests, given the models: clusters are in both a training set "
            "and its test set, so splits are not independent.",
        ),
    ],
)
def test_the_first_note_says_what_errors_are_over(rankers, more, expected):
    assert _errors_note(outcomes_of(rankers, **more)) == expected


def test_a_p_value_at_the_level_is_significant():
    rng = np.random.default_rng(0)
    y, qid = rng.integers(3, size=200), np.repeat(np.arange(20), 10)
    scores = {"a": y + rng.normal(size=200), "b": y + 2 * rng.normal(size=200)}
    comparison = compare_scores(scores, y, qid, metrics=["ndcg@3"])
    p = comparison.test("ndcg@3", "a", "b").p_value
    assert 0 < p < 0.5
    marks = [
        comparison.summary(reference="b", alpha=alpha).cells["a", "ndcg@3"].verdict
        for alpha in (np.nextafter(p, 0), p)
    ]
    assert marks == ["same", "better"]


def test_two_fitted_rankers_are_tested_over_queries_and_others_over_splits():
    comparison = outcomes_of({"a": FITTED, "b": FITTED, "c": {}, "d": {}}, 3)
    for pair in itertools.combinations("abcd", 2):
        assert comparison._is_over_splits(None, *pair) is (pair != ("a", "b"))


def test_a_table_in_markdown_has_a_rule_of_as_many_columns():
    comparison = compare(lines(), DATA, cv=2, metrics=["map", "ndcg@3"])
    table = [line for line in comparison.summary().to_markdown().splitlines() if line[:1] == "|"]
    assert {line.count("|") for line in table} == {5}
    assert table[0].startswith("| ranker | map |")
    assert table[1] == "| --- | ---: | ---: | ---: |"
