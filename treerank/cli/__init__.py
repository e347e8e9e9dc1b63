"""The command ``treerank``: a demonstration, and fit, rank, evaluate and compare on data files.

This module imports nothing large, so that an interrupt ends the program in one line from the start.
"""

import atexit
import io
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

__all__ = ["main"]
INTERRUPTED = 130


def main() -> None:
    """Run the command line; the script ``treerank`` calls this.

    Examples
    --------
    >>> from unittest.mock import patch
    >>> with patch("sys.argv", ["treerank", "rank"]):
    ...     main()
    Traceback (most recent call last):
    ...
    SystemExit: 2
    """
    _replace_closed_streams()
    _write_utf8()
    _ignore_errors_of_stderr()
    interrupts: list[int] = []
    atexit.register(_end_interrupted, interrupts)  # the first that is registered runs last
    try:
        from treerank.cli.app import app

        app()
    except KeyboardInterrupt:  # while modules were imported; the application handles all others
        print("treerank: interrupted", file=sys.stderr)
        interrupts.append(INTERRUPTED)
    except SystemExit as end:
        if end.code != INTERRUPTED:
            raise
        interrupts.append(INTERRUPTED)
    finally:
        _drop_unwritten_output()


def _replace_closed_streams():
    """Make output to a closed stdout an error, and output to a closed stderr nothing.

    Otherwise the next file that is opened becomes the stream.
    """
    for descriptor, name, mode in ((1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, mode)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            setattr(sys, name, os.fdopen(descriptor, "w", closefd=False))


def _write_utf8():
    """Write UTF-8 to a pipe or a file, as readers here expect, unless ``PYTHONIOENCODING`` is set.

    What Windows writes there by default, before Python 3.15, has no arrows and few alphabets, and
    a comparison of an hour would end with an error.
    """
    stream = sys.stdout
    if isinstance(stream, io.TextIOWrapper) and "PYTHONIOENCODING" not in os.environ:
        if stream.isatty():
            stream.reconfigure(errors="replace")
        else:
            stream.reconfigure(encoding="utf-8")


class _Unfailing:
    """A stream of text that forgets what cannot be written to another one, as on a full disk."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


def _ignore_errors_of_stderr():
    """Let a full disk or a pipe that is not read to its end lose messages, but no model."""
    sys.stderr = _Unfailing(sys.stderr)


def _end_interrupted(interrupts):
    """End the process with the exit code of an interrupt, if ``interrupts`` has an entry.

    A plain exit may not have it: Python would kill the process if ``exec`` was interrupted.
    """
    if interrupts:
        os._exit(INTERRUPTED)


def _drop_unwritten_output():
    """Discard output for a closed stdout; the error has been reported already."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
