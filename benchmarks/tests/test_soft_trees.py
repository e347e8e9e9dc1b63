"""The benchmark of soft trees: what it measures of splits, and a run that continues."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
BENCHMARKS = Path(__file__).resolve().parents[1]


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS / "paper")
    return importlib.import_module("soft_trees")


def test_the_correlation_is_the_median_over_the_splits(bench):
    before = np.random.default_rng(0).normal(size=(50, 3))
    after = before.copy()
    after[:, 1] *= -2
    after[:, 2] = before[:, 2] ** 3
    expected = np.median([1, -1, np.corrcoef(before[:, 2], after[:, 2])[0, 1]])
    assert bench.correlation(before, after) == pytest.approx(expected)


def test_seeds_are_averaged_by_query(bench):
    rows = [
        {"fold": fold, "seed": seed, "test": values}
        for fold, seed, values in [(1, 0, [0.2, 0.8]), (1, 1, [0.4, 0.6]), (2, 0, [0.5])]
    ]
    found = bench.by_query(rows, "test")
    assert found == pytest.approx({(1, 0): 0.3, (1, 1): 0.7, (2, 0): 0.5})


@pytest.mark.slow
def test_a_seed_repeats_all_values(bench):
    split = bench.data_sets.read_splits("synthetic", tiny=True)[0]
    one, two, other = (
        bench.measure({"n_epochs": 1}, split, ("validation", "test"), seed) for seed in (3, 3, 4)
    )
    assert one | {"seconds": 0} == two | {"seconds": 0}
    assert one["test"] != other["test"]


@pytest.mark.slow
def test_a_run_writes_a_row_per_fold_and_setting_and_continues(bench, tmp_path, capsys):
    settings = [json.dumps({"n_epochs": 2, "gamma": gamma}) for gamma in (50.0, 1.0)]
    options = ["--tiny", "--out", str(tmp_path), "--settings"]
    bench.main([*options, settings[0]])
    bench.main([*options, *settings, "--frozen", "--folds", "1"])
    bench.main([*options, *settings, "--frozen", "--folds", "1"])
    rows = bench.rows_of(tmp_path / "soft-trees.jsonl")
    assert [(row["fold"], row["settings"]["gamma"], "test" in row) for row in rows] == [
        *((fold, 50.0, False) for fold in (1, 2, 3)),
        *((1, gamma, True) for gamma in (50.0, 1.0)),
    ]
    assert rows[4]["correlation"] < rows[3]["correlation"] <= 1
    assert "synthetic, test, " in capsys.readouterr().out
