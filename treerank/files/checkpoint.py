"""Checkpoints: files from which an interrupted fit resumes, and ends with the same model."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treerank.checks import check_count, quote
from treerank.files.archive import is_archive, one_error, read_archive, write_archive
from treerank.parameters import check_arguments


@dataclass(frozen=True)
class Checkpoint:
    """File in which the state of a fit is saved after every ``every`` iterations.

    If several workers grow the same trees, only one ``is_writer``; the others read alone.
    """

    path: Path
    every: int
    is_writer: bool = True

    def save(self, fit: str, state: dict[str, Any]) -> None:
        """Replace the file by a state, in one step.

        ``fit`` is a digest of the fit's settings and data.
        """
        write_archive(self.path, {"checkpoint_of": fit, "state": state})

    def load(self, fit: str) -> dict[str, Any] | None:
        """Return the state that was last saved; None if there is no file, or one of another fit."""
        if not self.path.exists():
            return None
        content = read_archive(self.path)
        with one_error(f"path must hold a checkpoint; {self.path} does not"):
            state: dict[str, Any] = content["state"]
            return state if content["checkpoint_of"] == fit else None


_CHECKPOINT: ContextVar[Checkpoint | None] = ContextVar("checkpoint", default=None)


def current_checkpoint() -> Checkpoint | None:
    """Return the checkpoint of the enclosing block; None outside of any."""
    return _CHECKPOINT.get()


@check_arguments
@contextmanager
def checkpointing(path: str | Path | None, *, every: int = 10) -> Iterator[None]:
    """Save boosted trees every few iterations, so that a fit that was killed can resume.

    If the file contains trees of a fit with the same settings, data, objective, metric and
    ``eval_set``, a fit in the block continues from them. It ends with the model of an uninterrupted
    fit, bit for bit, and with complete learning curves. The number of trees may differ. If the file
    belongs to another fit, it is replaced, and the fit starts anew. A fit also starts anew, with a
    warning, if the ``random_state`` of the ranker is None, since the random numbers then differ.
    The file holds the trees of one fit, so stages and ensembles with several boosted parts start
    anew, too. Trees of LightGBM and XGBoost must not be grown with ``engine_params``, and those of
    LightGBM draw rows for each tree or not at all (``subsample_freq`` of at most 1). Rankers
    without boosted trees are refused, except for your own feature parts with ``resumes = True``.

    Parameters
    ----------
    path : str, path or None
        File to write and, if it exists, to read; ``None`` saves nothing.
    every : int, default=10
        Number of iterations between two checkpoints.

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> X, y, qid = [[3.0], [1.0], [2.0]] * 20, [1, 0, 0] * 20, [7] * 60
    >>> path = getfixture("tmp_path") / "fit.checkpoint"
    >>> with checkpointing(path, every=5):
    ...     ranker = TreeDirectRanker(random_state=0).fit(X, y, qid)
    >>> path.exists()
    True
    """
    check_count("every", every)
    with using(None if path is None else Checkpoint(_checked_path(path), every)):
        yield


def _checked_path(path: str | Path) -> Path:
    """Return the absolute path of a checkpoint file.

    Refuse one that cannot be written or replaced.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be None or the path of a file to write; got {quote(path)}.")
    absolute = Path(path).absolute()
    if absolute.is_dir():
        raise ValueError(
            f"path must be a file; got the folder {absolute}. "
            f"{quote(str(absolute / 'fit.checkpoint'))} is a "
            "file in it."
        )
    if not absolute.parent.is_dir():
        raise ValueError(f"path must be in a folder that exists; got {quote(str(absolute))}.")
    if not absolute.exists():
        return absolute
    content = read_archive(absolute) if is_archive(absolute) else None
    if not isinstance(content, dict) or content.keys() != {"checkpoint_of", "state"}:
        kind = "something else" if content is None else "another file of treerank, such as a model"
        raise ValueError(
            "path must be a new file, or one that checkpointing wrote, which a fit replaces; "
            f"{absolute} is {kind}. Write another path, or delete the file."
        )
    return absolute


@contextmanager
def using(checkpoint: Checkpoint | None) -> Iterator[None]:
    """Make fits inside the block save to a checkpoint and resume from it.

    ``None`` turns this off.
    """
    token = _CHECKPOINT.set(checkpoint)
    try:
        yield
    finally:
        _CHECKPOINT.reset(token)
