"""Hashes of query ids: the same for the same id, in every process."""

from datetime import date
from hashlib import blake2b
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.inputs.grouping import QueryGroups


def id_hashes(qid: ArrayLike, n_documents: int | None = None) -> np.ndarray:
    """Return a hash of 64 bits for each query id; the hashes of equal ids are equal.

    Ids are equal as in Python: ``1`` and ``1.0`` are, ``1`` and ``"1"`` are not. Two different ids
    have the same hash with a probability of 2^-64.

    Examples
    --------
    >>> first, second = id_hashes([3, 5]), id_hashes(np.array([5.0]))
    >>> first.dtype, bool(first[1] == second[0])
    (dtype('uint64'), True)
    """
    groups = QueryGroups.from_qid(qid, n_documents)
    ids: Any = qid
    if not isinstance(qid, np.ndarray):
        ids = np.empty(groups.n_documents, dtype=object)
        ids[:] = list(qid)  # type: ignore[arg-type]
    hashes = [_hash_of(value) for value in groups.first_of(ids)]
    return np.array(hashes, dtype=np.uint64)[groups.codes]


def _hash_of(value: Any) -> int:
    """Return the hash of one id."""
    if isinstance(value, date | np.datetime64):
        text = f"date {np.datetime64(value).astype('datetime64[ns]')}"
    elif isinstance(value, Real):
        is_whole = isinstance(value, int | np.integer) or float(value).is_integer()
        text = f"number {int(value) if is_whole else float(value)}"  # type: ignore[call-overload]
    else:
        text = f"{type(value).__name__.removesuffix('_')} {value}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
