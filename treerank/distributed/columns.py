"""Columns of a frame that is spread over workers: what each of them is for."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from treerank.checks import quote


@dataclass(frozen=True)
class FrameColumns:
    """The role of each column of a training frame.

    Attributes
    ----------
    label, query : str
        Columns of labels and query ids.
    weights : dict from str to str
        Columns of weights, by the argument ``sample_weight`` or ``query_weight`` that names them.
    features : list of str
        All other columns, less those that are dropped.
    categories : list of str
        The features that are text or categories.
    """

    label: str
    query: str
    weights: Mapping[str, str]
    features: Sequence[str]
    categories: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        names: Sequence[Any],
        label: str,
        query: str,
        weights: Mapping[str, str | None],
        dropped: Mapping[str, Sequence[str]],
    ) -> Self:
        """Return the roles of the columns ``names``; refuse arguments that name none of them.

        ``weights`` maps ``sample_weight`` and ``query_weight`` to columns or None, and ``dropped``
        maps arguments to columns that are no features.

        Examples
        --------
        >>> names = ["price", "label", "query", "id"]
        >>> FrameColumns.of(names, "label", "query", {"sample_weight": None}, {"drop": ["id"]})
        FrameColumns(label='label', query='query', weights={}, features=['price'], categories=())
        """
        named = {"label": [label], "query": [query], **dropped}
        named |= {argument: [name] for argument, name in weights.items() if name is not None}
        for argument, columns in named.items():
            for column in columns:
                if column not in names:
                    raise ValueError(
                        f"{argument} must be a column of frame, {quote([*names])}; "
                        f"got {quote(column)}."
                    )
        used = {column for columns in named.values() for column in columns}
        features = [name for name in names if name not in used]
        if not features or not all(isinstance(name, str) for name in features):
            rule = "frame must have columns of features, whose names are text"
            raise ValueError(f"{rule}; got {quote(features)}.")
        weight_columns = {argument: name for argument, name in weights.items() if name is not None}
        return cls(label, query, weight_columns, features)

    @property
    def of_training(self) -> list[str]:
        """All columns that a fit reads of the training frame."""
        return [*dict.fromkeys([*self.of_evaluation, *self.weights.values()])]

    @property
    def of_evaluation(self) -> list[str]:
        """The columns that a fit reads of a frame to evaluate on."""
        return [*self.features, self.label, self.query]

    def refuse_missing(self, name: str, columns: Collection[Any]) -> None:
        """Refuse a frame to evaluate on without a needed column; ``name`` is its argument's name.

        ``columns`` are those that it has.
        """
        missing = [column for column in self.of_evaluation if column not in columns]
        if missing:
            raise ValueError(
                f"{name} must have the columns {quote(missing)} of frame; got {quote([*columns])}."
            )

    def of_kinds(self, name: str, kinds: Mapping[str, str], of_categories: Collection[str]) -> Self:
        """Return the roles with ``categories`` set: the features of text or categories.

        ``kinds`` maps columns that are not numbers to their type, and ``of_categories`` are the
        types that are text or categories. Refuses features of any other type; ``name`` is the
        frame's argument.

        Examples
        --------
        >>> columns = FrameColumns("label", "query", {}, ["price", "color"])
        >>> columns.of_kinds("frame", {"color": "string", "query": "string"}, ["string"]).categories
        ['color']
        """
        kinds = {column: kind for column, kind in kinds.items() if column in self.features}
        for column, kind in kinds.items():
            if kind not in of_categories:
                advice = "Turn it into one of them"
                if kind == "object" or kind.startswith("array"):
                    advice = (
                        f"Of an embedding, make columns {f'{column}_0'!r}, {f'{column}_1'!r} and "
                        "so on of its entries: the model then also scores frames with the embedding"
                    )
                raise ValueError(
                    f"{name} must hold features that are numbers, text or categories; got {kind} "
                    f"in the column {quote(column)}. {advice}, or write drop=[{quote(column)}]."
                )
        return replace(self, categories=[*kinds])

    def refuse_other_categories(self, name: str, categories: Collection[str]) -> None:
        """Refuse a frame to evaluate on whose categorical columns differ from the training frame's.

        ``name`` is its argument's name.
        """
        for column in {*categories} ^ {*self.categories}:
            kinds = ["numbers", "text or categories"]
            expected, other = kinds if column in categories else kinds[::-1]
            raise ValueError(
                f"{name} must hold {expected} in the column {quote(column)}, as frame does; got "
                f"{other}."
            )


def check_column_name(argument: str, column: Any) -> None:
    """Refuse what is not the name of a column, such as a column or a list; ``argument`` names it.

    Examples
    --------
    >>> check_column_name("label", [0, 1, 2])
    Traceback (most recent call last):
    ...
    TypeError: label must be the name of a column of frame, which holds the features, the labels \
and the queries; got <class 'list'>. Write fit(ranker, frame, "label", "query").
    """
    if isinstance(column, str):
        return
    rule = (
        f"{argument} must be the name of a column of frame, which holds the features, the labels "
        f"and the queries; got"
    )
    names = [*column] if isinstance(column, list | tuple) else []
    if argument == "query" and names and all(isinstance(name, str) for name in names):
        joined = ' + "/" + '.join(f'frame["{name}"].astype(str)' for name in names)
        raise TypeError(
            f"{rule} {quote(column)}. Make one column of them, such as "
            f"frame.assign(query={joined}), and write drop={quote(names)} unless they are features."
        )
    raise TypeError(f'{rule} {type(column)}. Write fit(ranker, frame, "label", "query").')
