"""Texts: names that may hold anything, on one line and not too long."""


def clean(name: object) -> str:
    r"""Return a name on one line, without characters that cannot be printed.

    Examples
    --------
    >>> clean("two\nlines")
    'two lines'
    """
    return "".join(c if c.isprintable() else " " for c in str(name))


def shortened(name: object, width: int) -> str:
    """Return a name that is cut in its middle where it is longer than ``width``.

    Examples
    --------
    >>> shortened("reading /data/2026/shop/train.csv", 20)
    'reading /d…train.csv'
    """
    text = clean(name)
    if len(text) <= width:
        return text
    n_last = (width - 1) // 2
    return f"{text[: width - 1 - n_last]}…{text[len(text) - n_last :]}"
