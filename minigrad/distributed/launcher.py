"""Start ranks, show what they print, and end them: all when one has failed, with its traceback.

Nothing stays behind: whoever ends the launcher, by Ctrl-C or by kill -9, has ended the ranks (rank.py says how). What
goes to them and comes back are texts and values of mg.save, and nothing is pickled.
"""

from __future__ import annotations

import importlib.util
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
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from .carried import carried
from .group import DistributedError
from .rank import MARK, OVER
from .watch import LAUNCHED, Board

LOOK, GRACE, LEAVING = 0.1, 0.3, 5.0  # seconds: between looks; for what others say of a failure; to leave MPI
SURROUNDINGS = {  # Open MPI's leave to run as root, and more ranks than cores; a thread for each rank
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONUNBUFFERED": "1",
}
RESTART = "MINIGRAD_RESTART"  # tells a program how often all has begun again
Say = Callable[[int, str], None]


class NoRanksError(DistributedError):
    """This machine starts no ranks: it is a Windows or a browser, or has no MPI."""


class RankError(DistributedError):
    """A rank that failed.

    rank      which one
    status    its exit status, as a shell has it: 128 + 9 of one that was killed by signal 9
    """

    def __init__(self, rank: int, status: int, text: str):
        super().__init__(text)
        self.rank, self.status = rank, status


def launch(fn: Callable[..., Any], n: int, *args: Any, timeout: float | None = None) -> list[Any]:
    """What fn(*args) returns on each of n ranks, which are processes of their own: a list, in the order of ranks.

    fn         a function of a module, or of this notebook or program: then it goes with all that it names
    args       and what it returns: what mg.save takes, such as tensors, arrays, numbers, and lists of them
    timeout    seconds after which all are ended

    Raises RankError with the traceback of the rank that failed first, and DistributedError if n ranks cannot be.
    """
    job, names = carried(fn)
    return together({**job, "argv": [""]}, n, print_line, {"names": names, "arguments": args}, timeout)


def run_script(script: str, arguments: list[str], n: int, restarts: int = 0) -> None:
    """Run a program on n ranks, and again from its beginning, at most `restarts` times, when a rank has failed."""
    if not Path(script).is_file():
        raise DistributedError(f"there is no program {script} here, in {Path.cwd()}")
    for again in range(restarts + 1):
        try:
            together({"script": script, "argv": [script, *arguments], "restart": again}, n, print_line)
            return
        except RankError as error:
            if again == restarts:
                raise
            again_of = f"all ranks start again, for time {again + 1} of {restarts}"
            print(f"minigrad: {error}\nminigrad: {again_of}", file=sys.stderr, flush=True)


def print_line(rank: int, line: str) -> None:
    print(f"[{rank}] {line}", flush=True)


def together(
    job: dict[str, Any], n: int, say: Say, given: dict[str, Any] | None = None, timeout: float | None = None
) -> list[Any]:
    """Do a job on n ranks: a script, or texts that are run with the values `given`, and their results."""
    if given is not None:
        from ..files.saving.files import load, save  # a script has no use for it, and it takes a moment
    command = [*starter(n), sys.executable, "-P", str(Path(__file__).with_name("rank.py"))]
    with ExitStack() as after:
        after.enter_context(exit_on_signals())
        name = after.enter_context(tempfile.TemporaryDirectory(prefix="minigrad-", ignore_cleanup_errors=True))
        folder = Path(name)
        (folder / "job.json").write_text(json.dumps({**job, "ranks": n, "path": sys.path}), "utf-8")
        if given is not None:
            save(folder / "given.mg", given)
        board = Board(Board.made(n, name), n)
        os.mkfifo(folder / "life")
        life = os.open(folder / "life", os.O_RDWR)
        ranks = [after.enter_context(Rank(i, folder)) for i in range(n)]
        with (folder / "mpiexec").open("w+b") as said:
            process = subprocess.Popen(
                [*command, name], stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True,
                env={**SURROUNDINGS, **outside(), LAUNCHED: board.path, RESTART: str(job.get("restart", 0))},
            )  # fmt: skip
            try:
                relay_output(ranks, process, say, float("inf") if timeout is None else time.monotonic() + timeout)
            finally:
                (folder / OVER).touch()
                for rank in ranks:
                    rank.end_without_guard()
                os.close(life)
                end_mpiexec(process)
        if any(not rank.well for rank in ranks):
            raise find_failure(ranks, board, (folder / "mpiexec").read_text(errors="replace"), timeout)
        return [load(folder / f"result{i}.mg") for i in range(n)] if given is not None else []


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """A block that SIGTERM and SIGHUP leave by SystemExit, so that folders go, unless the program handles them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    mine = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) == signal.SIG_DFL]
    came = list[int]()

    def leave(number: int, frame: object) -> None:
        for each in mine:
            signal.signal(each, signal.SIG_IGN)  # a second one must not stop the cleaning
        came.append(number)
        raise SystemExit(128 + number)

    for number in mine:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in mine:
            signal.signal(number, signal.SIG_DFL)
        for signalled in came:
            os.kill(os.getpid(), signalled)  # whoever waits for this process sees which signal ended it


def outside() -> dict[str, str]:
    """The environment, as it would be were this process not a rank itself."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "OMPI_COMM_WORLD"))}


def starter(n: int) -> list[str]:
    """The command that starts n ranks. Raises NoRanksError if there is none."""
    if n < 1:
        raise DistributedError(f"n says how many ranks are started, 1 or more, and got {n}")
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
            f"{n} ranks need MPI, and {'mpi4py' if found else 'mpiexec'} is missing: pip install "
            f"'minigrad-course[mpi]', for {sys.executable}; -n 1 works without"
        )
    return [found, "-n", str(n)]


class Rank:
    """What the launcher hears of a rank: lines that it prints, and in the end how it ended."""

    def __init__(self, number: int, folder: Path):
        path = folder / f"rank{number}"
        os.mkfifo(path)
        self.number, self.pipe, self.pending = number, os.open(path, os.O_RDONLY | os.O_NONBLOCK), b""
        self.told: dict[str, Any] = {}

    def __enter__(self) -> Rank:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.pipe)

    def lines(self) -> Iterator[str]:
        """What has come since it was last asked, up to the end of a line; all, when the rank has ended."""
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
                yield text.decode(errors="replace").rstrip("\r").rpartition("\r")[2]  # as a terminal would show it

    def end_without_guard(self) -> None:
        """End a rank, with all that it has started, whose guard has not reported its end and may be gone."""
        if "guard" in self.told and "how" not in self.told:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.told["guard"], signal.SIGKILL)

    @property
    def failed(self) -> bool:
        return "status" in self.told and (self.told["status"] != 0 or "how" not in self.told)

    @property
    def well(self) -> bool:
        return "how" in self.told and self.told.get("status", 0) == 0


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):  # the latter of a stranger's process with the same number
        return False
    return True


def relay_output(ranks: list[Rank], process: subprocess.Popen[bytes], say: Say, until: float) -> None:
    """Show what ranks print until all have ended, or one has failed, or no time is left."""
    while time.monotonic() < until:
        over = process.poll() is not None
        select.select([rank.pipe for rank in ranks if "status" not in rank.told], [], [], LOOK)
        for rank in ranks:
            for line in rank.lines():
                say(rank.number, line)
        if over or all("status" in rank.told for rank in ranks):
            return
        if any(rank.failed for rank in ranks):
            until = min(until, time.monotonic() + GRACE)
        elif all("how" in rank.told for rank in ranks):
            until = min(until, time.monotonic() + LEAVING)


def end_mpiexec(process: subprocess.Popen[bytes]) -> None:
    """mpiexec ends with its ranks, which have lost the launcher; it gets no longer than that takes."""
    try:
        process.wait(2)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def find_failure(ranks: list[Rank], board: Board, mpiexec: str, timeout: float | None) -> DistributedError:
    """Who failed first, how, and what the others were at."""
    first = min((rank for rank in ranks if rank.failed), key=lambda rank: rank.told["at"], default=None)
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
    if not rank.failed:
        return f"was {board.standing(rank.number)}"
    alike = first is not None and rank.told.get("how") == first.told.get("how")
    return "failed in the same way" if alike else f"failed too: {rank.told.get('how', rank.told['status'])}"
