"""Sections of a report: each is a function from a subject to a section, or to nothing.

To add a section, write the function in a file of its own and list it in ``SECTIONS``.
"""

from collections.abc import Callable

from treerank.reports.page import Section
from treerank.reports.sections.data import data
from treerank.reports.sections.examples import examples
from treerank.reports.sections.features import features
from treerank.reports.sections.kinds import kinds
from treerank.reports.sections.method import method
from treerank.reports.sections.pairs import learning, pairs
from treerank.reports.sections.queries import queries
from treerank.reports.sections.summary import summary
from treerank.reports.subject import Subject

SECTIONS: tuple[Callable[[Subject], Section | None], ...] = (
    summary,
    queries,
    examples,
    kinds,
    features,
    pairs,
    learning,
    data,
    method,
)
