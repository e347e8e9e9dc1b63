"""Torch module: any network of torch as a feature part, trained on an objective."""

import copy
from collections.abc import Callable
from dataclasses import KW_ONLY
from inspect import signature
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import torch

from treerank.checks import NOT_SAVED, quote
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.networks.network_part import NetworkPart
from treerank.feature_parts.networks.training import one_thread
from treerank.files.archive import ArgumentError
from treerank.files.states import array, check_state
from treerank.parameters import Rule

#: Rows that a new module is tried with.
_TRIED = 8
#: Largest difference of the outputs of a row beside other rows, over their size.
_ROUNDING = 1e-9
#: Rows of which a model file has the outputs, and the largest difference of another machine.
_N_SAMPLES, _SAME = 8, 1e-6
_SAMPLES = {"samples": array("float64", "n_samples", "n_outputs")}


def _check_build(name: str, value: Any) -> None:
    """Refuse a value that is not a function of the number of features, such as a module itself."""
    if isinstance(value, str) and value.endswith(NOT_SAVED):
        raise ArgumentError(
            f"{name} must be given where the model is read, because its file holds no code: "
            f"load(path, {name}={value.removesuffix(NOT_SAVED)})."
        )
    if not callable(value) or isinstance(value, torch.nn.Module):
        raise ValueError(
            f"{name} must be a function of the number of features that returns a new "
            f"torch.nn.Module; got {quote(value)}."
        )


@estimator
class TorchModule(NetworkPart):
    """A module of your own, which maps rows of features to one output or several.

    The module is trained as any other network of this package: batches of whole queries, Adam,
    early stopping by an ``eval_set``. It must map each row independently, since the score of a
    document must not depend on other documents, and it must also work in double precision.

    A model file holds the weights of the module, its ``state_dict``, and no code:
    ``load(path, build=build)`` reads it, and refuses a module of other layers or other outputs. If
    a ranker has several modules, write ``load(path, build={"small": small, "large": large})`` with
    the function of each by its name.

    All other parameters, and the attributes, are as in
    :class:`~treerank.feature_parts.networks.network_part.NetworkPart`; the outputs are counted.

    Parameters
    ----------
    build : callable
        ``build(n_features)`` returns a ``torch.nn.Module`` that maps a tensor of shape
        (n_documents, n_features), of standardized features, to (n_documents, n_outputs). Of a
        column of categories, each is a feature. It may be a class of modules. What it draws from
        torch's generator follows from ``random_state``.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank.objectives import make_objective
    >>> def build(n_features):
    ...     hidden = torch.nn.Linear(n_features, 8)
    ...     return torch.nn.Sequential(hidden, torch.nn.GELU(), torch.nn.Linear(8, 1))
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> objective = make_objective(X[:, 0] * X[:, 1] > 0, np.repeat([0, 1, 2], 20))
    >>> part = TorchModule(build, n_epochs=100, learning_rate=0.02, random_state=0)
    >>> part = part.fit(X, objective)
    >>> part.transform(np.array([[1.0, 1.0], [1.0, -1.0]]))[:, 0].argmax()
    np.int64(0)
    """

    n_outputs: ClassVar[int] = 1  # type: ignore[misc]  # no parameter: what there is is counted

    build: Annotated[Callable[[int], torch.nn.Module], Rule(_check_build)]
    _: KW_ONLY

    def get_state(self) -> dict[str, Any]:
        """Return what ``fit`` has learned, with names of layers and sample outputs."""
        state = super().get_state()
        return state | {"layers": _layers(self.network_), "samples": self._sample_outputs()}

    def set_state(self, state: dict[str, Any]) -> Self:
        """Restore what :meth:`get_state` returned, and return the part; refuse anything else.

        Refuses a ``build`` that makes other layers, or layers with other outputs.
        """
        super().set_state(state)
        check_state({"samples": state["samples"]}, _SAMPLES)
        layers, expected = _layers(self.network_), list(state["layers"])
        if layers != expected:
            unknown = next((layer for layer in layers if layer not in expected), "fewer layers")
            missing = next((layer for layer in expected if layer not in layers), "others")
            raise ArgumentError(
                "build must return the module that was saved, with the same layers under the same "
                f"names; got {quote(unknown)} in place of {quote(missing)}."
            )
        outputs = self._sample_outputs()
        if not np.allclose(outputs, state["samples"], rtol=_SAME, atol=_SAME * np.ptp(outputs)):
            raise ArgumentError(
                "build must return the module that was saved; got one of the same layers whose "
                "outputs differ, by a setting of a layer or by forward."
            )
        return self

    def _sample_outputs(self) -> np.ndarray:
        """Return the outputs of the module for a few rows that are always the same."""
        n_inputs = len(self._standardization.mean)
        rows = np.sin(np.arange(_N_SAMPLES * n_inputs)).reshape(_N_SAMPLES, n_inputs) * 2
        module = copy.deepcopy(self.network_).cpu().double().eval()
        with torch.no_grad(), one_thread():
            return module(torch.from_numpy(rows)).numpy()

    def _make_network(self, n_features, n_outputs, X_sample, generator):
        # A copy, because ``build`` may return one and the same module each time.
        try:
            signature(self.build).bind(n_features)
        except TypeError as error:
            raise ValueError(
                "build must take one argument, the number of features; got "
                f"{quote(self.build)}: {error}."
            ) from error
        except ValueError:  # the signature of a compiled function is not known
            pass
        module = copy.deepcopy(self.build(n_features))
        if not isinstance(module, torch.nn.Module):
            raise ValueError(f"build must return a torch.nn.Module; got {quote(module)}.")
        tried = torch.zeros(2, n_features) if X_sample is None else X_sample[:_TRIED]
        module = module.cpu().float()
        self.n_outputs_ = _n_outputs(module, tried)
        if self.n_outputs_ == 1 and not any(weight.requires_grad for weight in module.parameters()):
            raise ValueError(
                f"build must return a module with weights to train; got {quote(module)}."
            )
        return module

    def _checked_weights(self, weights):
        try:
            return super()._checked_weights(weights)
        except Exception as error:  # of any kind, since any code may be called
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            text = f"build must return the module that was saved; got another: {kind}{error}"
            raise ArgumentError(text) from error

    def _expected_weights(self):
        self._build(None, seed=0)  # in memory: any module can be made there
        return self._model.state_dict()


def _layers(module: torch.nn.Module) -> list[str]:
    """Return "name type" of each layer of a module, also of layers within layers."""
    return [f"{name} {type(layer).__name__}".strip() for name, layer in module.named_modules()]


def _n_outputs(module: torch.nn.Module, rows: torch.Tensor) -> int:
    """Return the number of outputs of a module for ``rows``, in double precision.

    Refuses a module whose output is no matrix with a column, or for which a row's output depends on
    other rows.
    """
    rule = (
        f"build must return a module that maps (n_documents, {rows.shape[1]}) to (n_documents, "
        "n_outputs), in double precision, too"
    )
    module.eval()
    try:
        with torch.no_grad():
            module(rows)  # which makes the weights of a lazy module
            precise = copy.deepcopy(module).double()
            outputs, first = precise(rows.double()), precise(rows[:1].double())
    except Exception as error:  # of any kind, since any code may be called
        raise ValueError(f"{rule}; got {type(error).__name__}: {error}") from error
    is_matrix = isinstance(outputs, torch.Tensor) and outputs.ndim == 2 and outputs.shape[1] > 0
    if not is_matrix or len(outputs) != len(rows):
        shape = tuple(outputs.shape) if isinstance(outputs, torch.Tensor) else type(outputs)
        hint = " End forward with unsqueeze(1)." if shape == (len(rows),) else ""
        raise ValueError(f"{rule}; got {shape} for {len(rows)} documents.{hint}")
    if (first - outputs[:1]).abs().max() > _ROUNDING * outputs.abs().max().clamp(min=1.0):
        raise ValueError(
            "build must return a module that maps each row alone, and draws nothing at random in "
            "eval(); got other outputs of a document beside others."
        )
    return outputs.shape[1]
