"""The boundary to XGBoost: data, callbacks and parameters in the form of XGBoost."""

import re
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from treerank.checks import quote
from treerank.documents.rows import Rows
from treerank.feature_parts.rows import stored_as
from treerank.feature_parts.trees.arguments import constraints_of
from treerank.feature_parts.trees.bin_sample import quantile_rows, sample_of, share_of_sample
from treerank.feature_parts.trees.boosting import TREE_PARAMETERS, GrowthTask
from treerank.forests.readers.ubjson import read_ubjson
from treerank.lazy import naming_the_extra
from treerank.progress import Progress

with naming_the_extra("XGBoostTrees"):
    import xgboost

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


class RowIterator(xgboost.DataIter):
    """Rows in batches, which XGBoost reads four times; so a single one is kept."""

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
    """Name the argument where XGBoost finds a number that is too large for it."""
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
    whole: bool = False,
    reference: xgboost.DMatrix | None = None,
    max_bin: int = 256,
    n_threads: int = 1,
    seed: int = 0,
) -> xgboost.DMatrix:
    """Return the rows as a matrix of XGBoost, which stores only bins unless ``whole``.

    A continued fit needs the whole values: earlier trees may have thresholds inside a bin.
    """
    types = ["c" if column in categorical else "q" for column in range(rows.shape[1])]
    description: dict[str, Any] = {"feature_names": names}
    description["feature_types"] = types if categorical else None
    options: dict[str, Any] = {"nthread": n_threads, "enable_categorical": bool(categorical)}
    if whole:
        label = np.zeros(len(rows), dtype=np.float32)
        values = stored_as(rows.array(), sparse=sparse)
        return xgboost.DMatrix(values, label=label, **description, **options)

    def quantized(view: Rows, reference: xgboost.DMatrix | None) -> xgboost.DMatrix:
        settings = options | {"ref": reference, "max_bin": max_bin}
        return xgboost.QuantileDMatrix(RowIterator(view, sparse, **description), **settings)

    # A sample may lack a category, and XGBoost refuses codes that the reference does not have.
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
        Where the cuts of each feature begin, and where the last ones end, in all cuts.
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
        old, new = (each.astype(">f4").tobytes() for each in (cut, np.where(is_last, np.inf, cut)))
        named = _CONDITIONS + len(cut).to_bytes(8, "big")
        start = model.index(named + old, position) + len(named)
        parts += [model[position:start], new]
        position = start + len(old)
    changed = b"".join([*parts, model[position:]])
    return model if changed == model else changed


class ProgressCallback(xgboost.callback.TrainingCallback):
    """A callback that records each iteration and stops XGBoost when ``progress`` does."""

    def __init__(self, progress: Progress, dump: Callable[[Any], Any]):
        super().__init__()
        self.progress, self.dump = progress, dump

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Return whether to stop."""
        return self.progress.record(model.num_boosted_rounds(), lambda: self.dump(model))


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
        raise ValueError(f"engine_params must be known to XGBoost; got {', '.join(names)!r}.")


def xgboost_parameters(part: Any, task: GrowthTask) -> dict[str, Any]:
    """Return the parameters for the trees of a task, given the ``XGBoostTrees`` that grow them."""
    rows, derivatives = task.rows, task.derivatives
    sizes = task.sizes.of_tree()
    given = {name: sizes.get(name, getattr(part, name)) for name in _SHARED}
    params = {_RENAMED.get(name, name): _legible(value) for name, value in given.items()}
    params |= {
        "num_target": derivatives.n_outputs,
        "tree_method": "hist",
        "max_bin": part.n_bins_for(rows),
        "nthread": part.n_threads_for(rows),
        "disable_default_eval_metric": 1,
        "seed": task.seed + derivatives.iteration,  # a continued fit must not draw the same rows
    }
    if task.earlier is None:
        params["base_score"] = 0.0
    constraints = constraints_of(part, rows.shape[1], rows.columns.names)
    params |= {name: str(value) for name, value in constraints.items()}
    return params | (part.engine_params or {})


def _legible(value: Any) -> Any:
    """Return a parameter as XGBoost can read it: it refuses numbers near 0 as out of range."""
    return _SMALLEST if isinstance(value, float) and 0 < value < _SMALLEST else value
