"""Does the suite catch one-line faults? Faults are drawn in five rooms, and the tests run on each.

A fault is another comparison, sign, connective or number, a condition turned round, or a line that
does nothing. A copy of the project gets it. Tests run in stages, up to the first that fails: those
of its file, of its room, and all others with the examples of docstrings.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from one_line_faults import faults_of, stages_of, with_fault

ROOT = Path(__file__).parents[1]
ROOMS = ("rankers", "objectives", "metrics", "files", "exports")
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--skip", type=int, default=0, help="faults that are drawn and left out")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    files = sorted(f for room in ROOMS for f in (ROOT / "treerank" / room).rglob("*.py"))
    faults = [(str(f.relative_to(ROOT)), fault) for f in files for fault in faults_of(f)]
    drawn = random.Random(options.seed).sample(faults, options.number)[options.skip :]
    print(f"{len(faults)} faults, {len(drawn)} drawn")
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(folder)
        for file, fault in drawn:
            test = copy.caught_by(file, fault)
            line = (copy.root / file).read_text().split("\n")[fault[0] - 1].strip()
            print(test or "MISSED", file, fault[0], line, "->", fault[3], sep="  ", flush=True)


if __name__ == "__main__":
    main()
