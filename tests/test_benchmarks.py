"""The benchmarks: each is importable without running, and its docstring begins with a question."""

import ast
import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(BENCHMARKS.glob("*.py")) + sorted((BENCHMARKS / "paper").glob("*.py"))
QUESTIONS = sorted(BENCHMARKS.glob("bench_*.py"))
NEEDED = ("catboost", "pandas", "ranx", "torch", "xgboost")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_script_can_be_imported(path, monkeypatch):
    for package in NEEDED:
        if f"import {package}" in path.read_text(encoding="utf-8"):
            pytest.importorskip(package)
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.syspath_prepend(BENCHMARKS / "paper")
    module = importlib.import_module(path.stem)
    assert Path(module.__file__) == path


@pytest.mark.parametrize("path", QUESTIONS, ids=lambda path: path.stem)
def test_the_benchmark_asks_a_question(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert "?" in ast.get_docstring(tree).splitlines()[0]
    assert any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body)


def test_the_evidence_names_every_benchmark_that_exists():
    text = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in QUESTIONS if f"`{path.name}" not in text] == []
