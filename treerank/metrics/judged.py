"""Judged: how much of the first documents anybody has judged; a label of NaN says nobody has."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import as_numbers, warn_user
from treerank.inputs.grouping import QueryGroups
from treerank.metrics.base import Metric, PreparedMetric
from treerank.metrics.threshold_metrics import expected_hits

#: Where less of the first documents is judged, the value of a metric says little.
_ENOUGH, _DEPTH = 0.9, 10


@dataclass(frozen=True, kw_only=True)
class Judged(Metric):
    """Judged: the share of the first k documents whose label is not NaN.

    It is to be read beside a metric, which leaves other documents out. The parameters are those of
    :class:`~treerank.metrics.base.Metric`.

    Examples
    --------
    >>> Judged(k=2)([0, np.nan, 1], [0.3, 0.2, 0.1])
    0.5
    """

    stem: ClassVar[str] = "judged"
    list_total: ClassVar[Callable[..., float]] = expected_hits

    def worth(self, y: np.ndarray) -> np.ndarray:
        """Return 1 for judged documents and 0 for others."""
        return y

    def ideal(self, worth: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        """Return k, or the number of documents where there are fewer."""
        return np.minimum(np.diff(indptr), self.depth).astype(np.float64)

    def per_query(
        self, y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None
    ) -> np.ndarray:
        """Return one value per query, in the order of ``np.unique(qid)``."""
        return self._prepare(y, qid).per_query(scores)

    def _prepare(self, y: ArrayLike, qid: ArrayLike | QueryGroups | None) -> PreparedMetric:
        return super()._prepare(~np.isnan(as_numbers("y", y)), qid)


def judged_share(y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None) -> float:
    """Return the share of the first 10 documents that are judged.

    Examples
    --------
    >>> judged_share([0, 1, 2, np.nan], [0.4, 0.3, 0.2, 0.1], None)
    0.75
    """
    if not np.isnan(as_numbers("y", y)).any():
        return 1.0
    return Judged(k=_DEPTH)(y, scores, qid)


def warn_of_unjudged(share: float) -> None:
    """Warn if more than a tenth of the first 10 documents is not judged.

    Examples
    --------
    >>> warn_of_unjudged(0.75)
    Traceback (most recent call last):
    ...
    UserWarning: Of the first 10 documents, 75 % are judged (judged@10). Others, whose label is \
NaN, are left out of metrics; np.nan_to_num(y) takes them as 0.
    """
    if share < _ENOUGH:
        warn_user(
            f"Of the first {_DEPTH} documents, {100 * share:.0f} % are judged (judged@{_DEPTH}). "
            "Others, whose label is NaN, are left out of metrics; np.nan_to_num(y) takes them as 0."
        )
