"""Timing: what every benchmark shares, to time functions in turn and to print the times."""

import importlib.metadata
import platform
import time

import numpy as np

#: Seconds until the threads of OpenMP, which wait for work after a parallel loop, are asleep. Until
#: then they take a core from the next function and their time counts as its own.
REST = 0.03


def time_in_turn(functions, n_repetitions):
    """Return the median wall and CPU milliseconds of each function, called by turns."""
    turns = time_turns(functions, n_repetitions)
    return {name: np.median(times, axis=0) for name, times in turns.items()}


def time_turns(functions, n_repetitions):
    """Return the wall and CPU milliseconds of each function in each turn.

    Turns spread a slow spell of the machine over all of them; the first call, which may
    compile, is not timed.
    """
    times = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(n_repetitions):
        for name, function in functions.items():
            time.sleep(REST)
            wall, cpu = time.perf_counter(), time.process_time()
            function()
            times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return {name: 1e3 * np.array(turns) for name, turns in times.items()}


def say_versions(*packages):
    """Print the versions of Python and of the packages timed."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in packages]
    print(", ".join([f"Python {platform.python_version()}", *versions]))


def say_ratio(label, times, ours, theirs, bar=None):
    """Print how many times faster ``ours`` is than ``theirs``, in wall and in CPU time.

    Of times of turns, it is the median of the ratios, with the least and the largest.
    """
    ratios = np.atleast_2d(times[theirs] / times[ours])
    parts = []
    for what, ratio in zip(("wall", "CPU time"), ratios.T, strict=True):
        spread = f" ({ratio.min():.2f} to {ratio.max():.2f})" if len(ratio) > 1 else ""
        parts.append(f"{np.median(ratio):.2f}x by {what}{spread}")
    aim = "" if bar is None else f" (bar: {bar})"
    print(f"{label}: {', '.join(parts)}{aim}")


def say_times(times):
    """Print each function's wall and CPU time, the median if they are times of turns."""
    for name, milliseconds in times.items():
        wall, cpu = np.median(np.atleast_2d(milliseconds), axis=0)
        print(f"{name:44} {wall:10.2f} ms wall {cpu:10.2f} ms CPU")
