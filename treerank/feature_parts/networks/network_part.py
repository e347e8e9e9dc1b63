"""Network part: a feature part computed by a torch network and trained on any objective.

To add one, derive a dataclass from :class:`NetworkPart`, as ``MLP`` does. Its fields are its own
parameters, or parameters of :class:`NetworkPart` with another default. Its method
``_make_network`` makes the network. Everything else is here: standardized inputs, batches, early
stopping, the state in model files.
"""

import copy
from dataclasses import field
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from treerank.all_or_nothing import all_or_nothing
from treerank.checks import check_count, check_number, quote, warn_user
from treerank.documents.rows import Rows
from treerank.feature_parts.base import Validation, check_validation
from treerank.feature_parts.components import Components, no_trees
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.indicators import IndicatorColumns
from treerank.feature_parts.network_component import Network
from treerank.feature_parts.networks import training
from treerank.feature_parts.networks.layers import layers_of
from treerank.feature_parts.networks.limits import KEPT, STATE_RULES, Units, checked_weights
from treerank.feature_parts.rows import as_rows
from treerank.feature_parts.standardization import Standardization
from treerank.files.states import check_state, unshared
from treerank.objectives.base import Objective, as_objective
from treerank.parameters import (
    Auto,
    Count,
    LearningRate,
    NotNegative,
    Rule,
    Seed,
    check_parameters,
    is_given,
)
from treerank.progress import Progress, patience_of

#: Number of rows that a network may look at before it is trained.
_SAMPLE = 4096
#: Number of rows computed at a time. It is fixed: a product's last bits depend on its shape.
_BLOCK = 256


@estimator(kw_only=True)
class NetworkPart(BaseEstimator):
    """A network trained on an objective, with the parameters of training.

    Each feature is shifted and scaled to mean 0 and standard deviation 1 over the training rows.
    Missing values become 0 after that, the mean. Before, a column of categories becomes a column of
    zeros and ones for each of them, behind the columns of numbers.

    Training on a CPU takes one thread. Scores are computed in double precision, in blocks of
    equal size, and rounded to single precision. So the model and its scores do not depend on the
    number of threads, on the order of rows, or on which documents are scored together.

    A callback of a ranker's ``fit`` that returns True ends a fit early, after a whole epoch.

    Parameters
    ----------
    n_outputs : int, default=1
        Width of f(x). The weights of several outputs in the score are trained with them and are
        ``head_weight_``.
    n_epochs : int, default=50
        How often each document is shown.
    batch_size : int, default=512
        Documents of a batch: whole queries, or pieces of larger queries.
    optimizer : {"adam", "adamw", "sgd"}, default="adam"
        Method of gradient descent.
    learning_rate : float, default=0.001
        Length of the first steps. The objective is divided by its value per document at scores
        of zero, so that a learning rate means the same for every objective.
    decay : {None, "step", "exponential", "inverse_time", "adaptive"}, default=None
        How the learning rate falls: "step" multiplies it by ``decay_rate`` after every
        ``decay_epochs``, "exponential" does so gradually, "inverse_time" divides it by
        1 + decay_rate * epoch / decay_epochs. "adaptive" multiplies it by ``decay_rate`` after
        every epoch whose mean loss was greater than in the epoch before, as the RankNet paper does.
    decay_rate : float, default=0.5
        See ``decay``.
    decay_epochs : float, default=10
        See ``decay``.
    momentum : float, default=0.0
        Momentum of "sgd".
    weight_decay : float, default=0.0
        L2 penalty on the weights; "adamw" decouples it from the gradient.
    early_stopping_rounds : int, "auto" or None, default="auto"
        Number of epochs without a better value on ``validation`` after which training stops. The
        weights of the best epoch are kept. "auto" keeps the best of all, with ``validation``. None
        keeps the last.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to train; "auto" takes a GPU if there is one.
    random_state : int, RandomState instance or None, default=None
        Seed of all random numbers. The state of torch's own generator does not matter.

    Attributes
    ----------
    network_ : torch.nn.Module
        The network, from standardized features to f(x).
    head_weight_ : ndarray of shape (n_outputs,)
        Weight of each output in the score; only with several outputs.
    best_iteration_ : int
        Number of epochs kept.
    evals_result_ : dict
        ``{"validation": {name of the metric: values}}``, one value per epoch.
    n_features_in_, n_outputs_ : int
        Number of columns of ``X`` and of ``transform``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(eq=False, repr=False, kw_only=True)
    ... class Bilinear(NetworkPart):
    ...     rank: int = 2
    ...     learning_rate: float = 0.1
    ...
    ...     def _make_network(self, n_features, n_outputs, X_sample, generator):
    ...         inner = torch.nn.Linear(n_features, self.rank)
    ...         return torch.nn.Sequential(inner, torch.nn.Linear(self.rank, n_outputs))
    >>> from treerank.objectives import make_objective
    >>> X = np.array([[1.0, 0.0], [0.0, 0.1], [1.0, 0.3]])
    >>> part = Bilinear(random_state=0).fit(X, make_objective([1, 0, 1]))
    >>> part.transform(X).argmin()
    np.int64(1)
    """

    accepts_rows: ClassVar[bool] = True

    n_outputs: Units = 1
    n_epochs: Count = 50
    # A single document makes no pair.
    batch_size: Annotated[int, Rule(check_count, at_least=2, at_most=2**31 - 1)] = 512
    optimizer: Annotated[str, Rule.one_of(training.OPTIMIZERS)] = "adam"
    learning_rate: LearningRate = 1e-3
    decay: Annotated[str | None, Rule.one_of(training.DECAYS)] = None
    decay_rate: LearningRate = 0.5
    decay_epochs: LearningRate = 10
    momentum: Annotated[float, Rule(check_number, at_least=0, below=1)] = 0.0
    weight_decay: NotNegative = 0.0
    early_stopping_rounds: Auto | Count | None = "auto"
    device: Annotated[str, Rule.one_of(training.DEVICES)] = "auto"
    random_state: Seed = None

    network_: torch.nn.Module = field(init=False)
    best_iteration_: int = field(init=False)
    evals_result_: dict[str, dict[str, list[float]]] = field(init=False)
    _columns: IndicatorColumns = field(init=False)
    _model: training.ScoredNetwork = field(init=False)
    _double_network: torch.nn.Module | None = field(init=False)

    def _make_network(self, n_features, n_outputs, X_sample, generator):
        """Return a new module that maps a tensor (n, n_features) to (n, n_outputs).

        ``X_sample`` is a tensor of standardized training rows, or None when a model file is read.
        Random numbers come from ``generator``, a ``torch.Generator`` of the CPU.
        """
        raise NotImplementedError

    @all_or_nothing
    @training.own_modes()
    def fit(self, X: Any, objective: Objective, *, validation: Validation | None = None) -> Self:
        """Train; row ``i`` of ``X`` gets score ``i`` of ``objective``.

        The metric of ``validation`` is computed after every epoch.
        """
        objective, rows = as_objective(objective), as_rows(X)
        self._check(objective, validation)
        if len(rows) != (n := objective.groups.n_documents):
            raise ValueError(f"X must have {n} rows, one per document; got {len(rows)}.")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.n_features_in_, self.n_outputs_ = rows.shape[1], self.n_outputs
        self._columns = IndicatorColumns.of(rows, self)
        inputs = self._inputs(rows)
        self._standardization = Standardization.of(inputs)
        sample = Rows(inputs.batch(0, _SAMPLE))
        self._build(torch.from_numpy(self._standardization(sample)), seed)
        return self._train(rows, objective, validation, seed)

    def transform(self, X: Any) -> np.ndarray:
        """Return f(x), of shape (n_documents, n_outputs_)."""
        check_is_fitted(self)
        rows = self._inputs(as_rows(X, self.n_features_in_))
        if self._double_network is None:
            self._double_network = copy.deepcopy(self.network_).cpu().double().eval()
        with training.one_thread(), torch.inference_mode():
            blocks = [rows.batch(start, start + _BLOCK) for start in range(0, len(rows), _BLOCK)]
            parts = [self._evaluate(self._double_network, block) for block in blocks]
        return np.concatenate([np.zeros((0, self.n_outputs_)), *parts])

    def components(self, weight: np.ndarray) -> Components:
        """Return the network with a weight for each output; refuse one with categories."""
        check_is_fitted(self)
        if self._columns.n_categories:
            raise ValueError(
                f"X must have no categories for the formula of {quote(self)}; got categories in "
                f"columns {quote([*self._columns.n_categories])}. Encode them before, or take "
                "trees."
            )
        inputs = self._standardization
        layers = tuple(layers_of(self.network_))
        network = Network(inputs.mean, 1 / inputs.scale, layers, np.asarray(weight))
        return Components(no_trees(self.n_features_in_), networks=(network,))

    def expected_components(self, documents: Rows) -> Components:
        """Return the network before it is trained on such documents; refuse categories."""
        return clone(self)._untrained_components(documents)

    def _untrained_components(self, documents: Rows) -> Components:
        """Return the network before it is trained, of a part that is used for nothing else."""
        self.n_features_in_, self.n_outputs_ = documents.shape[1], self.n_outputs
        self._columns = IndicatorColumns.of(documents, self)
        zeros = np.zeros(documents.shape[1])
        self._standardization = Standardization(zeros, zeros + 1)
        if not self._columns.n_categories:  # else components refuses them
            sample = Rows(np.zeros((2, documents.shape[1])))
            self._build(torch.from_numpy(self._standardization(sample)), seed=0)
        return self.components(np.ones(self.n_outputs_))

    @property
    def head_weight_(self) -> np.ndarray:
        """Weight of each output in the score, trained with the outputs."""
        if "network_" not in vars(self) or self._model.head is None:
            raise AttributeError("head_weight_ is there after fit with n_outputs > 1 only.")
        return self._model.head.detach().cpu().double().numpy()

    def get_state(self) -> dict[str, Any]:
        """Return what ``fit`` has learned: all weights as arrays, and a few numbers."""
        check_is_fitted(self)
        weights = {name: t.cpu().numpy() for name, t in self._model.state_dict().items()}
        kept = {name: getattr(self, name) for name in KEPT}
        kept["n_features_in_"] = len(self._standardization.mean)
        n_categories = {"n_categories": dict(self._columns.n_categories)}
        return unshared({"weights": weights} | vars(self._standardization) | kept | n_categories)

    @training.own_modes()
    def set_state(self, state: dict[str, Any]) -> Self:
        """Restore what :meth:`get_state` returned, and refuse anything else."""
        check_parameters(self)
        check_state({name: state[name] for name in STATE_RULES}, STATE_RULES)
        for name in KEPT:
            setattr(self, name, state[name])
        self._columns = IndicatorColumns.of_state(
            state.get("n_categories", {}), self.n_features_in_
        )
        self.n_features_in_ = self._columns.n_features(self.n_features_in_)
        self._standardization = Standardization(state["mean"], state["scale"])
        weights = self._checked_weights(state["weights"])
        self._build(None, seed=0)
        self._model.load_state_dict(weights)
        return self

    def _checked_weights(self, weights: Any) -> dict[str, torch.Tensor]:
        """Return the weights of a state as tensors; refuse those of another network."""
        return checked_weights(weights, self._expected_weights())

    def _expected_weights(self) -> dict[str, torch.Tensor]:
        """Return tensors of the names and shapes of the weights, without memory for the numbers."""
        with torch.device("meta"):
            self._build(None, seed=0)
        return self._model.state_dict()

    def _check(self, objective: Objective, validation: Validation | None) -> None:
        """Refuse wrong parameters, and an objective of several outputs."""
        check_parameters(self)
        if self.decay in ("step", "exponential", "adaptive"):
            check_number("decay_rate", self.decay_rate, at_most=1)
        for name, other in self.unread().items():
            if is_given(self, name):
                warn_user(
                    f"{name} must be left out for {other}={quote(getattr(self, other))}, which "
                    f"does not read it; got {quote(getattr(self, name))}."
                )
        check_validation(self, validation)
        training.choose_device(self.device)
        if objective.n_outputs > 1:
            raise ValueError(
                "objective must have a single output for a network; got "
                f"{objective.n_outputs}. Boosted trees take several."
            )

    def unread(self) -> dict[str, str]:
        """Return the settings that ``fit`` does not read, each with the setting that decides it.

        Settings may have any value, as before they are checked.
        """
        unread = {} if isinstance(self.decay, str) else {"decay_rate": "decay"}
        unread |= {"decay_epochs": "decay"} if str(self.decay) in ("None", "adaptive") else {}
        return unread | ({} if str(self.optimizer) == "sgd" else {"momentum": "optimizer"})

    def _build(self, sample: torch.Tensor | None, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        with training.own_settings(seed, torch.device("cpu")), training.one_thread():
            n_inputs = len(self._standardization.mean)
            network = self._make_network(n_inputs, self.n_outputs_, sample, generator)
        self._model = training.ScoredNetwork(network, self.n_outputs_)
        self.network_, self._double_network = network, None

    def _train(self, rows, objective, validation, seed):
        """Train on ``rows``.

        Keep the weights of the best epoch, or of the last without early stopping. ``validation`` is
        ``(rows, metric)`` or None.
        """
        device = training.choose_device(self.device)
        X = self._as_tensor(rows, device)
        held_out = None if validation is None else self._as_tensor(validation[0], device)
        first_equal = None if held_out is None else training.first_equal_rows(held_out)
        metric = validation and validation[1]
        patience = patience_of(self.early_stopping_rounds, metric, self.n_epochs)
        progress = Progress(metric, patience, total=self.n_epochs)
        trainer = self._make_trainer(objective, device, seed)
        best, n_done = None, 0
        with training.one_thread():
            for epoch in range(self.n_epochs):
                with training.own_settings(seed + 2**31 * epoch, device):
                    trainer.run_epoch(X, objective, epoch)
                    scores = None if held_out is None else trainer.score(held_out)[first_equal]
                n_done = epoch + 1
                if scores is not None:
                    progress.measure(scores)
                enough = progress.record(n_done)
                if progress.kept() == n_done:
                    best = copy.deepcopy(trainer.result.state_dict())
                if enough:
                    break
        self._model.load_state_dict(trainer.result.state_dict() if best is None else best)
        kept = progress.kept()
        self.best_iteration_ = n_done if kept is None else kept
        self.evals_result_ = progress.history()
        self._model.to("cpu").eval()
        return self

    def _make_trainer(self, objective, device, seed):
        unit = training.objective_unit(objective, self.batch_size, seed)
        self._model.to(device)
        parameters = [p for p in self._model.parameters() if p.requires_grad]
        options = {"momentum": self.momentum} if self.optimizer == "sgd" else {}
        options |= {"weight_decay": self.weight_decay, "fused": True}
        optimizer = training.OPTIMIZERS[self.optimizer](parameters, **options)
        return training.Trainer(self._model, optimizer, self, unit, seed)

    def _evaluate(self, network, values):
        """Return f(x) of at most 256 rows, computed as a block of exactly 256."""
        block = np.zeros((_BLOCK, values.shape[1]))
        block[: len(values)] = self._standardization(Rows(values), np.float64)
        outputs = network(torch.from_numpy(block))
        return outputs[: len(values)].float().double().numpy()

    def _as_tensor(self, X: Any, device: torch.device) -> torch.Tensor:
        inputs = self._inputs(as_rows(X, self.n_features_in_))
        return torch.from_numpy(self._standardization(inputs)).to(device)

    def _inputs(self, rows: Rows) -> Rows:
        """Return rows as the network takes them: categories one-hot, not yet standardized."""
        return Rows(self._columns(rows.array())) if self._columns.n_categories else rows
