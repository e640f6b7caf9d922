"""Start ranks, show their output, and end them. If one fails, end all, and show its traceback.

No process is left behind: when the launcher ends, by Ctrl-C or by kill -9, the ranks end too (rank.py explains how).
A function travels as its source text, arguments and results in files of mg.save; nothing is pickled.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from .group import DistributedError
from .rank import MARK, OVER
from .watch import LAUNCHED, Board

LOOK, GRACE, LEAVING = 0.1, 0.3, 5.0  # seconds: between polls; for other ranks' reports of a failure; to leave MPI
SURROUNDINGS = {  # let Open MPI run as root, with more ranks than cores; one thread for each rank
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1",
}  # fmt: skip
RESTART = "MINIGRAD_RESTART"  # the environment variable with the number of restarts so far
Say = Callable[[int, str], None]


class NoRanksError(DistributedError):
    """This machine cannot start ranks: it is Windows or a browser, or has no MPI."""


class RankError(DistributedError):
    """A rank that failed.

    rank      the rank's number
    status    the rank's exit status as in a shell: 128 + 9 if signal 9 killed it
    """

    def __init__(self, rank: int, status: int, text: str):
        super().__init__(text)
        self.rank, self.status = rank, status


def launch(fn: Callable[..., Any], n: int, *args: Any, timeout: float | None = None) -> list[Any]:
    """Run fn(*args) on n ranks, each a process, and return their results: a list in the order of ranks.

    fn         a function of a module; or of this notebook or program, sent with everything that it uses
    args       values that mg.save takes, as the result must be too: tensors, arrays, numbers, lists of them
    timeout    seconds after which all ranks are ended

    Raises RankError with the traceback of the rank that failed first, DistributedError if n ranks cannot start.
    """
    job, names = serialize_function(fn)
    return run_on_ranks({**job, "argv": [""]}, n, print_line, {"names": names, "arguments": args}, timeout)


def run_script(script: str, arguments: list[str], n: int, restarts: int = 0) -> None:
    """Run a program on n ranks; when a rank fails, run it again from its start, at most `restarts` times."""
    if not Path(script).is_file():
        raise DistributedError(f"there is no program {script} in {Path.cwd()}")
    for again in range(restarts + 1):
        try:
            run_on_ranks({"script": script, "argv": [script, *arguments], "restart": again}, n, print_line)
            return
        except RankError as error:
            if again == restarts:
                raise
            again_of = f"all ranks start again, for time {again + 1} of {restarts}"
            print(f"minigrad: {error}\nminigrad: {again_of}", file=sys.stderr, flush=True)


def print_line(rank: int, line: str) -> None:
    print(f"[{rank}] {line}", flush=True)


def run_on_ranks(
    job: dict[str, Any], n: int, say: Say, given: dict[str, Any] | None = None, timeout: float | None = None
) -> list[Any]:
    """Run a job on n ranks: a script, or texts with the values `given`. Returns the results of texts, else []."""
    if given is not None:
        from ..files.saving.files import load, save  # not needed for a script, and slow to import
    command = [*starter(n), sys.executable, "-P", str(Path(__file__).with_name("rank.py"))]
    with ExitStack() as after:
        signals = after.enter_context(exit_on_signals())
        name = after.enter_context(tempfile.TemporaryDirectory(prefix="minigrad-", ignore_cleanup_errors=True))
        folder = Path(name)
        (folder / "job.json").write_text(json.dumps({**job, "ranks": n, "path": sys.path}), "utf-8")
        if given is not None:
            save(folder / "given.mg", given)
        board = Board(Board.create_file(n, name), n)
        os.mkfifo(folder / "life")
        life = os.open(folder / "life", os.O_RDWR)
        ranks = [after.enter_context(closing(Rank(i, folder))) for i in range(n)]
        with (folder / "mpiexec").open("w+b") as said:
            process = subprocess.Popen(
                [*command, name], stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True,
                env={**SURROUNDINGS, **outside(), LAUNCHED: board.path, RESTART: str(job.get("restart", 0))},
            )  # fmt: skip
            try:
                until = float("inf") if timeout is None else time.monotonic() + timeout
                relay_output(ranks, process, say, until, signals)
            finally:
                (folder / OVER).touch()
                for rank in ranks:
                    rank.end_without_guard()
                os.close(life)
                end_mpiexec(process)
        if any("how" not in rank.told or rank.told.get("status", 0) != 0 for rank in ranks):
            raise find_failure(ranks, board, (folder / "mpiexec").read_text(errors="replace"), timeout)
        return [load(folder / f"result{i}.mg") for i in range(n)] if given is not None else []


@contextmanager
def exit_on_signals() -> Iterator[list[int]]:
    """A block in which SIGTERM and SIGHUP, unless handled already, raise SystemExit, so that folders are removed.

    Yields the list of the signals that have come: Python ignores an exception that is raised while it frees an object.
    """
    if threading.current_thread() is not threading.main_thread():
        yield []
        return
    mine = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) == signal.SIG_DFL]
    came = list[int]()

    def leave(number: int, frame: object) -> None:
        for each in mine:
            signal.signal(each, signal.SIG_IGN)  # a second signal must not stop the clean-up
        came.append(number)
        raise SystemExit(128 + number)

    for number in mine:
        signal.signal(number, leave)
    try:
        yield came
    finally:
        for number in mine:
            signal.signal(number, signal.SIG_DFL)
        for signalled in came:
            os.kill(os.getpid(), signalled)  # the parent process sees which signal ended this one


def outside() -> dict[str, str]:
    """The environment without the variables that mark this process as a rank."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "OMPI_COMM_WORLD"))}


def starter(n: int) -> list[str]:
    """The command that starts n ranks. Raises NoRanksError if this machine cannot start ranks."""
    if n < 1:
        raise DistributedError(f"n, the number of ranks, must be 1 or more, and got {n}")
    if sys.platform == "emscripten":
        raise NoRanksError("ranks are processes of their own, and a browser starts none")
    if os.name != "posix":
        raise NoRanksError("ranks are started on Linux and macOS; on Windows, in its WSL, or by mpiexec itself")
    if n == 1:
        return []
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None or importlib.util.find_spec("mpi4py") is None:
        raise NoRanksError(
            f"{n} ranks need MPI, and {'mpi4py' if found else 'mpiexec'} is missing: python3 start.py add mpi "
            f"brings both, or pip install 'minigrad-course[mpi]' for {sys.executable}; -n 1 works without"
        )
    return [found, "-n", str(n)]


class Rank:
    """The launcher's end of a rank: the lines that it prints, and finally how it ended."""

    def __init__(self, number: int, folder: Path):
        path = folder / f"rank{number}"
        os.mkfifo(path)
        self.number, self.pipe, self.pending = number, os.open(path, os.O_RDONLY | os.O_NONBLOCK), b""
        self.told: dict[str, Any] = {}

    def close(self) -> None:
        os.close(self.pipe)

    def lines(self) -> Iterator[str]:
        """The complete lines received since the last call."""
        with suppress(BlockingIOError):
            while data := os.read(self.pipe, 1 << 16):
                self.pending += data
        if "guard" in self.told and "status" not in self.told and not is_running(self.told["guard"]):
            self.told |= {"status": -signal.SIGKILL, "at": time.monotonic(), "why": " together with its guard"}
        *whole, self.pending = self.pending.split(b"\n")
        for line in whole:
            text, mark, said = line.partition(MARK)
            if mark:
                self.told |= json.loads(said)
            if text or not mark:
                yield text.decode(errors="replace").rstrip("\r").rpartition("\r")[2]  # text after \r, as in a terminal

    def end_without_guard(self) -> None:
        """Kill the rank and its children if its guard has not reported its end: the guard may be gone."""
        if "guard" in self.told and "how" not in self.told:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.told["guard"], signal.SIGKILL)

    @property
    def has_failed(self) -> bool:
        return "status" in self.told and (self.told["status"] != 0 or "how" not in self.told)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):  # PermissionError: another user's process has this number now
        return False
    return True


def relay_output(
    ranks: list[Rank], process: subprocess.Popen[bytes], say: Say, until: float, signals: list[int]
) -> None:
    """Show the ranks' output until all have ended, one has failed, time is up, or a signal has come."""
    while time.monotonic() < until and not signals:
        over = process.poll() is not None
        select.select([rank.pipe for rank in ranks if "status" not in rank.told], [], [], LOOK)
        for rank in ranks:
            for line in rank.lines():
                say(rank.number, line)
        if over or all("status" in rank.told for rank in ranks):
            return
        if any(rank.has_failed for rank in ranks):
            until = min(until, time.monotonic() + GRACE)
        elif all("how" in rank.told for rank in ranks):
            until = min(until, time.monotonic() + LEAVING)


def end_mpiexec(process: subprocess.Popen[bytes]) -> None:
    """Wait for mpiexec, which ends with its ranks; kill it if that takes too long."""
    try:
        process.wait(2)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def find_failure(ranks: list[Rank], board: Board, mpiexec: str, timeout: float | None) -> DistributedError:
    """The error that says which rank failed first, how it failed, and what the other ranks were doing."""
    first = min((rank for rank in ranks if rank.has_failed), key=lambda rank: rank.told["at"], default=None)
    others = "".join(
        f"\n    rank {rank.number} {describe_rank(rank, board, first)}" for rank in ranks if rank is not first
    )
    if first is None:
        late = timeout is not None and not mpiexec.strip()
        return DistributedError(f"{timeout:g} s were not enough" if late else f"mpiexec ended: {mpiexec}" + others)
    status, how = first.told["status"], first.told.get("how")
    if "traceback" in first.told:
        text = f"failed, and all were ended\n{first.told['traceback'].rstrip()}"
    elif how is not None:
        text = f"left by {how}, and all were ended"
    elif status < 0:
        killer = f"{signal.Signals(-status).name}{first.told.get('why', '')}"
        text = f"was killed by {killer}, and all were ended; it was {board.standing(first.number)}"
    else:
        text = f"ended with exit status {status} in the middle of its program, and all were ended"
    return RankError(
        first.number, (status or 1) if status >= 0 else 128 - status, f"rank {first.number} {text}{others}"
    )


def describe_rank(rank: Rank, board: Board, first: Rank | None) -> str:
    if not rank.has_failed:
        return f"was {board.standing(rank.number)}"
    alike = first is not None and rank.told.get("how") == first.told.get("how")
    return "failed in the same way" if alike else f"failed too: {rank.told.get('how', rank.told['status'])}"


# -- a function for other processes: its source text, and the texts and values of the names that it uses ----


def serialize_function(fn: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The texts to run before the function can be called, and the values of names in them.

    The receiver imports what modules define. Definitions of this program or notebook are sent as numbered source lines.
    """
    if not isinstance(fn, FunctionType) or "<" in fn.__qualname__ or fn.__closure__:
        raise DistributedError(
            f"only a named function, defined at the outermost level, can be called in other processes, and got "
            f"{getattr(fn, '__qualname__', fn)!r}: pass what it needs from around it as arguments"
        )
    texts: dict[str, tuple[str, str]] = {}  # name → file and text
    values: dict[str, Any] = {}
    carry(fn.__name__, fn, texts, values)
    return {"texts": [*texts.values()], "call": fn.__name__}, values


def carry(name: str, value: Any, texts: dict[str, tuple[str, str]], values: dict[str, Any]) -> None:
    """Add the text or the value that defines this name, after the definitions of all names that it uses."""
    home, known = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(value, ModuleType):
        texts[name] = "<imports>", f"import {value.__name__} as {name}"
    elif home not in (None, "__main__") and known is not None:
        texts[name] = "<imports>", f"from {home} import {known} as {name}"
    elif isinstance(value, FunctionType):
        texts[name] = "", ""  # it may refer to itself
        for each in global_names(value.__code__):
            if each not in texts and each not in values and each in value.__globals__:
                carry(each, value.__globals__[each], texts, values)
        del texts[name]
        lines, first = inspect.getsourcelines(value)
        texts[name] = value.__code__.co_filename, "\n" * (first - 1) + "".join(lines)
    else:
        values[name] = value


def global_names(code: CodeType) -> Iterator[str]:
    """The names that this code, and the code nested in it, look up."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from global_names(inner)
