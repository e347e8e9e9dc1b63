"""Measurements: what a question measures, and the rows in which results are kept.

``results/QUESTION.jsonl`` has one JSON object per measurement: its ``conditions`` (data set, ranker
and settings, which identify it), its ``values``, and its ``environment`` (commit, date, machine,
versions, and ``others``: how many cores other programs used meanwhile).
"""

import datetime
import functools
import importlib.metadata
import json
import math
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results"
#: Packages on which results may depend.
PACKAGES = ("numpy", "numba", "scikit-learn", "lightgbm", "xgboost", "catboost", "torch")


@dataclass(frozen=True)
class Measurement:
    """One measurement.

    Attributes
    ----------
    conditions : dict
        What is measured; no two measurements of a question have the same conditions.
    measure : callable
        Returns the values by name, without arguments.
    """

    conditions: dict
    measure: Callable[[], dict]


@dataclass(frozen=True)
class Options:
    """Options of a run.

    Attributes
    ----------
    quick : bool
        Whether to measure on tiny data, to see that the benchmark runs.
    data : Path
        Folder of the public data sets.
    """

    quick: bool = False
    data: Path = field(
        default_factory=lambda: Path(os.environ.get("TREERANK_BENCHMARK_DATA", "../shared/data"))
    )


def path_of(question: str) -> Path:
    """Return the file of results of a question."""
    return RESULTS / f"{question}.jsonl"


def read_rows(question: str) -> list[dict]:
    """Return the kept rows of a question, none if it has no file."""
    path = path_of(question)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def write_row(path: Path, row: dict) -> None:
    """Add a row to a file; it replaces the row of the same conditions."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = {_key(kept): kept for kept in map(json.loads, lines)}
    rows[_key(row)] = row
    text = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in rows.values())
    unfinished = path.with_suffix(".part")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


def missing(measurements, kept: list[dict]) -> Iterator[Measurement]:
    """Yield the measurements that no kept row holds."""
    known = {_key(row) for row in kept}
    for each in measurements:
        key = _key({"conditions": each.conditions})
        if key not in known:
            known.add(key)
            yield each


def _key(row):
    return json.dumps(row["conditions"], sort_keys=True)


def row_of(measurement: Measurement) -> dict:
    """Measure, and return the row."""
    before = _busy_seconds()
    values = {name: _rounded(value) for name, value in measurement.measure().items()}
    return {
        "conditions": measurement.conditions,
        "values": values,
        "environment": environment() | {"others": _cores_of_others(before)},
    }


def _busy_seconds() -> tuple[float, float, float] | None:
    """Return the time, and the seconds of cores that all programs and this one have used.

    Time that a host has taken from this machine counts as that of others. None where the system
    does not say (not Linux).
    """
    try:
        with open("/proc/stat", encoding="ascii") as file:
            ticks = file.readline().split()[1:]
    except OSError:
        return None
    user, nice, system, _, _, interrupts, soft, stolen = map(int, ticks[:8])
    all_programs = (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK")
    return time.perf_counter(), all_programs, sum(os.times()[:4])


#: What others used while a value was measured that several measurements share.
_LAST: list[float] = []


def _cores_of_others(before: tuple[float, float, float] | None) -> float | None:
    """Return how many cores other programs have used since ``before``, in the mean."""
    after = _busy_seconds()
    if before is None or after is None:
        return None
    elapsed, all_programs, own = (new - old for new, old in zip(after, before, strict=True))
    if elapsed > 0.2 or not _LAST:
        _LAST[:] = [round(max(0.0, all_programs - own) / max(elapsed, 0.01), 2)]
    return _LAST[0]


def _rounded(value):
    """Return a value with six significant digits; what is not finite is None."""
    if isinstance(value, str | bool | int) or value is None:
        return value
    value = float(value)
    return float(f"{value:.6g}") if math.isfinite(value) else None


@functools.cache
def environment() -> dict:
    """Return commit, date, machine and versions."""
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "commit": _commit(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        "versions": versions,
    }


def _commit():
    """Return the commit of the checkout, with a plus if the package differs from it."""
    command = ["git", "-C", str(HERE)]
    try:
        name = subprocess.run(
            [*command, "rev-parse", "--short=10", "HEAD"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        changed = subprocess.run([*command, "diff", "--quiet", "HEAD", "--", "../treerank"])
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name + "+" * bool(changed.returncode)


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
