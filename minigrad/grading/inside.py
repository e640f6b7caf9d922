"""What runs inside the sandbox: a submission's cells, and then the probes. No expected value ever comes in here.

In comes a job, as JSON on stdin:

    cells    [[name, source], …]               in the order of the notebook
    parts    [[name, defines, probes], …]      what is to be looked at afterwards
    limits   {"cell": s, "part": s, "all": s, "patience": times, "memory": bytes}

Out goes, as JSON on stdout, what became of the cells, and what the probes gave: plain data, to be judged elsewhere.

The first process only watches. It forks a second, which runs the cells and forks once more for each part, so that no
part disturbs another. When the second ends or hangs in a cell, that cell is left out and the rest is run anew; when it
ends at a part, it is run anew for the parts that are left.

Seconds are of work. Who sleeps, or waits for others, is stopped by the clock on the wall: `patience` times as late.
"""

from __future__ import annotations

import ast
import builtins
import codeop
import contextlib
import importlib.util
import linecache
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from json import dumps, load, loads
from pathlib import Path
from types import ModuleType
from typing import Any

STOPPED = "was stopped: its time was up"  # what becomes of a cell
RUNS = 40  # of the second process, before what is left is given up
REPLY = 4 << 20  # bytes; an answer is a few hundred
LOOK = 0.05  # seconds between two looks at whether a process has ended
FILES = 1024  # the highest number of a file that is open
SHARE = 0.4  # of all memory, for one process: what one answer takes, all others shall not lack
FIRST_TO_GO = "1000"  # of all processes, where the system itself ends one for want of memory
COMMON = ("numpy", "minigrad")  # what parts share of what they load
MINIGRAD = Path(__file__).resolve().parents[1]


Look = Callable[[list[str], str, dict[str, Any]], list[Any]]


class Overdue(BaseException):
    """Raised in a cell whose time is up."""


def main() -> None:
    job = load(sys.stdin)
    reply = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # what a submission prints is nobody's business, and it has nobody to ask
        os.dup2(nothing, stream)
    os.write(reply, dumps(watched(job)).encode())
    os._exit(0)  # all is said, and to clear up takes longer than some submissions


class Clock:
    """The time that a process has: seconds of work, `patience` times as many on the wall, and no more than another."""

    def __init__(self, process: int, seconds: float, patience: float, whole: Clock | None = None):
        self.process, self.whole = process, whole
        self.work, self.wall = worked(process) + seconds, time.monotonic() + patience * seconds

    def left(self) -> float:
        mine = min(self.work - worked(self.process), self.wall - time.monotonic())
        return min(mine, self.whole.left()) if self.whole else mine


def worked(process: int) -> float:
    """Seconds that a process, and those of its children that have ended, have had of a processor."""
    try:
        told = Path(f"/proc/{process}/stat").read_text()
    except OSError:  # this is another system than Linux
        return time.monotonic()
    return sum(map(int, told.rpartition(")")[2].split()[11:15])) / os.sysconf("SC_CLK_TCK")


def watched(job: dict[str, Any]) -> dict[str, Any]:
    """What became of each cell and each part, over as many runs as it takes."""
    cells: dict[str, str] = {}
    parts: dict[str, Any] = {}
    left_out: set[str] = set()
    limits, look = job["limits"], looking()
    whole = Clock(os.getpid(), limits["all"], limits["patience"])
    for _ in range(RUNS):
        wanted = [part for part in job["parts"] if part[0] not in parts]
        if not wanted or whole.left() <= 0:
            break
        work = partial(run, job["cells"], wanted, limits, left_out, look)
        at, messages, late = one_run(work, {part[0] for part in wanted}, limits, whole)
        for kind, name, what in messages:
            (cells if kind == "cell" else parts)[name] = what
        if at is None:
            break
        stopped = {name for kind, name, what in messages if (kind, what) == ("cell", STOPPED)} - left_out
        left_out |= stopped  # what they have started may be why the run came to an end
        kind, name = at
        if kind == "cell":
            left_out.add(name)
            cells[name] = STOPPED if late else "ended the process"
        elif not stopped:
            parts[name] = [["endless" if late else "died", None, ""]]
    return {"cells": cells, "parts": parts}


def one_run(
    work: Callable[[int], None], wanted: set[str], limits: dict[str, float], whole: Clock
) -> tuple[Any, list[Any], bool]:
    """Where a run ended before its end, if it did; what it has told; and whether it was out of time."""
    child, reader = forked(work)
    at: Any = ("cell", "")
    messages: list[Any] = []
    this_run = Clock(child, whole.left(), limits["patience"], whole)
    clock = this_run

    def left() -> float:
        return clock.left()

    for line in lines(child, reader, left):
        try:
            kind, name, what = loads(line)
            if kind == "at":
                at = (what, name)
                # A cell has a clock of its own, which comes first.
                clock = Clock(child, 1.5 * limits[what] + 1, limits["patience"], this_run)
        except (ValueError, TypeError, KeyError):
            break  # a submission has written here
        if kind == "over":
            at = None if wanted <= {told for kind, told, _ in messages if kind == "part"} else at
            break
        if kind != "at":
            messages.append((kind, name, what))
    late = at is not None and clock.left() <= 0
    os.close(reader)
    end(child)
    return at, messages, late


def forked(work: Callable[[int], None]) -> tuple[int, int]:
    """A process that does some work, and where to read what it writes."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.closerange(3, writer)
            os.closerange(writer + 1, FILES)
            os.setsid()
            work(writer)
        finally:
            os._exit(0)
    os.close(writer)
    return child, reader


def lines(child: int, reader: int, left: Callable[[], float]) -> Iterator[bytes]:
    """What a process writes, line by line, until it has ended, no time is left, or it writes too much."""
    pending, total, ended = b"", 0, False
    while (seconds := left()) > 0 and total < REPLY:
        ready, _, _ = select.select([reader], [], [], 0.0 if ended else min(LOOK, seconds))
        if ready:
            data = os.read(reader, 1 << 16)
            if not data:
                return
            total += len(data)
            *whole, pending = (pending + data).split(b"\n")
            yield from whole
        elif ended:  # what it has left running may hold the pipe open for ever
            return
        else:
            ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def end(child: int) -> None:
    """End a process and all that it has started."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(OSError):
            kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


# -- the second process ---------------------------------------------------------------------------


def run(
    cells: list[list[str]], wanted: list[Any], limits: dict[str, float], left_out: set[str], look: Look, writer: int
) -> None:
    """Run the cells, and look at the parts; tell of each before and after."""

    def tell(kind: str, name: str, what: Any) -> None:
        os.write(writer, dumps([kind, name, what]).encode() + b"\n")

    bounded(int(SHARE * limits["memory"]))
    notebook = loaded("grading/notebook.py")
    notebook.stand_in()
    own = dict(vars(builtins))
    kernel = Kernel(notebook.python_of, limits["cell"], limits["patience"])
    for name, source in cells:
        if name not in left_out:
            tell("at", name, "cell")
            error = kernel.ran(source, f"<{name}>")
            vars(builtins).update(own)  # a cell may have replaced what all else is made of
            if error:
                tell("cell", name, error)
    for name, defines, probes in wanted:
        tell("at", name, "part")
        tell("part", name, in_a_process_of_its_own(partial(look, defines, probes, kernel.namespace), limits))
    tell("over", "", None)


def bounded(memory: int) -> None:
    """May this process, and each that it starts, end for want of memory before the one that watches does."""
    import resource  # Windows has none, and runs nothing here

    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(FIRST_TO_GO)


class Kernel:
    """What runs cells, one after the other, as a notebook's does.

    python_of    makes Python of a cell that is none
    """

    def __init__(self, python_of: Callable[[str], str], seconds: float, patience: float):
        self.python_of, self.seconds, self.patience = python_of, seconds, patience
        self.main = sys.modules["__main__"] = ModuleType("__main__")  # where pickle looks for what a cell has defined
        self.namespace = vars(self.main)
        self.compile = codeop.Compile()  # remembers what a cell has imported from __future__
        self.compile.flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self.loop: Any = None

    def ran(self, source: str, file: str) -> str:
        """Run a cell; what went wrong, in a line."""
        try:
            self.start_clocks()
            awaited = eval(self.code(source, file), self.namespace)
            if awaited is not None:
                self.run_awaited(awaited)
        except Overdue:
            return STOPPED
        except BaseException as error:  # sys.exit, too, ends no more than its cell
            try:
                said = str(error)[:300]
            except BaseException:
                said = ""
            kind = vars(type)["__name__"].__get__(
                type(error)
            )  # the true one, as below: either may be the cell's to write
            return ": ".join(filter(None, [kind, said])) + in_line(error, file)
        finally:
            for clock in (signal.ITIMER_PROF, signal.ITIMER_REAL):
                signal.setitimer(clock, 0)
        return ""

    def code(self, source: str, file: str) -> Any:
        try:
            code = self.compile(source, file, "exec")
        except SyntaxError:
            source = self.python_of(source)
            code = self.compile(source, file, "exec")
        linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file  # AutoGraph reads the source
        return code

    def start_clocks(self) -> None:
        for clock, seconds in ((signal.ITIMER_PROF, self.seconds), (signal.ITIMER_REAL, self.patience * self.seconds)):
            signal.signal(signal.SIGPROF if clock == signal.ITIMER_PROF else signal.SIGALRM, overdue)
            signal.setitimer(clock, seconds)

    def run_awaited(self, awaited: Any) -> None:
        import asyncio  # takes longer to load than most submissions to run

        self.loop = self.loop or asyncio.new_event_loop()
        self.loop.run_until_complete(awaited)


def in_line(error: BaseException, file: str) -> str:
    """Where in a cell an error came from; a SyntaxError says it itself."""
    at, line = vars(BaseException)["__traceback__"].__get__(error), 0
    while at is not None:
        line = at.tb_lineno if at.tb_frame.f_code.co_filename == file else line
        at = at.tb_next
    return f", in line {line}" if line else ""


def overdue(*_: Any) -> None:
    raise Overdue


def in_a_process_of_its_own(look: Callable[[], list[Any]], limits: dict[str, float]) -> list[Any]:
    """What the probes of a part give: [[kind, value, words], …]."""

    def work(writer: int) -> None:
        before = set(sys.modules)
        told = look(), [name for name in sys.modules if name not in before and name.startswith(COMMON)]
        data = dumps(told).encode() + b"\n"
        while data:
            data = data[os.write(writer, data) :]

    child, reader = forked(work)
    clock = Clock(child, limits["part"], limits["patience"])
    found = next(lines(child, reader, clock.left), b"")
    late = clock.left() <= 0
    os.close(reader)
    end(child)
    try:
        outcomes, modules = loads(found)
    except (ValueError, TypeError):
        return [["endless" if late else "died", None, ""]]
    for name in modules:  # so that the next part does not load them again
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    return list(outcomes)


def looking() -> Look:
    """How a part is looked at: by a copy of course/probe.py, made before any cell has run, that no import finds."""
    probe = loaded("course/probe.py")

    def look(defines: list[str], probes: str, namespace: dict[str, Any]) -> list[Any]:
        if any(namespace.get(name, ...) is ... for name in defines):
            return [["todo", None, ""]]
        return [[outcome.kind, outcome.value, outcome.told] for outcome in probe.observe(probes, namespace)]

    return look


def loaded(file: str) -> Any:
    """A module of its own, without those around it, which take longer to load than a submission to run."""
    name = f"minigrad.{file.removesuffix('.py').replace('/', '.')}"
    spec = importlib.util.spec_from_file_location(name, MINIGRAD / file)
    assert spec is not None  # it is a file of ours
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look for their module there
    spec.loader.exec_module(module)
    del sys.modules[name]
    return module


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    main()
