"""Feature part of trees grown by LightGBM: documents and parameters as it reads them."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, ClassVar

import lightgbm
import numpy as np
from lightgbm.callback import EarlyStopException
from scipy.sparse import csr_matrix, issparse

from treerank.checks import check_count, quote, warn_user
from treerank.documents.rows import Rows
from treerank.feature_parts.base import Validation
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.trees.arguments import (
    check_engine_params,
    constraints_of,
    engine_names,
)
from treerank.feature_parts.trees.bin_sample import SAMPLE_SIZE
from treerank.feature_parts.trees.boosting import MOST, TREE_PARAMETERS, BoostedTrees, GrowthTask
from treerank.forests.forest import CodeRule, Forest
from treerank.forests.readers.lightgbm import read_lightgbm, trees_of_text
from treerank.forests.thresholds import LIGHTGBM_ZERO
from treerank.parameters import Auto, Options, Rule
from treerank.progress import Progress

#: Parameters of the tiny model that lists the names of all parameters.
_QUIET = {"verbosity": -1, "num_threads": 1, "feature_pre_filter": False}
#: Number of rows that LightGBM reads at a time.
_BATCH = 16_384
#: LightGBM treats numbers up to this magnitude as zero.
_ZERO = 1e-35
#: Parameters that LightGBM drops where it reads rows in batches.
_KEPT_PARAMETERS = ("num_threads", "verbosity")
#: Arguments of LightGBMTrees that are passed to LightGBM under the same name.
_SHARED = (*TREE_PARAMETERS, "min_child_samples", "subsample_freq")
#: Parameters of LightGBM that arguments or ``fit`` set, under its main names. ``boosting`` has its
#: other names, too: LightGBM reads some of its values as other parameters.
_OWN = (
    *("bagging_fraction", "bagging_freq", "boost", "boosting", "boosting_type"),
    *("categorical_feature", "data_random_seed", "early_stopping_round", "feature_fraction"),
    *("interaction_constraints", "lambda_l1", "lambda_l2", "linear_tree", "metric"),
    *("min_data_in_leaf", "min_gain_to_split", "min_sum_hessian_in_leaf", "monotone_constraints"),
    *("num_class", "num_iterations", "num_threads", "objective", "seed", "verbosity"),
)
#: Parameters of LightGBM, under its main names, of its objectives and metrics, of DART and linear
#: leaves, of training by several machines, of files of data, and of what happens after a fit.
_UNUSED = (
    *("alpha", "auc_mu_weights", "bagging_by_query", "boost_from_average", "data", "drop_rate"),
    *("drop_seed", "early_stopping_min_delta", "eval_at", "fair_c", "first_metric_only"),
    *("group_column", "header", "ignore_column", "is_unbalance", "label_column", "label_gain"),
    *("lambdarank_norm", "lambdarank_position_bias_regularization"),
    *("lambdarank_truncation_level", "linear_lambda", "local_listen_port"),
    *("machine_list_filename", "machines", "max_drop", "multi_error_top_k"),
    *("neg_bagging_fraction", "num_machines", "objective_seed", "parser_config_file"),
    *("poisson_max_delta_step", "pos_bagging_fraction", "pre_partition", "precise_float_parser"),
    *("refit_decay_rate", "reg_sqrt", "saved_feature_importance_type", "scale_pos_weight"),
    *("sigmoid", "skip_drop", "time_out", "top_k", "tree_learner", "tweedie_variance_power"),
    *("two_round", "uniform_drop", "valid", "weight_column", "xgboost_dart_mode"),
)
#: Parameters of LightGBM that name files, which it leaves out if they do not exist.
_FILES = ("forcedbins_filename", "forcedsplits_filename")


@estimator(kw_only=True)
class LightGBMTrees(BoostedTrees):
    """Boosted trees for any objective, grown by LightGBM.

    Parameters have LightGBM's names and defaults. The trees are the same, bit for bit, for any
    ``n_jobs``; see :mod:`treerank.feature_parts.trees.fixed_point`. With ``engine_params`` for GOSS
    or ``use_quantized_grad``, each thread of LightGBM draws random numbers of its own, so they
    depend on ``n_jobs``. ``X`` may be a sparse matrix: trees and scores are the same as for an
    array of the same numbers.

    All other parameters and attributes are as in
    :class:`~treerank.feature_parts.trees.boosting.BoostedTrees`.

    Parameters
    ----------
    min_child_samples : int or "auto", default="auto"
        Smallest number of documents in a leaf.
    subsample : float, default=1.0
        Share of documents drawn every ``subsample_freq`` iterations.
    subsample_freq : int, default=0
        Number of iterations between two draws of documents; 0 never draws.
    max_bin : int, default=255
        Largest number of bins of a feature. Bins are found from 50,000 rows, unlike LightGBM's
        own default of 200,000; ``engine_params={"bin_construct_sample_cnt": ...}`` changes it.
    warm_start : bool, default=False
        Whether ``fit`` adds trees to the previous fit. In a ranker, its own ``warm_start`` says so.
        If neither rows nor columns are drawn, a continued fit equals one long fit bit for bit. A
        continued fit copies X.
    engine_params : dict, default=None
        Further parameters of LightGBM, under any of their names. Names that are unknown or have no
        effect on trees are refused, such as ``label_gain``, and so is ``linear_tree``: leaves are
        numbers. ``{"data_sample_strategy": "goss"}`` is GOSS.

    Attributes
    ----------
    booster_ : lightgbm.Booster
        The trees. Do not change them: scores may come from a copy.

    Examples
    --------
    >>> import numpy as np
    >>> class HalfSquare:
    ...     n_outputs = 1
    ...
    ...     def derivatives(self, scores, *, iteration=0):
    ...         return scores - target, np.ones_like(scores)
    >>> X = np.arange(100.0).reshape(-1, 1)
    >>> target = (X[:, 0] > 50).astype(float)
    >>> part = LightGBMTrees(50, learning_rate=0.1, n_jobs=1).fit(X, HalfSquare())
    >>> part.transform(np.array([[20.0], [80.0]])).round(1)
    array([[0.],
           [1.]])
    """

    category_rule: ClassVar[CodeRule] = "truncated"
    rounding: ClassVar[str] = "LightGBM takes numbers up to 1e-35 in size for 0"
    settings_to_resume: ClassVar[dict[str, Any]] = {"subsample_freq": 1, "engine_params": None}

    num_leaves: Auto | Annotated[int, Rule(check_count, at_least=2, at_most=131072)] = "auto"
    min_child_samples: Auto | Annotated[int, Rule(check_count, at_least=0, at_most=MOST)] = "auto"
    subsample_freq: Annotated[int, Rule(check_count, at_least=0, at_most=MOST)] = 0
    engine_params: Options | None = None

    def grow(self, task: GrowthTask) -> lightgbm.Booster:
        """Return a booster with ``n_new`` more iterations than ``earlier``."""
        params, derivatives, progress = self._parameters(task), task.derivatives, task.progress
        data, held_out = self._datasets(task, params)
        callbacks = [progress_callback(progress, derivatives.n_outputs, self.dump_booster)]
        draws_rows = params["subsample"] < 1 and params["subsample_freq"] > 0
        if task.n_resumed and (params["colsample_bytree"] < 1 or draws_rows):
            callbacks.append(drawing_callback(task.n_resumed, derivatives.shape))
        with refusing_empty_leaves(params):
            booster = lightgbm.train(
                params | {"objective": lambda scores, _: derivatives(scores)},
                data,
                num_boost_round=task.n_new,
                valid_sets=held_out,
                feval=lambda scores, _: (progress.name, progress.measure(scores), True),
                callbacks=callbacks,
                init_model=task.earlier,
                keep_training_booster=True,
            )
            text = booster.model_to_string(num_iteration=progress.kept() or -1)
            refuse_infinite_leaves(text)
        return lightgbm.Booster(model_str=text)

    @staticmethod
    def as_read(values: np.ndarray) -> np.ndarray:
        """Return features with tiny numbers replaced by 0."""
        return np.where(np.abs(values) <= LIGHTGBM_ZERO, 0.0, values)

    def read_booster(self, booster: lightgbm.Booster) -> Forest:
        """Return the trees of a booster as a forest."""
        return read_lightgbm(booster.model_to_string())

    def importance(self) -> np.ndarray:
        """Return the gain of each feature."""
        return self.booster_.feature_importance("gain")

    def dump_booster(self, booster: lightgbm.Booster) -> str:
        """Return LightGBM's text of the trees, which predicts the same bits."""
        return trees_of_text(booster.model_to_string())

    def restore_booster(self, model: str) -> lightgbm.Booster:
        """Return a booster from the text of its trees, which LightGBM reads only if it is whole."""
        if not isinstance(model, str):
            raise ValueError(f"A model of LightGBM must be a text; got {type(model)}.")
        read_lightgbm(model, with_objective=False)
        try:
            return lightgbm.Booster(model_str=trees_of_text(model))
        except Exception as error:  # LightGBM does not export its class
            raise ValueError("A model of LightGBM must be one that LightGBM reads.") from error

    def describe(self, booster: lightgbm.Booster) -> tuple[int, int, int]:
        """Return ``(n_features, n_outputs, n_iterations)`` of a booster."""
        n_outputs = booster.num_model_per_iteration()
        return booster.num_feature(), n_outputs, booster.num_trees() // n_outputs

    def _check_parameters(self, validation: Validation | None) -> None:
        super()._check_parameters(validation)
        self._engine_parameters()
        if (self.subsample < 1) != (self.subsample_freq > 0):
            warn_user(
                "subsample must be below 1 and subsample_freq above 0 for LightGBM to draw "
                f"documents; got subsample={quote(self.subsample)} and subsample_freq="
                f"{quote(self.subsample_freq)}, which draw none. Write "
                "LightGBMTrees(subsample=0.8, subsample_freq=1), or leave both out."
            )

    def _datasets(self, task: GrowthTask, params: dict[str, Any]) -> tuple[Any, list[Any] | None]:
        """Return ``(training dataset, [validation dataset])``.

        The second is None without validation.
        """
        options: dict[str, Any] = {
            "params": params,
            "copies_rows": task.earlier is not None,
            "feature_name": engine_names(task.rows.columns.names) or "auto",
            "categorical_feature": list(task.categorical) or "auto",
        }
        data = make_dataset(task.rows, **options)
        if task.validation_rows is None:
            return data, None
        if task.validation_rows is task.rows:  # LightGBM knows their scores
            return data, [data]
        return data, [make_dataset(task.validation_rows, reference=data, **options)]

    def _parameters(self, task: GrowthTask) -> dict[str, Any]:
        rows, derivatives, seed = task.rows, task.derivatives, task.seed
        params: dict[str, Any] = {name: getattr(self, name) for name in _SHARED}
        params |= task.sizes.of_tree()
        params |= {
            "num_class": derivatives.n_outputs,
            "num_threads": task.n_threads,
            "metric": "None",
            "verbosity": -1,
            "feature_pre_filter": False,  # otherwise LightGBM aborts on tiny data
            # A continued fit must draw other rows than the earlier one, but find the same bins.
            "seed": seed + derivatives.iteration - task.n_resumed,
            "data_random_seed": seed,
            "bin_construct_sample_cnt": SAMPLE_SIZE,
        }
        params |= constraints_of(self, rows.shape[1], rows.columns.names, task.categorical)
        return params | self._engine_parameters()

    def _engine_parameters(self) -> dict[str, Any]:
        """Return ``engine_params`` under LightGBM's main names; refuse unknown or taken ones."""
        if not self.engine_params:
            return {}
        rules: dict[str, Any] = {"taken": {*_SHARED, *_OWN}, "unused": _UNUSED}
        check_engine_params(type(self), self.engine_params, **rules)
        params = with_main_names(self.engine_params)
        check_engine_params(type(self), params, **rules)
        for name in params.keys() & {*_FILES}:
            if not Path(str(params[name])).is_file():
                raise ValueError(f"{name} must be a file that exists; got {quote(params[name])}.")
        if "goss" in params.values():  # GOSS scales gradients, so their sums are not exact
            params = {"deterministic": True, "force_col_wise": True} | params
        return params


class RowSequence(lightgbm.Sequence):
    """Rows in the form that LightGBM reads: single rows to find bins, then batches.

    The bins are the same as for one array of the rows: LightGBM draws the same sample from both.
    """

    batch_size = _BATCH

    def __init__(self, rows: Rows):
        self.rows, self._n_rows = rows, len(rows)
        self._values, self._order = rows.values, rows.order

    def __getitem__(self, index: Any) -> np.ndarray:
        """Return one row, or a batch of rows for a slice."""
        if isinstance(index, slice):
            return self.rows.batch(index.start, index.stop)
        # LightGBM finds bins in doubles only. It reads 50,000 rows one by one, so steps count here.
        row = self._values[index if self._order is None else self._order[index]]
        return row.astype(np.float64)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._n_rows


class QuietDataset(lightgbm.Dataset):
    """A dataset of LightGBM that keeps verbosity and number of threads."""

    def get_params(self) -> dict[str, Any]:
        """Return the parameters of the dataset, with verbosity and number of threads.

        LightGBM drops these two where it finds bins from a sequence. It would then warn that the
        sample is small, and use all cores.
        """
        params = self.params or {}
        kept = {name: params[name] for name in _KEPT_PARAMETERS if name in params}
        return super().get_params() | kept


def make_dataset(
    rows: Rows,
    *,
    params: dict[str, Any],
    copies_rows: bool = False,
    reference: lightgbm.Dataset | None = None,
    **options: Any,
) -> lightgbm.Dataset:
    """Return a LightGBM dataset of the rows.

    Views of rows in another order are read in batches. Sparse rows are copied, because LightGBM
    reads them in no batches, and so are few rows, which LightGBM would copy to find bins.
    ``copies_rows`` copies all, as a continued fit needs it. ``reference`` is the dataset whose bins
    are used; ``options`` are further arguments of ``lightgbm.Dataset``.
    """
    if not any(_is_some_not_zero(batch) for _, batch in rows.batches(_BATCH)):
        rows = Rows(_ones_in_first_column(*rows.shape))
    is_few = reference is None and len(rows) <= params["bin_construct_sample_cnt"]
    is_array = rows.order is None or rows.is_sparse or copies_rows or is_few
    data = rows.array() if is_array else RowSequence(rows)
    label = np.zeros(len(rows), dtype=np.float32)  # required, but only the objective has labels
    return QuietDataset(data, label=label, params=params, reference=reference, **options)


def _ones_in_first_column(n_rows: int, n_columns: int) -> csr_matrix:
    """Return a sparse matrix with a 1 in the first column of each row.

    It replaces rows of zeros, for which LightGBM makes no bins.
    """
    columns, starts = np.zeros(n_rows, dtype=np.int64), np.arange(n_rows + 1)
    return csr_matrix((np.ones(n_rows), columns, starts), shape=(n_rows, n_columns))


def _is_some_not_zero(values: Any) -> bool:
    stored = values.data if issparse(values) else values
    return bool((~(np.abs(stored) <= _ZERO)).any())


def progress_callback(
    progress: Progress, n_outputs: int, dump: Callable[[Any], Any]
) -> Callable[[Any], None]:
    """Return a callback that records each iteration and stops LightGBM when ``progress`` does.

    ``dump(booster)`` returns the model to save in a checkpoint.
    """

    def record(env: Any) -> None:
        if progress.record(env.model.num_trees() // n_outputs, lambda: dump(env.model)):
            raise EarlyStopException(env.iteration, [])

    return record


def drawing_callback(n_iterations: int, shape: tuple[int, ...]) -> Callable[[Any], None]:
    """Return a callback that draws for ``n_iterations`` iterations, before the first tree.

    LightGBM draws the rows and columns of a tree and then finds that gradients of 0 allow no split,
    so it throws the tree away. A resumed fit then draws for its first new tree what an
    uninterrupted fit draws, if both draw rows for every tree. ``shape`` is the shape of the
    gradient.
    """

    def draw(env: Any) -> None:
        if env.iteration == env.begin_iteration:
            for _ in range(n_iterations):
                env.model.update(fobj=lambda scores, _: (zeros, zeros))

    zeros = np.zeros(shape, dtype=np.float32)
    vars(draw)["before_iteration"] = True
    return draw


class EmptyLeafError(ValueError):
    """A leaf has no documents or a sum of hessians of 0, by which LightGBM divides."""


@contextmanager
def refusing_empty_leaves(params: Mapping[str, Any]) -> Iterator[None]:
    """Context that turns LightGBM's error about an empty leaf into a clear one."""
    try:
        yield
    except Exception as error:  # LightGBM does not export its class
        if not isinstance(error, EmptyLeafError) and "best_split_info" not in str(error):
            raise
        raise ValueError(
            "min_child_weight must be above 0, or min_child_samples above 1, for documents whose "
            "hessians are as small as here; got "
            f"min_child_weight={quote(params['min_child_weight'])} and "
            f"min_child_samples={quote(params['min_child_samples'])}: LightGBM made an empty leaf. "
            "HistogramTrees accept these settings."
        ) from error


def refuse_infinite_leaves(text: str) -> None:
    """Refuse the text of a LightGBM model with leaf values that are not finite."""
    for values in re.findall(r"^leaf_value=(.*)$", text, re.MULTILINE):
        if "n" in values:  # inf and nan, but not 1e-5
            raise EmptyLeafError("leaves must have finite values")


def with_main_names(engine_params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters under LightGBM's main names; refuse what LightGBM does not take.

    LightGBM ignores unknown names. A model's text lists all its parameters under their main names:
    another name is known if it changes one of them.

    Examples
    --------
    >>> with_main_names({"subsample_for_bin": 1000, "max_cat_to_onehot": 4})
    {'bin_construct_sample_cnt': 1000, 'max_cat_to_onehot': 4}
    """
    _parameters_of_model(engine_params)  # refuses their values
    defaults = _parameters_of_model({})
    main_params: dict[str, Any] = {}
    for name, value in engine_params.items():
        names = [name]
        if name not in defaults:
            model = _parameters_of_model({name: value})
            names = [main for main in defaults if model[main] != defaults[main]]
        if not names:
            raise ValueError(
                "engine_params must be known to LightGBM, and not be a default under another than "
                f"its main name; got {quote(name)}."
            )
        main_params |= dict.fromkeys(names, value)
    return main_params


def _parameters_of_model(params: dict[str, Any]) -> dict[str, str]:
    """Return all parameters, by main name, of a tiny model trained with ``params``.

    Refuses parameters that LightGBM does not take.
    """
    data = lightgbm.Dataset(np.zeros((2, 1)), label=np.zeros(2), params=_QUIET)
    try:
        model = lightgbm.Booster(_QUIET | params, data)
    except Exception as error:  # LightGBM does not export the class of its errors
        reason = str(error).partition(" at /")[0]  # without the line of LightGBM's code
        raise ValueError(
            f"engine_params must be what LightGBM takes; got {quote(params)}: {reason}"
        ) from error
    lines = model.model_to_string().partition("\nparameters:\n")[2].splitlines()
    return dict(re.findall(r"^\[(\w+): (.*)\]$", line)[0] for line in lines if line[:1] == "[")
