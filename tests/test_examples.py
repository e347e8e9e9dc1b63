"""The examples have prose and assert what they show. The build of the manual runs them."""

import ast
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_has_a_title_prose_and_an_assertion(path):
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    title, underline, *_ = ast.get_docstring(tree).splitlines()
    assert underline == "=" * len(title)
    assert source.count("# %%\n# ") >= 2
    assert any(isinstance(node, ast.Assert) for node in tree.body)
