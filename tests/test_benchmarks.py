"""The benchmarks: each is importable without running, and its docstring begins with a question."""

import ast
import importlib
from pathlib import Path

import numpy as np
import pytest

from treerank.datasets.web_search import make_web_search

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


#: Number of trees of a model, as its engine counts them.
COUNTS = {
    "LGBMRanker lambdarank": lambda ranker: ranker.booster_.num_trees(),
    "XGBRanker rank:ndcg": lambda ranker: ranker.get_booster().num_boosted_rounds(),
    "CatBoostRanker YetiRank": lambda ranker: ranker.tree_count_,
    "TreeDirectRanker()": lambda ranker: ranker.feature_part_.booster_.num_trees(),
}


@pytest.mark.filterwarnings("ignore:The argument 'eval_set'")  # LightGBM 4.6 knows no other one
@pytest.mark.parametrize("label", COUNTS)
def test_refitted_rankers_learn_from_all_with_the_trees_that_validation_chose(label, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    pytest.importorskip("catboost")
    pytest.importorskip("xgboost")
    bench_best, rankers = map(importlib.import_module, ("bench_best", "quality_rankers"))
    monkeypatch.setattr(rankers, "TREES", 20)
    X, y, qid = make_web_search(30, documents_per_query=10, random_state=0)
    train, valid, other = ((X[c], y[c], qid[c]) for c in (qid < 20, qid >= 20, qid >= 25))
    stopped = bench_best.STOPPED[label](train, valid, 0).__self__
    n_trees = rankers.N_TREES[type(stopped)](stopped)
    refitted = bench_best.REFITTED[f"{label}, refitted"](train, valid, 0)
    monkeypatch.setattr(rankers, "TREES", n_trees)
    fit_to_all, fit_to_part = (
        bench_best.STOPPED[label](rankers.joined(train, part), None, 0) for part in (valid, other)
    )
    assert COUNTS[label](refitted.__self__) == n_trees
    np.testing.assert_array_equal(refitted(X), fit_to_all(X))
    assert not np.array_equal(refitted(X), fit_to_part(X))
