"""Run one fuzzer: ``python -m tests.fuzz NAME [--minutes M] [--cases N] [--seed S]``."""

import argparse
import importlib
import itertools
import secrets
import subprocess
import sys
import time
from multiprocessing.connection import wait

from tests.fuzz import FUZZERS
from tests.fuzz.worker import CONTEXT, Worker

#: A run ends after so many failures: what comes later is mostly more of the same.
MOST_FAILURES = 20


def read_arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Return what to run and for how long."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("name", choices=["all", *FUZZERS], help="all are run one after the other")
    parser.add_argument("--minutes", type=float, help="end after so long; 1 without --cases")
    parser.add_argument("--cases", type=int, help="end after so many cases")
    parser.add_argument("--seed", type=int, help="seed of the first case; drawn by default")
    parser.add_argument("--workers", type=int, default=2, help="number of processes")
    arguments = parser.parse_args(words)
    if arguments.minutes is None and arguments.cases is None:
        arguments.minutes = 1
    if arguments.seed is None:
        arguments.seed = secrets.randbelow(10**9)
    return arguments


class Run:
    """One run of a fuzzer: its workers, its seeds, and how many cases failed."""

    def __init__(self, fuzzer, seed: int, cases: int | None, minutes: float | None):
        self.fuzzer, self.name = fuzzer, fuzzer.__name__.rpartition(".")[2]
        self.began = time.monotonic()
        self.end = self.began + (float("inf") if minutes is None else 60 * minutes)
        self.seeds = itertools.count(seed) if cases is None else iter(range(seed, seed + cases))
        self.n_cases = self.n_failed = 0
        self.workers: list[Worker] = []

    def give_work(self, worker: Worker | None = None) -> None:
        """Start the next case, in a new process unless one is given."""
        late = self.n_cases and time.monotonic() >= self.end
        if late or self.n_failed >= MOST_FAILURES or (seed := next(self.seeds, None)) is None:
            return
        worker = worker or Worker(self.fuzzer)
        self.workers.append(worker)
        worker.start(seed)

    def work(self, n_workers: int) -> None:
        """Run cases until the end, and report those that failed."""
        for _ in range(n_workers):
            self.give_work()
        while self.workers:
            patience = min(worker.deadline for worker in self.workers) - time.monotonic()
            ready = wait([worker.pipe for worker in self.workers], max(patience, 0))
            for worker in list(self.workers):
                if worker.pipe in ready or time.monotonic() >= worker.deadline:
                    self.finish(worker)

    def finish(self, worker: Worker) -> None:
        """Take the answer of a worker, and give it the next case."""
        goes_on, failure = worker.answer()
        self.n_cases += 1
        if failure is not None:
            self.n_failed += 1
            print(f"{self.name} --seed {worker.seed} --cases 1\n{failure}", flush=True)
        self.workers.remove(worker)
        if getattr(self.fuzzer, "ISOLATED", False) or not goes_on:
            worker.stop()
            self.give_work()
        else:
            self.give_work(worker)
        if worker not in self.workers:
            worker.stop()

    def summary(self) -> str:
        """Say in one line what was done."""
        seconds = time.monotonic() - self.began
        return f"{self.name}: {self.n_cases} cases in {seconds:.0f} s, {self.n_failed} failed"


def main() -> int:
    """Run the fuzzer of the command line; return the exit status."""
    arguments = read_arguments()
    if arguments.name == "all":
        at = sys.argv.index("all")
        words = [[*sys.argv[1:at], name, *sys.argv[at + 1 :]] for name in FUZZERS]
        return max(subprocess.call([sys.executable, "-m", "tests.fuzz", *each]) for each in words)
    fuzzer = importlib.import_module(f"tests.fuzz.{arguments.name}")
    CONTEXT.set_forkserver_preload([fuzzer.__name__])
    run = Run(fuzzer, arguments.seed, arguments.cases, arguments.minutes)
    try:
        run.work(arguments.workers)
    except KeyboardInterrupt:
        return 130
    finally:
        for worker in run.workers:
            worker.stop()
        print(f"{run.summary()} (seeds from {arguments.seed})")
    return int(run.n_failed > 0)


if __name__ == "__main__":
    sys.exit(main())
