"""Starts kernels with one environment, and on Linux as forks of one process with the common imports done.

That process runs this file: it reads requests from its standard input, one per line, and each fork writes its process
id. On other systems a process cannot wait for one that is not its child, so kernels start as usual.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import platform
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from timeit import timeit
from typing import Any

from jupyter_client.manager import KernelManager
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OMP_NUM_THREADS": "1",  # the order of a threaded sum is not the same twice
    "OPENBLAS_NUM_THREADS": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "TQDM_DISABLE": "1",
}
if platform.machine() in ("x86_64", "AMD64"):  # processors round the last digit differently: use one instruction set
    ENVIRONMENT |= {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"}
NAME = "forked"
IMPORTS = (
    *("ipykernel.kernelapp", "ipykernel.debugger", "IPython.core.completerlib", "IPython.extensions.storemagic"),
    *("debugpy.server.api", "sqlite3", "tornado.platform.asyncio", "PIL.Image", "matplotlib.pyplot"),
    *("minigrad.course.prediction", "minigrad.course.feedback", "minigrad.course.standing"),
    *("minigrad.course.stopwatch", "minigrad.nn", "minigrad.optim", "minigrad.course.widgets"),
)


def kernel_environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return os.environ | ENVIRONMENT | {"PYTHONPATH": path}


def use_forks(manager: KernelManager) -> None:
    """Let this manager fork its kernel, on systems where that works."""
    manager.kernel_spec.metadata |= offer_forks()


def offer_forks() -> dict[str, Any]:
    """What the metadata of a kernelspec must contain for this process to fork its kernels; empty where that fails."""
    if not hasattr(os, "pidfd_open"):
        return {}
    KernelProvisionerFactory.provisioners[NAME] = EntryPoint(NAME, f"{__name__}:ForkProvisioner", NAME)
    return {"kernel_provisioner": {"provisioner_name": NAME}}


@functools.cache
def preloaded_process() -> subprocess.Popen[str]:
    """Start the process that is forked. It ends when this one does, because its input is closed then."""
    command = [sys.executable, "-Xfrozen_modules=off", __file__]  # the options of a kernel
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env=kernel_environment(), text=True, start_new_session=True, **pipes)


class ForkProvisioner(LocalProvisioner):
    """Starts a kernel as a fork of the preloaded process."""

    async def launch_kernel(self, cmd: list[str], **facts: Any) -> dict[str, Any]:
        arguments = cmd[cmd.index("ipykernel_launcher") :]
        server = preloaded_process()
        print(json.dumps([arguments, facts["cwd"], facts["env"]]), file=server.stdin, flush=True)
        self.process = Fork(int(server.stdout.readline()))
        self.pid = self.pgid = self.process.pid
        return self.connection_info


class Fork:
    """The process of a kernel, with the methods of Popen that a provisioner calls."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.descriptor = os.pidfd_open(pid)

    def poll(self) -> int | None:
        return 0 if select.select([self.descriptor], [], [], 0)[0] else None

    def wait(self) -> int:
        select.select([self.descriptor], [], [])
        os.close(self.descriptor)
        return 0

    def send_signal(self, number: int) -> None:
        signal.pidfd_send_signal(self.descriptor, number)

    kill = functools.partialmethod(send_signal, signal.SIGKILL)


def serve() -> list[Any]:
    """Fork for each request. Returns the request in the fork; ends this process when its input ends."""
    for request in iter(sys.stdin.readline, ""):
        while reap_one():
            pass
        if not os.fork():
            return json.loads(request)
    raise SystemExit


def reap_one() -> bool:
    """Free the process table entry of one kernel that has ended. Returns whether there was one."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def become_kernel(arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    """Run a kernel in this fork, with a session, streams, an environment and random numbers of its own."""
    os.setsid()
    print(os.getpid(), flush=True)
    with Path(os.devnull).open("r+b", buffering=0) as null:
        for descriptor in range(3):
            os.dup2(null.fileno(), descriptor)
    os.environ.clear()
    os.environ.update(environment, JPY_PARENT_PID=str(os.getppid()))
    os.chdir(folder)
    sys.argv = arguments
    sys.modules["numpy"].random.seed()
    sys.modules["ipykernel.kernelapp"].launch_new_instance()


def call_once(_: int, ways: dict[str, Callable[[], object]]) -> dict[str, tuple[float, float]]:
    """The seconds of one call, as two rounds: measured times are neither stored nor compared."""
    return {name: (timeit(way, number=1),) * 2 for name, way in ways.items()}


if __name__ == "__main__":
    del sys.path[0]  # this file's folder, which is not on a kernel's path
    for module in IMPORTS:
        importlib.import_module(module)
    sys.modules["minigrad.course.stopwatch"].measure = call_once
    become_kernel(*serve())
