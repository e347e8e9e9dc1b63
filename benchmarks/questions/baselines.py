"""Baselines: the rankers of the literature that the package has, at their defaults.

NDCG@10 on the test parts of MQ2008 and OHSUMED, one seed. Rankers that stop early hold out queries
of the training part themselves. The papers' own experiments are in ``benchmarks/paper``.
"""

import functools
import time
import warnings

import numpy as np
from sklearn.base import clone

from benchmarks import comparing, data
from benchmarks.drawing import intervals, ndcg, table
from benchmarks.measurements import Measurement
from benchmarks.page import Section
from treerank.cli.compare import NAMES
from treerank.registry import RANKERS, ranker_class

TITLE = "How well do the rankers from the literature rank?"
IS_TIMING = False
SETS = ("MQ2008", "OHSUMED")


def names_of():
    """Return the names of the rankers."""
    return [name for name in NAMES if name in RANKERS]


def measured(options, data_set, name):
    """Return the mean NDCG@10 with its standard error over queries."""
    values, seconds = [], 0.0
    for train, _, test in data.folds(options, data_set):
        ranker = ranker_class(name)()
        if "random_state" in ranker.get_params():
            ranker = clone(ranker).set_params(random_state=0)
        began = time.process_time()
        with warnings.catch_warnings(action="ignore"):
            ranker.fit(*train)
        seconds += time.process_time() - began
        values.append(comparing.METRIC.per_query(test[1], ranker.predict(test[0]), test[2]))
    values = np.concatenate(values)
    values = values[~np.isnan(values)]
    error = values.std(ddof=1) / np.sqrt(len(values))
    return {"ndcg@10": values.mean(), "error": error, "cpu_seconds": seconds}


def measurements(options):
    """Yield NDCG@10 of each ranker on each set."""
    names = ["RankSVM", "PRank", "AdaRank"] if options.quick else names_of()
    for data_set in (data.TINY,) if options.quick else SETS:
        for name in names:
            measure = functools.partial(measured, options, data_set, name)
            yield Measurement({"data": data_set, "ranker": name}, measure)


def section(rows):
    """Return NDCG@10 by ranker and set."""
    means = {}
    for row in rows:
        means.setdefault(row["conditions"]["ranker"], {})[row["conditions"]["data"]] = row["values"]
    sets = list(dict.fromkeys(row["conditions"]["data"] for row in rows))
    order = sorted(means, key=lambda n: -means[n].get(sets[0], {"ndcg@10": 0})["ndcg@10"])
    groups = {
        name: {
            d: (v["ndcg@10"], v["ndcg@10"] - 1.96 * v["error"], v["ndcg@10"] + 1.96 * v["error"])
            for d, v in means[name].items()
        }
        for name in order
    }
    body = [
        [f"`{n}`", *(ndcg(means[n].get(d, {}).get(k)) for d in sets for k in ("ndcg@10", "error"))]
        for n in order
    ]
    best = {
        d: max((n for n in means if d in means[n]), key=lambda n: means[n][d]["ndcg@10"])
        for d in sets
    }
    answer = (
        f"{' and '.join(f'`{name}` is best on {d}' for d, name in best.items())}; most intervals "
        "overlap, so few differences are shown."
    )
    head = ["ranker", *(x for d in sets for x in (f"{d}", f"{d}, standard error"))]
    chart = intervals(answer, groups, "NDCG@10, with its 95 % interval", reference=None)
    return Section(answer, [chart], [("NDCG@10 at defaults", table(head, body))])
