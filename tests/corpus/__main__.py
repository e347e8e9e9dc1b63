"""Check programs with the corpus: ``python -m tests.corpus``; see ``programs.py``."""

import sys

from tests.corpus.programs import PROGRAMS, check, read_cases


def main() -> int:
    """Print for each program how many cases it can say, and each one that it says otherwise."""
    cases, n_wrong = read_cases(), 0
    print(f"{'':14}{'cases':>7}{'agree':>7}{'wrong':>7}  largest difference")
    for name, say in PROGRAMS.items():
        found = check(say, cases)
        n_wrong += len(found.wrong)
        wrong = len(found.wrong)
        numbers = f"{found.n_said:7}{found.n_said - wrong:7}{wrong:7}"
        print(f"{name:14}{numbers}  {found.largest:.1e}")
        for case, said in found.wrong[:10]:
            print(f"  {case} -> {said}")
    return n_wrong > 0


if __name__ == "__main__":
    sys.exit(main())
