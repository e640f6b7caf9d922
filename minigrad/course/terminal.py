"""Limit JupyterLab's output in the terminal to its address, how to stop it, and errors.

The rest goes into a file: JupyterLab's own log repeats the address three times in 40 lines, and each kernel adds more.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from functools import cache
from typing import TextIO

AND_THEN = ", and then y" if os.name == "posix" and sys.stdin and sys.stdin.isatty() else ""  # Jupyter asks [y/n]
ADDRESS = re.compile(r"https?://(127\.0\.0\.1|\[::1\]):\d+/\S*")


class Quiet(logging.FileHandler):
    """A log file handler that also prints the address and errors in the terminal."""

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
    """The original stderr, for this process only: kernels and browsers inherit the log file as their stderr."""
    kept = os.fdopen(os.dup(2), "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND), 2)
    sys.stderr = kept
    return kept


def quietly(log: str) -> dict[str, object]:
    """The value of the Jupyter option `--Application.logging_config`."""
    return {"handlers": {"console": {"class": f"{__name__}.{Quiet.__name__}", "filename": log}}}
