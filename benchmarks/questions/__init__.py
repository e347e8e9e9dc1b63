"""Questions: a module each, with its measurements and its section of the page.

A module has ``TITLE``, ``IS_TIMING`` (whether the values are times, which only a quiet machine
measures), ``measurements(options)`` and ``section(rows)``; ``passages(rows)``, if there is one,
returns texts by name for other pages of the manual.
"""

import importlib
from collections.abc import Iterable

QUESTIONS = (
    "quality",
    "best",
    "sizes",
    "few",
    "many",
    "baselines",
    "hybrid",
    "clicks",
    "off_policy",
    "judgments",
    "calibration",
    "refresh",
    "exports",
    "fit_time",
    "latency",
    "scale",
    "workers",
    "reading",
    "explanations",
    "faults",
)


def module_of(question: str):
    """Return the module of a question."""
    return importlib.import_module(f"benchmarks.questions.{question}")


def listed(parts: Iterable[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def number_of(conditions: Iterable[bool]) -> str:
    """Return how many of some conditions hold, as "none" or in digits."""
    return str(sum(conditions) or "none")


def values_by(rows: list[dict], *names: str, **conditions) -> dict:
    """Return the values of rows that meet conditions, by what they have under some names.

    A single name gives keys that are no tuples. Rows that have other conditions than those named
    are left out.
    """
    wanted = {*names, *conditions}
    found = {}
    for row in rows:
        have = row["conditions"]
        if have.keys() == wanted and all(have[n] == value for n, value in conditions.items()):
            key = tuple(have[name] for name in names)
            found[key if len(key) > 1 else key[0]] = row["values"]
    return found
