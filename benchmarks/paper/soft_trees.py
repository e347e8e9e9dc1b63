"""Do the splits of soft trees learn, and what does it cost in quality?

``python benchmarks/paper/soft_trees.py --data ../mq2008 ../ohsumed ../clueweb09 synthetic`` fits
``SoftTrees`` with several widths of the band, starts and schedules on the training parts, and
measures NDCG@10 after the last epoch on the validation parts; with ``--frozen`` the first defaults
and those of today alone, on the test parts, too. Each setting is compared with the first one, by
query. ``--seeds 0 1 2`` fits with three seeds each, whose values of a query are averaged.

Correlation: of the values S of a split over the training rows, before training and after, the
median over the splits. At 1, training leaves a split where it was drawn. Hard: the share of the
decisions (rows times splits) that are 0 or 1 after training; conditional computation could leave
out what lies behind these. Writes ``results/soft-trees.jsonl``, one row per data set, fold and
setting, and continues a file where it ended.
"""

import argparse
import json
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import data_sets
import numpy as np
import torch

from treerank import SoftTrees, TreeDirectRanker
from treerank.documents.rows import Rows
from treerank.metrics import NDCG

RESULTS = Path(__file__).resolve().parents[1] / "results"
METRIC = NDCG(k=10)
#: The first defaults, and the frozen ones. On test parts: three seeds on ClueWeb09, which has 61
#: queries, and seed 0 on MQ2008, OHSUMED and synthetic queries.
BEFORE = {"gamma": 50.0, "spread": 0.2, "n_epochs": 50, "average_weights": False}
FROZEN = {"gamma": 5.0, "spread": 0.06, "n_epochs": 30, "average_weights": True}
CANDIDATES = (
    BEFORE,
    FROZEN,
    FROZEN | {"average_weights": False},
    {"gamma": 10.0, "spread": 0.02, "n_epochs": 30, "average_weights": False},
    {"gamma": 10.0, "spread": 0.035, "n_epochs": 50, "average_weights": True},
    {"gamma": 3.0, "spread": 0.2, "n_epochs": 30, "average_weights": True},
    BEFORE | {"gamma": 5.0, "narrowed": 0.2},
)


@dataclass(eq=False, repr=False)
class WatchedSoftTrees(SoftTrees):
    """Soft trees that keep their first splits.

    ``narrowed`` is what the width of the band is multiplied by until the last epoch, step by step.
    """

    narrowed: float = 1.0

    def _make_trainer(self, objective, device, seed):
        trainer, layer = super()._make_trainer(objective, device, seed), self.network_.layer
        self.first_ = {name: each.clone() for name, each in layer.state_dict().items()}
        run_epoch = trainer.run_epoch

        def narrow_and_run(X, objective, epoch):
            share = epoch / max(self.n_epochs - 1, 1)
            layer.gamma.fill_(self.gamma * self.narrowed**share)
            run_epoch(X, objective, epoch)

        trainer.run_epoch = narrow_and_run
        return trainer


def decisions(weights, X):
    """Return S of all rows and splits."""
    z = X @ weights["weight"].flatten(0, 1).t() + weights["bias"].flatten()
    u = (z / weights["gamma"] + 0.5).clamp(0, 1)
    return (u * u * (3 - 2 * u)).double().numpy()


def correlation(before, after):
    """Return the median correlation of the columns."""
    before, after = (each - each.mean(axis=0) for each in (before, after))
    scale = np.linalg.norm(before, axis=0) * np.linalg.norm(after, axis=0)
    return float(np.median((before * after).sum(axis=0) / np.maximum(scale, 1e-12)))


def measure(settings, split, parts, seed):
    """Return NDCG@10 of each query of some parts, and what became of the splits."""
    started = time.process_time()
    trees = WatchedSoftTrees(**settings, random_state=seed)
    ranker = TreeDirectRanker(trees, random_state=seed)
    ranker.fit(split.train.X, split.train.y, split.train.qid)
    seconds = time.process_time() - started
    fitted = ranker.feature_part_
    X = torch.from_numpy(fitted._standardization(Rows(np.asarray(split.train.X, float)[:4096])))
    after = decisions(fitted.network_.layer.state_dict(), X)
    return {part: values_of(ranker, getattr(split, part)) for part in parts} | {
        "correlation": round(correlation(decisions(fitted.first_, X), after), 4),
        "hard": round(float(np.mean((after == 0) | (after == 1))), 4),
        "seconds": round(seconds, 2),
    }


def values_of(ranker, data):
    """Return NDCG@10 of each query that has a relevant document."""
    values = METRIC.per_query(data.y, ranker.predict(data.X), data.qid)
    return [round(float(value), 5) for value in values[~np.isnan(values)]]


def rows_of(path):
    """Return the rows of a file of results."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def by_query(rows, part):
    """Return the value of each fold and query, the mean over seeds."""
    values = {}
    for row in rows:
        for i, value in enumerate(row[part]):
            values.setdefault((row["fold"], i), []).append(value)
    return {query: float(np.mean(each)) for query, each in values.items()}


def summary(rows, part):
    """Yield a line per data set and setting: means, and the difference from the first setting."""
    rows = [row for row in rows if part in row]
    first = {}
    for data, settings in dict.fromkeys((row["data"], json.dumps(row["settings"])) for row in rows):
        chosen = [r for r in rows if (r["data"], json.dumps(r["settings"])) == (data, settings)]
        values = by_query(chosen, part)
        before = first.setdefault(data, values)
        apart = np.array([value - before[key] for key, value in values.items() if key in before])
        error = apart.std(ddof=1) / len(apart) ** 0.5
        mean = {name: np.mean([r[name] for r in chosen]) for name in ("correlation", "hard")}
        yield (
            f"{data}, {part}, {settings}: NDCG@10 {np.mean(list(values.values())):.4f} "
            f"({apart.mean():+.4f} ± {error:.4f}, {len(apart)} queries), correlation "
            f"{mean['correlation']:.3f}, hard {mean['hard']:.1%}"
        )


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", default=["synthetic"], help="folders")
    parser.add_argument("--frozen", action="store_true", help="measure the test parts, too")
    parser.add_argument("--folds", nargs="+", type=int, help="all if left out")
    parser.add_argument("--settings", nargs="+", type=json.loads, help="JSON; all if left out")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--tiny", action="store_true", help="seconds; shows that it runs")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    arguments = parser.parse_args(argv)
    settings = arguments.settings or ((BEFORE, FROZEN) if arguments.frozen else CANDIDATES)
    parts = ("validation", "test") if arguments.frozen else ("validation",)
    path = arguments.out / "soft-trees.jsonl"
    for folder in arguments.data:
        splits = dict(enumerate(data_sets.read_splits(folder, tiny=arguments.tiny), start=1))
        for seed, fold, each in product(arguments.seeds, arguments.folds or splits, settings):
            row = {"data": data_sets.name_of(folder), "fold": fold, "seed": seed, "settings": each}
            alike = [r for r in rows_of(path) if row.items() <= r.items()]
            if not any(r.keys() >= {*parts} for r in alike):
                row |= measure(each, splits[fold], parts, seed)
                with path.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    for part in parts:
        print(*summary(rows_of(path), part), sep="\n")


if __name__ == "__main__":
    main()
