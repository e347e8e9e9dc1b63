"""Conversion: a model in the words of a format, and what its program then evaluates."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from treerank.checks import quote
from treerank.exports.adaptation import Deviation, adapted_thresholds, find_deviations, find_missing
from treerank.exports.consumer import Consumer
from treerank.exports.formats import FORMATS, ExportFormat, LinearFile, format_named
from treerank.exports.written import Written
from treerank.feature_parts.components import Components
from treerank.feature_parts.linear_component import LinearComponent
from treerank.forests.building import with_constant_tree, without_empty_sets
from treerank.forests.forest import Forest

#: Advice on models of several kinds of components.
TREES_ALONE = " Trees alone can go there: fit them without other parts."
_NAMES = {"trees": "trees", "linear": "a linear model", "network": "a network"}


@dataclass(frozen=True, eq=False)
class ForestConversion:
    """A model prepared for an export format: what the file holds, and what its program computes.

    Attributes
    ----------
    target : ExportFormat
        The format.
    components : Components
        The model: trees, linear model and networks.
    names : list of str
        Names of the features.
    written : Written
        Content of the file, with the names of features in it.
    consumer : Consumer or None
        How the program scores documents; None if it evaluates trees exactly as treerank does.
    read : Forest
        The forest that the program evaluates, after rounding.
    """

    target: ExportFormat
    components: Components
    names: list[str]
    written: Written
    consumer: Consumer | None
    read: Forest

    @property
    def is_exact(self) -> bool:
        """Whether the program scores every possible document as the model does."""
        consumer, forest, read = self.consumer, self.components.forest, self.read
        if consumer is None:
            return True
        is_split = ~forest.is_leaf
        # Files have no infinity; no document is above the largest number, either.
        wanted = np.minimum(forest.threshold, np.finfo(np.float64).max)
        pairs = [
            (wanted[is_split], read.threshold[is_split]),
            (forest.missing_left[is_split], read.missing_left[is_split]),
            (forest.values, read.values),
        ]
        rules = {compared.categories and compared.categories.rule for compared in (forest, read)}
        are_whole = all(feature in self.written.levels for feature in forest.features_by_set)
        return (
            all(np.array_equal(*pair) for pair in pairs)
            and (len(rules) == 1 or are_whole)  # all rules agree on whole numbers
            and forest.missing_up_to == read.missing_up_to
            and {forest.sum_dtype} == {read.sum_dtype, consumer.score_dtype}
        )

    def content(self) -> bytes:
        """Return the content of the file."""
        content = self.target.write(self.written)
        return content.encode() if isinstance(content, str) else content

    @property
    def renamed(self) -> dict[str, str]:
        """Names in the file that differ from the names of the columns."""
        pairs = zip(self.names, self.written.names, strict=True)
        return {name: other for name, other in pairs if name != other}

    def deviations(self, X: Any) -> list[Deviation]:
        """Return which documents of ``X`` reach other leaves, by feature and reason."""
        if self.is_exact:
            return []
        return find_deviations(self.components.forest, self.read, X, self.names)

    def check_sizes(self, X: Any) -> None:
        """Refuse documents with numbers that are too large for the program."""
        if self.consumer is None or X.shape[0] == 0:
            return
        is_sparse, limit = issparse(X), self.consumer.largest
        sizes = abs(X).nanmax(axis=0).toarray()[0] if is_sparse else np.fmax.reduce(np.abs(X))
        for feature in np.flatnonzero(sizes > limit)[:1]:
            raise ValueError(
                f"check must have numbers of at most {limit:.2g} in size, because the program of "
                f"the format refuses others; got {sizes[feature]:.2g} in feature "
                f"{quote(self.names[feature])}."
            )

    def scores(self, X: Any) -> np.ndarray:
        """Return the scores of the program for the documents ``X``."""
        if self.consumer is None or self.is_exact:
            return self.components.scores(X)
        return self.components.added_to(self.consumer.scores(self.read, X), X)


@dataclass(frozen=True, eq=False)
class LinearConversion:
    """A linear model alone, for a program that takes missing values as 0.

    Attributes
    ----------
    file : LinearFile
        How it is written.
    linear : LinearComponent
        The model.
    names : list of str
        Names of the features.
    """

    file: LinearFile
    linear: LinearComponent
    names: list[str]

    is_exact = False
    renamed: ClassVar[dict[str, str]] = {}

    def content(self) -> bytes:
        """Return the content of the file."""
        return self.file.write(self.linear, self.names).encode()

    def deviations(self, X: Any) -> list[Deviation]:
        """Return which documents of ``X`` have missing values, by feature."""
        return find_missing(self.linear.features, X, self.names)

    def scores(self, X: Any) -> np.ndarray:
        """Return the scores of the program for the documents ``X``."""
        rows = X.toarray() if hasattr(X, "toarray") else X
        return self.file.scores(self.linear, np.nan_to_num(rows, nan=0))


#: A model in the words of a format.
Conversion = ForestConversion | LinearConversion


def converted(
    name: str,
    components: Components,
    names: list[str],
    X: Any = None,
    log_odds: np.ndarray | None = None,
    levels: dict[int, list[Any]] | None = None,
    prefix: str = "treerank",
) -> Conversion:
    """Return the conversion of a model into a format; refuse a model that the format cannot hold.

    Parameters
    ----------
    name : str
        Name of the format.
    components : Components
        The model.
    names : list of str
        Names of the features.
    X : ndarray or sparse matrix, default=None
        Documents for which the program must decide as the forest does.
    log_odds, levels, prefix
        As in :class:`~treerank.exports.written.Written`.
    """
    target = format_named(name)
    if log_odds is not None and not target.has_relevance:
        raise ValueError(
            f"format {quote(name)} cannot express the probability of relevance; 'c', 'javascript', "
            "'onnx' and 'python' can. ranker.threshold_for() gives a score that every program can "
            "compare with."
        )
    components = _components_for(name, target, components)
    if (
        components.kinds == ["linear"]
        and target.linear_alone is not None
        and components.linear is not None
    ):
        return LinearConversion(target.linear_alone, components.linear, names)
    conversion = _forest_conversion(name, target, components, names, X)
    in_file = target.names.written(names)
    if target.check is not None:
        target.check(components.forest, in_file, levels or {})
    written = replace(conversion.written, names=in_file, log_odds=log_odds, prefix=prefix)
    return replace(conversion, written=replace(written, levels=levels or {}))


def has_words(
    name: str, components: Components, names: list[str], levels: dict[int, list[Any]]
) -> bool:
    """Tell whether a format can hold a model; False if a package that it needs is not installed.

    ``names`` and ``levels`` are the names of the features and the categories by column.
    """
    try:
        converted(name, components, names, levels=levels).content()
    except (ImportError, ValueError):
        return False
    return True


def _components_for(name: str, target: ExportFormat, components: Components) -> Components:
    """Return the components in a form that a format can hold.

    Linear networks are merged into the linear model, and an empty linear model is left out. Refuses
    components that it cannot hold, and names the formats that can.
    """
    if "network" in components.kinds and "network" not in target.adds:
        components = components.with_linear_networks_merged()
    if components.linear is not None and not len(components.linear.features):
        components = replace(components, linear=None)
    kinds = components.kinds
    if (kinds == ["linear"] and target.linear_alone is not None) or target.says(kinds):
        return components
    alternatives = [repr(other) for other in FORMATS if _says(other, kinds)]
    listed = " and ".join(filter(None, [", ".join(alternatives[:-1]), alternatives[-1]]))
    named = " and ".join(_NAMES[kind] for kind in kinds)
    advice = TREES_ALONE if len(kinds) > 1 else ""
    raise ValueError(f"format {quote(name)} has no words for {named}, which {listed} have.{advice}")


def _says(name: str, kinds: list[str]) -> bool:
    """Tell whether the format ``name`` can hold components of these kinds.

    False if a package that it needs is not installed.
    """
    try:
        return format_named(name).says(kinds)
    except ImportError:
        return False


def _forest_conversion(
    name: str, target: ExportFormat, components: Components, names: list[str], X: Any
) -> ForestConversion:
    forest, other_components = components.forest, (components.linear, components.networks)
    consumer = target.consumer_of(forest)
    if consumer is not None:
        forest = without_empty_sets(forest)
    _check_can_say(name, target, consumer, forest, names)
    if consumer is None:
        written = Written(forest, forest.threshold, names, *other_components)
        return ForestConversion(target, components, names, written, None, forest)
    # Most programs read no empty sum.
    is_nothing = forest.n_trees == 0 and not any(other_components)
    forest = with_constant_tree(forest, always=is_nothing)
    thresholds = adapted_thresholds(forest, consumer.rule, X)
    rounded = consumer.rounded(forest)
    read = consumer.evaluated(rounded, thresholds)
    written = Written(rounded, thresholds, names, *other_components)
    return ForestConversion(
        target, Components(forest, *other_components), names, written, consumer, read
    )


def _check_can_say(
    name: str, target: ExportFormat, consumer: Consumer | None, forest: Forest, names: list[str]
) -> None:
    """Refuse a forest that a format cannot hold: with categories, or with trees that are too deep.

    ``name`` and ``target`` are the format, ``consumer`` is what the program that reads it can do,
    and ``names`` are the features' names.
    """
    sets = forest.categories
    if consumer is not None and sets is not None:
        if consumer.categories is None:
            feature = int(forest.feature[np.argmax(sets.of_node >= 0)])
            raise ValueError(
                f"format {quote(name)} has no categories; got some in column "
                f"{quote(names[feature])}. Code it as numbers and fit again, or export to a format "
                "with categories, such as 'c' or 'onnx'."
            )
        sizes = np.diff(sets.starts)[sets.of_node[sets.of_node >= 0]]
        if not sizes.all():
            raise ValueError(
                f"format {quote(name)} has no empty sets where zeros are missing values."
            )
    if target.codes is not None and sets is not None:
        codes, least, most = sets.codes, target.codes[0], target.codes[-1]
        wrong = codes[(codes != np.trunc(codes)) | (codes < least) | (codes > most)]
        if len(wrong):
            raise ValueError(
                f"format {quote(name)} takes categories that are whole numbers from "
                f"{least} to {most}; got {wrong[0]}."
            )
    if target.max_depth is not None and forest.depth > target.max_depth:
        raise ValueError(
            f"format {quote(name)} takes trees of at most {target.max_depth} splits on a path; got "
            f"{forest.depth}."
        )
