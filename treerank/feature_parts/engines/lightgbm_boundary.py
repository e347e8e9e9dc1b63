"""The boundary to LightGBM: rows go in, as they lie or by batches; progress comes out."""

import lightgbm
import numpy as np
from lightgbm.basic import _ConfigAliases
from lightgbm.callback import EarlyStopException

from treerank.feature_parts.engines.bin_sample import nonzero_columns

_BATCH = 16_384
_MANNERS = ("num_threads", "verbosity")


class RowSequence(lightgbm.Sequence):
    """Rows as LightGBM reads them: one by one to find bins, then in batches.

    The bins are those of the gathered array: LightGBM draws the same sample of rows from both.
    """

    batch_size = _BATCH

    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        """Return one row, or rows in a batch."""
        if isinstance(index, slice):
            return self.rows.batch(index.start, index.stop)
        return self.rows.row(index).astype(np.float64)  # LightGBM finds bins in doubles only

    def __len__(self):
        """Return the number of rows."""
        return len(self.rows)


class BatchedDataset(lightgbm.Dataset):
    """A dataset whose sample of rows is read in batches and sorted out into columns by us.

    Where LightGBM no longer asks these methods, it does so itself, row by row, to the same bins.
    """

    def get_params(self):
        """Return what a dataset knows of the parameters, how loud and how wide ones among it.

        LightGBM leaves these out where it finds bins from a sample, and then warns of samples
        that are small for it, and takes all cores.
        """
        given = self.params or {}
        return super().get_params() | {name: given[name] for name in _MANNERS if name in given}

    def _Dataset__sample(self, seqs, total_nrow):
        (sequence,) = seqs
        indices = self._create_sample_indices(total_nrow=total_nrow)
        starts = range(0, len(indices), _BATCH)
        batches = (sequence.rows.of(indices[start : start + _BATCH]).array() for start in starts)
        return nonzero_columns(batches, len(indices), sequence.rows.shape[1])


def make_dataset(rows, *, whole=False, reference=None, **options):
    """Return a dataset of the rows; ``whole`` gathers them, which continuation needs.

    Sparse rows are gathered, too, since LightGBM reads batches only of dense ones.
    """
    in_batches = rows.order is not None and not whole and not rows.is_sparse
    return BatchedDataset(
        RowSequence(rows) if in_batches else rows.array(),
        label=np.zeros(len(rows), dtype=np.float32),  # it insists; ours live in the objective
        reference=reference,
        **options,
    )


def progress_callback(progress, n_outputs):
    """Return a callback that stops LightGBM when the progress says so."""

    def record(env):
        if progress.record(env.model.num_trees() // n_outputs):
            raise EarlyStopException(env.iteration, [])

    return record


def main_names():
    """Map every name of a LightGBM parameter to the main one."""
    aliases = _ConfigAliases._get_all_param_aliases()
    return {alias: main for main, others in aliases.items() for alias in (main, *others)}
