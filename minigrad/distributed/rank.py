"""The program that launcher.py starts for each rank: a guard process, whose child is the rank.

The guard reports to the launcher how the rank ended, even by a signal. It holds one end of a pipe, the launcher the
other: when the launcher ends, even by kill -9, the guard kills the rank and all processes that the rank started. It
does the same when its own parent, mpiexec's proxy, ends. A rank whose guard is killed is killed too. The rank's output
goes into a second pipe; reports about its end follow a mark, as lines of JSON.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import json
import linecache
import os
import runpy
import select
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

LOOK = 0.02  # seconds between polls
ENGINE = str(Path(__file__).parents[1])
MARK = b"\x1e"  # ASCII's record separator
OVER = "over"  # the file that marks an orderly end: the launcher removes its folder itself
PR_SET_PDEATHSIG = 1  # for Linux's prctl: the signal that a process gets when its parent ends
STARTERS = (__file__, runpy.__file__, ast.__file__, "<frozen runpy>")  # files whose frames are above the program's
PLACES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")  # one of these variables has the rank's number


def main(folder: Path) -> None:
    rank = int(next((os.environ[name] for name in PLACES if name in os.environ), 0))
    life = os.open(folder / "life", os.O_RDONLY | os.O_NONBLOCK)
    out = os.open(folder / f"rank{rank}", os.O_WRONLY | os.O_NONBLOCK)  # OSError if the launcher is already gone
    os.set_blocking(out, True)
    with contextlib.suppress(PermissionError):  # mpiexec may have called setsid already
        os.setsid()
    parent, me = os.getppid(), os.getpid()
    tell(out, guard=me)
    child = os.fork()
    if child:
        guard(child, life, out, parent, folder)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != me:  # the guard ended before prctl
            os._exit(1)
    for stream in (1, 2):
        os.dup2(out, stream)
    run_rank(folder, rank, out)


def guard(child: int, life: int, out: int, parent: int, folder: Path) -> None:
    """Report the rank's end. If launcher or parent ends, kill the rank, and remove the folder if necessary."""
    ended = False
    while not (gone := select.select([life], [], [], LOOK)[0]) and os.getppid() == parent:
        if not ended and (status := os.waitpid(child, os.WNOHANG))[0]:
            ended = True
            tell(out, status=os.waitstatus_to_exitcode(status[1]), at=time.monotonic())
    if not ended:
        os.kill(child, signal.SIGKILL)
        if not gone:
            tell(out, status=-signal.SIGKILL, at=time.monotonic(), why=" because the process that started it had ended")
    if gone and not (folder / OVER).exists():
        shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


def run_rank(folder: Path, rank: int, out: int) -> None:
    """Run the job as this rank, and report how it ended."""
    job = json.loads((folder / "job.json").read_text("utf-8"))
    sys.path[:] = job["path"]
    board, how, status = None, "its program is over", 0
    try:
        board = join_board(rank, job["ranks"])
        run(job, folder, rank)
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
        frame = traceback.extract_tb(left.__traceback__)[-1]
        how = f"sys.exit({left.code!r}) at {frame.filename}:{frame.lineno}"
    except BaseException as error:
        status, how = 1, traceback.format_exception_only(error)[-1].splitlines()[0]
        tell(out, traceback="".join(traceback.format_exception(type(error), error, user_traceback(error))))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    tell(out, how=how)
    if status:
        os._exit(status)  # a normal exit would wait for other ranks in MPI
    if board is not None:
        board.end(how)


def join_board(rank: int, n: int) -> Any:
    """Start MPI, which waits for all ranks, and return their board; None for a single rank."""
    if n == 1:
        return None
    from mpi4py import MPI

    from minigrad.distributed.watch import LAUNCHED, Board

    if (n, rank) != (MPI.COMM_WORLD.size, MPI.COMM_WORLD.rank):
        raise RuntimeError(
            f"mpiexec started rank {rank} of {n}, but mpi4py sees rank {MPI.COMM_WORLD.rank} of "
            f"{MPI.COMM_WORLD.size}: mpi4py found another MPI, {MPI.Get_library_version().splitlines()[0]}. "
            "Install only one of mpich, openmpi and impi-rt in this environment"
        )
    return Board(os.environ[LAUNCHED], n, rank)


def run(job: dict[str, Any], folder: Path, rank: int) -> None:
    sys.argv[:] = job["argv"]
    if "script" in job:
        sys.path.insert(0, str(Path(job["script"]).resolve().parent))
        runpy.run_path(job["script"], run_name="__main__")
        return
    from minigrad import saving
    from minigrad.files.saving.values import load_values, save_values  # without the compiler, which is slow to import

    given = load_values(folder / "given.mg")
    sys.modules["__main__"] = module = ModuleType("__main__")
    names = vars(module)
    names |= given["names"]
    for file, text in job["texts"]:
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)  # for tracebacks
        exec_text(ast.parse(text, file), file, names)
    result = [names[name] for name in job["out"]] if "out" in job else names[job["call"]](*given["arguments"])
    (saving.save if callable(result) else save_values)(folder / f"result{rank}.mg", result)


def exec_text(tree: ast.Module, file: str, names: dict[str, Any]) -> None:
    """Run a text; if its last statement is an expression, print its value, as a notebook does."""
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, file, "exec"), names)
    if last is not None:
        exec(compile(ast.Interactive([last]), file, "single"), names)


def user_traceback(error: BaseException) -> Any:
    """The error's traceback, without the frames above the user's program and, for DistributedError, those below it."""
    tb = error.__traceback__
    while tb and tb.tb_next and tb.tb_frame.f_code.co_filename in STARTERS:
        tb = tb.tb_next
    last = each = tb
    while each and type(error).__name__ == "DistributedError":
        last, each = last if each.tb_frame.f_code.co_filename.startswith(ENGINE) else each, each.tb_next
        if each is None and last:
            last.tb_next = None
    return tb


def tell(out: int, **said: Any) -> None:
    with contextlib.suppress(BrokenPipeError):  # the launcher is gone
        os.write(out, MARK + json.dumps(said).encode() + b"\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
