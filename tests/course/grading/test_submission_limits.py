"""How long and how much a submission may: by what it does itself, and not by what else the machine does."""

import os
import subprocess
import sys
from itertools import count

import pytest

from minigrad.course import child
from minigrad.course.grading import sandbox
from minigrad.course.referee import parse_probes
from tests.course.grading.sandboxes import job, sandbox_here


def ask(probe, before="", **limits):
    """What a probe gives, after a cell, with limits: its kind; and what is said of the cell."""
    data = sandbox_here(**limits).run(job(before, f"import time\n{probe}")).data
    (outcome,) = data["parts"]["p"]
    return outcome[0], data["cells"].get("c", "")


WORK = "any(iter(int, 1))"
BUSY = """
def busy(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: pass
"""
STOPPED = "was stopped: its time was up"


def test_the_seconds_of_a_part_are_of_work():
    """On a busy machine it waits for others most of the time, which is none of its doing."""
    assert ask("time.sleep(1.5)", part=0.5)[0] == "gave"
    assert ask(WORK, part=0.5)[0] == "endless"
    assert ask(f"{BUSY}\nbusy(1.2)", part=3, wall_factor=40)[0] == "gave"
    assert ask(f"{BUSY}\nbusy(1.2)", part=0.5, wall_factor=40)[0] == "endless"


def test_a_part_that_waits_is_stopped_by_the_clock():
    assert ask("[time.sleep(0.1) for _ in range(15)]", part=0.2, wall_factor=2)[0] == "endless"


def test_the_seconds_of_a_cell_are_of_work():
    assert ask("1", "import time; time.sleep(1.5)", cell=0.5) == ("gave", "")
    assert ask("1", WORK, cell=0.5) == ("gave", STOPPED)
    assert ask("1", f"import os\nif not os.fork(): {WORK}", cell=0.5) == ("gave", "")


def test_a_cell_that_waits_is_stopped_by_the_clock():
    assert ask("1", "import time; time.sleep(99)", cell=0.5, wall_factor=2) == ("gave", STOPPED)


def test_what_waits_for_ever_leaves_time_for_what_does_not():
    waits = "import time\nwhile True:\n    try: time.sleep(99)\n    except BaseException: pass"
    assert ask("1", waits, cell=0.5, all=8, wall_factor=1) == ("gave", STOPPED)


def test_what_one_part_has_loaded_is_there_for_the_next_and_nothing_else_of_it():
    box = sandbox_here()
    first = "import minigrad.scalar.value as module, html\nmodule.mark = 1\nmodule.__name__"
    asked = "import sys\n[name in sys.modules for name in ('minigrad.scalar.value', 'html')]"
    then = f"{asked}\nimport minigrad.scalar.value as module\nhasattr(module, 'mark')"
    parts = box.run({"cells": [], "parts": [["p", [], parse_probes(first)], ["q", [], parse_probes(then)]]}).data[
        "parts"
    ]
    assert [value for _, value, _ in parts["p"] + parts["q"]] == ["minigrad.scalar.value", [True, False], False]


def test_a_submission_starts_without_modules_that_are_slow_to_load_and_without_ours():
    """Each was a tenth of the time that a sandbox takes before it runs the first cell."""
    names = ("typing", "ast", "traceback", "textwrap", "importlib.util", "child", "probe", "notebook")
    asked = f"import sys, gc\n[name for name in {names} if name in sys.modules]\ngc.isenabled()"
    loaded, collects = sandbox_here().run(job("", asked)).data["parts"]["p"]
    assert (loaded[1], collects[1]) == ([], True)


def test_where_addresses_are_shuffled_it_is_said(monkeypatch):
    monkeypatch.setattr(sandbox, "disable_aslr", list)
    assert "the order of sets" in sandbox.Sandbox("bubblewrap").missing()[-1]


GAP = 0.05
BUSY_OTHERS = {  # whether a thread is ready, and the work of all in each gap; what counts of 100 gaps, in gaps
    "nobody else wants the processor": (True, GAP, 100),
    "it sleeps": (False, 0.0, 100),
    "others take half of it": (True, GAP / 2, 50),
    "others take nearly all of it": (True, GAP / 50, 25),
    "it makes its own queue on one processor": (True, GAP, 100),
    "it makes its own queue on two processors": (True, 2 * GAP, 100),
}


@pytest.mark.parametrize(("ready", "work", "counts"), BUSY_OTHERS.values(), ids=BUSY_OTHERS)
def test_the_clock_on_the_wall_is_slower_while_others_have_the_processors(ready, work, counts, monkeypatch):
    looks = count()
    monkeypatch.setattr(child.time, "monotonic", lambda: GAP * next(looks))
    worked = count()
    monkeypatch.setattr(child, "demand", lambda processes: (ready, work * next(worked)))
    wall = child.Wall()
    for _ in range(100):
        passed = wall.seconds()
    assert passed / GAP == pytest.approx(counts, abs=1 + child.DRIFT / GAP * (ready and work < GAP))


@pytest.mark.share(3)
@pytest.mark.skipif(os.name != "posix", reason="no affinity")
def test_a_cell_that_others_keep_waiting_is_not_stopped_by_the_clock():
    """Right notebooks were `crashed`: cells that the exercise gave were stopped, and had hardly run."""
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(mine)})
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        limits = {"cell": 4, "part": 4, "all": 60, "wall_factor": 1}
        assert ask("1", f"import time\n{BUSY}\nbusy(1.5)", **limits) == ("gave", "")
        assert ask(f"{BUSY}\nbusy(1.5)", **limits)[0] == "gave"
        assert ask("1", "import time; time.sleep(99)", **limits | {"cell": 1}) == ("gave", STOPPED)
    finally:
        os.sched_setaffinity(0, mine)
        for each in spinning:
            each.kill()
            each.wait()
