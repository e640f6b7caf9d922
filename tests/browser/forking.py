"""Kernels by fork: a process imports once what notebooks import, and each kernel is a copy of that process.

    python forking.py serve SOCKET        the process that is copied
    python forking.py SOCKET FILE         stands for a kernel, as JupyterLab starts, signals and ends it

A kernel of its own takes two seconds of a core to import, and the browser tests need some seventy.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
from importlib import import_module
from pathlib import Path

# Not ipywidgets, which asks when it is imported whether there is a kernel.
IMPORTS = (
    *("ipykernel.kernelapp", "ipykernel.ipkernel", "numpy", "matplotlib.figure", "matplotlib.font_manager"),
    *("minigrad.compiler", "minigrad.draw.overview", "minigrad.func", "minigrad.nn", "minigrad.optim"),
)


def commands(home: Path) -> list[list[str]]:
    """How to start the process that is copied, once JupyterLab knows of it; empty where processes are not copied."""
    if not hasattr(os, "fork") or not os.environ.get("MINIGRAD_FORK"):  # lesson 12 did not end in such a kernel
        return []
    argv = [sys.executable, "-S", "-E", __file__, str(home / "fork"), "{connection_file}"]
    path = home / "data" / "kernels" / "python3" / "kernel.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"argv": argv, "display_name": "Python 3 (ipykernel)", "language": "python"}), "utf-8")
    return [[sys.executable, __file__, "serve", str(home / "fork")]]


def serve(address: str) -> None:
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    for name in IMPORTS:
        import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets kernels that have ended
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            break
        connection.close()
    listener.close()
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    file, folder, environment = json.loads(connection.makefile().readline())
    os.environ |= environment
    os.chdir(folder)
    connection.sendall(f"{os.getpid()}\n".encode())
    threading.Thread(target=lambda: (connection.recv(1), os._exit(0)), daemon=True).start()
    sys.argv = ["ipykernel_launcher"]
    del sys.path[0]  # the folder of this file
    sys.modules["ipykernel.kernelapp"].launch_new_instance(argv=["-f", file], parent_handle=os.getppid())
    os._exit(0)


def stand_for_a_kernel(address: str, file: str) -> None:
    connection = socket.socket(socket.AF_UNIX)
    while connection.connect_ex(address):
        time.sleep(0.05)
    connection.sendall(f"{json.dumps([file, str(Path.cwd()), dict(os.environ)])}\n".encode())
    kernel = int(connection.makefile().readline())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(kernel, number))
    connection.recv(1)  # nothing, when the kernel has ended


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        stand_for_a_kernel(*sys.argv[1:])
