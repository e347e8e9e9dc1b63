"""Column ranker: ranks by an existing score, such as BM25 or the score of a production system."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from treerank.checks import check_choice, check_count, is_whole, quote, refuse_other_order
from treerank.documents.columns import as_frame
from treerank.documents.embeddings import sources_of
from treerank.documents.eval_set import EvalSet
from treerank.documents.features import feature_names_of
from treerank.documents.reading import Accepts, take_columns
from treerank.documents.rows import Rows
from treerank.documents.training_set import TrainingSet
from treerank.feature_parts.components import Components
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.linear_component import LinearComponent
from treerank.files.states import number
from treerank.forests.building import GrowingForest
from treerank.metrics.registry import AnyMetric
from treerank.parameters import Rule
from treerank.rankers.ranker import Ranker


def _check_column(name: str, value: Any) -> None:
    """Refuse a value that is neither the name of a column nor its index from 0."""
    if not isinstance(value, str):
        if not is_whole(value):
            raise TypeError(
                f"{name} must be the name of a column or its number from 0; got {quote(value)}."
            )
        check_count(name, value, at_least=0)


def _check_index(name: str, value: Any, sizes: dict[str, int]) -> None:
    """Refuse a value that is not the index of a column, below ``sizes["n_features"]``."""
    check_count(name, value, at_least=0, at_most=sizes["n_features"] - 1)


#: How the user gives missing scores one below all others, whatever holds them.
SCORES_BELOW = (
    "scores = np.array(scores, float); scores = np.where(np.isnan(scores), np.nanmin(scores) - 1, "
    "scores)"
)


def score_below(scores: np.ndarray) -> float:
    """Return a score below all others, by as much as they differ; NaN is a missing one.

    Examples
    --------
    >>> score_below(np.array([5.0, np.nan, 4.0]))
    3.0
    """
    present = scores[~np.isnan(scores)]
    low, high = (present.min(), present.max()) if len(present) else (0.0, 0.0)
    return float(low - ((high - low) or 1.0))


@estimator
class ColumnRanker(Ranker):
    """Rank by one column of ``X``: the baseline of :func:`treerank.compare` and of reports.

    The column may be BM25, reciprocal rank fusion, a cross-encoder or the score of the system in
    production. ``predict`` returns its values. If you pass the name of a column, only this column
    of a data frame is read; the others may contain anything, such as ids and texts. ``fit`` finds
    the score of missing values: the smallest value of the training set minus the range of its
    values. With an ``eval_set``, it also calibrates probabilities of pairs. Values of later
    documents may be below that score, for example in longer lists, so fit the ranker on lists of
    the same depth. ``fit`` does not learn from labels, so a comparison scores a fitted
    ``ColumnRanker`` as is, also with ``cv``.

    ``metric`` and the attributes are explained at :class:`~treerank.rankers.ranker.Ranker`.

    Parameters
    ----------
    column : str or int
        Name of the column, or its number from 0. Higher values are better.
    smaller_is_better : bool, default=False
        Whether smaller values are better, as of distances and prices. Then ``predict`` returns
        the negative values.

    Attributes
    ----------
    column_index_ : int
        Number of the column.
    missing_score_ : float
        Score of a document whose value is missing.

    Examples
    --------
    >>> from treerank import TreeDirectRanker, compare, make_web_search
    >>> data = make_web_search(60, documents_per_query=10, n_features=5, random_state=0)
    >>> rankers = {"fifth column": ColumnRanker(4), "linear": TreeDirectRanker("linear")}
    >>> compare(rankers, data).by_query("ndcg@10").shape
    (60, 2)
    """

    column: Annotated[str | int, Rule(_check_column)]
    _: KW_ONLY
    smaller_is_better: bool = False
    metric: AnyMetric = "ndcg@10"

    _learned: ClassVar = {"column_index_": _check_index, "missing_score_": number()}
    _accepts = Accepts(sparse=True, several_labels=True, clicks=False, labels=False)
    _stops_early: ClassVar = False

    def _read_training_set(
        self, X: Any, y: Any, qid: Any, position: Any, given_pairs: Any, weights: dict[str, Any]
    ) -> TrainingSet:
        refuse_other_order({"X": X, "y": y, **weights})
        X, (y, qid, position) = take_columns(X, y=y, qid=qid, position=position)
        X = self.own_column(X)
        return super()._read_training_set(X, y, qid, position, given_pairs, weights)

    def own_column(self, X: Any) -> Any:
        """Return the part of a data frame that ``column`` names; other ``X`` unchanged.

        It is the column, or the embedding of which ``column`` is an entry.
        """
        frame: Any = as_frame(X)
        if frame is None or not isinstance(self.column, str):
            return X
        (source,) = sources_of([self.column], frame.columns)
        check_choice("column", source, frame.columns)
        return frame.select(source).to_native()

    def _learn(self, data: TrainingSet, held_out: EvalSet | None, seed: int) -> None:
        self.column_index_ = self._index()
        self.missing_score_ = score_below(self._values(data.X)[data.rows])

    def _index(self) -> int:
        """Return the index of ``column``.

        Refuses a name where ``X`` has none, a column that ``X`` lacks, and a column of categories.
        """
        names, index = feature_names_of(self), self.column
        if isinstance(index, str):
            if names is None:
                raise ValueError(
                    f"column must be a column number if X has no column names; got {quote(index)}."
                )
            check_choice("column", index, [*names])
            index = [*names].index(index)
        if index >= self.n_features_in_:
            raise ValueError(
                f"column must be below {self.n_features_in_}, the number of columns; got {index}."
            )
        if index in self.columns_.categories:
            raise ValueError(f"column must hold numbers; {quote(self.column)} holds categories.")
        return int(index)

    def components(self) -> Components:
        """Return the column as a linear model, and a tree that gives missing values their score."""
        check_is_fitted(self)
        return self._as_components(self.column_index_, self.n_features_in_, self.missing_score_)

    def _expected_components(self, documents: Rows) -> Components:
        """Return components as after a fit; a column that the documents lack is their first one."""
        columns, n_features = documents.columns, documents.shape[1]
        names, index = [*(columns.names or ())], self.column
        if isinstance(index, str):
            index = names.index(index) if index in names else 0
        index = index if index < n_features else 0
        if index in columns.categories:
            raise ValueError(f"column must hold numbers; {quote(self.column)} holds categories.")
        return self._as_components(index, n_features, -1.0)

    def _as_components(self, index: int, n_features: int, missing_score: float) -> Components:
        """Return the score of the column with this index as a sum of a tree and a linear model."""
        coef, forest = np.zeros(n_features), GrowingForest()
        coef[index] = -1.0 if self.smaller_is_better else 1.0
        left, present = forest.split(forest.add_tree(), index, 0.0, True)
        below, missing = forest.split(left, index, 0.0, False)
        forest.values[present], forest.values[below] = 0.0, 0.0
        forest.values[missing] = missing_score
        linear = LinearComponent(coef, np.zeros(n_features))
        return Components(forest.forest(n_features), linear)

    def _values(self, X: Any) -> np.ndarray:
        """Return the values of the column, negated if smaller is better."""
        column = X[:, [self.column_index_]]
        values = (column.toarray() if issparse(column) else column).ravel().astype(np.float64)
        return -values if self.smaller_is_better else values

    def _scores(self, X: Any) -> np.ndarray:
        scores = self._values(X)
        return np.where(np.isnan(scores), self.missing_score_, scores)
