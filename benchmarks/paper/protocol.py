"""Protocol: what the scripts of the papers' tables and figures share.

A script names its figure or table and the part of it, lists its points (one dictionary of settings
each) and brings a function from settings to numbers. ``measure`` computes the points, several at a
time, and writes ``<out>/<figure>-<protocol>.jsonl`` anew after each of them. A run that was
interrupted loses the points that it was computing; the same command continues from there. A file
says how it was made: the protocol, every setting, the parameters of its rankers, versions and
machine (``result_files.py``). Figures and tables are drawn from these files alone. A file whose
rankers today's code would build differently is refused (``parameters.py``).

Every script knows three protocols. ``full`` is the paper's protocol, or as near as the script's
docstring says. ``quick`` takes minutes on two cores. ``tiny`` takes seconds and only shows that
the script runs.
"""

import argparse
import contextlib
import importlib.metadata
import json
import os
import platform
import sys
import time
import warnings
from pathlib import Path

import joblib
from parameters import moved
from result_files import read_parts, write_parts

RESULTS = Path(__file__).resolve().parents[1] / "results"
#: Finished fits of comparisons, and figures; git ignores both.
STORE, FIGURES = Path("build/paper"), Path("build/figures")
PROTOCOLS = ("full", "quick", "tiny")
PACKAGES = (
    "treerank",
    "numpy",
    "numba",
    "scipy",
    "scikit-learn",
    "lightgbm",
    "xgboost",
    "catboost",
    "torch",
)


def parser_of(description):
    """Return a parser with the arguments of every script."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--protocol", choices=PROTOCOLS, default="full", help="how much to run")
    quick = "the same as --protocol quick: minutes on two cores"
    parser.add_argument("--quick", dest="protocol", action="store_const", const="quick", help=quick)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    return parser


def add_sets(parser):
    """Add the number of data sets of scripts that draw them."""
    parser.add_argument(
        "--sets", type=int, help="data sets per point; more than before are added to the file"
    )


def measure(arguments, figure, part, about, points, function, *, shown, jobs=None):
    """Compute the missing points of a part of a figure or table, and return the whole part.

    Parameters
    ----------
    arguments : Namespace
        Of ``parser_of``.
    figure : str
        Name of the figure or table, and of its file.
    part : str
        Name of the panel or of the data set.
    about : dict
        What all points share, as JSON values; results of other values are discarded.
    points : list of dict
        Arguments of ``function``. Points that the file has already are not computed again.
    function : callable
        From ``(about, **point)`` to a dict of JSON values. It must be one that joblib can send
        to another process.
    shown : callable
        From ``about`` to the rankers of the part, by ``parameters.about_rankers``.
    jobs : int, default=None
        Processes; ``None`` as many as asked for. One is for points that are parallel themselves.
    """
    path = arguments.out / f"{figure}-{arguments.protocol}.jsonl"
    about = {"protocol": arguments.protocol} | about
    content = opened(path, part, about | shown(about))
    known = [entry["point"] for entry in content["results"]]
    missing = [point for point in as_json(points) if point not in known]
    parallel = joblib.Parallel(n_jobs=jobs or arguments.jobs, return_as="generator_unordered")
    for entry in parallel(joblib.delayed(_timed)(function, about, point) for point in missing):
        content["results"].append(entry)
        write(path, part, content)
        say(f"{figure}, {part} {entry['point']} {entry['seconds']:.1f} s")
    place = {json.dumps(point): i for i, point in enumerate(as_json(points))}
    # Points that an earlier command asked for stay, behind these.
    content["results"].sort(key=lambda entry: place.get(json.dumps(entry["point"]), len(place)))
    write(path, part, content)
    return content


def opened(path, part, about):
    """Return the part of a file if it was made alike, else the beginning of a new one."""
    fresh = {"about": as_json(about), "versions": versions(), "machine": machine(), "results": []}
    content = readable_parts(path).get(part)
    if content is None:
        return fresh
    changes = moved(content["about"], fresh["about"])
    if changes:
        say(f"{path.stem}, {part}: begun anew, since {'; '.join(changes)}")
    return fresh if changes else content


def write(path, part, content):
    """Replace one part of a file."""
    write_parts(path, readable_parts(path) | {part: as_json(content)})


def readable_parts(path):
    """Return the parts of a file, or an empty dictionary if it is missing or damaged."""
    try:
        return read_parts(path)
    except (OSError, ValueError):
        return {}


def read(path, shown):
    """Return the parts of a file of results, if its rankers would be built alike today."""
    parts = read_parts(Path(path))
    for name, content in parts.items():
        now = as_json(shown(content["about"]))
        changes = moved({key: content["about"].get(key, {}) for key in now}, now)
        if changes:
            raise ValueError(
                f"{Path(path).name} must be of rankers as they are built today; got others in "
                f"{name}: {'; '.join(changes)}. Run its script again."
            )
    return parts


def as_json(value):
    """Return a value as it will be read again: tuples are lists there."""
    return json.loads(json.dumps(value))


def versions():
    """Return the versions of the installed packages that the results may depend on."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def machine():
    """Return processor, cores and operating system."""
    return {"processor": _processor(), "cores": os.cpu_count(), "system": platform.system()}


def say(line):
    """Report progress at the terminal."""
    print(line, file=sys.stderr, flush=True)


def _timed(function, about, point):
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = function(about, **point)
    return {"point": point, "result": result, "seconds": round(time.perf_counter() - started, 3)}


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
