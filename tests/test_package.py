"""The public names, and what importing them costs."""

import subprocess
import sys

import treerank


def test_every_public_name_is_there_and_in_order():
    assert treerank.__all__ == sorted(treerank.__all__)
    for name in treerank.__all__:
        assert getattr(treerank, name).__doc__


def test_importing_the_ranker_loads_no_engine():
    code = (
        "import sys, sklearn.base, numba; before = set(sys.modules); "
        "from treerank import TreeDirectRanker; "
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {"lightgbm", "xgboost", "torch", "catboost", "pandas", "polars", "matplotlib", "typer"}
    assert not heavy & set(loaded)
