"""Formats by name. To add one, write its file and list it in ``FORMATS``.

A module is imported only when its format is asked for.

Format: how a model is written, and what the program that reads it computes.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treerank.checks import check_choice, quote
from treerank.exports.consumer import Consumer
from treerank.exports.feature_names import ANY_NAME, NameRule
from treerank.exports.program_runs import Run
from treerank.exports.written import Written
from treerank.feature_parts.linear_component import LinearComponent
from treerank.forests.forest import Forest
from treerank.lazy import load_object
from treerank.renamed import RENAMED_FORMATS
from treerank.spelling import spelled

_VERSION = re.compile(r"\d{1,9}([.-]\d{1,9})*", re.ASCII)
_MONTH = re.compile(r"20\d\d-(0[1-9]|1[0-2])(-\d\d)?", re.ASCII)


@dataclass(frozen=True)
class LinearFile:
    """How a linear model alone is written, for a program that takes missing values as 0.

    Attributes
    ----------
    write : callable
        ``write(linear, names)`` returns the content of the file.
    scores : callable
        ``scores(linear, X)`` returns what the program computes for documents without missing
        values.
    """

    #: Returns the content of the file for the linear model and the names of the features.
    write: Callable[[LinearComponent, list[str]], str]
    #: Returns what the program computes for the linear model and documents without missing values.
    scores: Callable[[LinearComponent, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class ExportFormat:
    """A format of files, and the program that reads them.

    Attributes
    ----------
    write : callable
        Returns the content of the file for a :class:`~treerank.exports.written.Written`: a text, or
        bytes.
    consumer : Consumer or None
        How the program scores documents; ``None`` if it does everything as a forest does.
    single : Consumer, default=None
        How it scores documents with trees that are added in single precision, if it can be told
        to compute in single precision, too.
    max_depth : int, default=None
        Splits on a path that the program, or a reader of nested values, still takes.
    codes : range, default=None
        Codes of categories that the format can hold; None are all numbers.
    adds : collection of {"linear", "network"}, default=()
        Other components that ``write`` writes, too, and that the program adds in double precision.
    linear_alone : LinearFile, default=None
        How a linear model without anything else is written, if it has a file of its own.
    has_relevance : bool, default=False
        Whether ``write`` writes probabilities of relevance, too.
    names : NameRule, default=ANY_NAME
        Names of features that the program takes.
    has_prefix : bool, default=False
        Whether the name of the model is a prefix of the names of functions.
    has_table : bool, default=False
        Whether the name is the name of a table of documents.
    check : callable, default=None
        ``check(forest, names, levels)`` refuses what the format cannot hold otherwise; ``levels``
        are the categories by column.
    run : callable, default=None
        Scores documents by the program itself, see :data:`treerank.exports.program_runs.Run`.
    """

    write: Callable[[Written], str | bytes]
    consumer: Consumer | None = None
    single: Consumer | None = None
    max_depth: int | None = None
    codes: range | None = None
    adds: tuple[str, ...] = ()
    linear_alone: LinearFile | None = None
    has_relevance: bool = False
    names: NameRule = ANY_NAME
    has_prefix: bool = False
    has_table: bool = False
    check: Callable[[Forest, list[str], dict[int, list[Any]]], None] | None = None
    run: Run | None = None

    def says(self, kinds: Sequence[str]) -> bool:
        """Tell whether the format holds components of these kinds: "trees", "linear", "network"."""
        return all(kind in ("trees", *self.adds) for kind in kinds)

    def consumer_of(self, forest: Forest) -> Consumer | None:
        """Return how the program scores documents with a forest.

        None if it does as the forest does.
        """
        is_single = forest.sum_dtype == "float32" and self.single is not None
        return self.single if is_single else self.consumer


FORMATS = {
    "c": "treerank.exports.c_source:C",
    "elasticsearch": "treerank.exports.elastic:ELASTIC",
    "elasticsearch-plugin": "treerank.exports.xgboost_splits:BY_SPLIT",
    "elasticsearch-plugin-2023": "treerank.exports.xgboost_splits:ZEROS",
    "javascript": "treerank.exports.code_module:JAVASCRIPT",
    "json": "treerank.exports.forest_json:JSON",
    "lightgbm": "treerank.exports.lightgbm_model:LIGHTGBM",
    "onnx": "treerank.exports.onnx:ONNX",
    "opensearch": "treerank.exports.xgboost_splits:BY_SPLIT",
    "opensearch-2": "treerank.exports.xgboost_splits:ZEROS",
    "opensearch-3.2": "treerank.exports.xgboost_splits:RIGHT",
    "python": "treerank.exports.code_module:PYTHON",
    "ranklib": "treerank.exports.ranklib:RANKLIB",
    "solr": "treerank.exports.solr:SOLR",
    "solr-8": "treerank.exports.solr:SOLR_8",
    "sql": "treerank.exports.sql:SQL",
    "vespa-expression": "treerank.exports.vespa:VESPA_EXPRESSION",
    "xgboost": "treerank.exports.xgboost_model:XGBOOST",
}


#: Programs that do not read a model alike in all versions: the first version of each format, the
#: newest first. Of the plugin of Elasticsearch, a version is the month of its release.
VERSIONS = {
    "elasticsearch-plugin": {"2024-02": "elasticsearch-plugin", "0": "elasticsearch-plugin-2023"},
    "opensearch": {"3.8": "opensearch", "3.2": "opensearch-3.2", "0": "opensearch-2"},
    "solr": {"9.2": "solr", "0": "solr-8"},
}


def format_of_version(format: str, version: str | None) -> str:
    """Return the format that a version of a program reads; None is the newest version.

    Refuses a version for formats that do not depend on it.

    Examples
    --------
    >>> format_of_version("opensearch", "2.18"), format_of_version("opensearch", None)
    ('opensearch-2', 'opensearch')
    """
    if version is None:
        return format
    if format not in VERSIONS:
        raise ValueError(
            f"{spelled('version')} must be left out for format {quote(format)}, which all versions "
            f"read alike or which names one; got {quote(version)}. {', '.join(VERSIONS)} have "
            "versions."
        )
    newest = next(iter(VERSIONS[format]))
    if _MONTH.fullmatch(newest) and not (isinstance(version, str) and _MONTH.fullmatch(version)):
        raise ValueError(
            f"{spelled('version')} must be the month in which the plugin was released, such as "
            f"{quote(newest)}, and not the number of an Elasticsearch; got {quote(version)}."
        )
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise ValueError(
            f"{spelled('version')} must be text of numbers, such as "
            f"{quote(newest)}; got {quote(version)}."
        )
    first = (name for start, name in VERSIONS[format].items() if _parts(version) >= _parts(start))
    return next(first)


def _parts(version: str) -> list[int]:
    return [int(part) for part in re.split("[.-]", version)]


def check_format(format: str, formats: Collection[str]) -> None:
    """Refuse a value that is none of ``formats``, and name the new name of a renamed format."""
    if isinstance(format, str) and format in RENAMED_FORMATS:
        raise ValueError(f"format {quote(format)} is now {RENAMED_FORMATS[format]}.")
    check_choice("format", format, formats)


def format_named(name: str) -> ExportFormat:
    """Return the export format of a name; refuse unknown names.

    Examples
    --------
    >>> format_named("solr").max_depth
    200
    """
    check_choice("format", name, FORMATS)
    export_format: ExportFormat = load_object(FORMATS[name])
    return export_format
