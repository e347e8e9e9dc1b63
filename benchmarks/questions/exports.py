"""Exports: whether other programs score exported files to the last bit, and how long writing takes.

Drawn forests and drawn documents, with categories, missing values and thresholds among the
documents. "wrong" is a score that is not equal to the last bit to what the export says the program
gives. Other engines (RankLib, the plugins of OpenSearch and Elasticsearch, Solr, Vespa) were
compared by hand with their own classes; no rows are kept, so no figures are claimed here.
"""

import functools

import numpy as np

from benchmarks import programs, timing
from benchmarks.drawing import intervals, table
from benchmarks.measurements import Measurement
from benchmarks.page import Section, is_quiet
from benchmarks.questions import listed
from treerank.exports.conversion import converted
from treerank.exports.formats import FORMATS
from treerank.feature_parts.components import Components

#: Trees and leaves of formats that do not hold 1,000 trees of 255 leaves: SQL takes 1 MB.
SIZES = {"sql": (350, 31)}
TITLE = "Do exported models give the same scores in other programs?"
IS_TIMING = False


def scored(format, n_forests, n_documents):
    """Return how many scores of a program differ from those that the export says."""
    random, n_wrong, n_told = np.random.default_rng(0), 0, 0
    for _ in range(n_forests):
        components, X = programs.drawn_case(random, format, n_documents)
        conversion = converted(format, components, programs.NAMES, X)
        model, program = components.scores(X), conversion.scores(X)
        n_wrong += int((programs.PROGRAMS[format](conversion.content(), X) != program).sum())
        n_told += int((model != program).sum())
    return {"documents": n_forests * n_documents, "wrong": n_wrong, "told to differ": n_told}


def written(format, n_trees, n_leaves):
    """Return time, size and memory of writing a forest."""
    forest = programs.balanced_forest(n_trees, n_leaves)
    names = [f"f{number}" for number in range(forest.n_features)]

    def write():
        return len(converted(format, Components(forest), names).content())

    size, memory = write(), programs.peak_allocation(write)
    times = timing.median_of(timing.time_turns({"": write}, 1)[""])
    return times | {"MB": size / 1e6, "memory over file": memory / size}


def measurements(options):
    """Yield wrong scores by program, and the time of writing by format."""
    n_forests, n_documents = (2, 100) if options.quick else (400, 5000)
    for format in programs.PROGRAMS:
        measure = functools.partial(scored, format, n_forests, n_documents)
        yield Measurement({"format": format, "forests": n_forests}, measure)
    for format in FORMATS:
        size = (5, 7) if options.quick else SIZES.get(format, (1000, 255))
        measure = functools.partial(written, format, *size)
        yield Measurement({"written": format, "trees": size[0], "leaves": size[1]}, measure)


def section(rows):
    """Return wrong scores, and times of writing."""
    scores = [row for row in rows if "format" in row["conditions"]]
    wrong = sum(row["values"]["wrong"] for row in scores)
    n = min((row["values"]["documents"] for row in scores), default=0)
    formats = listed([f"`{row['conditions']['format']}`" for row in scores])
    answer = (
        f"For each of the formats {formats}, the program that reads the file computed {n:,} "
        f"scores. {wrong or 'None'} of these scores {'differs' if wrong < 2 else 'differ'} by "
        "even a single bit from the score that the export predicts."
    )
    head = ["format", "forests", "scores", "wrong"]
    body = [
        [f"`{c['format']}`", c["forests"], f"{v['documents']:,}", v["wrong"]]
        for c, v in ((row["conditions"], row["values"]) for row in scores)
    ]
    tables, charts = [("Scores by program", table(head, body))], []
    files = [row for row in rows if "written" in row["conditions"]]
    if files:
        groups = {
            row["conditions"]["written"]: {"MB": (row["values"]["MB"], None, None)}
            for row in files
            if row["conditions"]["written"] not in SIZES
        }
        charts = [
            intervals(
                "Sizes of exported files.",
                groups,
                "MB of a file of 1,000 trees of 255 leaves",
                reference=None,
                logarithmic=True,
            )
        ]
        head = ["format", "trees", "leaves", "file, MB", "memory over the file", "CPU, ms"]
        tables.append(
            (
                "Writing trees",
                table(
                    head,
                    [
                        [
                            f"`{row['conditions']['written']}`",
                            f"{row['conditions']['trees']:,}",
                            row["conditions"]["leaves"],
                            f"{v['MB']:.1f}",
                            f"{v['memory over file']:.2f}",
                            f"{v['cpu milliseconds']:,.0f}" if is_quiet(row) else "",
                        ]
                        for row, v in ((row, row["values"]) for row in files)
                    ],
                ),
            )
        )
    notes = (
        "For RankLib, Solr, Vespa and the plugins of OpenSearch and Elasticsearch, the export "
        "uses emulations that are based on the source code of these programs. The emulations were "
        "compared with the real programs by hand, and the results were not stored. The column "
        '"memory over the file" shows the peak memory of writing a file, divided by the size of '
        "the file."
    )
    return Section(answer, charts, tables, notes)
