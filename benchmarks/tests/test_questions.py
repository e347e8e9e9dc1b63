"""Every question runs on tiny data, and the page says what the kept rows say."""

import importlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from random_logs import random_log

from benchmarks import __main__ as command
from benchmarks import clicks, drawing, measurements, page, phases, processes
from benchmarks.questions import QUESTIONS, best, fit_time, module_of, values_by
from benchmarks.questions.hybrid import ALL_COLUMNS, BLEND, DRAWS
from treerank import TreeDirectRanker
from treerank.cli.fit import _HELP

#: Questions whose quick form starts processes of its own.
LONG = ("fit_time", "scale", "workers", "reading")
QUICK = [
    pytest.param(question, marks=pytest.mark.nightly if question in LONG else ())
    for question in QUESTIONS
]
PAPER = sorted((measurements.HERE / "paper").glob("*.py"))
#: Packages of the extra ``bench`` that the tests do without.
OPTIONAL = ("catboost", "ranx", "torch", "xgboost", "onnxruntime", "treelite", "dask")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("question", QUICK)
def test_a_question_runs_on_tiny_data_and_its_rows_are_whole(question, capsys):
    module = module_of(question)
    assert module.__doc__
    assert module.TITLE.endswith("?")
    rows = command.run(question, measurements.Options(quick=True))
    assert rows
    keys = [json.dumps(row["conditions"], sort_keys=True) for row in rows]
    assert len(set(keys)) == len(keys)
    for row in rows:
        assert set(row) == {"conditions", "values", "environment"}
        assert row["values"]
        assert set(row["environment"]) == {"commit", "date", "machine", "versions", "others"}
        json.dumps(row, allow_nan=False)


def test_the_page_its_charts_and_readme_are_those_that_the_kept_rows_draw():
    files = page.make()
    for path, text in files.items():
        assert path.read_text(encoding="utf-8") == text, f"python -m benchmarks page: {path}"
    kept = set((page.DOCS / "static").glob("evidence-*.svg"))
    assert kept == {path for path in files if path.suffix == ".svg"}


def other(value):
    """Return another number; texts and truth values as they are."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return value * 0.9 if isinstance(value, float) else value + 1


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_changed_row_changes_the_page(question, monkeypatch):
    rows = measurements.read_rows(question)
    if module_of(question).IS_TIMING:
        rows = [row for row in rows if page.is_quiet(row)]
    if not rows:
        pytest.skip("no row is kept")
    before = page.Page().add(question)
    changed = []
    for row in rows:
        values = {name: other(value) for name, value in row["values"].items()}
        changed.append(row | {"values": values})
    monkeypatch.setattr(page, "read_rows", lambda name: changed)
    assert page.Page().add(question) != before


GUIDES = [path for path in page.make() if path.suffix == ".md" and path.name != "evidence.md"]


def test_passages_stand_in_readme_and_in_guides():
    named = {path.name for path in GUIDES}
    guides = {"rankers.md", "hybrid.md", "llm.md", "machines.md", "trees.md", "validation.md"}
    assert named == {"README.md"} | guides


def test_the_model_of_more_threads_divides_what_two_threads_divide():
    one = dict.fromkeys((*fit_time.STEPS, "rest", "LGBMRanker"), 3.0)
    two = one | {"bins": 2.0, "trees": 1.2, "packing": 3.5}  # 1 + 2 / n, 2.4 / n, never slower
    found = fit_time.seconds_with(one, two, 4)
    assert [found[name] for name in ("bins", "trees", "packing")] == pytest.approx([1.5, 0.6, 3.5])
    assert found["seconds"] == pytest.approx(1.5 + 0.6 + 3.5 + 3 * 3.0)


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_a_changed_row_changes_each_passage(path, monkeypatch):
    def lower(value):
        return 0.9 * value - 0.05 if isinstance(value, float) else other(value)

    def changed(question):
        return [
            row | {"values": {name: lower(value) for name, value in row["values"].items()}}
            for row in measurements.read_rows(question)
        ]

    text = path.read_text(encoding="utf-8")
    before = [match[0] for match in page.PASSAGE.finditer(text)]
    monkeypatch.setattr(page, "read_rows", changed)
    after = [match[0] for match in page.PASSAGE.finditer(page.with_passages(text))]
    assert len(before) == len(after) == text.count("<!-- evidence: ")
    for old, new in zip(before, after, strict=True):
        (question,) = re.findall(r"evidence: (\w+)\.", old)
        is_measured = "No measurement is kept" not in old
        assert (old != new) == is_measured, question


def test_the_guide_on_hybrid_search_says_what_rows_show():
    """Its words, beside the tables: each fusion in "fields" is worse than the first retriever."""
    rows = measurements.read_rows("hybrid")
    free = values_by(rows, "method", world="fields")
    fusions = [method for method in free if method.startswith(("RRF", "sum"))]
    assert len(fusions) > 5
    assert all(free[method]["ndcg"] < free["title"]["ndcg"] for method in fusions)
    blend = [values_by(rows, "method", world="fields", judged=n, draws=d) for n, d in DRAWS.items()]
    for found in blend:
        others = [v["ndcg"] for m, v in found.items() if m not in (BLEND, ALL_COLUMNS)]
        assert found[BLEND]["ndcg"] > max(others)


def test_the_cost_of_best_is_said_alike():
    times = best.times_text(measurements.read_rows("best"))
    assert times in TreeDirectRanker.best.__doc__
    assert times in _HELP["best"]


def test_readme_and_page_give_no_figure_of_a_benchmark_that_is_not_kept():
    text = (page.DOCS / "evidence.md").read_text(encoding="utf-8")
    assert page.INTRODUCTION in text
    said = re.findall(r"python -m benchmarks (\w+)", text)
    assert set(said) == {*QUESTIONS, "page"}


def test_times_of_a_busy_machine_are_not_shown(monkeypatch):
    assert not page.is_quiet({"environment": {"others": 1.5}})
    assert not page.is_quiet({"environment": {"others": None}})
    assert not page.is_quiet({"environment": {}})
    assert page.is_quiet({"environment": {"others": 0.03}})


@pytest.mark.parametrize(
    ("clocks", "others"),
    [
        ([(0, 10, 4), (2, 13, 6)], 0.5),  # of 3 seconds in 2, this program used 2
        ([(0, 10, 4), (2, 12, 6.1)], 0.0),  # clocks differ a little
        ([(0, 10, 4), (0, 10, 4)], 0.25),  # measured already, with another row
        ([None, None], None),
    ],
)
def test_a_row_says_what_other_programs_did_meanwhile(clocks, others, monkeypatch):
    monkeypatch.setattr(measurements, "_LAST", [0.25])
    monkeypatch.setattr(measurements, "_busy_seconds", lambda: clocks.pop(0))
    row = measurements.row_of(measurements.Measurement({"data": "a"}, lambda: {"x": 1.0}))
    assert row["environment"]["others"] == others


def test_the_system_counts_this_program_among_all():
    if (before := measurements._busy_seconds()) is None:
        pytest.skip("the system does not say")
    sum(range(10**7))
    after = measurements._busy_seconds()
    of_all, own = after[1] - before[1], after[2] - before[2]
    assert of_all >= own - 0.05 > 0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux says it there")
def test_the_peak_of_a_process_leaves_out_what_the_process_that_started_it_used():
    source = "from benchmarks.processes import peak_MB; print(peak_MB())"
    large = np.ones(50_000_000)
    (peak,) = processes.run(source)
    assert 1 < float(peak) < 200 < large.nbytes / 1e6


def test_a_row_replaces_that_of_the_same_conditions(tmp_path):
    path = tmp_path / "question.jsonl"
    for value in (1, 2):
        for name in ("a", "b"):
            row = {"conditions": {"data": name}, "values": {"x": value}, "environment": {}}
            measurements.write_row(path, row)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert values_by(rows, "data") == {"a": {"x": 2}, "b": {"x": 2}}
    one = measurements.Measurement({"data": "a"}, dict)
    other = measurements.Measurement({"data": "c"}, dict)
    assert list(measurements.missing([one, other, other], rows)) == [other]


def test_a_cell_of_a_table_holds_one_number():
    text = (page.DOCS / "evidence.md").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("|"):
            cells = line.strip("|").split(" | ")
            assert len(cells) <= 8, line
            for cell in cells[1:]:
                assert len(re.findall(r"(?<![\w.,])[+−]?\.\d+", cell)) <= 1, line


def test_an_interval_is_drawn_between_its_ends():
    chart = drawing.intervals("alt", {"a": {"x": (0.5, 0.0, 1.0)}}, "lead")
    svg = chart.svg("light")
    (x1, x2) = re.search(r'<line x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)".*#0072B2', svg).groups()
    (center,) = re.findall(r'circle cx="([\d.]+)"', svg)
    assert (float(x1) + float(x2)) / 2 == pytest.approx(float(center), abs=0.1)
    assert float(x1) == drawing.LABELS
    assert float(x2) == drawing.WIDTH - drawing.RIGHT
    assert "a, x: 0.5 (0 to 1)" in svg


def test_every_module_says_what_it_holds():
    for path in Path(measurements.HERE).glob("*.py"):
        assert path.read_text(encoding="utf-8").startswith('"""'), path


def test_a_drawn_click_that_ends_all_interest_is_the_only_one_of_its_session():
    log = random_log(300)
    y = np.arange(log.items.document.max() + 1) % 4
    drawn = clicks.drawn_clicks(log, y, 0.0, np.random.default_rng(0), after_click=0.0)
    assert np.bincount(drawn.session[drawn.clicked], minlength=300).max() == 1


@pytest.mark.slow
@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.stem)
def test_a_script_of_the_papers_can_be_imported(path, monkeypatch):
    monkeypatch.syspath_prepend(path.parent)
    try:
        module = importlib.import_module(path.stem)
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL:
            raise
        pytest.skip(str(error))
    assert Path(module.__file__) == path


def test_phases_of_a_fit_are_timed():
    found = phases.measured(60, 3)
    parts = ("binning", "packing", "filling histograms", "partitioning")
    assert 0 < sum(found[name] for name in parts) < found["seconds"]
    assert all(found[name] > 0 for name in parts)
    assert 0.05 < found["nanoseconds an update"] < 50
    assert found["million updates a tree"] > 60 * 100 * 136 / 1e6  # the root has all documents
