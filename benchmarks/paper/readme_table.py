"""README table: the results of the comparison of feature parts and engines, as Markdown.

    python benchmarks/paper/readme_table.py

One row per ranker, NDCG@10 and seconds per data set, from ``results/neural-core-quick.jsonl``. Each
ranker is tested against the best of the data set: by the corrected t-test over folds, which
accounts for training anew, and by a randomization test over queries, which takes the models as
given.
"""

import argparse
from pathlib import Path

import numpy as np
from comparisons import square
from contestants import shown
from protocol import RESULTS, read

from treerank.statistics.paired import adjust_holm

METRIC, LEVEL = "ndcg@10", 0.05
MARKS = {"over folds": " ↓", "over queries": " †"}
WORDS = {
    "over folds": "by the corrected t-test over folds, adjusted by Holm for all pairs",
    "over queries": "by the randomization test over queries, the models given, adjusted likewise",
}


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the files")
    parser.add_argument("--protocol", default="quick")
    parser.add_argument("--megabytes", action="store_true", help="add what a fit takes of memory")
    parser.add_argument("--into", type=Path, help="file whose marked block to replace")
    arguments = parser.parse_args(argv)
    path = arguments.results / f"neural-core-{arguments.protocol}.jsonl"
    if not path.is_file():
        parser.error(f"--results must hold a file of neural_core.py; got {arguments.results}")
    table = render(read(path, shown), with_megabytes=arguments.megabytes)
    if arguments.into is None:
        print(table)
    else:
        replace_block(arguments.into, table)


def render(parts, *, with_megabytes=False):
    """Return the table and its notes."""
    columns = {name: column_of(content["results"]) for name, content in sorted(parts.items())}
    names = list(columns)
    rankers = list(dict.fromkeys(ranker for column in columns.values() for ranker in column))
    heads = ["ranker", *names, *(f"s, {name}" for name in names), *(["MB"] * with_megabytes)]
    rows = [row_of(ranker, columns, with_megabytes) for ranker in rankers]
    rows.sort(
        key=lambda row: -np.mean([columns[n].get(row[0], {"mean": 0})["mean"] for n in names])
    )
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n\n" + notes_of(columns)


def column_of(results):
    """Return what the table says of each ranker on one data set."""
    cells = {}
    for entry in results:
        result = entry["result"]
        if "metrics" in result:
            cells |= cells_of(result)
    for entry in results:
        ranker = entry["point"].get("ranker")
        if ranker in cells:
            cells[ranker]["megabytes"] = entry["result"]["megabytes"]
    return cells


def cells_of(result):
    """Return mean, error, seconds and the adjusted p-value against the best."""
    metric = result["metrics"][METRIC]
    best = max(metric["mean"], key=metric["mean"].get)
    over_folds = adjusted_p_values(best, metric["corrected_t"])
    over_queries = adjusted_p_values(best, metric.get("randomization"))
    return {
        name: {
            "mean": metric["mean"][name],
            "error": metric["error"][name],
            "seconds": result["seconds"][name]["fit_seconds"],
            "over folds": over_folds.get(name, 1.0),
            "over queries": over_queries.get(name, 1.0),
            "best": name == best,
        }
        for name in metric["mean"]
    }


def adjusted_p_values(best, test):
    """Return the p-value of each other ranker against the best.

    They are adjusted by Holm for all pairs, since the same values have chosen the best.
    """
    if test is None:
        return {}
    p_values = test["p_values"] if test["adjusted"] else adjust_holm(test["p_values"])
    names, row = test["names"], square(p_values)[test["names"].index(best)]
    return {name: p for name, p in zip(names, row.tolist(), strict=True) if name != best}


def row_of(ranker, columns, with_megabytes):
    """Return the cells of one ranker as text."""
    cells = [column.get(ranker) for column in columns.values()]
    quality = [quality_of(cell) for cell in cells]
    seconds = ["" if cell is None else f"{cell['seconds']:.1f}" for cell in cells]
    known = [cell["megabytes"] for cell in cells if cell and "megabytes" in cell]
    return [ranker, *quality, *seconds, *([f"{max(known, default=0):.0f}"] * with_megabytes)]


def quality_of(cell):
    """Return mean and error, bold where best, marked where significantly worse."""
    if cell is None:
        return ""
    text = f"{cell['mean']:.4f}".lstrip("0") + f" ± {cell['error']:.4f}".replace("0.", ".")
    if cell["best"]:
        return f"**{text}**"
    return text + "".join(mark for test, mark in MARKS.items() if cell[test] <= LEVEL)


def notes_of(columns):
    """Say what is significant."""
    lines = ["Bold: best mean of the data set; ± is the standard error over folds, corrected."]
    for test, mark in MARKS.items():
        worse = [
            f"{ranker} on {data} (p = {cell[test]:.3f})"
            for data, column in columns.items()
            for ranker, cell in column.items()
            if cell[test] <= LEVEL
        ]
        found = "; ".join(worse) if worse else "none"
        lines.append(f"{mark.strip()}: worse than the best {WORDS[test]}: {found}.")
    return "\n".join([*lines, "Where there is no mark, no difference is shown."])


def replace_block(path, table, name="results"):
    """Put the table between the two marks of a file."""
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(start)
    path.write_text(f"{before}{start}\n{table}\n{end}{rest.split(end)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
