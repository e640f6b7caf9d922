"""Python in a browser (Pyodide): told how deep it may go.

There WebAssembly runs on the browser's own stack of about 1 MB, of which Python knows nothing. It counts another one,
that LLVM keeps in memory, of 10 MB; so it went too deep, and what the browser throws then ends the kernel. To a Python
that has 64 kB of it, a recursion through C raises RecursionError, and of a long chain of objects that is let go, some
are put off, as elsewhere. Measured in Chromium and Node: chains of 100,000 end well, where 3,000 did not.
"""

from __future__ import annotations

import ctypes
import sys

from .interrupt import hear_interrupts

STACK = 1 << 16  # bytes: about 100 calls through operators, or 40 imports in one another


def set_up() -> None:
    """Have Python stop before the browser's stack ends, now and in each cell, and hear when a cell is to end."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    limit()
    if shell is not None:
        shell.events.register("pre_run_cell", limit)  # Pyodide forgets it when it has answered
        hear_interrupts(shell)


def limit(_: object = None) -> None:
    """Say where the stack ends."""
    api = ctypes.pythonapi
    if not hasattr(api, "PyUnstable_ThreadState_SetStackProtection"):  # before 3.14 Python counts calls by itself
        return
    api.PyThreadState_Get.restype = api.emscripten_stack_get_base.restype = ctypes.c_size_t
    thread, top = api.PyThreadState_Get(), api.emscripten_stack_get_base()
    api.PyUnstable_ThreadState_SetStackProtection(*map(ctypes.c_size_t, (thread, top - STACK, STACK)))
