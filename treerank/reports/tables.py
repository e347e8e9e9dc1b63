"""Tables: rows of text and numbers as HTML, in a region that scrolls where it is too wide."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from treerank.reports.page import Markup, element, joined


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    text: int = 1,
    drawn: Collection[int] = (),
) -> Markup:
    r"""Return an HTML table with a caption; the first cell of each row is its heading.

    The first ``text`` columns are aligned as text, those with an index in ``drawn`` hold drawings,
    and all others are aligned as numbers.

    Examples
    --------
    >>> "<th scope=\"row\">a&lt;b</th>" in table("Labels", ["label", "share"], [["a<b", "10 %"]])
    True
    """
    kinds = [None if i < text else "drawn" if i in drawn else "number" for i in range(len(columns))]
    head = [
        element("th", name, scope="col", class_=kind) if name else element("td")
        for name, kind in zip(columns, kinds, strict=True)
    ]
    body = [
        element(
            "tr",
            element("th", row[0], scope="row"),
            *(element("td", c, class_=kind) for c, kind in zip(row[1:], kinds[1:], strict=True)),
        )
        for row in rows
    ]
    parts = [element("caption", caption), element("thead", element("tr", *head))]
    return scrolling(caption, element("table", *parts, element("tbody", *body)))


def scrolling(label: str, *content: Any) -> Markup:
    """Return content in a region that scrolls sideways, also by keyboard.

    Examples
    --------
    >>> scrolling("Queries", "a table")[:30]
    '<div class="scrolling" role="r'
    """
    role = {"class_": "scrolling", "role": "region", "aria_label": label}
    return element("div", *content, **role, tabindex="0")


def figures(items: Iterable[Sequence[str]]) -> Markup:
    """Return large figures; each item is ``(name, value, *notes)``, and all are text.

    Examples
    --------
    >>> "<dd>1,000" in figures([("queries", "1,000", "test.txt")])
    True
    """
    cards = (
        element(
            "div", element("dt", name), element("dd", value, *(element("small", n) for n in notes))
        )
        for name, value, *notes in items
    )
    return element("dl", *cards, class_="figures")


def side_by_side(*content: Any, flowing: bool = False) -> Markup:
    """Return pieces of content side by side where the page is wide enough; empty ones are left out.

    They form a grid of rows; with ``flowing`` each fills the next free slot of a column.

    Examples
    --------
    >>> side_by_side("a", "b")
    '<div class="columns"><div>a</div><div>b</div></div>'
    """
    return element(
        "div",
        *(element("div", one) for one in content if one),
        class_="flowing" if flowing else "columns",
    )


def folded(summary: str, *content: Any) -> Markup:
    """Return content that a reader unfolds by a click on ``summary``.

    Examples
    --------
    >>> folded("More", "text")
    '<details class="folded"><summary>More</summary>text</details>'
    """
    return element("details", element("summary", summary), *content, class_="folded")


def paragraphs(*texts: Any) -> Markup:
    """Return a paragraph for each text; lines do not break before a percent sign.

    Examples
    --------
    >>> paragraphs("a", "b")
    '<p>a</p><p>b</p>'
    """
    return joined(element("p", text.replace(" %", "\N{NO-BREAK SPACE}%")) for text in texts)
