import re

import numpy as np

from treerank.display.charts import Curve, Curves
from treerank.reports.charts import histogram, line_chart, sorted_differences, ticks
from treerank.reports.dots import Dot, dot_table


def test_ticks_are_within_the_range():
    for low, high in [(-3.2, 7.9), (0.001, 0.0011), (0, 12345), (5, 5)]:
        found = ticks(low, high)
        assert 1 <= len(found) <= 8
        assert low - 1e-9 <= found[0] <= found[-1] <= high + 1e-9


def curves(points, x="x", y="y", **look):
    """Return the curves of (x, y) or (x, y, low, high) by name."""
    drawn = [Curve(name, *map(np.array, values)) for name, values in points.items()]
    return Curves(tuple(drawn), x=x, y=y, **look)


def test_points_of_a_chart_stay_in_it():
    chart = line_chart("t", curves({"a": ([1, 9], [5, 5]), "b": ([4], [2])}))
    places = [tuple(map(float, p.split(","))) for p in re.findall(r"[\d.]+,[\d.]+", chart)]
    width, height = map(float, re.search(r'viewBox="0 0 (\d+) (\d+)"', chart).groups())
    assert all(0 <= x <= width and 0 <= y <= height for x, y in places)
    assert chart.count("<circle") == 3
    intervals = line_chart("t", curves({"a": ([1, 9], [5, 5], [4, 3], [6, 5])}))
    assert intervals.count("<polyline") == 1 + 2
    assert "upper end</th>" not in chart
    assert "upper end</th>" in intervals


def bands(chart):
    """Return left edge, width and text of each band of a chart."""
    pattern = r'<rect x="([\d.]+)" width="([\d.]+)"[^>]*class="band"><title>(.*?)</title>'
    return [(float(x), float(width), text) for x, width, text in re.findall(pattern, chart)]


def test_the_bands_of_a_line_are_around_its_points_and_tell_all_lines():
    chart = line_chart("t", curves({"a": ([0, 1, 4], [5, 6, 7]), "b": ([4], [2])}, x="k"))
    found = bands(chart)
    assert [text for *_, text in found] == ["k 0: a 5", "k 1: a 6", "k 4: a 7, b 2"]
    circles = [float(x) for x in re.findall(r'cx="([\d.]+)"', chart)][:3]
    for x, (left, width, _) in zip(circles, found, strict=True):
        assert left - 0.1 <= x <= left + width + 0.1
    edges = [(left, left + width) for left, width, _ in found]
    np.testing.assert_allclose([end for _, end in edges[:-1]], [left for left, _ in edges[1:]])


def test_long_curves_are_thinned_and_keep_their_ends():
    n = 5000
    chart = line_chart("t", curves({"a": (np.arange(n), np.arange(n))}))
    assert len(chart) < 40_000
    assert "<title>x 4999: y 4999</title>" in chart
    assert "<title>x 0: y 0</title>" in chart
    assert "<circle" not in chart


def test_an_axis_of_large_ratio_is_logarithmic_where_it_may_be():
    curve = curves({"a": ([1, 10, 100, 1000], [0, 1, 2, 3])})
    chart = line_chart("t", curve, may_be_log=True)
    x = [float(v) for v in re.findall(r'cx="([\d.]+)"', chart)]
    np.testing.assert_allclose(np.diff(x), np.diff(x)[0], atol=0.2)
    for text in ("1", "10", "100", "1,000"):
        assert f">{text}</text>" in chart
    plain = line_chart("t", curve)
    assert np.ptp(np.diff([float(v) for v in re.findall(r'cx="([\d.]+)"', plain)])) > 100


def heights(chart):
    """Return the y of each dot: a small one is near the top."""
    return [float(y) for y in re.findall(r'cy="([\d.]+)"', chart)]


def test_ranks_have_the_best_at_the_top():
    ranks = {"rank": ([1, 2, 3], [7.0, 4.0, 1.0])}
    up = heights(line_chart("t", curves(ranks)))
    assert up == sorted(up)
    down = heights(line_chart("t", curves(ranks, is_inverted=True)))
    assert down == up[::-1]


def test_an_axis_may_begin_at_0_and_points_without_a_value_are_left_out():
    shares = {"a": ([1, 2, 3, 4], [0.5, np.nan, 0.25, 0.4])}
    chart = line_chart("t", curves(shares, from_zero=True))
    assert ">0</text>" in chart
    assert ">0</text>" not in line_chart("t", curves(shares))
    assert [text for *_, text in bands(chart)] == ["x 1: y 0.5", "x 3: y 0.25", "x 4: y 0.4"]
    assert line_chart("t", curves({"a": ([1], [np.nan])})) == ""


def test_a_histogram_tells_shares():
    chart = histogram("t", {"a": np.array([0.0, 0.0, 1.0, 0.5])}, x="v", x_range=(0, 1))
    texts = [text for *_, text in bands(chart)]
    assert len(texts) == 20
    assert texts[0] == "v 0 to 0.05: a 50.0 %"
    assert texts[-1] == "v 0.95 to 1: a 25.0 %"


def test_many_differences_are_bands_of_several_queries():
    gaps = np.random.default_rng(0).permutation(np.arange(-500, 1000) / 1000)
    chart = sorted_differences("t", gaps, x="queries", y="gap", name_of=str)
    texts = [text for *_, text in bands(chart)]
    assert len(texts) == 60
    assert texts[0] == "queries 1 to 25 of 1,500: +0.9990 to +0.9750"
    assert "won 999, equal 1, lost 500; from +0.9990 to -0.5000" in chart
    assert len(chart) < 25_000
    lost = sorted_differences(
        "t", np.array([-0.5, -0.25]), x="q", y="gap", name_of="ab".__getitem__
    )
    assert [text for *_, text in bands(lost)] == ["b: -0.2500", "a: -0.5000"]
    assert 'class="fill plus"' not in lost.partition("</svg>")[0]
    y = [float(v) for v in re.findall(r"[\d.-]+,([\d.-]+)", lost.partition("</svg>")[0])]
    assert min(y) >= 12  # the line at 0 is in the chart, at its top


def test_dots_of_a_column_are_on_one_scale():
    rows = [["a", Dot(0.1, 0.0, 0.2)], ["b", Dot(-0.2, -0.2, -0.1)], ["c", ""]]
    shown = dot_table("t", ["name", "gap"], rows)
    at = [float(x) for x in re.findall(r'cx="([\d.]+)%"', shown)]
    zero = {float(x) for x in re.findall(r'x1="([\d.]+)%"[^>]*class="zero"', shown)}
    # From -0.2 to 0.2, and a twentieth of that at either end.
    np.testing.assert_allclose(at, [100 * 0.32 / 0.44, 100 * 0.02 / 0.44], atol=0.06)
    assert zero == {50.0}
    assert re.findall(r'class="dot (\w+)"', shown) == ["none", "minus"]
    alone = dot_table("t", ["name", "gap"], rows[:1], scaled_by=rows)
    assert float(re.search(r'cx="([\d.]+)%"', alone)[1]) == at[0]
    assert 'class="zero"' not in dot_table("t", ["name", "gap"], rows, zero=False)
