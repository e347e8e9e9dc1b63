"""Conversion: a forest in the words of a format, and the forest that its program then evaluates."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from treerank.exports.adaptation import Difference, adapted_thresholds, find_differences
from treerank.exports.consumer import Consumer
from treerank.exports.format import Format
from treerank.exports.formats import format_named
from treerank.exports.written import Written
from treerank.forests.folding import with_constant_tree
from treerank.forests.forest import Forest
from treerank.forests.scoring import forest_scores


@dataclass(frozen=True, eq=False)
class Conversion:
    """A forest, what is written of it, and what the program that reads this evaluates.

    Attributes
    ----------
    forest : Forest
        The model.
    written : Written
        What is written.
    consumer : Consumer or None
        The program; ``None`` if it does everything as a forest does.
    read : Forest
        What the program evaluates.
    """

    forest: Forest
    written: Written
    consumer: Consumer | None
    read: Forest

    @property
    def is_exact(self) -> bool:
        """Whether the program scores all documents as the model does."""
        consumer, forest, read = self.consumer, self.forest, self.read
        if consumer is None:
            return True
        is_split = ~forest.is_leaf
        pairs = [
            (forest.threshold[is_split], read.threshold[is_split]),
            (forest.missing_left[is_split], read.missing_left[is_split]),
            (forest.values, read.values),
        ]
        rules = [each.categories and each.categories.rule for each in (forest, read)]
        return (
            all(np.array_equal(*pair) for pair in pairs)
            and (rules[0], forest.missing_up_to) == (rules[1], read.missing_up_to)
            and {forest.sum_dtype} == {read.sum_dtype, consumer.score_dtype}
        )

    def differences(self, X: Any) -> list[Difference]:
        """Return which documents reach other leaves, and why."""
        if self.is_exact:
            return []
        return find_differences(self.forest, self.read, X, self.written.names)

    def scores(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of the model and of the program."""
        scores = forest_scores(self.forest, X)[:, 0]
        return scores, scores if self.is_exact else self._scores_of_program(X)

    def _scores_of_program(self, X: Any) -> np.ndarray:
        assert self.consumer is not None
        return self.consumer.scores(self.read, X)


def converted(name: str, forest: Forest, names: list[str], X: Any = None) -> Conversion:
    """Return the conversion of a forest into a format.

    Parameters
    ----------
    name : str
        Name of the format.
    forest : Forest
        A forest of one output.
    names : list of str
        Names of the features.
    X : ndarray or sparse matrix of shape (n_documents, n_features), default=None
        Documents for which the program must decide as the forest does.

    Returns
    -------
    Conversion

    Raises
    ------
    ValueError
        If the forest has what the format has no words for.
    """
    target = format_named(name)
    consumer = target.consumer_of(forest)
    _check_can_say(name, target, consumer, forest)
    if consumer is None:
        return Conversion(forest, Written(forest, forest.threshold, names), None, forest)
    forest = with_constant_tree(forest)
    thresholds = adapted_thresholds(forest, consumer.comparison, X)
    rounded = consumer.rounded(forest)
    read = consumer.evaluated(rounded, thresholds)
    return Conversion(forest, Written(rounded, thresholds, names), consumer, read)


def _check_can_say(name: str, target: Format, consumer: Consumer | None, forest: Forest) -> None:
    """Refuse a forest that has what a format has no words for."""
    if consumer is not None and consumer.categories is None and forest.categories is not None:
        feature = int(forest.feature[np.argmax(forest.categories.of_node >= 0)])
        raise ValueError(f"format {name!r} has no categories; got some in column {feature}.")
    if target.max_depth is not None and forest.depth > target.max_depth:
        raise ValueError(
            f"format {name!r} takes trees of at most {target.max_depth} splits on a path; got "
            f"{forest.depth}."
        )
