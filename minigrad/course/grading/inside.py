"""The program inside the sandbox: it runs a submission's cells, then the probes. It never receives an expected value.

The input is a job, as JSON on stdin:

    cells    [[name, source], …]               in the order of the notebook
    missing  how many of the first cells are not in the submitted notebook; 0 by default
    parts    [[name, defines, [[preparation, expression], …]], …]      the probes to evaluate afterwards
    limits   {"cell": s, "part": s, "all": s, "wall_factor": times, "memory": bytes}

The output, as JSON on stdout, has the errors of the cells and the outcomes of the probes: plain data, judged elsewhere.

The first process only supervises. It forks a second, which runs the cells and forks again for each part, so that parts
cannot disturb each other. If the second process dies or hangs in a cell, all cells but that one are run again. If it
dies at a part, the cells are run again for the remaining parts.
"""

from __future__ import annotations

import gc

if __name__ == "__main__":
    gc.disable()  # until all modules are loaded, which leaves no garbage

import builtins
import codeop
import contextlib
import ctypes
import importlib
import linecache
import os
import signal
import sys
import tokenize
from _ast import Expr, Expression, PyCF_ALLOW_TOP_LEVEL_AWAIT, PyCF_ONLY_AST
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from io import StringIO
from itertools import starmap
from json import dumps, load, loads
from types import CodeType, ModuleType

STOPPED = "was stopped: its time was up"  # the error of a cell that was stopped
RUNS = 40  # times to run the second process before the remaining parts are given up
OVERDUE = signal.SIGXCPU  # sent to the second process when the time of a cell is up
FILES = 1024  # no open file has a higher number
SHARE = 0.4  # of the memory limit, for one process, so that one answer cannot starve the others
FIRST_TO_GO = "1000"  # oom_score_adj: the kernel kills these processes first if memory runs out
PR_SET_DUMPABLE = 4  # linux/prctl.h
COMMON = ("numpy", "minigrad")  # modules that, once loaded by a part, are loaded for all later parts
MAGICS = ("time", "capture", "prun")  # these run their argument
LAST = ("_", "__", "___")  # IPython's names for the values of the latest cells
LATEST = ("_i", "_ii", "_iii")  # IPython's names for the sources of the previous cells
EMPTY = {tokenize.ENDMARKER, tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT}
RECURSION = 3_000  # the recursion limit of a Jupyter kernel after its first tab completion
CO_COROUTINE = 0x80  # from inspect, not imported: like typing, ast and pathlib it is slow to load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from minigrad.course import child, probe
elif __name__ == "__main__":
    sys.path.insert(0, f"{sys.argv[1]}/minigrad/course")
    import child
    import probe

    del sys.path[0], sys.modules["child"], sys.modules["probe"]  # so that no submission imports them


class Overdue(BaseException):
    """Raised in a cell whose time is up."""


def main() -> None:
    set_dumpable(False)
    gc.enable()
    gc.freeze()  # so that forked processes do not scan loaded objects, which would copy their pages
    job = load(sys.stdin)
    reply = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # a submission has no input, and its output is discarded
        os.dup2(nothing, stream)
    os.write(reply, dumps(supervise_job(job)).encode())
    os._exit(0)  # a normal exit takes longer than some submissions


def set_dumpable(allowed: bool) -> None:
    """Allow or forbid other processes of the same user to write to this one's memory: man 2 PR_SET_DUMPABLE."""
    with contextlib.suppress(AttributeError):  # only Linux has prctl
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, int(allowed))


def supervise_job(job: dict[str, Any]) -> dict[str, Any]:
    """Run the job in as many runs as necessary. Returns the errors of the cells and the outcomes of the parts."""
    cells: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    left_out: set[str] = set()
    limits = job["limits"]
    whole = child.Clock(os.getpid(), limits["all"], limits["wall_factor"], wall=child.Wall(child.others))
    for _ in range(RUNS):
        wanted = [part for part in job["parts"] if part[0] not in parts]
        if not wanted or whole.seconds_left() <= 0:
            break
        work = partial(run, job, wanted, left_out)
        at, name, late = one_run(work, {"cell": cells, "part": parts}, limits, whole)
        if all(part[0] in parts for part in wanted):
            break
        stopped = {name for name, said in cells.items() if said == STOPPED} - left_out
        left_out |= stopped  # a process that these cells started may have ended the run
        if at == "cell":
            left_out.add(name)
            cells[name] = STOPPED if late else "ended the process"
        elif not stopped:
            parts[name] = [["endless" if late else "died", None, ""]]
    return {"cells": cells, "parts": parts}


def one_run(
    work: Callable[[int], None], told: dict[str, dict[str, Any]], limits: dict[str, float], whole: child.Clock
) -> tuple[str, str, bool]:
    """Supervise one run. Returns the kind and name of the last cell or part it began, and whether its time was up.

    told    receives the results for cells and parts
    """
    at, name = "cell", ""
    with child.fork_process(partial(run_without_files, work)) as (process, reader):
        clock = this_run = child.Clock(process, whole.seconds_left(), limits["wall_factor"], whole)
        warned = True

        def time_left() -> float:
            nonlocal clock, warned
            if not warned and clock.seconds_left() <= 0:
                os.kill(process, OVERDUE)
                clock, warned = child.Clock(process, 0.5 * limits["cell"] + 1, limits["wall_factor"], this_run), True
            return clock.seconds_left()

        for line in child.lines(process, reader, time_left):
            try:
                kind, subject, what = loads(line)
                if kind == "over":
                    break
                if what is None:  # the cell or part begins
                    at, name, warned = kind, subject, kind == "part"
                    seconds = 1.5 * limits["part"] + 1 if warned else limits["cell"]  # a part has its own clock, too
                    clock = child.Clock(process, seconds, limits["wall_factor"], this_run)
                else:
                    told[kind][subject] = what
            except (ValueError, TypeError, KeyError):
                break  # the submission wrote to the pipe
        return at, name, clock.seconds_left() <= 0


def run_without_files(work: Callable[[int], None], writer: int) -> None:
    """Do some work with all files closed except the standard streams and the pipe to write to."""
    os.closerange(3, writer)
    os.closerange(writer + 1, FILES)
    work(writer)


# -- the second process ---------------------------------------------------------------------------


def run(job: dict[str, Any], wanted: list[Any], left_out: set[str], writer: int) -> None:
    """Run the cells, then evaluate the parts. Report each when it begins, and its result."""

    def tell(kind: str, name: str, what: Any = None) -> None:
        os.write(writer, dumps([kind, name, what]).encode() + b"\n")

    set_dumpable(True)
    limit_memory(int(SHARE * job["limits"]["memory"]))
    sys.setrecursionlimit(RECURSION)
    kernel = NotebookKernel()
    stand_in(kernel)
    own = dict(vars(builtins))
    number, before = -job.get("missing", 0), ""
    for name, source in job["cells"]:
        if not source.strip():
            continue
        number += before != f"{name} (as handed in)"  # the original after a changed cell has the same number
        kernel.enter(max(number, 0), source.rstrip("\n"))
        before = name
        if name not in left_out:
            tell("cell", name)
            error = kernel.run_cell(source, f"<{name}>")
            vars(builtins).update(own)  # a cell may have replaced builtins
            if error:
                tell("cell", name, error)
    for name, defines, probes in wanted:
        tell("part", name)
        look = partial(observe_part, defines, probes, kernel.namespace)
        tell("part", name, in_a_process_of_its_own(look, job["limits"]))
    tell("over", "")


def limit_memory(memory: int) -> None:
    """Limit the memory of this process and its children, and let the kernel kill them before the supervisor."""
    import resource  # missing on Windows, where this never runs

    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(FIRST_TO_GO)


class NotebookKernel:
    """Runs cells one after the other, as a notebook's kernel does."""

    def __init__(self) -> None:
        self.main = sys.modules["__main__"] = ModuleType("__main__")  # where pickle finds what cells define
        self.namespace = vars(self.main)
        self.last: dict[str, Any] = dict.fromkeys(LAST, "")
        self.outputs: dict[int, Any] = {}
        self.shown, self.number, self.sources, self.inputs = self.last, 0, ["", "", ""], [""]
        self.namespace.update(self.last, In=self.inputs, _ih=self.inputs, Out=self.outputs, _oh=self.outputs)
        self.compile: Any = codeop.Compile()  # remembers imports from __future__
        self.compile.flags = PyCF_ALLOW_TOP_LEVEL_AWAIT
        self.file = ""

    def enter(self, number: int, source: str) -> None:
        """Record the source of a cell before it runs, under its number in the notebook."""
        self.namespace.update(zip(LATEST, self.sources))
        self.namespace[f"_i{number}"] = source
        self.number, self.sources, self.inputs[number:] = number, [source, *self.sources], [source]

    def run_cell(self, source: str, file: str) -> str:
        """Run a cell. Returns its error in one line, or ""."""
        self.file, self.is_running = file, True
        try:
            signal.signal(OVERDUE, self.stop)
            code = self.code(source)
            self.inputs[self.number :] = [code.strip("\n")]
            if (value := self.run(code, file)) is not None:
                self.keep(value)
        except Overdue:
            return STOPPED
        except BaseException as error:  # sys.exit too ends only its cell
            return describe_error(error, file)
        finally:
            self.is_running = False  # use no builtins here: the cell may have deleted them
            signal.alarm(0)  # an alarm of this cell would strike in the next
        return ""

    def stop(self, *_: Any) -> None:
        if self.is_running:
            raise Overdue

    def run(self, source: str, file: str) -> Any:
        """Run Python code. Returns the value of an expression at its end, unless a semicolon follows."""
        tree = parse(source, file)
        last = [Expression(tree.body.pop().value)] if tree.body and isinstance(tree.body[-1], Expr) else []
        codes = [self.compile(tree, file, "exec"), *(self.compile(each, file, "eval") for each in last)]
        if any(code.co_flags & CO_COROUTINE for code in codes):
            value = self.loop.run_until_complete(self.run_in_loop(codes))
        else:
            value = [eval(code, self.namespace) for code in codes][-1]
        return None if value is None or is_quiet(source) else value

    async def run_in_loop(self, codes: list[CodeType]) -> Any:
        for code in codes:
            value = eval(code, self.namespace)
            value = await value if code.co_flags & CO_COROUTINE else value
        return value

    def keep(self, value: Any) -> None:
        """Bind the value of a cell to `_`, `_1` and `Out[1]`, as IPython's DisplayHook.update_user_ns does."""
        if value is self.outputs:
            return
        self.last = dict(zip(LAST, [value, *self.last.values()]))
        if all(self.namespace.get(name, old) is old for name, old in self.shown.items()):  # no cell assigned to them
            self.namespace.update(self.last)
            self.shown = self.last
        self.namespace[f"_{self.number}"] = self.outputs[self.number] = value

    def code(self, source: str) -> str:
        """A cell's source as plain Python, its magics translated."""
        try:
            parse(source, self.file)
        except SyntaxError:
            from IPython.core.inputtransformer2 import TransformerManager  # rarely needed; loading takes 0.1 s

            source = str(TransformerManager().transform_cell(source))  # type: ignore[no-untyped-call]
        lines = source.splitlines(keepends=True)
        linecache.cache[self.file] = len(source), None, lines, self.file  # AutoGraph reads the source
        return source

    @cached_property
    def loop(self) -> Any:
        import asyncio  # takes longer to load than most submissions run

        return asyncio.new_event_loop()


class Silent:
    """An object that accepts every call and attribute and does nothing."""

    def __call__(self, *args: Any, **named: Any) -> Silent:
        return self

    def __getattr__(self, name: str) -> Silent:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    __getitem__ = __call__

    def __iter__(self) -> Iterator[Any]:
        return iter(())


def stand_in(kernel: NotebookKernel) -> None:
    """Define stand-ins for what only a notebook has. `check` does nothing, because the answers are not here."""

    def below(name: str, options: str, source: str) -> Any:
        return kernel.run(kernel.code(f"\n{source}"), kernel.file) if name in MAGICS else None

    def line(name: str, source: str) -> Any:
        return kernel.run(source.strip(), "<magic>") if name in MAGICS else None

    silent, shell = Silent(), Silent()
    vars(shell).update(run_line_magic=line, run_cell_magic=below, getoutput=lambda command: [])
    vars(builtins).update(display=silent, get_ipython=shell)
    for name in ("minigrad.course", "IPython.core.getipython"):
        sys.modules[name] = module = ModuleType(name)
        module.__getattr__ = silent.__getattr__  # type: ignore[method-assign]


def parse(source: str, file: str) -> Any:
    return compile(source, file, "exec", PyCF_ONLY_AST, True)


def is_quiet(source: str) -> bool:
    """Whether a cell ends in a semicolon."""
    if ";" not in source:
        return False
    tokens = tokenize.generate_tokens(StringIO(source).readline)
    return [token.string for token in tokens if token.type not in EMPTY][-1] == ";"


def describe_error(error: BaseException, file: str) -> str:
    """An error in one line: type, message and line of the cell. The message of a SyntaxError names its own line."""
    kind = vars(type)["__name__"].__get__(type(error))  # like `through` below, safe from overrides by the cell
    try:
        said = probe.cut(str(error))
    except BaseException:
        said = ""
    through = probe.walk(vars(BaseException)["__traceback__"].__get__(error))
    lines = [line for frame, line in through if frame.f_code.co_filename == file]
    return ": ".join(filter(None, [kind, said])) + (f", in line {lines[-1]}" if lines else "")


def in_a_process_of_its_own(look: Callable[[], list[Any]], limits: dict[str, float]) -> list[Any]:
    """The outcomes of a part's probes, from a forked process: [[kind, value, words], …]."""

    def work(writer: int) -> None:
        before = set(sys.modules)
        told = look(), [name for name in sys.modules if name not in before and name.startswith(COMMON)]
        with open(writer, "w") as file:
            file.write(dumps(told) + "\n")

    with child.fork_process(partial(run_without_files, work)) as (process, reader):
        clock = child.Clock(process, limits["part"], limits["wall_factor"], wall=child.Wall(child.others))
        found = next(child.lines(process, reader, clock.seconds_left), b"")
        late = clock.seconds_left() <= 0
    try:
        outcomes, modules = loads(found)
    except (ValueError, TypeError):
        return [["endless" if late else "died", None, ""]]
    for name in modules:  # load them here too, so that the next part does not have to
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    return list(outcomes)


def observe_part(defines: list[str], probes: list[list[str]], namespace: dict[str, Any]) -> list[Any]:
    if any(namespace.get(name, ...) is ... for name in defines):
        return [["todo", None, ""]]
    return [[*outcome] for outcome in probe.observe(starmap(probe.ProbeSource, probes), namespace)]


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    main()
