"""Protocol: what the scripts of the papers' tables and figures share.

A script names its experiment, lists its points (one dict of settings each) and brings a function
from settings to numbers. ``measure`` fills ``<out>/<experiment>.json``, several points at a time;
it is written beside and renamed after every point, so that a kill costs the points under way and
the same command goes on from there. A file says how it was made: the protocol, every setting,
the parameters of its rankers, versions and machine. Figures and tables are drawn from these files
alone, and from none whose rankers are not built so any more (``parameters.py``).

Every script knows three protocols: ``full`` is the paper's (or as near as is told in its
docstring), ``quick`` takes minutes on two cores, ``tiny`` seconds and shows nothing but that the
script runs.
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

from treerank.files.replaced import replaced_file

RESULTS = Path(__file__).resolve().parents[1] / "results"
#: Fits that a comparison has finished; ignored by git.
STORE = Path("build/paper")
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


def measure(arguments, experiment, about, points, function, *, shown, jobs=None):
    """Fill the file of an experiment and return what it holds.

    Parameters
    ----------
    arguments : Namespace
        Of ``parser_of``.
    experiment : str
        Name of the file.
    about : dict
        What all points share, as JSON values; a file of other values is begun anew.
    points : list of dict
        Arguments of ``function``; those the file has already are not computed again.
    function : callable
        From ``(about, **point)`` to a dict of JSON values. It must be one that joblib can send
        to another process.
    shown : callable
        From ``about`` to the rankers of the file, by ``parameters.about_rankers``.
    jobs : int, default=None
        Processes; ``None`` as many as asked for. One is for points that are parallel themselves.
    """
    path = arguments.out / f"{experiment}.json"
    about = {"protocol": arguments.protocol} | about
    content = opened(path, experiment, about | shown(about))
    known = [entry["point"] for entry in content["results"]]
    missing = [point for point in as_json(points) if point not in known]
    parallel = joblib.Parallel(n_jobs=jobs or arguments.jobs, return_as="generator_unordered")
    for entry in parallel(joblib.delayed(_timed)(function, about, point) for point in missing):
        content["results"].append(entry)
        write(path, content)
        say(f"{experiment} {entry['point']} {entry['seconds']:.1f} s")
    place = {json.dumps(point): i for i, point in enumerate(as_json(points))}
    # Points that were asked for by an earlier command stay, behind these.
    content["results"].sort(key=lambda entry: place.get(json.dumps(entry["point"]), len(place)))
    write(path, content)
    return content


def opened(path, experiment, about):
    """Return the content of a file if it was made alike, else the beginning of a new one."""
    fresh = {"experiment": experiment, "about": as_json(about)}
    fresh |= {"versions": versions(), "machine": machine(), "results": []}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return fresh
    changes = moved(content.get("about", {}), fresh["about"])
    if changes:
        say(f"{experiment}: begun anew, since {'; '.join(changes)}")
    return fresh if changes else content


def write(path, content):
    """Write a file as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced_file(path) as file:
        file.write((json.dumps(content, indent=1, allow_nan=False) + "\n").encode())


def read(path, shown):
    """Return the content of a file of results, if its rankers would be built alike today."""
    path = Path(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    now = as_json(shown(content["about"]))
    changes = moved({name: content["about"].get(name, {}) for name in now}, now)
    if changes:
        raise ValueError(
            f"{path.name} must be of rankers as they are built today; got others: "
            f"{'; '.join(changes)}. Run its script again."
        )
    return content


def as_json(value):
    """Return a value as it will be read again: tuples are lists there."""
    return json.loads(json.dumps(value))


def versions():
    """Return the versions the results may depend on, of packages that are there."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def machine():
    """Return what was computed on."""
    return {"processor": _processor(), "cores": os.cpu_count(), "system": platform.system()}


def say(line):
    """Tell the reader at the terminal how far it is."""
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
