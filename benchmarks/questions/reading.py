"""Reading and measuring: data files beside other readers, and metrics beside ranx.

100,000 x 136 documents in LETOR and 1,000,000 in Parquet files, each reader in a process of its
own. NDCG@10 and others of 180,000 documents from plain arrays, beside ranx's ``evaluate`` on ready
dictionaries, whose building is not counted. "prepared" is what early stopping calls.
"""

import functools
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import files, timing
from benchmarks.measurements import Measurement
from treerank.metrics import get_metric

TITLE = "How long does it take to read data and to compute metrics?"
IS_TIMING = True
RANX_NAMES = {"ndcg@10": "ndcg_burges@10", "map": "map", "mrr": "mrr", "p@10": "precision@10"}


def read(reader, n_rows):
    """Return seconds and memory of a reader."""
    write = files.write_letor_rows if reader.startswith("LETOR") else files.write_parquet_rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data")
        write(path, n_rows, 136)
        return files.measured(reader, path)


@functools.cache
def metric_times(n_queries, n_documents, n_turns):
    """Return the times of metrics by name."""
    import numba
    import ranx

    rng = np.random.default_rng(0)
    sizes = np.maximum(rng.gamma(3.0, size=n_queries), 0.05)
    sizes = np.maximum((sizes * n_documents / sizes.sum()).astype(int), 1)
    y = np.digitize(rng.random(sizes.sum()), [0.52, 0.84, 0.97, 0.99])
    scores, qid = y + rng.normal(scale=2.0, size=len(y)), np.repeat(np.arange(n_queries), sizes)
    qrels, run = {}, {}
    for row, query in enumerate(qid.tolist()):
        qrels.setdefault(f"q{query}", {})[f"d{row}"] = int(y[row])
        run.setdefault(f"q{query}", {})[f"d{row}"] = float(scores[row])
    qrels, run = ranx.Qrels(qrels), ranx.Run(run)

    def on_all_threads(function):
        def call():  # ranx sets numba's number of threads to one
            numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
            function()

        return call

    calls = {}
    for name, theirs in RANX_NAMES.items():
        metric = get_metric(name)
        prepared = metric.prepared(y, qid)
        calls[name] = lambda metric=metric: metric(y, scores, qid)
        calls[f"{name}, prepared"] = lambda prepared=prepared: prepared(scores)
        calls[f"{name}, ranx"] = lambda n=theirs: ranx.evaluate(
            qrels, run, n, make_comparable=False
        )
    return timing.time_turns({k: on_all_threads(f) for k, f in calls.items()}, n_turns)


def measurements(options):
    """Yield seconds of readers, and ratios of metrics."""
    for reader in files.READERS:
        n_rows = 1_000_000 if reader.startswith("Parquet") else 100_000
        n_rows = 300 if options.quick else n_rows
        conditions = {"reader": reader, "rows": n_rows}
        yield Measurement(conditions, functools.partial(read, reader, n_rows))
    size = (10, 200, 1) if options.quick else (1500, 180_000, 15)
    for name in RANX_NAMES:
        for ours in (name, f"{name}, prepared"):
            yield Measurement(
                {"metric": ours, "over": "ranx"},
                lambda ours=ours, name=name: timing.ratio_of(
                    metric_times(*size), ours, f"{name}, ranx"
                ),
            )


def section(rows):
    """Return ratios and seconds."""
    seconds = {row["conditions"].get("reader"): row["values"].get("seconds") for row in rows}
    ratios = [row["values"]["ratio"] for row in rows if "metric" in row["conditions"]]
    parts = []
    if seconds.get("LETOR, treerank") and seconds.get("LETOR, scikit-learn"):
        ratio = seconds["LETOR, treerank"] / seconds["LETOR, scikit-learn"]
        parts.append(f"reading a LETOR file takes {ratio:.2f} times as long as with scikit-learn")
    if ratios:
        parts.append(
            f"computing metrics takes {min(ratios):.2f} to {max(ratios):.2f} times as long as with "
            "ranx"
        )
    answer = f"With treerank, {', and '.join(parts)}." if parts else "Seconds."
    if seconds.get("Parquet, treerank") and seconds.get("Parquet, pyarrow to a matrix"):
        ratio = seconds["Parquet, treerank"] / seconds["Parquet, pyarrow to a matrix"]
        answer += (
            f" Reading a Parquet file into a matrix takes {ratio:.2f} times as long as with "
            "pyarrow."
        )
    notes = (
        "For LETOR files, treerank uses several threads, and scikit-learn uses one. Metrics are "
        "computed for 180,000 documents. The times of ranx do not include building its "
        'dictionaries of labels and scores. "Prepared" means that the labels and the queries were '
        'processed beforehand, as in early stopping. "Added MB" is how much the peak memory of the '
        "process grows when the file is read."
    )
    return timing.section_of(rows, answer, notes if parts else "")
