"""Files are written whole or not at all: modes, owners, links, kills, and what kills leave behind."""

import os
import subprocess
import sys
from subprocess import PIPE

import pytest

import minigrad as mg
from minigrad.course import lessons
from tests.support.root import ROOT

SEES_US = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX's")
@pytest.mark.parametrize(
    ("write", "mode"),
    [("state", 0o600), ("state", 0o666), *((w, 0o640) for w in ("trace", "drawing", "lesson", "onnx"))],
)
def test_a_file_that_is_saved_again_keeps_its_mode(tmp_path, usual_umask, write, mode):
    """0640 became 0644: who could not read the old file could read the new one."""
    suffix = {"drawing": ".svg", "trace": ".json", "onnx": ".onnx"}.get(write, ".mg")
    path = tmp_path / f"file{suffix}"
    WRITERS[write](path)
    assert path.stat().st_mode & 0o777 == 0o644
    path.chmod(mode)

    WRITERS[write](path)

    assert path.stat().st_mode & 0o777 == mode
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def write_trace(path):
    with mg.profiler.profile() as profiled:
        mg.tensor(1.0).exp()
    profiled.export_chrome_trace(path)


WRITERS = {
    "state": lambda path: mg.save(path, {"a": 1}), "trace": write_trace,
    "drawing": lambda path: mg.draw(mg.tensor(1.0, requires_grad=True) * 2).save(path),
    "lesson": lambda path: lessons.write(path, b"{}"),
    "onnx": lambda path: mg.onnx.export(lambda x: x + 1, mg.ones(2), path),
}  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="owners are POSIX's")
def test_a_file_that_root_saves_again_keeps_its_owner(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    mg.save(tmp_path / "s", 1)
    os.chown(tmp_path / "s", 1234, 2345)

    mg.save(tmp_path / "s", 2)

    assert ((tmp_path / "s").stat().st_uid, (tmp_path / "s").stat().st_gid) == (1234, 2345)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no locks for this, and waits a day")
def test_what_killed_saves_left_is_removed_by_the_next_one_under_any_name(tmp_path):
    """43 of 100 kills left a temporary file, and nothing ever removed it."""
    (tmp_path / ".s.0123abcd.tmp").write_bytes(b"of an older edition, which is dead")
    others = [".s.draft.tmp", ".other.0123abcd.tmp", "s.tmp", ".s.0123abcd.minigrad.tmp.keep"]
    for name in others:
        (tmp_path / name).write_bytes(b"somebody else's")
    command = [sys.executable, "-c", STUCK, str(tmp_path / "killed")]
    process = subprocess.Popen(command, env=SEES_US, stdin=PIPE, stdout=PIPE)
    process.stdout.readline()
    process.kill()
    process.communicate()
    assert len([*tmp_path.glob(".killed.*.tmp")]) == 1

    mg.save(tmp_path / "s", 1)

    assert {p.name for p in tmp_path.iterdir()} == {"s", *others}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no locks for this, and waits a day")
def test_what_a_living_process_writes_is_not_removed(tmp_path):
    command = [sys.executable, "-c", STUCK, str(tmp_path / "s")]
    process = subprocess.Popen(command, env=SEES_US, stdin=PIPE, stdout=PIPE)
    process.stdout.readline()

    mg.save(tmp_path / "s", 1)

    assert len([*tmp_path.glob(".s.*.tmp")]) == 1
    process.communicate(b"go on\n")
    assert process.returncode == 0
    assert (tmp_path / "s").read_bytes() == b"begun, and ended"
    assert [p.name for p in tmp_path.iterdir()] == ["s"]


STUCK = """
import sys
from minigrad.engine.base.whole_file import replace_file
def pieces():
    yield b"begun, "
    print("begun", flush=True)
    sys.stdin.readline()
    yield b"and ended"
replace_file(sys.argv[1], pieces())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="links are POSIX's")
def test_another_name_of_the_file_keeps_the_old_content(tmp_path):
    mg.save(tmp_path / "s", 1)
    (tmp_path / "hard").hardlink_to(tmp_path / "s")

    mg.save(tmp_path / "s", 2)

    assert (mg.load(tmp_path / "s"), mg.load(tmp_path / "hard")) == (2, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes with a name are POSIX's")
def test_a_pipe_is_written_into_and_not_exchanged_for_a_file(tmp_path):
    """As root, mg.save("/dev/null", x) made a file of the device."""
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=PIPE)

    mg.save(tmp_path / "pipe", 1)
    (tmp_path / "s").write_bytes(reader.communicate()[0])

    assert mg.load(tmp_path / "s") == 1
    assert (tmp_path / "pipe").is_fifo()


def test_a_file_that_is_read_only_is_refused_by_its_name_and_left(tmp_path, unprivileged):
    code = (
        "import sys, os, minigrad as mg\n"
        "mg.save(sys.argv[1], 1)\n"
        "os.chmod(sys.argv[1], 0o444)\n"
        "try: mg.save(sys.argv[1], 2)\n"
        "except PermissionError as error: print(error)\n"
    )
    command = [*unprivileged, sys.executable, "-c", code, str(tmp_path / "s")]

    said = subprocess.run(command, check=False, env=SEES_US, capture_output=True, text=True)

    assert said.stdout == f"[Errno 13] The file is read-only: '{tmp_path / 's'}'\n", said.stderr
    assert mg.load(tmp_path / "s") == 1


@pytest.mark.parametrize("name", ["n" * 250, "ü" * 120])
def test_a_name_may_be_as_long_as_the_disk_allows(tmp_path, name):
    mg.save(tmp_path / name, 1)

    assert mg.load(tmp_path / name) == 1
