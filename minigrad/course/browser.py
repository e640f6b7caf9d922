"""Set Python's stack limit in a browser (Pyodide), and let the browser interrupt a running cell.

WebAssembly runs on the browser's own stack of about 1 MB, which Python cannot measure. Python measures another stack,
which LLVM keeps in memory: 10 MB. So it would recurse too deep, and the browser's exception would end the kernel. With
a limit of 64 kB on LLVM's stack, a recursion through C raises RecursionError, and freeing a long chain is deferred in
part, as on other systems. Measured in Chromium and Node: chains of 100,000 are freed; without the limit, 3,000 failed.

The kernel gives Pyodide no interrupt buffer. Any object with an element 0 can serve as the buffer: ours asks the page's
service worker whether to interrupt (decision 043).
"""

from __future__ import annotations

import ctypes
import sys
from importlib.util import find_spec
from typing import Any

STACK = 1 << 16  # bytes: about 100 calls through operators, or 40 nested imports
LISTEN = """(session) => {
  const asked = new URL(`api/interrupt?${session}`, location.href.split("extensions/")[0]);
  let at = performance.now();
  return {
    get 0() {
      if (performance.now() - at < 500) return 0;
      at = performance.now();
      const request = new XMLHttpRequest();
      request.open("GET", asked, false);
      try { request.send(); } catch { return 0; } // no service worker, and no network
      return request.responseText === "interrupted" ? 2 : 0; // the number of SIGINT
    },
    set 0(_) {},
  };
}"""


def set_up() -> None:
    """Set the stack limit now and before each cell, and let the browser interrupt a running cell."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    limit()
    if shell is not None:
        shell.events.register("pre_run_cell", limit)  # Pyodide resets it after each cell
        hear_interrupts(shell)
        if find_spec("recorded_cells"):  # a site without NumPy
            shell.run_line_magic("load_ext", "recorded_cells")


def limit(_: object = None) -> None:
    """Set the stack limit of the current thread."""
    api = ctypes.pythonapi
    if not hasattr(api, "PyUnstable_ThreadState_SetStackProtection"):  # before 3.14 Python counts calls instead
        return
    api.PyThreadState_Get.restype = api.emscripten_stack_get_base.restype = ctypes.c_size_t
    thread, top = api.PyThreadState_Get(), api.emscripten_stack_get_base()
    api.PyUnstable_ThreadState_SetStackProtection(*map(ctypes.c_size_t, (thread, top - STACK, STACK)))


def hear_interrupts(shell: Any) -> None:
    """Let a running cell ask the service worker twice a second whether to stop, because only the worker can know."""
    import js
    import pyodide_js  # type: ignore[import-not-found]

    listen = js.eval(LISTEN)

    def begin(_: object) -> None:
        pyodide_js.setInterruptBuffer(listen(shell.kernel._parent_header["header"]["session"]))

    shell.events.register("pre_run_cell", begin)
    shell.events.register("post_run_cell", lambda _: pyodide_js.setInterruptBuffer(None))
