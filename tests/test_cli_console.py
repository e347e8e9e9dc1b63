"""What terminals get of the command line, what pipes get, and what signals end."""

import re
import signal
import subprocess

import pytest
from command_line import ESCAPE, SMALL, letor_files, run, start

from treerank.cli import console


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return letor_files(tmp_path_factory.mktemp("letor"))


def test_a_terminal_gets_bars_and_tables(files, tmp_path):
    env = {"FORCE_COLOR": "1"}
    result = run("fit", files.train, "-m", tmp_path / "m", *SMALL, env=env)
    assert ESCAPE in result.stderr
    assert "6/6" in result.stderr
    assert "━" in result.stderr
    assert "━━┓" in run("evaluate", files.model, files.test, env=env).stdout
    colored = re.compile(rf"{ESCAPE}\[[0-9;]*3[0-9]")
    assert colored.search(result.stderr)
    plain = run("fit", files.train, "-m", tmp_path / "m", *SMALL, env=env | {"NO_COLOR": "1"})
    assert not colored.search(plain.stderr)


def test_brackets_in_names_are_no_markup_and_long_lines_stay_whole(capsys):
    name = "[bold]x[/bold] " * 20
    with console.Reporter().counting(name, 1) as show:
        show(1, 1, "[red]")
    assert capsys.readouterr().err == f"{name}\n  1/1  [red]\n"


def test_a_pipe_gets_plain_lines(files):
    with start("evaluate", files.model, files.test, stdout=subprocess.PIPE) as process:
        stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0
    assert ESCAPE not in stdout + stderr
    assert stdout.startswith("qid\tndcg@10\tmap\tmrr\nall\t")


def test_a_reader_that_leaves_early_is_no_traceback(files):
    with start("rank", files.model, files.test, "-q", stdout=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=120) == 1


def test_an_interrupt_exits_with_130_and_leaves_the_old_model(files, tmp_path):
    model = tmp_path / "old"
    model.write_bytes(b"old")
    with start("fit", files.train, "-m", model, *SMALL, "--n-estimators", 10**7) as process:
        for line in process.stderr:
            if line.startswith("growing"):
                break
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "treerank: interrupted\n"
        assert process.wait(timeout=120) == 130
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]
