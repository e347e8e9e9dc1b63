"""Formats by name. To add one, write its file and list it in ``FORMATS``."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from treerank.checks import check_choice
from treerank.export.c_source import write_c
from treerank.export.comparison import AT_MOST_SINGLE, AT_MOST_WITH_SLACK, BELOW_SINGLE
from treerank.export.consumer import Consumer
from treerank.export.forest_json import write_forest_json
from treerank.export.ranklib import write_ranklib
from treerank.export.solr import write_solr
from treerank.export.written import Written
from treerank.export.xgboost_splits import write_xgboost_splits

_single = partial(Consumer, leaf_dtype="float32", sum_dtype="float32")


@dataclass(frozen=True)
class Format:
    """A format of files, and the program that reads them.

    Attributes
    ----------
    write : callable
        Returns the content of the file for a :class:`~treerank.export.written.Written`.
    consumer : Consumer or None
        How the program scores documents; ``None`` if it does everything as a forest does.
    max_depth : int, default=None
        Splits on a path that the program, or a reader of nested values, still takes.
    """

    write: Callable[[Written], str | bytes]
    consumer: Consumer | None = None
    max_depth: int | None = None


FORMATS = {
    "c": Format(write_c),
    "json": Format(write_forest_json),
    "opensearch": Format(write_xgboost_splits, _single(BELOW_SINGLE, "zero"), max_depth=200),
    "ranklib": Format(write_ranklib, _single(AT_MOST_SINGLE, "refused"), max_depth=200),
    "solr": Format(write_solr, _single(AT_MOST_WITH_SLACK, "right"), max_depth=200),
}


def format_named(name: str) -> Format:
    """Return a format.

    Examples
    --------
    >>> format_named("solr").max_depth
    200
    """
    check_choice("format", name, FORMATS)
    return FORMATS[name]
