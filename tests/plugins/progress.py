"""A long run reports its progress: no more than 15 seconds pass without a line."""

from __future__ import annotations

import threading
import time

import pytest

SECONDS = 15


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
