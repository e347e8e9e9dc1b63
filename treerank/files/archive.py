"""Archive: one file of plain values, for models; reading one runs no code.

A zip file: ``treerank.json`` says what the file is and holds every JSON value; arrays lie
beside it as ``.npy`` files (never pickled) and bytes as they are. What JSON cannot say is a
one-entry object whose key starts with ``$``. To add a kind of value, add a case to ``_pack``
and its reader to ``_UNPACK``.
"""

import io
import json
import math
import os
import secrets
import zipfile
import zlib
from importlib.metadata import version
from pathlib import Path

import numpy as np

FORMAT = "treerank model"
FORMAT_VERSION = 1
_MANIFEST = "treerank.json"
_ZIP_START = b"PK\x03\x04"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # no clock in the file: the same model gives the same bytes


def write_archive(path, content):
    """Write a tree of plain values; a kill in the middle leaves the old file or none.

    Parameters
    ----------
    path : str or path
        Where to; replaced in one step once the new file is whole.
    content : dict
        JSON values, tuples, bytes and arrays, in dicts and lists. Anything else is stored as the
        text of its name alone.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "numbers.treerank"
    >>> write_archive(path, {"weight": np.array([1.0, 2.0]), "tau": "tanh"})
    >>> read_archive(path)
    {'weight': array([1., 2.]), 'tau': 'tanh'}
    """
    files: dict[str, bytes] = {}
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": version("treerank"),
        "content": _pack(content, files),
    }
    text = json.dumps(manifest, allow_nan=False).encode()
    _replace(Path(path), _zipped({_MANIFEST: text, **files}))


def read_archive(path):
    """Read what :func:`write_archive` wrote.

    Raises
    ------
    ValueError
        The file is truncated or damaged, no treerank model, or written by a newer version.
    """
    data = Path(path).read_bytes()
    _refuse_foreign_start(data, path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        manifest = json.loads(members[_MANIFEST])
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"path must be a whole file; {path} is truncated or damaged.") from error
    except (KeyError, ValueError) as error:
        raise ValueError(f"path must be a treerank model; {path} is something else.") from error
    _refuse_foreign_manifest(manifest, path)
    try:
        return _unpack(manifest["content"], members)
    except (KeyError, TypeError, ValueError, EOFError, RecursionError) as error:
        raise ValueError(f"path must be an undamaged file; got {error!r} in {path}.") from error


def _refuse_foreign_start(data, path):
    name = data[30 : 30 + len(_MANIFEST)]  # of the first member, right after its 30-byte header
    if not (_ZIP_START.startswith(data[:4]) or data.startswith(_ZIP_START)) or (
        not _MANIFEST.encode().startswith(name)
    ):
        raise ValueError(f"path must be a treerank model; {path} is something else.")


def _refuse_foreign_manifest(manifest, path):
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(f"path must be a treerank model; {path} is something else.")
    found = manifest.get("format_version")
    if not isinstance(found, int) or found > FORMAT_VERSION:
        raise ValueError(
            f"path must be of format version {FORMAT_VERSION} or older; {path} is newer: version "
            f"{found!r}, written by treerank {manifest.get('library_version')!r}."
        )


def _replace(path, data):
    # In the same folder, since only within one file system a rename is one step.
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with beside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _pack(value, files):
    """Return ``value`` in JSON, putting arrays and bytes into ``files``."""
    match value:
        case None | bool() | str() | int():
            return value
        case np.generic():
            return _pack(value.item(), files)
        case float():
            return value if math.isfinite(value) else {"$float": repr(value)}
        case bytes() | bytearray():
            return {"$bytes": _keep(bytes(value), "bytes", files)}
        case np.ndarray() if not value.dtype.hasobject:
            return {"$array": _keep(_npy(value), "npy", files)}
        case np.ndarray():
            return {"$objects": [_pack(v, files) for v in value.tolist()]}
        case list():
            return [_pack(v, files) for v in value]
        case tuple():
            return {"$tuple": [_pack(v, files) for v in value]}
        case dict() if all(isinstance(k, str) and not k.startswith("$") for k in value):
            return {k: _pack(v, files) for k, v in value.items()}
        case dict():
            return {"$items": [[_pack(k, files), _pack(v, files)] for k, v in value.items()]}
    return {"$unsaved": getattr(value, "__name__", type(value).__name__)}


def _keep(data, suffix, files):
    name = f"{len(files)}.{suffix}"
    files[name] = data
    return name


def _npy(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _unpack(value, files):
    if isinstance(value, list):
        return [_unpack(v, files) for v in value]
    if not isinstance(value, dict):
        return value
    kind = next(iter(value), "")
    if not kind.startswith("$"):
        return {k: _unpack(v, files) for k, v in value.items()}
    if kind not in _UNPACK:
        raise ValueError(f"unknown kind of value {kind!r}")
    return _UNPACK[kind](value[kind], files)


def _read_array(name, files):
    return np.lib.format.read_array(io.BytesIO(files[name]), allow_pickle=False)


def _read_objects(values, files):
    array = np.empty(len(values), dtype=object)
    array[:] = _unpack(values, files)
    return array


def _read_float(text, files):
    return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[text]


_UNPACK = {
    "$array": _read_array,
    "$objects": _read_objects,
    "$bytes": lambda name, files: files[name],
    "$float": _read_float,
    "$tuple": lambda values, files: tuple(_unpack(values, files)),
    "$items": lambda pairs, files: {_unpack(k, files): _unpack(v, files) for k, v in pairs},
    "$unsaved": lambda name, files: f"{name} (not saved)",
}
