"""Kernel cache: kernels on disk, and what a process reads of them.

A stored kernel is machine code, and LLVM's intermediate form of it, from which numba compiles
kernels that call it. A process that only runs kernels reads the machine code alone, which takes
less time and memory.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from llvmlite.binding import add_symbol, parse_bitcode
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.environment import Environment, lookup_environment

from treerank.numerics import machine_code
from treerank.numerics.compiler_shortcuts import is_known_numba

if sys.platform != "win32":
    import fcntl


def keep_stored(kernels: Any, name: str | None) -> None:
    """Let numba's cache of a kernel store and load as here, under a name that no other has."""
    kernels.__class__ = KernelCache
    kernels._impl.__class__ = _StoredParts
    kernels._cache_file.__class__ = SharedCacheFile
    kernels._cache_file.kernel = name


class KernelCache(FunctionCache):
    """Stored kernels, which are loaded without what only a compiler needs.

    Before numba loads its first one, it imports all that it can compile, and compiles its own
    runtime: .2 s, and 30 MB of which most are the compiler's code. A kernel contains what it needs
    of both. What remains are functions in C, whose addresses are told here. Versions of numba that
    are not known load kernels in their own way.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kernel for some types, None if it is not stored."""
        if not is_known_numba():
            return super().load_overload(sig, target_context)
        _name_runtime()
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


@cache
def _name_runtime():
    from numba.core.runtime._nrt_python import c_helpers

    for name, address in c_helpers.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


class _StoredParts(CompileResultCacheImpl):
    """What is stored of a kernel, and how it becomes a kernel again."""

    def reduce(self, cres: Any) -> Any:
        """Return what is stored, with the names that the code defines: else it would be read."""
        parts = super().reduce(cres)
        if not is_known_numba():
            return parts
        (name, kind, code), *rest, environments = parts
        module = cres.library._get_module_for_linking()
        known = (*module.functions, *module.global_variables)
        names = tuple(each.name for each in known if not each.is_declaration)
        described = tuple(each.__reduce__()[1] for each in environments)
        return (name, kind, (*code, names)), *rest, described

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Return the kernel. One that was stored without names is read in numba's own way."""
        if len(payload[0][2]) == 2:
            return super().rebuild(target_context, payload)
        *parts, described = payload
        environments = tuple(_environment(*each) for each in described)
        codegen = target_context.codegen()
        before, codegen._library_class = codegen._library_class, _StoredCode
        try:
            return super().rebuild(target_context, (*parts, environments))
        finally:
            codegen._library_class = before


def _environment(module, constants, name):
    """Return an environment as numba does, but without the import of its module.

    Machine code has one for each function that it contains, such as those of ``np.empty``. Only
    code that calls Python looks at the names in the module, and kernels have none.
    """
    found = lookup_environment(name)
    if found is None:
        found = Environment(vars(sys.modules[module]) if module in sys.modules else {})
        found.globals.setdefault("__name__", module)
        found.consts[:] = constants
        found.env_name = name
        Environment._memo[name] = found
    return found


class _StoredCode(JITCodeLibrary):
    """Machine code from disk. Its intermediate form is read once a kernel is to copy it."""

    _bitcode = b""

    @classmethod
    def _unserialize(cls, codegen, state):
        name, _, (code, bitcode, names) = state
        self = codegen.create_library(name)
        self._bitcode = bitcode
        self.enable_object_caching()
        self._set_compiled_object(code)
        self._finalize_final_module()
        codegen._engine._defined_symbols.update(names)
        return self

    def _get_module_for_linking(self):
        if self._shared_module is None:
            self._shared_module = parse_bitcode(self._bitcode)
        return self._shared_module


class SharedCacheFile(IndexDataCacheFile):
    """Stored machine code of a kernel, to which one process writes at a time.

    Two that compile it for different types at the same time would else give both the same number,
    and the code for one type would run on the other.

    Code that came with treerank goes first, so a kernel that has some is never compiled here.
    """

    kernel: str | None = None

    def load(self, key: Any) -> Any:
        """Return the machine code under a key, None if there is none."""
        shipped = self.kernel and machine_code.load(self.kernel, key)
        return super().load(key) if shipped is None else shipped

    def save(self, key: Any, data: Any) -> None:
        """Store machine code under a key."""
        with _alone_in(self._cache_path):
            super().save(key, data)


@contextmanager
def _alone_in(folder: str) -> Iterator[None]:
    """Wait until no other process is in a block for this folder; there is no wait on Windows."""
    if sys.platform == "win32":
        yield
        return
    lock = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
