"""Kernel cache: machine code on disk is what was asked for: of this version, for these leaves.

numba keeps a kernel's machine code until the file that holds the kernel changes. It does not see
that a function of another file, compiled into the kernel, has changed, nor does an upgrade remove
what it has kept: a new version would go on with the mathematics of the old one wherever only the
other file is new. So the stamp of our own files bears our version, too, from the moment that this
room is imported, which is before any kernel is; a numba that asks for stamps elsewhere is left
alone. (While you edit a function that kernels of other files call, delete the ``*.nbi`` files
below ``treerank``.)
"""

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from numba.core import caching

_PACKAGE = Path(__file__).parent
try:
    _VERSION = version("treerank")
except PackageNotFoundError:  # run from its source, without having been installed
    _VERSION = ""


def _with_version(stamp_of_file):
    def get_source_stamp(locator):
        stamp = stamp_of_file(locator)
        return (stamp, _VERSION) if _PACKAGE in Path(locator._py_file).parents else stamp

    return get_source_stamp


_Locator = getattr(caching, "_SourceFileBackedLocatorMixin", None)
if _Locator is not None:
    _Locator.get_source_stamp = _with_version(_Locator.get_source_stamp)


def kept_apart(*leaves):
    """Give the kernel made for these leaves, functions and flags, a file of its own.

    numba numbers the kernels of one name. Two processes that compiled it for different leaves at
    the same time would take the same number, and one would run the other's mathematics.
    """
    names = [getattr(leaf, "__qualname__", repr(leaf)) for leaf in leaves]

    def decorate(function):
        function.__qualname__ += "[" + ",".join(names) + "]"
        return function

    return decorate
