"""Page: sections as one HTML file that loads nothing and runs no script but its own.

The content security policy in the file allows the style sheet and the script by their hashes, and
nothing else. Numbers for the script are JSON in which no tag can begin or end.

Markup: HTML in which all text is escaped; only :func:`element` makes tags.
"""

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

#: Elements that have neither content nor an end.
_EMPTY = {"input", "meta"}


class Markup(str):
    """HTML that is put into a page as it is, unlike any other text.

    Examples
    --------
    >>> element("p", Markup("<b>bold</b>"), " & text")
    '<p><b>bold</b> &amp; text</p>'
    """

    __slots__ = ()


def element(name: str, /, *content: Any, **attributes: Any) -> Markup:
    """Return an HTML element; content that is not ``Markup`` is escaped.

    In names of attributes a last underscore is dropped, as in ``class_``, and other underscores
    become hyphens. The value ``True`` writes the name alone; ``None`` and ``False`` leave the
    attribute out.

    Examples
    --------
    >>> element("td", "<i>", class_="number", data_key=3, hidden=True)
    '<td class="number" data-key="3" hidden>&lt;i&gt;</td>'
    """
    tag = "".join([name, *map(_attribute, attributes.items())])
    return Markup(f"<{tag}>" if name in _EMPTY else f"<{tag}>{joined(content)}</{name}>")


def joined(content: Iterable[Any]) -> Markup:
    """Return pieces of content one after the other; those that are not ``Markup`` are escaped.

    Examples
    --------
    >>> joined(["a < b", element("br")])
    'a &lt; b<br></br>'
    """
    return Markup(
        "".join(c if isinstance(c, Markup) else html.escape(str(c), quote=False) for c in content)
    )


def _attribute(item: tuple[str, Any]) -> str:
    """Return an attribute ``(name, value)`` as HTML with a space in front; "" if it is left out."""
    name, value = item[0].rstrip("_").replace("_", "-"), item[1]
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'


@dataclass(frozen=True)
class Section:
    """A section of a page.

    Attributes
    ----------
    key : str
        Its HTML id, to which links lead.
    title : str
        Its heading.
    body : Markup
        Its content.
    data : dict
        What the script of the page reads, by name.
    hints : sequence of str
        What a reader should look at; listed on top of the page.
    """

    key: str
    title: str
    body: Markup
    data: dict[str, Any] = field(default_factory=dict)
    hints: Sequence[str] = ()


def page(title: str, lead: str, sections: Sequence[Section]) -> str:
    """Return an HTML document of sections; ``lead`` is a sentence below its title.

    Examples
    --------
    >>> text = page("A & B", "Two.", [Section("one", "One", Markup("<p>x</p>"))])
    >>> text.count("A &amp; B"), text.count('href="#one"')
    (2, 1)
    """
    style, script = _asset("page.css"), _asset("page.js")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content="treerank"),
        element("title", title),
        element("style", Markup(style)),
    )
    links = [element("li", element("a", s.title, href=f"#{s.key}")) for s in sections]
    data = {key: value for section in sections for key, value in section.data.items()}
    body = element(
        "body",
        element("a", "Skip to the content", class_="skip", href="#content"),
        element("header", element("h1", title), element("p", lead)),
        element("nav", element("ul", *links), aria_label="Sections"),
        _hints(sections),
        element("main", *map(_section, sections), id="content", tabindex="-1"),
        element("script", Markup(_json(data)), type="application/json", id="page-data"),
        element("script", Markup(script)),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _hints(sections):
    """Return a list of the hints of all sections, with links to these; empty without any."""
    items = [
        element("li", f"{hint} ", element("a", section.title, href=f"#{section.key}"))
        for section in sections
        for hint in section.hints
    ]
    if not items:
        return Markup()
    title = element("h2", "What to look at next")
    return element("aside", title, element("ul", *items), aria_label="What to look at next")


def _section(section):
    heading = element("h2", section.title, id=f"{section.key}-title")
    content = joined([heading, section.body])
    return element("section", content, id=section.key, aria_labelledby=f"{section.key}-title")


@cache
def _asset(name):
    """Return the text of a file of this package."""
    return files("treerank.reports").joinpath(name).read_text(encoding="utf-8")


def _policy(style, script):
    """Return a content security policy that allows only this style and this script, by hash."""
    sources = {"style-src": _hash(style), "script-src": _hash(script)}
    rules = ["default-src 'none'", *(f"{name} {source}" for name, source in sources.items())]
    return "; ".join([*rules, "base-uri 'none'", "form-action 'none'"])


def _hash(text):
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _json(data):
    """Return data as JSON that is safe within a script element: ASCII, with <, > and & escaped."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
