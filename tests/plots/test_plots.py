import matplotlib.pyplot as plt
import numpy as np
import pytest

from treerank.clicks import PropensityIntervals
from treerank.metrics import NDCG
from treerank.plots import ndcg_over_k, p_value_matrix, propensity_curves
from treerank.plots.style import COLUMN, line_styles, shown
from treerank.statistics import pairwise_tests

plt.switch_backend("Agg")

rng = np.random.default_rng(0)
QID = np.repeat(np.arange(20), 10)
Y = rng.integers(3, size=200).astype(float)
SCORES = Y + rng.normal(size=200)
VALUES = rng.normal([1.5, 1.0, 0.9, 0.0], 1.0, size=(40, 4))
NAMES = ["trees", "network", "line", "chance"]

INTERVALS = PropensityIntervals(*np.array([[1, 0.4, 0.3], [1, 0.3, 0.2], [1, 0.6, 0.5]]))
CALLS = {
    "ndcg_over_k": lambda ax: ndcg_over_k(Y, {"ours": SCORES}, QID, k_max=5, ax=ax),
    "p_value_matrix": lambda ax: p_value_matrix(pairwise_tests(VALUES, NAMES), ax=ax),
    "propensity_curves": lambda ax: propensity_curves({"a": INTERVALS, "b": [1, 0.5]}, ax=ax),
}


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("name", list(CALLS))
def test_plots_draw_where_they_are_told_or_in_a_column_of_their_own(name):
    _, ax = plt.subplots()
    assert CALLS[name](ax) is ax
    own = CALLS[name](None)
    assert own is not ax
    assert own.figure.get_figwidth() == COLUMN
    own.figure.canvas.draw()  # without a warning
    if own.get_legend() is not None:  # it covers no data
        assert own.get_legend().get_window_extent().y0 >= own.get_window_extent().y1 - 1
    parts = "lines", "patches", "collections", "texts"
    n_drawn = [len(getattr(own, part)) for part in parts]
    assert sum(n_drawn) > 0
    assert n_drawn == [len(getattr(ax, part)) for part in parts]


def test_curves_are_the_values():
    ax = ndcg_over_k(Y, {"a": SCORES, "b": -SCORES}, QID, k_max=4)
    expected = [NDCG(k=k)(Y, SCORES, QID) for k in (1, 2, 3, 4)]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), expected)
    assert [text.get_text() for text in ax.get_legend().texts] == ["a", "b"]


def test_propensities_and_their_intervals_are_the_values():
    ax = propensity_curves({"a": INTERVALS, "b": [1, 0.5]})
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[1, 1], [2, 0.4], [3, 0.3]])
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), [1, 0.5])
    (band,) = ax.collections
    corners = set(map(tuple, band.get_paths()[0].vertices.tolist()))
    assert {(2, 0.3), (2, 0.6), (3, 0.2), (3, 0.5)} <= corners
    assert ax.get_ylim()[0] == 0
    ax = propensity_curves({"a": [1, np.nan, 0.5]})
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [1, np.nan, 0.5])
    with pytest.raises(ValueError, match="propensities must be finite; got inf in row 1"):
        propensity_curves({"a": [np.nan, np.inf]})


def test_matrix_shows_every_pair_and_points_to_the_better():
    result = pairwise_tests(VALUES, NAMES)
    ax = p_value_matrix(result)
    assert len(ax.patches) == len(ax.texts) == 6
    shown = {(round(t.get_position()[0]), round(t.get_position()[1])): t for t in ax.texts}
    for row in range(1, 4):
        for column in range(row):
            text = shown[column, row - 1].get_text()
            significant = result.p_values[row, column] <= 0.05
            arrow = "←" if result.differences[row, column] > 0 else "↑"
            assert (arrow in text) == significant
    assert "Holm" in ax.get_title()


def test_names_are_drawn_as_they_are_and_long_ones_by_both_ends():
    assert shown(["a $ b", "_private"]) == [r"a \$ b", " _private"]
    long = [f"gradient boosted trees, {n} leaves" for n in (15, 31)]
    assert max(map(len, shown(long))) <= 26 < len(long[0])
    middle = [f"a ranker whose name differs at {n} and goes on for long" for n in (15, 31)]
    assert len({*shown(middle)}) == 2
    assert shown([]) == []
    ax = ndcg_over_k(Y, {"_private": SCORES}, QID, k_max=2)
    assert len(ax.get_legend().texts) == 1


@pytest.mark.parametrize(("k", "width"), [(2, COLUMN), (12, 6.292), (40, 2 * COLUMN)])
def test_a_matrix_of_many_rankers_takes_two_columns(k, width):
    values = np.random.default_rng(0).normal(size=(20, k))
    result = pairwise_tests(values, [f"a rather long name, {i}" for i in range(k)], test="wilcoxon")
    figure = p_value_matrix(result).figure
    assert figure.get_figwidth() == pytest.approx(width)
    figure.canvas.draw()  # without a warning that there is no room


def test_a_single_query_and_a_single_place_are_drawn():
    ax = ndcg_over_k(Y[:10], {"a": SCORES[:10]}, k_max=1)
    assert len(ax.collections) == 0  # one query has no spread


def test_no_two_lines_look_alike():
    looks = [(look["color"], str(look["linestyle"])) for look in line_styles(40)]
    assert len(set(looks)) == 40


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ndcg_over_k(0 * Y, {"a": SCORES}, QID), "a relevant document; got none"),
        (lambda: ndcg_over_k(Y, {"a": SCORES}, QID, k_max=0), "k_max must be"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("given", [{}, [0.1, 0.2]])
def test_curves_without_names_are_refused(given):
    with pytest.raises((TypeError, ValueError), match=r"propensities must .* by name; got"):
        propensity_curves(given)
    with pytest.raises((TypeError, ValueError), match=r"scores must .* by name; got"):
        ndcg_over_k(Y, given, QID)
