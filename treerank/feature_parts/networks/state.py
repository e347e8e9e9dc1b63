"""Network state: what a fitted network part keeps in a model file, checked before it is used."""

from collections.abc import Mapping
from typing import Any

import torch

from treerank.feature_parts.standardization import STANDARDIZATION_RULES
from treerank.files.states import check_state, count, history, number

#: Attributes that are kept as they are.
KEPT = {
    "n_features_in_": count(1),
    "n_outputs_": count(1),
    "n_scores_": count(1),
    "best_iteration_": count(),
    "evals_result_": history,
}
_TRAINING = {"seed": count(), "unit": number()}


def check_network_state(state: Mapping[str, Any]) -> None:
    """Refuse a state whose numbers and inputs do not fit together; weights are not looked at."""
    check_state({name: state[name] for name in KEPT}, KEPT)
    check_state({name: state[name] for name in _TRAINING}, _TRAINING)
    inputs = {name: state[name] for name in STANDARDIZATION_RULES}
    check_state(inputs, STANDARDIZATION_RULES, n_features=state["n_features_in_"])
    if state["n_scores_"] not in (1, state["n_outputs_"]):
        raise ValueError(f"n_scores_ must be 1 or n_outputs_; got {state['n_scores_']}.")


def checked_weights(arrays: Any, expected: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return arrays as tensors; refuse other names, types and shapes than the expected ones."""
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
