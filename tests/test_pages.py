"""README, manual and examples: their Python prints what they say, and links lead on.

The build of the manual runs the examples.
"""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

import treerank

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
MANUAL = sorted((ROOT / "docs").rglob("*.md"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
OUTSIDE = re.compile(r"\]\((\w+://[^)]*)\)")
BLOCK = re.compile(
    r"^```python\n(.*?)^```\n((?:(?!^```).)*)(?:^```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL
)
#: What may differ: pairs are summed in the vectors of a processor, and so the last bits of models.
BY_PROCESSOR = re.compile(
    r"\b[A-Za-z_]\w* [+-][\d.]+\d|-?\d\.\d{4}|; about [\d,]+ queries would be needed"
)
ROUNDED = re.compile(r"-?\d\.\d{4}")
#: How much values may differ; regressors of scikit-learn amplify the last bits of their targets.
TOLERANCE = {"any_model.md": 0.02}
NUMBER = re.compile(r"(?<![\w#])\d+(?:\.\d+)?")
SHELL = re.compile(r"^```bash\n(treerank .*?)^```", re.MULTILINE | re.DOTALL)


def python_of(path):
    return BLOCK.findall(path.read_text(encoding="utf-8"))


WITH_PYTHON = [path for path in (README, *MANUAL) if python_of(path)]


def part_of(printed, shown):
    """Return what is printed of the lines and columns that a page shows, and what it shows."""
    lines = [line for line in shown.splitlines() if line]
    starts = tuple(BY_PROCESSOR.sub("", line) for line in lines)
    found = [x for x in printed.splitlines() if BY_PROCESSOR.sub("", x).startswith(starts)]
    cut = [line[: len(start)] for line, start in zip(found, lines, strict=True)]
    return "\n".join(cut), "\n".join(lines)


def assert_same(printed, shown, tolerance):
    assert BY_PROCESSOR.sub("", printed) == BY_PROCESSOR.sub("", shown)
    numbers = [np.array(ROUNDED.findall(text), float) for text in (printed, shown)]
    np.testing.assert_allclose(*numbers, rtol=0, atol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("path", WITH_PYTHON, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_python_of_a_page_prints_what_it_says(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for block, prose, shown in python_of(path):
        exec(compile(block, path.name, "exec"), names)
        printed = capsys.readouterr().out
        if shown and prose.strip():  # which says what is left out
            printed, shown = part_of(printed, shown)
        if shown or path == README:
            assert_same(printed, shown, TOLERANCE.get(path.name, 0.01))


def test_a_block_of_the_readme_imports_only_what_treerank_needs_itself():
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    allowed = {"treerank"} | {
        re.match(r"\w+", each)[0] for each in needed["project"]["dependencies"]
    }
    for block, *_ in python_of(README):
        assert set(re.findall(r"^(?:import|from) (\w+)", block, re.MULTILINE)) <= allowed


def imported(source):
    """Return the packages that Python code imports."""
    nodes = list(ast.walk(ast.parse(source)))
    names = [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    names += [each.name for node in nodes if isinstance(node, ast.Import) for each in node.names]
    return {name.partition(".")[0] for name in names}


def test_pages_and_examples_import_only_what_extras_install():
    """``pip install 'treerank[all,dask]'``, with pandas by dask, and matplotlib for pictures."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["dask"], *extras["docs"]]
    needed += [each for name in ("xgboost", "torch", "onnx", "plot") for each in extras[name]]
    allowed = {re.match(r"[\w-]+", each)[0] for each in needed}
    allowed |= {"pandas", "sklearn", "treerank", *sys.stdlib_module_names}
    for path in EXAMPLES:
        assert imported(path.read_text(encoding="utf-8")) <= allowed, path
    for path in WITH_PYTHON:
        for block, *_ in python_of(path):
            assert imported(block) <= allowed, path


@pytest.mark.slow
def test_the_shell_of_the_readme_runs_line_by_line(tmp_path):
    (block,) = SHELL.findall(README.read_text(encoding="utf-8"))
    for line in block.splitlines():
        line = line.replace("treerank ", f'"{sys.executable}" -m treerank ', 1)
        done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_the_links_of_the_readme_lead_to_files():  # Sphinx checks those of the manual
    text = README.read_text(encoding="utf-8")
    assert LINK.findall(text)
    assert [link for link in LINK.findall(text) if not (ROOT / link).exists()] == []


def test_links_out_are_well_formed_and_the_scheduled_workflow_opens_them():
    texts = [path.read_text(encoding="utf-8") for path in (README, *MANUAL)]
    links = [link for text in texts for link in OUTSIDE.findall(text)]
    assert len(links) > 60
    for link in links:
        parts = urlsplit(link)
        assert parts.scheme == "https", link
        assert re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", parts.netloc), link
        assert re.fullmatch(r"[\w./?#=&%+~:@,;-]+", link, re.ASCII), link
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    jobs = re.split(r"^  (?=\w+:$)", workflow, flags=re.MULTILINE)
    (job,) = (each for each in jobs if "-b linkcheck" in each)
    assert "github.event_name == 'schedule'" in job


def test_what_the_readme_shows_of_hybrid_search_is_on_its_page():  # where it is run
    readme = README.read_text(encoding="utf-8")
    section = readme[readme.index("## Hybrid search") :]
    (printed,) = re.findall(r"^trees and linear model - RRF .*", section, re.MULTILINE)[:1]
    assert printed in (ROOT / "docs" / "guide" / "hybrid.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_picture_of_the_readme_is_what_is_drawn(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import pictures

    explanation = pictures.explained()
    for theme in pictures.THEMES:
        kept = (ROOT / "docs" / "static" / f"pair-{theme}.svg").read_text(encoding="utf-8")
        now = pictures.svg(theme, explanation)
        kept_numbers, numbers = (np.array(NUMBER.findall(text), float) for text in (kept, now))
        assert NUMBER.sub("", kept) == NUMBER.sub("", now)
        np.testing.assert_allclose(kept_numbers, numbers, atol=2)  # pixels; processors round


def test_the_pages_of_guide_how_and_move_open_with_a_picture_or_an_output():
    pages = [path for path in MANUAL if path.parent.name in ("guide", "how", "move")]
    assert len(pages) > 20
    for path in pages:
        start = "\n".join(path.read_text(encoding="utf-8").splitlines()[:40])
        assert re.search(r"^```(\{diagram\}|\{plot\}|\{image\}|text)", start, re.MULTILINE), path


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_has_a_title_prose_and_an_assertion(path):
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    title, underline, *_ = ast.get_docstring(tree).splitlines()
    assert underline == "=" * len(title)
    assert source.count("# %%\n# ") >= 2
    assert any(isinstance(node, ast.Assert) for node in tree.body)


def test_the_page_on_citing_has_the_version():
    page = (ROOT / "docs" / "project" / "citing.md").read_text(encoding="utf-8")
    assert f"version = {{{treerank.__version__}}}" in page


def test_each_sentence_on_security_has_a_test():
    page = (ROOT / "docs" / "how" / "security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/\S+)::(\w+)`", page)
    assert len(named) > 10
    for path, test in named:
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8")
