"""Processes of their own: Python that is timed or whose memory is watched from outside."""

import os
import subprocess
import sys
import time
from pathlib import Path

#: Peaks of a process, as Linux names them: resident memory with and without the pages of files.
PEAKS = {"VmHWM": "peak MB", "RssAnon": "own MB"}


def run(source, *arguments, **environment):
    """Run Python source in a fresh process, and return the words that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", source, *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )
    return done.stdout.split()


def watched(source, *arguments):
    """Run Python source in a fresh process, and return its words and its peaks in MB by name."""
    peaks = dict.fromkeys(PEAKS.values(), 0.0)
    command = [sys.executable, "-c", source, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
                key, _, value = line.partition(":")
                if key in PEAKS:
                    now = int(value.split()[0]) * 1024 / 1e6
                    peaks[PEAKS[key]] = max(peaks[PEAKS[key]], now)
            time.sleep(0.01)
        words = process.stdout.read().split()
    if process.returncode:
        raise RuntimeError(f"the process must end well; it ended with {process.returncode}.")
    return words, peaks


def resident(key):
    """Return the resident MB of this process: those now (VmRSS), or their peak (VmHWM)."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(key))) / 1024


def peak_MB():
    """Return the peak of the resident memory of this process in MB.

    ``ru_maxrss`` is not used: Linux counts the memory of the process that started this one, too.
    """
    return resident("VmHWM") * 2**20 / 1e6
