"""Ranks that are started, shown, and ended: by the command, by a function, and with whoever started them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from ranks import HERE, needs_mpi

import minigrad as mg
import minigrad.distributed as dist
from minigrad.distributed.group import DistributedError
from minigrad.distributed.launcher import NoRanksError, serialize_function, starter

RUN = [sys.executable, "-m", "minigrad", "run"]
PLAIN = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
SURROUNDINGS = {**PLAIN, "PYTHONPATH": str(HERE.parents[1])}
HELLO = """
import os, sys
import minigrad as mg, minigrad.distributed as dist
dist.init_process_group()
x = mg.ones(2)
dist.all_reduce(x)
print("rank", dist.get_rank(), "of", dist.get_world_size(), sys.argv[1:], x.tolist(), os.environ["OMP_NUM_THREADS"])
"""


def run(folder, program, *options, script="program.py", arguments=()):
    (folder / script).write_text(program, "utf-8")
    return subprocess.run(
        [*RUN, *options, script, *arguments], cwd=folder, env=SURROUNDINGS, capture_output=True, text=True, timeout=100,
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize("n", [1, 2])
def test_a_browser_starts_no_ranks_and_says_so(monkeypatch, n):
    monkeypatch.setattr(sys, "platform", "emscripten")
    with pytest.raises(NoRanksError, match="ranks are processes of their own, and a browser starts none"):
        starter(n)


def test_one_rank_needs_no_mpi(tmp_path):
    (tmp_path / "mpi4py.py").write_text("raise ImportError('there is none')")
    done = run(tmp_path, HELLO, "-n", "1", script="ein Übungsprogramm.py", arguments=["--lr", "-n"])

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[0] rank 0 of 1 ['--lr', '-n'] [1.0, 1.0] 1\n"


def has_compiler():
    return "minigrad.graph.compiler" in sys.modules


def make_traced():
    double = mg.function(lambda x: x * 2)
    double(mg.ones(2))
    return double


def test_a_rank_loads_the_compiler_only_for_a_function_that_it_returns():
    """It did so for each value: of the 0.7 s of CPU that a rank took to start, 0.2 were the compiler's."""
    assert dist.launch(has_compiler, 1) == [False]
    assert dist.launch(make_traced, 1)[0](mg.ones(2)).tolist() == [2.0, 2.0]


@needs_mpi
def test_several_ranks_are_shown_by_their_numbers(tmp_path):
    done = run(tmp_path, HELLO, "-n", "2", arguments=["a b"])

    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == [f"[{i}] rank {i} of 2 ['a b'] [2.0, 2.0] 1" for i in range(2)]


def test_what_is_missing_is_told_with_the_way_out(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['mpi4py'] = None")
    environment = {**SURROUNDINGS, "PYTHONPATH": f"{tmp_path}:{SURROUNDINGS['PYTHONPATH']}"}
    (tmp_path / "x.py").write_text("")

    def say(*arguments):
        where = {"cwd": tmp_path, "env": environment}
        done = subprocess.run([*RUN, *arguments], **where, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stdout == ""
        return done.stderr

    assert "pip install 'minigrad-course[mpi]'" in say("-n", "2", "x.py")
    assert "there is no program y.py in " in say("-n", "1", "y.py")
    assert "1 or more, and got 0" in say("-n", "0", "x.py")


def test_lines_come_as_they_are_printed_and_as_a_terminal_would_show_them(tmp_path):
    program = (
        "import sys\nprint('a', end='')\nprint('b', file=sys.stderr)\nprint('10 %\\r20 %')\nprint()\nprint(1, end='')"
    )

    assert run(tmp_path, program, "-n", "1").stdout.splitlines() == ["[0] ab", "[0] 20 %", "[0] ", "[0] 1"]


# -- a function ------------------------------------------------------------------------------------


def total(x, scale):
    dist.init_process_group()
    y = mg.tensor(x) * (dist.get_rank() + 1) * scale["by"]
    dist.all_reduce(y)
    return {"rank": dist.get_rank(), "y": y, "array": y.numpy(), "nothing": None}


@needs_mpi
def test_a_function_gives_a_list_of_what_ranks_return(capsys):
    results = dist.launch(total, 2, np.arange(3.0), {"by": 10}, timeout=60)

    assert [result["rank"] for result in results] == [0, 1]
    assert all((result["y"].numpy() == [0, 30, 60]).all() for result in results)
    assert all((result["array"] == [0, 30, 60]).all() for result in results)
    assert capsys.readouterr().out == ""


def fails(message):
    raise ValueError(message)


def test_a_rank_can_start_ranks(monkeypatch):
    monkeypatch.setenv("PMI_RANK", "1")
    monkeypatch.setenv("PMI_SIZE", "2")

    assert dist.launch(total, 1, np.ones(1), {"by": 1})[0]["rank"] == 0


def sleeps():
    time.sleep(1000)  # longer than pytest gives a test


def test_a_function_that_fails_is_an_error_with_its_rank_and_traceback():
    words = r"(?s)rank 0 failed.*test_launch.py.*raise ValueError\(message\).*so ist es"
    with pytest.raises(dist.RankError, match=words) as raised:
        dist.launch(fails, 1, "so ist es")
    assert (raised.value.rank, raised.value.status) == (0, 1)


def test_time_that_is_up_ends_all():
    with pytest.raises(DistributedError, match="1 s were not enough"):
        dist.launch(sleeps, 1, timeout=1)


def test_what_cannot_go_to_other_processes_is_refused():
    inner = 3
    for fn in (lambda: 1, lambda: inner, np.sum, mg.nn.Linear):
        with pytest.raises(DistributedError, match="only a named function"):
            serialize_function(fn)
    with pytest.raises(mg.base.errors.StateError, match="cannot hold"):
        dist.launch(fails, 1, object())


def test_a_function_of_a_program_goes_with_what_it_names(tmp_path):
    program = (
        "import minigrad.distributed as dist\nimport math\nfrom math import pi\nSCALE = [2.0, 3.0]\n"
        "def half(x): return x / SCALE[0]\n\n"
        "def area(r, depth=1):\n    return area(r, 0) if depth else half(2 * pi * math.pow(r, 2))\n"
        "def bad():\n    return 1 / 0\n"
        "print(dist.launch(area, 1, 1.0))\n"
        "try: dist.launch(bad, 1)\nexcept dist.RankError as error: print(error)\n"
    )
    (tmp_path / "p.py").write_text(program)
    where = {"cwd": tmp_path, "env": SURROUNDINGS}
    done = subprocess.run([sys.executable, "p.py"], **where, capture_output=True, text=True, check=True)

    assert done.stdout.startswith("[3.14159")
    assert 'p.py", line 10, in bad\n    return 1 / 0' in done.stdout


# -- the end ---------------------------------------------------------------------------------------

SLEEPS = """
import os, sys, time, subprocess
import minigrad.distributed as dist
dist.init_process_group()
open(f"pid{dist.get_rank()}", "w").write(f"{os.getpid()} {subprocess.Popen(['sleep', '60']).pid}")
time.sleep(60)
"""


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def soon(is_so, seconds=30, pause=0.05):
    until = time.monotonic() + seconds
    while not is_so() and time.monotonic() < until:
        time.sleep(pause)
    return is_so()


@pytest.mark.parametrize("n", [1, pytest.param(2, marks=needs_mpi)])
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_of_a_launcher_that_was_ended(tmp_path, n, end):
    (tmp_path / "p.py").write_text(SLEEPS)
    usual = (
        "import signal, runpy; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "runpy.run_module('minigrad', run_name='__main__')"
    )
    launcher = subprocess.Popen(
        [sys.executable, "-c", usual, "run", "-n", str(n), "p.py"],
        cwd=tmp_path, env={**SURROUNDINGS, "TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert soon(lambda: all((tmp_path / f"pid{i}").exists() and (tmp_path / f"pid{i}").read_text() for i in range(n)))
    pids = [int(pid) for i in range(n) for pid in (tmp_path / f"pid{i}").read_text().split()]
    assert all(map(alive, pids))

    launcher.send_signal(end)
    launcher.wait(30)
    left = [*tmp_path.glob("minigrad-*")]

    assert soon(lambda: not any(map(alive, pids)))
    assert launcher.returncode == {signal.SIGINT: 130}.get(end, -end)
    assert soon(lambda: not [*tmp_path.glob("minigrad-*")])
    assert end == signal.SIGKILL or left == []
    launcher.stderr.close()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP])
def test_a_launcher_that_is_ended_before_its_ranks_are_there_leaves_no_folder(tmp_path, end):
    """Later the guards of the ranks would remove it."""
    (tmp_path / "p.py").write_text(SLEEPS)
    before = signal.signal(end, signal.SIG_DFL)  # under nohup SIGHUP is ignored, and a child inherits that
    launcher = subprocess.Popen(
        [sys.executable, "-m", "minigrad", "run", "-n", "1", "p.py"],
        cwd=tmp_path, env={**SURROUNDINGS, "TMPDIR": str(tmp_path)}, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    signal.signal(end, before)
    assert soon(lambda: [*tmp_path.glob("minigrad-*/job.json")], pause=0.001)

    launcher.send_signal(end)

    assert launcher.wait(30) == -end
    assert soon(lambda: not [*tmp_path.glob("minigrad-*")])


LOST = """
import os, signal, subprocess, sys
from types import SimpleNamespace
from minigrad.distributed.launcher import exit_on_signals, relay_output

class Freed:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        sum(range(9))  # the handler runs here, and its exception is ignored

with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child, exit_on_signals() as signals:
    Freed()
    silent = SimpleNamespace(told={}, pipe=os.pipe()[0], lines=list, has_failed=False)
    relay_output([silent], child, print, float("inf"), signals)
    child.kill()
"""


def test_a_signal_that_comes_while_an_object_is_freed_is_not_lost():
    """The launcher went on, and from then on ignored the signal."""
    done = subprocess.run([sys.executable, "-c", LOST], env=SURROUNDINGS, capture_output=True, timeout=20, check=False)
    assert done.returncode == -signal.SIGTERM, done.stderr
    assert b"SystemExit" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
@pytest.mark.parametrize("whose", ["guard", pytest.param("proxy", marks=needs_mpi)])
@pytest.mark.parametrize("n", [1, pytest.param(2, marks=needs_mpi)])
def test_a_rank_ends_with_its_guard_and_with_the_proxy_of_mpiexec(tmp_path, n, whose):
    """The guard was killed, mpiexec ended, and the rank went on training with nobody who would end it."""
    if (n, whose) == (1, "proxy"):
        pytest.skip("one rank has no proxy")
    (tmp_path / "p.py").write_text(SLEEPS.replace("sleep(60)", "sleep(50)"))
    launcher = subprocess.Popen(
        [*RUN, "-n", str(n), "p.py"], cwd=tmp_path, env={**SURROUNDINGS, "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert soon(lambda: all((tmp_path / f"pid{i}").exists() and (tmp_path / f"pid{i}").read_text() for i in range(n)))
    pids = [int(pid) for i in range(n) for pid in (tmp_path / f"pid{i}").read_text().split()]
    victim = parent(pids[0]) if whose == "guard" else parent(parent(pids[0]))

    os.kill(victim, signal.SIGKILL)

    assert soon(lambda: not any(map(alive, pids)))
    said = launcher.communicate(timeout=30)[1]
    assert launcher.returncode == 137, said
    why = "together with its guard" if whose == "guard" else "because the process that started it had ended"
    assert f"was killed by SIGKILL {why}" in said
    assert [*tmp_path.glob("minigrad-*")] == []


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
