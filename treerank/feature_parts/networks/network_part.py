"""Network parts: feature parts that a torch network computes, trained down any objective.

A new one derives from :class:`NetworkPart`, names its own parameters in ``__init__``, passes the
rest on as ``**training``, and brings ``_make_network``. Everything else is here: standardized
inputs, batches, early stopping, continuation, model files.
"""

import copy
import math
import warnings
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

try:
    import torch
except ImportError as error:
    raise ImportError("Networks need torch: pip install treerank[torch]") from error

from treerank.checks import check_choice, check_count
from treerank.feature_parts.inherited_parameters import spell_out
from treerank.feature_parts.networks.standardization import Standardization
from treerank.feature_parts.networks.training import (
    DECAYS,
    OPTIMIZERS,
    Schedule,
    ScoredNetwork,
    Trainer,
    choose_device,
    objective_unit,
    one_thread,
    own_generator,
)
from treerank.feature_parts.rows import Rows, as_rows
from treerank.objectives.batches import BATCHES
from treerank.progress import Progress

#: Rows that a network may look at before it is trained.
_SAMPLE = 4096
#: Rows computed at a time, always so many: a product's last bits depend on the shape.
_BLOCK = 256
#: What a continued fit may have other than the fit before, of an optimizer's settings.
_OWN = ("weight_decay", "momentum")
_STATE = ("n_features_in_", "n_outputs_", "n_scores_", "best_iteration_", "evals_result_")


class NetworkPart(BaseEstimator):
    """A network trained down an objective: the training parameters of every such feature part.

    Training on a CPU takes one thread, and scores are computed in double precision, in blocks of
    equal size, and rounded to single precision: so the model and its scores do not depend on
    threads, on the order of rows, or on which documents are scored together.

    Ctrl-C ends a fit after its first epoch early, with a warning: the best weights so far are
    kept with ``early_stopping_rounds``, else those of the moment.

    Parameters
    ----------
    n_outputs : int, default=1
        Width of f(x). The weight of the head over several outputs is trained with them, and is
        ``head_weight_``. An objective of several outputs has as many as it needs.
    n_epochs : int, default=50
        How often each document is shown. With ``warm_start`` the number in all.
    batch_size : int, default=512
        Documents of a batch: whole queries, or pieces of those that are larger.
    batches : {"queries", "pairs"}, default="queries"
        Batches of queries with all of their pairs, or of pairs drawn at random.
    optimizer : {"adam", "adamw", "sgd"}, default="adam"
        What takes the steps.
    learning_rate : float, default=1e-3
        Length of the first steps; the objective is divided by its value per document at scores
        of zero, so that this means the same for every objective.
    decay : {None, "step", "exponential", "inverse_time"}, default=None
        How the learning rate falls: by the factor ``decay_rate`` after every ``decay_epochs``, the
        same but gradually, or by 1 / (1 + decay_rate * epoch / decay_epochs).
    decay_rate, decay_epochs : float, default=0.5 and 10
        See ``decay``.
    momentum : float, default=0.0
        Of "sgd".
    weight_decay : float, default=0.0
        L2 penalty; "adamw" decouples it from the gradient.
    gradient_clip : float, default=None
        Longest gradient.
    standardize : bool, default=True
        Shift and scale each feature to mean 0 and standard deviation 1 over the training rows.
        Missing values become 0 after that, the mean.
    early_stopping_rounds : int, default=None
        Stop after so many epochs without a better value on ``validation``, and go back to the
        weights of the best one.
    warm_start : bool, default=False
        Let ``fit`` go on where the last one ended.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to compute; "auto" takes a GPU if there is one.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is drawn, whatever the state of torch's own generator.

    Attributes
    ----------
    network_ : torch.nn.Module
        The network, from standardized features to f(x).
    head_weight_ : ndarray of shape (n_outputs,)
        Weight of each output in the score; only with several outputs of f and one of the
        objective.
    best_iteration_ : int
        Epochs kept.
    evals_result_ : dict
        ``{"validation": {name of the metric: values}}``, one value per epoch.
    n_features_in_, n_outputs_, n_scores_ : int
        Columns of X, of ``transform``, and outputs of the objective.
    """

    network_: torch.nn.Module
    _double_network: Any

    def __init__(
        self,
        *,
        n_outputs=1,
        n_epochs=50,
        batch_size=512,
        batches="queries",
        optimizer="adam",
        learning_rate=1e-3,
        decay=None,
        decay_rate=0.5,
        decay_epochs=10,
        momentum=0.0,
        weight_decay=0.0,
        gradient_clip=None,
        standardize=True,
        early_stopping_rounds=None,
        warm_start=False,
        device="auto",
        random_state=None,
    ):
        self.n_outputs = n_outputs
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.batches = batches
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.decay = decay
        self.decay_rate = decay_rate
        self.decay_epochs = decay_epochs
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.gradient_clip = gradient_clip
        self.standardize = standardize
        self.early_stopping_rounds = early_stopping_rounds
        self.warm_start = warm_start
        self.device = device
        self.random_state = random_state

    def __init_subclass__(cls, **kwargs):
        """Spell out ``**training`` in the signature, which is where scikit-learn reads it."""
        super().__init_subclass__(**kwargs)
        spell_out(cls)

    def _make_network(self, n_features, n_outputs, X_sample, generator):
        """Return a module that maps (n, n_features) to (n, n_outputs).

        ``X_sample`` is a tensor of standardized training rows to look at, None when a model file
        is read. What is drawn comes from ``generator``, a ``torch.Generator`` of the CPU. A
        method ``start_epoch(epoch, n_epochs)`` of the module is called before each epoch.
        """
        raise NotImplementedError

    def fit(self, X, objective, *, validation=None):
        """Train; row ``i`` of ``X`` earns score ``i`` of ``objective``.

        Parameters
        ----------
        X : ndarray of shape (n_documents, n_features) or Rows
            Features; missing values are NaN.
        objective : Objective
            Asked for ``derivatives(scores, iteration=t)`` of batches of rows.
        validation : tuple (X, metric), default=None
            ``metric(scores)``, higher better, is taken after every epoch.
        """
        rows = as_rows(X)
        self._check_parameters(validation)
        if not (self.warm_start and hasattr(self, "network_")):
            self._start(rows, objective)
        n_done = self._n_epochs_done
        if self.n_epochs < n_done:
            raise ValueError(
                f"n_epochs must be at least {n_done}, the epochs done already, with "
                f"warm_start=True; got {self.n_epochs!r}."
            )
        return self._train(rows, objective, validation, self.n_epochs - n_done)

    def partial_fit(self, X, objective, *, validation=None):
        """Train for one epoch more, on these rows; the first call settles the standardization."""
        rows = as_rows(X)
        self._check_parameters(validation)
        if not hasattr(self, "network_"):
            self._start(rows, objective)
        return self._train(rows, objective, validation, 1)

    def transform(self, X):
        """Return f(x), of shape (n_documents, n_outputs_)."""
        check_is_fitted(self)
        rows = self._rows_of_width(X)
        if self._double_network is None:
            self._double_network = copy.deepcopy(self.network_).cpu().double().eval()
        if len(rows) == 0:
            return np.zeros((0, self.n_outputs_))
        with one_thread(), torch.inference_mode():
            parts = [
                self._evaluate(rows.batch(start, start + _BLOCK))
                for start in range(0, len(rows), _BLOCK)
            ]
        return np.concatenate(parts)

    @property
    def head_weight_(self):
        """Weight of each output in the score, trained with them."""
        if getattr(self, "_model", None) is None or self._model.head is None:
            raise AttributeError("head_weight_ is there after fit with n_outputs > 1 only.")
        return self._model.head.detach().cpu().double().numpy()

    def get_state(self):
        """Return the fitted state: all weights as arrays, and a few numbers."""
        check_is_fitted(self)
        weights = {name: t.cpu().numpy().copy() for name, t in self._model.state_dict().items()}
        inputs = {"mean": self._standardization.mean, "scale": self._standardization.scale}
        going_on = {"seed": self._seed, "unit": self._unit}
        return {"weights": weights, **inputs, **going_on, **{n: getattr(self, n) for n in _STATE}}

    def set_state(self, state):
        """Restore what :meth:`get_state` returned; training goes on with a new optimizer."""
        for name in _STATE:
            setattr(self, name, state[name])
        self._seed, self._unit = state["seed"], state["unit"]
        self._standardization = Standardization(state["mean"], state["scale"])
        self._build(None, seed=0)
        weights = {name: torch.as_tensor(values) for name, values in state["weights"].items()}
        self._model.load_state_dict(weights)
        self._n_epochs_done, self._optimizer_state = self.best_iteration_, None
        return self

    def __sklearn_is_fitted__(self):
        """Tell scikit-learn whether there is a network."""
        return hasattr(self, "network_")

    def _start(self, rows, objective):
        """Settle everything that training goes on from."""
        self.n_features_in_, self.n_scores_ = rows.shape[1], objective.n_outputs
        self.n_outputs_ = self.n_scores_ if self.n_scores_ > 1 else self.n_outputs
        measure = Standardization.of(rows) if self.standardize else None
        self._standardization = measure or Standardization.none(rows.shape[1])
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        sample = Rows(rows.batch(0, _SAMPLE))
        self._build(torch.from_numpy(self._standardization(sample)), self._seed)
        self._unit = objective_unit(objective, self.batches, self.batch_size, self._seed)
        self._n_epochs_done, self._optimizer_state, self.evals_result_ = 0, None, {}

    def _build(self, sample, seed):
        generator = torch.Generator().manual_seed(seed)
        with own_generator(seed, torch.device("cpu")), one_thread():
            network = self._make_network(self.n_features_in_, self.n_outputs_, sample, generator)
        self._model = ScoredNetwork(network, self.n_outputs_, self.n_scores_)
        self.network_, self._double_network = network, None

    def _train(self, rows, objective, validation, n_epochs):
        if objective.n_outputs != self.n_scores_:
            raise ValueError(
                f"objective must have {self.n_scores_} outputs, as in the earlier fit; "
                f"got {objective.n_outputs}."
            )
        device = choose_device(self.device)
        X = torch.from_numpy(self._standardization(self._rows_of_width(rows))).to(device)
        held_out = None
        if validation is not None:
            standard = self._standardization(self._rows_of_width(validation[0]))
            held_out = torch.from_numpy(standard).to(device)
        start, stop = self._n_epochs_done, self._n_epochs_done + n_epochs
        metric, rounds = validation and validation[1], self.early_stopping_rounds
        progress = Progress(metric, rounds, start, stop)
        trainer = self._make_trainer(device)
        best, n_done = None, start
        with own_generator(self._seed, device), one_thread():
            try:
                for epoch in range(start, stop):
                    torch.manual_seed(self._seed + 2**31 * epoch)  # epochs draw alike in any fit
                    trainer.run_epoch(X, objective, epoch, max(stop, self.n_epochs))
                    n_done, enough = epoch + 1, self._look(held_out, progress, epoch + 1)
                    if progress.kept() == n_done:
                        best = copy.deepcopy(self._model.state_dict())
                    if enough:
                        break
            except KeyboardInterrupt:
                if n_done == start:
                    raise
                _warn_of_interruption(n_done, progress.kept())
        return self._remember(trainer, progress, best, n_done)

    def _look(self, held_out, progress, n_done):
        if held_out is not None:
            progress.measure(self._score_single(held_out))
        return progress.record(n_done)

    def _score_single(self, X):
        """Return scores in single precision, as training sees them."""
        self._model.eval()
        with torch.inference_mode():
            scores = torch.cat([self._model(part) for part in X.split(_SAMPLE)])
        values = scores.cpu().double().numpy()
        return values[:, 0] if self.n_scores_ == 1 else values

    def _make_trainer(self, device):
        self._model.to(device)
        parameters = [p for p in self._model.parameters() if p.requires_grad]
        optimizer = OPTIMIZERS[self.optimizer](parameters, self.weight_decay, self.momentum)
        name, state = self._optimizer_state or (None, None)
        if name == self.optimizer:  # what another one remembers is of no use
            settings = {k: optimizer.param_groups[0][k] for k in _OWN if k in optimizer.defaults}
            optimizer.load_state_dict(state)
            optimizer.param_groups[0].update(settings)
        schedule = Schedule(self.learning_rate, self.decay, self.decay_rate, self.decay_epochs)
        return Trainer(
            model=self._model,
            optimizer=optimizer,
            schedule=schedule,
            batches=self.batches,
            batch_size=self.batch_size,
            gradient_clip=self.gradient_clip,
            unit=self._unit,
            seed=self._seed,
        )

    def _remember(self, trainer, progress, best, n_done):
        kept = progress.kept()
        if best is not None:
            self._model.load_state_dict(best)
        self._n_epochs_done = self.best_iteration_ = n_done if kept is None else kept
        earlier = self.evals_result_.get("validation", {}).get(progress.name, [])
        if progress.metric is not None:
            self.evals_result_ = {"validation": {progress.name: earlier + progress.values}}
        self._optimizer_state = self.optimizer, trainer.optimizer.state_dict()
        self._model.to("cpu")
        self._model.eval()
        self._double_network = None
        return self

    def _evaluate(self, values):
        """Return f of a block of rows, filled up to its full size."""
        block = np.zeros((_BLOCK, values.shape[1]))
        block[: len(values)] = self._standardization(Rows(values), np.float64)
        outputs = self._double_network(torch.from_numpy(block))
        return outputs[: len(values)].float().double().numpy()

    def _rows_of_width(self, X):
        rows = as_rows(X)
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(f"X must have {self.n_features_in_} features; got {rows.shape[1]}.")
        return rows

    def _check_parameters(self, validation):
        for name in ("n_outputs", "n_epochs", "batch_size"):
            check_count(name, getattr(self, name))
        if self.batch_size == 1:  # nothing would ever be learned, without a word
            raise ValueError("batch_size must be at least 2, which makes a pair; got 1.")
        for name in ("learning_rate", "decay_rate", "decay_epochs"):
            _check_real(name, getattr(self, name), positive=True)
        for name in ("momentum", "weight_decay"):
            _check_real(name, getattr(self, name))
        if self.gradient_clip is not None:
            _check_real("gradient_clip", self.gradient_clip, positive=True)
        check_choice("batches", self.batches, BATCHES)
        check_choice("optimizer", self.optimizer, OPTIMIZERS)
        if self.decay is not None:
            check_choice("decay", self.decay, [name for name in DECAYS if name])
        choose_device(self.device)
        if self.early_stopping_rounds is not None:
            check_count("early_stopping_rounds", self.early_stopping_rounds)
            if validation is None:
                raise ValueError(
                    "validation must be given where early_stopping_rounds is; got None."
                )


def _warn_of_interruption(n_done, kept):
    weights = "of the moment" if kept is None else f"of epoch {kept}"
    warnings.warn(
        f"Training was interrupted after {n_done} epochs; the weights are those {weights}.",
        UserWarning,
        stacklevel=4,
    )


def _check_real(name, value, *, positive=False):
    ok = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not ok or value < 0 or (positive and value == 0):
        allowed = "a positive number" if positive else "a number of at least 0"
        raise ValueError(f"{name} must be {allowed}; got {value!r}.")
