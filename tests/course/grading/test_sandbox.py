"""The walls of the sandbox, one by one: what is asked from inside is answered, and the answer is looked at here."""

import contextlib
import os
import platform
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from minigrad.course.grading import cgroup, watch
from minigrad.course.grading import sandbox as sandboxes
from minigrad.course.grading.grade import grade, task
from minigrad.course.grading.sandbox import PACKAGE, Limits, Reply, Sandbox, bubblewrap, compile_program
from minigrad.course.referee import parse_probes
from tests.course.grading.cases import CASES, NAME, ROOT
from tests.course.grading.sandboxes import job, sandbox_here

pytestmark = pytest.mark.share(1)


@pytest.fixture(scope="module")
def sandbox():
    made = sandbox_here(cell=20, part=20, all=60)
    assert made.kind == "bubblewrap"
    return made


@pytest.fixture
def inside(sandbox):
    def ask(*lines):
        """What the last line gives inside."""
        *before, last = lines
        reply = sandbox.run(job("\n".join(before), last))
        ((kind, value, told),) = reply.data["parts"]["p"]
        assert kind == "gave", (kind, value, told, reply.data["cells"])
        return value

    return ask


def test_it_sees_no_answers_no_course_and_no_home(inside):
    places = [str(ROOT / name) for name in ("solutions", "exercises", "tests", "README.md")]
    assert inside("import os", f"[os.path.exists(p) for p in {places!r}]") == [False] * len(places)
    asked = "[p.name for p in pathlib.Path(minigrad.__file__).parent.rglob('*.json')]"
    assert inside("import minigrad, pathlib", asked) == []
    assert inside("import os", f"os.path.exists({str(Path.home() / '.cache')!r})") is False


def test_a_link_to_the_environment_shows_no_answers(inside, tmp_path, monkeypatch):
    """The package was bound again under the link's name, with its answers, and a submission could read them."""
    link = tmp_path / "environment"
    link.symlink_to(ROOT)
    monkeypatch.setattr(sys, "base_prefix", str(link))
    answers = link / "minigrad" / "course" / "answers"
    assert [*answers.glob("*.json")]

    assert inside("import os", f"os.path.exists({str(link / 'minigrad')!r})") is True
    assert inside("import pathlib", f"len([*pathlib.Path({str(answers)!r}).rglob('*')])") == 0


def test_a_package_that_is_imported_through_a_link_can_grade(sandbox, tmp_path):
    """Its program was not visible in the sandbox, and every submission `failed`."""
    (tmp_path / "link").symlink_to(ROOT)
    program = (
        "from minigrad.course.grading.sandbox import find_sandbox\n"
        "print(find_sandbox().run({'cells': [['c', 'x = 2']], 'parts': [['p', [], [['', 'x + 1']]]]}).data)"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "link")}
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, env=environment, cwd=tmp_path
    )

    assert done.stdout == "{'cells': {}, 'parts': {'p': [['gave', 3, '']]}}\n", done.stderr


def test_bubblewrap_is_started_from_the_path_where_it_was_found(tmp_path, monkeypatch):
    """A bwrap outside of /bin and /usr/bin was found, and then not started: `cannot write bwrap`."""
    (tmp_path / "bwrap").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    assert bubblewrap(Limits(), 0, 0, [])[0] == str(tmp_path / "bwrap")


@pytest.mark.parametrize("family", ["AF_INET", "AF_UNIX"])
def test_it_reaches_nobody_who_listens_on_this_machine(inside, family):
    """A socket of AF_UNIX with a name of its own, and no file, is reached wherever the network is."""
    with socket.socket(getattr(socket, family)) as server:
        server.bind(("127.0.0.1", 0) if family == "AF_INET" else f"\0minigrad-{os.getpid()}")
        server.listen()
        address = server.getsockname()
        with socket.socket(server.family) as client:
            client.connect(address)  # from here it is reached
        assert inside(
            "import socket", "def reached():", "    try:",
            f"        socket.socket(socket.{family}).connect({address!r})", "        return True",
            "    except OSError:", "        return False", "reached()",
        ) is False  # fmt: skip


def test_it_sees_no_process_but_its_own(inside):
    assert inside("import os", "sum(name.isdigit() for name in os.listdir('/proc'))") <= 6


def test_it_has_no_rights_and_can_get_none(inside):
    status = "status = dict(line.split(':', 1) for line in open('/proc/self/status') if ':' in line)"
    rights = inside(status, "[status[name].strip() for name in ('CapEff', 'CapPrm', 'CapBnd', 'NoNewPrivs')]")
    assert rights[:2] == ["0" * 16] * 2
    if os.geteuid() == 0:
        assert rights[2:] == ["0" * 16, "1"]
        assert inside("import os", "os.getuid()") in sandboxes.IDS


def test_what_it_writes_is_small_and_is_nowhere_else(inside, tmp_path):
    mark = f"mark-{os.getpid()}"
    places = ["/", "/usr", "/etc", "/home/student", "/tmp", str(tmp_path), str(ROOT)]
    lines = [
        "import os", "written = []", f"for folder in {places!r}:", "    try:",
        f"        open(folder + '/{mark}', 'w').close(); written.append(folder)", "    except OSError: pass",
    ]  # fmt: skip
    assert inside(*lines, "written") == ["/home/student", "/tmp"]
    assert not any(Path(folder, mark).exists() for folder in places)
    filling = [
        "def filled(folder):", "    total = 0", "    try:", "        for i in range(100):",
        "            with open(f'{folder}/{i}', 'wb') as file: total += file.write(bytes(4 << 20))",
        "    except OSError: pass", "    return total",
    ]  # fmt: skip
    for folder in ("/home/student", "/tmp", "/dev/shm"):
        assert inside(*filling, f"filled({folder!r})") <= 32 << 20


def test_a_submission_cannot_write_to_the_process_that_watches_it(inside):
    """As root, without Yama, a submission could write its own verdict into that process."""
    assert inside("import os", "watcher = os.getppid()", "def tried(path, mode):", "    try:",
        "        open(path, mode).close()", "        return 'opened'", "    except OSError as error:",
        "        return type(error).__name__", "[tried(f'/proc/{watcher}/mem', 'r+b'), tried('/proc/self/mem', 'r+b')]",
    ) == ["PermissionError", "opened"]  # fmt: skip


def test_its_processes_are_few_and_end_with_it(inside):
    lines = [
        "import os, time", "def forked():", "    n = 0", "    try:", "        for _ in range(500):",
        "            if os.fork() == 0:", "                time.sleep(20); os._exit(0)", "            n += 1",
        "    except OSError: pass", "    return n",
    ]  # fmt: skip
    assert 10 < inside(*lines, "forked()") < 64


HUNGRY = job("import os, time\nfor _ in range(3): os.fork()\nx = b'1' * (80 << 20)\ntime.sleep(5)")


def test_what_it_loads_is_compiled_before(inside):
    """A sandbox writes nothing down: NumPy and the engine, not compiled, cost each submission a second and more."""
    file = Path(cache_from_source(PACKAGE / "scalar" / "value.py"))
    file.unlink(missing_ok=True)
    compile_program.cache_clear()
    assert inside("import minigrad.scalar.value as module, os", "os.path.exists(module.__cached__)") is True


def test_memory_of_all_its_processes_together_has_an_end(sandbox, monkeypatch):
    hungry = Sandbox(sandbox.kind, Limits(cell=20, part=20, all=60, memory=300 << 20))
    if cgroup.places():
        reply = hungry.run(HUNGRY)  # the kernel ends the process that has most, and the rest is looked at
        assert (reply.data["parts"], reply.why) == ({"p": [["gave", 1, ""]]}, "memory")
    monkeypatch.setattr(cgroup, "places", dict)
    reply = hungry.run(HUNGRY)
    assert (reply.data, reply.why) == (None, "memory")


@pytest.mark.parametrize(("make", "folder", "grouped"), [
    ("open(name, 'w').close()", "/home/student", True), ("open(name, 'w').close()", "/tmp", False),
    ("os.mkdir(name)", "/dev/shm", False), ("os.symlink('x', name)", "/tmp", True),
    ("os.mkfifo(name)", "/home/student", False),
])  # fmt: skip
def test_files_without_a_size_are_counted(sandbox, monkeypatch, make, folder, grouped):
    """690,000 empty files took 554 MB of the kernel's memory, which no limit of a plain user saw."""
    if not grouped:
        monkeypatch.setattr(cgroup, "places", dict)
    few = f"import os\nfor i in range(2000):\n    name = f'{folder}/{{i}}'\n    {make}"
    assert sandbox.run(job(few, "1")).data["parts"] == {"p": [["gave", 1, ""]]}

    reply = sandbox.run(job(few.replace("2000", "10**7"), "1"))

    assert (reply.data, reply.why) == (None, "files")


def test_who_made_too_many_files_is_told_so():
    class Full(Sandbox):
        def run(self, job):
            return Reply(None, "files")

    result = grade(CASES["as_it_should_be"].data, task(NAME, ROOT / "exercises"), Full("none"))
    assert result["status"] == "failed"
    assert result["notes"][-1] == "Nothing could be checked: it made more than 20000 files and was stopped."


def test_who_lost_a_process_to_its_memory_is_told_so():
    class Full(Sandbox):
        def run(self, job):
            return Reply({"cells": {}, "parts": {"product": [["gave", 1, ""]]}}, "memory")

    result = grade(CASES["as_it_should_be"].data, task(NAME, ROOT / "exercises"), Full("none"))
    assert any("exceeded the memory limit" in note for note in result["notes"])


def test_one_process_takes_none_of_the_memory_that_others_need(sandbox):
    hungry = type(sandbox)(sandbox.kind, Limits(cell=20, part=20, all=60, memory=300 << 20))
    reply = hungry.run(job("x = b'1' * (200 << 20)"))
    assert reply.data["cells"]["c"].startswith("MemoryError")
    assert reply.data["parts"]["p"] == [["gave", 1, ""]]


def test_time_is_that_of_processors_where_they_are_kept_busy_and_of_the_clock_where_not(sandbox, monkeypatch):
    """What is said differs: who was late may have been kept waiting by others, and is graded again."""
    monkeypatch.setattr(watch, "GRACE", 0)
    endless = job("import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\nwhile True: pass")
    assert Sandbox(sandbox.kind, Limits(cell=60, all=1.5, wall_factor=30)).run(endless).why == "cpu"
    monkeypatch.setattr(watch, "SLEEPING", 0)  # it was not busy enough to be called awake, but for how it began
    endless["cells"][0][1] = endless["cells"][0][1].replace("pass", "signal.pause()")
    assert Sandbox(sandbox.kind, Limits(cell=60, all=1.5, wall_factor=2)).run(endless).why == "late"


def test_who_only_sleeps_keeps_no_worker_for_as_long_as_who_is_kept_waiting(sandbox, monkeypatch):
    monkeypatch.setattr(watch, "GRACE", 0)
    monkeypatch.setattr(watch, "SLEEPING", 0.9)  # so that to begin is not to work, on a busy machine too
    reply = Sandbox(sandbox.kind, Limits(cell=60, all=2, wall_factor=60)).run(job("import time\ntime.sleep(1e6)"))
    assert (reply.why, reply.data) == ("asleep", None)


@pytest.mark.night
def test_sixty_spinning_processes_cost_nobody_else_a_point(sandbox):
    if "cpu" not in cgroup.places():
        pytest.skip("no control group here has a share of the processors")
    spinning = job(
        "import os\ntry:\n    for _ in range(55):\n        if os.fork() == 0:\n            os.setsid()\n"
        "            while True: pass\nexcept OSError: pass\nwhile True: pass"
    )
    waits = ["waits", "import time\ntime.sleep(3)"]  # until the others spin
    works = ["works", "n = sum(i * i for i in range(6_000_000))"]  # half a second of a processor
    honest = {"cells": [waits, works], "parts": [["p", ["n"], parse_probes("n > 0")]]}
    with ThreadPoolExecutor() as pool:
        beside = [pool.submit(Sandbox(sandbox.kind, Limits(cell=2.5)).run, spinning) for _ in range(2)]
        reply = Sandbox(sandbox.kind, Limits(cell=4, wall_factor=1)).run(honest)
        assert reply.data == {"cells": {}, "parts": {"p": [["gave", True, ""]]}}
        assert [each.result().data["cells"]["c"] for each in beside] == ["was stopped: its time was up"] * 2


@pytest.mark.parametrize("grouped", [True, False])
def test_nothing_of_it_is_left_when_it_has_answered(sandbox, monkeypatch, grouped):
    """Its user id is another's then."""
    if not grouped:
        monkeypatch.setattr(cgroup, "places", dict)
    mark = f"left{os.getpid()}"
    source = (
        f"import ctypes, os\nctypes.CDLL(None).prctl(15, b'{mark}', 0, 0, 0)\n"
        "for _ in range(20):\n    if os.fork() == 0:\n        os.setsid()\n        while True: pass"
    )
    for _ in range(3):
        assert sandbox.run(job(source)).data["parts"]
        for path in Path("/proc").glob("[0-9]*/comm"):
            with contextlib.suppress(OSError):  # a process that has ended meanwhile
                assert path.read_text().strip() != mark
    made = f"minigrad-{os.getpid()}-*"
    assert not [group for folder in cgroup.places().values() for group in folder.glob(made)]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become somebody else")
def test_no_two_sandboxes_of_this_machine_have_one_user_id():
    program = (
        "import time\nfrom minigrad.course.grading.sandbox import lock_user_id\n"
        "with lock_user_id() as user: print(user, flush=True); time.sleep(60)"
    )
    others = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    taken = [int(other.stdout.readline()) for other in others]
    with sandboxes.lock_user_id() as one, sandboxes.lock_user_id() as two:
        assert len({one, two, *taken}) == 4
    for other in others:
        other.kill()
        other.communicate()
    with contextlib.ExitStack() as held:
        again = [held.enter_context(sandboxes.lock_user_id()) for _ in range(40)]
        assert {*taken} <= {*again}  # who was killed holds none


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become somebody else")
def test_user_ids_are_locked_where_nobody_else_can(tmp_path, monkeypatch):
    (tmp_path / "taken").mkdir()
    os.chown(tmp_path / "taken", 12345, 12345)
    (tmp_path / "file").touch()
    places = [tmp_path / "file" / "none", tmp_path / "taken", tmp_path / "own"]
    monkeypatch.setattr(sandboxes, "FOLDERS", places)
    with sandboxes.lock_user_id() as user:
        assert [*(tmp_path / "own").iterdir()] == [tmp_path / "own" / str(user)]
    monkeypatch.setattr(sandboxes, "FOLDERS", places[:2])
    with pytest.raises(OSError, match="no user ids can be locked"), sandboxes.lock_user_id():
        pass


def test_a_group_of_an_ended_grader_is_removed(monkeypatch):
    if not cgroup.places():
        pytest.skip("no control group can be made here")
    left = cgroup.places()["memory"] / "minigrad-999999999-0"
    left.mkdir()
    cgroup.places.cache_clear()
    assert cgroup.places()
    assert not left.exists()


def tree(folder, **delegated):
    """Groups as in version 2, each with what it gives to those in it."""
    for name, controllers in delegated.items():
        group = folder / name.replace("__", "/")
        group.mkdir(parents=True)
        (group / "cgroup.subtree_control").write_text(controllers)
        (group / "cgroup.procs").touch()
    return folder


def test_a_group_is_made_where_the_nearest_above_allows_it(tmp_path, monkeypatch):
    """As on a desktop: the terminal's own group has processes in it and gives nothing on, the slice above does."""
    root = tree(tmp_path, user="cpu memory pids", user__app="memory pids", user__app__terminal="")
    said = {
        "/proc/self/cgroup": ["0::/user/app/terminal"],
        "/proc/self/mountinfo": [f"30 23 0:26 / {root} rw,relatime - cgroup2 cgroup2 rw,nsdelegate"],
    }
    monkeypatch.setattr(cgroup, "lines", said.__getitem__)
    assert [*cgroup.trees()] == [{"memory": root / "user" / "app", "pids": root / "user" / "app"}]

    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert [*cgroup.trees()] == [{}]


def test_a_group_of_version_2_counts_what_was_begun_in_it():
    place = Path("/sys/fs/cgroup/unified")
    if not (place / "cgroup.controllers").exists() or not os.access(place, os.W_OK):
        pytest.skip("no tree of version 2 can be written here")
    spin = [sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"]
    with cgroup.make_group({"memory": place}, Limits()) as group:
        subprocess.run(group.wrap_command(spin), check=True)
        assert group.seconds() >= 0.3
        assert not group.out_of_memory()
    assert not group.folders["memory"].exists()


def test_what_is_not_enforced_is_said(sandbox, monkeypatch):
    monkeypatch.setattr(cgroup, "places", lambda: {"cpu": Path("/nowhere")})
    monkeypatch.setattr(platform, "machine", lambda: "m68k")
    groups, calls = sandbox.missing()
    assert groups.startswith("memory, the number of processes: no control group here limits them")
    assert calls == "system calls are not filtered: the filter knows no m68k"
    assert "can read and write all that you can" in Sandbox("none").missing()[0]
