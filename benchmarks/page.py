"""The page of evidence: ``docs/evidence.md`` and its charts, drawn from the kept rows alone."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from . import data
from .drawing import THEMES, Chart, table
from .measurements import HERE, read_rows
from .questions import QUESTIONS, module_of

DOCS = HERE.parent / "docs"
README = HERE.parent / "README.md"
#: Cores that other programs may have used while times were measured that are shown.
QUIET = 0.2
MARKS = "<!-- evidence -->", "<!-- end of evidence -->"


@dataclass(frozen=True)
class Section:
    """What the page says about a question.

    Attributes
    ----------
    answer : str
        The answer in a sentence or two.
    charts : sequence
        Charts.
    tables : sequence
        (title, table as Markdown) pairs; they fold below the charts.
    notes : str
        What must be known to read them.
    """

    answer: str
    charts: Sequence[Chart] = ()
    tables: Sequence[tuple[str, str]] = ()
    notes: str = ""


@dataclass
class Page:
    """The files of the page by path."""

    files: dict[Path, str] = field(default_factory=dict)

    def add(self, question: str) -> str:
        """Add the charts of a question, and return its Markdown."""
        module, command = module_of(question), f"python -m benchmarks {question} --write"
        rows = read_rows(question)
        shown = [row for row in rows if not module.IS_TIMING or is_quiet(row)]
        head = [f"## {module.TITLE}", ""]
        if not shown:
            return "\n".join(
                [
                    *head,
                    "No measurement is kept yet"
                    + (" on a machine that does nothing else" if module.IS_TIMING else "")
                    + f". To measure: `{command}`.",
                    "",
                ]
            )
        lines = head + self.lines_of(question, module.section(shown))
        return "\n".join([*lines, f"To repeat: `{command}`. {provenance(shown)}", ""])

    def add_papers(self) -> str:
        """Add the charts of the papers' experiments, and return their Markdown."""
        papers = module_of("papers")
        lines = [f"## {papers.TITLE}", "", *self.lines_of("papers", papers.section())]
        return "\n".join([*lines, f"To repeat: `{papers.COMMAND}`.", ""])

    def lines_of(self, question: str, section: Section) -> list[str]:
        """Add the charts of a section, and return the lines of its Markdown."""
        lines = [section.answer, ""]
        for number, chart in enumerate(section.charts):
            name = f"evidence-{question}" + (f"-{number + 1}" if number else "")
            lines += self.picture(name, chart)
        for title, text in section.tables:
            lines += [
                "<details>",
                f"<summary>{with_code(title)}</summary>",
                "",
                text,
                "",
                "</details>",
                "",
            ]
        if section.notes:
            lines += [section.notes, ""]
        return lines

    def picture(self, name: str, chart: Chart) -> list[str]:
        """Add both forms of a chart, and return the Markdown that shows them."""
        lines = []
        for theme in THEMES:
            file = f"{name}.svg" if theme == "light" else f"{name}-dark.svg"
            self.files[DOCS / "static" / file] = chart.svg(theme)
            lines += [
                f"```{{image}} static/{file}",
                f":alt: {chart.alt}",
                f":class: only-{theme}",
                "```",
            ]
        return [*lines, ""]


def with_code(title: str) -> str:
    """Return a title as HTML, with code between backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(title, quote=False))


def is_quiet(row: dict) -> bool:
    """Tell whether the machine did nothing else while a row was measured."""
    others = row["environment"].get("others")
    return others is not None and others <= QUIET


def provenance(rows: list[dict]) -> str:
    """Return from which commits, days and versions rows are."""
    found = [row["environment"] for row in rows]
    commits = sorted({f"`{each['commit']}`" for each in found})
    days = sorted({each["date"] for each in found})
    versions = {f"{name} {v}" for each in found for name, v in each["versions"].items()}
    engines = sorted(v for v in versions if v.split()[0] in ("lightgbm", "xgboost", "catboost"))
    text = f"Measured at {', '.join(commits)} on {' and '.join(dict.fromkeys((days[0], days[-1])))}"
    return f"{text} with {', '.join(engines)}." if engines else f"{text}."


def data_table() -> str:
    """Return the table of data sets."""
    rows = [
        [
            f"[{each.name}]({each.link})" if each.link else each.name,
            "public" if each.is_public else "synthetic",
            each.about,
            f"{each.queries:,}",
            f"{each.documents:,}",
            each.features,
            each.licence,
        ]
        for each in data.DATA_SETS.values()
    ]
    head = ["data set", "kind", "what", "queries", "documents", "features", "licence"]
    return table(head, rows)


INTRODUCTION = """# Evidence

Every figure on this page is drawn from rows kept in
`benchmarks/results`, by `python -m benchmarks page`; a test compares them. Each section names the
command that measures its rows again. What was tried and did not help is in
`benchmarks/LOG.md`.

**Quality** is NDCG@10 with gains 2^y − 1. Scores that tie are averaged over their orders, and
queries without a relevant document are left out. A difference is paired over test queries, with a
95 % bootstrap interval that takes the fitted models as given; where an interval holds 0, the
difference is not significant. Intervals are not adjusted for several comparisons. **Times** are
shown only if the machine did nothing else.

## Data sets

Synthetic sets are draws of treerank's own generator, `make_web_search`, a third of whose labels is
shuffled; a lead on them says less than one on public sets.

"""


def make() -> dict[Path, str]:
    """Return the text of every file of the page by path."""
    page = Page()
    sections = [*(page.add(question) for question in QUESTIONS), page.add_papers()]
    text = INTRODUCTION + data_table() + "\n\n" + "\n".join(sections)
    page.files[DOCS / "evidence.md"] = text
    readme = README.read_text(encoding="utf-8")
    if MARKS[0] in readme:
        before, rest = readme.split(MARKS[0])
        after = rest.split(MARKS[1])[1]
        from .questions.quality import summary

        said = summary(read_rows("quality"))
        page.files[README] = f"{before}{MARKS[0]}\n  {said}\n  {MARKS[1]}{after}"
    return page.files


def write() -> None:
    """Write the page, and remove charts that it no longer has."""
    files = make()
    for old in (DOCS / "static").glob("evidence-*.svg"):
        if old not in files:
            old.unlink()
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
