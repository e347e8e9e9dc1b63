"""Quality: NDCG@10 at defaults, beside LGBMRanker, XGBRanker and CatBoostRanker.

Every ranker has its own defaults, one thread and one seed. No validation part is used, but where
all of them stop early by one.
"""

from functools import partial

from benchmarks import comparing, data
from benchmarks.drawing import intervals, ndcg, signed, table
from benchmarks.measurements import Measurement
from benchmarks.page import Section
from benchmarks.questions import listed, values_by
from benchmarks.rankers import DEFAULT

TITLE = "Does TreeDirectRanker() rank better than other rankers at their defaults?"
IS_TIMING = False
SYNTHETIC = ("synthetic, 50 queries", "synthetic, 300 queries")
OURS = (DEFAULT, 'TreeDirectRanker("xgboost")', 'TreeDirectRanker("histogram")')
STOPPED = ("LGBMRanker()", "XGBRanker()")
SLOW = ('CatBoostRanker("YetiRank")',)


def measurements(options):
    """Yield NDCG@10 of each ranker, and the lead of the default over each peer, on each set."""
    sets = (data.TINY,) if options.quick else (*data.PUBLIC, *SYNTHETIC)
    for stopped, peers in ((False, OURS[1:]), (False, STOPPED), (True, STOPPED), (False, SLOW)):
        for name in sets:
            conditions = {"data": name, "stopped early": stopped}
            for ranker in (DEFAULT, *peers):
                yield Measurement(
                    conditions | {"ranker": ranker},
                    partial(comparing.mean_of, options, name, ranker, stopped=stopped),
                )
            for peer in peers:
                yield Measurement(
                    conditions | {"ranker": DEFAULT, "less": peer},
                    partial(comparing.lead_of, options, [name], DEFAULT, peer, stopped=stopped),
                )


def verdicts(rows):
    """Return of each peer on how many public sets we lead, and lead significantly."""
    leads = values_by(rows, "less", "data", **{"stopped early": False, "ranker": DEFAULT})
    found = {}
    for peer in (*STOPPED, *SLOW):
        own = [leads[peer, name] for name in data.PUBLIC if (peer, name) in leads]
        ahead, shown = sum(v["lead"] > 0 for v in own), sum(v["low"] > 0 for v in own)
        if len(own) == len(data.PUBLIC):  # a peer is shown once all public sets are measured
            found[peer] = ahead, shown, sum(v["high"] < 0 for v in own), len(own)
    return found


WORDS = ("none", "one", "two", "three", "four", "five")


def summary(rows):
    """Return the sentence of README."""
    found, parts = verdicts(rows), []
    for peer, (ahead, shown, _, sets) in found.items():
        places = "" if ahead == sets else f"on {WORDS[ahead]}, "
        significant = "all " * (shown == sets) + WORDS[shown]
        parts.append(f"`{peer}` ({places}significantly on {significant})")
    is_always_ahead = all(ahead == sets for ahead, _, _, sets in found.values())
    of_sets = "each of " * is_always_ahead + WORDS[len(data.PUBLIC)]
    return (
        f"On {of_sets} public data sets, `{DEFAULT}` with default settings has a "
        f"higher NDCG@10 than {listed(parts)}."
    )


def passages(rows):
    """Return what README says."""
    return {"summary": summary(rows)}


def section(rows):
    """Return the forest plot of leads at defaults, and the tables."""
    at_defaults = {"stopped early": False, "ranker": DEFAULT}
    leads = values_by(rows, "data", "less", **at_defaults)
    peers = list(verdicts(rows))
    sets = [name for name in (*data.PUBLIC, *SYNTHETIC) if (name, peers[0]) in leads]
    groups = {
        name: {
            f"over {peer}": tuple(leads[name, peer][v] for v in ("lead", "low", "high"))
            for peer in peers
            if (name, peer) in leads
        }
        for name in sets
    }
    answer = (
        f"{summary(rows)} The test parts of the public data sets have between 18 (MSLR sample) "
        "and 4,623 (MSRD) queries, so on the small data sets, only large differences can be "
        "significant. The synthetic data sets come from treerank's own generator."
    )
    chart = intervals(
        f"Lead of TreeDirectRanker() in NDCG@10. {answer}",
        groups,
        "lead in NDCG@10, with its 95 % interval",
    )
    means = values_by(rows, "data", "ranker", **{"stopped early": False})
    rankers = [r for r in (*OURS, *peers) if any(r == name for _, name in means)]
    body = [
        [
            name,
            f"{means[name, DEFAULT]['n_queries']:,}",
            *(ndcg(means.get((name, r), {}).get("ndcg@10")) for r in rankers),
        ]
        for name in sets
    ]
    tables = [
        (
            "NDCG@10 with default settings",
            table(["data set", "test queries", *(f"`{r}`" for r in rankers)], body),
        ),
        (
            f"Lead of `{DEFAULT}` with default settings",
            leads_table({key: value for key, value in leads.items() if key[1] in peers}),
        ),
    ]
    stopped = values_by(rows, "data", "less", **at_defaults | {"stopped early": True})
    if stopped:
        tables.append(
            (
                f"Lead of `{DEFAULT}` if all rankers use early stopping",
                leads_table(stopped),
            )
        )
    notes = (
        "Folds 0 to 2 of MSRD are used for training, and folds 3 and 4 for testing. The rule that "
        "chooses the default hyperparameters was developed on the training and validation parts "
        "of these data sets. For MSRD, however, the queries used to develop the rule were drawn "
        "from all folds, so MSRD is not an independent test of the rule."
    )
    if stopped:
        notes += (
            " With early stopping, each ranker monitors NDCG@10 on the validation part, which for "
            "MSRD and the synthetic data sets is a fifth of the training queries. "
            "`LGBMRanker()` and `XGBRanker()` stop after 50 trees without an improvement, or when "
            "they reach 1,000 trees."
        )
    return Section(answer, [chart], tables, notes)


def leads_table(leads):
    """Return a table of leads by (data set, peer)."""
    head = ["data set", "compared with", "lead", "from", "to", "significant"]
    return table(
        head,
        [
            [
                name,
                f"`{peer}`",
                *(signed(value[v]) for v in ("lead", "low", "high")),
                "yes" if value["low"] > 0 or value["high"] < 0 else "no",
            ]
            for (name, peer), value in leads.items()
        ],
    )
