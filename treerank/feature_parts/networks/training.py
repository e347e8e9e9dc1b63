"""Training: gradient descent of a network on an objective, batch by batch and epoch by epoch.

The network is a :class:`ScoredNetwork`: it maps documents to outputs, and several outputs to a
score by a head without bias, which is trained, too. All random numbers come from separate
generators, seeded by seed and epoch, and torch's global generator is not changed. To add an
optimizer or a decay, list it in ``OPTIMIZERS`` or ``DECAYS``.
"""

import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.optim.swa_utils import AveragedModel

from treerank.checks import quote
from treerank.documents.canonical_order import row_hashes
from treerank.numerics.threads import kernel_threads
from treerank.objectives.base import Objective, as_objective
from treerank.objectives.batches import query_batches

#: Number of batches, after the first, that give the unit of an objective.
_UNIT_BATCHES = 16
#: Number of rows that are scored at a time.
_ROWS = 4096
DEVICES = ("auto", "cpu", "cuda")


class ScoredNetwork(torch.nn.Module):
    """A network, and with several outputs, a linear layer without bias from outputs to a score.

    Examples
    --------
    >>> ScoredNetwork(torch.nn.Linear(3, 4), n_outputs=4)(torch.ones(2, 3)).shape
    torch.Size([2, 1])
    """

    def __init__(self, network: torch.nn.Module, n_outputs: int):
        super().__init__()
        self.network = network
        self.head = None
        if n_outputs > 1:
            # With random outputs, scores then vary as much as one output.
            self.head = torch.nn.Parameter(torch.full((n_outputs,), n_outputs**-0.5))

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Return the scores, of shape (n_documents, 1)."""
        outputs = self.network(X)
        return outputs if self.head is None else (outputs @ self.head).unsqueeze(1)


DECAYS = {
    None: lambda rate, time: 1.0,
    "step": lambda rate, time: rate ** math.floor(time),
    "exponential": lambda rate, time: rate**time,
    "inverse_time": lambda rate, time: 1 / (1 + rate * time),
    "adaptive": lambda rate, time: 1.0,  # it falls by errors, see Trainer
}


OPTIMIZERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}


def rate_at(part: Any, epoch: float) -> float:
    """Return the learning rate of a network part after ``epoch`` epochs, which may be a fraction.

    Examples
    --------
    >>> from treerank import MLP
    >>> part = MLP(learning_rate=0.1, decay="step", decay_rate=0.5, decay_epochs=10)
    >>> rate_at(part, 9.9), rate_at(part, 10.0), rate_at(part, 25.0)
    (0.1, 0.05, 0.025)
    """
    return part.learning_rate * DECAYS[part.decay](part.decay_rate, epoch / part.decay_epochs)


def averaged(model: ScoredNetwork) -> AveragedModel:
    """Return the average of the weights of a model over its steps, of which there are none yet.

    The weight of a step is proportional to its number.

    References
    ----------
    O. Shamir, T. Zhang: Stochastic gradient descent for non-smooth optimization: convergence
    results and optimal averaging schemes. ICML 2013 (section 4, with eta = 1).
    """
    return AveragedModel(model, avg_fn=lambda mean, last, n: mean.lerp(last, 2 / (n + 2)))


@dataclass
class Trainer:
    """Gradient descent on an objective, epoch by epoch, by the settings of a ``NetworkPart``.

    Attributes
    ----------
    model : ScoredNetwork
        The network.
    optimizer : torch.optim.Optimizer
        Method of gradient descent.
    part : NetworkPart
        The settings.
    unit : float
        Gradients are divided by it: the value of the objective per document at the start. So a
        learning rate means the same for every objective.
    seed : int
        Seed of the batches.
    n_rises : int
        Number of epochs in which the value of the objective, summed over the batches while they
        were trained on, was greater than in the epoch before; counted only for
        ``decay="adaptive"``.
    error : float
        Value of the last epoch.
    average : AveragedModel or None
        The average of the weights over all steps, see :func:`averaged`; if there is one, it is the
        model that a fit returns.

    Examples
    --------
    >>> from treerank.feature_parts.networks.mlp import MLP
    >>> from treerank.objectives import make_objective
    >>> X, objective = torch.tensor([[1.0], [0.0]]), make_objective([1, 0])
    >>> model = ScoredNetwork(torch.nn.Linear(1, 1, bias=False), n_outputs=1)
    >>> before = model.network.weight.item()
    >>> optimizer = torch.optim.Adam(model.parameters())
    >>> trainer = Trainer(model, optimizer, MLP(learning_rate=0.1), unit=1.0, seed=0)
    >>> trainer.run_epoch(X, objective, epoch=0)
    >>> round(model.network.weight.item() - before, 3)
    0.1
    """

    model: ScoredNetwork
    optimizer: torch.optim.Optimizer
    part: Any
    unit: float
    seed: int
    n_rises: int = 0
    error: float = math.inf
    average: AveragedModel | None = None

    @property
    def result(self) -> torch.nn.Module:
        """The model that a fit returns: the average over the steps, or as the last step left it."""
        return self.model if self.average is None else self.average.module

    def run_epoch(self, X: torch.Tensor, objective: Objective, epoch: int) -> None:
        """Take the steps of one epoch, in which every document is in one batch."""
        part = self.part
        objective = as_objective(objective).for_epoch(lambda: scores_of(self.model, X))
        self.model.train()
        rng = np.random.default_rng([self.seed, epoch])
        n_steps, error = -(-len(X) // part.batch_size), 0.0
        for step, batch in enumerate(query_batches(objective, part.batch_size, rng)):
            rate = rate_at(part, epoch + min(1.0, step / n_steps))
            self.optimizer.param_groups[0]["lr"] = rate * part.decay_rate**self.n_rises
            error += self._take_step(X, batch, epoch * n_steps + step)
        self.n_rises += error > self.error
        self.error = error

    def score(self, X: torch.Tensor) -> np.ndarray:
        """Return the scores of the model that a fit returns."""
        return scores_of(self.result, X)

    def _take_step(self, X, batch, iteration):
        """Take a step on a batch; return the value of the objective before it.

        The value is computed only for ``decay="adaptive"``, and otherwise 0.
        """
        # Objectives of one output take scores without a second axis.
        scores = self.model(X[torch.from_numpy(batch.rows).to(X.device)]).squeeze(1)
        score_array = scores.detach().cpu().double().numpy()
        value = 0.0
        if self.part.decay == "adaptive":
            value, derivative, _ = batch.objective(score_array, iteration=iteration)
        else:  # the value of the objective would take longer
            derivative, _ = batch.objective.derivatives(score_array, iteration=iteration)
        gradient = torch.as_tensor(derivative).to(scores)
        if not torch.isfinite(gradient).all():
            self._refuse_infinity(scores, batch.objective, iteration)
        if not gradient.any():  # no pair in the batch: Adam's momentum must not move the weights
            return value
        self.optimizer.zero_grad()
        scores.backward(gradient / (self.unit * len(batch.rows)))
        self.optimizer.step()
        if self.average is not None:
            self.average.update_parameters(self.model)
        return value

    def _refuse_infinity(self, scores, objective, iteration):
        """Raise an error that names the cause of an infinite gradient: scores or objective."""
        if not torch.isfinite(scores).all():
            if iteration == 0 and hasattr(self.part, "build"):  # no step has been taken yet
                wrong = scores.detach()[~torch.isfinite(scores)]
                raise ValueError(
                    "build must return a module whose outputs are finite before it is trained; got "
                    f"{quote(float(wrong[0]))} from {quote(self.part)}."
                )
            raise ValueError(
                "learning_rate must be low enough for scores to stay finite; "
                f"got {quote(self.part.learning_rate)}."
            )
        hint = " Lower learning_rate?" if iteration > 0 else ""
        raise ValueError(
            "gradient must be finite in single precision; got an infinite one from "
            f"{as_objective(objective).name} in iteration {iteration}.{hint}"
        )


def first_equal_rows(X: torch.Tensor) -> np.ndarray:
    """Return, for each row, the first row that is equal to it.

    Kernels of matrix products round the rows of a matrix differently, so equal documents may get
    different scores in single precision. With the score of the first one, they are tied, as they
    are in ``predict``.

    Examples
    --------
    >>> first_equal_rows(torch.tensor([[1.0], [2.0], [1.0]]))
    array([0, 1, 0])
    """
    _, first, code = np.unique(row_hashes(X.cpu().numpy()), return_index=True, return_inverse=True)
    return first[code]


def scores_of(model: torch.nn.Module, X: torch.Tensor) -> np.ndarray:
    """Return scores in single precision, as training computes them, and without dropout."""
    model.eval()
    with torch.inference_mode():
        scores = torch.cat([model(rows) for rows in X.split(_ROWS)])
    return scores.cpu().double().numpy()[:, 0]


def objective_unit(objective: Objective, batch_size: int, seed: int) -> float:
    """Return the value of an objective per document at scores of zero, from some batches.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> objective_unit(make_objective([2, 1, 0], loss="half_squared"), 3, 0)
    0.5
    """
    rng = np.random.default_rng(seed)
    total, n_documents = 0.0, 0
    for number, batch in enumerate(query_batches(objective, batch_size, rng)):
        value, gradient, _ = batch.objective(np.zeros(len(batch.rows)))
        if gradient.any():
            total, n_documents = total + abs(value), n_documents + len(batch.rows)
        if number >= _UNIT_BATCHES and total > 0:
            break
    return total / n_documents if total > 0 else 1.0


#: All threads share torch's default type and generator: one of them builds or trains at a time.
_SETTINGS = threading.RLock()


def _unlock_settings():
    """Make a new lock in a forked process, which no thread of it would release."""
    global _SETTINGS
    _SETTINGS = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_settings)


@contextmanager
def own_modes() -> Iterator[None]:
    """Context in which torch computes gradients on the CPU, whatever was set outside."""
    on_cpu = torch.get_default_device() == torch.device("cpu")
    device = nullcontext() if on_cpu else torch.device("cpu")  # a device slows down each call
    with device, torch.inference_mode(False), torch.enable_grad():
        yield


@contextmanager
def own_settings(seed: int, device: torch.device) -> Iterator[None]:
    """Context with single precision by default, and torch's generator seeded; restores both.

    Modules draw from this generator. All threads share both settings, so they wait here for each
    other.
    """
    devices = [device] if device.type == "cuda" else []
    with _SETTINGS, torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(before)


@contextmanager
def one_thread() -> Iterator[None]:
    """Context in which torch and kernels have one thread.

    Torch's sums depend on the number of threads.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with kernel_threads(1):
            yield
    finally:
        torch.set_num_threads(before)


def choose_device(device: str) -> torch.device:
    """Return the device of a name in ``DEVICES``; refuse "cuda" where there is no GPU.

    Examples
    --------
    >>> choose_device("cpu")
    device(type='cpu')
    """
    has_gpu = torch.cuda.is_available()
    if device == "cuda" and not has_gpu:
        raise ValueError("device must be 'cpu' or 'auto' where there is no GPU; got 'cuda'.")
    return torch.device("cuda" if has_gpu and device != "cpu" else "cpu")
