import ast
import base64
import hashlib
import json
import re
import warnings
from html import escape
from html.parser import HTMLParser
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest
from command_line import letor_files, run
from report_pages import HOSTILE, NAMES, documents, page, ranker
from scipy.sparse import csr_matrix
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import treerank
from treerank import make_web_search, report
from treerank.baselines import RankSVM
from treerank.clicks import ClickRelevance
from treerank.documents.queries import QueryGroups
from treerank.feature_parts import StreamingTrees
from treerank.inspection import effect, permutation_importance, slices
from treerank.inspection.pair_calibration import calibration_curve, drawn_pairs
from treerank.rankers import ColumnRanker, StreamingRanker
from treerank.rankers.calibration import pair_probability
from treerank.reports.features import _grid
from treerank.reports.page import element
from treerank.reports.sections import SECTIONS

pytestmark = pytest.mark.slow

PARITY = {"parity": np.repeat(["even", "odd"] * 24, 12)}
MASKED = np.ma.masked_equal(np.arange(24), 3)


@pytest.fixture(scope="module")
def html():
    return page(48, slices=PARITY).html


def data_of(html):
    """Return what the script of a page reads."""
    return json.loads(re.search(r'id="page-data">(.*?)</script>', html)[1])


class Tags(HTMLParser):
    """The tags of a page, with their attributes, and its text."""

    def __init__(self, html):
        super().__init__()
        self.found, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


def test_a_page_says_that_the_ranker_was_fitted_to_its_queries():
    X, y, qid = documents(30)
    known = RankSVM().fit(*(part[: 20 * 12] for part in (X, y, qid)))
    with pytest.warns(UserWarning, match=r"fitted to 20 of the 30 queries, .* too high\. Measure"):
        text = report(known, X, y, qid).html
    assert "The ranker was fitted to 20 of these 30 queries: its values are too high." in text
    new = report(known, *(part[20 * 12 :] for part in (X, y, qid))).html  # without a warning
    assert "was fitted to" not in new


def test_a_page_has_its_sections_and_links_to_each(html):
    tags = Tags(html).found
    keys = [attributes["id"] for tag, attributes in tags if tag == "section"]
    assert keys == [make.__name__ for make in SECTIONS if make.__name__ != "training"]
    links = [attributes["href"] for tag, attributes in tags if tag == "a"]
    assert links[: len(keys) + 1] == ["#content", *(f"#{key}" for key in keys)]
    assert set(links[len(keys) + 1 :]) <= {f"#{key}" for key in keys}  # of the hints


def test_names_stay_text(html):
    tags = Tags(html)
    assert {tag for tag, _ in tags.found} & {"img", "b", "iframe", "link", "object"} == set()
    assert [tag for tag, _ in tags.found].count("script") == 2
    assert f"<title>{element('p', HOSTILE)[3:-4]}</title>" in html
    assert all(name in tags.text for name in NAMES)
    queries = [row[0] for row in data_of(html)["queries"]]
    assert f"{HOSTILE} 3" in queries


def test_nothing_is_loaded_and_only_its_own_script_may_run(html):
    for _, attributes in Tags(html).found:
        assert not {"src", "style", "action", "data", "poster"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("href", "#").startswith("#")
    policy = next(a["content"] for _, a in Tags(html).found if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        text = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text[-1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_the_same_arguments_give_the_same_page(html):
    assert page(48, slices=PARITY).html == html


def test_the_same_page_shows_functions_by_their_names():
    def function():
        def first_label(y, scores, qid=None):
            return y[np.argmax(scores)]

        return first_label

    X, y, qid = documents(12)
    X, functions, pages = X.fillna(0), [function(), function()], []
    for first_label in functions:
        fitted = treerank.TreeDirectRanker("linear", metric=first_label).fit(X, y, qid)
        pages.append(report(fitted, X, y, qid, n_examples=1).html)
    assert pages[0] == pages[1]
    text = Tags(pages[0]).text
    assert "metricsfirst_label, AveragePrecision(" in text
    assert re.search("metric=<function .*first_label>", text)


def test_metrics_and_queries_are_those_of_the_library(html):
    X, y, qid = documents(48)
    scores = ranker().predict(X)
    metric = treerank.get_metric("ndcg@10")
    values = dict(zip(np.unique(qid), metric.per_query(y, scores, qid), strict=True))
    before = metric.per_query(y, X["plain"].fillna(0), qid)
    rows = {row[0]: row for row in data_of(html)["queries"]}
    assert {name: row[3] for name, row in rows.items()} == {
        name: round(value, 4) for name, value in values.items()
    }
    gaps = [row[-2] for row in data_of(html)["queries"]]
    assert gaps == sorted(gaps)
    np.testing.assert_allclose(sorted(np.array([*values.values()]) - before), gaps, atol=1e-4)
    assert f"{metric(y, scores, qid):.4f}" in html
    assert "NDCG(k=10" in html  # with its conventions
    assert "Intervals contain the true mean" in html


def test_examples_are_explained_exactly(html):
    X, y, _ = documents(48)
    fitted, data = ranker(), data_of(html)
    assert [label for label, _ in data["kinds"]] == [
        "Largest losses",
        "Lowest ndcg@10",
        "Largest gains",
    ]
    assert sum(length for _, length in data["kinds"][:2]) == data["explained"] == 20
    assert 0 < data["kinds"][2][1] <= 5
    assert len(data["examples"]) == 48
    assert not any(example["swaps"] for example in data["examples"][20:])
    found = data["examples"][:20]
    row_of = {f"{HOSTILE[:12]} {row}": row for row in range(len(y))}
    swaps = [swap for example in found for swap in example["swaps"]]
    assert len(swaps) > 20
    for swap in swaps:
        above, below = (row_of[one["name"]] for one in swap["pair"])
        assert y[above] < y[below]
        parts = fitted.explain(X[above : above + 1], X[below : below + 1])[0]
        shown = {name: part for name, part, error, _, _ in swap["parts"] if error == 0}
        found_parts = [shown.get(name, 0) for name in NAMES]
        np.testing.assert_allclose(found_parts, parts, rtol=1e-4, atol=1e-9)
        np.testing.assert_allclose(swap["margin"], parts.sum(), rtol=1e-4)


def test_sampled_parts_have_their_standard_errors(html):
    X, qid = np.random.default_rng(0).normal(size=(36, 3)), np.repeat(np.arange(6), 6)
    y = X[:, 0] * X[:, 1] + X[:, 2] > 0
    curved = treerank.TreeDirectRanker(treerank.feature_parts.Polynomial(), random_state=0)
    curved.fit(X, y, qid)
    sampled = report(curved, X, y, qid, n_examples=1).html
    swap = data_of(sampled)["examples"][0]["swaps"][0]
    above, below = (int(one["name"].split()[-1]) for one in swap["pair"])
    errors = curved.explain(X[above : above + 1], X[below : below + 1], with_errors=True)[1][0]
    assert sum(part[2] > 0 for part in swap["parts"]) > 0
    np.testing.assert_allclose(sorted(part[2] for part in swap["parts"]), sorted(errors), rtol=1e-4)
    note = "The contributions are estimated by sampling"
    assert note in Tags(sampled).text
    assert note not in Tags(html).text


def decoded(letters, n_documents, labels):
    """Read what :meth:`_Ranks.encoded` wrote: rank, label and baseline rank of each document."""
    letters, documents = iter(letters), []
    for letter in letters:
        rank = len(documents) + 1
        if rank > min(n_documents, 10):
            rank, letter = int(letter, 36), next(letters)
        documents.append((rank, labels[int(letter, 36)], int(next(letters), 36)))
    return documents


def test_every_query_has_the_grades_and_ranks_of_both_lists():
    X, y, qid = documents(7, size=40)
    baseline = X["plain"].fillna(0).to_numpy()
    data = data_of(report(ranker(), X, y, qid, baseline=baseline, n_examples=1).html)
    assert len(data["lists"]) == len(data["queries"]) == 7
    codes = np.unique(qid, return_inverse=True)[1]
    scores = ranker().predict(X)
    for row, letters in zip(data["queries"], data["lists"], strict=True):
        rows = np.flatnonzero(codes == row[-1])
        now, before = (sorted(rows, key=lambda r: -by[r]) for by in (scores, baseline))
        expected = [
            (now.index(r) + 1, y[r], rank if (rank := before.index(r) + 1) < 36 else 0)
            for r in now
            if now.index(r) < 10 or before.index(r) < 10
        ]
        # Ranks of the ranker beyond 35 are 0, too.
        expected = [(rank if rank < 36 else 0, *rest) for rank, *rest in expected]
        assert decoded(letters, len(rows), data["labels"]) == expected
    many = report(ranker(), X, np.arange(len(y)) / 7, qid, n_examples=1)
    assert data_of(many.html)["lists"] == []  # more labels than digits


def test_the_summary_draws_ndcg_by_cutoff(html):
    X, y, qid = documents(48)
    scores, plain = ranker().predict(X), X["plain"].fillna(0)
    for k in (1, 7, 20):
        metric = treerank.get_metric(f"ndcg@{k}")
        text = f"k {k}: ranker {metric(y, scores, qid):.4g}, baseline {metric(y, plain, qid):.4g}"
        assert f"<title>{text}</title>" in html


def test_wins_and_losses_are_counted_and_sorted(html):
    gaps = [row[-2] for row in data_of(html)["queries"]]
    won, lost = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    assert f"won {won}, equal {48 - won - lost}, lost {lost}; from {max(gaps):+.4f}" in html
    best = max(data_of(html)["queries"], key=lambda row: row[-2])
    assert f"{best[0]}: {best[-2]:+.4f}" in Tags(html).text


def test_a_difference_that_is_not_significant_says_what_would_show_it():
    X, y, qid = documents(48)
    noise = np.random.default_rng(1).normal(size=len(y))
    fitted = ranker()
    baseline = fitted.predict(X) + 0.05 * noise
    text = Tags(report(fitted, X, y, qid, baseline=baseline, n_examples=1).html).text
    found = re.search(
        r"No significant difference from the baseline: ndcg@10 ([+-]0\.\d{4}) "
        r"\(95\s%: ([+-]0\.\d{4}) to ([+-]0\.\d{4}); p\s=\s(0\.\d{3})\)\. "
        r"About ([\d,]+) queries would be needed to show a difference of this size\.",
        text,
    )
    gap, low, high, p = map(float, found.groups()[:4])
    assert low < 0 < high
    assert p > 0.05
    reach = (gap - low if gap > 0 else high - gap) / abs(gap)
    needed = 48 * (reach * (1 + 0.8416 / 1.96)) ** 2
    assert float(found[5].replace(",", "")) == pytest.approx(needed, rel=0.05)


@pytest.mark.parametrize(
    ("n_queries", "n_users", "units"),
    [(1, None, "queries"), (5, None, "queries"), (12, 5, "clusters of as many queries")],
)
def test_a_difference_of_few_queries_says_how_many_could_show_any(n_queries, n_users, units):
    X, y, qid = documents(n_queries)
    options = {"baseline": X["plain"].fillna(0), "n_examples": 1}
    if n_users is not None:
        options["clusters"] = np.repeat(np.arange(n_queries), 12) % n_users
    text = Tags(report(ranker(), X, y, qid, **options).html).text
    verdict, _, advice = text.partition(f"At least 6 {units} would be needed to show a difference")
    assert "No significant difference from the baseline: ndcg@10 " in verdict
    assert advice


def test_a_metric_with_values_for_the_ranker_or_the_baseline_alone_is_not_tested():
    def first_label(y, scores, qid=None):
        return y[np.argmax(scores)] or np.nan

    X, y, qid = documents(24)
    fitted, baseline = ranker(), X["plain"].fillna(0)
    metric = treerank.get_metric(first_label)
    has_value = [~np.isnan(metric.per_query(y, s, qid)) for s in (fitted.predict(X), baseline)]
    n_alone = np.count_nonzero(has_value[0] != has_value[1])
    assert n_alone > 1
    why = f"{n_alone} queries have a value for the ranker or the baseline alone."
    for metrics in ([first_label, "map"], ["map", first_label]):
        html = report(fitted, X, y, qid, baseline=baseline, metrics=metrics, n_examples=1).html
        assert f"Not tested by first_label: {why}" in Tags(html).text
        verdict = re.search(r'class="verdict[^>]*>([^<]*)<', html)[1]
        assert verdict.startswith("Not tested") == (metrics[0] == first_label)
    assert "p\xa0" in verdict  # of "map", which is tested beside it


@pytest.mark.parametrize("n_queries_of_user", [None, 2])
def test_a_difference_that_is_the_same_for_all_queries_or_clusters_is_tested(n_queries_of_user):
    """The baseline ranks the relevant document second, or with clusters second and third."""
    y, qid = np.tile([1, 0, 0], 24), np.repeat(np.arange(24), 3)
    fitted = RankSVM().fit(y[:, None], y, qid)
    baseline, options = np.tile([1, 2, 0], 24), {}
    if n_queries_of_user is not None:
        baseline[qid % 2 == 1] = [0, 1, 2] * 12
        options = {"clusters": qid // n_queries_of_user}
    given = {"baseline": baseline, "metrics": "mrr", "n_examples": 1}
    text = Tags(report(fitted, y[:, None], y, qid, **given, **options).html).text
    gap = "+0.5000" if n_queries_of_user is None else "+0.5833"
    verdict = f"mrr {gap} (95\xa0%: {gap} to {gap}; p\xa0<\xa00.001)."
    assert f"Significantly better than the baseline: {verdict}" in text


def test_each_slice_is_printed_once():
    X, y, qid = documents(48)
    is_odd = PARITY["parity"] == "odd"
    y = np.where(is_odd, ranker().predict(X) < 0, y)
    options = {"baseline": X["plain"].fillna(0), "slices": PARITY, "n_examples": 1}
    text = Tags(report(ranker(), X, y, qid, **options).html).text
    assert text.count("parity: odd") == text.count("parity: even") == 1
    gaps = [
        treerank.get_metric("ndcg@10").per_query(y, scores, qid)
        for scores in (ranker().predict(X), options["baseline"])
    ]
    codes = np.unique(qid, return_inverse=True)[1]
    mean = next(s.mean for s in slices(gaps[0] - gaps[1], PARITY, codes) if s.values == "odd")
    assert re.search(rf"parity: odd[^:]*?{re.escape(f'{mean:+.4f}')}.{{1,9}}24", text)


def test_learning_curves_and_propensities_are_drawn():
    X, y, qid = make_web_search(30, documents_per_query=8, n_features=4, random_state=0)
    part = treerank.LightGBMTrees(n_estimators=7, min_child_samples=5, n_jobs=1)
    clicks = ClickRelevance(part, propensities=1 / np.arange(1, 9))
    fitted = treerank.TreeDirectRanker(part, clicks=clicks, random_state=0)
    position = np.tile(np.arange(1, 9), 30)
    held_out = make_web_search(9, documents_per_query=8, n_features=4, random_state=1)
    fitted.fit(X, (y > 1).astype(float), qid, position=position, eval_set=held_out)
    html = report(fitted, X, y, qid, n_examples=1).html
    (curve,) = fitted.evals_result_["validation"].values()
    assert f"<title>iteration {len(curve)}: ndcg@10 {curve[-1]:.4g}</title>" in html
    assert f"kept: {fitted.best_iteration_}" in html
    assert "<title>position 8: examination propensity 0.125</title>" in html
    assert 'id="training"' not in report(RankSVM().fit(X, y, qid), X, y, qid, n_examples=1).html


def test_no_iteration_of_a_stream_is_marked_since_its_curve_begins_after_earlier_trees():
    X, y, qid = make_web_search(90, documents_per_query=20, n_features=6, random_state=0)
    third = qid % 3
    held_out = X[third == 2], y[third == 2], qid[third == 2]
    trees = StreamingTrees(20, forgetting=0.1, learning_rate=1.0, n_jobs=1)
    stream = StreamingRanker(trees, random_state=0)
    for batch in range(2):
        rows = third == batch
        stream.partial_fit(X[rows], y[rows], qid[rows], eval_set=held_out)
    html = report(stream, *held_out, n_examples=1).html
    assert "Learning curve: ndcg@10" in html
    assert "kept: " not in html


def test_scores_are_shown_by_label(html):
    X, y, _ = documents(48)
    scores = ranker().predict(X)
    for label in np.unique(y):
        low, median, high = np.quantile(scores[y == label], [0.05, 0.5, 0.95])
        drawn = f"{median:+.4f} ({low:+.4f} to {high:+.4f})"
        assert f"{label:g}{(y == label).sum()}{drawn}{median:.4g}" in Tags(html).text


def test_effects_have_a_rug_and_no_rare_ends(html):
    assert html.count('class="rug"') > 0
    values = np.concatenate([np.arange(100.0), [1e6, -1e6]])
    grid = _grid(values)
    assert grid.min() >= 0
    assert grid.max() <= 99
    assert np.isin(grid, values).all()
    assert 8 <= len(grid) <= 14
    assert _grid(np.array([0.0] * 1000 + [5.0])).tolist() == [0, 5]


def test_effects_are_those_of_inspection(html):
    X, _, qid = documents(48)
    fitted = ranker()
    drawn = [name for name in NAMES if f"Score by {escape(name)}<" in html]
    assert len(drawn) >= 3
    for name in drawn:
        values = X[name].dropna().to_numpy()
        found = effect(fitted, X, qid, feature=name, values=_grid(values), n_documents=400)
        for of, shown in (("score", "mean score"), ("rank", "mean rank (1 is the best)")):
            curve = found.chart(of=of).curves[0]
            for x, y in zip(curve.x, curve.y, strict=True):
                text = f"{escape(name)} {x:.4g}: {shown} {y:.4g}</title>"
                assert text in html


def test_one_of_a_thing_is_said_so():
    X, y, qid = documents(12)
    y = np.where(qid == "query 5", 0, y)
    text = Tags(report(ranker(), X, y, qid, n_examples=1).html).text
    assert "1 query has no relevant document and is left out of the means." in text


def test_a_query_without_a_value_of_a_function_is_said_to_have_none():
    def first_label(y, scores, qid=None):
        return np.nan if y.max() == 0 else y[np.argmax(scores)]

    X, y, qid = documents(12)
    y = np.where(qid == "query 5", 0, y)
    text = Tags(report(ranker(), X, y, qid, metrics=first_label, n_examples=1).html).text
    assert "1 query has no value of first_label and is left out of the means." in text
    assert "no relevant document" not in text


def test_importances_of_a_single_query_have_no_interval_and_are_not_folded():
    X, y, qid = documents(12)
    y = np.where(qid == "query 5", y, 0)
    html = report(ranker(), X, y, qid, baseline="plain", n_examples=1).html
    page = html.partition("<script>")[0]
    assert "nan" not in Tags(page).text
    assert 'nan%"' not in page
    assert "without a significant drop" not in page
    table = page[page.index("Importances: the drop of") :].partition("</table>")[0]
    assert table.count("<tr>") == 1 + len(NAMES)
    assert "<svg" not in table


def test_importances_are_those_of_inspection(html):
    X, y, qid = documents(48)
    settings = {"groups": {name: [name] for name in NAMES}, "n_repeats": 1}
    found = permutation_importance(ranker(), X, y, qid, **settings)
    text = Tags(html).text
    best = found.interval(found.order[0])
    bounds = f"{best.low:.4f} to {best.high:.4f}"
    drawn = f"{best.estimate:+.4f} ({best.low:+.4f} to {best.high:+.4f})"
    assert f"{found.names[found.order[0]]}{best.estimate:.4f}{drawn}{bounds}" in text
    assert f"Rank by {found.names[found.order[0]]}" in text


def test_intervals_of_pair_probabilities_are_over_queries(html):
    X, y, qid = documents(48)
    groups, scores = QueryGroups.from_qid(qid), ranker().predict(X)
    i, j = drawn_pairs(y, groups, np.random.default_rng(0))
    likely = pair_probability(scores[i] - scores[j], ranker().calibration_slope_)
    low, high = calibration_curve(likely, y[i] > y[j], groups.codes[i]).interval
    assert f"{low[0]:.4g}{high[0]:.4g}" in Tags(html).text


def test_slices_are_those_of_inspection(html):
    X, y, qid = documents(48)
    values = treerank.get_metric("ndcg@10").per_query(y, ranker().predict(X), qid)
    codes = np.unique(qid, return_inverse=True)[1]
    found = slices(values, PARITY, codes)
    assert {one.values for one in found} == {"even", "odd"}
    differ = sum(one.p_value <= 0.05 for one in found)
    assert differ == 0
    even = next(one for one in found if one.values == "even")
    row = rf"parity: even\S+ \(.*?\){even.mean:.4f}{even.p_value:.3f}"
    assert re.search(row, Tags(html).text)  # shown since it was asked for
    is_odd = PARITY["parity"] == "odd"
    y = np.where(is_odd, ranker().predict(X) < 0, y)  # these queries turn round
    text = Tags(report(ranker(), X, y, qid, slices=PARITY, n_examples=1).html).text
    values = treerank.get_metric("ndcg@10").per_query(y, ranker().predict(X), qid)
    worst = slices(values, PARITY, codes)[0]
    assert worst.p_value < 0.05
    gap = worst.difference
    drawn = f"{gap.estimate:+.4f} ({gap.low:+.4f} to {gap.high:+.4f})"
    assert f"parity: {worst.values}{drawn}{worst.mean:.4f}" in text


def test_the_summary_and_the_hints_say_what_matters():
    X, y, qid = documents(48)
    knowing = X.assign(plain=y)  # a feature that knows the label
    fitted = RankSVM().fit(knowing, y, qid)
    bad = -fitted.predict(knowing)
    options = {"baseline": bad, "train": (knowing + 9, y, qid), "texts": {"query 5": "red shoes"}}
    made = report(fitted, knowing, y, qid, n_examples=2, **options).html
    text = Tags(made).text
    assert "Significantly better than the baseline: ndcg@10 +0." in text
    assert "The ranker is better on 100\xa0% of the queries: 48 won, 0 lost, 0 equal." in text
    assert "plain alone ranks about as well as the ranker: does it know the label?" in text
    assert "Values differ from training in 5 features" in text
    assert "query 5: red shoes" in {row[0] for row in data_of(made)["queries"]}
    calm = Tags(report(fitted, knowing, y, qid, n_examples=2).html).text
    assert "Values differ" not in calm
    few = {"device": np.repeat([*["mobile"] * 5, *["desk"] * 43], 12)}
    better = ranker().predict(X) + 9 * y * (qid == "query 5")
    asked = Tags(report(ranker(), X, y, qid, n_examples=2, slices=few, baseline=better).html).text
    assert re.search(r"device: mobiletoo few queries0\.\d{4}too few queries[+-]0\.\d{4}5", asked)
    assert "1 query is ranked worse by the ranker than by the baseline." in asked
    assert "By ndcg@10, half of the queries reach 1.000, and nine in ten " in calm
    assert re.search(r"ndcg@101\.0000baseline 0\.\d{4}", text)
    assert re.search(
        r"ndcg@10(\+0\.\d{4})\1 \(\+0\.\d{4} to \+0\.\d{4}\)0.\d{4} to 0.\d{4}<\s0", text
    )
    named = report(fitted, knowing, y, qid, n_examples=2, baseline="plain").html
    assert named == report(fitted, knowing, y, qid, n_examples=2, baseline=knowing["plain"]).html
    other = report(fitted, knowing, y, qid, n_examples=2, baseline=fitted).html
    assert "No difference from the baseline: ndcg@10 is the same for all queries." in other
    names = [f"<{row}>" for row in range(len(y))]
    known = report(fitted, knowing, y, qid, train=(knowing[3:], y[3:]), document_names=names).html
    assert f"training document: {len(y) - 3:,} (first: <3>, <4>, <5>, " in Tags(known).text
    assert "were in training, too" in known


def test_a_baseline_is_missing_where_a_retriever_did_not_find_the_document():
    X, y, qid = documents(12)
    fitted = RankSVM().fit(X, y, qid)
    scores = np.where(np.arange(len(y)) % 3, X.iloc[:, 0], np.nan)
    table, ranked = X.assign(bm25=scores), X.assign(bm25=scores)
    column = ColumnRanker("bm25").fit(ranked, y, qid)
    fitted = RankSVM().fit(table.drop(columns="bm25"), y, qid)
    named = report(fitted, table, y, qid, n_examples=1, baseline="bm25").html
    same = report(fitted, X, y, qid, n_examples=1, baseline=column.predict(ranked)).html
    assert data_of(named) == data_of(same)


def test_a_page_needs_neither_baseline_nor_queries_nor_dense_rows():
    X, y, _ = make_web_search(4, n_features=3, random_state=0)
    plain = report(RankSVM().fit(X, y), X, y, n_examples=1).html
    assert [row[0] for row in data_of(plain)["queries"]] == ["all documents"]
    assert "baseline" not in Tags(plain).text.partition('"use strict"')[0]


def test_trees_of_sparse_documents_with_a_metric_of_ones_own():
    def first_label(y, scores, qid=None):
        return y[np.argmax(scores)]

    X, y, qid = make_web_search(12, documents_per_query=8, n_features=4, random_state=0)
    part = treerank.LightGBMTrees(n_estimators=5, min_child_samples=5, n_jobs=1)
    fitted = treerank.TreeDirectRanker(part, random_state=0).fit(csr_matrix(X), y, qid)
    made = report(fitted, csr_matrix(X), y, qid, metrics=[first_label, "map"], baseline=fitted)
    html = made.html
    assert "No difference from the baseline: first_label is the same for all queries." in html
    assert "The ranker is better on 0\xa0% of the queries: 0 won, 0 lost, 12 equal." in html
    assert made._repr_html_().startswith("<iframe srcdoc=")


def test_single_features_are_measured_query_by_query_as_the_ranker_is():
    def first_label(y, scores, qid=None):
        return y[np.argmax(scores)]

    X, y, qid = documents(48)
    text = Tags(report(ranker(), X, y, qid, metrics=first_label, n_examples=1).html).text
    metric = treerank.get_metric(first_label)
    values = [metric.per_query(y, (s * X["plain"]).fillna(-9), qid).mean() for s in (1, -1)]
    assert f"plain{max(values):.4f}" in text.partition("The best single features")[2]
    assert "alone ranks about as well as the ranker" not in text


def test_a_ranker_inside_of_a_pipeline_or_a_search_is_pointed_to():
    X, y, qid = make_web_search(6, documents_per_query=8, n_features=4, random_state=0)
    pipeline = make_pipeline(StandardScaler(), RankSVM()).fit(X, y, ranksvm__qid=qid)
    message = r"ranker must be a Ranker; .* Write ranker=pipeline\[-1\], and pipeline\[:-1\]"
    with pytest.raises(TypeError, match=f"(?s){message}"):
        report(pipeline, X, y, qid)
    assert report(pipeline[-1], pipeline[:-1].transform(X), y, qid).html
    search = SimpleNamespace(best_estimator_=RankSVM())
    with pytest.raises(
        TypeError, match=r"must be a Ranker; .* Write ranker=search.best_estimator_\."
    ):
        report(search, X, y, qid)


def test_features_that_are_known_only_once_a_list_was_shown_are_hints():
    X, y, qid = documents(12)
    X = X.assign(Clicks=(y > 2).astype(int))
    with pytest.warns(UserWarning, match="'Clicks' of X is a feature, though its name sug"):
        fitted = RankSVM().fit(X, y, qid)
    hints = re.search(
        '<aside aria-label="What to look at next">(.*?)</aside>', report(fitted, X, y, qid).html
    )
    assert (
        "Clicks sounds as if it were known only after a list was shown: is it known earlier?"
        in hints[1]
    )
    assert "only once a list was shown" not in report(ranker(), *documents(12)).html


def test_queries_of_one_name_are_two():
    """The ids 2 and "2" are two queries; the script finds the documents of each by its number."""
    X, y, qid = make_web_search(4, documents_per_query=8, n_features=4, random_state=0)
    ids = [[2, "2", 3, "3"][q] for q in qid]
    fitted = RankSVM().fit(X, y, ids)
    data = data_of(report(fitted, X, y, ids, baseline=X[:, 0]).html)
    rows = {row[-1]: row for row in data["queries"]}
    assert sorted(row[0] for row in rows.values()) == ["2", "2", "3", "3"]
    assert sorted(rows) == [0, 1, 2, 3]
    metric = treerank.get_metric("ndcg@10").per_query(y, fitted.predict(X), ids)
    assert {example["number"] for example in data["examples"]} == {0, 1, 2, 3}
    for example in data["examples"]:
        assert rows[example["number"]][3] == round(metric[example["number"]], 4)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_a_metric_without_a_finite_value_is_named(value):
    def log_likelihood(y, scores, qid=None):
        return value if y[0] > 1 else 0.5

    X, y, qid = make_web_search(6, documents_per_query=8, n_features=4, random_state=0)
    y[qid == 3] = 2
    y[qid != 3] = np.minimum(y[qid != 3], 1)
    fitted = RankSVM().fit(X, y, qid)
    message = rf"metric 'log_likelihood' must be finite .*; got {value} for query '3'"
    with pytest.raises(ValueError, match=message):
        report(fitted, X, y, qid, metrics=[log_likelihood])


def test_labels_from_0_to_1_have_metrics_with_values_and_shares_by_tenths():
    X, grades, qid = documents(40)
    rng = np.random.default_rng(0)
    y = np.where(grades > 0, (0.2 * grades + 0.19 * rng.random(len(grades))).round(3), 0.0)
    train = RankSVM().fit(*(part[:240] for part in (X, y, qid)))
    test, first = [part[240:] for part in (X, y, qid)], [part[:240] for part in (X, y, qid)]
    with warnings.catch_warnings(action="error"):
        text = Tags(report(train, *test, baseline="plain", train=first, n_examples=1).html).text
    assert "map(threshold=0.5)" in text
    assert "mrr(threshold=0.5)" in text
    assert "nan" not in text.partition('"use strict"')[0]
    shares = re.search(r"Shares of labelslabeltesttrain(.*?)Missing values", text)[1]
    judged, spaces = test[1], shares.replace("\xa0", " ")
    assert spaces.startswith(f"0{100 * np.mean(judged == 0):.1f} %")
    tenth = 100 * np.mean((judged >= 0.2) & (judged < 0.3))
    assert f"0.2 to 0.3{tenth:.1f} %" in spaces
    own = treerank.TreeDirectRanker("linear", threshold=0.3).fit(*first)
    text = Tags(report(own, *test, n_examples=1).html).text
    assert "map(threshold=0.3)" in text
    assert "threshold=0.5" not in text


@pytest.mark.parametrize("shift", [-1, 1000])
def test_labels_without_a_gain_have_a_page_without_ndcg(shift):
    X, y, qid = documents(24)
    fitted = treerank.TreeDirectRanker("linear", metric="pairwise_accuracy", weight="uniform")
    fitted.fit(X.fillna(0), y + shift, qid)
    for metrics in ((), "map"):
        options = {"baseline": X["plain"].fillna(0), "metrics": metrics, "n_examples": 1}
        html = report(fitted, X.fillna(0), y + shift, qid, **options).html
        text = Tags(html).text
        assert "so there is no NDCG by cutoff, and no pairs of documents that cost" in text
        assert "for k = 1 to 20" not in text
        assert "cost the most NDCG. Bars" not in text
        assert data_of(html)["examples"][0]["swaps"] == []


@pytest.mark.parametrize("setting", ["gain", "metric"])
def test_ndcg_has_the_gain_of_the_ranker_beside_another_metric(setting):
    X, y, qid = documents(24)
    own = {"gain": "linear"} if setting == "gain" else {"metric": "ndcg(gain='linear')@10"}
    fitted = treerank.TreeDirectRanker("linear", weight="uniform", **own)
    fitted.fit(X.fillna(0), y + 1000, qid)
    text = Tags(report(fitted, X.fillna(0), y + 1000, qid, metrics="map", n_examples=1).html).text
    metric = treerank.NDCG(7, gain="linear")
    value = metric(y + 1000, fitted.predict(X.fillna(0)), qid)
    assert f"k 7: ndcg(gain='linear')@k {value:.4g}" in text
    assert "ndcg(gain='linear')@k for k = 1 to 20" in text
    assert "cost the most NDCG. Bars" in text


def test_names_of_documents_and_slices_may_be_columns():
    X, y, qid = documents(12)
    y = np.where(np.arange(len(y)) == 5, np.nan, y)
    fitted = RankSVM().fit(X, y, qid)
    ids, kinds = [f"passage {row}" for row in range(len(y))], np.repeat(["even", "odd"], 72)
    table = X.assign(passage_id=ids, kind=kinds, label=y, query=qid)
    by_name = report(
        fitted, table, "label", "query", document_names="passage_id", slices={"kind": "kind"}
    )
    by_values = report(fitted, X, y, qid, document_names=ids, slices={"kind": kinds})
    assert by_name.html == by_values.html
    assert "passage 7" in by_name.html
    with pytest.raises(ValueError, match="document_names must name a column of X; got 'id'"):
        report(fitted, table, "label", "query", document_names="id")
    with pytest.raises(ValueError, match=r"slices\['a'\] must name a column of X; got 'id'"):
        report(fitted, table, "label", "query", slices={"a": "id"})


def test_metrics_without_a_value_are_left_out_and_named():
    X, y, qid = documents(12)
    fitted = RankSVM().fit(X, y, qid)
    given = ["ndcg@10", "map(threshold=9)"]
    text = Tags(report(fitted, X, y, qid, metrics=given, n_examples=1).html).text
    assert "map(threshold=9): no query has a document that is relevant to them." in text
    assert "nan" not in text.partition('"use strict"')[0]
    message = r"metrics must have a value for some query; got \['map\(threshold=9\)'\]: no query"
    with pytest.raises(ValueError, match=message):
        report(fitted, X, y, qid, metrics="map(threshold=9)")
    with pytest.raises(ValueError, match=r"\['without_value'\]: they are NaN for each query"):
        report(fitted, X, y, qid, metrics=without_value)


def without_value(y, scores, qid=None):
    """A function that has a value for no query."""
    return np.nan


def test_metrics_that_are_advised_for_negative_labels_have_values():
    X, y, qid = documents(40)
    fitted = treerank.TreeDirectRanker("linear", metric="map", weight="uniform")
    fitted.fit(X[144:].fillna(0), y[144:], qid[144:])
    X, y, qid = X[:144].fillna(0), y[:144] - 5, qid[:144]
    with pytest.raises(
        ValueError, match="no query has a document that is relevant to them"
    ) as refused:
        report(fitted, X, y, qid)
    advised = ast.literal_eval(re.search(r"such as metrics=(.*)\.$", str(refused.value))[1])
    assert advised == "pairwise_accuracy"
    text = Tags(report(fitted, X, y, qid, metrics=advised, n_examples=1).html).text
    assert "no query has a document that is relevant" not in text


def test_clicks_that_were_trained_on_are_told_from_labels():
    X, y, qid = make_web_search(12, documents_per_query=8, n_features=4, random_state=0)
    position = np.tile(np.arange(1, 9), 12)
    clicked = (y > 1).astype(float)
    part = treerank.LightGBMTrees(n_estimators=3, min_child_samples=5, n_jobs=1)
    clicks = ClickRelevance(part, propensities=1 / np.arange(1, 9))
    fitted = treerank.TreeDirectRanker(part, clicks=clicks, random_state=0)
    fitted.fit(X, clicked, qid, position=position)
    text = Tags(report(fitted, X, y, qid, train=(X, clicked, qid), n_examples=1).html).text
    share = f"{100 * clicked.mean():.1f}\xa0%"
    assert f"documents that were shown, and {share} of the rows are clicks." in text
    assert "Shares of labelslabeltest0" in text
    labeled = treerank.TreeDirectRanker(part, random_state=0).fit(X, clicked, qid)
    for judged, train in [(fitted, (X, y, qid)), (labeled, (X, clicked, qid))]:
        text = Tags(report(judged, X, y, qid, train=train, n_examples=1).html).text
        assert "documents that were shown" not in text
        assert "Shares of labelslabeltesttrain0" in text
        assert "No feature has drifted from the training data to the test data." in text


def test_the_command_writes_a_page(tmp_path):
    files = letor_files(tmp_path)
    page = tmp_path / "page.html"
    texts = tmp_path / "texts.csv"
    texts.write_text("id,text\n977,red shoes\n")
    options = ["--baseline", files.model, "--train", files.train, "-o", page, "--examples", 2]
    options += ["--texts", texts]
    result = run("report", files.model, files.test, *options)
    assert f"wrote {page}, " in result.stderr
    html = page.read_text()
    assert "<title>model.treerank on test.txt</title>" in html
    assert str(files.train) in html
    assert "977: red shoes" in html
    assert data_of(html)["examples"][0]["documents"][0][1].startswith("D")
    assert run("report", files.model, files.test, "-o", files.test, code=1).stdout == ""


def test_the_command_writes_a_page_of_negative_labels(tmp_path):
    table, model, page = (tmp_path / name for name in ("test.csv", "model", "page.html"))
    rows = [f"{i % 3 - 1},{i // 4},{i % 5}" for i in range(48)]
    table.write_text("\n".join(["label,query,price", *rows]))
    allowed = ["--metric", "map", "--weight", "uniform", "--n-estimators", 2]
    run("fit", table, "--model", model, *allowed)
    run("report", model, table, "--output", page)
    assert "so there is no NDCG by cutoff" in page.read_text()


def test_texts_are_read_as_text_and_may_be_missing(tmp_path, monkeypatch):
    files = letor_files(tmp_path)
    shown = []
    monkeypatch.setattr(
        "treerank.cli.report.make_report",
        lambda *_, **options: shown.append(options["texts"]) or Mock(),
    )
    long = "red shoes " * 40
    numbers, texts = tmp_path / "numbers.csv", tmp_path / "texts.parquet"
    numbers.write_text("id,text\n977,2020\n978,\n979,1984\n")
    pl.DataFrame({"id": [977, 978, None], "text": [long, None, "of none"]}).write_parquet(texts)
    for path in (numbers, texts):
        run("report", files.model, files.test, "--texts", path, "-o", tmp_path / "page.html")
    assert shown == [{"977": "2020", "979": "1984"}, {"977": long}]
    numbers.write_text("id,title\n977,2020\n")
    said = run("report", files.model, files.test, "--texts", numbers, code=1).stderr
    assert "the column for texts of --texts must exist; got ['id', 'title']" in said


def test_the_command_compares_with_a_column_of_a_table(tmp_path):
    table, model, page = (tmp_path / name for name in ("test.csv", "model", "page.html"))
    bm25 = [str(i % 3) if i % 7 else "" for i in range(48)]
    rows = [f"{i % 2},{i // 4},{score},{i % 5},a{i}" for i, score in enumerate(bm25)]
    table.write_text("\n".join(["label,query,bm25,price,sku", *rows]))
    report_on = ["report", model, table, "--output", page, "--baseline"]
    pages = []
    for options in ([], ["--drop", "bm25"]):  # it need not be a feature
        run("fit", table, "--model", model, "--n-estimators", 2, "--id", "sku", *options)
        run(*report_on, "bm25")
        pages.append(Tags(page.read_text()).text)
        assert "ifference from the baseline: ndcg@10 " in pages[-1]
    values = [float(re.search(r"baseline (\d\.\d{4})", text)[1]) for text in pages]
    assert values[0] == values[1]
    said = run(*report_on, "bm52", code=1).stderr
    columns = ["label", "query", "bm25", "price", "sku"]
    assert f"--baseline must be a file or one of {columns}; got bm52" in said
    assert "--baseline must be numbers; got text." in run(*report_on, "sku", code=1).stderr


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_examples": 0}, ValueError, "n_examples must be a whole number"),
        ({"slices": {"a": [1]}}, ValueError, r"slices\['a'\] must have one entry per do"),
        ({"slices": {"a": MASKED}}, ValueError, r"slices\['a'\] must have no masked entries; got"),
        ({"document_names": ["a"]}, ValueError, "document_names must have one .* got 1 for 24"),
        ({"baseline": [1.0]}, ValueError, "baseline must have one entry per document; got 1"),
        ({"baseline": RankSVM()}, ValueError, r"baseline must be fitted; got RankSVM\(\)\. Fit it"),
        ({"baseline": ColumnRanker("50%")}, ValueError, r"'50%'\)\. Fit it first, or write '50%'"),
        ({"baseline": RankSVM}, TypeError, "baseline must be a Ranker; got"),
        ({"train": 3}, ValueError, r"train must be \(X, y\) or \(X, y, qid\); got"),
        ({"metrics": ["best"]}, ValueError, "metric must be one of"),
    ],
)
def test_wrong_arguments_are_named(options, error, message):
    X, y, qid = documents(2)
    with pytest.raises(error, match=message):
        report(ranker(), X, y, qid, **options)
    with pytest.raises(TypeError, match="ranker must be a Ranker; got 3"):
        report(3, X, y, qid)
    with pytest.raises(ValueError, match="two different labels in some query of qid; got none"):
        report(ranker(), X, y * 0, qid)


def test_a_baseline_of_text_is_refused_with_the_name_of_its_column():
    X, y, qid = documents(2)
    message = (
        r"baseline: X\['brand'\] must be numbers; got text\. np\.asarray\(X\['brand'\], float\)"
    )
    with pytest.raises(TypeError, match=message):
        report(ranker(), X.assign(brand="a"), y, qid, baseline="brand")


def test_a_baseline_whose_scores_are_missing_is_refused_with_what_to_write():
    X, y, qid = documents(12)
    scores = X["plain"].to_numpy(dtype=float)  # some are missing
    message = r'baseline must be finite; got nan in row .*baseline="column".*nanmin\(scores\) - 1'
    with pytest.raises(ValueError, match=message) as caught:
        report(ranker(), X, y, qid, baseline=scores)
    names = {"np": np, "scores": scores}
    exec(str(caught.value).partition("below all others, ")[2].rstrip("."), names)
    filled = names["scores"]
    pages = [
        report(ranker(), X, y, qid, baseline=baseline, n_examples=1).html
        for baseline in (filled, "plain")
    ]
    assert data_of(pages[0]) == data_of(pages[1])
