"""The boundary to XGBoost: rows go in by batches, quantized; progress and trees come out."""

import re
import warnings

import numpy as np
import xgboost

from treerank.feature_parts.engines.bin_sample import sample_of
from treerank.feature_parts.engines.column_arguments import engine_names
from treerank.feature_parts.rows import stored_as

_BATCH = 65_536
_FORBIDDEN = "[]<"


class RowIterator(xgboost.DataIter):
    """Rows in batches. XGBoost passes over them four times, so a batch is kept cheap."""

    def __init__(self, rows, sparse, **description):
        self.rows, self.sparse, self.description = rows, sparse, description
        self.position = 0
        super().__init__()

    def reset(self):
        """Start a new pass."""
        self.position = 0

    def next(self, input_data):
        """Hand over the next batch; say whether there was one."""
        if self.position >= len(self.rows):
            return False
        batch = self.rows.batch(self.position, self.position + _BATCH)
        self.position += batch.shape[0]
        label = np.zeros(batch.shape[0], dtype=np.float32)
        batch = stored_as(batch, sparse=self.sparse)
        input_data(data=batch, label=label, **self.description)
        return True


def make_matrix(
    rows,
    categorical,
    *,
    sparse=False,
    whole=False,
    reference=None,
    max_bin=256,
    n_threads=1,
    seed=0,
):
    """Return the rows as XGBoost's matrix, quantized unless ``whole``, as continuation needs it.

    A quantized matrix knows values only by their bins, and trees of an earlier fit to other data
    may cut inside a bin.
    """
    description = {
        "feature_names": engine_names(rows.feature_names, _FORBIDDEN),
        "feature_types": feature_types(categorical, rows.shape[1]),
    }
    options = {"nthread": n_threads, "enable_categorical": bool(categorical)}
    if whole:
        label = np.zeros(len(rows), dtype=np.float32)
        values = stored_as(rows.array(), sparse=sparse)
        return xgboost.DMatrix(values, label=label, **description, **options)

    def quantized(view, reference):
        iterator = RowIterator(view, sparse, **description)
        return xgboost.QuantileDMatrix(iterator, ref=reference, max_bin=max_bin, **options)

    sample = sample_of(rows, seed)
    # A sample may lack a category, and codes that the reference does not have are refused.
    if reference is None and sample is not rows and not categorical:
        reference = quantized(sample, None)
    return quantized(rows, reference)


def feature_types(categorical, n_features):
    """Return XGBoost's letters for types: c for categories, q for quantities."""
    if not categorical:
        return None
    return ["c" if column in categorical else "q" for column in range(n_features)]


class ProgressCallback(xgboost.callback.TrainingCallback):
    """Stop XGBoost when the progress says so."""

    def __init__(self, progress):
        super().__init__()
        self.progress = progress

    def after_iteration(self, model, epoch, evals_log):
        """Say whether to stop."""
        return self.progress.record(model.num_boosted_rounds())


def check_known(engine_params):
    """Refuse parameters that XGBoost does not use or whose values it does not take."""
    try:
        complaints = _complaints(engine_params)
    except xgboost.core.XGBoostError as error:
        raise ValueError(
            f"engine_params must be what XGBoost takes; got {engine_params!r}: {error}"
        ) from error
    for unused in (text for text in complaints if "are not used" in text):
        names = re.findall(r'"(\w+)"', unused)
        raise ValueError(f"engine_params must be known to XGBoost; got {', '.join(names)!r}.")


def check_device(device):
    """Refuse a device that is not there; XGBoost itself would go on without it."""
    try:
        complaints = _complaints({"device": device})
    except xgboost.core.XGBoostError as error:
        raise ValueError(f"device must be one that XGBoost knows; got {device!r}.") from error
    if complaints:
        raise ValueError(f"device must be one that is there; got {device!r}.")


def _complaints(params):
    """Return the warnings of the smallest of trainings: XGBoost has no other check."""
    matrix = xgboost.DMatrix(np.zeros((2, 1)), label=np.zeros(2), nthread=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        xgboost.train({"nthread": 1, "tree_method": "hist", **params}, matrix, 1)
    return [str(warning.message) for warning in caught]


def node_values(tree):
    """Return the values of the nodes of one tree as XGBoost's JSON has it."""
    leaf = np.array(tree["left_children"]) == -1
    n_values = int(tree["tree_param"]["size_leaf_vector"])
    values = np.full((len(leaf), n_values), np.nan)
    if n_values == 1:
        values[leaf, 0] = np.array(tree["split_conditions"])[leaf]
    else:  # vector leaves keep their rank among the leaves where others keep the right child
        weights = np.array(tree["leaf_weights"]).reshape(-1, n_values)
        values[leaf] = weights[np.array(tree["right_children"])[leaf]]
    return values
