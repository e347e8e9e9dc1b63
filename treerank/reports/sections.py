"""Sections of a report: each is a function from a subject to a section, or to nothing.

To add a section, write the function in a file of its own and list it in ``SECTIONS``.
"""

from collections.abc import Callable

from treerank.reports.data import data
from treerank.reports.examples import examples
from treerank.reports.features import features
from treerank.reports.method import method
from treerank.reports.page import Section
from treerank.reports.pairs import pairs
from treerank.reports.queries import queries
from treerank.reports.slices import kinds
from treerank.reports.subject import Subject
from treerank.reports.summary import summary
from treerank.reports.training import training

SECTIONS: tuple[Callable[[Subject], Section | None], ...] = (
    summary,
    queries,
    examples,
    kinds,
    features,
    pairs,
    training,
    data,
    method,
)
