"""Covering arrays for hours: ``python -m tests.laws [--minutes M] [--seed S] [--strength N]``.

Each array has other cases and other data. The exit status is 1 where a case breaks a law.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from covering_array import covering_array
from feature_cases import FORBIDDEN, LEVELS, broken_laws, described


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--strength", type=int, default=3)
    options = parser.parse_args()
    start, n_cases, n_broken, seed = time.monotonic(), 0, 0, options.seed
    while True:
        cases = covering_array(LEVELS, options.strength, forbidden=FORBIDDEN, seed=seed)
        for number, levels in enumerate(cases):
            broken = broken_laws(levels, seed=1000 * seed + number)
            n_cases, n_broken = n_cases + 1, n_broken + bool(broken)
            for law, text in broken.items():
                print(
                    f"{law}, data {1000 * seed + number}: {described(levels)}\n{text}", flush=True
                )
            seconds = time.monotonic() - start
            if seconds > 60 * options.minutes:
                print(f"{n_cases} cases in {seconds:.0f} s, {n_broken} broken")
                return n_broken > 0
        seed += 1


if __name__ == "__main__":
    sys.exit(main())
