"""Format: how a model is written, and what the program that reads it computes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treerank.exports.consumer import Consumer
from treerank.exports.written import Written
from treerank.forests.forest import Forest


@dataclass(frozen=True)
class Lone:
    """How a model of one term without trees is written, for a program that takes missing as 0.

    Attributes
    ----------
    write : callable
        Returns the content of the file for the term and the names of the features.
    scores : callable
        Returns what the program computes for the term and documents without missing values.
    """

    write: Callable[[Any, list[str]], str]
    scores: Callable[[Any, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Format:
    """A format of files, and the program that reads them.

    Attributes
    ----------
    write : callable
        Returns the pieces of the file for a :class:`~treerank.exports.written.Written`: texts, or
        bytes.
    consumer : Consumer or None
        How the program scores documents; ``None`` if it does everything as a forest does.
    single : Consumer, default=None
        How it scores documents with trees that are added in single precision, if it can be told
        to compute in single precision, too.
    max_depth : int, default=None
        Splits on a path that the program, or a reader of nested values, still takes.
    whole_codes : bool, default=False
        Whether categories must be whole numbers from 0 to 65535.
    adds : collection of {"line", "network"}, default=()
        Other terms that ``write`` writes, too, and that the program adds in double precision.
    lone : dict from {"line", "network"} to Lone, default={}
        How models of such a term alone are written, where they have a file of their own.
    """

    write: Callable[[Written], Iterable[str] | Iterable[bytes]]
    consumer: Consumer | None = None
    single: Consumer | None = None
    max_depth: int | None = None
    whole_codes: bool = False
    adds: tuple[str, ...] = ()
    lone: Mapping[str, Lone] = field(default_factory=dict)

    def consumer_of(self, forest: Forest) -> Consumer | None:
        """Return how the program scores documents with a forest."""
        is_single = forest.sum_dtype == "float32" and self.single is not None
        return self.single if is_single else self.consumer
