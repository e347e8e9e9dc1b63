"""Format: how a model is written, and what the program that reads it computes."""

from collections.abc import Callable
from dataclasses import dataclass

from treerank.exports.consumer import Consumer
from treerank.exports.written import Written
from treerank.forests.forest import Forest


@dataclass(frozen=True)
class Format:
    """A format of files, and the program that reads them.

    Attributes
    ----------
    write : callable
        Returns the content of the file for a :class:`~treerank.exports.written.Written`.
    consumer : Consumer or None
        How the program scores documents; ``None`` if it does everything as a forest does.
    single : Consumer, default=None
        How it scores documents with trees that are added in single precision, if it can be told
        to compute in single precision, too.
    max_depth : int, default=None
        Splits on a path that the program, or a reader of nested values, still takes.
    """

    write: Callable[[Written], str | bytes]
    consumer: Consumer | None = None
    single: Consumer | None = None
    max_depth: int | None = None

    def consumer_of(self, forest: Forest) -> Consumer | None:
        """Return how the program scores documents with a forest."""
        is_single = forest.sum_dtype == "float32" and self.single is not None
        return self.single if is_single else self.consumer
