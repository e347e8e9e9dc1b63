"""Run benchmarks, and draw the page of evidence from what is kept.

python -m benchmarks QUESTION ... [--quick] [--write]
python -m benchmarks page
"""

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

from . import measurements
from .questions import QUESTIONS, module_of


def run(question, options, *, write=False, only=(), again=False):
    """Measure a question, print the rows, and return them; ``write`` keeps them."""
    module, rows = module_of(question), []
    if write and options.quick:
        raise SystemExit("--write must not meet --quick: rows of tiny data are not kept.")
    wanted = list(measurements.missing(module.measurements(options), []))
    wanted = [each for each in wanted if all(text in str(each.conditions) for text in only)]
    if write and not again:
        wanted = list(measurements.missing(wanted, measurements.read_rows(question)))
    for number, each in enumerate(wanted, start=1):
        began = time.perf_counter()
        try:
            row = measurements.row_of(each)
        except (FileNotFoundError, ModuleNotFoundError) as error:
            print(f"left out: {each.conditions}: {error}", file=sys.stderr)
            continue
        rows.append(row)
        if write:
            measurements.write_row(measurements.path_of(question), row)
        seconds = time.perf_counter() - began
        text = json.dumps({"question": question} | row["conditions"] | row["values"])
        print(f"{number}/{len(wanted)} {seconds:.1f} s {text}", flush=True)
    return rows


def main(argv=None):
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "what",
        nargs="+",
        choices=[*QUESTIONS, "page"],
        metavar="QUESTION",
        help=f"one or more of {', '.join(QUESTIONS)}, or page",
    )
    parser.add_argument("--quick", action="store_true", help="tiny data: does it still run?")
    parser.add_argument("--write", action="store_true", help="keep the rows in results/")
    parser.add_argument("--again", action="store_true", help="measure what is kept already, too")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="TEXT",
        help="only measurements whose conditions hold this text",
    )
    parser.add_argument("--data", type=Path, help="folder of the public data sets")
    arguments = parser.parse_args(argv)
    options = measurements.Options(quick=arguments.quick)
    options = options if arguments.data is None else replace(options, data=arguments.data)
    for what in arguments.what:
        if what == "page":
            from . import page

            page.write()
            continue
        run(what, options, write=arguments.write, only=arguments.only, again=arguments.again)


if __name__ == "__main__":
    main()
