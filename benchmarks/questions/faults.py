"""Faults: whether the tests catch one-line faults, as mutation testing draws them.

A fault is another comparison, sign, connective or number, a condition turned round, or a line that
does nothing. A copy of the project gets it. Tests run in stages, up to the first that fails: those
of its file, of its package, and all others with the examples of docstrings. It takes hours.
"""

import functools
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.drawing import intervals, table
from benchmarks.measurements import HERE, Measurement
from benchmarks.mutations import faults_of, stages_of, with_fault
from benchmarks.page import Section

TITLE = "Do the tests catch one-line faults?"
IS_TIMING = False
ROOT = HERE.parent
PACKAGES = ("rankers", "objectives", "metrics", "files", "exports")
PYTEST = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider")


class Copy:
    """A copy of the project, in which tests run."""

    def __init__(self, folder):
        self.root = Path(folder, "copy")
        ignored = shutil.ignore_patterns(".*", "__pycache__", "build", "generated")
        shutil.copytree(ROOT, self.root, ignore=ignored)
        for name in ("docs", ".ci", ".github"):
            shutil.copytree(ROOT / name, self.root / name)
        self.stored = self.kernels()

    def kernels(self):
        """Return where the compiled kernels of this state of the sources are."""
        ask = "from treerank.numerics.kernel_folder import kernel_folder; print(kernel_folder())"
        return Path(self.run("-c", ask).stdout.strip())

    def run(self, *arguments, limit=3000, **environment):
        """Run Python in the copy; an endless loop is None."""
        try:
            return subprocess.run(
                ["nice", sys.executable, *arguments],
                cwd=self.root,
                env=os.environ | {"PYTHONPATH": str(self.root)} | environment,
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None

    def caught_by(self, file, fault):
        """Return the test that fails with a fault, or an empty text."""
        path = self.root / file
        before = path.read_text()
        path.write_text(with_fault(before, fault))
        try:
            has_kernels = "numerics.compiling" in before
            if not has_kernels and (now := self.kernels()) != self.stored:
                shutil.rmtree(now)
                now.symlink_to(self.stored)
            for tests, environment in stages_of(ROOT, Path(file), has_kernels):
                found = self.run(*PYTEST, *tests, **environment)
                if found is None or found.returncode:
                    return "no end" if found is None else failure(found)
            return ""
        finally:
            path.write_text(before)


def failure(found):
    """Return the first line that says what failed."""
    lines = found.stdout.splitlines()
    return next((line for line in lines if line.startswith(("FAILED", "ERROR"))), "error")


@functools.cache
def copy_of_project():
    """Return a copy of the project, which is removed with the process."""
    folder = tempfile.TemporaryDirectory()
    copy = Copy(folder.name)
    copy.folder = folder
    return copy


def drawn_faults(package, seed, n):
    """Return some faults of a package, each with its file."""
    files = sorted((ROOT / "treerank" / package).rglob("*.py"))
    faults = [(str(f.relative_to(ROOT)), fault) for f in files for fault in faults_of(f)]
    return random.Random(seed).sample(faults, min(n, len(faults)))


def caught(package, seed, n):
    """Return how many of some drawn faults the tests catch; print the others."""
    n_caught, faults = 0, drawn_faults(package, seed, n)
    for file, fault in faults:
        test = copy_of_project().caught_by(file, fault)
        n_caught += bool(test)
        line = (ROOT / file).read_text().split("\n")[fault[0] - 1].strip()
        print(test or "MISSED", file, fault[0], line, "->", fault[3], sep="  ", flush=True)
    return {"faults": len(faults), "caught": n_caught}


def measurements(options):
    """Yield how many faults are caught by package; the quick form draws and writes some."""
    if options.quick:
        yield Measurement(
            {"package": "metrics", "seed": 0}, functools.partial(rewritten, "metrics")
        )
        return
    for package in PACKAGES:
        measure = functools.partial(caught, package, 0, 40)
        yield Measurement({"package": package, "seed": 0}, measure)


def rewritten(package):
    """Return how many drawn faults change the source of their file; no test runs."""
    faults = drawn_faults(package, 0, 20)
    changed = sum(
        with_fault((ROOT / f).read_text(), x) != (ROOT / f).read_text() for f, x in faults
    )
    return {"faults": len(faults), "changed": changed}


def section(rows):
    """Return the shares of caught faults."""
    cells = [(row["conditions"]["package"], row["values"]) for row in rows]
    n, n_caught = (sum(v[k] for _, v in cells) for k in ("faults", "caught"))
    answer = f"The tests catch {n_caught} of {n} drawn one-line faults."
    groups = {p: {"caught": (v["caught"] / v["faults"], None, None)} for p, v in cells}
    chart = intervals(answer, groups, "share of faults that a test catches", reference=1.0)
    body = [[f"`{p}`", v["faults"], v["caught"]] for p, v in cells]
    return Section(answer, [chart], [("Faults", table(["package", "faults", "caught"], body))])
