"""What a person reads in the terminal that JupyterLab runs in: one address, how to stop, and what goes wrong.

All else goes into a file: JupyterLab's own log has the address three times among 40 lines, and each kernel adds to it.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from functools import cache
from typing import TextIO

AND_THEN = ", and then y" if os.name == "posix" and sys.stdin and sys.stdin.isatty() else ""  # where Jupyter asks
ADDRESS = re.compile(r"https?://(127\.0\.0\.1|\[::1\]):\d+/\S*")


class Quiet(logging.FileHandler):
    """A log file, which tells the terminal what a person needs."""

    def __init__(self, filename: str, **_: object) -> None:
        super().__init__(filename, encoding="utf-8")
        self.terminal = terminal(filename)

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        said = record.getMessage().strip()
        if ADDRESS.fullmatch(said):
            print(f"JupyterLab is at {said}\nTo stop it, press Ctrl-C here{AND_THEN}.", file=self.terminal)
        elif record.levelno >= logging.ERROR and not ADDRESS.search(said):
            print(self.format(record), file=self.terminal)


@cache
def terminal(log: str) -> TextIO:
    """Standard error, kept for this process: kernels and browsers, which inherit it, write to the log instead."""
    kept = os.fdopen(os.dup(2), "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND), 2)
    sys.stderr = kept
    return kept


def quietly(log: str) -> dict[str, object]:
    """How a Jupyter application is told to log: `--Application.logging_config`."""
    return {"handlers": {"console": {"class": f"{__name__}.{Quiet.__name__}", "filename": log}}}
