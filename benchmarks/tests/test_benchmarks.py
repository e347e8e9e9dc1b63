"""The benchmarks: scripts that ask one question each, and a page of evidence that names them."""

import ast
import importlib
import re
from pathlib import Path

import numpy as np
import pytest
from random_logs import random_log

from treerank.datasets.web_search import make_web_search

BENCHMARKS = Path(__file__).parents[1]
SCRIPTS = sorted(BENCHMARKS.glob("*.py")) + sorted((BENCHMARKS / "paper").glob("*.py"))
QUESTIONS = sorted(BENCHMARKS.glob("bench_*.py"))
#: Packages of the extra ``bench`` that the tests do without.
OPTIONAL = ("catboost", "ranx", "torch", "xgboost")


@pytest.mark.slow
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
def test_the_benchmark_is_documented_and_runs_only_when_it_is_started(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    assert any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body)
    assert isinstance(tree.body[-1], ast.If)
    assert ast.unparse(tree.body[-1].test) == "__name__ == '__main__'"


def test_the_evidence_is_a_page_that_names_every_benchmark_and_no_other():
    text = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:paper/)?(\w+\.py)", text))
    assert {path.name for path in QUESTIONS} <= named <= {path.name for path in SCRIPTS}


#: Number of trees of a model, as its engine counts them.
COUNTS = {
    "LGBMRanker lambdarank": lambda ranker: ranker.booster_.num_trees(),
    "XGBRanker rank:ndcg": lambda ranker: ranker.get_booster().num_boosted_rounds(),
    "CatBoostRanker YetiRank": lambda ranker: ranker.tree_count_,
    "TreeDirectRanker()": lambda ranker: ranker.feature_part_.booster_.num_trees(),
}


def test_a_drawn_click_that_ends_all_interest_is_the_only_one_of_its_session(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    clicks = importlib.import_module("click_rankers").drawn_clicks
    log = random_log(300)
    y = np.arange(log.items.document.max() + 1) % 4
    drawn = clicks(log, y, 0.0, np.random.default_rng(0), after_click=0.0)
    assert np.bincount(drawn.session[drawn.clicked], minlength=300).max() == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The argument 'eval_set'")  # LightGBM 4.6 knows no other one
@pytest.mark.parametrize("label", COUNTS)
def test_refitted_rankers_learn_from_all_with_the_trees_that_validation_chose(label, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    pytest.importorskip("catboost")
    pytest.importorskip("xgboost")
    names = ("best_rankers", "quality_rankers", "refit")
    best, rankers, refit = map(importlib.import_module, names)
    monkeypatch.setattr(rankers, "TREES", 20)
    X, y, qid = make_web_search(30, documents_per_query=10, random_state=0)
    train, valid, other = ((X[c], y[c], qid[c]) for c in (qid < 20, qid >= 20, qid >= 25))
    stopped = best.STOPPED[label](train, valid, 0).__self__
    n_trees = refit.N_TREES[type(stopped)](stopped)
    refitted = best.REFITTED[f"{label}, refitted"](train, valid, 0)
    monkeypatch.setattr(rankers, "TREES", n_trees)
    fit_to_all, fit_to_part = (
        best.STOPPED[label](refit.joined(train, part), None, 0) for part in (valid, other)
    )
    assert COUNTS[label](refitted.__self__) == n_trees
    np.testing.assert_array_equal(refitted(X), fit_to_all(X))
    assert not np.array_equal(refitted(X), fit_to_part(X))
