"""The boundary to LightGBM: data, callbacks and parameters in the form that LightGBM reads."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import lightgbm
import numpy as np
from lightgbm.callback import EarlyStopException
from scipy.sparse import csr_matrix, issparse

from treerank.checks import quote
from treerank.documents.rows import Rows
from treerank.progress import Progress

_QUIET = {"verbosity": -1, "num_threads": 1, "feature_pre_filter": False}
_BATCH = 16_384
#: LightGBM treats numbers up to this magnitude as zero.
_ZERO = 1e-35
_KEPT_PARAMETERS = ("num_threads", "verbosity")


class RowSequence(lightgbm.Sequence):
    """Rows in the form that LightGBM reads: single rows to find bins, then batches.

    The bins are those of the rows as one array: LightGBM draws the same sample from both.
    """

    batch_size = _BATCH

    def __init__(self, rows: Rows):
        self.rows = rows

    def __getitem__(self, index: Any) -> np.ndarray:
        """Return one row, or a batch of rows for a slice."""
        if isinstance(index, slice):
            return self.rows.batch(index.start, index.stop)
        return self.rows.row(index).astype(np.float64)  # LightGBM finds bins in doubles only

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)


class QuietDataset(lightgbm.Dataset):
    """A dataset of LightGBM that keeps verbosity and number of threads."""

    def get_params(self) -> dict[str, Any]:
        """Return the parameters of the dataset, with verbosity and number of threads.

        LightGBM leaves these two out where it finds bins from a sequence. It would then warn that
        the sample is small, and use all cores.
        """
        given = self.params or {}
        kept = {name: given[name] for name in _KEPT_PARAMETERS if name in given}
        return super().get_params() | kept


def make_dataset(
    rows: Rows,
    *,
    params: dict[str, Any],
    whole: bool = False,
    reference: lightgbm.Dataset | None = None,
    **options: Any,
) -> lightgbm.Dataset:
    """Return a dataset of the rows; ``whole`` copies them, which a continued fit needs.

    Other rows that come in an order of their own are read in batches, but for sparse ones, of which
    LightGBM reads no batches, and for so few that LightGBM would copy all of them to find bins.
    """
    if not any(_is_some_not_zero(batch) for _, batch in rows.batches(_BATCH)):
        rows = Rows(_ones_in_first_column(*rows.shape))
    is_few = reference is None and len(rows) <= params["bin_construct_sample_cnt"]
    is_whole = rows.order is None or rows.is_sparse or whole or is_few
    data = rows.array() if is_whole else RowSequence(rows)
    label = np.zeros(len(rows), dtype=np.float32)  # required, but only the objective has labels
    return QuietDataset(data, label=label, params=params, reference=reference, **options)


def _ones_in_first_column(n_rows: int, n_columns: int) -> csr_matrix:
    """Return what stands for rows that are all zero, of which LightGBM makes no bins."""
    columns, starts = np.zeros(n_rows, dtype=np.int64), np.arange(n_rows + 1)
    return csr_matrix((np.ones(n_rows), columns, starts), shape=(n_rows, n_columns))


def _is_some_not_zero(values: Any) -> bool:
    stored = values.data if issparse(values) else values
    return bool((~(np.abs(stored) <= _ZERO)).any())


def progress_callback(
    progress: Progress, n_outputs: int, dump: Callable[[Any], Any]
) -> Callable[[Any], None]:
    """Return a callback that records each iteration and stops LightGBM when ``progress`` does."""

    def record(env: Any) -> None:
        if progress.record(env.model.num_trees() // n_outputs, lambda: dump(env.model)):
            raise EarlyStopException(env.iteration, [])

    return record


class EmptyLeafError(ValueError):
    """A leaf has no documents, or none with a hessian above 0, which LightGBM divides by."""


@contextmanager
def refusing_empty_leaves(params: Mapping[str, Any]) -> Iterator[None]:
    """Name the parameters that let LightGBM make a leaf of nothing, where it does."""
    try:
        yield
    except Exception as error:  # LightGBM does not export its class
        if not isinstance(error, EmptyLeafError) and "best_split_info" not in str(error):
            raise
        raise ValueError(
            "min_child_weight must be above 0, or min_child_samples above 1, for documents whose "
            f"hessians are as small as here; got min_child_weight={params['min_child_weight']!r} "
            f"and min_child_samples={params['min_child_samples']!r}: LightGBM made a leaf of "
            "nothing. HistogramTrees take these settings."
        ) from error


def refuse_infinite_leaves(text: str) -> None:
    """Refuse a model whose leaves have values that are no finite numbers."""
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
    usual = _parameters_of_model({})
    found: dict[str, Any] = {}
    for name, value in engine_params.items():
        names = [name]
        if name not in usual:
            model = _parameters_of_model({name: value})
            names = [main for main in usual if model[main] != usual[main]]
        if not names:
            raise ValueError(
                "engine_params must be known to LightGBM, and not be a default under another than "
                f"its main name; got {name!r}."
            )
        found |= dict.fromkeys(names, value)
    return found


def _parameters_of_model(params: dict[str, Any]) -> dict[str, str]:
    """Return all parameters of a model that is made with some, as its text lists them."""
    data = lightgbm.Dataset(np.zeros((2, 1)), label=np.zeros(2), params=_QUIET)
    try:
        model = lightgbm.Booster(_QUIET | params, data)
    except Exception as error:  # LightGBM does not export the class of its errors
        reason = str(error).partition(" at /")[0]  # without the place in LightGBM's code
        raise ValueError(
            f"engine_params must be what LightGBM takes; got {quote(params)}: {reason}"
        ) from error
    lines = model.model_to_string().partition("\nparameters:\n")[2].splitlines()
    return dict(re.findall(r"^\[(\w+): (.*)\]$", line)[0] for line in lines if line[:1] == "[")
