"""Let the browser interrupt a running cell (Pyodide).

The kernel gives Pyodide no interrupt buffer. Any object with an element 0 can serve as the buffer: ours asks the page's
service worker whether to interrupt (decision 043).
"""

from __future__ import annotations

from typing import Any

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


def hear_interrupts(shell: Any) -> None:
    """Let a running cell ask the service worker twice a second whether to stop, because only the worker can know."""
    import js
    import pyodide_js  # type: ignore[import-not-found]

    listen = js.eval(LISTEN)

    def begin(_: object) -> None:
        pyodide_js.setInterruptBuffer(listen(shell.kernel._parent_header["header"]["session"]))

    shell.events.register("pre_run_cell", begin)
    shell.events.register("post_run_cell", lambda _: pyodide_js.setInterruptBuffer(None))
