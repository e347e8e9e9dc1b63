"""Reports in Chromium: they open, load nothing, and can be used by mouse, keyboard and reader.

`pip install -e '.[browser]'` and a Chromium, such as Debian's chromium-headless-shell.
"""

import shutil
import time

import pytest
from report_pages import HOSTILE, NAMES, documents, page, ranker

from treerank import report

api = pytest.importorskip("playwright.sync_api")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None)
if CHROMIUM is None:
    pytest.skip("no Chromium", allow_module_level=True)
pytestmark = [pytest.mark.slow, pytest.mark.browser]
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"
WIDTHS = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"


@pytest.fixture(scope="module")
def browser():
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A page of 60 queries, with hostile names everywhere."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    page(60).save(path)
    return path


@pytest.fixture
def opened(browser, file):
    """Open a page, and close it with an error if it complained or asked for anything."""
    faults, contexts = [], []

    def show(path=file, **options):
        contexts.append(browser.new_context(**options))
        tab = contexts[-1].new_page()
        tab.on("console", lambda message: faults.append(message.text))
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on("request", lambda r: r.url == path.as_uri() or faults.append(r.url))
        tab.goto(path.as_uri())
        return tab

    yield show
    for context in contexts:
        context.close()
    assert faults == []


def names_of_queries(tab):
    return tab.locator("#query-table tbody th").all_text_contents()


def test_hostile_names_stay_text(opened):
    tab = opened()
    for _ in range(19):
        tab.get_by_role("button", name="Next query").click()
    tab.get_by_role("searchbox").fill(HOSTILE)
    assert names_of_queries(tab) == [f"{HOSTILE} 3"]
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("img, main script, main b").count() == 0
    assert tab.title() == HOSTILE
    text = tab.locator("#data").text_content()
    assert all(name in text for name in NAMES)


def test_no_other_script_may_run_or_load(browser, file):
    context = browser.new_context()
    tab, refused = context.new_page(), []
    tab.on("console", lambda message: refused.append(message.text))
    tab.goto(file.as_uri())
    tab.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.hacked = 3";
        const image = document.createElement("img");
        image.src = "https://example.org/pixel.png";
        document.body.append(script, image);
        document.body.setAttribute("onclick", "window.hacked = 4");
        document.body.click();
    }""")
    assert tab.evaluate("window.hacked") is None
    assert len(refused) >= 3
    assert all("Content Security Policy" in text for text in refused)
    context.close()


def test_queries_are_sorted_searched_and_paged(opened):
    tab = opened()
    assert len(names_of_queries(tab)) == 25
    status = tab.locator("#page-status")
    assert status.text_content() == "Queries 1 to 25 of 60"
    tab.get_by_role("button", name="query", exact=True).click()
    assert names_of_queries(tab)[:2] == [f"{HOSTILE} 3", "query 0"]
    assert names_of_queries(tab)[11] == "query 11"  # by number, not by letter
    tab.get_by_role("button", name="query", exact=True).click()
    assert names_of_queries(tab)[0] == "query 59"
    sort = [head.get_attribute("aria-sort") for head in tab.locator("#query-table th").all()[:2]]
    assert sort == ["descending", None]
    tab.get_by_role("button", name="Next page").click()
    tab.get_by_role("button", name="Next page").click()
    assert status.text_content() == "Queries 51 to 60 of 60"
    assert tab.get_by_role("button", name="Next page").is_disabled()
    tab.get_by_role("button", name="ndcg@10", exact=True).click()
    column = tab.locator("#query-table tbody tr td:nth-child(4)").all_text_contents()
    assert column == sorted(column)
    tab.get_by_role("searchbox").fill("QUERY 5")
    assert status.text_content() == "Queries 1 to 11 of 11"
    tab.get_by_role("searchbox").fill("nothing")
    assert status.text_content() == "No query"


def test_worst_queries_are_stepped_through(opened):
    tab = opened()
    heading = tab.locator("#example h3")
    first = heading.text_content()
    assert tab.get_by_role("button", name="Previous query").is_disabled()
    tab.get_by_role("button", name="Next query").click()
    assert heading.text_content() != first
    assert tab.locator("#example-status").text_content() == "Query 2 of 20"
    tab.get_by_label("Query", exact=True).select_option(index=19)
    assert tab.get_by_role("button", name="Next query").is_disabled()
    tab.get_by_label("Query", exact=True).select_option(index=0)
    assert heading.text_content() == first
    sentence = tab.locator("#example p").text_content()
    tab.get_by_role("button", name="Next pair").click()
    assert tab.locator("#example p").text_content() != sentence
    assert tab.locator("#example tr.upset").count() == 2


def test_the_keyboard_alone_will_do(opened):
    tab = opened()
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to the content"
    tab.keyboard.press("Enter")
    tab.keyboard.press("Tab")
    seen = set()
    for _ in range(120):
        focus = tab.evaluate("""() => {
            const one = document.activeElement;
            const outline = getComputedStyle(one).outlineStyle;
            return [one.id || one.textContent.slice(0, 40), outline];
        }""")
        assert focus[1] != "none" or focus[0].startswith("Skip to"), focus  # the page itself
        seen.add(focus[0])
        tab.keyboard.press("Tab")
    assert {"search", "next-page", "query", "choose-example", "next-example", "Next pair"} <= seen
    tab.locator("#search").focus()
    tab.keyboard.type("query 17")
    assert names_of_queries(tab) == ["query 17"]
    tab.locator("#next-example").focus()
    tab.keyboard.press("Enter")
    tab.keyboard.press("Space")
    assert tab.locator("#example-status").text_content() == "Query 3 of 20"
    tab.get_by_role("button", name="Next pair").focus()
    for _ in range(3):  # the focus stays on a button while the pair changes
        tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.textContent") in {"Next pair", "Previous pair"}


def test_a_click_on_one_of_two_queries_of_one_name_shows_its_documents(opened, tmp_path):
    X, y, qid = documents(2, size=12)
    ids = [{"query 0": 2, "query 1": "2"}[q] for q in qid]
    names = [f"{q}, row {row}" for row, q in enumerate(qid)]
    report(ranker(), X, y, ids, document_names=names).save(tmp_path / "two.html")
    tab = opened(tmp_path / "two.html")
    assert names_of_queries(tab) == ["2", "2"]
    shown = set()
    for button in tab.locator("#query-table tbody button").all():
        button.click()
        shown.add(tab.locator("#example").text_content().count("query 0"))
    assert len(shown) == 2
    assert 0 in shown


def test_a_click_on_a_query_shows_its_documents(opened):
    tab = opened()
    tab.get_by_role("searchbox").fill("query 17")
    tab.get_by_role("button", name="query 17", exact=True).click()
    assert tab.locator("#example h3").text_content().startswith("Query query 17: ndcg@10")
    assert tab.evaluate("document.activeElement.tagName") == "H3"
    assert tab.locator("#example tbody tr").count() >= 12


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault(opened, scheme):  # such as a control without a name, or pale text
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    tab = opened(color_scheme=scheme)
    found = axe.run(tab).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:90]) for one in found] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1600])
def test_a_page_fits_its_window(opened, scheme, width):
    tab = opened(viewport={"width": width, "height": 900}, color_scheme=scheme)
    inner, outer = tab.evaluate(WIDTHS)
    assert inner <= outer
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}[scheme]


def test_paper_gets_no_controls_and_a_light_ground(opened):
    tab = opened(color_scheme="dark")
    tab.emulate_media(media="print")
    assert not tab.get_by_role("searchbox", include_hidden=True).is_visible()
    assert not tab.locator("nav").is_visible()
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"


def test_three_thousand_queries_are_small_and_open_fast(opened, tmp_path):
    path = tmp_path / "large.html"
    page(3000, size=33).save(path)
    assert path.stat().st_size <= 2_000_000
    start = time.perf_counter()
    tab = opened(path)
    assert tab.locator("#page-status").text_content() == "Queries 1 to 25 of 3,000"
    assert time.perf_counter() - start <= 2
    tab.get_by_role("button", name="difference").click()
    assert tab.evaluate(LOADED) <= 2000
