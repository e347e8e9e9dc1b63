"""The manual in Chromium: no fault that axe finds, and nothing scrolls sideways on a phone.

Build it first: ``sphinx-build docs build/docs``.
"""

import shutil
from pathlib import Path

import pytest

api = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None)
MANUAL = Path(__file__).parents[1] / "build" / "docs"
pytestmark = [pytest.mark.slow, pytest.mark.browser]
if CHROMIUM is None or not (MANUAL / "index.html").exists():
    pytest.skip("no Chromium, or no manual in build/docs", allow_module_level=True)
PAGES = sorted(
    path.relative_to(MANUAL)
    for path in MANUAL.rglob("*.html")
    if path.parent.name not in ("names", "_downloads")
)
#: A page of each kind: the theme makes all others of a kind in the same way.
KINDS = (
    *("index", "start", "search", "api", "evidence", "guide/production", "gallery/index"),
    *("gallery/quickstart", "generated/names/treerank.TreeDirectRanker"),
)
WIDTHS = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"


@pytest.fixture(scope="module")
def tab():
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.route(lambda url: not url.startswith("file:"), lambda route: route.abort())
        yield page
        browser.close()


def visited(tab, pages, width):
    """Yield the address of each page, and open it at a width."""
    tab.set_viewport_size({"width": width, "height": 900})
    for page in pages:
        tab.goto((MANUAL / page).as_uri())
        yield str(page)


def test_axe_finds_no_fault(tab):
    checker, faults = axe.Axe(), []
    for page in visited(tab, [f"{name}.html" for name in KINDS], 1400):
        found = checker.run(tab).response["violations"]
        faults += [(page, each["id"], each["nodes"][0]["html"]) for each in found]
    assert faults == []


def test_no_page_scrolls_sideways_on_a_phone(tab):
    assert len(PAGES) > 30
    for page in visited(tab, PAGES, 400):
        wide, shown = tab.evaluate(WIDTHS)
        assert wide <= shown, page
