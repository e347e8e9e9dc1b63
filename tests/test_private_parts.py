"""Private parts of other programs: the few that are used are listed here, and no others are."""

import re
from pathlib import Path

import treerank

PACKAGE = Path(treerank.__file__).parent
#: What no program promises to keep.
PRIVATE = re.compile(
    r"numba\.core|llvmlite(?! import ir$)|lightgbm\.basic|_LIB\b|__class__\s*=[^=]"
    r"|(?<!\.)ctypes|_Dataset__|_codegen"
    r"|_library_class|_safe_indexing|_infrequent_enabled|/proc/self/fd|/dev/fd|gc\.freeze"
    r"|malloc_trim"
    r'|getattr\(\w+, "_(?!_)|from (?!treerank|__future__)[\w.]+ import .*\b_[a-z]'
)
#: The uses that are allowed, at most three: module, and the line without its indent.
#: Each is bounded by versions and has a public way behind it.
ALLOWED = {
    # One process at a time writes stored kernels; numba has no public way to wait.
    ("numerics/one_writer.py", 'stored = getattr(kernel, "_cache", None)')
}


def private_lines(text):
    """Return the lines that use a private part, without comments and indents."""
    lines = (line.partition("  # ")[0].strip() for line in text.splitlines())
    return [line for line in lines if PRIVATE.search(line)]


def test_no_private_part_of_another_program_is_used_but_those_listed():
    found = {
        (str(path.relative_to(PACKAGE)), line)
        for path in sorted(PACKAGE.rglob("*.py"))
        for line in private_lines(path.read_text(encoding="utf-8"))
    }
    assert found - ALLOWED == set()
    assert len(ALLOWED) <= 3


PRIVATE_LINES = [
    "from numba.core import types",
    "kernel.__class__ = Other",
    "from sklearn.utils import _safe_indexing",
    "from llvmlite import binding",
    'cache = getattr(kernel, "_cache", None)',
    "from sklearn.tree import DecisionTreeRegressor, _tree",
]
PUBLIC_LINES = [
    "from treerank.exports.onnx import _trees",
    "if self.__class__ == other.__class__:",
    "from llvmlite import ir",
    "begin = histogram.ctypes.data",
]


def test_private_parts_are_found_and_public_ones_are_not():
    assert (
        private_lines("".join(f"    {line}  # because\n" for line in PRIVATE_LINES))
        == PRIVATE_LINES
    )
    assert private_lines("\n".join(PUBLIC_LINES)) == []
