"""Training: batches, steps and epochs that take a network down an objective.

A network here is a :class:`ScoredNetwork`: what maps documents to outputs, and a bias-free head
over them if there are several, trained with it. All that is random is keyed by seed and epoch, so
that a continued fit is the same as one long fit, and torch's global generator is left alone. To
add an optimizer or a decay, list it in ``OPTIMIZERS`` or ``DECAYS``.
"""

import math
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from treerank.feature_parts.networks.objective_function import score_gradient
from treerank.numerics.threads import kernel_threads
from treerank.objectives.batches import BATCHES

#: Batches after the first that the unit of an objective is taken from.
_UNIT_BATCHES = 16


class ScoredNetwork(torch.nn.Module):
    """A network and, over several outputs, a head of one weight each.

    Parameters
    ----------
    network : torch.nn.Module
        Maps (n_documents, n_features) to (n_documents, n_outputs).
    n_outputs : int
        Outputs of the network.
    n_scores : int
        Outputs of the objective: 1 puts a head over several outputs of the network.
    """

    def __init__(self, network, n_outputs, n_scores):
        super().__init__()
        self.network = network
        self.head = None
        if n_scores == 1 and n_outputs > 1:
            # As for an average over the outputs of a network whose weights start at random.
            weight = torch.full((n_outputs,), n_outputs**-0.5)
            self.head = torch.nn.Parameter(weight)

    def forward(self, X):
        """Return one score per document and output of the objective."""
        outputs = self.network(X)
        return outputs if self.head is None else (outputs @ self.head).unsqueeze(1)


@dataclass(frozen=True)
class Schedule:
    """Learning rate over time.

    Attributes
    ----------
    learning_rate : float
        At the start.
    decay : {None, "step", "exponential", "inverse_time"}
        How it falls.
    decay_rate : float
        Factor of "step" and "exponential"; weight of time for "inverse_time".
    decay_epochs : float
        Unit of time.

    Examples
    --------
    >>> schedule = Schedule(0.1, "step", 0.5, 10)
    >>> schedule.at(9.9), schedule.at(10.0), schedule.at(25.0)
    (0.1, 0.05, 0.025)
    """

    learning_rate: float
    decay: str | None = None
    decay_rate: float = 0.5
    decay_epochs: float = 10

    def at(self, epoch):
        """Return the rate after so many epochs and parts of one."""
        return self.learning_rate * DECAYS[self.decay](self.decay_rate, epoch / self.decay_epochs)


DECAYS = {
    None: lambda rate, time: 1.0,
    "step": lambda rate, time: rate ** math.floor(time),
    "exponential": lambda rate, time: rate**time,
    "inverse_time": lambda rate, time: 1 / (1 + rate * time),
}


def _adam(parameters, weight_decay, momentum):
    return torch.optim.Adam(parameters, weight_decay=weight_decay, fused=True)


def _adamw(parameters, weight_decay, momentum):
    return torch.optim.AdamW(parameters, weight_decay=weight_decay, fused=True)


def _sgd(parameters, weight_decay, momentum):
    return torch.optim.SGD(parameters, weight_decay=weight_decay, momentum=momentum, fused=True)


OPTIMIZERS = {"adam": _adam, "adamw": _adamw, "sgd": _sgd}


@dataclass
class Trainer:
    """What takes steps.

    Attributes
    ----------
    model : ScoredNetwork
        What is trained.
    optimizer : torch.optim.Optimizer
        What turns gradients into steps.
    schedule : Schedule
        Learning rates.
    batches : {"queries", "pairs"}
        See :mod:`treerank.objectives.batches`.
    batch_size : int
        Documents of a batch.
    gradient_clip : float or None
        Longest gradient, in the objective's unit.
    unit : float
        What the objective costs per document at the start; gradients are taken in this unit, so
        that learning rates mean the same for every objective.
    seed : int
        Key of all that is drawn.
    """

    model: ScoredNetwork
    optimizer: torch.optim.Optimizer
    schedule: Schedule
    batches: str
    batch_size: int
    gradient_clip: float | None
    unit: float
    seed: int

    def run_epoch(self, X, objective, epoch, n_epochs):
        """Show every document about once."""
        if hasattr(self.model.network, "start_epoch"):
            self.model.network.start_epoch(epoch, n_epochs)
        self.model.train()
        rng = np.random.default_rng([self.seed, epoch])
        n_steps = -(-len(X) // self.batch_size)
        for step, batch in enumerate(BATCHES[self.batches](objective, self.batch_size, rng)):
            self._set_learning_rate(self.schedule.at(epoch + min(1.0, step / n_steps)))
            self._take_step(X, batch, epoch * n_steps + step)

    def _take_step(self, X, batch, iteration):
        # Where there is one score per document, objectives want it without a second axis.
        scores = self.model(X[torch.from_numpy(batch.rows).to(X.device)]).squeeze(1)
        gradient = score_gradient(scores, batch.objective, iteration)
        if not torch.isfinite(gradient).all():
            raise ValueError(
                "learning_rate must be low enough for scores to stay finite; "
                f"got {self.schedule.learning_rate!r}."
            )
        if not gradient.any():  # no pair in the batch: Adam's memory must not move the weights
            return
        self.optimizer.zero_grad()
        scores.backward(gradient / (self.unit * len(batch.rows)))
        if self.gradient_clip is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.gradient_clip)
        self.optimizer.step()

    def _set_learning_rate(self, learning_rate):
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate


def objective_unit(objective, batches, batch_size, seed):
    """Return what the objective costs per document while all scores are equal.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> objective_unit(make_objective([2, 1, 0], loss="half_squared"), "queries", 3, 0)
    0.5
    """
    rng = np.random.default_rng(seed)
    total, n_documents = 0.0, 0
    for number, batch in enumerate(BATCHES[batches](objective, batch_size, rng)):
        n_rows, n_outputs = len(batch.rows), objective.n_outputs
        value, gradient, _ = batch.objective(
            np.zeros(n_rows if n_outputs == 1 else (n_rows, n_outputs))
        )
        if gradient.any():
            total, n_documents = total + abs(value), n_documents + n_rows
        if number >= _UNIT_BATCHES and total > 0:
            break
    return total / n_documents if total > 0 else 1.0


@contextmanager
def one_thread():
    """Give torch one thread, since its sums depend on how many there are, and kernels as well."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with kernel_threads(1):
            yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def own_generator(seed, device):
    """Seed torch for a while, for modules that draw from its global generator."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


def choose_device(device):
    """Return the device of a name; one that is not there is an error.

    Examples
    --------
    >>> choose_device("cpu")
    device(type='cpu')
    """
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device must be one of ['auto', 'cpu', 'cuda']; got {device!r}.")
    there = torch.cuda.is_available()
    if device == "cuda" and not there:
        raise ValueError("device must be 'cpu' or 'auto' where there is no GPU; got 'cuda'.")
    return torch.device("cuda" if there and device != "cpu" else "cpu")
