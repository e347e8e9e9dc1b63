"""Judgments: intervals and rankers from few labels by people and many by an LLM.

Judges are simulated, on synthetic queries and on the labels of MSRD and MQ2008
(``benchmarks/llm_coverage.py``, ``benchmarks/llm_training.py``). Intervals of 95 %: how often they
hold the truth, by the number of queries that people judge. Rankers: NDCG@10 by people's labels of
other queries, by how both kinds of labels are used.
"""

import functools

import numpy as np

from benchmarks import data as data_sets
from benchmarks import llm_coverage, llm_data, llm_training
from benchmarks.drawing import intervals, signed, table
from benchmarks.measurements import Measurement
from benchmarks.page import Section

TITLE = "Can a few labels from people and many from an LLM be combined?"
IS_TIMING = False
BOTH, STACKED = "people and LLM", "stacked"
JUDGES = ("good", "lenient", "likes words", "fails on some queries", "poor")
ASKED = ("NDCG@10", "far apart", "near copy", "dense - BM25")
WAYS = (
    "LLM alone",
    "people alone",
    "people alone, linear model",
    "one label, the LLM's at half the weight",
    "LLM's ranker as a column",
    STACKED,
)
N_DRAWS = 10


@functools.cache
def coverage_of(options, world):
    """Return the rows of coverage of a world by judge, question, human queries and method."""
    if options.quick:
        made, repeats = llm_coverage.synthetic(1500), 20
    elif world == "synthetic":
        made, repeats = llm_coverage.synthetic(), 4000
    else:
        folder = options.data / data_sets.DATA_SETS["MSRD"].folder
        made, repeats = llm_coverage.msrd(folder / "msrd.npz"), 4000
    rows = [
        *llm_coverage.rows(world, *made, repeats),
        *llm_coverage.documents(world, *made, repeats // 4),
    ]
    names = ("judge", "question", "human", "method")
    return {
        tuple(row[n] for n in names): {k: v for k, v in row.items() if k not in (*names, "world")}
        for row in rows
    }


@functools.cache
def training_of(options, name, draw):
    """Return NDCG@10 of a draw by judge, number of judged queries and way."""
    if options.quick:
        return llm_training.drawn("drawn", None, draw, (20, None), (10,))
    folder = {"msrd": "msrd/msrd.npz", "mq2008": "mq2008/Fold1"}[name]
    return llm_training.drawn(name, options.data / folder, draw)


def measurements(options):
    """Yield coverage by world, judge, question, human queries and method, and NDCG@10 by way."""
    by_queries = [
        (question, n, method)
        for question in ASKED
        for n, methods in {
            **dict.fromkeys(llm_coverage.HUMAN, ("people alone", BOTH)),
            0: ("LLM alone",),
        }.items()
        for method in methods
    ]
    by_documents = [
        ("P@10", 50, f"{method}, by {unit}")
        for unit in ("queries", "documents")
        for method in ("people alone", BOTH)
    ]
    for world in ("synthetic",) if options.quick else ("synthetic", "msrd"):
        for judge in JUDGES:
            for question, human, method in (*by_queries, *by_documents):
                conditions = {
                    "world": world, "judge": judge, "question": question,
                    "human": human, "method": method,
                }  # fmt: skip
                key = judge, question, human, method
                measure = lambda world=world, key=key: coverage_of(options, world)[key]  # noqa: E731
                yield Measurement(conditions, measure)
    for name in llm_data.SETS[: 1 if options.quick else None]:
        for draw in range(1 if options.quick else N_DRAWS):
            for judge in llm_data.JUDGES:
                for n_judged in (10,) if options.quick else llm_training.JUDGED:
                    for way in WAYS:
                        conditions = {
                            "data": name, "judge": judge, "judged": n_judged,
                            "draw": draw, "way": way,
                        }  # fmt: skip
                        yield Measurement(
                            conditions,
                            lambda name=name, draw=draw, key=(judge, n_judged, way): {
                                "ndcg": training_of(options, name, draw)[key]
                            },
                        )


def flat(rows, name):
    """Return rows that have a condition as single dictionaries."""
    return [row["conditions"] | row["values"] for row in rows if name in row["conditions"]]


#: Judges with other names in tables than in the kept rows.
SHOWN_JUDGES = {"likes words": "prefers word matches"}
#: Ways to train of the guide's table, with their names there.
SHOWN_WAYS = {
    STACKED: "stacked",
    "LLM's ranker as a column": "LLM's score as a column",
    "one label, the LLM's at half the weight": "mixed",
}


def coverages(rows):
    """Return the coverage of intervals in each cell, by the number of people's queries and method.

    A number of 0 is the LLM alone.
    """
    kept = [row for row in flat(rows, "method") if row["question"] in ASKED]
    human = sorted({row["human"] for row in kept} - {0})
    return {
        (n, method): [r["coverage"] for r in kept if r["human"] == n and r["method"] == method]
        for n in (*human, 0)
        for method in ("people alone", BOTH, "LLM alone")
    }


def least_of(coverage, human):
    """Return ".918 with 20 queries judged by people, .930 with 30 and .938 with 50"."""
    first, *others = (f"{share(min(coverage[n, BOTH]))} with {n}" for n in human)
    parts = [f"{first} queries judged by people", *others]
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if others else parts[0]


def passages(rows):
    """Return the coverage and the table of the guide."""
    coverage = coverages(rows)
    human = sorted({n for n, _ in coverage} - {0})
    alone = coverage[0, "LLM alone"]
    text = (
        f"In a simulation of {len(coverage[human[0], BOTH])} settings (combinations of a judge, a "
        f"question and a collection), the coverage of the 95 % intervals was at least "
        f"{least_of(coverage, human)}. Intervals based only on the LLM's labels had a coverage of "
        f"{share(min(alone))} to {share(max(alone))} "
        "([evidence](../evidence.md))."
    )
    found = llm_training.gains(flat(rows, "way"))
    cells = list(dict.fromkeys(key[:3] for key in found))
    body = [
        [data.upper(), n, SHOWN_JUDGES.get(judge, judge)]
        + [signed(found[data, judge, n, way]) for way in SHOWN_WAYS]
        for data, judge, n in sorted(cells, key=lambda cell: (cell[0] != "msrd", cell[2]))
    ]
    head = ["data", "queries judged by people", "judge", *SHOWN_WAYS.values()]
    return {"coverage": text, "gains": table(head, body)}


def section(rows):
    """Return the coverage of intervals, and the gains of ways to train."""
    kept = [row for row in flat(rows, "method") if row["question"] in ASKED]
    coverage = coverages(rows)
    human = sorted({n for n, _ in coverage} - {0})
    groups = {
        f"{n} queries by people": {
            method: (np.mean(values), min(values), max(values))
            for method in ("people alone", BOTH)
            if (values := coverage[n, method])
        }
        for n in human
    }
    gains = [row["gain"] for row in kept if row["method"] == BOTH]
    alone = coverage[0, "LLM alone"]
    found = llm_training.gains(flat(rows, "way"))
    stacked = [gain for key, gain in found.items() if key[3] == STACKED]
    answer = (
        f"In {len(coverage[human[0], BOTH])} simulated settings, 95 % intervals from human and "
        f"LLM labels together have a coverage of at least {least_of(coverage, human)}. With only "
        f"human labels, the variance of the estimates is {min(gains):.2f} to {max(gains):.2f} "
        "times as large as with both kinds of labels. Intervals that are computed only from the "
        f"LLM's labels have a coverage of {share(min(alone))} to {share(max(alone))}. A ranker "
        "can learn from both kinds of labels by stacking, which adds new models, fitted to the "
        "human labels, to a ranker that was fitted to the LLM's labels. Compared with a fit to "
        "the better of the two kinds of labels, stacking changes NDCG@10 by "
        f"{signed(min(stacked))} to {signed(max(stacked))}."
    )
    chart = intervals(answer, groups, "share of intervals that cover the true value: mean, least "
        "and most over settings", reference=0.95)  # fmt: skip
    head = ["queries judged by people", "method", "least", "mean", "most"]
    body = [
        [n, method, share(min(v)), share(np.mean(v)), share(max(v))]
        for (n, method), v in coverage.items()
        if v
    ]
    heads = ["data", "judge", "judged queries", "training", "gain over the better source"]
    ways = [
        [data.upper(), SHOWN_JUDGES.get(judge, judge), n, SHOWN_WAYS[way], signed(gain)]
        for (data, judge, n, way), gain in found.items()
        if way in WAYS[3:]
    ]
    tables = [
        ("Coverage of intervals", table(head, body)),
        ("Rankers fitted to both kinds of labels", table(heads, ways)),
    ]
    documents = {}
    for row in flat(rows, "method"):
        if row["question"] == "P@10":
            documents.setdefault(row["method"], []).append(row["gain"])
    if documents:
        tables.append((
            "Variance of P@10 with 500 documents judged by people",
            table(["method", "least", "most"],
                [[m, f"{min(v):.2f}", f"{max(v):.2f}"] for m, v in documents.items()]),
        ))  # fmt: skip
    return Section(
        answer,
        [chart],
        tables,
        (
            "All judges are simulated. A setting is a combination of a judge, a question (which "
            'metric or difference is estimated) and a collection. "Mixed" training uses the human '
            "label where there is one, and otherwise the LLM's label with half the weight. In the "
            "table of P@10, people judge 500 documents: either the top 10 of 50 queries, or "
            "documents that are spread over all queries. The table shows the variance with human "
            "labels of the top 10 of 50 queries alone, divided by the variance of each method. In "
            "the simulations of coverage, a query without a relevant document has an NDCG@10 of 0."
        ),
    )


def share(value):
    """Return three digits."""
    return f"{value:.3f}".removeprefix("0")
