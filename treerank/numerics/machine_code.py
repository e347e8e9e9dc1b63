"""Machine code: what a release wheel brings, so that the first fit need not compile.

``.ci/wheel`` compiles usual kernels for processors with AVX2 and for those with AVX-512, and puts
each in a file of its own. A checkout has no such files, and compiles.

The code of a kernel always comes from its file, if there is one, so no two fits mix that code with
what was compiled here. The path of the file tells all that the machine code depends on: the
versions of Python, numba and llvmlite, the level of the processor, and as a digest the kernel, the
types of its arguments, and every source file of treerank. After a change of any of them there is
no such file, and the kernel is compiled.
"""

import hashlib
import pickle
import sys
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba

_PACKAGE = Path(__file__).parent.parent
_VERSIONS = sys.implementation.cache_tag, numba.__version__, llvmlite.__version__
#: Where the code for these versions is, in a folder for each level.
FOLDER = _PACKAGE / "machine_code" / "{}-numba-{}-llvmlite-{}".format(*_VERSIONS)
_AVX2 = (
    "64bit avx avx2 bmi bmi2 cmov crc32 cx16 cx8 f16c fma fxsr lzcnt mmx movbe popcnt sahf sse "
    "sse2 sse3 sse4.1 sse4.2 ssse3 xsave"
)
_AVX512 = f"{_AVX2} avx512bw avx512cd avx512dq avx512f avx512vl"
#: The features that a processor of each level of x86-64 has, the best level first.
LEVELS = {"x86-64-v4": set(_AVX512.split()), "x86-64-v3": set(_AVX2.split())}
#: The processor whose fast instructions the compiler prefers. Predictions of histogram trees take
#: 2.6 times as long on a Zen 4 with "x86-64-v3", "haswell" or "skylake-avx512".
TUNED_FOR = {"x86-64-v4": "znver4", "x86-64-v3": "znver3"}


def load(kernel: str, key: Any) -> Any:
    """Return what numba stores of a kernel under a key; None if it did not come with treerank."""
    path = _path(kernel, key)
    if path is None:
        return None
    try:
        return pickle.loads(zlib.decompress(path.read_bytes()))
    except (OSError, zlib.error):  # not one of the usual kernels, or damaged
        return None


def save(kernel: str, key: Any, data: Any) -> int:
    """Let what numba stores of a kernel come with treerank; return the size of its file.

    Its text is left out: notes on types, which name the folder in which the kernel was compiled.
    """
    data = tuple("" if isinstance(part, str) else part for part in data)
    path = _path(kernel, key)
    if path.exists():
        raise ValueError(f"two kernels have the name {kernel}")
    return path.write_bytes(zlib.compress(pickle.dumps(data), 9))


def _path(kernel, key):
    """Return the file of a kernel, or None where no code is for these versions and processor."""
    if not FOLDER.is_dir():
        return None
    types, (system, _, features), _ = key
    level = _level(features)
    if level is None:
        return None
    text = repr((_sources(), kernel, types, system))
    return FOLDER / level / hashlib.sha256(text.encode()).hexdigest()


@cache
def _level(features):
    """Return the best level with machine code that a processor with these features runs."""
    found = {feature[1:] for feature in features.split(",") if feature.startswith("+")}
    runs = (level for level, needed in LEVELS.items() if needed <= found)
    return next((level for level in runs if (FOLDER / level).is_dir()), None)


@cache
def _sources():
    """Return a digest of all source files of treerank."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
