"""The manual's search, in Chromium: a word of the field finds its page first.

Build it first: ``sphinx-build docs build/docs``.
"""

import shutil
from pathlib import Path

import pytest

api = pytest.importorskip("playwright.sync_api")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None)
MANUAL = Path(__file__).parents[1] / "build" / "docs"
pytestmark = [pytest.mark.slow, pytest.mark.browser]
if CHROMIUM is None or not (MANUAL / "index.html").exists():
    pytest.skip("no Chromium, or no manual in build/docs", allow_module_level=True)
#: The page that answers each query.
PAGES = {
    "position bias": "guide/clicks.html",
    "linear model": "guide/rankers.html",
    "feature importance": "guide/explain.html",
    "partial dependence": "guide/explain.html",
    "learning curve": "guide/validation.html",
    "hyperparameter": "guide/rankers.html",
    "cross-validation": "guide/validation.html",
    "overfitting": "guide/validation.html",
    "reciprocal rank fusion": "guide/reranking.html",
    "hybrid search": "guide/hybrid.html",
    "LLM-as-a-judge": "guide/llm.html",
    "LLM judgments": "guide/llm.html",
    "RAG": "guide/rag.html",
    "retrieval-augmented generation": "guide/rag.html",
    "reranking": "guide/reranking.html",
    "judgment list": "guide/data.html",
    "calibration": "guide/explain.html",
    "confidence interval": "guide/comparing.html",
    "how many queries": "guide/comparing.html",
    "hyperparameter tuning": "guide/rankers.html",
    "larger than memory": "guide/scale.html",
    "cold start": "guide/recommender.html",
    "clicks and purchases": "guide/clicks.html",
    "unjudged documents": "guide/data.html",
    "trec_eval": "guide/validation.html",
    "reproduce the papers": "project/citing.html",
    "add a metric": "project/contributing.html",
}


@pytest.fixture(scope="module")
def tab():
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.route(lambda url: not url.startswith("file:"), lambda route: route.abort())
        yield page
        browser.close()


@pytest.mark.parametrize("query", PAGES)
def test_the_first_result_is_the_page_that_answers(tab, query):
    tab.goto((MANUAL / "search.html").as_uri() + "?q=" + query.replace(" ", "+"))
    tab.wait_for_selector("#search-results ul.search li a")
    tab.wait_for_function("document.querySelector('#search-results p.search-summary')")
    first = tab.eval_on_selector("#search-results ul.search li a", "link => link.href")
    assert PAGES[query] in first
