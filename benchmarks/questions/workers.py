"""Workers: fits by workers of Dask, beside one process and beside LightGBM and XGBoost.

All workers run on this machine and have one thread each. Documents of 136 features lie in Parquet
files whose ends cut queries. Equal hashes are equal models. Fits to 1,000,000 documents are
medians: of five by treerank's workers, and of six by threads, three before and three after those.
"""

import functools

from benchmarks.drawing import intervals, table
from benchmarks.measurements import Measurement
from benchmarks.page import Section
from benchmarks.questions import listed

TITLE = "How long does a fit by several workers take?"
IS_TIMING = True
GUIDE = "as in the guide"
PROGRAMS = ("treerank", "lightgbm.dask", "xgboost.dask")


def measurements(options):
    """Yield fits by workers, by threads and by other programs, and scoring by workers."""
    from benchmarks import clusters

    size = (4_000, 4, 2) if options.quick else (1_000_000, 20, 20)
    workers = (2,) if options.quick else (1, 2)
    n_turns = 1 if options.quick else 5
    for n in workers:
        conditions = {"fit by": "workers", "number": n, "rows": size[0]}
        fits = functools.partial(clusters.by_workers_between_threads, *size, n, n_turns)
        yield Measurement(conditions, fits)
    quiet = functools.partial(fits, settings=clusters.QUIET)
    yield Measurement(conditions | {"Dask": GUIDE}, quiet)
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
    groups, body, models, compared = {}, [], {}, {}
    for row in rows:
        c, v = row["conditions"], row["values"]
        kind = next(name for name in ("fit by", "program", "scored by") if name in c)
        name = f"{kind} {c[kind]}".removeprefix("program ") + f", {c['rows']:,} rows"
        name += f", Dask {c['Dask']}" if "Dask" in c else ""
        if v["seconds"] is None:
            body.append([name, c["number"], "more than 300", "", ""])
            continue
        groups.setdefault(name, {})[f"{c['number']}"] = (v["seconds"], None, None)
        memory = f"{v['worker_MB']:,.0f}" if "worker_MB" in v else ""
        body.append([name, c["number"], f"{v['seconds']:.1f}", memory, v.get("model", "")])
        if "seconds of threads" in v:
            compared[c["number"], c.get("Dask")] = v
        if "seconds of threads" in v and "Dask" not in c:
            name, took = f"fit by threads, {c['rows']:,} rows", v["seconds of threads"]
            groups.setdefault(name, {})[f"{c['number']}"] = (took, None, None)
            body.append([name, c["number"], f"{took:.1f}", "", v["model"]])
        if kind == "program":
            models.setdefault(c["program"], set()).add(v["model"])
    same = [name for name, found in models.items() if len(found) == 1]
    answer = "The table shows the times of fits by one worker and by two workers."
    if (2, None) in compared:
        v = compared[2, None]
        answer = (
            f"A fit to 1,000,000 documents takes {v['seconds of threads']:.1f} s in one process "
            f"with two threads, and {v['seconds after the rows']:.1f} s, {_over_threads(v):.2f} "
            "times as long, with two workers of one thread each, not including the time in which "
            "the workers receive their rows."
        )
    if (2, GUIDE) in compared:
        ratio = _over_threads(compared[2, GUIDE])
        answer += f" If Dask is set as the guide advises, it takes {ratio:.2f} times as long."
    if same:
        answer += f" With {listed(same)}, one worker and two workers produce the same model."
    chart = intervals(answer, groups, "seconds", reference=None, logarithmic=True)
    head = ["what", "workers or threads", "seconds", "MB", "hash of the model"]
    title = "Seconds, and the peak resident memory of the worker that used the most memory"
    if not any(row[3] for row in body):
        title, head, body = "Seconds", _but(head, 3), [_but(row, 3) for row in body]
    notes = (
        'The rows "fit by workers" include reading Parquet files, and the rows "fit by threads" do '
        "not. Fits to 1,000,000 documents are medians: of five by workers, and of six by threads, "
        "half of them before those by workers and half after them. In the rows named after a "
        "program, the workers hold the documents in memory before the fit starts. Equal hashes "
        "mean equal models, but the hashes of these rows cannot be compared with those of the rows "
        "above them, because they are computed differently."
    )
    return Section(answer, [chart], [(title, table(head, body))], notes)


def _over_threads(values):
    """Return the time of workers that have their rows, over that of threads in the same run."""
    return values["seconds after the rows"] / values["seconds of threads"]


def _but(columns, left_out):
    return [column for number, column in enumerate(columns) if number != left_out]
