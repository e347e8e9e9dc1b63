"""Which rankers keep which laws? ``check_ranker`` over ours and the engines' own rankers.

The engines' rankers are used through the adapter of ``engine_adapter.py``. They have no ``compare``
and no ``rank``, so laws about those are skipped, as is the law about the objective.
"""

import argparse
from collections import Counter
from importlib.metadata import version

from engine_adapter import ENGINES, Adapter

from treerank.feature_parts.engines.lightgbm import LightGBMTrees
from treerank.feature_parts.engines.xgboost import XGBoostTrees
from treerank.rankers.tree_direct_ranker import TreeDirectRanker
from treerank.testing import LAWS, check_ranker

PACKAGES = ("treerank", "lightgbm", "xgboost", "catboost", "scikit-learn", "numpy")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=20)
    trees = {"n_estimators": parser.parse_args().trees, "n_jobs": 1}
    rankers = {
        "ours, LightGBM": TreeDirectRanker(LightGBMTrees(**trees)),
        "ours, XGBoost": TreeDirectRanker(XGBoostTrees(**trees)),
        **{engine: Adapter(engine, **trees) for engine in ENGINES},
    }
    results = {name: check_ranker(ranker, on_fail="report") for name, ranker in rankers.items()}
    print(", ".join(f"{package} {version(package)}" for package in PACKAGES))
    print(f"{'':30}", *(f"{name:>15}" for name in rankers))
    for law, *row in zip(LAWS, *results.values(), strict=True):
        print(f"{law:30}", *(f"{outcome(result):>15}" for result in row))
    counts = [Counter(map(outcome, given)) for given in results.values()]
    for word in ("pass", "FAIL", "skip"):
        print(f"{word:30}", *(f"{count[word]:>15}" for count in counts))
    for name, given in results.items():
        for result in given:
            if result.message:
                print(f"{name}, {result.message}")


def outcome(result):
    return "pass" if result.passed else "FAIL" if result.message else "skip"


if __name__ == "__main__":
    main()
