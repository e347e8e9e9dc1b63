"""The examples: each runs, has prose, asserts what it shows, and stands in the gallery."""

import ast
import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
every_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)


def test_the_gallery_lists_every_example():
    gallery = (Path(__file__).parents[1] / "examples" / "README.md").read_text(encoding="utf-8")
    assert EXAMPLES
    listed = re.findall(r"^\| \[(.+?)\]\(\1\)", gallery, re.MULTILINE)
    assert sorted(listed) == [path.name for path in EXAMPLES]


@pytest.mark.slow
@every_example
def test_the_example_runs(path, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


@every_example
def test_the_example_has_a_title_prose_and_an_assertion(path):
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    title, underline, *_ = ast.get_docstring(tree).splitlines()
    assert underline == "=" * len(title)
    assert source.count("# %%\n# ") >= 2
    assert any(isinstance(node, ast.Assert) for node in tree.body)
