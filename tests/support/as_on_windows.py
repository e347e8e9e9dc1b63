"""Call ``pretend`` first, and Python has what Windows has, as far as this system can pretend.

Modules and functions of POSIX are gone, and a file that is open can be neither renamed nor removed.
"""

import contextlib
import importlib
import mmap
import os
import signal
import sys

#: Modules that Windows has not.
POSIX_MODULES = ("fcntl", "grp", "pwd", "resource", "termios")
#: Functions and constants that it has not.
POSIX_NAMES = {
    os: [
        *("O_NOFOLLOW", "O_NONBLOCK", "chown", "fchmod", "fchown", "fork", "geteuid", "getuid"),
        *("killpg", "mkfifo", "posix_fallocate", "register_at_fork", "sched_getaffinity"),
        *("sched_yield", "statvfs", "uname"),
    ],
    mmap: ["MADV_DONTNEED"],
    signal: ["SIGALRM", "SIGHUP", "SIGKILL", "pthread_sigmask", "setitimer", "sigwait"],
}


def _is_open(path):
    """Tell whether this process has a file open, where Linux says so."""
    numbers = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    path = os.path.realpath(os.fsdecode(path))
    return any(_target(number) == path for number in numbers)


def _target(number):
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:  # it was open while the folder was read
        return None


def _refusing_open_files(function):
    def refuse(path, *arguments, **options):
        if _is_open(path):
            raise PermissionError(13, "The process cannot access the file", os.fsdecode(path))
        return function(path, *arguments, **options)

    return refuse


def _refusing_folders(os_open):
    def refuse(path, *arguments, **options):
        if isinstance(path, str | os.PathLike) and os.path.isdir(path):
            raise PermissionError(13, "Permission denied", str(path))
        return os_open(path, *arguments, **options)

    return refuse


def pretend():
    """Take from this process what Windows has not, for good."""
    # Other packages ask which system this is, and would look for what they have there.
    for name in ("multiprocessing.util", "subprocess", "tempfile", "joblib", "lightgbm", "pandas"):
        importlib.import_module(name)
    for name in ("torch", "xgboost", "distributed"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    sys.modules.update(dict.fromkeys(POSIX_MODULES))
    for owner, names in POSIX_NAMES.items():
        for name in names:
            if hasattr(owner, name):
                delattr(owner, name)
    for name in ("replace", "rename", "unlink", "remove"):
        setattr(os, name, _refusing_open_files(getattr(os, name)))
    os.open = _refusing_folders(os.open)
