"""The binary cache: the result of reading a file, kept beside it.

It is never stale: a cache names the size, the time and the checksums of the file it was made
from, and is used only if all of them still hold. Size and time alone would do for most edits,
but a copy that restores the time, or two writes within one tick of the clock, would go unseen;
the checksums cost a fraction of the parsing they save. It is never half-written: it is put in
place whole, and carries checksums of its own. One that is damaged is ignored and replaced.
No pickle is involved, so a stranger's cache runs no code.
"""

import json
import math
import os
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix, issparse

from treerank.datasets.ranking_data import RankingData
from treerank.files.blocks import replaced_file
from treerank.numerics.threads import threads_allowed

_FORMAT = "treerank cache 1"
_SEGMENT = 2**22


def cache_path(path, options):
    """Return where the cache of a file lies: beside it, one for each kind of result."""
    path = Path(path)
    shape = "sparse" if options["is_sparse"] else "dense"
    comments = "-comments" if options["keeps_comments"] else ""
    return path.with_name(f"{path.name}.{shape}-{options['dtype'].name}{comments}.treerank-cache")


def read_through_cache(path, options, parse):
    """Return ``parse(path, options)``, or what it returned when the file was the same.

    Parameters
    ----------
    path : path-like
        File to read.
    options : dict
        Options of the parser, ``is_sparse``, ``keeps_comments``, ``dtype`` and ``n_features``.
    parse : callable
        Reads the file where there is no good cache.

    Returns
    -------
    RankingData
        Equal to what ``parse`` returns.
    """
    key = _key(path, options)
    place = cache_path(path, options)
    data = _load(place, key)
    if data is not None:
        return data
    data = parse(path, options)
    if _key(path, options) == key:  # it was not rewritten while we read it
        _try_to_store(place, key, data)
    return data


def _key(path, options):
    status = os.stat(path)
    return {
        "format": _FORMAT,
        "n_features": options["n_features"],
        "size": status.st_size,
        "time": status.st_mtime_ns,
        "checksums": _checksums(path, 0, status.st_size),
    }


def _checksums(path, start, size):
    """Return a CRC-32 of each segment, so that one of them sees a change of 4 MiB at most."""

    def checksum(segment):
        with open(path, "rb") as file:
            file.seek(start + segment)
            return zlib.crc32(file.read(min(_SEGMENT, size - segment)))

    with ThreadPoolExecutor(threads_allowed()) as pool:
        return list(pool.map(checksum, range(0, size, _SEGMENT)))


def _try_to_store(place, key, data):
    try:
        _store(place, key, data)
    except OSError as reason:
        warnings.warn(f"No cache could be written to {place}: {reason}", UserWarning, stacklevel=4)


def _store(place, key, data):
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


def _load(place, key):
    """Return the data of a whole cache with this key, else None."""
    try:
        with open(place, "rb") as file:
            header = _read_header(file)
            if header is None or header["key"] != key:
                return None
            arrays = {name: _read_array(file, *rest) for name, *rest in header["arrays"]}
            if file.read(1):
                return None
            return _unpacked(arrays, tuple(header["shape"]))
    except (OSError, ValueError):
        return None


def _read_header(file):
    checksum, _, line = file.readline().rstrip(b"\n").partition(b" ")
    return json.loads(line) if checksum == b"%08x" % zlib.crc32(line) else None


def _read_array(file, dtype, shape, checksums):
    if np.dtype(dtype).kind not in "fiUu":  # raw bytes must not be taken for Python objects
        raise ValueError(f"dtype must be numbers or strings; got {dtype!r}.")
    n_bytes = np.dtype(dtype).itemsize * math.prod(shape)
    if n_bytes > os.fstat(file.fileno()).st_size:
        raise ValueError("the file must be whole.")
    array = np.empty(shape, dtype=dtype)
    if file.readinto(_bytes_of(array)) != n_bytes or _array_checksums(array) != checksums:
        raise ValueError("the array must be as it was written.")
    return array


def _bytes_of(array):
    return memoryview(array.reshape(-1).view(np.uint8)) if array.size else memoryview(bytearray())


def _array_checksums(array):
    content = _bytes_of(array)
    with ThreadPoolExecutor(threads_allowed()) as pool:
        starts = range(0, len(content), _SEGMENT)
        return list(pool.map(lambda start: zlib.crc32(content[start : start + _SEGMENT]), starts))


def _packed(data):
    """Return the arrays that make up the data, none of them of Python objects."""
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
    if "X" in arrays:
        X = arrays["X"]
    else:
        X = csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        X.check_format(full_check=True)
        X.has_canonical_format = True
    return RankingData(X, arrays["y"], arrays["qid"], _unpacked_comments(arrays))


def _unpacked_comments(arrays):
    if "comments" not in arrays:
        return None
    text, ends = arrays["comments"].tobytes(), arrays["comment_ends"].tolist()
    comments = [
        text[start:end].decode("utf-8", "surrogateescape")
        for start, end in zip([0, *ends], ends, strict=False)
    ]
    return np.array(comments, dtype=object)
