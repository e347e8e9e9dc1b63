"""Best: NDCG@10 of ``TreeDirectRanker.best()``, beside the default and other rankers.

As in ``quality``: defaults, test parts, one thread, one seed. The members of ``best()``, their
shares and the fits that were dropped since were chosen on training and validation parts of the same
sets, and frozen in commits (``cf57cb2``; ``25a7ac0``) before test parts were read.
"""

from functools import partial

from benchmarks import comparing, data
from benchmarks.drawing import intervals, ndcg, signed, table
from benchmarks.measurements import Measurement
from benchmarks.page import Section
from benchmarks.questions import listed, number_of, values_by
from benchmarks.questions.quality import SYNTHETIC, leads_table
from benchmarks.rankers import BEST, DEFAULT

TITLE = "How much better is TreeDirectRanker.best(), and how much longer does it take?"
IS_TIMING = False
PEERS = (DEFAULT, "LGBMRanker()", "XGBRanker()")
SMALL = ("MQ2008", "OHSUMED", "ClueWeb09")
#: Queries that a fit learns from; of folds, the most.
LEARNED_FROM = {
    "ClueWeb09": 37,
    "synthetic, 50 queries": 50,
    "MSLR sample": 53,
    "OHSUMED": 64,
    "synthetic, 300 queries": 300,
    "MQ2008": 471,
    "MSRD": 6_814,
}


def measurements(options):
    """Yield NDCG@10 and processor seconds, and the lead over each peer, on each set."""
    sets = (data.TINY,) if options.quick else (*data.PUBLIC, *SYNTHETIC)
    for name in sets:
        for ranker in (BEST, *PEERS):
            measure = partial(comparing.mean_of, options, name, ranker)
            yield Measurement({"data": name, "ranker": ranker}, measure)
        for peer in PEERS:
            measure = partial(comparing.lead_of, options, [name], BEST, peer)
            yield Measurement({"data": name, "ranker": BEST, "less": peer}, measure)
    if not options.quick:
        for peer in PEERS:
            measure = partial(comparing.lead_of, options, SMALL, BEST, peer)
            yield Measurement({"data": ", ".join(SMALL), "ranker": BEST, "less": peer}, measure)


def costs(rows):
    """Return the processor time of ``best()`` over that of the default, by data set."""
    found = values_by(rows, "data", "ranker")
    return {
        name: values["cpu_seconds"] / found[name, DEFAULT]["cpu_seconds"]
        for (name, ranker), values in found.items()
        if ranker == BEST and "cpu_seconds" in found.get((name, DEFAULT), {})
    }


def passages(rows):
    """Return what the guide says of its gain and its cost."""
    over = values_by(rows, "data", "less", ranker=BEST)
    public = [v for (name, peer), v in over.items() if peer == DEFAULT and name in data.PUBLIC]
    text = (
        f"`TreeDirectRanker.best()` has a higher NDCG@10 than the default on "
        f"{sum(v['lead'] > 0 for v in public)} of {len(public)} public data sets; the difference "
        f"is significant on {number_of(v['low'] > 0 for v in public)} of them. In our "
        f"measurements, fitting `best()` takes {times_text(rows)} as much processor time as "
        "fitting the default ([evidence](../evidence.md))."
    )
    return {"cost": text, "gains": gains_table(rows)}


def gains_table(rows):
    """Return a table of gains and costs over the default, by the number of queries."""
    over = values_by(rows, "data", less=DEFAULT, ranker=BEST)
    ratios = costs(rows)
    return table(
        ["queries to learn from", "data set", "gain in NDCG@10", "from", "to", "relative time"],
        [
            [
                f"{n:,}",
                name,
                *(signed(over[name][v]) for v in ("lead", "low", "high")),
                f"{ratios[name]:.1f}" if name in ratios else "",
            ]
            for name, n in LEARNED_FROM.items()
            if name in over
        ],
    )


def times_text(rows):
    """Return "3 to 9 times", the least and the largest cost."""
    ratios = costs(rows).values()
    return f"{min(ratios):.0f} to {max(ratios):.0f} times"


def section(rows):
    """Return the forest plot of leads and the tables."""
    leads = values_by(rows, "data", "less", ranker=BEST)
    groups = {}
    for (name, peer), value in leads.items():
        lead = tuple(value[v] for v in ("lead", "low", "high"))
        groups.setdefault(name, {})[f"over {peer}"] = lead
    over = {name: value for (name, peer), value in leads.items() if peer == DEFAULT}
    public = [value for name, value in over.items() if name in data.PUBLIC]
    answer = (
        f"`TreeDirectRanker.best()` has a higher NDCG@10 than the default on "
        f"{sum(v['lead'] > 0 for v in public)} of {len(public)} public data sets; the difference "
        f"is significant on {number_of(v['low'] > 0 for v in public)} of them."
    )
    pooled = over.get(", ".join(SMALL))
    if pooled:
        answer += (
            f" On the {pooled['n_queries']} test queries of {listed(SMALL)} combined, the lead of "
            f"`best()` over the default is {signed(pooled['lead'])} (95 % interval: "
            f"{signed(pooled['low'])} to {signed(pooled['high'])})."
        )
    if costs(rows):
        answer += (
            f" Fitting `best()` takes {times_text(rows)} as much processor time as fitting the "
            "default."
        )
    chart = intervals(
        f"Lead of TreeDirectRanker.best() in NDCG@10. {answer}",
        groups,
        "lead in NDCG@10, with its 95 % interval",
    )
    means = values_by(rows, "data", "ranker")
    sets = list(dict.fromkeys(name for name, _ in means))
    head = ["data set", "test queries", *(f"`{name}`" for name in (BEST, *PEERS))]
    body = [
        [
            name,
            f"{means[name, BEST]['n_queries']:,}",
            *(ndcg(means.get((name, ranker), {}).get("ndcg@10")) for ranker in (BEST, *PEERS)),
        ]
        for name in sets
    ]
    notes = (
        "The models in `best()` and their weights were chosen on the training and validation "
        "parts of these data sets, before the test parts were read. An earlier version of "
        "`best()` fitted more models; the models to remove were chosen in the same way. "
        "Processor times are compared instead of elapsed times, "
        "because other programs were running during the measurements, and processor times are "
        "less affected by this."
    )
    return Section(
        answer,
        [chart],
        [
            ("NDCG@10", table(head, body)),
            (f"Lead of `{BEST}`", leads_table(leads)),
        ],
        notes,
    )
