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
GUIDE = ", Dask as in the guide"
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


def passages(rows):
    """Return what the guide says of its settings of Dask."""
    found = [row["values"] for row in rows if row["conditions"].get("number") == 2]
    found = [values for values in found if f"seconds{GUIDE}" in values]
    if not found:
        return {"settings": "No measurement is kept yet."}
    without, quiet = (found[0][f"seconds after the rows{suffix}"] for suffix in ("", GUIDE))
    return {
        "settings": (
            "On a machine with two cores, on which the scheduler ran, too, a fit by two workers to "
            f"1,000,000 documents took {quiet:.2f} s with these settings and {without:.2f} s "
            "without them, once the workers had their rows ([evidence](../evidence.md))."
        )
    }


def section(rows):
    """Return seconds of fits."""
    groups, body, models, compared, cutting = {}, [], {}, {}, {}
    for row in rows:
        c, v = row["conditions"], row["values"]
        kind = next(name for name in ("fit by", "program", "scored by") if name in c)
        name = f"{kind} {c[kind]}".removeprefix("program ") + f", {c['rows']:,} rows"
        if v["seconds"] is None:
            body.append([name, c["number"], "more than 300", "", "", ""])
            continue
        shown = {name: v}
        quiet = {key.removesuffix(GUIDE): v[key] for key in v if key.endswith(GUIDE)}
        if quiet:
            compared[c["number"]] = v
            threads = {"seconds": v["seconds of threads"], "model": v["model"]}
            shown |= {f"{name}{GUIDE}": quiet, name.replace("workers", "threads"): threads}
        for name, v in shown.items():
            groups.setdefault(name, {})[f"{c['number']}"] = (v["seconds"], None, None)
            memory = f"{v['worker_MB']:,.0f}" if "worker_MB" in v else ""
            model, queries = v.get("model", ""), f"{v['groups']:,}" if "groups" in v else ""
            body.append([name, c["number"], f"{v['seconds']:.1f}", memory, model, queries])
        if kind == "program":
            models.setdefault(c["program"], set()).add(v["model"])
            if v["groups"] > v["queries"]:
                cutting[c["program"]] = v
    same = [name for name, found in models.items() if len(found) == 1]
    answer = "The table shows the times of fits by one worker and by two workers."
    if 2 in compared:
        v = compared[2]
        threads, after = v["seconds of threads"], v["seconds after the rows"]
        quiet = v[f"seconds after the rows{GUIDE}"]
        answer = (
            f"A fit to 1,000,000 documents takes {threads:.1f} s in one process with two threads, "
            f"and {after / threads:.2f} times as long, {after:.1f} s, with two workers of one "
            f"thread each, or {quiet / threads:.2f} times as long if Dask is set as the guide "
            "advises, not including the time in which the workers receive their rows."
        )
    if same:
        answer += f" With {listed(same)}, one worker and two workers produce the same model."
    for program, v in cutting.items():
        answer += (
            f" The ends of files cut queries, and {program} sees each piece as a query: "
            f"{v['groups']:,} instead of {v['queries']:,}."
        )
    chart = intervals(answer, groups, "seconds", reference=None, logarithmic=True)
    head = ["what", "workers or threads", "seconds", "MB", "hash of the model", "queries seen"]
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


def _but(columns, left_out):
    return [column for number, column in enumerate(columns) if number != left_out]
