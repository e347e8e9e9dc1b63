"""Transformer part: the columns of a transformer of scikit-learn as outputs of a feature part."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, NoReturn, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from treerank.all_or_nothing import all_or_nothing
from treerank.checks import has_methods, quote
from treerank.documents.rows import Rows
from treerank.feature_parts.any_model.models import (
    calling,
    in_blocks,
    refuse_to_save,
    seeded_copy,
)
from treerank.feature_parts.base import Validation
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.head_fitting import fit_head
from treerank.feature_parts.indicators import IndicatorColumns
from treerank.feature_parts.registry import LEARNS_FROM_LABELS, needs_labels, reads_sparse
from treerank.feature_parts.rows import as_rows
from treerank.objectives.base import Objective, as_objective
from treerank.parameters import NotNegative, Rule, Seed, check_parameters


def _check_transformer(name: str, value: Any) -> None:
    """Refuse a value that is no transformer, or one that needs labels, which parts never see."""
    if not has_methods(value, "fit", "transform") or has_methods(value, "rank"):
        raise ValueError(f"{name} must have fit(X) and transform(X); got {quote(value)}.")
    if needs_labels(value):
        raise ValueError(f"{name} must need no labels; {quote(value)} {LEARNS_FROM_LABELS}")


@estimator
class TransformerPart(BaseEstimator):
    """A scikit-learn transformer as a feature part, such as a kernel map or splines.

    ``TreeDirectRanker(Nystroem())`` is ``TreeDirectRanker(TransformerPart(Nystroem()))``. The
    transformer never sees the objective. The ranker fits a weight for each of its columns, by
    convex optimization with an L2 penalty.

    Categorical columns are one-hot encoded, after the columns of numbers.

    Parameters
    ----------
    transformer : estimator of scikit-learn
        It needs no labels. A copy of it is fitted, except of a ``FrozenEstimator``, which stays as
        it was fitted before. If that was to a data frame, and X is one, their columns must have
        the same names in the same order.
    head_alpha : float, default=None
        Strength of the L2 penalty on the weights of the columns, see
        :func:`~treerank.feature_parts.head_fitting.fit_head`. None is the ``head_alpha`` of the
        ranker, and 10 in an ensemble.
    random_state : int, RandomState instance or None, default=None
        Seed of the transformer, and of its steps, if they have no seed of their own.

    Attributes
    ----------
    transformer_ : estimator
        The fitted copy.
    head_weight_ : ndarray of shape (n_outputs,) or None
        Weight of each column in the score, given ``head_alpha``; else None.
    n_features_in_, n_outputs_ : int
        Number of columns of X and of ``transform``.

    Examples
    --------
    >>> from sklearn.kernel_approximation import Nystroem
    >>> from treerank import TreeDirectRanker, make_web_search
    >>> X, y, qid = make_web_search(20, documents_per_query=10, n_features=5, random_state=0)
    >>> ranker = TreeDirectRanker(Nystroem(n_components=30), random_state=0).fit(X, y, qid)
    >>> ranker.transform(X).shape
    (200, 30)
    """

    accepts_rows: ClassVar[bool] = True
    fits_convex: ClassVar[bool] = True
    #: Whether the names of a frozen transformer's columns were compared, also of older pickles.
    _has_names = False

    transformer: Annotated[Any, Rule(_check_transformer)]
    _: KW_ONLY
    head_alpha: NotNegative | None = None
    random_state: Seed = None

    @all_or_nothing
    def fit(self, X: Any, objective: Objective, *, validation: Validation | None = None) -> Self:
        """Fit the transformer to the documents, and the weights to the objective if told to.

        ``validation`` changes nothing, because there is nothing to stop early.
        """
        check_parameters(self)
        rows = as_rows(X, sparse=reads_sparse(self))
        self.n_features_in_ = rows.shape[1]
        self._columns = IndicatorColumns.of(rows, self.transformer)
        matrix = self._columns(rows.array())
        rng = check_random_state(self.random_state)
        self.transformer_ = seeded_copy(self.transformer, 0, rng)
        self._has_names = self._check_names(rows, matrix.shape[1])
        labels = [None] if isinstance(self.transformer_, FrozenEstimator) else []  # it ignores them
        with calling(self, self.transformer, matrix), self._names_checked():
            self.transformer_.fit(matrix, *labels)
        self.n_outputs_ = self._outputs(matrix[:1]).shape[1]
        self.head_weight_: np.ndarray | None = None
        if self.head_alpha is not None:
            convex = as_objective(objective).convex_or_itself()
            self.head_weight_ = fit_head(self._outputs(matrix), convex, alpha=self.head_alpha)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the columns of the transformer, of shape (n_documents, n_outputs_)."""
        check_is_fitted(self)
        rows = as_rows(X, self.n_features_in_, sparse=reads_sparse(self))
        return self._outputs(self._columns(rows.array()))

    def _check_names(self, rows: Rows, n_columns: int) -> bool:
        """Refuse a frozen transformer of other columns than those of X, since it gets no names.

        Returns whether the names of the columns could be compared. ``n_columns`` is the number of
        columns that the transformer gets.
        """
        names, categories = rows.columns.names, rows.columns.categories
        # A copy has names before its fit only if it is frozen, or reads X by a step that is.
        is_copy = has_methods(self.transformer_, "get_params")
        fitted = getattr(self.transformer_, "feature_names_in_", None) if is_copy else None
        if names is None or fitted is None:
            return False
        numbers = [name for column, name in enumerate(names) if column not in categories]
        if [*fitted[: len(numbers)]] != numbers or len(fitted) != n_columns:
            order = "the columns of X in their order"
            then = ""
            if categories:
                order = "the columns of numbers of X in their order"
                then = ", then one of zeros and ones for each category"
            raise ValueError(
                f"transformer must be fitted to {order}, {quote(numbers)}{then}; got "
                f"{quote([*fitted])}."
            )
        return True

    @contextmanager
    def _names_checked(self) -> Iterator[None]:
        """Context without scikit-learn's warning of a matrix without names, if they are checked."""
        if not self._has_names:
            yield
            return
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            yield

    def _outputs(self, matrix: Any) -> np.ndarray:
        if matrix.shape[0] == 0:
            return np.empty((0, self.n_outputs_))
        with calling(self, self.transformer, matrix), self._names_checked():
            outputs = in_blocks(self._transformed, matrix)
            if not np.isfinite(outputs).all():
                raise ValueError(
                    "transformer must return finite numbers; got NaN or infinity from "
                    f"{quote(self.transformer)}."
                )
        return outputs.reshape(len(outputs), -1)

    def _transformed(self, matrix: Any) -> Any:
        """Return the outputs of the transformer for some rows.

        Refuse results without a row for each.
        """
        outputs = self.transformer_.transform(matrix)
        shape = np.shape(outputs)
        if shape[:1] != matrix.shape[:1] or 0 in shape:
            raise ValueError(
                f"transformer must return a row of numbers for each of {matrix.shape[0]} documents;"
                f" got shape {shape} from {quote(self.transformer)}."
            )
        return outputs

    def get_state(self) -> NoReturn:
        """Refuse to be saved: the transformer is an object of another library."""
        refuse_to_save(self)

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: X may be sparse if the transformer reads sparse matrices."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = reads_sparse(self.transformer)
        return tags
