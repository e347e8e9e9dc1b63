"""The binary cache: parsed data that are stored beside the file they were read from.

A cache stores the size, the time and checksums of its file and is used only if they are still the
same. Size and time alone would not show a copy that restores the time, or two writes within one
tick of the clock. A cache replaces an older one in one step once it is whole, and it has checksums
of its own: a damaged cache is ignored and replaced, and so is one that holds what no file gives.
Nothing is pickled, so reading a cache runs no code.
"""

import json
import math
import os
import sys
import warnings
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from treerank.datasets.ranking_data import RankingData
from treerank.files.compression import is_regular_file
from treerank.files.replaced import replaced_file
from treerank.numerics.threads import threads_allowed

_FORMAT = "treerank cache 1"
_SEGMENT = 2**22  # bytes that one checksum covers


def cache_path(path: str | Path, options: dict[str, Any]) -> Path:
    """Return the path of a file's cache; each kind of result has its own."""
    path = Path(path)
    shape = "sparse" if options["is_sparse"] else "dense"
    comments = "-comments" if options["keeps_comments"] else ""
    return path.with_name(f"{path.name}.{shape}-{options['dtype'].name}{comments}.treerank-cache")


def read_through_cache(
    path: str | Path,
    options: dict[str, Any],
    parse: Callable[[str | Path, dict[str, Any]], RankingData],
) -> RankingData:
    """Return ``parse(path, options)``, from the cache if it is valid.

    Parameters
    ----------
    path : str or path
        File to read.
    options : dict
        Options of the parser: ``is_sparse``, ``keeps_comments``, ``dtype`` and ``n_features``.
    parse : callable
        Parses the file if there is no valid cache.

    Returns
    -------
    RankingData
        Equal to the result of ``parse``.
    """
    if not is_regular_file(path):
        raise ValueError(f"cache must be False for what is no regular file; got {str(path)!r}.")
    key = _key(path, options)
    place = cache_path(path, options)
    data = _load(place, key, options)
    if data is not None:
        return data
    data = parse(path, options)
    if _key(path, options) == key:  # the file did not change while it was parsed
        _try_to_store(place, key, data)
    return data


def _key(path, options):
    """Return the properties of a file and of a result, which must be those in its cache."""
    status = os.stat(path)
    return {
        "format": _FORMAT,
        "n_features": options["n_features"],
        "size": status.st_size,
        "time": status.st_mtime_ns,
        "checksums": _checksums(path, status.st_size),
    }


def _checksums(path, size):
    """Return a CRC-32 of each segment of a file."""

    def checksum(segment):
        with open(path, "rb") as file:
            file.seek(segment)
            return zlib.crc32(file.read(min(_SEGMENT, size - segment)))

    with ThreadPoolExecutor(threads_allowed()) as pool:
        return list(pool.map(checksum, range(0, size, _SEGMENT)))


def _try_to_store(place, key, data):
    """Store the data, or warn if nothing can be written there."""
    try:
        _store(place, key, data)
    except OSError as reason:
        warnings.warn(f"No cache could be written to {place}: {reason}", UserWarning, stacklevel=4)


def _store(place, key, data):
    """Write a line with the header and its checksum, then the bytes of the arrays."""
    arrays = {name: np.ascontiguousarray(array) for name, array in _packed(data).items()}
    header = {
        "key": key,
        "shape": list(data.X.shape),
        "arrays": [
            [name, array.dtype.str, array.shape, _array_checksums(array)]
            for name, array in arrays.items()
        ],
    }
    line = json.dumps(header).encode()
    with replaced_file(place) as file:
        file.write(b"%08x %s\n" % (zlib.crc32(line), line))
        for array in arrays.values():
            file.write(_bytes_of(array))


def _load(place, key, options):
    """Return the data of a whole cache with the same key, else None."""
    try:
        with open(place, "rb") as file:
            header = _read_header(file)
            if header is None or header["key"] != key:
                return None
            arrays = {name: _read_array(file, *rest) for name, *rest in header["arrays"]}
            data = _unpacked(arrays, tuple(header["shape"]))
            return None if file.read(1) or not _is_possible(data, options) else data
    except Exception:  # whatever is wrong with a cache, its file can be read instead
        return None


def _is_possible(data, options):
    """Tell whether a reader with these options could have returned the data."""
    X, y, qid = data
    return (
        (issparse(X) and X.has_canonical_format) == options["is_sparse"]
        and X.dtype == options["dtype"]
        and X.shape == (len(y), options["n_features"] or X.shape[1])
        and y.dtype == np.float64
        and np.isfinite(y).all()
        and qid.shape == y.shape
        and _are_ids(qid)
        and (data.comments is not None) == options["keeps_comments"]
        and (data.comments is None or len(data.comments) == len(y))
    )


def _are_ids(qid):
    """Tell whether an array holds integers or readable strings."""
    if qid.dtype.kind != "U":
        return qid.dtype == np.int64
    return qid.dtype.isnative and qid.view(np.uint32).max(initial=0) <= sys.maxunicode


def _read_header(file):
    """Return the header, or None if it is damaged."""
    checksum, _, line = file.readline().rstrip(b"\n").partition(b" ")
    return json.loads(line) if checksum == b"%08x" % zlib.crc32(line) else None


def _read_array(file, dtype, shape, checksums):
    """Read the bytes of an array; a ValueError says that they are not what was written."""
    if np.dtype(dtype).kind not in "fiUu":  # bytes must not become pointers to objects
        raise ValueError(f"dtype must be numbers or strings; got {dtype!r}.")
    n_bytes = np.dtype(dtype).itemsize * math.prod(shape)
    if n_bytes > os.fstat(file.fileno()).st_size:
        raise ValueError("the file must be whole.")
    array = np.empty(shape, dtype=dtype)
    if file.readinto(_bytes_of(array)) != n_bytes or _array_checksums(array) != checksums:
        raise ValueError("the array must be as it was written.")
    return array


def _bytes_of(array):
    """Return a view of the bytes of an array."""
    return memoryview(array.reshape(-1).view(np.uint8)) if array.size else memoryview(bytearray())


def _array_checksums(array):
    """Return a CRC-32 of each segment of an array."""
    content = _bytes_of(array)
    with ThreadPoolExecutor(threads_allowed()) as pool:
        starts = range(0, len(content), _SEGMENT)
        return list(pool.map(lambda start: zlib.crc32(content[start : start + _SEGMENT]), starts))


def _packed(data):
    """Return the data as arrays by name, none of them of Python objects."""
    arrays = {"y": data.y, "qid": data.qid}
    if issparse(data.X):
        arrays |= {"data": data.X.data, "indices": data.X.indices, "indptr": data.X.indptr}
    else:
        arrays["X"] = data.X
    if data.comments is not None:
        encoded = [comment.encode("utf-8", "surrogateescape") for comment in data.comments]
        arrays["comments"] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        arrays["comment_ends"] = np.cumsum([len(comment) for comment in encoded])
    return arrays


def _unpacked(arrays, shape):
    """Return the data that ``_packed`` was given."""
    if "X" in arrays:
        X = arrays["X"]
    else:
        X = csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        X.check_format(full_check=True)
    return RankingData(X, arrays["y"], arrays["qid"], _unpacked_comments(arrays))


def _unpacked_comments(arrays):
    if "comments" not in arrays:
        return None
    text, ends = arrays["comments"].tobytes(), arrays["comment_ends"].tolist()
    if sorted([0, *ends, len(text)]) != [0, *ends, len(text)]:
        raise ValueError("the ends of comments must rise.")
    comments = [
        text[start:end].decode("utf-8", "surrogateescape")
        for start, end in zip([0, *ends], ends, strict=False)
    ]
    return np.array(comments, dtype=object)
