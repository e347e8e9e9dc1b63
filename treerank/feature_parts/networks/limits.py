"""Limits: how large a network may be, and what its state in a model file may hold."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from treerank.checks import check_count, quote
from treerank.feature_parts.standardization import STANDARDIZATION_RULES
from treerank.files.states import count, history, size
from treerank.parameters import Rule

if TYPE_CHECKING:
    import torch

#: Most units of a layer, and most weights of a network: more would not fit into memory.
MOST_UNITS, MOST_WEIGHTS = 2**16, 10**8
#: Number of units of a layer.
Units = Annotated[int, Rule(check_count, at_most=MOST_UNITS)]


def check_n_weights(name: str, value: Any, n_weights: int) -> None:
    """Refuse the parameter ``name`` if ``n_weights``, the weights that it gives, exceed 10**8."""
    if n_weights > MOST_WEIGHTS:
        raise ValueError(
            f"{name} must give at most {MOST_WEIGHTS} weights; got {quote(value)}, which gives "
            f"{n_weights}."
        )


#: Attributes that a state holds unchanged.
KEPT = {
    "n_features_in_": size("n_features"),
    **{"n_outputs_": count(1), "best_iteration_": count()},
    "evals_result_": history,
}
#: Rules of all numbers of a state; weights are checked by :func:`checked_weights`.
STATE_RULES = KEPT | STANDARDIZATION_RULES


def checked_weights(
    arrays: Any, expected: "Mapping[str, torch.Tensor]"
) -> "dict[str, torch.Tensor]":
    """Return arrays as tensors, by name.

    Refuses other names, types and shapes than those of ``expected``, and numbers that are not
    finite.
    """
    import torch  # rankers read the limits without it

    if not isinstance(arrays, dict) or set(arrays) != set(expected):
        raise ValueError("weights must be those of the network that the parameters describe.")
    weights = {name: torch.as_tensor(values) for name, values in arrays.items()}
    for name, tensor in weights.items():
        if tensor.shape != expected[name].shape or tensor.dtype != expected[name].dtype:
            raise ValueError(
                f"{name} must be of shape {tuple(expected[name].shape)} and {expected[name].dtype};"
                f" got {tuple(tensor.shape)} and {tensor.dtype}."
            )
        if not torch.isfinite(tensor).all():
            raise ValueError(f"{name} must be finite.")
    return weights
