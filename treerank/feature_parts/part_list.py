"""Part list: a feature part made of several, whose parameters are named by their index."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from treerank.checks import check_choice, check_sequence, has_methods
from treerank.documents.columns import Columns
from treerank.documents.rows import Rows
from treerank.documents.training_queries import TrainingQueries
from treerank.feature_parts.base import (
    FeaturePart,
    check_fitted_part,
    components_of,
    expected_components_of,
    outputs_of,
    params_of,
    traits_of,
)
from treerank.feature_parts.components import Components, sum_of_components
from treerank.feature_parts.estimator import answered
from treerank.feature_parts.registry import make_feature_part, reads_sparse
from treerank.files.states import StateRule, check_state, unshared
from treerank.objectives.base import Objective
from treerank.parameters import PlainSignature, check_parameters

#: Penalty on the weights of parts with several outputs, as in a ranker.
_HEAD_ALPHA = 10.0


class PartList(BaseEstimator):
    """Base class of feature parts with a list of ``parts``: their parameters, checks and seeds.

    Examples
    --------
    >>> from treerank.feature_parts.stages import Stages
    >>> from treerank.feature_parts.trees.lightgbm import LightGBMTrees
    >>> Stages(["linear", LightGBMTrees()]).set_params(**{"1__num_leaves": 7}).parts[1]
    LightGBMTrees(num_leaves=7)
    """

    __signature__ = PlainSignature()

    accepts_rows: ClassVar[bool] = True
    #: What ``fit`` has learned, with the rules of a model file.
    _state: ClassVar[dict[str, StateRule]]

    parts: Sequence[str | FeaturePart]

    def get_state(self) -> dict[str, Any]:
        """Return what ``fit`` has learned."""
        check_is_fitted(self)
        return unshared({name: getattr(self, name) for name in self._state})

    def set_state(self, state: dict[str, Any]) -> Self:
        """Restore what :meth:`get_state` returned, and refuse anything else."""
        check_state(state, self._state, n_parts=len(self.parts))
        for name in self._state:
            setattr(self, name, state[name])
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; parameters of the parts are ``"0__..."``, ``"1__..."``."""
        params: dict[str, Any] = super().get_params(deep=False)
        parts: Sequence[Any] = self.parts if deep else ()
        for index, part in enumerate(parts):
            if has_methods(part, "get_params"):
                params |= {f"{index}__{name}": value for name, value in part.get_params().items()}
        return params

    @answered
    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``"1__num_leaves"`` is one of the second part."""
        nested = {name: name.partition("__") for name in params}
        nested = {name: split for name, split in nested.items() if split[0].isdigit()}
        super().set_params(**{name: params[name] for name in params if name not in nested})
        parts: list[Any] = [make_feature_part(part) for part in self.parts]
        self.parts = parts if nested else self.parts
        for name, (index, _, name_in_part) in nested.items():
            check_choice("index", int(index), range(len(parts)))
            parts[int(index)].set_params(**{name_in_part: params[name]})
        return self

    @property
    def given_columns(self) -> list[Columns]:
        """Columns of the models that the parts were created from, such as trees to refit."""
        return [columns for part in self.parts for columns in traits_of(part).given_columns]

    @property
    def given_queries(self) -> list[TrainingQueries]:
        """Queries that models were trained on from which the parts were created."""
        return [queries for part in self.parts for queries in traits_of(part).given_queries]

    @property
    def takes_categories(self) -> bool:
        """Whether columns of categories count to some part."""
        return any(traits_of(make_feature_part(part)).takes_categories for part in self.parts)

    @property
    def resumes(self) -> bool:
        """Whether some part goes on from a checkpoint."""
        return any(traits_of(make_feature_part(part)).resumes for part in self.parts)

    @property
    def n_threads(self) -> int:
        """Largest number of threads of a part, once it is fitted."""
        check_is_fitted(self)
        return max(traits_of(part).n_threads for part in self._fitted_once())

    def _expected_sum(self, documents: Rows) -> Components:
        """Return the sum of components of the kind that all parts have after a fit."""
        parts = [make_feature_part(part) for part in self.parts]
        return sum_of_components([expected_components_of(part, documents) for part in parts])

    def _fitted_once(self) -> list[Any]:
        """Return a fitted copy of each part."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: X may be sparse if all parts read sparse matrices."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = all(reads_sparse(make_feature_part(part)) for part in self.parts)
        return tags

    def _check_parts(self, objective: Objective) -> None:
        """Refuse wrong parameters, a list without parts, and an objective of several outputs."""
        check_parameters(self)
        check_sequence("parts", self.parts)
        if len(self.parts) == 0:
            raise ValueError("parts must hold a feature part; got none.")
        if objective.n_outputs > 1:
            raise ValueError(
                "objective must have a single output for a list of parts; got "
                f"{objective.n_outputs}. Boosted trees take several."
            )

    def _seeded_parts(self, rng: np.random.RandomState) -> list[Any]:
        """Return unfitted copies of the parts; those without a seed get one from ``rng``."""
        copies = [make_feature_part(part) for part in self.parts]
        for copy in copies:
            if params_of(copy).get("random_state", 0) is None:
                copy.set_params(random_state=int(rng.randint(2**31 - 1)))
            weigh_its_outputs(copy)
        return copies


def weigh_its_outputs(part: Any) -> None:
    """Set ``head_alpha`` of an unfitted part to 10 if it is None.

    Then the part fits weights of its outputs itself, instead of a ranker.
    """
    if params_of(part).get("head_alpha", 0) is None:
        part.set_params(head_alpha=_HEAD_ALPHA)


def weighed(part: Any, X: Any) -> np.ndarray:
    """Return the outputs of a fitted part, of shape (n_documents, n_outputs), times its weights.

    A part without ``head_weight_`` has weights of 1.
    """
    outputs = np.ascontiguousarray(outputs_of(part, X), dtype=np.float64)
    weight = traits_of(part).head_weight_
    return outputs if weight is None else outputs * weight


def weighed_components(part: Any) -> Components:
    """Return the score of a fitted part: its outputs, each times its weight if it has weights."""
    weight = traits_of(part).head_weight_
    return components_of(part, np.ones(1) if weight is None else weight)


def mean_importances(importances: Sequence[np.ndarray], spread: np.ndarray) -> np.ndarray:
    """Return the mean importance of each feature over parts, weighted by ``spread``.

    ``importances`` has an array for each part, and ``spread`` the standard deviation of its scores.
    """
    mean: np.ndarray = spread @ np.stack(importances)
    return mean / max(spread.sum(), np.finfo(np.float64).tiny)


def check_outputs(part: Any, n_outputs: int) -> None:
    """Refuse a fitted part with several outputs and no weights of the outputs."""
    if n_outputs > 1 and traits_of(part).head_weight_ is None:
        raise ValueError(
            f"parts must have a single output or weights of their outputs; got "
            f"{n_outputs} of {type(part).__name__}. Let its fit set head_weight_ = "
            "fit_head(self.transform(X), objective.convex_or_itself()), of "
            "treerank.feature_parts.head_fitting."
        )


def check_fitted_parts(name: str, parts: Any, sizes: dict[str, int]) -> None:
    """Refuse a value that is no list of ``sizes["n_parts"]`` fitted parts.

    Each must have a single output, or weights of its outputs.
    """
    if not isinstance(parts, list) or len(parts) != sizes["n_parts"]:
        raise ValueError(f"{name} must be a list of {sizes['n_parts']} parts.")
    for part in parts:
        check_fitted_part(f"each of {name}", part, sizes)
        check_outputs(part, traits_of(part).n_outputs_ or 1)
