"""Archives: one file of plain values, in which models are saved; reading it runs no code.

An archive is a zip file. Its member ``treerank.json`` holds the format's name and version and all
JSON values. Arrays are members of their own, as ``.npy`` files (never pickled), and so are bytes.
A value that JSON does not know is an object with one entry, whose key starts with ``$``. To add a
kind of value, add a case to ``_pack`` and its reader to ``_UNPACK``.
"""

import io
import json
import math
import zipfile
import zlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from treerank.files.replaced import replaced_file

FORMAT = "treerank model"
FORMAT_VERSION = 1
_MANIFEST = "treerank.json"
_ZIP_START = b"PK\x03\x04"
# A fixed date instead of the clock: the same model gives the same bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_archive(path: str | Path, content: dict[str, Any]) -> None:
    """Write nested plain values to a file.

    Parameters
    ----------
    path : str or path
        File to write. It is replaced in one step once the new file is whole, so that a killed
        process leaves the old file or none.
    content : dict
        JSON values, tuples, bytes and arrays, in dicts and lists. Of any other object only the
        name is stored.

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
    with replaced_file(path) as file:
        file.write(_zipped({_MANIFEST: text, **files}))


def read_archive(path: str | Path) -> Any:
    """Read a file that :func:`write_archive` wrote.

    Parameters
    ----------
    path : str or path
        File to read.

    Returns
    -------
    dict
        The values; an object of which only the name was stored is a text.

    Raises
    ------
    ValueError
        If the file is truncated, damaged, no treerank model or written by a newer version.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "loss.treerank"
    >>> write_archive(path, {"loss": max})
    >>> read_archive(path)
    {'loss': 'max (not saved)'}
    """
    data = Path(path).read_bytes()
    _check_first_bytes(data, path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        manifest = json.loads(members[_MANIFEST])
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"path must be a whole file; {path} is truncated or damaged.") from error
    except (KeyError, ValueError) as error:
        raise ValueError(f"path must be a treerank model; {path} is something else.") from error
    _check_manifest(manifest, path)
    try:
        return _unpack(manifest["content"], members)
    except (KeyError, TypeError, ValueError, EOFError, RecursionError) as error:
        raise ValueError(f"path must be an undamaged file; got {error!r} in {path}.") from error


def _check_first_bytes(data, path):
    """Refuse a file that is not the beginning of a zip file whose first member is the manifest."""
    name = data[30 : 30 + len(_MANIFEST)]  # the first member's name follows a header of 30 bytes
    if not (_ZIP_START.startswith(data[:4]) or data.startswith(_ZIP_START)) or (
        not _MANIFEST.encode().startswith(name)
    ):
        raise ValueError(f"path must be a treerank model; {path} is something else.")


def _check_manifest(manifest, path):
    """Refuse another format and a newer version of this one."""
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(f"path must be a treerank model; {path} is something else.")
    found = manifest.get("format_version")
    if not isinstance(found, int) or found > FORMAT_VERSION:
        raise ValueError(
            f"path must be of format version {FORMAT_VERSION} or older; {path} is newer: version "
            f"{found!r}, written by treerank {manifest.get('library_version')!r}."
        )


def _zipped(files):
    """Return the bytes of a zip file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _pack(value, files):
    """Return ``value`` as JSON values; arrays and bytes are added to ``files``."""
    match value:
        case None | bool() | str() | int():
            return value
        case np.generic():
            return _pack(value.item(), files)
        case float():
            return value if math.isfinite(value) else {"$float": repr(value)}
        case bytes() | bytearray():
            return {"$bytes": _add_file(bytes(value), "bytes", files)}
        case np.ndarray() if not value.dtype.hasobject:
            return {"$array": _add_file(_npy(value), "npy", files)}
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


def _add_file(data, suffix, files):
    """Add a member and return its name."""
    name = f"{len(files)}.{suffix}"
    files[name] = data
    return name


def _npy(array):
    """Return an array as the bytes of a ``.npy`` file."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _unpack(value, files):
    """Return the value that ``_pack`` was given."""
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
