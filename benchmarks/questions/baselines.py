"""Baselines: the rankers of the literature that the package has, at their defaults.

NDCG@10 on the test parts of MQ2008 and OHSUMED, one seed, beside ``TreeDirectRanker()``.
Differences are paired over test queries. Rankers that stop early hold out queries of the training
part themselves. SortNet's lists are those that its comparator sorts; all others sort by
``predict``. It gets five rounds of sorting and training, not 20, since each round has more pairs
to train on and takes longer. The papers' own experiments are in ``benchmarks/paper``.
"""

import functools
import time
import warnings

import numpy as np
from sklearn.base import clone

from benchmarks import comparing, data
from benchmarks.drawing import intervals, ndcg, signed, table
from benchmarks.measurements import Measurement
from benchmarks.page import Section
from benchmarks.questions import number_of
from treerank.baselines import BASELINES
from treerank.registry import ranker_class
from treerank.statistics import bootstrap_interval

TITLE = "How well do the rankers from the literature rank?"
IS_TIMING = False
SETS = ("MQ2008", "OHSUMED")
#: The ranker that all are compared with, and one whose lists do not follow from ``predict``.
PEER, SORTNET = "TreeDirectRanker", "SortNet(max_iter=5)"
#: Class and settings of the rankers that are not at their defaults.
LIMITED = {SORTNET: ("SortNet", {"max_iter": 5})}


@functools.cache
def by_query(options, data_set, name):
    """Return NDCG@10 of all test queries, and the processor seconds of the fits."""
    values, seconds = [], 0.0
    class_name, settings = LIMITED.get(name, (name, {}))
    for train, _, test in data.folds(options, data_set):
        ranker = ranker_class(class_name)(**settings)
        if "random_state" in ranker.get_params():
            ranker = clone(ranker).set_params(random_state=0)
        began = time.process_time()
        with warnings.catch_warnings(action="ignore"):
            ranker.fit(*train)
            seconds += time.process_time() - began
            X, y, qid = test
            scores = -ranker.rank(X, qid) if name == SORTNET else ranker.predict(X)
        values.append(comparing.METRIC.per_query(y, scores, qid))
    values = np.concatenate(values)
    return values[~np.isnan(values)], seconds


def measured(options, data_set, name):
    """Return the mean NDCG@10, its standard error over queries, and the lead over the peer."""
    values, seconds = by_query(options, data_set, name)
    error = values.std(ddof=1) / np.sqrt(len(values))
    found = {"ndcg@10": values.mean(), "error": error, "n_queries": len(values)}
    if name != PEER:
        lead = bootstrap_interval(values - by_query(options, data_set, PEER)[0])
        found |= {"lead": lead.estimate, "low": lead.low, "high": lead.high}
    return found | {"cpu_seconds": seconds}


def measurements(options):
    """Yield NDCG@10 of each ranker on each set."""
    limited = {class_name for class_name, _ in LIMITED.values()}
    names = sorted(BASELINES.keys() - limited | LIMITED.keys())
    names = ["RankSVM", "PRank", SORTNET] if options.quick else names
    for data_set in (data.TINY,) if options.quick else SETS:
        for name in [PEER, *names]:
            measure = functools.partial(measured, options, data_set, name)
            yield Measurement({"data": data_set, "ranker": name}, measure)


def section(rows):
    """Return the leads over the default as a forest plot, and NDCG@10 by ranker and set."""
    means = {}
    for row in rows:
        means.setdefault(row["conditions"]["ranker"], {})[row["conditions"]["data"]] = row["values"]
    sets = list(dict.fromkeys(row["conditions"]["data"] for row in rows))
    order = sorted(means, key=lambda n: -means[n].get(sets[0], {"ndcg@10": 0})["ndcg@10"])
    leads = {
        name: {d: v for d, v in means[name].items() if "lead" in v}
        for name in order
        if name != PEER
    }
    groups = {
        name: {d: (v["lead"], v["low"], v["high"]) for d, v in found.items()}
        for name, found in leads.items()
    }
    parts = []
    for d in sets:
        own = [found[d] for found in leads.values() if d in found]
        (n_queries,) = {v["n_queries"] for v in own}
        best = max((n for n in leads if d in leads[n]), key=lambda n: leads[n][d]["lead"])
        parts.append(
            f"On {d} ({n_queries} test queries), NDCG@10 is significantly lower than that of "
            f"`{PEER}()` for {number_of(v['high'] < 0 for v in own)} of the {len(own)} rankers, "
            f"and significantly higher for {number_of(v['low'] > 0 for v in own)}; among the "
            f"{len(own)}, `{best}` has the highest NDCG@10."
        )
    answer = " ".join(
        [
            "The rankers of `treerank.baselines`, which come from the literature, were compared "
            f"with `{PEER}()`. All rankers have default settings, except that SortNet was trained "
            "for fewer rounds.",
            *parts,
        ]
    )
    body = [
        [
            f"`{name}`",
            *(ndcg(means[name].get(d, {}).get(k)) for d in sets for k in ("ndcg@10", "error")),
        ]
        for name in order
    ]
    each = [
        [f"`{name}`", d, *(signed(v[k]) for k in ("lead", "low", "high"))]
        for name, found in leads.items()
        for d, v in found.items()
    ]
    head = ["ranker", *(x for d in sets for x in (d, f"{d}, standard error"))]
    chart = intervals(answer, groups, f"lead over {PEER}() in NDCG@10, with its 95 % interval")
    notes = (
        "All rankers use the same seed. No ranker was tuned on a validation part, so the tables "
        "do not show how well a ranker could rank after tuning. SortNet is limited to 5 rounds "
        "of sorting and training instead of its default of 20, because each round trains on more "
        "pairs than the round before, and takes longer. The NDCG@10 of SortNet is that of the "
        "lists that its comparator sorts."
    )
    return Section(
        answer,
        [chart],
        [
            ("NDCG@10 with default settings", table(head, body)),
            (f"Lead over `{PEER}()`", table(["ranker", "data", "lead", "from", "to"], each)),
        ],
        notes,
    )
