"""Object stores: files that a URL names, such as ``s3://bucket/train/``, or a file system holds.

pyarrow has file systems for S3, Google Cloud Storage and HDFS; fsspec has others, such as Azure,
by packages of their own. Credentials are found as these libraries find them: in the environment,
in files of the user, or in the file system that is passed.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treerank.checks import quote

#: What a URL begins with; ``pathlib`` has made ``s3:/`` of ``s3://``. A drive has one letter.
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):(//|/|\\)")
#: A user and a password before the host or the bucket of a URL.
_PASSWORD = re.compile(r"//[^/:]*:[^/]*@")
#: Schemes for which pyarrow's manual names a file system; fsspec is asked for any other.
_OF_PYARROW = ("file", "gcs", "gs", "hdfs", "s3", "viewfs")


def as_url(path: str | Path) -> str | None:
    """Return the URL that a path is, or ``None`` if it is a path of this machine.

    Examples
    --------
    >>> as_url("s3://bucket/train/"), as_url(Path("s3://bucket/train/")), as_url("train/")
    ('s3://bucket/train/', 's3://bucket/train', None)
    """
    text = str(path)
    scheme = _SCHEME.match(text)
    if scheme is None or scheme[2] == "//":
        return text if scheme else None
    start = "file:///" if scheme[1] == "file" else f"{scheme[1]}://"
    return start + text[scheme.end() :].replace("\\", "/")


def shown(path: str | Path) -> str:
    """Return a path or a URL as a message shows it: without settings and passwords.

    Settings stand behind a question mark, and some of them are secrets.

    Examples
    --------
    >>> shown("s3://key:secret@bucket/train/?region=us-east-1"), shown("train/")
    ('s3://bucket/train/', 'train/')
    """
    url = as_url(path)
    return str(path) if url is None else _PASSWORD.sub("//", url.partition("?")[0])


def text_in_store(path: str | Path) -> ValueError:
    """Return the error of a text file in an object store: it must be copied to disk first."""
    return ValueError(
        f"{shown(path)}: only Parquet files are read from an object store; copy the file to this "
        "machine first."
    )


@dataclass(frozen=True, eq=False)
class Store:
    """A file system that is no part of this machine, and a path in it.

    Attributes
    ----------
    filesystem : pyarrow.fs.FileSystem
    path : str
        File or folder.
    start : str
        What names of files begin with in messages, such as ``"s3://"``.
    """

    filesystem: Any
    path: str
    start: str

    @classmethod
    def of(cls, path: str | Path, filesystem: Any = None) -> "Store | None":
        """Return the object store and the path in it; ``None`` for a path of this machine.

        ``filesystem`` of pyarrow or fsspec holds the path if given; else the path's URL decides.
        """
        if filesystem is not None:
            return cls(_checked(filesystem), str(path).rstrip("/"), "")
        url = as_url(path)
        if url is None:
            return None
        scheme = url.partition(":")[0]
        opened, inner = _from_pyarrow(url) if scheme in _OF_PYARROW else _from_fsspec(url)
        return cls(opened, inner.rstrip("/"), f"{scheme}://")

    def name_of(self, path: str) -> str:
        """Return a file's name in messages: ``path`` after ``start``, or a path that is a URL."""
        if as_url(path) is not None:  # as of the file system of fsspec for HTTP
            return shown(path)
        return f"{self.start}{path.lstrip('/')}" if self.start else path

    def is_folder(self) -> bool:
        """Return whether the path is a folder; refuse a path at which nothing exists."""
        from pyarrow.fs import FileType

        with self._naming():
            kind = self.filesystem.get_file_info(self.path).type
        if kind == FileType.NotFound:
            name = self.name_of(self.path)
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        return bool(kind == FileType.Directory)

    def files(self) -> list[str]:
        """Return the paths of all files below a folder, relative to it."""
        from pyarrow.fs import FileSelector, FileType

        with self._naming():
            entries = self.filesystem.get_file_info(FileSelector(self.path, recursive=True))
        start = len(self.path) + 1
        return [entry.path[start:] for entry in entries if entry.type == FileType.File]

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Make errors of the file system within the block begin with the name of the path."""
        try:
            yield
        except OSError as error:
            line = (str(error).splitlines() or [type(error).__name__])[0]
            name = self.name_of(self.path)
            raise OSError(f"{name}: must be within reach; got {quote(line)}.") from error


def _checked(filesystem: Any) -> Any:
    """Return a file system of pyarrow or of fsspec as one of pyarrow."""
    from pyarrow import fs

    if isinstance(filesystem, fs.FileSystem):
        return filesystem
    if not (hasattr(filesystem, "protocol") and hasattr(filesystem, "find")):
        raise TypeError(
            "filesystem must be a file system of pyarrow or fsspec, such as "
            f"pyarrow.fs.S3FileSystem(); got {quote(filesystem)}."
        )
    return fs.PyFileSystem(fs.FSSpecHandler(filesystem))


def _from_pyarrow(url: str) -> tuple[Any, str]:
    import pyarrow as pa
    from pyarrow import fs

    try:
        opened, path = fs.FileSystem.from_uri(url)
    except (pa.ArrowException, OSError) as error:
        line = (str(error).splitlines() or [type(error).__name__])[0].replace(url, shown(url))
        raise ValueError(
            f"{shown(url)}: must be a URL of an object store; got {quote(line)}."
        ) from error
    return opened, path


def _from_fsspec(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError as error:
        raise ImportError(f"{shown(url)} needs fsspec: pip install fsspec") from error
    try:
        opened, path = url_to_fs(url)
    except (ImportError, ValueError) as error:  # both name the package or the protocol
        raise type(error)(f"{shown(url)}: {error}") from error
    return _checked(opened), path
