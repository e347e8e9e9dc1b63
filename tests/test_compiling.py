"""Kernels on disk: each version has its own, and so has each set of parts."""

import os
import subprocess
import sys

import numpy as np
import pytest

from treerank.metrics.ranked import totals_kernel
from treerank.metrics.registry import METRICS
from treerank.objectives.kernels.exact_pairs import exact_kernel
from treerank.objectives.losses import PAIR_LOSSES

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled"
)
LOSSES = list(PAIR_LOSSES.values())
SCRIPT = """
import importlib.metadata as metadata, sys
metadata.version = lambda name, known=metadata.version: (
    sys.argv[1] if name == "treerank" else known(name)
)
import numpy as np
from treerank.metrics.relevance import _look_up
assert _look_up(np.array([1.0]), np.array([0.0, 3.0]))[0] == [3.0]
print(sum(_look_up.stats.cache_hits.values()))
"""


def test_another_version_compiles_its_own_kernels(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    hits = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, version],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for version in ("1", "1", "2", "2")
    ]
    assert hits == ["0", "1", "0", "1"]


def test_the_stamps_of_other_packages_stay_as_they_are(tmp_path, monkeypatch):
    (tmp_path / "foreign.py").write_text(
        "import numba\n\n\n@numba.njit(cache=True)\ndef one():\n    return 1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import foreign

    assert foreign.one() == 1
    assert not isinstance(foreign.one._cache._cache_file._source_stamp, tuple)


def test_kernels_for_different_parts_never_share_a_file():
    kernels = [totals_kernel(type(metric).list_total) for metric in METRICS.values()]
    kernels += [exact_kernel(loss.of_margin, np.maximum, False, False) for loss in LOSSES]
    kernels += [exact_kernel(LOSSES[0].of_margin, np.maximum, True, False)]
    names = {kernel.py_func.__qualname__ for kernel in kernels}
    assert len(names) == len(METRICS) + len(LOSSES) + 1
