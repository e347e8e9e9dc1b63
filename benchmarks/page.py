"""What is drawn from the kept rows alone: ``docs/evidence.md``, its charts, and marked passages.

A passage of README or of another page of the manual stands between two comments,
``<!-- evidence: QUESTION.NAME -->`` and ``<!-- end of evidence -->``: it is the entry NAME of what
``passages(rows)`` of the question's module returns.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from . import data
from .drawing import THEMES, Chart, table
from .measurements import HERE, read_rows
from .questions import QUESTIONS, listed, module_of

DOCS = HERE.parent / "docs"
README = HERE.parent / "README.md"
#: Cores that other programs may have used while times were measured that are shown.
QUIET = 0.2
#: Names of the engines whose versions the page gives.
ENGINES = {"catboost": "CatBoost", "lightgbm": "LightGBM", "xgboost": "XGBoost"}
#: A passage between its marks, which are indented alike.
PASSAGE = re.compile(
    r"^( *)<!-- evidence: (\w+)\.([\w ]+) -->\n.*?^ *<!-- end of evidence -->$",
    re.MULTILINE | re.DOTALL,
)


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
        """Add the charts of a question that has rows, and return its Markdown."""
        module, command = module_of(question), f"python -m benchmarks {question} --write"
        shown = shown_rows(question)
        lines = [f"## {module.TITLE}", "", *self.lines_of(question, module.section(shown))]
        return "\n".join(
            [*lines, f"Run `{command}` to repeat the measurements. {provenance(shown)}", ""]
        )

    def add_papers(self) -> str:
        """Add the charts of the papers' experiments, and return their Markdown."""
        papers = module_of("papers")
        lines = [f"## {papers.TITLE}", "", *self.lines_of("papers", papers.section())]
        repeat = (
            f"To reproduce Table 1 of the DirectRanker paper with a shortened protocol, run "
            f"`{papers.COMMAND}`, where FOLDER contains a data set such as MQ2008. Without "
            "`--quick`, the script follows the full protocol."
        )
        return "\n".join([*lines, repeat, ""])

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


def shown_rows(question: str) -> list[dict]:
    """Return the kept rows of a question; times only if nothing else ran on the machine."""
    rows = read_rows(question)
    return [row for row in rows if is_quiet(row)] if module_of(question).IS_TIMING else rows


def without_rows() -> str:
    """Return the Markdown that lists the questions of which no row is shown."""
    missing = [question for question in QUESTIONS if not shown_rows(question)]
    if not missing:
        return ""
    items = [f"* {module_of(q).TITLE} Run `python -m benchmarks {q} --write`." for q in missing]
    text = (
        "The following questions have no stored measurements yet, or their times were measured "
        "while other programs used more than 0.2 processor cores:"
    )
    return "\n".join(["## Questions without stored measurements", "", text, "", *items, ""])


def with_code(title: str) -> str:
    """Return a title as HTML, with code between backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(title, quote=False))


def is_quiet(row: dict) -> bool:
    """Tell whether the machine did nothing else while a row was measured."""
    others = row["environment"].get("others")
    return others is not None and others <= QUIET


def provenance(rows: list[dict]) -> str:
    """Return the sentence on the commits, days and versions of rows."""
    found = [row["environment"] for row in rows]
    commits = sorted({f"`{each['commit']}`" for each in found})
    days = sorted({each["date"] for each in found})
    versions = {f"{name} {v}" for each in found for name, v in each["versions"].items()}
    engines = sorted(
        v.replace(v.split()[0], ENGINES[v.split()[0]]) for v in versions if v.split()[0] in ENGINES
    )
    noun = "commit" if len(commits) == 1 else "commits"
    when = f"from {days[0]} to {days[-1]}" if len(days) > 2 else f"on {listed(days)}"

    plus = ", where a plus sign marks uncommitted changes" if "+" in "".join(commits) else ""
    text = f"The stored measurements were made {when} at {noun} {listed(commits)} of treerank{plus}"
    return f"{text}, with {listed(engines)}." if engines else f"{text}."


def with_passages(text: str) -> str:
    """Return the text of a page, with its marked passages drawn from the kept rows."""

    def drawn(match: re.Match) -> str:
        space, question, name = match.groups()
        lines = [
            f"<!-- evidence: {question}.{name} -->",
            *module_of(question).passages(shown_rows(question))[name].splitlines(),
            "<!-- end of evidence -->",
        ]
        return "\n".join(f"{space}{line}".rstrip() for line in lines)

    return PASSAGE.sub(drawn, text)


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
            each.license,
        ]
        for each in data.DATA_SETS.values()
    ]
    head = ["data set", "kind", "what", "queries", "documents", "features", "license"]
    return table(head, rows)


INTRODUCTION = """# Evidence

`python -m benchmarks page` generates this page and its charts from the measurements stored in
`benchmarks/results`. A test checks that the page matches these measurements. Each section names a
command that repeats its measurements. `benchmarks/LOG.md` lists the ideas that were tried without
success.

**Quality** is NDCG@10 with gains 2^y − 1, unless a section says otherwise. If documents have tied
scores, NDCG is averaged over all orders of these documents. Queries without a relevant document are
left out of the mean, and out of the numbers of test queries.

**The lead** of ranker A over ranker B is the NDCG@10 of A minus that of B on the same test queries.
Unless a section says otherwise, the 95 % interval of a lead is a bootstrap interval over the test
queries. The interval does not reflect how much the lead would vary if the rankers were fitted
again. If an interval contains 0, the lead is not significant. Intervals are not adjusted for
multiple comparisons.

**Elapsed times** are shown only if other programs used at most 0.2 processor cores, on average,
during the measurement.

## Data sets

The synthetic data sets in this table come from treerank's own generator, `make_web_search`, with a
third of the labels shuffled; their names give the number of training queries. A lead on a public
data set tells you more about what to expect on your own data than a lead on a synthetic data set.

MQ2008, OHSUMED and ClueWeb09 have five folds. Unless a section says otherwise, rankers are fitted
and tested once per fold, and results are computed over the test queries of all folds. The
validation queries of one fold are test queries of another fold, so hyperparameters and weights that
were chosen on the validation parts of these data sets are not fully independent of their test
parts.

"""


def make() -> dict[Path, str]:
    """Return the text of every file of the page by path."""
    page = Page()
    sections = [page.add(question) for question in QUESTIONS if shown_rows(question)]
    sections += [page.add_papers(), *filter(None, [without_rows()])]
    text = INTRODUCTION + data_table() + "\n\n" + "\n".join(sections)
    page.files[DOCS / "evidence.md"] = text
    guides = [path for name in ("guide", "how") for path in sorted((DOCS / name).glob("*.md"))]
    for path in (README, *guides):
        before = path.read_text(encoding="utf-8")
        if PASSAGE.search(before):
            page.files[path] = with_passages(before)
    return page.files


def write() -> None:
    """Write the page, and remove charts that it no longer has."""
    files = make()
    for old in (DOCS / "static").glob("evidence-*.svg"):
        if old not in files:
            old.unlink()
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
