"""Help: panels, texts at full width, and no types of the programs below."""

import re

import pytest
from command_line import run

from treerank.cli.app import COMMANDS

pytestmark = pytest.mark.slow


def lines_of(command, columns=80):
    return run(*command, "--help", env={"COLUMNS": str(columns)}).stdout.splitlines()


def text_below(lines, option):
    """Return the lines of the text of an option."""
    start = next(n for n, line in enumerate(lines) if line.startswith(f"  {option}")) + 1
    end = next(n for n in range(start, len(lines)) if not lines[n].startswith(" " * 6))
    return lines[start:end]


def test_options_are_in_panels_with_their_texts_at_full_width_below_them():
    lines = lines_of(["fit"])
    titles = [line for line in lines if re.fullmatch(r"\w[\w ]*:", line)]
    panels = ["Arguments:", "Data:", "Ranker:", "Trees:", "Output:", "Options:", "Examples:"]
    assert titles == panels
    where = {line.split()[0].rstrip(","): n for n, line in enumerate(lines) if line[:3] == "  -"}
    of_panel = dict(zip(panels, map(lines.index, panels), strict=True))
    assert of_panel["Data:"] < where["--query"] < of_panel["Ranker:"]
    assert of_panel["Trees:"] < where["--num-leaves"] < of_panel["Output:"]
    assert of_panel["Output:"] < where["-m"] < of_panel["Options:"] < where["--traceback"]
    text = text_below(lines, "--valid FILE|SHARE")
    assert max(map(len, text)) > 70
    assert all(line.startswith(" " * 6) for line in text)
    assert lines[0] == "Usage: treerank fit TRAIN --model FILE [OPTIONS]"
    assert lines_of(["evaluate"])[0] == "Usage: treerank evaluate MODEL DATA [OPTIONS]"
    assert "      Metric of the --valid file. Default: ndcg@10." in lines
    assert len(lines) < 110


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_cut_wide_or_of_a_type(name, columns):
    lines = lines_of([name], columns)
    text = "\n".join(lines)
    for wrong in ("<", "[required]", "…", "x>=", "INTEGER", "[default"):
        assert wrong not in text.replace("> queries.tsv", "")
    examples = [line for line in lines if line.startswith("    treerank ") or "| treerank" in line]
    assert all(len(line) <= min(columns, 100) for line in lines if line not in examples)
    assert [line.strip() for line in examples] == COMMANDS[name].examples
    flags = re.findall(r"^  (--?[a-z].*)$", text, re.MULTILINE)
    assert all(flag.isascii() for flag in flags)
    assert {"--traceback", "-h, --help"} <= {*flags}


def test_the_application_lists_its_commands():
    lines = lines_of([])
    for name, about in COMMANDS.items():
        assert any(line.startswith(f"  {name} ") for line in lines)
        assert about.examples[0] in {line.strip() for line in lines}
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_text_and_a_value_of_a_kind(name):
    lines = lines_of([name], 100)
    for n, line in enumerate(lines):
        if line.startswith("  -"):
            assert re.fullmatch(r"  (-\w, )?--[a-z-]+( [A-Z][A-Z,|]*)?", line), line
            assert lines[n + 1].startswith(" " * 6), line
