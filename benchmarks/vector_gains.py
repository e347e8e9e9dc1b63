"""Gains of several outputs over one score of the same engine, with errors and p-values."""

import importlib
import sys
from pathlib import Path

import numpy as np

from treerank.statistics import adjust_holm

sys.path.append(str(Path(__file__).resolve().parent / "paper"))
by_parameter = importlib.import_module("comparisons").by_parameter


def against_scores(comparison, metric):
    """Return mean, seconds, and difference from the score of the same engine with its p-value."""
    queries = comparison.by_query(metric)
    columns = dict(zip(comparison.rankers, queries.T, strict=True))
    found, tested = {}, []
    for name, values in columns.items():
        base = f"{name.split(',')[0]}, score"
        gain = (values - columns[base])[~np.isnan(values)]
        fits = comparison.fits.where(ranker=name)
        found[name] = {"mean": float(np.nanmean(values)), "gain": float(gain.mean())}
        found[name] |= {"error": float(gain.std(ddof=1) / np.sqrt(len(gain)))}
        found[name] |= {"seconds": float(fits["fit_seconds"].mean())}
        found[name] |= {"parameters": by_parameter(fits["best_params"].tolist())}
        if name != base:
            test = comparison.test(metric, "randomization", rankers=(name, base), adjust=False)
            tested.append((name, test.p_values[0, 1]))
    for (name, _), p in zip(tested, adjust_holm([p for _, p in tested]), strict=True):
        found[name]["p_value"] = float(p)
    return found
