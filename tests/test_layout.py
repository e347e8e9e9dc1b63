"""The layout of tests: a room of tests for each room of the package."""

from pathlib import Path

import treerank

TESTS, PACKAGE = Path(__file__).parent, Path(treerank.__file__).parent
#: Folders of tests that are no rooms: fuzzers, stored models and cases, and what tests share.
OTHERS = {"corpus", "fuzz", "golden", "support"}


def test_a_folder_of_tests_is_called_as_the_room_that_it_tests():
    files = [path.relative_to(TESTS) for path in TESTS.rglob("*.py")]
    rooms = {path.parent for path in files if path.parts[0] not in OTHERS}
    assert [str(room) for room in sorted(rooms) if not (PACKAGE / room).is_dir()] == []


def test_a_folder_of_tests_is_no_package():
    """Else a folder such as ``statistics`` would hide the module of Python."""
    packages = {path.parent.relative_to(TESTS) for path in TESTS.rglob("__init__.py")}
    assert packages <= {Path("corpus"), Path("fuzz")}


def test_what_tests_share_has_no_tests():
    assert [path.name for path in TESTS.glob("support/test_*.py")] == []
