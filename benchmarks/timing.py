"""Timing: what every benchmark shares, to time functions in turn and to print the times."""

import importlib.metadata
import platform
import time

import numpy as np


def time_in_turn(functions, n_repetitions):
    """Return the median wall and CPU milliseconds of each function, called by turns.

    Turns spread a slow spell of the machine over all of them; the first call, which may
    compile, is not timed.
    """
    times = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(n_repetitions):
        for name, function in functions.items():
            wall, cpu = time.perf_counter(), time.process_time()
            function()
            times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return {name: 1e3 * np.median(t, axis=0) for name, t in times.items()}


def say_versions(*packages):
    """Print the versions of Python and of the packages timed."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in packages]
    print(", ".join([f"Python {platform.python_version()}", *versions]))


def say_ratio(label, times, ours, theirs, bar=None):
    """Print how many times faster ``ours`` is than ``theirs``, in wall and in CPU time."""
    wall, cpu = times[theirs] / times[ours]
    aim = "" if bar is None else f" (bar: {bar})"
    print(f"{label}: {wall:.2f}x by wall, {cpu:.2f}x by CPU time{aim}")


def say_times(times):
    """Print each function's wall and CPU time."""
    for name, (wall, cpu) in times.items():
        print(f"{name:44} {wall:10.2f} ms wall {cpu:10.2f} ms CPU")
