"""Answers that would take the notebook with them, looked at where they can be stopped: the notebook goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from test_check import names_after, part

from minigrad.course import child, exercise, fork
from minigrad.course.exercise import check_answer

HELD = {
    "a power": "def f(x): return 7 ** 10 ** 8",
    "a regular expression": "import re\ndef f(x): return re.match('(a+)+$', 'a' * 60 + 'b')",
    "a sum without end": "def f(x): return sum(iter(int, 1))",
    "a loop that catches all": (
        "def f(x):\n while True:\n  try:\n   while True: pass\n  except BaseException: pass"
    ),
}  # fmt: skip
PART = part("f(1)\nf(2)\nf(3)", 2, 4, 6, defines="f", is_open=True)
forking = pytest.mark.skipif(not fork.forks(), reason="no process is forked here")


def kinds(source: str, seconds: float = 0.3) -> list[str]:
    assert fork.forks()  # else what holds Python would end this process
    return [outcome.kind for outcome in fork.observe(PART.probes, names_after(source), seconds)]


@forking
@pytest.mark.parametrize("source", HELD.values(), ids=HELD)
def test_what_holds_python_is_stopped_and_what_came_before_it_counts(source):
    """Each of them froze the notebook: on a thread, nothing else ran again."""
    assert kinds(source) == ["endless"]
    assert kinds(f"{source}\ng = f\ndef f(x): return 2 if x == 1 else g(x)") == ["gave", "endless"]


@forking
@pytest.mark.parametrize("grown", ["[0]", "'ab'", "__import__('numpy').zeros(1000)"])
def test_what_grows_without_end_is_refused_the_memory_and_says_so(grown, monkeypatch):
    monkeypatch.setattr(fork, "MEMORY", 200 << 20)
    more = "__import__('numpy').concatenate([x, x])" if "numpy" in grown else "x + x"
    verdict = check_answer(PART, names_after(f"def f(x):\n    x = {grown}\n    while True: x = {more}"))

    assert "needed more memory than a check has" in verdict.says[0]


def test_on_a_thread_what_grows_is_stopped_before_its_time_is_up(monkeypatch):
    pytest.importorskip("psutil")
    monkeypatch.setattr(fork, "forks", lambda: False)
    monkeypatch.setattr(fork, "MEMORY", 200 << 20)
    verdict = check_answer(PART, names_after("def f(x):\n    x = []\n    while True: x.append(bytes(100_000))"))

    assert "needed more memory than a check has" in verdict.says[0]


@forking
def test_what_ends_its_process_is_said_to_and_costs_no_attempt():
    left = "import os, time\ndef f(x):\n    if os.fork(): os._exit(0)\n    time.sleep(60)"  # a child of its own goes on
    for source in ("import os\ndef f(x): os._exit(0)", "import os\ndef f(x): os.kill(os.getpid(), 9)", left):
        verdict = check_answer(PART, names_after(source))

        assert "ended the process it ran in" in verdict.says[0]
        assert verdict.attempt == ""


def test_what_an_answer_needs_of_its_notebook_is_there_and_what_it_changes_is_not():
    source = (
        "import math\nimport minigrad as mg\nw, t, seen = mg.Value(2.0), mg.tensor([2.0]), []\n"
        "def made(n):\n    def g(x): return x * n + math.floor(0.5)\n    return g\n"
        "double, times = made(2), made\n"
        "def f(x):\n    seen.append(x)\n    return double(x) + (w * 0).data + (t * 0).sum().item() + times(0)(x)\n"
    )
    namespace = names_after(source)

    assert check_answer(PART, namespace).state == "pass"
    assert namespace["seen"] == ([] if fork.forks() else [1, 2, 3])


@forking
def test_a_copy_that_waits_for_a_thread_it_has_not_is_not_believed():
    source = (
        "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\npool.submit(int).result()\n"
        "def f(x): return pool.submit(lambda: 2 * x).result(60)"
    )
    assert kinds(source) == ["gave", "gave", "gave"]


@forking
def test_a_machine_that_stands_still_takes_no_time_from_an_answer(monkeypatch, stands_still):
    """A copy that had not worked meanwhile was taken for one that waits, and the notebook's own process was ended."""
    monkeypatch.setattr(fork, "in_this_process", lambda *_: pytest.fail("it was not believed"))
    monkeypatch.setattr(child, "time", stands_still)

    assert kinds(HELD["a power"], seconds=2) == ["endless"]  # long enough for a copy to work beside others
    assert kinds("import time\ndef f(x):\n time.sleep(0.2)\n return 2 * x") == ["gave", "gave", "gave"]


@forking
def test_where_no_copy_can_be_made_or_its_end_is_ignored_an_answer_is_looked_at_all_the_same(monkeypatch):
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert kinds("def f(x): return 2 * x") == ["gave", "gave", "gave"]
    finally:
        signal.signal(signal.SIGCHLD, before)

    def none() -> int:
        raise BlockingIOError("no process more")

    monkeypatch.setattr("os.fork", none)
    assert kinds("def f(x): return 2 * x") == ["gave", "gave", "gave"]


@forking
def test_a_process_that_is_gone_has_not_worked_for_ever():
    """Where children's ends are ignored, all it had said was lost: its clock said that its time was up."""
    with child.fork_process(lambda writer: time.sleep(60)) as (process, _):
        clock = child.Clock(process, 1.0, 4.0)
    assert clock.seconds_left() > 0.5


@forking
def test_what_an_answer_writes_where_outcomes_go_is_none():
    reader, writer = os.pipe()
    os.write(writer, b'["gave", 2, ""]\n[3]\n7\n')
    os.close(writer)

    assert [outcome.kind for outcome in fork.read_outcomes(os.getpid(), reader, 1)][-1] == "died"
    os.close(reader)


@forking
def test_nothing_is_left_of_the_copies(monkeypatch):
    children, fork = [], os.fork

    def counted() -> int:
        children.append(fork())
        return children[-1]

    monkeypatch.setattr("os.fork", counted)
    before = {*Path("/proc/self/fd").iterdir()}
    for source in ("def f(x): return 2 * x", HELD["a power"], "import os\ndef f(x): os._exit(0)"):
        kinds(source)

    assert {*Path("/proc/self/fd").iterdir()} <= before
    assert len(children) == 3
    for each in children:
        with pytest.raises(ChildProcessError):
            os.waitpid(each, os.WNOHANG)


def test_where_no_process_is_forked_a_process_that_is_held_ends_and_others_go_on():
    program = (
        "from minigrad.course import fork\nfork.forks, fork.BUSY, fork.HELD = lambda: False, 1, 0.5\n"
        "print([o.value for o in fork.observe('f(1)\\nf(2)', {'f': lambda x: 2 * x}, 0.2)], flush=True)\n"
        "fork.observe('f()', {'f': lambda: sum(iter(int, 1))}, 0.2)"
    )
    ran = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=120)

    assert (ran.stdout, ran.returncode) == ("[2, 4]\n", 1)


def test_half_a_character_in_an_error_can_be_shown():
    """JSON of it could not be encoded, and the notebook showed nothing at all."""
    note = exercise.difference(PART, "f(1)", exercise.Outcome("gave", 2), fork.observe(
        "f(1)", names_after("def f(x): raise ValueError('\\ud800')"))[0])  # fmt: skip

    assert "raised ValueError (\\ud800, in line 1" in note
    assert note.encode()


# -- in a real kernel -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shown():
    """What a cell shows in a kernel."""
    manager = pytest.importorskip("jupyter_client.manager")
    kernel, client = manager.start_new_kernel(kernel_name="python3")

    def run(source: str) -> str:
        told: list[str] = []

        def read(message: Any) -> None:
            content = message["content"]
            told.append(content.get("text", "") or content.get("data", {}).get("text/plain", ""))

        client.execute_interactive(source, output_hook=read, timeout=120)
        return "".join(told)

    run("from minigrad.course import check\nclass Node: pass\nkept = 42")
    yield run
    client.stop_channels()
    kernel.shutdown_kernel(now=True)


@pytest.mark.share(8)
@forking
@pytest.mark.parametrize("source", [*HELD.values(), "def f(x):\n x = [x]\n while True: x += x"], ids=[*HELD, "a list"])
def test_a_kernel_gives_its_verdict_lives_and_has_its_variables(source, shown):
    told = shown(source.replace("f(x)", "add(x, y)") + "\nmultiply = add\nNode = lambda n: n\ncheck('product')")

    assert told.startswith("product: not yet (0 of 2 points).")
    assert "a loop in it never ends" in told or "needed more memory" in told
    assert shown("print(kept)") == "42\n"
