"""Fit time: whole fits from arrays to a fitted ranker, beside the engines' own rankers.

The same trees for all: 60 of 63 leaves on 180,000 x 136 documents, two threads. Objective: logistic
loss with NDCG weights, without and with the default smoothing, beside LGBMRanker (lambdarank) and
XGBRanker (rank:ndcg). Also: own trees, sparse columns, the first minutes of an installation, pair
gradients alone, and fits beside other work.
"""

import functools
import math
import tempfile

import numpy as np

from benchmarks import gradients, neighbors, phases, processes, timing
from benchmarks.drawing import table
from benchmarks.measurements import Measurement
from treerank import LightGBMTrees, TreeDirectRanker, XGBoostTrees, make_web_search
from treerank.baselines import LambdaMART

TITLE = "How long does a fit take?"
IS_TIMING = True
PAIRS = (
    ("TreeDirectRanker on LightGBM, unsmoothed", "LGBMRanker"),
    ("TreeDirectRanker on LightGBM", "LGBMRanker"),
    ("TreeDirectRanker on XGBoost, unsmoothed", "XGBRanker"),
    ("TreeDirectRanker on XGBoost", "XGBRanker"),
    ("LambdaMART", "LGBMRanker"),
    ("LambdaMART, 16 bits", "LGBMRanker"),
)
#: Those of own trees, which are also measured on one thread and on a million documents.
OWN = PAIRS[-2:]
#: Documents of a query of ``make_web_search``, and of a large data set.
DOCUMENTS_OF_QUERY, MILLION = 120, 1_000_000
#: Documents x features, of which so many are filled, trees and leaves.
SPARSE = (50_000, 5000, 0.01)
FIRST = """
import time
{before}
began = time.perf_counter()
{timed}
print(time.perf_counter() - began)
"""
DATA = """
import numpy as np, lightgbm
from treerank import HistogramTrees, TreeDirectRanker
rng = np.random.default_rng(0)
X, y, qid = rng.normal(size=(1000, 20)), rng.integers(0, 5, 1000), np.repeat(np.arange(50), 20)
ranker = TreeDirectRanker()
"""
FIRSTS = {
    "import sklearn.base, numba": ("", "import sklearn.base, numba"),
    "from treerank import TreeDirectRanker": ("", "from treerank import TreeDirectRanker"),
    "first fit of a process": (DATA, "ranker.fit(X, y, qid)"),
}
COMPILED = {
    "very first fit of an installation": (DATA, "ranker.fit(X, y, qid)"),
    "very first fit, own trees, with predict": (
        DATA,
        "TreeDirectRanker(HistogramTrees()).fit(X, y, qid).predict(X)",
    ),
}
#: Names of the page for those of the rows.
SHOWN = {
    "very first fit, own trees, with predict": "first fit and predict, treerank's trees",
}


@functools.cache
def dense_times(pairs, n_documents, n_trees, n_jobs, n_turns):
    """Return the times of the fits of some of ``PAIRS`` by name."""
    import lightgbm
    import xgboost

    n_queries = math.ceil(n_documents / DOCUMENTS_OF_QUERY)
    X, y, qid = (part[:n_documents] for part in make_web_search(n_queries, random_state=0))
    sizes = np.unique(qid, return_counts=True)[1]
    tree = {"n_estimators": n_trees, "n_jobs": n_jobs}
    own = {"num_leaves": 63, "learning_rate": 0.1, "colsample_bytree": 1.0, **tree}
    lossguide = {"grow_policy": "lossguide", "max_depth": 0, "learning_rate": 0.1}
    lgbm = lightgbm.LGBMRanker(num_leaves=63, verbosity=-1, **tree)
    xgb = xgboost.XGBRanker(tree_method="hist", max_leaves=63, **lossguide, **tree)

    def ours(part, **settings):
        ranker = TreeDirectRanker(part(**own), random_state=0, **settings)
        return lambda: ranker.fit(X, y, qid)

    def lambdamart(precision):
        ranker = LambdaMART(precision=precision, random_state=0, **own)
        return lambda: ranker.fit(X, y, qid)

    fits = {
        "TreeDirectRanker on LightGBM, unsmoothed": ours(LightGBMTrees, smoothing=0.0),
        "TreeDirectRanker on LightGBM": ours(LightGBMTrees),
        "LGBMRanker": lambda: lgbm.fit(X, y, group=sizes),
        "TreeDirectRanker on XGBoost, unsmoothed": ours(XGBoostTrees, smoothing=0.0),
        "TreeDirectRanker on XGBoost": ours(XGBoostTrees),
        "XGBRanker": lambda: xgb.fit(X, y, qid=qid),
        "LambdaMART": lambdamart("float32"),
        "LambdaMART, 16 bits": lambdamart("int16"),
    }
    named = {name for pair in pairs for name in pair}
    return timing.time_turns({name: fits[name] for name in fits if name in named}, n_turns)


def sparse_data(n_rows, n_columns, share):
    """Return log-normal values in random cells; the label depends on a tenth of the columns."""
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    filled = rng.integers(n_columns, size=(n_rows, int(share * n_columns)))
    rows = np.repeat(np.arange(n_rows), filled.shape[1])
    X = csr_matrix((rng.lognormal(size=filled.size), (rows, filled.ravel())), (n_rows, n_columns))
    X.sum_duplicates()
    weights = rng.normal(size=n_columns) * (rng.random(n_columns) < 0.1)
    scores = X @ weights + 0.3 * rng.normal(size=n_rows)
    return (
        X,
        np.digitize(scores, np.quantile(scores, [0.6, 0.8, 0.9, 0.97])),
        np.arange(n_rows) // 50,
    )


def sparse_ratio(shape, n_trees, n_turns):
    """Return the time of own trees over LGBMRanker's on sparse columns."""
    import lightgbm

    X, y, qid = sparse_data(*shape)
    sizes = np.unique(qid, return_counts=True)[1]
    trees = {"num_leaves": 63, "n_jobs": 2, "learning_rate": 0.1}
    ours = LambdaMART(n_trees, colsample_bytree=1.0, random_state=0, **trees)
    theirs = lightgbm.LGBMRanker(n_estimators=n_trees, verbosity=-1, **trees)
    fits = {"ours": lambda: ours.fit(X, y, qid), "theirs": lambda: theirs.fit(X, y, group=sizes)}
    return timing.ratio_of(timing.time_turns(fits, n_turns), "ours", "theirs")


@functools.cache
def first_seconds(names, n_turns):
    """Return the median seconds of some of ``FIRSTS`` by name, in fresh processes that take turns.

    Kernels are stored: processes before the first turn store them, and bytecode.
    """
    seconds = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(n_turns + 1):
            for name in names:
                found = seconds_of(*FIRSTS[name], folder)
                seconds[name] += [found] if turn else []
    return {name: {"seconds": np.median(seconds[name])} for name in names}


def compiled_seconds(name, n_processes):
    """Return the median seconds of one of ``COMPILED`` in processes without stored kernels.

    A process before them stores bytecode, as the installation of a package does.
    """
    seconds = []
    for _ in range(1 + n_processes):
        with tempfile.TemporaryDirectory() as folder:
            seconds.append(seconds_of(*COMPILED[name], folder))
    return {"seconds": np.median(seconds[1:])}


def seconds_of(before, timed, kernel_folder):
    """Return the seconds of a statement in a fresh process, after the statements before it."""
    source = FIRST.format(before=before, timed=timed)
    environment = {"PYTHONDONTWRITEBYTECODE": "", "NUMBA_CACHE_DIR": kernel_folder}
    (word,) = processes.run(source, **environment)
    return float(word)


def measurements(options):
    """Yield ratios of fits, seconds of first fits, and what ``gradients`` and others measure."""
    quick = options.quick
    size = (1200, 2, 2, 1) if quick else (180_000, 60, 2, 5)

    def of_pairs(pairs, size, **conditions):
        for ours, theirs in pairs:
            yield Measurement(
                {"fit": ours, "over": theirs, **conditions},
                lambda ours=ours, theirs=theirs: timing.ratio_of(
                    dense_times(pairs, *size), ours, theirs
                ),
            )

    yield from of_pairs(PAIRS, size, threads=2)
    if not quick:
        yield from of_pairs(OWN, (180_000, 60, 1, 3), threads=1)
        yield from of_pairs(OWN, (MILLION, 60, 2, 3), threads=2, documents=MILLION)
    shape = (500, 50, 0.1) if quick else SPARSE
    sparse = functools.partial(sparse_ratio, shape, 2 if quick else 60, 1 if quick else 3)
    yield Measurement({"fit": "LambdaMART, 5,000 columns 1 % filled", "over": "LGBMRanker"}, sparse)
    names = tuple(FIRSTS)[: 1 if quick else None]
    for name in names:
        first = functools.partial(first_seconds, names, 1 if quick else 9)
        yield Measurement({"first": name}, lambda name=name, first=first: first()[name])
    for name in () if quick else COMPILED:
        yield Measurement({"first": name}, functools.partial(compiled_seconds, name, 3))
    yield from gradients.measurements(quick)
    yield from phases.measurements(quick)
    yield from neighbors.measurements(quick)


NOT_KEPT = "No measurement is kept yet on a machine that does nothing else."
#: Numbers of threads for which a model tells the seconds, where no machine is at hand.
MODELED = (4, 8, 16)
#: What a step of a fit does, by the name of its seconds.
STEPS = {
    "bins": "find and write bins",
    "derivatives": "compute and round gradients and hessians",
    "packing": "pack gradients and hessians",
    "trees": "grow trees",
    "leaf values": "add leaf values to scores",
}
#: What a phase does, by the name of its seconds.
PHASES = {
    "filling histograms": "fill histograms",
    "binning": "write bins",
    "partitioning": "sort rows by the side of the split to which they go",
    "packing": "round and pack gradients and hessians",
}


def passages(rows):
    """Return what the page on trees says of the phases of a fit, and of two threads."""
    return {"limit": limit_text(rows), "phases": phases_table(rows), "threads": threads_text(rows)}


def phases_of(rows):
    """Return the measured phases of a fit on one thread, ``None`` if no row is kept."""
    found = [row for row in rows if "phases" in row["conditions"]]
    return found[-1]["values"] if found else None


def limit_text(rows):
    """Return how far a fit is from what one core can do."""
    one = phases_of(rows)
    if one is None:
        return NOT_KEPT
    reach = one["seconds"] - one["filling histograms"] * (1 - 1 / one["filling over its ceiling"])
    return (
        f"One core needs {one['nanoseconds an update']:.2f} ns to update a histogram that is in "
        "its fastest cache (L1). Fitting 60 trees of 63 leaves each to 180,000 documents with 136 "
        f"features takes {one['seconds']:.1f} s in total on one thread. Each tree needs "
        f"{one['million updates a tree']:.0f} million updates of histograms. If every update were "
        f"as fast as in the L1 cache, the whole fit would still take {reach:.1f} s."
    )


def phases_table(rows):
    """Return the shares of the phases of a fit."""
    one = phases_of(rows)
    if one is None:
        return NOT_KEPT
    shares = {label: one[name] / one["seconds"] for name, label in PHASES.items()}
    rest = "search for splits, choose leaves, and compute gradients and leaf values"
    shares[rest] = 1 - sum(shares.values())
    body = [[label, f"{100 * share:.0f} %"] for label, share in shares.items()]
    return (
        table(["phase", "share of the fit"], body)
        + "\n\nThe shares are rounded. Histograms are filled at "
        f"{100 / one['filling over its ceiling']:.0f} % of the speed that the L1 cache allows. "
        "The rest of the time spent on filling histograms goes to waiting for documents that are "
        "scattered in memory, and to moving sums between the L1 cache and the L2 cache."
    )


def threads_text(rows):
    """Return the seconds of each step on one and two threads, and what a model says of more."""
    found = {row["conditions"]["threads"]: row["values"] for row in rows if is_of_steps(row)}
    if not {1, 2} <= found.keys():
        return NOT_KEPT
    one, two = (
        {name: found[n][name] for name in (*STEPS, "seconds", "LGBMRanker")} for n in (1, 2)
    )
    for seconds in (one, two):
        seconds["rest"] = seconds["seconds"] - sum(seconds[name] for name in STEPS)
    columns = {n: seconds_with(one, two, n) for n in (1, 2, *MODELED)}
    labels = STEPS | {"rest": "other", "seconds": "whole fit", "LGBMRanker": "`LGBMRanker`"}
    body = [
        [label, *(f"{column[name]:.2f}" for column in columns.values())]
        for name, label in labels.items()
    ]
    ratios = [column["seconds"] / column["LGBMRanker"] for column in columns.values()]
    body.append(["whole fit over `LGBMRanker`", *(f"{ratio:.2f}" for ratio in ratios)])
    head = ["seconds", "1 thread", "2 threads", *(f"{n} threads, model" for n in MODELED)]
    return (
        "The same fit was also timed step by step on one thread and on two. **The columns for more "
        "threads are a model, not a measurement:** each step is divided into a part that takes as "
        "long on any number of threads and a part whose time is divided by their number, so that "
        "both measured columns are met. The model knows nothing of more cores that share a cache "
        "or the memory.\n\n" + table(head, body)
    )


def is_of_steps(row):
    """Tell whether a row has the seconds of the steps of a fit."""
    return "steps" in row["conditions"]


def seconds_with(one, two, n):
    """Return the seconds with ``n`` threads by name, by those with one thread and with two.

    The time of a step is a + b / n, neither of which is below 0: what two threads make slower takes
    as long on more.
    """
    if n <= 2:
        return one if n == 1 else two
    shared = {name: max(0.0, 2 * min(one[name] - two[name], two[name])) for name in one}
    found = {name: two[name] - shared[name] / 2 + shared[name] / n for name in one}
    return found | {"seconds": sum(found[name] for name in (*STEPS, "rest"))}


def section(rows):
    """Return ratios and seconds."""
    ratios = {
        (row["conditions"].get("fit"), row["conditions"].get("threads")): row["values"]["ratio"]
        for row in rows
        if "over" in row["conditions"] and "documents" not in row["conditions"]
    }
    parts = [
        f"A fit of {name} takes {ratios[fit, 2]:.2f} times as long as a fit of `{peer}`."
        for name, fit, peer in (
            ("treerank's own trees (`LambdaMART` in the table)", "LambdaMART", "LGBMRanker"),
            ("LightGBM's trees in treerank", "TreeDirectRanker on LightGBM", "LGBMRanker"),
            ("XGBoost's trees in treerank", "TreeDirectRanker on XGBoost", "XGBRanker"),
        )
        if (fit, 2) in ratios
    ]
    answer = "The tables show the times of fits, and their ratios."
    if parts:
        answer = " ".join(
            ["All fits compared here build trees of the same size on two threads.", *parts]
        )
    # The page on trees has the tables of phases and steps.
    shown = [row for row in rows if not {"phases", "steps"} & row["conditions"].keys()]
    for i, row in enumerate(shown):
        if first := row["conditions"].get("first"):
            shown[i] = row | {"conditions": {"first": SHOWN.get(first, first)}}
    notes = (
        "Unless the table says otherwise, the fits build 60 trees of up to 63 leaves on 180,000 "
        'documents with 136 features. "Unsmoothed" means `smoothing=0`, and "16 bits" means '
        '`precision="int16"`. The rows that start with "logistic" show the time '
        "to compute only the gradients, not the time of a whole fit, on the same number of "
        'documents. In these rows, "double loop" is a plain loop over pairs, compiled by numba, '
        'and "lambdarank" is the objective of LightGBM, which by default visits fewer pairs than '
        "treerank's objective. The table of times shows imports, and "
        'first fits to 1,000 documents with 20 features; "very first" and "first fit and '
        'predict" include the time to compile kernels.'
    )
    return timing.section_of(shown, answer, notes if parts else "")
