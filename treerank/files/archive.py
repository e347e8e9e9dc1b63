"""Archives: one file of plain values, in which models are saved; reading it runs no code.

An archive is a zip file. Its member ``treerank.json`` holds the format's name and version and all
JSON values. Arrays are members of their own, as ``.npy`` files (never pickled), and so are bytes.
A value that JSON does not know is an object with one entry, whose key starts with ``$``. To add a
kind of value, add a case to ``_pack`` and its reader to ``_UNPACK``.

A file may be forged. So only members that the manifest names are read, each once, and the memory
taken is bounded by a multiple of the file's size: zip files can hold a thousand times their size.
What is written always keeps to these bounds.
"""

import io
import json
import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from treerank.checks import NOT_SAVED, naming, quote
from treerank.files.replaced import replaced_file

FORMAT = "treerank model"
FORMAT_VERSION = 1
_MANIFEST = "treerank.json"
_ZIP_START = b"PK\x03\x04"
# A fixed date instead of the clock: the same model gives the same bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)
#: Most bytes of all members of a file: a constant plus a multiple of the size of the file.
_MOST_BYTES, _TIMES_FILE = 2**25, 4
#: Most JSON values of a manifest: a constant plus one per number of bytes of the file.
_MOST_VALUES, _FILE_PER_VALUE = 2**20, 8
#: Kinds of the dtypes of arrays: numbers, text and times.
ARRAY_KINDS = "?biufcSUmM"
#: Longest header of an array; numpy's own are shorter by far.
_MOST_HEADER = 1000


def write_archive(path: str | Path, content: dict[str, Any], *, compress: bool = True) -> None:
    """Write nested dicts and lists of JSON values, tuples, bytes, dates and arrays to a file.

    Dates come back as ``np.datetime64`` in UTC. Of any other object, such as a function, only the
    name is stored. The file is replaced in one step once the new one is whole, so that a killed
    process leaves the old file or none. Without ``compress`` it is larger, and written sooner.

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
    text = json.dumps(manifest).encode("ascii")
    data = _zipped({_MANIFEST: text, **files}, compress)
    _check_n_values(text, len(data))
    with replaced_file(path) as file:
        file.write(data)


def read_archive(path: str | Path) -> Any:
    """Return what :func:`write_archive` wrote; an object stored by its name is that text.

    Refuses a file that is truncated or damaged, is not a treerank model, or has a newer version.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "loss.treerank"
    >>> write_archive(path, {"loss": max})
    >>> read_archive(path)
    {'loss': 'max (not saved)'}
    """
    with naming("path"):
        path = Path(path)
    is_other = f"path must be a treerank model; {path} is something else."
    if not is_archive(path):
        raise ValueError(is_other)
    with path.open("rb") as file:
        with one_error(f"path must be a complete file; {path} is truncated or damaged"):
            size = path.stat().st_size
            members = _Members(zipfile.ZipFile(file), _most_bytes(size))
            text = members.read(_MANIFEST) if _MANIFEST in members.unread else b"{}"
            _check_n_values(text, size)
            manifest = json.loads(text.decode("ascii"))
        is_ours = isinstance(manifest, dict) and manifest.get("format") == FORMAT
        format_version = (
            manifest.get("format_version") if is_ours and "content" in manifest else None
        )
        if type(format_version) is not int or format_version < 1:
            raise ValueError(is_other)
        if format_version > FORMAT_VERSION:
            raise ValueError(
                f"path must be of format version {FORMAT_VERSION} or older; {path} is newer: "
                f"version {format_version!r:.20}, written by treerank "
                f"{manifest.get('library_version')!r:.50}."
            )
        with one_error(f"path must be an undamaged file; {path} is damaged"):
            return _unpack(manifest["content"], members)


def is_archive(path: Path) -> bool:
    """Return whether a file begins as an archive does, or is the beginning of one."""
    check_regular(path)
    with path.open("rb") as file:
        return _ZIP_START.startswith(file.read(len(_ZIP_START)))


def check_regular(path: Path) -> None:
    """Refuse a device or a pipe, which may never end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ValueError(f"path must be a regular file; {path} is a device or a pipe.")


class ArgumentError(ValueError):
    """An object that files cannot hold, such as a function, was not passed, or another one was."""


@contextmanager
def one_error(message: str) -> Iterator[None]:
    """Turn any error within the block into a ``ValueError`` with one message.

    Forged content can fail in any way. A missing optional dependency, and a missing or wrong
    argument of the reader, are raised as they are: they are no fault of the file.
    """
    try:
        yield
    except (ImportError, ArgumentError):
        raise
    except Exception as error:
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise ValueError(f"{message}; got {kind}{str(error)[:1000]}") from error


class _Members:
    """Reads the members of a zip file, each once; their sizes may add up to ``most`` bytes."""

    def __init__(self, archive: zipfile.ZipFile, most: int) -> None:
        self.archive, self.left = archive, most
        self.unread = {member.filename: member for member in archive.infolist()}

    def read(self, name: str) -> bytes:
        """Return the uncompressed bytes of a member.

        Refuse one that is too large or not as declared.
        """
        member = self.unread.pop(name)
        self.left -= member.file_size
        if self.left < 0:
            raise ValueError(f"{name} is too large for this file")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} is compressed by another method than deflate")
        with self.archive.open(member) as file:
            data = file.read(member.file_size)  # without a bound, it would inflate what is there
        if len(data) != member.file_size:
            raise ValueError(f"{name} is shorter than it should be")
        return data


def _most_bytes(file_size):
    return _MOST_BYTES + _TIMES_FILE * file_size


def _check_n_values(text, file_size):
    """Refuse JSON text with too many values for the size of the file, which would fill memory.

    Each value takes some hundred bytes of memory.
    """
    most = _MOST_VALUES + file_size // _FILE_PER_VALUE
    n_values = sum(text.count(sign) for sign in (b",", b"[", b"{"))
    if n_values > most:
        raise ValueError(f"A model must hold at most {most} values beside arrays; got {n_values}.")


def _zipped(files, compress):
    """Return a zip file of ``files``, names to bytes, as bytes.

    With ``compress``, it is compressed unless it would shrink so much that the reader would refuse
    its size.
    """
    methods = [zipfile.ZIP_DEFLATED] * compress + [zipfile.ZIP_STORED]
    for method in methods:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, data in files.items():
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, method)
        if sum(map(len, files.values())) <= _most_bytes(buffer.tell()):
            break
    return buffer.getvalue()


def _pack(value, files):
    """Return ``value`` as nested JSON values; arrays and bytes are added to ``files`` by name."""
    match value:
        case None | bool() | str() | int():
            return value
        case date() | np.datetime64():
            return {"$date": _date_text(value)}
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
    return {"$unsaved": unsaved_name(value)}


def unsaved_name(value: Any) -> str:
    """Return the name by which a file has an object that it does not hold, such as a function."""
    return str(getattr(value, "__name__", type(value).__name__))


def _date_text(value):
    """Return a date of Python, NumPy or pandas as ISO text, in UTC."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return value.isoformat() if isinstance(value, date) else str(value)


def _add_file(data, suffix, files):
    """Add bytes to ``files`` under a new name with this suffix, and return the name."""
    name = f"{len(files)}.{suffix}"
    files[name] = data
    return name


def _npy(array):
    """Return an array as the bytes of a ``.npy`` file."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _unpack(value, members):
    """Return the value that :func:`_pack` got; lists and dicts are changed in place.

    ``members`` reads the arrays and bytes that were stored apart.
    """
    if isinstance(value, list):
        for index, item in enumerate(value):
            value[index] = _unpack(item, members)
        return value
    if not isinstance(value, dict):
        return value
    kind = next(iter(value), "")
    if not kind.startswith("$"):
        for key, item in value.items():
            value[key] = _unpack(item, members)
        return value
    if kind not in _UNPACK:
        raise ValueError(f"unknown kind of value {quote(kind)}")
    return _UNPACK[kind](value[kind], members)


def _read_array(name, members):
    """Return the array of a ``.npy`` member; refuse one whose shape does not fit its bytes.

    The sizes are compared before any memory is reserved.
    """
    data = members.read(name)
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError(f"{name} must be of version 1.0")
    read_header = np.lib.format.read_array_header_1_0
    shape, by_column, dtype = read_header(file, max_header_size=_MOST_HEADER)
    if dtype.kind not in ARRAY_KINDS or any(n < 0 for n in shape):
        raise ValueError(f"{name} must hold numbers or text; got {dtype} of shape {shape}")
    values = np.frombuffer(data, dtype, offset=file.tell()).copy()
    return values.reshape(shape, order="F" if by_column else "C")


def _read_objects(values, members):
    array = np.empty(len(values), dtype=object)
    array[:] = _unpack(values, members)
    return array


_UNPACK = {
    "$array": _read_array,
    "$objects": _read_objects,
    "$bytes": lambda name, members: members.read(name),
    "$float": lambda text, members: float(text),
    "$date": lambda text, members: np.datetime64(text),
    "$tuple": lambda values, members: tuple(_unpack(values, members)),
    "$items": lambda pairs, members: {_unpack(k, members): _unpack(v, members) for k, v in pairs},
    "$unsaved": lambda name, members: f"{name}{NOT_SAVED}",
}
