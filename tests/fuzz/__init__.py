"""Fuzzers: programs that draw hostile cases and check the answers.

A fuzzer is a module of this folder. Its docstring says what is drawn and what a good answer is,
and its function ``case(random: np.random.Generator) -> None`` draws one case and raises an error
if the answer is wrong. A crash, a hang and too much memory are failures too: cases run in a process
of their own, one after the other. A module may state the ``SECONDS`` that a case may take and the
``GIGABYTES`` that its process may use, if they are not those of ``LIMITS``.

``python -m tests.fuzz reader --minutes 60`` runs one fuzzer; with ``all``, the fuzzers share the
minutes. The seed of each case that failed is printed, and ``--seed S --cases 1`` runs it again.
"""

import copy
import functools
import sys
import tempfile
import warnings
from pathlib import Path

FOLDER = Path(__file__).parent
#: The names of all fuzzers.
FUZZERS = sorted(file.stem for file in FOLDER.glob("*.py") if "\ndef case(" in file.read_text())
#: What a case may take unless its module says otherwise.
LIMITS = {"SECONDS": 120, "GIGABYTES": 4}


def pick(random, values):
    """Return one of some values, as it is."""
    return values[random.integers(len(values))]


def change_bytes(random, content: bytes, pieces=()) -> bytes:
    """Remove or replace some bytes, or insert a piece."""
    start = random.integers(len(content) + 1)
    end = start + int(random.choice([0, 1, 1, 2, 4, 40]))
    piece = pick(random, [b"", random.bytes(1), random.bytes(4), content[:end], *pieces])
    return content[:start] + piece + content[end:]


def places(whole) -> list:
    """Return each mapping and list within a JSON value, with each of its keys."""
    found, waiting = [], [whole]
    while waiting:
        owner = waiting.pop()
        if isinstance(owner, list | dict):
            keys = list(range(len(owner)) if isinstance(owner, list) else owner)
            found += [(owner, key) for key in keys]
            waiting += [owner[key] for key in keys]
    return found


def change_json(random, whole, values) -> None:
    """Replace, remove or add a part of a JSON value; it becomes one of some values or a copy."""
    if not (found := places(whole)):
        return
    (owner, key), (other, place) = pick(random, found), pick(random, found)
    value = copy.deepcopy(pick(random, [*values, other[place]]))
    match random.integers(8):
        case 0 | 1:
            del owner[key]
        case 2 if isinstance(owner, list):
            owner.append(value)
        case 2:
            owner[pick(random, ["x", "$x", "$array", "__class__", "params"])] = value
        case _:
            owner[key] = value


def attempt(function, /, *arguments, errors=ValueError, **options):
    """Return the result of a call, whose warnings do not matter, or its error."""
    with warnings.catch_warnings(action="ignore"):
        try:
            return function(*arguments, **options)
        except errors as error:
            return error


@functools.cache
def folder() -> Path:
    """Return the folder of a process for its files."""
    return Path(tempfile.mkdtemp())


SUPPORT = FOLDER.parent / "support"  # the oracles of the tests

if str(SUPPORT) not in sys.path:
    sys.path.insert(0, str(SUPPORT))
