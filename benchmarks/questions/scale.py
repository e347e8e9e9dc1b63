"""Scale: memory of fits, fits of files larger than memory, and growth with rows.

Peaks are those of the resident memory of a process of its own (Linux). "own" leaves out the pages
of files, which the system takes away where memory is short.
"""

import functools
import tempfile
from pathlib import Path

from benchmarks import growth, processes
from benchmarks.drawing import intervals, table
from benchmarks.files import write_parquet_rows
from benchmarks.measurements import Measurement
from benchmarks.page import Section
from treerank import HistogramTrees, TreeDirectRanker, make_web_search

TITLE = "How much memory does a fit take?"
IS_TIMING = False
#: Fits a ranker to drawn documents, as many as the arguments say.
FIT = """
import sys, numpy as np
name, rows, dtype, trees = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
rng = np.random.default_rng(0)
X = rng.standard_normal((rows, 136), dtype=dtype)
y = np.digitize(X[:, :5].sum(axis=1) + 2 * rng.standard_normal(rows), [0, 2, 4, 6])
qid = np.arange(rows) // 120
tree = {"n_estimators": trees, "n_jobs": 2}
if name == "LGBMRanker":
    import lightgbm
    lightgbm.LGBMRanker(verbosity=-1, **tree).fit(X, y, group=np.bincount(qid))
elif name == "XGBRanker":
    import xgboost
    xgboost.XGBRanker(objective="rank:ndcg", **tree).fit(X, y, qid=qid)
elif name != "the data alone":
    import treerank
    alike = {"num_leaves": 31, "learning_rate": 0.1, "colsample_bytree": 1.0}
    part = getattr(treerank, name)(**tree, **alike)
    treerank.TreeDirectRanker(part).fit(X, y, qid)
"""
FITS = (
    "the data alone",
    "LightGBMTrees",
    "XGBoostTrees",
    "HistogramTrees",
    "LGBMRanker",
    "XGBRanker",
)
PEERS = {"LightGBMTrees": "LGBMRanker", "XGBoostTrees": "XGBRanker", "HistogramTrees": "LGBMRanker"}
#: Fits to a Parquet file, in batches or read as a whole; prints a hash of the trees and seconds.
FIT_FILE = """
import hashlib, pickle, sys, time
from treerank import HistogramTrees, TreeDirectRanker
from treerank.datasets.parquet import parquet_batches, read_parquet
path, how, trees = sys.argv[1], sys.argv[2], int(sys.argv[3])
ranker = TreeDirectRanker(HistogramTrees(trees, n_jobs=2), random_state=0)
began = time.perf_counter(), time.process_time()
ranker.fit(*read_parquet(path)) if how == "in memory" else ranker.fit(parquet_batches(path))
ended = time.perf_counter(), time.process_time()
print(hashlib.sha256(pickle.dumps(ranker.feature_part_.get_state()["model"])).hexdigest())
print(*(end - begin for begin, end in zip(began, ended)))
"""
#: The same with LGBMRanker, as its users read a file.
FIT_FRAME = """
import sys, time
import lightgbm, pandas
path, trees = sys.argv[1], int(sys.argv[3])
ranker = lightgbm.LGBMRanker(n_estimators=trees, n_jobs=2, verbosity=-1)
began = time.perf_counter(), time.process_time()
frame = pandas.read_parquet(path)
sizes = frame["query"].value_counts(sort=False)
ranker.fit(frame.drop(columns=["label", "query"]), frame["label"], group=sizes)
ended = time.perf_counter(), time.process_time()
print("LGBMRanker", *(end - begin for begin, end in zip(began, ended)))
"""
#: Ways to fit to a file, by name.
OF_FILE = {"in batches": FIT_FILE, "in memory": FIT_FILE, "LGBMRanker": FIT_FRAME}


def peak_of(name, rows, dtype, trees):
    """Return the peak memory of a process that fits a ranker."""
    return {"peak MB": processes.watched(FIT, name, rows, dtype, trees)[1]["peak MB"]}


@functools.cache
def from_file(rows, trees, n_ways):
    """Return by way of reading the peaks of a fit; both of treerank must give the same model."""
    found, models = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.parquet")
        write_parquet_rows(path, rows, 136)
        for how, source in list(OF_FILE.items())[:n_ways]:
            (models[how], *seconds), peaks = processes.watched(source, path, how, trees)
            names = "seconds", "cpu seconds"
            found[how] = peaks | dict(zip(names, map(float, seconds), strict=True))
    if n_ways > 1 and models["in batches"] != models["in memory"]:
        raise ValueError("The models of both ways of reading must be equal; got two.")
    return found


def remembered(n_queries):
    """Return what a ranker pays for remembering its training queries."""
    X, y, qid = make_web_search(n_queries, documents_per_query=4, n_features=5, random_state=0)
    ranker = TreeDirectRanker(HistogramTrees(20, num_leaves=8), random_state=0).fit(X, y, qid)
    queries, sizes = ranker.training_queries_, []
    n_bytes = sum(array.nbytes for array in queries.as_state().values())
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            ranker.save(Path(folder, "model"))
            sizes.append(Path(folder, "model").stat().st_size)
            ranker.training_queries_ = None
    return {
        "remembered queries": len(queries.ids),
        "bytes a query": n_bytes / len(queries.ids),
        "file kB": sizes[0] / 1e3,
        "file without kB": sizes[1] / 1e3,
    }


def measurements(options):
    """Yield peaks of fits, of fits to files, what is remembered, and exponents of growth."""
    rows = 2_000 if options.quick else 1_000_000
    for dtype in ("float64", "float32"):
        for name in FITS[:2] if options.quick else FITS:
            conditions = {"fit": name, "rows": rows, "dtype": dtype}
            yield Measurement(conditions, functools.partial(peak_of, name, rows, dtype, 5))
        if options.quick:
            break
    sizes = ((3_000, 2, 3),) if options.quick else ((1_000_000, 20, 3), (10_000_000, 10, 2))
    for rows, trees, n_ways in sizes:
        for how in list(OF_FILE)[:n_ways]:
            measure = lambda how=how, size=(rows, trees, n_ways): from_file(*size)[how]  # noqa: E731
            yield Measurement({"file": how, "rows": rows, "trees": trees}, measure)
    for n_queries in (100,) if options.quick else (1_000, 70_000):
        measure = functools.partial(remembered, n_queries)
        yield Measurement({"queries to remember": n_queries}, measure)
    yield from growth.measurements(options.quick)


def passages(rows):
    """Return what the page on validation says of the queries that a ranker remembers."""
    return {"remembered": remembered_text(kept_queries(rows))}


def kept_queries(rows):
    """Return what was measured of remembered queries, fewest first."""
    kept = [row["values"] for row in rows if "queries to remember" in row["conditions"]]
    return sorted(kept, key=lambda values: values["remembered queries"])


def remembered_text(kept):
    """Return what it costs to remember few queries, and as many as are remembered at most."""
    few, most = kept[0], kept[-1]
    grown = (most["file kB"] - most["file without kB"]) / 1e3
    return (
        f"The stored values take {most['bytes a query']:.0f} bytes per query in memory. For "
        f"{few['remembered queries']:,} queries, these values increase the size of a model file "
        f"with 20 small trees from {few['file without kB']:.0f} to {few['file kB']:.0f} kB. For "
        f"{most['remembered queries']:,} queries, the stored values add {grown:.2f} MB to the "
        f"file. With more than {most['remembered queries']:,} queries, the ranker remembers a "
        f"random sample of {most['remembered queries']:,} queries."
    )


def section(rows):
    """Return peaks of memory, and their table."""
    groups, body = {}, []
    peaks = {
        (row["conditions"]["fit"], row["conditions"]["dtype"]): row["values"]["peak MB"] / 1e3
        for row in rows
        if "fit" in row["conditions"] and "dtype" in row["conditions"]
    }
    for (name, dtype), peak in peaks.items():
        groups.setdefault(name, {})[dtype] = (peak, None, None)
        body.append([name, dtype, f"{peak:.2f}"])
    parts = [
        f"With `{ours}`, peak memory is {peaks[ours, 'float64'] / peaks[peer, 'float64']:.2f} "
        f"times as high as with `{peer}`."
        for ours, peer in PEERS.items()
        if (ours, "float64") in peaks and (peer, "float64") in peaks
    ]
    answer, notes = "The peak memory of a fit has not been measured yet.", ""
    if parts:
        answer = (
            "All fits compared here read an array of 1,000,000 documents with 136 features; the "
            "peak memory of a fit includes this array. The following ratios were measured with "
            f"float64 features. {' '.join(parts)}"
        )
        notes = (
            "Each of the fits to 1,000,000 documents has 5 trees. With treerank and `LGBMRanker`, "
            "a tree has at most 31 leaves; with `XGBRanker`, the trees have the default size. The "
            "table of remembered queries shows the memory that a ranker needs for the hashes of "
            "its training queries. With these hashes, `score` and `compare` can warn you if a "
            "ranker is tested on queries that it was fitted to."
        )
    tables = [("Peak memory", table(["fit", "features", "GB"], body))] if body else []
    charts = [intervals(answer, groups, "peak of resident memory, GB")] if body else []
    files = [row for row in rows if "file" in row["conditions"]]
    if files:
        notes += _notes_on_files(files)
        head = ["Parquet file", "rows", "trees", "peak, GB", "own, GB", "CPU seconds"]
        tables.append(
            (
                "Fits to a file",
                table(
                    head,
                    [
                        [
                            c["file"],
                            f"{c['rows']:,}",
                            c["trees"],
                            f"{v['peak MB'] / 1e3:.2f}",
                            f"{v['own MB'] / 1e3:.2f}",
                            f"{v['cpu seconds']:.0f}",
                        ]
                        for c, v in ((row["conditions"], row["values"]) for row in files)
                    ],
                ),
            )
        )
    kept = kept_queries(rows)
    if kept:
        head = ["remembered queries", "bytes per query", "model file, kB", "without them, kB"]
        tables.append(
            (
                "Remembered training queries",
                table(
                    head,
                    [
                        [
                            f"{v['remembered queries']:,}",
                            f"{v['bytes a query']:.0f}",
                            f"{v['file kB']:.1f}",
                            f"{v['file without kB']:.1f}",
                        ]
                        for v in kept
                    ],
                ),
            )
        )
    grown = [row for row in rows if "function" in row["conditions"]]
    if grown:
        head = ["function", "axis", "exponent", "memory over X"]
        tables.append(
            (
                "Growth: exponent of the time over the upper half of the sizes",
                table(
                    head,
                    [
                        [
                            c["function"],
                            c["axis"],
                            f"{v['exponent']:.2f}",
                            f"{v['memory over X']:.2f}",
                        ]
                        for c, v in ((row["conditions"], row["values"]) for row in grown)
                    ],
                ),
            )
        )
    return Section(answer, charts, tables, notes)


def _notes_on_files(files):
    """Return what the fits to files show, if all three ways were measured with the smallest."""
    peaks = {
        (row["conditions"]["rows"], row["conditions"]["file"]): row["values"]["peak MB"]
        for row in files
    }
    fewest = min(rows for rows, _ in peaks)
    if not all((fewest, how) in peaks for how in OF_FILE):
        return ""
    whole, batches = (
        peaks[fewest, how] / peaks[fewest, "LGBMRanker"] for how in ("in memory", "in batches")
    )
    return (
        f" The fits to a Parquet file of {fewest:,} documents include reading it. If the file is "
        f"read as a whole, peak memory is {whole:.2f} times as high as with `pandas.read_parquet` "
        f"and `LGBMRanker`; if it is read in batches, it is {batches:.2f} times as high. A fit in "
        "batches gives the same model as a fit to the whole file. Own memory leaves out pages of "
        "files, which the system can take away where memory is short."
    )
