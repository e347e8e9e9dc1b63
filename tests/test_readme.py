"""The README: its Python runs as it stands, it fits on a page, and links lead to files."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
LINK = re.compile(r"\]\(([^)#]+)\)")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(README.read_text(encoding="utf-8"))
    assert blocks
    names = {"__name__": "readme"}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)


def test_the_readme_is_one_page():
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 130
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize("folder", ["", "examples", "benchmarks"])
def test_links_lead_to_files(folder):
    path = README.parent / folder / "README.md"
    links = LINK.findall(path.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (path.parent / link).exists()] == []
