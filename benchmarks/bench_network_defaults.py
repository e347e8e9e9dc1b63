"""Which settings of a network are best on average over several data sets?

``python benchmarks/bench_network_defaults.py soft_trees '{"depth": 5, "gamma": 1, "spread": 0.5}'
'{}' --data FOLDER synthetic`` compares faster, harder splits with the default ones. The name is
that of a feature part, under TreeDirectRanker, or of a neural ranker. Settings are JSON;
``"normal": true`` transforms features as section 4.4 of the DirectRanker paper does. Printed is
NDCG@10 on the test parts, of the last epoch and of the epoch with the best value on the validation
part, over folds and seeds. Differences are taken from the first settings, fit by fit, with their
standard error.
"""

import argparse
import importlib
import json
import sys
import time
from pathlib import Path

import numpy as np

from treerank.documents.queries import QueryGroups
from treerank.feature_parts.registry import FEATURE_PARTS, feature_part_class
from treerank.metrics import get_metric
from treerank.rankers.tree_direct_ranker import TreeDirectRanker
from treerank.registry import ranker_class

sys.path.append(str(Path(__file__).resolve().parent / "paper"))
data_sets, transforms = map(importlib.import_module, ("data_sets", "transforms"))
METRIC = get_metric("ndcg@10")


class Watch:
    """NDCG@10 of the validation part, taking down that of the test part behind it."""

    name = "ndcg@10"

    def __init__(self, validation, test):
        self.n, self.tested = len(validation.y), []
        self.parts = [METRIC.prepared(p.y, QueryGroups.from_qid(p.qid)) for p in (validation, test)]

    def __call__(self, scores):
        """Return the value that stops early."""
        self.tested.append(self.parts[1](scores[self.n :]))
        return self.parts[0](scores[: self.n])


def make_ranker(name, settings, seed):
    if name in FEATURE_PARTS:
        return TreeDirectRanker(feature_part_class(name)(**settings), random_state=seed)
    return ranker_class(name)(random_state=seed, **settings)


def curve(name, settings, split, seed):
    """Return NDCG@10 of the test part in the last epoch and in the best one, and CPU seconds."""
    settings, parts = dict(settings), [p.X for p in (split.train, split.validation, split.test)]
    if settings.pop("normal", False):
        normal = transforms.NormalTransformer().fit(parts[0])
        parts = [normal.transform(X) for X in parts]
    ranker, watch = make_ranker(name, settings, seed), Watch(split.validation, split.test)
    started = time.process_time()
    ranker._set_aside = lambda data, eval_set, seed: (
        data,
        (np.concatenate(parts[1:]), watch),
        None,
    )
    ranker.fit(parts[0], split.train.y, split.train.qid)
    validated = ranker.evals_result_["validation"]["ndcg@10"]
    best = int(np.argmax(validated))
    return watch.tested[-1], watch.tested[best], best + 1, time.process_time() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("settings", nargs="+", type=json.loads)
    parser.add_argument("--data", nargs="+", default=["synthetic"])
    parser.add_argument("--folds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    parser.add_argument("--seeds", type=int, default=2)
    arguments = parser.parse_args()
    for folder in arguments.data:
        splits = data_sets.read_splits(folder)
        chosen, first = [splits[fold - 1] for fold in arguments.folds], None
        for settings in arguments.settings:
            seeds = range(arguments.seeds)
            found = [curve(arguments.name, settings, s, seed) for s in chosen for seed in seeds]
            values = np.array(found)
            first = values if first is None else first
            mean, apart = values.mean(axis=0), (values - first)[:, :2]
            error = apart.std(axis=0, ddof=1) / len(apart) ** 0.5
            print(
                f"{data_sets.name_of(folder)} {json.dumps(settings)}: "
                f"last {mean[0]:.4f} ({apart.mean(0)[0]:+.4f} ± {error[0]:.4f}), "
                f"best {mean[1]:.4f} ({apart.mean(0)[1]:+.4f} ± {error[1]:.4f}), "
                f"epoch {mean[2]:.0f}, {mean[3]:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
