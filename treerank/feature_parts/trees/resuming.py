"""Resuming: a fit of boosted trees goes on from a checkpoint."""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from treerank.checks import quote
from treerank.documents.canonical_order import row_hashes
from treerank.documents.rows import Rows
from treerank.feature_parts.base import Validation
from treerank.feature_parts.rows import as_rows
from treerank.feature_parts.trees.auto_sizes import Sizes
from treerank.files.checkpoint import Checkpoint, current_checkpoint
from treerank.numerics.random_keys import uniforms
from treerank.objectives.base import Objective
from treerank.progress import Progress, description_of, say, values_of

#: Parameters that may differ between a fit and the fit that resumes it.
_FREE = ("n_estimators", "n_jobs", "warm_start")


class Saver(NamedTuple):
    """Saves the trees of one fit to a checkpoint.

    Attributes
    ----------
    checkpoint : Checkpoint
        The file.
    fit : str
        Text that identifies settings and data of the fit.
    """

    checkpoint: Checkpoint
    fit: str

    def saved(self) -> dict[str, Any] | None:
        """Return the state from which the fit goes on, or None if the file has none of this fit."""
        state = self.checkpoint.load(self.fit)
        if state is None and self.checkpoint.path.exists():
            say(f"{self.checkpoint.path.name} is of another fit, and this one starts anew")
        return state

    def __call__(self, iteration: int, dump: Callable[[], Any], progress: Progress) -> None:
        """Save trees and progress if ``iteration`` is a multiple of ``checkpoint.every``.

        ``dump()`` returns the model of the engine. Only one of several workers writes.
        """
        if self.checkpoint.is_writer and iteration % self.checkpoint.every == 0:
            self.checkpoint.save(self.fit, {"model": dump(), "progress": progress.state()})


def saver_of(
    part: Any,
    rows: Rows,
    objective: Objective,
    validation: Validation | None,
    start: int,
    sizes: Sizes,
) -> Saver | None:
    """Return the :class:`Saver` of a fit; None outside of ``checkpointing(path)``.

    Refuses settings with which a resumed fit would differ from an uninterrupted one. ``start`` is
    the number of iterations of earlier fits.
    """
    checkpoint = current_checkpoint()
    if checkpoint is None:
        return None
    for name, value in part.settings_to_resume.items():
        setting = sizes.of_tree().get(name, getattr(part, name))
        if setting and setting != value:  # 0, None and an empty dict change nothing
            kind, origin = type(part).__name__, ""
            if getattr(part, name) == "auto":
                origin = ", from 'auto'"
            raise ValueError(
                f"{name} must be {quote(value)} for {kind} where the fit has a checkpoint; got "
                f"{quote(setting)}{origin}. Write {kind}({name}={quote(value)}), or "
                "HistogramTrees(), which go on from a checkpoint with any setting."
            )
    params = part.get_params() | sizes.of_tree()
    params = {name: value for name, value in params.items() if name not in _FREE}
    # To XGBoost, zeros are missing in a sparse matrix and numbers in an array.
    form = "sparse" if rows.is_sparse else "dense"
    columns = form, rows.columns.names, sorted(rows.columns.categories)
    with np.printoptions(threshold=sys.maxsize):
        settings = f"{type(part).__name__} {params} of {columns} after {_earlier(part, start)}"
    training = _training_text(rows, objective)
    watched = _validation_text(rows, validation, objective.n_outputs)
    return Saver(checkpoint, f"{settings}: {training}, {watched}")


def _earlier(part: Any, start: int) -> str:
    """Return a text that identifies the ``start`` iterations to which a fit adds."""
    if start == 0:
        return "nothing"
    trees = part.forest()
    names = "feature", "threshold", "left", "right", "missing_left", "values"
    columns = np.column_stack([getattr(trees, name) for name in names]).astype(np.float64)
    return f"{start} iterations, {row_hashes(columns, np.arange(len(columns))).sum()}"


def _training_text(rows: Rows, objective: Objective) -> str:
    """Return a text that identifies features and objective, for any number of workers."""
    indices = np.arange(len(rows)) if rows.global_indices is None else rows.global_indices
    # At equal scores, the derivatives of many losses are the same.
    derivatives = objective.derivatives(_trial_scores(indices, objective.n_outputs), iteration=0)
    by_index = row_hashes(np.column_stack([indices, *derivatives]).astype(np.float64))
    return str(_sum(rows, by_index ^ rows.hashes()))


def _validation_text(rows: Rows, validation: Validation | None, n_outputs: int) -> str:
    """Return a text that identifies validation documents and metric."""
    if validation is None:
        return "nothing is watched"
    X, metric = validation
    hashes = as_rows(X, sparse=True).hashes()
    values = values_of(
        metric, _trial_scores(hashes, n_outputs)
    )  # by content: in any order of the rows
    return f"{description_of(metric)} {values} of {_sum(rows, hashes)}"


def _trial_scores(keys: np.ndarray, n_outputs: int) -> np.ndarray:
    """Return made-up scores between -1 and 1, to tell one objective or metric from another.

    They are pseudorandom numbers of ``keys``, one key per row, so that they do not depend on the
    order of rows. Of shape (n_rows,), or (n_rows, n_outputs) for several outputs.
    """
    columns = [2 * uniforms(0, output, keys) - 1 for output in range(n_outputs)]
    return np.column_stack(columns) if n_outputs > 1 else columns[0]


def _sum(rows: Rows, hashes: np.ndarray) -> int:
    """Return the sum of hashes of documents over all workers."""
    return int(rows.total(hashes.sum(dtype=np.uint64, keepdims=True))[0])
