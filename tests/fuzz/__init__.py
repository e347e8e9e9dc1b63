"""Fuzzers: programs that draw hostile cases and check the answers.

A fuzzer is a module of this folder. Its docstring says what is drawn and what a good answer is,
and its function ``case(random: np.random.Generator) -> None`` draws one case and raises an error
if the answer is wrong. A crash, a hang and too much memory are failures too: cases run in a process
of their own, one after the other. A module may state the ``SECONDS`` that a case may take and the
``GIGABYTES`` that its process may use, if they are not those of ``LIMITS``.

``python -m tests.fuzz reader --minutes 60`` runs one fuzzer, and ``all`` each of them for so long.
The seed of each case that failed is printed, and ``--seed S --cases 1`` runs that case again.
"""

import sys
from pathlib import Path

FOLDER = Path(__file__).parent
#: The names of all fuzzers.
FUZZERS = sorted(file.stem for file in FOLDER.glob("*.py") if "\ndef case(" in file.read_text())
#: What a case may take unless its module says otherwise.
LIMITS = {"SECONDS": 120, "GIGABYTES": 4}


def change_bytes(random, content: bytes, pieces=()) -> bytes:
    """Remove or replace some bytes, or insert a piece."""
    start = random.integers(len(content) + 1)
    end = start + int(random.choice([0, 1, 1, 2, 4, 40]))
    pieces = [b"", random.bytes(1), random.bytes(4), content[:end], *pieces]
    return content[:start] + pieces[random.integers(len(pieces))] + content[end:]


SUPPORT = FOLDER.parent / "support"  # the oracles of the tests

if str(SUPPORT) not in sys.path:
    sys.path.insert(0, str(SUPPORT))
