"""What terminals get of the command line, what pipes get, and what signals end."""

import os
import re
import signal
import subprocess
import sys

import pytest
from command_line import ESCAPE, SMALL, run, start

from treerank.cli import console

pytestmark = [pytest.mark.slow, pytest.mark.posix]


def test_a_terminal_gets_bars_and_tables(files, tmp_path):
    env = {"FORCE_COLOR": "1"}
    result = run("fit", files.train, "-m", tmp_path / "m", *SMALL, env=env)
    assert ESCAPE in result.stderr
    assert "6/6" in result.stderr
    assert "━" in result.stderr
    assert "\n---  --------  " in run("evaluate", files.model, files.test, env=env).stdout
    colored = re.compile(rf"{ESCAPE}\[[0-9;]*3[0-9]")
    assert colored.search(result.stderr)
    plain = run("fit", files.train, "-m", tmp_path / "m", *SMALL, env=env | {"NO_COLOR": "1"})
    assert not colored.search(plain.stderr)


def test_brackets_in_names_are_no_markup_and_long_lines_stay_whole(capsys):
    name = "[bold]x[/bold] " * 20
    with console.Reporter().step(name, brief=False) as step:
        step(1, 1, "[red]")
        step.done = f"done [b]{name}"
    err = capsys.readouterr().err
    assert re.fullmatch(
        re.escape(f"{name}\n  1/1  [red]\ndone [b]{name}, ") + r"[0-9. mins]+\n", err
    )


def test_a_reader_that_leaves_early_is_no_traceback(files):
    with start("rank", files.model, files.test, "-q", stdout=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=120) == 1


INTERRUPTED = """
import os, signal, sys

class Interrupter:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[-1]:
            os.kill(os.getpid(), signal.SIGINT)

from treerank.cli import main
sys.meta_path.insert(0, Interrupter())
main()
"""


@pytest.mark.parametrize("name", ["typer", "numpy", "numba", "sklearn"])
def test_an_interrupt_while_modules_are_imported_is_one_line(name):
    command = [sys.executable, "-c", INTERRUPTED, "evaluate", "model", name]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.stderr == "treerank: interrupted\n"
    assert done.returncode == 130


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
@pytest.mark.parametrize("command", ["--help", "rank MODEL DATA --quiet"])
def test_output_that_cannot_be_written_is_one_line(files, command, redirection):
    command = command.replace("MODEL", str(files.model)).replace("DATA", str(files.test))
    line = f'"{sys.executable}" -m treerank {command} {redirection}'
    done = subprocess.run(line, shell=True, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 1
    error = "No space left on device" if "full" in redirection else "Bad file descriptor"
    assert done.stderr == f"treerank: stdout: {error}\n"


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&1 >/dev/null | head -1"])
def test_messages_that_cannot_be_written_lose_no_model(files, tmp_path, redirection):
    words = [sys.executable, "-m", "treerank", "fit", files.train, "-m", tmp_path / "m", *SMALL]
    line = f"{' '.join(map(str, words))} {redirection}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "m").read_bytes() == files.model.read_bytes()


def test_help_and_version_import_no_large_packages():
    script = (
        "import sys; from typer.testing import CliRunner; from treerank.cli.app import app\n"
        "print([CliRunner().invoke(app, [word]).exit_code for word in ('--help', '--version')])\n"
        "print(sorted({'numpy', 'numba', 'sklearn', 'lightgbm'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[0, 0]\n[]\n"


def test_an_interrupt_exits_with_130_and_leaves_the_old_model(files, tmp_path):
    model = tmp_path / "old"
    model.write_bytes(b"old")
    words = "fit", files.train, "-m", model, *SMALL[2:], "--n-estimators", 10**7
    with start(*words, start_new_session=True) as process:
        next(line for line in process.stderr if line.startswith("growing"))
        os.killpg(process.pid, signal.SIGINT)
        assert process.stderr.read() == "treerank: interrupted\n"
        assert process.wait(timeout=120) == 130
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]
