"""Timing: functions in turn, ratios of their times, and the section of a page that shows them."""

import time

import numpy as np

from .drawing import intervals, table
from .page import Section

#: Seconds until the threads of OpenMP, which wait for work after a parallel loop, are asleep. Until
#: then they take a core from the next function and their time counts as its own.
REST = 0.03


def time_turns(functions, n_turns):
    """Return the wall and CPU milliseconds of each function in each turn.

    Turns spread a slow spell of the machine over all of them; the first call, which may
    compile, is not timed.
    """
    times = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(n_turns):
        for name, function in functions.items():
            time.sleep(REST)
            wall, cpu = time.perf_counter(), time.process_time()
            function()
            times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return {name: 1e3 * np.array(turns) for name, turns in times.items()}


def median_of(times):
    """Return the median wall and CPU milliseconds of turns."""
    wall, cpu = np.median(times, axis=0)
    return {"milliseconds": wall, "cpu milliseconds": cpu}


def ratio_of(times, ours, theirs):
    """Return the median ratio of wall times over turns, with its range, and that of CPU times."""
    ratios, cpu = (times[ours] / times[theirs]).T
    return {
        "ratio": np.median(ratios),
        "least": ratios.min(),
        "most": ratios.max(),
        "cpu ratio": np.median(cpu),
        "milliseconds": np.median(times[ours][:, 0]),
    }


#: What other values than times are, in the title of their table.
SHOWN = {"added MB": "added memory", "kB": "file size"}


def section_of(rows, answer, notes=""):
    """Return the section of times: a chart of ratios, and a table of each kind of value."""
    charts, tables = [], []
    ratios = [row for row in rows if "ratio" in row["values"]]
    if ratios:
        groups = {
            f"{name} / {other}" + (f", {rest}" if rest else ""): {
                "ratio": (v["ratio"], v.get("least"), v.get("most"))
            }
            for (name, other, rest), v in ((_names(row), row["values"]) for row in ratios)
        }
        charts.append(
            intervals(
                answer,
                groups,
                "ratio of elapsed times, with the range over runs",
                reference=1.0,
                logarithmic=True,
            )
        )
        head = [
            "measured",
            "compared with",
            "setting",
            "ratio",
            "range",
            "ratio of CPU times",
            "ms",
        ]
        body = [
            [
                *_names(row),
                number(v["ratio"]),
                f"{number(v['least'])} to {number(v['most'])}",
                number(v["cpu ratio"]),
                number(v["milliseconds"]),
            ]
            for row, v in ((row, row["values"]) for row in ratios)
        ]
        tables.append(("Ratios of times", table(head, body)))
    others = [row for row in rows if "ratio" not in row["values"]]
    for names in dict.fromkeys(tuple(row["values"]) for row in others):
        of_kind = [row for row in others if tuple(row["values"]) == names]
        body = [[_name(row), *map(number, row["values"].values())] for row in of_kind]
        named = [name.replace("cpu", "CPU") for name in names]
        shown = [SHOWN[name] for name in names if name in SHOWN]
        title = " and ".join(["Times", *shown])
        tables.append((title, table(["measured", *named], body)))
    return Section(answer, charts, tables, notes)


def number(value):
    """Return a number with three digits, or as many as are before the point."""
    if value is None:
        return ""
    return f"{value:,.0f}" if isinstance(value, int) or value >= 1000 else f"{value:.3g}"


def _names(row):
    """Return what is measured, over what, and the other conditions."""
    first, *others = row["conditions"].items()
    over = row["conditions"].get("over", "")
    return first[1], over, ", ".join(_condition(*each) for each in others if each[0] != "over")


def _name(row):
    name, _, rest = _names(row)
    return f"{name}, {rest}" if rest else name


def _condition(name, value):
    """Return "2 threads", "one query of 1,000"."""
    if isinstance(value, str):
        return value
    if name.endswith(" of"):
        return f"{name} {value:,}"
    return f"{value:,} {name.removesuffix('s') if value == 1 else name}"
