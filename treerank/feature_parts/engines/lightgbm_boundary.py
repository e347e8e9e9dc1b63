"""The boundary to LightGBM: data and callbacks in the form that LightGBM reads.

Two private parts of LightGBM are used, because its public interface has nothing in their place:

- ``lightgbm.Dataset.__sample`` is overridden to read the sample for bins in batches. LightGBM
  itself reads it row by row, which is slower. If a later version of LightGBM does not call this
  method, LightGBM's own sampling takes over and the bins are the same.
- ``lightgbm.basic._ConfigAliases`` is the only list of LightGBM's parameters. It is needed to
  refuse unknown ``engine_params``, which LightGBM itself ignores. It is imported only if there are
  ``engine_params``; if a later version moves it, everything else works.

Many rows are handed over in LightGBM's file format, which it does not document, either. If a later
version has another format, LightGBM reads the values of the rows.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from lightgbm.callback import EarlyStopException
from scipy.sparse import csr_matrix, issparse

from treerank.checks import shown
from treerank.feature_parts.engines.bin_sample import ZERO, nonzero_columns, rows_of_team
from treerank.feature_parts.engines.lightgbm_bins import Template
from treerank.feature_parts.engines.lightgbm_format import UnknownFormat
from treerank.feature_parts.rows import Rows
from treerank.files.scratch import ScratchFolder
from treerank.numerics.threads import in_threads
from treerank.progress import Progress
from treerank.team import current_team

_QUIET = {"verbosity": -1, "num_threads": 1, "feature_pre_filter": False}
_BATCH = 16_384
#: Numbers of rows and of values from which on it takes less time to bin them ourselves.
_MANY_ROWS, _MANY_CELLS = 2048, 2**20
_FEW = 64
_SPECIAL = (np.nan, 0.0, -0.0, np.inf, -np.inf, -1.0)
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


class ReadSequence(lightgbm.Sequence):
    """Rows that are read in batches; LightGBM asks for one slice after the other, once."""

    batch_size = _BATCH

    def __init__(self, rows: Rows):
        self.rows, self.batches = rows, rows.batches(_BATCH)
        self.rest = np.empty((0, rows.shape[1]), dtype=rows.dtype)

    def __getitem__(self, index: Any) -> np.ndarray:
        """Return the next rows."""
        n_rows = index.stop - index.start
        while len(self.rest) < n_rows:
            self.rest = np.concatenate([self.rest, next(self.batches)[1]])
        found, self.rest = self.rest[:n_rows], self.rest[n_rows:]
        return found

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)


class FewRowsSequence(RowSequence):
    """Rows of which LightGBM gets the sample for bins, and other values for the last rows.

    The rows before have no values. LightGBM puts them into the most frequent bins.
    """

    def __init__(self, rows: Rows, last: np.ndarray):
        super().__init__(rows)
        self.last = last.astype(np.float64)
        self.batch_size = len(rows) - len(last)

    def __getitem__(self, index: Any) -> np.ndarray:
        """Return one row, the last rows, or those before them without values."""
        if not isinstance(index, slice):
            return super().__getitem__(index)
        return self.last if index.start else np.empty((index.stop, 0))


class BatchedDataset(lightgbm.Dataset):
    """A dataset of LightGBM that reads the sample of rows for its bins in batches."""

    def get_params(self) -> dict[str, Any]:
        """Return the parameters of the dataset, with verbosity and number of threads.

        LightGBM leaves these two out where it finds bins from a sample. It would then warn that
        the sample is small, and use all cores.
        """
        given = self.params or {}
        kept = {name: given[name] for name in _KEPT_PARAMETERS if name in given}
        return super().get_params() | kept

    def _Dataset__sample(self, seqs, total_nrow):
        (sequence,) = seqs
        indices = self._create_sample_indices(total_nrow=total_nrow)
        starts = range(0, len(indices), _BATCH)
        batches = (sequence.rows.take(indices[start : start + _BATCH]).array() for start in starts)
        values, numbers = nonzero_columns(batches, len(indices), sequence.rows.shape[1])
        if not any(map(len, values)):  # LightGBM makes no bins of zeros alone
            values[0], numbers[0] = np.ones(1), np.zeros(1, np.int32)
        sort = partial(_sort, dtype=sequence.rows.dtype)
        in_threads(int((self.params or {}).get("num_threads", 1)), sort, values)
        return values, numbers


class BinnedDataset(BatchedDataset):
    """A dataset of LightGBM that is read from a file with the bins of all rows.

    Attributes
    ----------
    template : Template
        How the file stores rows.
    """

    template: Template


def make_dataset(
    rows: Rows,
    *,
    params: dict[str, Any] | None = None,
    whole: bool = False,
    reference: lightgbm.Dataset | None = None,
    **options: Any,
) -> lightgbm.Dataset:
    """Return a dataset of the rows; ``whole`` copies them, which a continued fit needs.

    With ``params``, LightGBM gets many rows in bins. Otherwise sparse rows are copied, too, because
    LightGBM reads only dense rows in batches. A worker without rows gets a row of zeros, because
    LightGBM refuses an empty dataset.
    """
    if params is not None and not whole:
        binned = _binned_dataset(rows, params, reference, **options)
        if binned is not None:
            return binned
    if len(rows) == 0:
        rows = Rows(np.zeros((1, rows.shape[1])))
    if rows.is_batched:
        data: Any = ReadSequence(rows)
    elif rows.order is not None and not whole and not rows.is_sparse:
        data = RowSequence(rows)
    else:
        data = _some_not_zero(rows.array())
    return BatchedDataset(
        data,
        label=np.zeros(len(rows), dtype=np.float32),  # required, but only the objective has labels
        params=params,
        reference=reference,
        **options,
    )


def _sort(values: np.ndarray, dtype: np.dtype) -> None:
    """Sort values of the sample, which LightGBM itself would do, more slowly.

    Missing values would have another place than LightGBM leaves them at.
    """
    if not np.isnan(values).any():
        single = dtype == np.float32
        values[:] = np.sort(values.astype(np.float32 if single else np.float64))


def _binned_dataset(
    rows: Rows, params: dict[str, Any], reference: lightgbm.Dataset | None, **options: Any
) -> BinnedDataset | None:
    """Return the dataset that LightGBM would make of the rows, from bins of ours; None if not.

    See :mod:`treerank.feature_parts.engines.lightgbm_bins`.
    """
    if not _can_bin(rows, params) or not isinstance(reference, BinnedDataset | None):
        return None
    try:
        template = reference.template if reference else _template(rows, params, **options)
        with template.file_of(rows) as path:
            dataset = BinnedDataset(path, params=params, reference=reference, **options)
            dataset.template = template
            dataset.construct()
            dataset.label = None  # a copy of zeros
            return dataset
    except (UnknownFormat, lightgbm.basic.LightGBMError, OSError):
        return None


def _can_bin(rows: Rows, params: dict[str, Any]) -> bool:
    """Tell whether to bin rows ourselves: many rows in memory, of which a file can hold all."""
    is_dense = not rows.is_batched and not rows.is_sparse and rows.dtype in (np.float32, np.float64)
    is_usual = params.get("max_bin", 255) < 256 and "linear_tree" not in params
    is_large = len(rows) >= _MANY_ROWS and len(rows) * rows.shape[1] >= _MANY_CELLS
    return is_dense and is_usual and is_large and hasattr(os, "memfd_create")


def _template(rows: Rows, params: dict[str, Any], **options: Any) -> Template:
    """Return how LightGBM stores the rows, some of which it gets, with some special values."""
    few = rows.take(np.arange(_FEW) * (len(rows) // _FEW)).array()
    few[: len(_SPECIAL)] = np.array(_SPECIAL)[:, None]
    label = np.zeros(len(rows), dtype=np.float32)
    sequence = FewRowsSequence(rows, few)
    data = BatchedDataset(sequence, label=label, params=params, **options).construct()
    last = BatchedDataset(None, params=params, reference=data)
    last.used_indices = list(range(sequence.batch_size, len(rows)))
    with ScratchFolder() as folder:
        path = os.path.join(folder, "few.bin")
        last.save_binary(path)
        return Template.read(Path(path).read_bytes(), few)


def make_reference(rows: Rows, params: dict[str, Any], **options: Any) -> lightgbm.Dataset | None:
    """Return a dataset with the bins of rows that have places, those of all workers; else None."""
    team = current_team()
    if rows.places is None:
        return None
    dataset = BatchedDataset(None, params=params, **options)
    drawn = dataset._create_sample_indices(total_nrow=sum(team.gather(len(rows))))
    sample = rows_of_team(rows.take(np.flatnonzero(np.isin(rows.places, drawn))))
    dataset.data = _some_not_zero(sample.array())
    return dataset.set_label(np.zeros(len(sample))).construct()


def for_dataset(derivatives: np.ndarray) -> np.ndarray:
    """Return the derivatives of a dataset, which has a row of zeros in place of no rows."""
    return derivatives if len(derivatives) else np.zeros((1, *derivatives.shape[1:]), np.float32)


def _some_not_zero(values: Any) -> Any:
    """Return the values, or ones in a column if all are zero, of which LightGBM makes no bins."""
    stored = values.data if issparse(values) else values
    batches = (stored[start : start + _BATCH] for start in range(0, len(stored), _BATCH))
    if any((~(np.abs(batch) <= ZERO)).any() for batch in batches):
        return values
    rows = np.arange(values.shape[0])
    return csr_matrix((np.ones(len(rows)), (rows, 0 * rows)), shape=values.shape)


def progress_callback(
    progress: Progress, n_outputs: int, dump: Callable[[Any], Any]
) -> Callable[[Any], None]:
    """Return a callback that records each iteration and stops LightGBM when ``progress`` does."""

    def record(env: Any) -> None:
        if progress.record(env.model.num_trees() // n_outputs, lambda: dump(env.model)):
            raise EarlyStopException(env.iteration, [])

    return record


def check_values(engine_params: dict[str, Any]) -> None:
    """Refuse values that LightGBM does not take; it has no other check than to make a model."""
    data = lightgbm.Dataset(np.zeros((2, 1)), label=np.zeros(2), params=_QUIET)
    try:
        lightgbm.Booster({**_QUIET, **engine_params}, data)
    except (lightgbm.basic.LightGBMError, TypeError) as error:
        reason = str(error).partition(" at /")[0]  # without the place in LightGBM's code
        raise ValueError(
            f"engine_params must be what LightGBM takes; got {shown(engine_params)}: {reason}"
        ) from error


def main_names() -> dict[str, str]:
    """Return the main name of every parameter of LightGBM, by all its names."""
    from lightgbm.basic import _ConfigAliases

    aliases = _ConfigAliases._get_all_param_aliases()
    return {alias: main for main, others in aliases.items() for alias in (main, *others)}
