import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import FUZZERS
from tests.fuzz.__main__ import run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
#: All fuzzers together take less than a minute.
SECONDS = 34 / len(FUZZERS)
#: Bodies of a case, and what is said about it.
WRONG = {
    "raise AssertionError('two is not three')": "two is not three",
    "print('last words', flush=True); os._exit(3)": "died: 3.\nlast words",
    "os.kill(os.getpid(), 11)": "died: -11",
    "time.sleep(60)": "Timeout (0:00:00.500000)!",
    "bytearray(2**30)": "MemoryError",
    "raise ValueError('y' * 10**6)": "[...]",
}


@pytest.mark.parametrize("name", FUZZERS)
def test_a_fuzzer_finds_nothing(name):
    command = [sys.executable, "-m", "tests.fuzz", name, "--seed", "0", "--minutes"]
    command.append(str(SECONDS / 60))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"[1-9]\d* cases in .* 0 failed", done.stdout)


@pytest.mark.parametrize("body", WRONG)
def test_a_case_that_goes_wrong_is_reported_with_its_seed(body, tmp_path, monkeypatch, capsys):
    (tmp_path / "wrong_fuzzer.py").write_text(
        "import os, time\nSECONDS, GIGABYTES = 0.5, 0.5\n\n\n"
        f"def case(random):\n    if random.integers(10) == 8:\n        {body}\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    assert run("wrong_fuzzer", seed=0, cases=2, minutes=1) == (2, 1)
    output = capsys.readouterr().out  # the first seed draws an 8, the second does not
    assert output.startswith("wrong_fuzzer --seed 0 --cases 1\n")
    assert WRONG[body] in output
    assert len(output) < 4000
