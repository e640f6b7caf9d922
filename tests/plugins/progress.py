"""A long run prints a line at least every 15 seconds, and at its end how idle the processors were."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

SECONDS = 15
CLOCKS = Path("/proc/stat")  # of Linux: what the processors have done since the machine started


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and config.option.tier:
        config.pluginmanager.register(Progress(config), "minigrad-progress")


class Progress:
    """Prints which tests are running if none has finished for a while. A thread watches the time."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.began = self.last = time.monotonic()
        self.running: dict[str, None] = {}
        self.done = 0
        self.clocks = processor_clocks()
        self.finished = threading.Event()

    def pytest_sessionstart(self) -> None:
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self) -> None:
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        while not self.finished.wait(1):
            if time.monotonic() - self.last >= SECONDS:
                self.last = time.monotonic()
                doing = " and ".join(self.running) or ("finishing" if self.done else "collecting tests")
                terminal.write_line(f"  {self.last - self.began:.0f} s, {self.done} tests done: {doing}")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.running[nodeid] = None

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.running.pop(nodeid, None)
        self.done += 1
        self.last = time.monotonic()

    def pytest_sessionfinish(self) -> None:
        self.finished.set()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Whether another process (-n) would gain time."""
        idle, ticks = (now - then for now, then in zip(processor_clocks(), self.clocks, strict=True))
        if ticks:
            terminalreporter.write_line(f"The processors were idle for {idle / ticks:.0%} of this run.")


def processor_clocks() -> tuple[int, int]:
    """The ticks that all processors were idle, and all their ticks; zeros where the system does not say."""
    if not CLOCKS.exists():
        return 0, 0
    ticks = [int(number) for number in CLOCKS.read_text("utf-8").splitlines()[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)  # idle, and waiting for a disk
