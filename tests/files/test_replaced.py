import fcntl
import os
import re
import secrets
import subprocess
import sys
import threading

import pytest

from treerank.files import replaced
from treerank.files.replaced import check_output, replaced_file


def write(path, content=b"new"):
    with replaced_file(path) as file:
        file.write(content)


def kill_while_writing(path):
    """Write a part of a file in a child process that kills itself."""
    child = os.fork()
    if child == 0:
        with replaced_file(path) as file:
            file.write(b"half")
            file.flush()
            os.kill(os.getpid(), 9)
    os.waitpid(child, 0)


def test_a_symbolic_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    for name, target in [("link", "folder/file"), ("second", "link"), ("dangling", "absent")]:
        (tmp_path / name).symlink_to(target)
        write(tmp_path / name, name.encode())
        assert os.readlink(tmp_path / name) == target
        assert (tmp_path / target).read_bytes() == name.encode()
    assert os.listdir(tmp_path / "folder") == ["file"]


@pytest.mark.parametrize("mode", [0o640, 0o600, 0o666, 0o755])
def test_the_mode_of_an_old_file_is_kept(tmp_path, mode):
    (tmp_path / "old").touch()
    (tmp_path / "old").chmod(mode)
    write(tmp_path / "old")
    assert (tmp_path / "old").stat().st_mode & 0o7777 == mode


def test_owner_and_mode_are_those_of_the_written_file_also_if_another_takes_its_name(tmp_path):
    (tmp_path / "old").touch()
    (tmp_path / "old").chmod(0o666)
    (tmp_path / "precious").touch()
    (tmp_path / "precious").chmod(0o600)
    with replaced_file(tmp_path / "old") as file:
        os.unlink(file.name)
        os.symlink("precious", file.name)
    assert (tmp_path / "precious").stat().st_mode & 0o7777 == 0o600


def test_a_pipe_is_written_through(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    received = []
    reader = threading.Thread(target=lambda: received.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    check_output(tmp_path / "pipe")
    write(tmp_path / "pipe")
    reader.join()
    assert received == [b"new"]
    assert (tmp_path / "pipe").is_fifo()


def test_a_device_is_written_through(tmp_path):
    (tmp_path / "null").symlink_to("/dev/null")
    write(tmp_path / "null")
    assert (tmp_path / "null").is_char_device()
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(OSError, match=f"No space left on device: '{tmp_path}/full'"):
        write(tmp_path / "full")


TO_STDOUT = """
from treerank.files.replaced import replaced_file
with replaced_file("/dev/stdout") as file:
    file.write(b"body ")
print("more ", end="")
"""


def test_standard_output_is_written_through_also_where_it_is_a_file(tmp_path):
    command = f"printf 'head '; {sys.executable} -c '{TO_STDOUT}'; printf tail"
    piped = subprocess.run(["sh", "-c", command], capture_output=True, check=True)
    assert piped.stdout == b"head body more tail"
    subprocess.run(["sh", "-c", f"({command}) > {tmp_path}/out"], check=True)
    assert (tmp_path / "out").read_bytes() == b"head body more tail"


@pytest.mark.parametrize("name", ["a" * 255, "ä" * 127, "name", ".hidden", "x.txt.gz", "[a]*?"])
def test_what_a_kill_leaves_is_removed_by_the_next_write(tmp_path, name):
    path = tmp_path / name
    write(path, b"old")
    kill_while_writing(path)
    kill_while_writing(path)
    assert path.read_bytes() == b"old"
    assert len(os.listdir(tmp_path)) == 2
    check_output(path)
    assert os.listdir(tmp_path) == [name]
    kill_while_writing(path)
    write(path)
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == [name]


def test_two_writers_of_one_name_leave_each_other_alone(tmp_path):
    path = tmp_path / "file"
    with replaced_file(path) as first:
        first.write(b"first")
        write(path, b"second")
        assert path.read_bytes() == b"second"
        check_output(path)
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["file"]


def test_a_part_that_is_removed_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    lock, names = fcntl.flock, []

    def late_lock(file, how):
        if how == fcntl.LOCK_EX and not names:
            names.append(file.name)
            os.unlink(file.name)
        lock(file, how)

    monkeypatch.setattr(replaced.fcntl, "flock", late_lock)
    write(tmp_path / "file")
    assert len(names) == 1
    assert os.listdir(tmp_path) == ["file"]


def no_locks(*_):
    raise OSError(37, "No locks available")


@pytest.mark.parametrize(
    ("module", "name", "value"), [(fcntl, "flock", no_locks), (replaced, "HAS_LOCKS", False)]
)
def test_without_locks_files_are_written_and_parts_stay(tmp_path, monkeypatch, module, name, value):
    kill_while_writing(tmp_path / "file")
    monkeypatch.setattr(module, name, value)
    write(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert len(os.listdir(tmp_path)) == 2


def test_a_part_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "precious").write_bytes(b"precious")
    trap = tmp_path / f".file.{secrets.token_hex(8)}.treerank-part"
    trap.symlink_to("precious")
    write(tmp_path / "file")
    assert (tmp_path / "precious").read_bytes() == b"precious"


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("", ValueError, "path must be the name of a file; got '.'"),
        ("/", ValueError, "path must be the name of a file; got '/'"),
        ("a\0", ValueError, "path must be the name of a file"),
        ("folder", IsADirectoryError, "Is a directory: 'folder'"),
        ("absent/file", FileNotFoundError, "No such file or directory: 'absent/file'"),
        ("absent/../file", FileNotFoundError, "No such file or directory: 'absent/../file'"),
        ("file/file", NotADirectoryError, "Not a directory: 'file/file'"),
        ("a" * 256, OSError, "File name too long: 'aaa"),
        ("loop", OSError, "symbolic links: 'loop'"),
        ("/proc/new", OSError, "No such file or directory: '/proc/new'"),
    ],
)
@pytest.mark.parametrize("attempt", [check_output, write])
def test_what_cannot_be_written_is_told_by_the_users_name(
    tmp_path, monkeypatch, name, error, message, attempt
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(os.listdir())
    with pytest.raises(error, match=message):
        attempt(name)
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("attempt", [check_output, write])
def test_what_is_read_only_is_refused(tmp_path, monkeypatch, attempt):
    monkeypatch.setattr(replaced.os, "access", lambda path, mode: False)  # root may do all
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(PermissionError, match=f"Permission denied: '{tmp_path}/file'"):
        attempt(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"old"


def test_errors_of_other_files_keep_their_names(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent"), replaced_file(tmp_path / "file"):
        (tmp_path / "absent").read_bytes()
    with pytest.raises(OSError, match=r"^of the caller$"), replaced_file(tmp_path / "file"):
        raise OSError("of the caller")
    assert os.listdir(tmp_path) == []


def test_a_part_is_named_by_50_letters_of_its_file_and_16_of_its_own(tmp_path):
    with replaced_file(tmp_path / ("a" * 49 + "bcd")) as file:
        name = os.path.basename(file.name)
    assert re.fullmatch(r"\.a{49}b\.[0-9a-f]{16}\.treerank-part", name)


def test_all_bytes_are_on_the_disk_before_the_file_has_its_name(tmp_path, monkeypatch):
    steps, fsync, rename = [], os.fsync, os.replace

    def synced(descriptor):
        steps.append(("fsync", os.fstat(descriptor).st_size))
        fsync(descriptor)

    def renamed(source, target):
        steps.append(("replace", os.path.getsize(source)))
        rename(source, target)

    monkeypatch.setattr(replaced.os, "fsync", synced)
    monkeypatch.setattr(replaced.os, "replace", renamed)
    write(tmp_path / "file", b"whole")
    assert steps == [("fsync", 5), ("replace", 5)]


def test_the_owner_of_an_old_file_is_kept_where_that_is_permitted(tmp_path, monkeypatch):
    owners = []

    def chown(descriptor, user, group):
        owners.append((os.fstat(descriptor).st_size, user, group))
        raise PermissionError

    monkeypatch.setattr(replaced.os, "chown", chown)
    write(tmp_path / "file", b"old")
    assert owners == []
    write(tmp_path / "file", b"newer")
    status = (tmp_path / "file").stat()
    assert owners == [(5, status.st_uid, status.st_gid)]


def test_without_locks_a_file_is_closed_before_it_is_renamed(tmp_path, monkeypatch):
    closed, rename = [], os.replace

    def renamed(source, target):
        closed.append(file.closed)
        rename(source, target)

    for has_locks in (False, True):
        monkeypatch.setattr(replaced, "HAS_LOCKS", has_locks)
        monkeypatch.setattr(replaced.os, "replace", renamed)
        with replaced_file(tmp_path / "file") as file:
            file.write(b"new")
        monkeypatch.undo()
    assert closed == [True, False]


def test_a_part_that_is_a_pipe_is_not_waited_for_and_a_link_stays(tmp_path):
    part = f".file.{secrets.token_hex(8)}.treerank-part"
    (tmp_path / part).symlink_to("precious")
    (tmp_path / "precious").touch()
    os.mkfifo(tmp_path / f".file.{secrets.token_hex(8)}.treerank-part")
    write(tmp_path / "file")
    assert sorted(os.listdir(tmp_path)) == [part, "file", "precious"]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_no_file_stays_open(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        kill_while_writing(tmp_path / "file")
        write(tmp_path / "file")
        check_output(tmp_path / "file")
    assert len(os.listdir("/proc/self/fd")) == before
