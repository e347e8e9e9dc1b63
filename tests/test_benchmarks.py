"""The benchmarks: each is importable without running, and its docstring begins with a question."""

import ast
import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(BENCHMARKS.glob("*.py")) + sorted((BENCHMARKS / "paper").glob("*.py"))
QUESTIONS = sorted(BENCHMARKS.glob("bench_*.py"))
#: Packages of the extra ``bench`` that the tests do without.
OPTIONAL = ("catboost", "ranx", "torch", "xgboost")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_script_can_be_imported(path, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.syspath_prepend(BENCHMARKS / "paper")
    try:
        module = importlib.import_module(path.stem)
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL:
            raise
        pytest.skip(str(error))
    assert Path(module.__file__) == path


@pytest.mark.parametrize("path", QUESTIONS, ids=lambda path: path.stem)
def test_the_benchmark_asks_a_question(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert "?" in ast.get_docstring(tree).splitlines()[0]
    assert any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body)


def test_the_evidence_names_every_benchmark_that_exists():
    text = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in QUESTIONS if f"`{path.name}" not in text] == []
