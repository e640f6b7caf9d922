"""What runs inside the sandbox: a submission's cells, and then the probes. No expected value ever comes in here.

In comes a job, as JSON on stdin:

    cells    [[name, source], …]               in the order of the notebook
    parts    [[name, defines, probes], …]      what is to be looked at afterwards
    limits   {"cell": s, "part": s, "all": s}

Out goes, as JSON on stdout, what became of the cells, and what the probes gave: plain data, to be judged elsewhere.

The first process only watches. It forks a second, which runs the cells and forks once more for each part, so that no
part disturbs another. When the second ends or hangs in a cell, that cell is left out and the rest is run anew; when it
ends at a part, it is run anew for the parts that are left.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import contextlib
import importlib.util
import inspect
import linecache
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from json import dumps, load, loads
from typing import Any

RUNS = 8  # of the second process, before what is left is given up
REPLY = 4 << 20  # bytes; an answer is a few hundred
LOOK = 0.05  # seconds between two looks at whether a process has ended
FILES = 1024  # the highest number of a file that is open
SHELL = ("%", "!", "?")


class Overdue(BaseException):
    """Raised in a cell whose time is up."""


def main() -> None:
    job = load(sys.stdin)
    reply = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # what a submission prints is nobody's business, and it has nobody to ask
        os.dup2(nothing, stream)
    os.write(reply, dumps(watched(job)).encode())


def watched(job: dict[str, Any]) -> dict[str, Any]:
    """What became of each cell and each part, over as many runs as it takes."""
    cells: dict[str, str] = {}
    parts: dict[str, Any] = {}
    left_out: set[str] = set()
    deadline = time.monotonic() + job["limits"]["all"]
    for _ in range(RUNS):
        wanted = [part for part in job["parts"] if part[0] not in parts]
        if not wanted or time.monotonic() > deadline:
            break
        at, messages, late = one_run(job, left_out, wanted, deadline)
        for kind, name, what in messages:
            (cells if kind == "cell" else parts)[name] = what
        if at is None:
            break
        kind, name = at
        if kind == "cell":
            left_out.add(name)
            cells[name] = "was stopped: its time was up" if late else "ended the process"
        else:
            parts[name] = [["endless" if late else "died", None, ""]]
    return {"cells": cells, "parts": parts}


def one_run(job: dict[str, Any], left_out: set[str], wanted: list[Any], deadline: float) -> tuple[Any, list[Any], bool]:
    """Where a run ended before its end, if it did; what it has told; and whether it was out of time."""
    child, reader = forked(lambda writer: run(job, left_out, wanted, writer))
    at: Any = ("cell", "")
    messages: list[Any] = []
    until = [deadline]  # the last is what holds now
    for line in lines(child, reader, lambda: until[-1]):
        try:
            kind, name, what = loads(line)
            if kind == "at":
                at = (what, name)
                # A cell has a clock of its own, which comes first.
                until.append(min(deadline, time.monotonic() + 1.5 * job["limits"][what] + 1))
        except (ValueError, TypeError, KeyError):
            break  # a submission has written here
        if kind == "over":
            at = None if {part[0] for part in wanted} <= {told for kind, told, _ in messages if kind == "part"} else at
            break
        if kind != "at":
            messages.append((kind, name, what))
    late = at is not None and time.monotonic() >= until[-1]
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


def lines(child: int, reader: int, deadline: Callable[[], float]) -> Iterator[bytes]:
    """What a process writes, line by line, until it has ended, time is up, or it writes too much."""
    pending, total, ended = b"", 0, False
    while time.monotonic() < deadline() and total < REPLY:
        ready, _, _ = select.select(
            [reader], [], [], 0.0 if ended else min(LOOK, max(deadline() - time.monotonic(), 0))
        )
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


def run(job: dict[str, Any], left_out: set[str], wanted: list[Any], writer: int) -> None:
    """Run the cells, and look at the parts; tell of each before and after."""

    def tell(kind: str, name: str, what: Any) -> None:
        os.write(writer, dumps([kind, name, what]).encode() + b"\n")

    look = looking()
    own = dict(vars(builtins))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    signal.signal(signal.SIGALRM, overdue)
    for name, source in job["cells"]:
        if name not in left_out:
            tell("at", name, "cell")
            error = executed(source, name, namespace, job["limits"]["cell"])
            vars(builtins).update(own)  # a cell may have replaced what all else is made of
            if error:
                tell("cell", name, error)
    for name, defines, probes in wanted:
        tell("at", name, "part")
        tell("part", name, in_a_process_of_its_own(partial(look, defines, probes, namespace), job["limits"]["part"]))
    tell("over", "", None)


def overdue(*_: Any) -> None:
    raise Overdue


def executed(source: str, name: str, namespace: dict[str, Any], seconds: float) -> str:
    """Run a cell; what went wrong, in a line."""
    try:
        source, file = without_shell(source), f"<{name}>"
        linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file  # AutoGraph reads the source
        code = compile(source, file, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        if code.co_flags & inspect.CO_COROUTINE:
            asyncio.run(eval(code, namespace))
        else:
            exec(code, namespace)
    except Overdue:
        return "was stopped: its time was up"
    except BaseException as error:  # sys.exit, too, ends no more than its cell
        try:
            said = str(error)
        except BaseException:
            said = ""
        return f"{type(error).__name__}: {said[:300]}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return ""


def without_shell(source: str) -> str:
    """A cell without what only a notebook understands: magics, commands, questions."""
    lines = source.split("\n")
    if lines[0].startswith("%%") and not lines[0].startswith(("%%time", "%%capture")):
        return ""
    return "\n".join(plain(line) for line in lines)


def plain(line: str) -> str:
    stripped = line.lstrip()
    magic = stripped.startswith(SHELL) or (stripped.endswith("?") and stripped.rstrip("?").isidentifier())
    return line[: len(line) - len(stripped)] + "pass" if magic else line


def in_a_process_of_its_own(look: Callable[[], list[Any]], seconds: float) -> list[Any]:
    """What the probes of a part give: [[kind, value, words], …]."""

    def work(writer: int) -> None:
        data = dumps(look()).encode() + b"\n"
        while data:
            data = data[os.write(writer, data) :]

    child, reader = forked(work)
    deadline = time.monotonic() + seconds
    found = next(lines(child, reader, lambda: deadline), b"")
    late = time.monotonic() >= deadline
    os.close(reader)
    end(child)
    try:
        outcomes: list[Any] = loads(found)
    except ValueError:
        return [["endless" if late else "died", None, ""]]
    return outcomes


def looking() -> Callable[[list[str], str, dict[str, Any]], list[Any]]:
    """How a part is looked at: by a copy of course/probe.py, made before any cell has run, that no import finds."""
    probe = loaded("minigrad.course.probe")

    def look(defines: list[str], probes: str, namespace: dict[str, Any]) -> list[Any]:
        if any(namespace.get(name, ...) is ... for name in defines):
            return [["todo", None, ""]]
        return [[outcome.kind, outcome.value, outcome.told] for outcome in probe.observe(probes, namespace)]

    return look


def loaded(name: str) -> Any:
    """A module of its own, which is not the one that everybody imports."""
    spec = importlib.util.find_spec(name)
    assert spec is not None  # it is a file beside this one's folder
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look for their module there
    spec.loader.exec_module(module)
    del sys.modules[name]
    return module


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    main()
