"""The README: its Python runs as it stands, it fits on a page, and links lead to files."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
LINK = re.compile(r"\]\(([^)#]+)\)")
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```bash\n(treerank .*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_python_of_the_readme_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(README.read_text(encoding="utf-8"))
    assert blocks
    names = {"__name__": "readme"}
    for block, printed in blocks:
        exec(compile(block, "README.md", "exec"), names)
        assert capsys.readouterr().out == printed


def test_a_block_imports_only_what_treerank_needs_itself():
    needed = tomllib.loads((README.parent / "pyproject.toml").read_text(encoding="utf-8"))
    allowed = {"treerank"} | {
        re.match(r"\w+", each)[0] for each in needed["project"]["dependencies"]
    }
    for block, _ in BLOCK.findall(README.read_text(encoding="utf-8")):
        assert set(re.findall(r"^(?:import|from) (\w+)", block, re.MULTILINE)) <= allowed


@pytest.mark.slow
def test_the_shell_of_the_readme_runs_line_by_line(tmp_path):
    (block,) = SHELL.findall(README.read_text(encoding="utf-8"))
    for line in block.splitlines():
        line = line.replace("treerank ", f'"{sys.executable}" -m treerank.cli ', 1)
        done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("qid\tdocument\trank\tscore\n")


def test_the_readme_is_one_page():
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize("folder", ["", "examples", "benchmarks"])
def test_links_lead_to_files(folder):
    path = README.parent / folder / "README.md"
    links = LINK.findall(path.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (path.parent / link).exists()] == []
