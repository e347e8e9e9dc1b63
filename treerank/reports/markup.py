"""Markup: HTML in which all text is escaped; only :func:`element` makes tags."""

import html
from collections.abc import Iterable
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
    """Return an element with content and attributes; what is no ``Markup`` is escaped.

    Parameters
    ----------
    name : str
        Name of the tag.
    *content
        Markup, text or numbers.
    **attributes
        ``class_`` is ``class``, and other underscores are hyphens. ``True`` is an attribute
        without a value; ``None`` and ``False`` are no attribute.

    Returns
    -------
    Markup

    Examples
    --------
    >>> element("td", "<i>", class_="number", data_key=3, hidden=True)
    '<td class="number" data-key="3" hidden>&lt;i&gt;</td>'
    """
    tag = "".join([name, *map(_attribute, attributes.items())])
    return Markup(f"<{tag}>" if name in _EMPTY else f"<{tag}>{joined(content)}</{name}>")


def joined(content: Iterable[Any]) -> Markup:
    """Return content one after the other, without an element around it.

    Examples
    --------
    >>> joined(["a < b", element("br")])
    'a &lt; b<br></br>'
    """
    return Markup(
        "".join(c if isinstance(c, Markup) else html.escape(str(c), quote=False) for c in content)
    )


def _attribute(item: tuple[str, Any]) -> str:
    """Return an attribute with the space before it."""
    name, value = item[0].rstrip("_").replace("_", "-"), item[1]
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'
