"""Reports in Chromium: they open, load nothing, and can be used by mouse, keyboard and reader.

`pip install -e '.[browser]'` and a Chromium, such as Debian's chromium-headless-shell.
"""

import csv
import io
import shutil
import time

import numpy as np
import pytest
from report_pages import HOSTILE, NAMES, documents, page, ranker

from treerank import report
from treerank.baselines import RankSVM
from treerank.reports import Report

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
    return tab.locator("#table-of-queries tbody th").all_text_contents()


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
    sort = [
        head.get_attribute("aria-sort") for head in tab.locator("#table-of-queries th").all()[:2]
    ]
    assert sort == ["descending", None]
    tab.get_by_role("button", name="Next page").click()
    tab.get_by_role("button", name="Next page").click()
    assert status.text_content() == "Queries 51 to 60 of 60"
    assert tab.get_by_role("button", name="Next page").is_disabled()
    tab.get_by_role("button", name="ndcg@10", exact=True).click()
    column = tab.locator("#table-of-queries tbody tr td:nth-child(4)").all_text_contents()
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
    assert tab.locator("#example-status").text_content() == "Query 2 of 24"
    tab.get_by_label("Query", exact=True).select_option(index=23)
    assert tab.get_by_role("button", name="Next query").is_disabled()
    tab.get_by_label("Query", exact=True).select_option(index=0)
    assert heading.text_content() == first
    why = tab.locator("#example p:not(.soft)")
    sentence = why.text_content()
    tab.get_by_role("button", name="Next pair").click()
    assert why.text_content() != sentence
    assert tab.locator("#example ol:last-child li.upset").count() == 4  # two of either list


def test_the_keyboard_alone_will_do(opened):
    tab = opened()
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to the content"
    tab.keyboard.press("Enter")
    tab.keyboard.press("Tab")
    seen = set()
    for _ in range(200):
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
    assert tab.locator("#example-status").text_content() == "Query 3 of 24"
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
    for link in tab.locator("#table-of-queries tbody a").all():
        link.click()
        shown.add(tab.locator("#example").text_content().count("query 0"))
    assert len(shown) == 2
    assert 0 in shown


def test_a_click_on_a_query_shows_its_documents(opened):
    tab = opened()
    tab.get_by_role("searchbox").fill("query 17")
    tab.get_by_role("link", name="query 17", exact=True).click()
    assert tab.locator("#example h3").text_content().startswith("Query query 17: ndcg@10")
    assert tab.evaluate("document.activeElement.tagName") == "H3"
    ranked, before = tab.locator("#example ol").all()
    assert ranked.locator("li").count() == before.locator("li").count() == 10
    n_documents = tab.locator("#example details tbody tr").count()
    assert 10 < n_documents <= 12
    assert tab.locator("#example path.moved").count() == n_documents


def test_an_address_leads_to_a_query(opened, file):
    tab = opened()
    tab.get_by_role("searchbox").fill(HOSTILE)
    address = tab.locator("#table-of-queries tbody a").get_attribute("href")
    assert address.startswith("#query-%3C%2Fscript%3E")
    first = tab.locator("#example h3").text_content()
    tab.goto(file.as_uri() + address)
    assert tab.locator("#example h3").text_content().startswith(f"Query {HOSTILE} 3: ndcg@10")
    tab.goto(file.as_uri() + "#query-query 17")
    assert tab.locator("#example h3").text_content().startswith("Query query 17: ndcg@10")
    tab.goto(file.as_uri() + "#query-nobody")
    assert tab.locator("#example h3").text_content().startswith("Query query 17: ndcg@10")
    tab.reload()
    assert tab.locator("#example h3").text_content() == first
    tab.goto("about:blank")
    tab.goto(file.as_uri() + "#query-query 17")
    assert tab.locator("#example h3").text_content().startswith("Query query 17: ndcg@10")


def test_queries_without_names_of_documents_have_their_grades(opened, tmp_path):
    X, y, qid = documents(60, size=30)
    names = [f"{'a long name ' * 150}{row}" for row in range(len(y))]
    made = report(ranker(), X, y, qid, baseline=X["plain"].fillna(0), document_names=names)
    made.save(tmp_path / "long.html")
    tab = opened(tmp_path / "long.html")
    assert (
        "The names of documents are shown for " in tab.locator("#examples p").first.text_content()
    )
    scores = ranker().predict(X)
    unnamed = 0
    for link in tab.locator("#table-of-queries tbody a").all():
        link.click()
        rows = np.flatnonzero(qid == link.text_content())
        best = y[rows[np.argsort(-scores[rows], kind="stable")[:10]]]
        shown = tab.locator("#example ol").last.locator(".grade").all_text_contents()[:10]
        assert shown == [f"label {abs(label):g}" for label in best]
        unnamed += tab.locator("#example .nameless").count() > 0
    assert unnamed > 0


def test_tables_are_saved_as_csv_without_formulas(opened, tmp_path):
    X, y, qid = documents(4)
    names = ["=1+1", "@SUM(A1)", "+a,b", '-"x"', "\tplain", "-0.5"]
    X = X.assign(**dict.fromkeys(names, 0.0))[[*names[:5], *X.columns]]
    ids = np.array([names[int(q.split()[-1])] for q in qid])
    fitted = RankSVM().fit(X, y, ids)
    report(fitted, X, y, ids, baseline=y).save(tmp_path / "page.html")
    tab = opened(tmp_path / "page.html")
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Save as CSV", exact=True).click()
    assert download.value.suggested_filename == "queries.csv"
    text = download.value.path().read_bytes().decode("utf-8-sig")
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header[:3] == ["query", "documents", "relevant"]
    assert header[-1] == "difference"
    assert {row[0] for row in rows} == {"'=1+1", "'@SUM(A1)", "'+a,b", '\'-"x"'}
    assert all(float(cell) <= 12 for row in rows for cell in row[1:])
    assert any(float(row[-1]) < 0 for row in rows)
    button = tab.locator("#features caption .save").first
    if button.count():
        with tab.expect_download() as download:
            button.click()
        text = download.value.path().read_text(encoding="utf-8-sig")
        assert not any(line.startswith(("=", "@", "+", "\t")) for line in text.splitlines())


def test_links_work_in_the_frame_of_a_notebook(browser, file):
    notebook, faults = browser.new_page(viewport={"width": 1000, "height": 900}), []
    notebook.on("pageerror", lambda error: faults.append(str(error)))
    notebook.set_content("<h1>notebook</h1>" + Report(file.read_text())._repr_html_())
    frame = notebook.frames[1]
    link = frame.get_by_role("link", name="query 17", exact=True)
    frame.get_by_role("searchbox").fill("query 17")
    link.click()
    assert frame.locator("#example h3").text_content().startswith("Query query 17: ndcg@10")
    frame.locator("nav a").last.click()
    frame.wait_for_function("scrollY > 2000")
    assert frame.locator("h1").text_content() == HOSTILE
    with notebook.expect_download() as download:
        frame.get_by_role("button", name="Save as CSV", exact=True).click()
    assert download.value.suggested_filename == "queries.csv"
    assert faults == []
    notebook.close()


def test_charts_tell_their_values_to_pointer_and_keys(opened):
    tab = opened()
    chart = tab.locator("svg.chart").first
    tip = tab.locator(".tip")
    assert not tip.is_visible()
    chart.focus()
    tab.keyboard.press("ArrowRight")
    assert tip.text_content().startswith("k 1: ranker 0.")
    assert tip.is_visible()
    tab.keyboard.press("ArrowRight")
    assert tip.text_content().startswith("k 2: ranker 0.")
    tab.keyboard.press("End")
    assert tip.text_content().startswith("k 20: ranker 0.")
    assert tab.locator("[role=status].unseen").text_content() == tip.text_content()
    tab.keyboard.press("Escape")
    assert not tip.is_visible()
    box = chart.bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert tip.text_content().startswith(("k 10: ", "k 9: "))
    assert tip.is_visible()
    top = tip.bounding_box()
    assert 0 <= top["x"] <= 1280 - top["width"]


def test_the_first_order_has_its_arrow(opened):
    tab = opened()
    sort = [
        h.get_attribute("aria-sort") for h in tab.locator("#table-of-queries th[scope=col]").all()
    ]
    assert sort == [None] * (len(sort) - 1) + ["ascending"]
    tab.get_by_role("button", name="difference", exact=True).click()
    gaps = tab.locator("#table-of-queries tbody td:last-child").all_text_contents()
    assert [float(gap) for gap in gaps] == sorted(map(float, gaps), reverse=True)


def test_both_halves_of_a_wide_window_are_used(opened):
    tab = opened(viewport={"width": 1400, "height": 900})
    boxes = [chart.bounding_box() for chart in tab.locator("svg.chart").all()]
    assert min(box["x"] for box in boxes) < 100
    assert max(box["x"] for box in boxes) > 700
    assert tab.locator("#table-of-queries").bounding_box()["width"] > 1200


def test_long_names_do_not_widen_a_narrow_page(opened, tmp_path):
    X, y, qid = documents(24)
    X.columns = [
        f"{'embedding_cosine_of_title_and_query_by_minilm_l6_me'}_{j:04d}" for j in range(5)
    ]
    kinds = {"x" * 56: np.repeat(["a" * 70, "b"], 144)}
    fitted = RankSVM().fit(X, y, qid)
    made = report(
        fitted, X, y, qid, slices=kinds, document_names=[f"{'n' * 90}{i}" for i in range(288)]
    )
    made.save(tmp_path / "long.html")
    tab = opened(tmp_path / "long.html", viewport={"width": 400, "height": 900})
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    inner, outer = tab.evaluate(WIDTHS)
    assert inner <= outer


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault(opened, scheme):  # such as a control without a name, or pale text
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    tab = opened(color_scheme=scheme)
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    tab.locator("svg.chart").first.focus()
    tab.keyboard.press("ArrowRight")
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
    assert path.stat().st_size <= 1_000_000
    start = time.perf_counter()
    tab = opened(path)
    assert tab.locator("#page-status").text_content() == "Queries 1 to 25 of 3,000"
    assert time.perf_counter() - start <= 2
    tab.get_by_role("button", name="difference", exact=True).click()
    assert tab.evaluate(LOADED) <= 2000
