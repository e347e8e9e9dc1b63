"""Run one fuzzer: ``python -m tests.fuzz NAME [--minutes M] [--cases N] [--seed S]``."""

import argparse
import contextlib
import faulthandler
import importlib
import os
import resource
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np

from tests.fuzz import FUZZERS, LIMITS

#: A run ends after so many failures: what comes later is mostly more of the same.
MOST_FAILURES = 20


def shorten(text: str, length: int = 3000) -> str:
    """Return both ends of a text that is too long."""
    half = length // 2
    return text if len(text) <= length else f"{text[:half]}\n[...]\n{text[-half:]}"


def serve(module: str, first: int, end: int, until: float, report: int) -> None:
    """Run cases; write the seed before each, and the text of an error after it, to ``report``."""
    fuzzer = importlib.import_module(module)
    seconds, gigabytes = (getattr(fuzzer, name, most) for name, most in LIMITS.items())
    resource.setrlimit(resource.RLIMIT_DATA, (int(gigabytes * 2**30),) * 2)
    n_failed = 0
    for seed in range(first, end):
        os.ftruncate(1, 0)
        os.write(report, f"\0{seed}\0".encode())
        faulthandler.dump_traceback_later(seconds, exit=True)
        try:
            fuzzer.case(np.random.default_rng(seed))
        except Exception:
            n_failed += 1
            os.write(report, shorten(traceback.format_exc()).replace("\0", "").encode())
        faulthandler.cancel_dump_traceback_later()
        if time.time() > until or n_failed == MOST_FAILURES:
            break


def run(module: str, seed: int, cases: int, minutes: float) -> tuple[int, int]:
    """Run cases in processes, another one after each crash; return how many, and failures."""
    n_cases = n_failed = 0
    until = time.time() + 60 * minutes
    end = seed + cases
    while seed < end and n_failed < MOST_FAILURES and (n_cases == 0 or time.time() < until):
        with tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as folder:
            ended, answers, output = served(module, seed, end, until, folder)
        if len(answers) == 1:
            raise RuntimeError(f"{module} has not begun.\n{output}")
        for at, failure in zip(answers[1::2], answers[2::2], strict=True):
            n_cases, seed = n_cases + 1, int(at) + 1
            if ended and seed > int(answers[-2]):
                failure = f"Its process died: {ended}.\n{shorten(output)}"
            if failure:
                n_failed += 1
                print(f"{module.rpartition('.')[2]} --seed {at} --cases 1\n{failure}", flush=True)
        if not ended:
            break
    return n_cases, n_failed


def served(module, seed, end, until, folder):
    """Return the exit status of a process, its seeds with their errors, and its last output."""
    code = f"from tests.fuzz.__main__ import serve; serve({module!r}, {seed}, {end}, {until}, 3)"
    report, output = Path(folder, "report"), Path(folder, "output")
    with open(report, "wb") as file, open(output, "ab") as printed:
        process = subprocess.Popen(
            ["sh", "-c", 'exec "$0" -X faulthandler -c "$1" 3>&2 2>&1', sys.executable, code],
            env=os.environ | {"TMPDIR": folder},
            stdout=printed,
            stderr=file,
            start_new_session=True,  # what a case starts ends with it
        )
        try:
            process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    answers = report.read_text(errors="replace").split("\0")
    return process.returncode, answers, output.read_text(errors="replace")


def main() -> int:
    """Run the fuzzer of the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("name", choices=["all", *FUZZERS], help="all share the minutes")
    parser.add_argument("--minutes", type=float, help="end after so long; 1 without --cases")
    parser.add_argument("--cases", type=int, default=10**9, help="end after so many cases")
    parser.add_argument("--seed", type=int, help="seed of the first case; drawn by default")
    given = parser.parse_args()
    minutes = given.minutes or (1 if given.cases == 10**9 else 10**6)
    names = FUZZERS if given.name == "all" else [given.name]
    seed = secrets.randbelow(10**9) if given.seed is None else given.seed
    failures = 0
    for name in names:
        began = time.time()
        n_cases, n_failed = run(f"tests.fuzz.{name}", seed, given.cases, minutes / len(names))
        failures += n_failed
        seconds = time.time() - began
        print(f"{name}: {n_cases} cases in {seconds:.0f} s, {n_failed} failed (seeds from {seed})")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
