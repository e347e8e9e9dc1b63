"""Refit: leaf values of existing trees learn from new data, as LightGBM and XGBoost refit trees."""

from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from treerank.all_or_nothing import all_or_nothing
from treerank.documents.columns import Columns
from treerank.documents.rows import Rows
from treerank.documents.training_queries import TrainingQueries
from treerank.feature_parts.base import Validation
from treerank.feature_parts.components import Components
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.rows import as_rows
from treerank.files.states import check_state
from treerank.forests.forest import Forest, check_trees
from treerank.forests.recoding import recoded
from treerank.forests.scoring import forest_leaves, forest_scores
from treerank.numerics.threads import threads_of
from treerank.objectives.base import Objective, as_objective
from treerank.parameters import Count, Jobs, NotNegative, Rule, check_parameters


@estimator
class RefitTrees(BaseEstimator):
    """Trees of another model: ``fit`` keeps their splits and updates the values of their leaves.

    ``fit`` starts from the scores of the trees. One tree after the other takes a Newton step, times
    ``learning_rate``, in each of its leaves, given the updated values of the trees before it. With
    a learning rate of 0 the trees do not change: then they serve as the first part of
    :class:`~treerank.feature_parts.stages.Stages` that add new trees, or as one part of an
    :class:`~treerank.feature_parts.ensemble.Ensemble`: for example, to combine the trees of a
    ranker that was fitted to an LLM's grades with new trees, weighted by human labels.

    Trees with names of columns, such as ``ranker.forest()``, read data frames by name; there may be
    further columns, for new trees. Categories of the trees keep their codes; the trees treat new
    categories as missing values.

    A ranker remembers the queries that the trees of ``ranker.forest()`` were trained on as its own,
    so :func:`treerank.compare` warns if they are tested.

    Parameters
    ----------
    trees : Forest
        Trees with one output, such as ``ranker.forest()`` or the result of
        :func:`treerank.read_forest`.
    learning_rate : float, default=0.05
        Length of the steps.
    min_child_samples : int, default=20
        A leaf with fewer new documents keeps its value.
    reg_lambda : float, default=1.0
        L2 penalty, which is added to the sum of hessians of a leaf.
    n_jobs : int, default=None
        Number of threads; ``None`` and -1 are all processors.

    Attributes
    ----------
    trees_ : Forest
        The trees with their new values, for the columns of X.
    n_features_in_, n_outputs_ : int
        Number of columns of X and of ``transform``, which has one.

    Examples
    --------
    >>> from treerank import HistogramTrees, make_web_search
    >>> from treerank.objectives import make_objective
    >>> X, y, qid = make_web_search(40, documents_per_query=10, random_state=0)
    >>> old, new = (make_objective(y[q], qid[q]) for q in (qid < 20, qid >= 20))
    >>> trees = HistogramTrees(10, random_state=0).fit(X[qid < 20], old).forest()
    >>> refit = RefitTrees(trees).fit(X[qid >= 20], new)
    >>> before, after = (forest_scores(t, X[qid >= 20])[:, 0] for t in (trees, refit.trees_))
    >>> new(after)[0] < new(before)[0]
    True
    """

    _state: ClassVar = {"trees_": lambda name, value, sizes: check_trees(name, value)}
    accepts_rows: ClassVar[bool] = True
    n_outputs_: ClassVar[int] = 1

    trees: Annotated[Forest, Rule(check_trees)]
    _: KW_ONLY
    learning_rate: NotNegative = 0.05
    min_child_samples: Count = 20
    reg_lambda: NotNegative = 1.0
    n_jobs: Jobs = None

    @all_or_nothing
    def fit(self, X: Any, objective: Objective, *, validation: Validation | None = None) -> Self:
        """Update the values of the leaves; row ``i`` of ``X`` gets score ``i`` of ``objective``.

        ``validation`` changes nothing, because there is nothing to stop early.
        """
        check_parameters(self)
        rows = as_rows(X, sparse=True)
        trees = recoded(self.trees, rows.columns, rows.shape[1])
        values = trees.values.copy()
        if self.learning_rate:
            self._take_steps(trees, rows, objective, values)
        self.trees_ = replace(trees, values=values, training_queries=None)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return f(x), of shape (n_documents, 1)."""
        check_is_fitted(self)
        rows = as_rows(X, self.n_features_in_, sparse=True)
        return forest_scores(self.trees_, rows.array(), n_threads=self.n_threads)

    def components(self, weight: np.ndarray) -> Components:
        """Return the trees multiplied by a weight."""
        check_is_fitted(self)
        return Components(self.trees_).scaled(weight[0])

    def expected_components(self, documents: Rows) -> Components:
        """Return the trees for the columns of such documents."""
        return Components(recoded(self.trees, documents.columns, documents.shape[1]))

    @property
    def given_columns(self) -> list[Columns]:
        """Columns of the trees, by whose names and categories documents are read."""
        return [self.trees.columns]

    @property
    def given_queries(self) -> list[TrainingQueries]:
        """Queries that the trees were trained on, as far as they are known."""
        return [] if self.trees.training_queries is None else [self.trees.training_queries]

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self.trees_.n_features

    @property
    def n_threads(self) -> int:
        """Number of threads, as ``n_jobs`` says."""
        return threads_of(self.n_jobs)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Number of splits of each feature, divided by the number of all splits."""
        return self.trees_.split_shares

    def get_state(self) -> dict[str, Any]:
        """Return what ``fit`` has learned, for :meth:`set_state`: ``{"trees_": Forest}``."""
        check_is_fitted(self)
        return {"trees_": self.trees_}

    def set_state(self, state: dict[str, Any]) -> Self:
        """Restore what :meth:`get_state` returned, and refuse anything else."""
        check_state(state, self._state)
        self.trees_ = state["trees_"]
        return self

    def _take_steps(
        self, trees: Forest, rows: Rows, objective: Objective, values: np.ndarray
    ) -> None:
        """Add a Newton step to the leaf values of each tree in turn, in place.

        ``values``, of shape (n_nodes, 1), belongs to ``trees``; the derivatives of ``objective`` on
        ``rows`` follow the updated scores.
        """
        X, objective = rows.array(), as_objective(objective)
        leaves = forest_leaves(trees, X, n_threads=self.n_threads)
        scores = forest_scores(trees, X, n_threads=self.n_threads)[:, 0]
        for tree, leaf in enumerate(leaves.T):
            gradient, hessian = objective.derivatives(scores, iteration=tree)
            # The sums of all nodes but the leaves of this tree are 0, and so are their steps.
            g, h, n_documents = (
                np.bincount(leaf, weights, len(values)) for weights in (gradient, hessian, None)
            )
            is_updated = (n_documents >= self.min_child_samples) & (h > 0)
            step = np.zeros(len(values))
            step[is_updated] = -g[is_updated] / (h[is_updated] + self.reg_lambda)
            step *= self.learning_rate
            values[:, 0] += step
            scores += step[leaf]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
