"""Where does the time of a fit go that the engine alone would not take?

The processor time of a default fit of TreeDirectRanker, divided among its parts, which add up to
all of it. The engine alone bins the same rows and grows as many trees from the same derivatives,
which it reads from memory. All on one thread, in turn.
"""

import argparse
import time
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import lightgbm
import numba
import numpy as np
import xgboost
from timing import say_versions

from treerank import LightGBMTrees, TreeDirectRanker, XGBoostTrees, make_web_search
from treerank.feature_parts.engines import fixed_point, xgboost_boundary
from treerank.feature_parts.rows import Rows
from treerank.objectives.pairwise import PairwiseObjective
from treerank.rankers import ranker as rankers

#: What is measured: name, owner of the function and its name.
PARTS = [
    ("reading and checks of X, y, qid", rankers, "read_training_set"),
    ("reading and checks of X, y, qid", rankers, "check_documents"),
    ("canonical order", rankers, "training_set"),
    ("rows in that order", Rows, "batch"),
    ("rows in that order", Rows, "array"),
    ("sample for bins", Rows, "take"),
    ("sample for bins", xgboost_boundary, "sample_of"),
    ("sample for bins", xgboost_boundary, "quantile_rows"),
    ("derivatives: kernels", PairwiseObjective, "derivatives"),
    ("derivatives: copy, checks, rounding", fixed_point.FixedPointDerivatives, "__call__"),
    ("engine: bins", lightgbm.Dataset, "construct"),
    ("engine: bins", xgboost.QuantileDMatrix, "__init__"),
    ("engine: trees", lightgbm.Booster, "__init__"),
    ("engine: trees", lightgbm.Booster, "update"),
    ("engine: trees", xgboost, "train"),
    ("model to text and back", LightGBMTrees, "load_booster"),
    ("model to text and back", lightgbm.Booster, "model_to_string"),
]


class Clock:
    """Divides processor time among parts: what runs inside of a part is not of the part."""

    def __init__(self):
        self.seconds, self.stack, self.last = {}, ["the rest"], time.process_time()

    def tick(self):
        """Add the time since the last change to the part that runs."""
        now = time.process_time()
        part = self.stack[-1]
        self.seconds[part] = self.seconds.get(part, 0.0) + now - self.last
        self.last = now

    @contextmanager
    def inside(self, part):
        """Count the time inside the block as that of a part."""
        self.tick()
        self.stack.append(part)
        try:
            yield
        finally:
            self.tick()
            self.stack.pop()

    def timed(self, part, function):
        """Return a function whose time counts as that of a part."""

        def run(*arguments, **options):
            with self.inside(part):
                return function(*arguments, **options)

        return run


def divided(fit):
    """Return the processor time of each part of a fit."""
    clock = Clock()
    with ExitStack() as stack:
        for part, owner, name in PARTS:
            stack.enter_context(patch.object(owner, name, clock.timed(part, getattr(owner, name))))
        clock.last = time.process_time()
        fit()
        clock.tick()
    return clock.seconds


def recorded(fit, engine):
    """Return the parameters that a fit passes to the engine, and the derivatives of each tree."""
    params, derivatives = [], []
    train, call = engine.train, fixed_point.FixedPointDerivatives.__call__

    def keep_params(given, *arguments, **options):
        params.append({name: value for name, value in given.items() if name != "objective"})
        return train(given, *arguments, **options)

    def keep_derivatives(self, scores):
        derivatives.append(call(self, scores))
        return derivatives[-1]

    with (
        patch.object(engine, "train", keep_params),
        patch.object(fixed_point.FixedPointDerivatives, "__call__", keep_derivatives),
    ):
        fit()
    return params[0], derivatives


def lightgbm_alone(X, params, derivatives):
    """Return the processor time of LightGBM's bins and of its trees."""
    start, replay = time.process_time(), iter(derivatives)
    data = lightgbm.Dataset(X, np.zeros(len(X), np.float32), params=params).construct()
    binned = time.process_time()
    params = params | {"objective": lambda scores, _: next(replay)}
    lightgbm.train(params, data, len(derivatives), keep_training_booster=True)
    return {"engine: bins": binned - start, "engine: trees": time.process_time() - binned}


def xgboost_alone(X, params, derivatives):
    """Return the processor time of XGBoost's bins and of its trees."""
    start, replay = time.process_time(), iter(derivatives)
    options = {"max_bin": params["max_bin"], "nthread": params["nthread"]}
    data = xgboost.QuantileDMatrix(X, np.zeros(len(X), np.float32), **options)
    binned = time.process_time()
    xgboost.train(params, data, len(derivatives), obj=lambda scores, _: next(replay))
    return {"engine: bins": binned - start, "engine: trees": time.process_time() - binned}


ENGINES = {
    "LightGBM": (LightGBMTrees, lightgbm, lightgbm_alone),
    "XGBoost": (XGBoostTrees, xgboost, xgboost_alone),
}


def medians(rounds):
    """Return the median seconds of each part over rounds."""
    parts = dict.fromkeys(part for each in rounds for part in each)
    return {part: np.median([each.get(part, 0.0) for each in rounds]) for part in parts}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=790)
    parser.add_argument("--trees", type=int, default=40)
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    numba.set_num_threads(1)  # a thread that waits takes processor time, too
    X, y, qid = make_web_search(arguments.queries, random_state=0)
    X = np.ascontiguousarray(X, dtype=np.float32)
    rows = rankers.training_set(X, y, qid).rows
    say_versions("lightgbm", "xgboost", "numba")
    print(f"{len(X)} x {X.shape[1]}, {arguments.trees} trees, one thread")
    for engine, (part, module, alone) in ENGINES.items():
        trees = part(n_estimators=arguments.trees, n_jobs=1)

        def fit(trees=trees):
            TreeDirectRanker(trees, random_state=0).fit(X, y, qid)

        replay = recorded(fit, module)
        turns = [(divided(fit), alone(X[rows], *replay)) for _ in range(arguments.repetitions)]
        ours, engines = (medians(each) for each in zip(*turns, strict=True))
        beyond = [sum(ours.values()) - sum(theirs.values()) for ours, theirs in turns]
        total = sum(ours.values())
        print(f"\n{engine}: {total:.2f} s")
        for name, seconds in ours.items():
            print(
                f"{name:40} {seconds:7.3f} s {seconds / total:6.1%}   {engines.get(name, 0):7.3f}"
            )
        print(f"beyond the engine alone: {np.median(beyond) / total:.1%} (bar: <= 6 %)")


if __name__ == "__main__":
    main()
