"""Laws on results: how they show themselves in shells, notebooks and plots."""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from html.parser import HTMLParser

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from shown_results import DRAWN, NEVER_EMPTY, RESULTS
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator

import treerank
from treerank.display.results import ColumnTable, Shown
from treerank.reports import Report

mpl.use("agg")
#: Names of features, rankers and queries that are hard to show.
NAMES = {
    "plain": "bm25",
    "script": "<script>alert('1')</script>",
    "formula": r"$\frac{price$ & $_{2}$",
    "underscore": "_hidden",
    "lines": "two\nlines\tand \x00 more",
    "long": "description of the product " * 30,
    "unicode": "größe \N{GREEK SMALL LETTER SIGMA} «é»",
    "surrogate": "\udcff",
    "empty": "",
}
SIZES = [0, 1, 3, 500]
#: Packages whose classes are settings or parts of models, not results.
SETTINGS = ("treerank.metrics", "treerank.objectives", "treerank.feature_parts")
CASES = [
    (cls, name, n)
    for cls in RESULTS
    for name, n in [*((name, 3) for name in NAMES), *(("script", n) for n in SIZES if n != 3)]
    if n or cls not in NEVER_EMPTY
]


def result_of(cls, name, n):
    return RESULTS[cls](NAMES[name], n)


def by_case(cls, name, n):
    return pytest.param(cls, name, n, id=f"{cls.__name__}-{name}-{n}")


def public_results():
    """Return the classes that show their values, and those exported that are no settings."""
    modules = {m.name: m.ispkg for m in pkgutil.walk_packages(treerank.__path__, "treerank.")}
    exported, shown = set(), set()
    for name, is_package in modules.items():
        if name.endswith("__main__"):
            continue
        module = importlib.import_module(name)
        if is_package and not name.startswith(SETTINGS):
            exported |= {getattr(module, name) for name in getattr(module, "__all__", [])}
        classes = filter(inspect.isclass, vars(module).values())
        shown |= {cls for cls in classes if hasattr(cls, "_repr_html_")}
    of_estimators = (BaseEstimator, BaseCrossValidator)
    return {
        cls
        for cls in exported | shown
        if inspect.isclass(cls)
        and cls.__module__.startswith("treerank.")
        and not cls.__module__.startswith(SETTINGS)
        and not issubclass(cls, of_estimators)
        and cls not in (Shown, ColumnTable)  # bases of results
    }


def test_every_public_result_has_a_maker_and_every_plot_a_law():
    assert public_results() == set(RESULTS)
    assert {cls for cls in RESULTS if hasattr(cls, "plot")} == set(DRAWN)
    assert all(hasattr(cls, "chart") for cls in DRAWN)


@pytest.mark.parametrize(("cls", "name", "n"), [by_case(*case) for case in CASES])
def test_a_shell_shows_a_result_in_25_lines_of_100_columns(cls, name, n):
    lines = repr(result_of(cls, name, n)).splitlines()
    assert 1 <= len(lines) <= 25
    assert max(map(len, lines)) <= 100
    assert "\n".join(lines).isprintable() or len(lines) > 1
    assert all(line.isprintable() for line in lines)


class Checker(HTMLParser):
    """Notes tags that are not closed in order, and those that are not harmless."""

    def __init__(self):
        super().__init__()
        self.open, self.tags = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


ALLOWED = {"b", "br", "caption", "code", "div", "p", "table", "tbody", "td", "th", "thead", "tr"}


@pytest.mark.parametrize(("cls", "name", "n"), [by_case(*case) for case in CASES])
def test_a_notebook_shows_a_result_as_small_escaped_html(cls, name, n):
    shown = result_of(cls, name, n)._repr_html_()
    checker = Checker()
    checker.feed(shown)
    checker.close()
    assert checker.open == []
    shown.encode()  # a notebook writes it as UTF-8
    if cls is Report:  # a page of its own, in a frame
        return
    assert set(checker.tags) <= ALLOWED
    assert shown.count("<tr>") <= 25 or cls.__name__ in ("Comparison", "Summary")
    assert len(shown) < 20_000 or cls.__name__ in ("Comparison", "Summary")
    assert not re.search(r"(?<!-)color:|background:(?!#0072b2|#d55e00)", shown)  # of either theme


@pytest.fixture(autouse=True)
def no_figure_left():
    """See to it that nothing but the test makes or closes figures, or changes settings."""
    settings = dict(mpl.rcParams)
    yield
    assert plt.get_fignums() == []
    assert dict(mpl.rcParams) == settings


PLOTS = [case for case in CASES if case[0] in DRAWN]


def drawn_rows(ax):
    """Return the estimates and the ends of the lines of a forest plot, by row."""
    points, lines = {}, {}
    for line in ax.lines:
        x, y = line.get_data()
        if len(x) == 1:
            points[int(y[0])] = float(x[0])
        elif y[0] == y[1]:
            lines[int(y[0])] = tuple(map(float, x))
    assert points.keys() == lines.keys()
    return [[points[row], *lines[row]] for row in sorted(points)]


@pytest.mark.parametrize(("cls", "name", "n"), [by_case(*case) for case in PLOTS])
def test_a_plot_draws_the_numbers_of_the_result_on_the_given_axes(cls, name, n):
    result, (kind, expected_of) = result_of(cls, name, n), DRAWN[cls]
    expected, figure = expected_of(result), Figure()
    ax = figure.subplots()
    assert result.plot(ax) is ax
    assert result.plot(ax=figure.subplots()) is figure.axes[-1]
    if kind == "rows":
        rows = np.array(drawn_rows(ax)).reshape(-1, 3)
        assert rows == pytest.approx(np.array(expected).T.reshape(-1, 3), nan_ok=True)
    elif kind == "bars":
        widths = [bar.get_width() for bar in ax.patches]
        assert widths == pytest.approx(list(expected))
        ends = np.cumsum(np.append(0.0, widths))
        assert [bar.get_x() for bar in ax.patches] == pytest.approx(ends[:-1])
        assert ends[-1] == pytest.approx(np.asarray(result)[0].sum())
    else:
        expected = [each for each in expected if len(each[0])]
        for line, (x, y) in zip(ax.lines, expected, strict=False):
            assert line.get_xdata() == pytest.approx(np.array(x))
            assert line.get_ydata() == pytest.approx(np.array(y), nan_ok=True)
        assert len(ax.lines) == len(expected) + (cls.__name__ == "CalibrationCurve" and n > 0)
    figure.draw_without_rendering()  # with every name in it


@pytest.mark.parametrize("cls", DRAWN, ids=lambda cls: cls.__name__)
def test_a_plot_without_axes_makes_one_transparent_figure(cls):
    ax = result_of(cls, "plain", 3).plot()
    try:
        assert plt.get_fignums() == [ax.figure.number]
        assert (ax.figure.patch.get_alpha(), ax.patch.get_alpha()) == (0, 0)
        texts = [*ax.get_xticklabels(), *ax.get_yticklabels(), ax.title, ax.xaxis.label]
        colors = {mpl.colors.to_hex(text.get_color()) for text in texts}
        (gray,) = colors
        for theme in ("#ffffff", "#131416"):
            assert contrast(gray, theme) >= 4
    finally:
        plt.close(ax.figure)


def contrast(*colors):
    """Return the contrast of two colors, as WCAG 2 defines it."""
    channels = [np.array(mpl.colors.to_rgb(color)) for color in colors]
    linear = [np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) for c in channels]
    low, high = sorted(float(c @ [0.2126, 0.7152, 0.0722]) for c in linear)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("cls", DRAWN, ids=lambda cls: cls.__name__)
def test_without_matplotlib_a_plot_says_what_to_install(cls, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"plot needs matplotlib: pip install 'treerank\[plot\]'"):
        result_of(cls, "plain", 3).plot()


@pytest.mark.slow
def test_matplotlib_is_imported_where_something_is_plotted():
    code = (
        "import sys, treerank.inspection, treerank.evaluation, treerank.reports, treerank.rankers\n"
        "treerank.progress.LearningCurves; treerank.inspection.importance.Importances\n"
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n"
