"""Questions: a module each, with its measurements and its section of the page.

A module has ``TITLE``, ``IS_TIMING`` (whether the values are times, which only a quiet machine
measures), ``measurements(options)`` and ``section(rows)``; ``passages(rows)``, if there is one,
returns texts by name for other pages of the manual.
"""

import importlib

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
