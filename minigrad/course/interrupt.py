"""Python in a browser (Pyodide): told when to stop.

The kernel gives Pyodide no interrupt buffer, which may be any object with an element 0: ours asks the service worker of
the page (decision 043).
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
    """Have a cell that runs ask twice a second whether it is to end: the service worker knows, and nobody else can."""
    import js
    import pyodide_js  # type: ignore[import-not-found]

    listen = js.eval(LISTEN)

    def begin(_: object) -> None:
        pyodide_js.setInterruptBuffer(listen(shell.kernel._parent_header["header"]["session"]))

    shell.events.register("pre_run_cell", begin)
    shell.events.register("post_run_cell", lambda _: pyodide_js.setInterruptBuffer(None))
