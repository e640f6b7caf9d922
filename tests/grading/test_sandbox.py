"""The walls of the sandbox, one by one: what is asked from inside is answered, and the answer is looked at here."""

import os
import socket
from pathlib import Path

import pytest
from grading.cases import ROOT

from minigrad.grading.sandbox import Limits, NoSandbox, found


@pytest.fixture(scope="module")
def sandbox():
    try:
        made = found(limits=Limits(cell=20, part=20, all=60))
    except NoSandbox as error:
        pytest.skip(str(error))
    assert made.kind == "bubblewrap"
    return made


@pytest.fixture
def inside(sandbox):
    def ask(*lines):
        """What the last line gives inside."""
        *before, last = lines
        reply = sandbox.run({"cells": [["c", "\n".join(before)]], "parts": [["p", [], last]]})
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


def test_it_reaches_nobody_who_listens_on_this_machine(inside):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port), 5).close()  # from here it is reached
        assert inside(
            "import socket", "def reached():", "    try:",
            f"        socket.create_connection(('127.0.0.1', {port}), 2).close()", "        return True",
            "    except OSError:", "        return False", "reached()",
        ) is False  # fmt: skip


def test_it_sees_no_process_but_its_own(inside):
    seen = inside("import os", "sum(name.isdigit() for name in os.listdir('/proc'))")
    assert seen <= 6


def test_it_has_no_rights_and_can_get_none(inside):
    status = "dict(line.split(':', 1) for line in open('/proc/self/status') if ':' in line)"
    rights = inside(
        f"status = {status}", "[status[name].strip() for name in ('CapEff', 'CapPrm', 'CapBnd', 'NoNewPrivs')]"
    )
    assert rights[:2] == ["0" * 16] * 2
    if os.geteuid() == 0:
        assert rights[2:] == ["0" * 16, "1"]
        assert inside("import os", "os.getuid()") >= 60_000


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


def test_its_processes_are_few_and_end_with_it(inside):
    lines = [
        "import os, time", "def forked():", "    n = 0", "    try:", "        for _ in range(500):",
        "            if os.fork() == 0:", "                time.sleep(20); os._exit(0)", "            n += 1",
        "    except OSError: pass", "    return n",
    ]  # fmt: skip
    assert 10 < inside(*lines, "forked()") < 64


def test_memory_of_all_its_processes_together_has_an_end(sandbox):
    hungry = type(sandbox)(sandbox.kind, Limits(cell=20, part=20, all=60, memory=300 << 20))
    many = "import os, time\nfor _ in range(3): os.fork()\nx = b'1' * (80 << 20)\ntime.sleep(5)"
    reply = hungry.run({"cells": [["c", many]], "parts": [["p", [], "1"]]})
    assert (reply.data, reply.why) == (None, "memory")


def test_one_process_takes_none_of_the_memory_that_others_need(sandbox):
    hungry = type(sandbox)(sandbox.kind, Limits(cell=20, part=20, all=60, memory=300 << 20))
    reply = hungry.run({"cells": [["c", "x = b'1' * (200 << 20)"]], "parts": [["p", [], "1"]]})
    assert (reply.data["cells"]["c"], reply.data["parts"]["p"]) == ("MemoryError: ", [["gave", 1, ""]])
