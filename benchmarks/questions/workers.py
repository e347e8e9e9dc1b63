"""Workers: fits by workers of Dask, beside one process and beside LightGBM and XGBoost.

All workers run on this machine and have one thread each. Documents of 136 features lie in Parquet
files whose ends cut queries. Equal hashes are equal models. Fits to 1,000,000 documents by
treerank's workers and by threads are medians of five.
"""

import functools

from benchmarks.drawing import intervals, table
from benchmarks.measurements import Measurement
from benchmarks.page import Section
from benchmarks.questions import listed

TITLE = "How long does a fit by several workers take?"
IS_TIMING = True
PROGRAMS = ("treerank", "lightgbm.dask", "xgboost.dask")


def measurements(options):
    """Yield fits by workers, by threads and by other programs, and scoring by workers."""
    from benchmarks import clusters

    size = (4_000, 4, 2) if options.quick else (1_000_000, 20, 20)
    workers = (2,) if options.quick else (1, 2)
    for n in workers:
        turns = {"n_turns": 1 if options.quick else 5}
        conditions = {"fit by": "workers", "number": n, "rows": size[0]}
        yield Measurement(conditions, functools.partial(clusters.by_workers, *size, n, **turns))
        conditions = {"fit by": "threads", "number": n, "rows": size[0]}
        yield Measurement(conditions, functools.partial(clusters.by_threads, *size, n, **turns))
    for program in PROGRAMS[: 1 if options.quick else None]:
        for n in workers:
            conditions = {"program": program, "number": n, "rows": size[0]}
            yield Measurement(conditions, functools.partial(clusters.by_program, program, *size, n))
    large = (4_000, 4, 2) if options.quick else (10_000_000, 1000, 20)
    limit = "0" if options.quick else "10GiB"
    for n in workers:
        conditions = {"scored by": "workers", "number": n, "rows": large[0]}
        yield Measurement(conditions, functools.partial(clusters.predicted, *large, n, limit))
        if not options.quick:
            conditions = {"fit by": "workers", "number": n, "rows": large[0]}
            yield Measurement(conditions, functools.partial(clusters.by_workers, *large, n, limit))


def section(rows):
    """Return seconds of fits."""
    groups, body, models = {}, [], {}
    for row in rows:
        c, v = row["conditions"], row["values"]
        kind = next(name for name in ("fit by", "program", "scored by") if name in c)
        name = f"{kind} {c[kind]}".removeprefix("program ") + f", {c['rows']:,} rows"
        if v["seconds"] is None:
            body.append([name, c["number"], "more than 300", "", ""])
            continue
        groups.setdefault(name, {})[f"{c['number']}"] = (v["seconds"], None, None)
        memory = f"{v['worker_MB']:,.0f}" if "worker_MB" in v else ""
        body.append([name, c["number"], f"{v['seconds']:.1f}", memory, v.get("model", "")])
        if kind == "program":
            models.setdefault(c["program"], set()).add(v["model"])
    seconds = {
        (row["conditions"]["fit by"], row["conditions"]["number"]): row["values"]
        for row in rows
        if row["conditions"].get("fit by") and row["conditions"]["rows"] == 1_000_000
    }
    same = [name for name, found in models.items() if len(found) == 1]
    answer = "The table shows the times of fits by one worker and by two workers."
    if {("workers", 2), ("threads", 2)} <= set(seconds):
        workers, threads = seconds["workers", 2], seconds["threads", 2]
        before = workers["seconds"] - workers["seconds of rows"]
        after = workers.get("seconds after the rows", before)  # older rows have the difference
        answer = (
            f"A fit to 1,000,000 documents takes {threads['seconds']:.1f} s in one process with "
            f"two threads. With two workers of one thread each, the same fit takes {after:.1f} s, "
            "not including the time in which the workers receive their rows."
        )
    if same:
        answer += f" With {listed(same)}, one worker and two workers produce the same model."
    chart = intervals(answer, groups, "seconds", reference=None, logarithmic=True)
    head = ["what", "workers or threads", "seconds", "MB", "hash of the model"]
    title = "Seconds, and the peak resident memory of the worker that used the most memory"
    if not any(row[3] for row in body):
        title, head, body = "Seconds", _but(head, 3), [_but(row, 3) for row in body]
    notes = (
        'The rows "fit by workers" include reading Parquet files, and the rows "fit by threads" do '
        "not; both show medians of five fits. In the rows named after a program, the workers hold "
        "the documents in memory before the fit starts. Equal hashes mean equal models, but the "
        "hashes of these rows cannot be compared with those of the rows above them, because they "
        "are computed differently."
    )
    return Section(answer, [chart], [(title, table(head, body))], notes)


def _but(columns, left_out):
    return [column for number, column in enumerate(columns) if number != left_out]
