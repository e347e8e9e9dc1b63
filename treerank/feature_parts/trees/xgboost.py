"""Feature part of trees grown by XGBoost: documents and parameters as it reads them."""

import json
import math
import re
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix, issparse

from treerank.checks import check_count, quote
from treerank.documents.rows import Rows
from treerank.feature_parts.base import Validation
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.trees.arguments import check_engine_params, constraints_of, engine_names
from treerank.feature_parts.trees.bin_sample import quantile_rows, sample_of, share_of_sample
from treerank.feature_parts.trees.boosting import (
    MOST,
    MOST_BINS,
    TREE_PARAMETERS,
    BoostedTrees,
    GrowthTask,
)
from treerank.feature_parts.trees.fixed_point import LARGEST
from treerank.forests.forest import CodeRule, Forest, SumDtype
from treerank.forests.readers.ubjson import read_ubjson
from treerank.forests.readers.xgboost import read_xgboost
from treerank.lazy import naming_the_extra
from treerank.parameters import Auto, NotNegative, Options, Rule
from treerank.progress import Progress

with naming_the_extra("XGBoostTrees"):
    import xgboost

#: Number of rows that XGBoost reads at a time.
_BATCH = 16_384
#: What stands before the thresholds of a tree in UBJSON: their number follows.
_CONDITIONS = b"split_conditions[$d#L"
#: Smallest number above 0 of normal single precision.
_SMALLEST = float(np.finfo(np.float32).tiny)
#: Arguments of XGBoostTrees that are passed to XGBoost.
_SHARED = (*TREE_PARAMETERS, "grow_policy")
#: XGBoost's names of some of them.
_RENAMED = {"min_split_gain": "gamma", "num_leaves": "max_leaves"}
#: Parameters of XGBoost that ``fit`` sets itself, and further names of arguments.
_OWN = (
    *("alpha", "base_score", "booster", "disable_default_eval_metric", "eta"),
    "eval_metric",
    *("interaction_constraints", "lambda", "min_split_loss", "monotone_constraints", "n_jobs"),
    *("nthread", "num_class", "num_parallel_tree", "num_target", "objective", "random_state"),
    *("seed", "tree_method", "verbosity"),
)
#: Names that ``engine_params`` must not have.
TAKEN = (*_SHARED, *_RENAMED.values(), *_OWN)
#: Parameters of objectives of XGBoost that it takes from any training.
_UNUSED = ("scale_pos_weight",)
#: Attribute of a booster that stores how ``fit`` treated zeros: as numbers or as missing.
_ZEROS = "treerank_zeros"
#: Attribute of a booster that stores which of its iterations only repeat draws.
_DRAWS = "treerank_draws"
#: Few rows get one bin for this number of rows, but at least this number of bins: splitting few
#: rows takes as long as reading their bins.
_ROWS_PER_BIN, _FEW_BINS = 8, 128


@estimator(kw_only=True)
class XGBoostTrees(BoostedTrees):
    """Boosted trees for any objective, grown by XGBoost.

    Trees grow leaf by leaf. Other parameters have XGBoost's defaults, and XGBoost's names where
    LightGBM has none: ``num_leaves`` is XGBoost's ``max_leaves`` and ``min_split_gain`` its
    ``gamma``. The trees are the same, bit for bit, for any ``n_jobs``; see
    :mod:`treerank.feature_parts.trees.fixed_point`.

    ``X`` may be a sparse matrix. XGBoost then treats zeros as missing values: the trees are those
    of a fit to an array with NaN in place of zeros. ``transform`` then also treats zeros as
    missing, in a sparse matrix and in an array.

    All other parameters and attributes are as in
    :class:`~treerank.feature_parts.trees.boosting.BoostedTrees`.

    Parameters
    ----------
    learning_rate : float or "auto", default="auto"
        Factor on the values of each tree. XGBoost's own default, 0.3, often ranks worse.
    max_depth : int, default=0
        Largest number of splits on a path from the root to a leaf; 0 is no limit.
    num_leaves : int or "auto", default="auto"
        Largest number of leaves of a tree; 0 is no limit.
    grow_policy : {"lossguide", "depthwise"}, default="lossguide"
        Which leaf is split next: the one with the largest gain, or the one nearest to the root.
    min_child_weight : float, default=1.0
        Smallest sum of hessians in a leaf.
    reg_lambda : float, default=1.0
        L2 penalty of leaves.
    max_bin : int, default=256
        Largest number of bins of a feature; fewer than 2048 rows get one for 8 rows, but at least
        128. They are found from about 50,000 rows, or from all rows if there are categories;
        XGBoost itself always reads all rows.
    engine_params : dict, default=None
        Further parameters of XGBoost. Names that are unknown or have no effect on trees are
        refused, and so is ``tree_method``: other methods than histograms copy the data. ``device``
        is passed on; it is not tested on a GPU.

    Attributes
    ----------
    booster_ : xgboost.Booster
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
    >>> part = XGBoostTrees(50, learning_rate=0.1, n_jobs=1).fit(X, HalfSquare())
    >>> part.transform(np.array([[20.0], [80.0]])).round(1)
    array([[0.],
           [1.]])
    """

    most_code: ClassVar[int] = 2**24 - 1
    category_rule: ClassVar[CodeRule] = "single"
    sum_dtype: ClassVar[SumDtype] = "float32"
    rounding: ClassVar[str] = "XGBoost rounds features to single precision"
    settings_by_workers: ClassVar[dict[str, Any] | None] = {
        "warm_start": False,
        "subsample": 1.0,
        "categorical_features": None,  # then XGBoost finds its bins from all rows, by sketches
    }
    settings_to_resume: ClassVar[dict[str, Any]] = {"engine_params": None}
    #: XGBoost squares gradients, and sums of them, in single precision.
    largest_derivative = math.sqrt(LARGEST)

    max_depth: Annotated[int, Rule(check_count, at_least=0, at_most=MOST)] = 0
    num_leaves: Auto | Annotated[int, Rule(check_count, no_limit=0, at_least=2, at_most=MOST)] = (
        "auto"
    )
    grow_policy: Annotated[str, Rule.one_of(("lossguide", "depthwise"))] = "lossguide"
    min_child_weight: NotNegative = 1.0
    reg_lambda: NotNegative = 1.0
    max_bin: Annotated[int, Rule(check_count, at_least=2, at_most=MOST_BINS)] = 256
    engine_params: Options | None = None

    @staticmethod
    def as_read(values: np.ndarray) -> np.ndarray:
        """Return features in single precision."""
        return values.astype(np.float32)

    def grow(self, task: GrowthTask) -> xgboost.Booster:
        """Return a booster with ``n_new`` more iterations than ``earlier``."""
        derivatives, progress = task.derivatives, task.progress
        zeros = _treatment_of_zeros(task.rows, task.earlier)
        params = xgboost_parameters(self, task)
        data, held_out = self._matrices(task)
        is_drawn = min(params["subsample"], params["colsample_bytree"]) < 1
        n_draws = task.n_resumed if is_drawn else 0
        booster = xgboost.train(
            params,
            data,
            num_boost_round=task.n_new,
            obj=lambda scores, _: derivatives(scores),
            evals=held_out,
            # XGBoost writes names and values into one text, which it splits at spaces.
            custom_metric=lambda scores, _: ("metric", progress.measure(scores)),
            callbacks=[
                DrawingCallback(data, derivatives.shape, n_draws),
                ProgressCallback(progress, n_draws, self.dump_booster),
            ],
            verbose_eval=False,
            xgb_model=task.earlier,
        )
        booster = without_draws(booster)
        self._refuse_overflow(booster, derivatives)
        kept = progress.kept()
        booster = booster if kept is None else booster[:kept]
        booster.set_attr(**{_ZEROS: zeros})
        model = self.dump_booster(booster)
        changed = with_infinite_cuts(model, *data.get_quantile_cut())
        return booster if changed is model else self.restore_booster(changed)

    def _matrices(self, task: GrowthTask) -> tuple[Any, list[tuple[Any, str]]]:
        """Return ``(training matrix, [(validation matrix, name)])``; the list may be empty."""
        rows, earlier = task.rows, task.earlier
        options: dict[str, Any] = {
            "categorical": task.categorical,
            "sparse": rows.is_sparse,
            "needs_values": task.needs_values,
            "names": (earlier and earlier.feature_names) or engine_names(rows.columns.names),
            "max_bin": self.n_bins_for(rows),
            "n_threads": task.n_threads,
            "seed": task.seed,
        }
        data = make_matrix(rows, **options)
        if task.validation_rows is None:
            return data, []
        options["reference"] = None if task.needs_values else data
        return data, [(make_matrix(task.validation_rows, **options), "held_out")]

    def n_bins_for(self, rows: Rows) -> int:
        """Return the largest number of bins of a feature: one for 8 rows of all workers.

        It is at least 128 and at most ``max_bin``.
        """
        n_rows = rows.n_total
        return min(self.max_bin, max(_FEW_BINS, n_rows // _ROWS_PER_BIN))

    def read_booster(self, booster: xgboost.Booster) -> Forest:
        """Return the trees of a booster as a forest."""
        return read_xgboost(read_ubjson(self.dump_booster(booster)))

    def importance(self) -> np.ndarray:
        """Return the gain of each feature."""
        scores = self.booster_.get_score(importance_type="total_gain")
        names = self.booster_.feature_names or [f"f{i}" for i in range(self.n_features_in_)]
        return np.array([scores.get(name, 0.0) for name in names])

    def dump_booster(self, booster: xgboost.Booster) -> bytes:
        """Return the model in UBJSON, which predicts the same bits."""
        return bytes(booster.save_raw("ubj"))

    def restore_booster(self, model: bytes) -> xgboost.Booster:
        """Return a booster from its bytes, which XGBoost reads only if they are whole."""
        if not isinstance(model, bytes) or not model.startswith(b"{L"):
            raise ValueError(f"A model of XGBoost must be UBJSON; got {type(model)}.")
        read_xgboost(read_ubjson(model))
        try:
            return without_draws(xgboost.Booster(model_file=bytearray(model)))
        except (AssertionError, xgboost.core.XGBoostError) as error:  # of an attribute without text
            raise ValueError("A model of XGBoost must be one that XGBoost reads.") from error

    def describe(self, booster: xgboost.Booster) -> tuple[int, int, int]:
        """Return ``(n_features, n_outputs, n_iterations)`` of a booster."""
        config = json.loads(booster.save_config())["learner"]["learner_model_param"]
        n_outputs = max(1, int(config["num_target"]), int(config["num_class"]))
        return booster.num_features(), n_outputs, booster.num_boosted_rounds()

    def _refuse_overflow(self, booster: xgboost.Booster, derivatives: Any) -> None:
        """Refuse sums of gradients whose squares are infinite: XGBoost finds no split in them."""
        largest, most = derivatives.largest_gradient, self.largest_derivative
        if largest * derivatives.shape[0] > most and not booster.get_score(
            importance_type="weight"
        ):
            raise ValueError(
                f"gradient must have sums of at most {most:.3g} for XGBoost to find splits; got "
                f"gradients of {largest:.3g} from {derivatives.objective.name}."
            )

    def _check_parameters(self, validation: Validation | None) -> None:
        super()._check_parameters(validation)
        if self.engine_params:
            check_engine_params(type(self), self.engine_params, taken=TAKEN, unused=_UNUSED)
            check_known(self.engine_params)


def _treatment_of_zeros(rows, earlier):
    """Return "missing" for sparse rows and "numbers" for others, as XGBoost treats zeros.

    Refuses rows that the earlier fit treated otherwise.
    """
    zeros = "missing" if rows.is_sparse else "numbers"
    if earlier is not None and earlier.attr(_ZEROS) not in (zeros, None):
        form, other = ("dense", "sparse") if rows.is_sparse else ("sparse", "dense")
        raise ValueError(
            f"X must be {form}, as in the earlier fit: to XGBoost a zero is a number in an array "
            f"and missing in a sparse matrix; got a {other} one."
        )
    return zeros


def stored_as(values: Any, *, sparse: bool) -> Any:
    """Return the values as a CSR matrix if ``sparse``, else as an array."""
    if issparse(values) == sparse:
        return values
    return csr_matrix(values) if sparse else values.toarray()


class RowIterator(xgboost.DataIter):
    """Batches of rows for XGBoost, which reads them four times.

    Rows that fit in one batch are converted once and kept in memory.
    """

    def __init__(self, rows: Rows, sparse: bool, **description: Any):
        self.rows, self.sparse, self.description = rows, sparse, description
        self.only = rows.array() if len(rows) <= _BATCH else None
        self.reset()
        super().__init__()

    def reset(self) -> None:
        """Go back to the first batch."""
        # A worker without rows has an empty batch.
        self.batches = self.rows.batches(_BATCH) if self.only is None else iter([((), self.only)])

    def next(self, input_data: Callable[..., Any]) -> bool:
        """Pass the next batch to ``input_data``; return whether there was one."""
        _, batch = next(self.batches, (None, None))
        if batch is None:
            return False
        input_data(data=stored_as(batch, sparse=self.sparse), **self.description)
        return True


@contextmanager
def single_precision() -> Iterator[None]:
    """Context that turns XGBoost's error about too large numbers into one that names X."""
    try:
        yield
    except xgboost.core.XGBoostError as error:
        if "value too large" not in str(error):
            raise
        most = float(np.finfo(np.float32).max)
        raise ValueError(
            f"X must be at most {most:.3g} in size for XGBoost, which computes in single "
            "precision; got larger numbers."
        ) from error


@single_precision()
def make_matrix(
    rows: Rows,
    categorical: Collection[int],
    *,
    names: list[str] | None = None,
    sparse: bool = False,
    needs_values: bool = False,
    reference: xgboost.DMatrix | None = None,
    max_bin: int = 256,
    n_threads: int = 1,
    seed: int = 0,
) -> xgboost.DMatrix:
    """Return the rows as a matrix of XGBoost, which stores only bins unless ``needs_values``.

    A continued fit needs the values: earlier trees may have thresholds inside a bin.

    Parameters
    ----------
    rows : Rows
        Documents.
    categorical : collection of int
        Columns with codes of categories.
    names : list of str, default=None
        Names of the columns.
    sparse : bool, default=False
        Whether XGBoost gets sparse matrices.
    needs_values : bool, default=False
        Whether values are stored in addition to bins.
    reference : xgboost.DMatrix, default=None
        Matrix whose bins are used; None finds bins.
    max_bin : int, default=256
        Largest number of bins of a feature.
    n_threads : int, default=1
        Number of threads.
    seed : int, default=0
        Seed of the sample from which bins are found.
    """
    types = ["c" if column in categorical else "q" for column in range(rows.shape[1])]
    description: dict[str, Any] = {"feature_names": names}
    description["feature_types"] = types if categorical else None
    options: dict[str, Any] = {"nthread": n_threads, "enable_categorical": bool(categorical)}
    if needs_values:
        label = np.zeros(len(rows), dtype=np.float32)
        values = stored_as(rows.array(), sparse=sparse)
        return xgboost.DMatrix(values, label=label, **description, **options)

    def quantized(view: Rows, reference: xgboost.DMatrix | None) -> xgboost.DMatrix:
        settings = options | {"ref": reference, "max_bin": max_bin}
        return xgboost.QuantileDMatrix(RowIterator(view, sparse, **description), **settings)

    # A sample may lack a category, and XGBoost refuses codes that its reference lacks.
    if reference is None and not categorical:
        sample = sample_of(rows, seed)
        if sample is not rows:
            if share_of_sample(rows) < 1:
                sample = Rows(quantile_rows(sample, max_bin, n_threads=n_threads))
            # XGBoost merges what the workers hold, so only one of them holds the sample.
            held = sample if rows.holds_first else sample.take(np.arange(0))
            reference = quantized(held, None)
    return quantized(rows, reference)


def with_infinite_cuts(model: bytes, starts: np.ndarray, cuts: np.ndarray) -> bytes:
    """Return a model whose splits of present from missing values hold for all values.

    XGBoost makes such a split at the last cut of a feature, about twice its largest value in
    training. A value beyond it counts as in the last bin while XGBoost trains, but would go where
    missing ones go when it predicts. So these cuts become infinite.

    Parameters
    ----------
    model : bytes
        The model in UBJSON.
    starts, cuts : ndarray
        Index of the first cut of each feature, then the number of cuts; and all cuts.
    """
    trees = read_ubjson(model)["learner"]["gradient_booster"]["model"]["trees"]
    has_cuts = np.diff(starts) > 0
    last = np.full(len(has_cuts), np.nan, dtype=np.float32)
    last[has_cuts] = cuts[starts[1:][has_cuts] - 1]
    parts: list[bytes] = []
    position = 0
    for tree in trees:
        cut, is_split = tree["split_conditions"], tree["left_children"] != -1
        is_last = is_split & (tree["split_type"] == 0) & (cut == last[tree["split_indices"]])
        new_cut = np.where(is_last, np.inf, cut)
        old, new = (values.astype(">f4").tobytes() for values in (cut, new_cut))
        named = _CONDITIONS + len(cut).to_bytes(8, "big")
        start = model.index(named + old, position) + len(named)
        parts += [model[position:start], new]
        position = start + len(old)
    changed = b"".join([*parts, model[position:]])
    return model if changed == model else changed


class DrawingCallback(xgboost.callback.TrainingCallback):
    """A callback that draws rows and columns for ``n_iterations`` iterations, before the first one.

    XGBoost draws for each tree before it finds that gradients of 0 allow no split. So a resumed fit
    then draws for its first new tree what an uninterrupted fit draws. The trees without a split
    stay in the booster, with an attribute by which :func:`without_draws` takes them out later: a
    new booster would seed the draws of this one anew. ``shape`` is the shape of the gradient.
    """

    def __init__(self, data: xgboost.DMatrix, shape: tuple[int, ...], n_iterations: int):
        super().__init__()
        self.data, self.shape, self.n_iterations = data, shape, n_iterations

    def before_training(self, model: Any) -> Any:
        """Return the booster, with one iteration for each draw."""
        start, zeros = model.num_boosted_rounds(), np.zeros(self.shape, dtype=np.float32)
        stop = start + self.n_iterations
        for iteration in range(start, stop):
            model.update(self.data, iteration, lambda scores, _: (zeros, zeros))
        if self.n_iterations > 0:
            model.set_attr(**{_DRAWS: f"{start} {stop}"})
        return model


def without_draws(booster: xgboost.Booster) -> xgboost.Booster:
    """Return a booster without the iterations of :class:`DrawingCallback`.

    Slices of a booster are boosters, but two of them cannot be joined.
    """
    interval = booster.attr(_DRAWS)
    if interval is None:
        return booster
    numbers = re.fullmatch(r"([0-9]{1,9}) ([0-9]{1,9})", interval)
    start, stop = map(int, numbers.groups()) if numbers else (1, 0)
    if not start <= stop <= booster.num_boosted_rounds():
        raise ValueError(
            f"A model of XGBoost must have the iterations of {_DRAWS}; got {quote(interval)}."
        )
    document = json.loads(booster.save_raw("json"))
    del document["learner"]["attributes"][_DRAWS]
    model = document["learner"]["gradient_booster"]["model"]
    firsts = model["iteration_indptr"]
    n_left_out = firsts[stop] - firsts[start]
    for trees in (model["trees"], model["tree_info"]):
        del trees[firsts[start] : firsts[stop]]
    for number, tree in enumerate(model["trees"]):
        tree["id"] = number
    model["iteration_indptr"] = firsts[:start] + [first - n_left_out for first in firsts[stop:]]
    model["gbtree_model_param"]["num_trees"] = str(len(model["trees"]))
    # Of JSON's escapes, XGBoost only reads those with one letter, such as \n.
    text = json.dumps(document, ensure_ascii=False)
    return xgboost.Booster(model_file=bytearray(text, "utf-8"))


class ProgressCallback(xgboost.callback.TrainingCallback):
    """A callback that records each iteration and stops XGBoost when ``progress`` does.

    ``n_draws`` iterations of the booster are none of the fit. ``dump(booster)`` returns the model
    to save in a checkpoint.
    """

    def __init__(self, progress: Progress, n_draws: int, dump: Callable[[Any], Any]):
        super().__init__()
        self.progress, self.n_draws, self.dump = progress, n_draws, dump

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Return whether to stop."""
        n_done = model.num_boosted_rounds() - self.n_draws
        return self.progress.record(n_done, lambda: self.dump(model))


def check_known(engine_params: dict[str, Any]) -> None:
    """Refuse parameters that XGBoost does not know, or values that it does not accept."""
    matrix = xgboost.DMatrix(np.zeros((2, 1)), label=np.zeros(2), nthread=1)
    try:  # a tiny training: XGBoost has no other check of parameters
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            xgboost.train({"nthread": 1, "tree_method": "hist", **engine_params}, matrix, 1)
    except xgboost.core.XGBoostError as error:
        raise ValueError(
            f"engine_params must be what XGBoost takes; got {quote(engine_params)}: {quote(error)}"
        ) from error
    messages = [str(warning.message) for warning in caught]
    for unused in (text for text in messages if "are not used" in text):
        names = re.findall(r'"(\w+)"', unused)
        raise ValueError(f"engine_params must be known to XGBoost; got {quote(', '.join(names))}.")


def xgboost_parameters(part: Any, task: GrowthTask) -> dict[str, Any]:
    """Return the parameters for the trees of a task, given the ``XGBoostTrees`` that grow them."""
    rows, derivatives = task.rows, task.derivatives
    sizes = task.sizes.of_tree()
    shared = {name: sizes.get(name, getattr(part, name)) for name in _SHARED}
    params = {_RENAMED.get(name, name): _legible(value) for name, value in shared.items()}
    params |= {
        "num_target": derivatives.n_outputs,
        "tree_method": "hist",
        "max_bin": part.n_bins_for(rows),
        "nthread": task.n_threads,
        "disable_default_eval_metric": 1,
        # A continued fit must draw other rows than the earlier one, a resumed fit the same rows.
        "seed": task.seed + derivatives.iteration - task.n_resumed,
    }
    if task.earlier is None:
        params["base_score"] = 0.0
    constraints = constraints_of(part, rows.shape[1], rows.columns.names, task.categorical)
    params |= {name: str(value) for name, value in constraints.items()}
    return params | (part.engine_params or {})


def _legible(value: Any) -> Any:
    """Return a parameter as XGBoost can read it.

    Numbers between 0 and the smallest normal float become that: XGBoost refuses them otherwise.
    """
    return _SMALLEST if isinstance(value, float) and 0 < value < _SMALLEST else value
