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


def section_of(rows, answer, notes=""):
    """Return the section of times: a chart of ratios, and a table of each kind of value."""
    named = {", ".join(map(str, row["conditions"].values())): row["values"] for row in rows}
    ratios = {name: values for name, values in named.items() if "ratio" in values}
    charts, tables = [], []
    if ratios:
        groups = {
            name: {"ratio": (v["ratio"], v.get("least"), v.get("most"))}
            for name, v in ratios.items()
        }
        charts.append(
            intervals(
                f"Ratios of time. {answer}",
                groups,
                "time over that of the other, with the range over turns",
                reference=1.0,
                logarithmic=True,
            )
        )
    for names in dict.fromkeys(tuple(values) for values in named.values()):
        body = [
            [
                name,
                *(
                    "" if x is None else f"{x:,.3g}" if isinstance(x, float) else x
                    for x in values.values()
                ),
            ]
            for name, values in named.items()
            if tuple(values) == names
        ]
        tables.append((", ".join(names).capitalize(), table(["what", *names], body)))
    return Section(answer, charts, tables, notes)
