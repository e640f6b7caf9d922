"""Which tests a run takes.

    --tier default    every promise once: what `start.py test` runs
    --tier browser    the rest of tests/browser
    --tier all        everything, and more of what is tried at random
    --tier changed    what is named on the command line, without what is for the night or a browser
    (no tier)         what is named on the command line, at the sizes of the default

Markers: `daily` puts a test of tests/browser into the default, `night` keeps a test for `--tier all`, and `share(n)`
marks a long table, of which the default takes one row in n. Which rows is decided by the commit, so every row has its
turn; `--share N` repeats the choice of an earlier run.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

ROOT = Path(__file__).resolve().parents[2]
BROWSER = ROOT / "tests" / "browser"
FOLDERS = {"torch_oracle": 4, "processes": 4, "grading": 4}  # long tables as a whole: share(1) marks what always runs
SHARES = 5040  # divisible by each n that a marker may name, so that N repeats the choice for each of them


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers")
    group.addoption("--tier", choices=["default", "browser", "all", "changed"], help="which tests to take")
    group.addoption("--share", type=int, metavar="N", help="which rows of long tables to take (default: by commit)")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.share is None:
        config.option.share = share_of_commit()
    config.pluginmanager.register(Tiers(config), "minigrad-tiers")


def share_of_commit() -> int:
    """A number that changes with each commit; 0 where there is no git."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"]
    try:
        commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(commit, 16) % SHARES


class Tiers:
    """Deselects what the run does not take, and reports how much that was."""

    def __init__(self, config: pytest.Config) -> None:
        self.tier, self.share = config.option.tier, config.option.share
        self.fast = self.tier in ("default", "changed")
        self.left: Counter[str] = Counter()

    def pytest_report_header(self) -> str | None:
        if not self.fast:
            return None
        return f"long tables: share {self.share}, by commit; --share {self.share} repeats it, --all takes every row"

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if self.tier is None:
            return
        reasons = [(item, self.reason_to_leave(item)) for item in items]
        self.left = Counter(reason for _, reason in reasons if reason)
        items[:] = [item for item, reason in reasons if not reason]
        config.hook.pytest_deselected(items=[item for item, reason in reasons if reason])
        if hasattr(config, "workeroutput"):  # of a process of xdist
            config.workeroutput["left"] = dict(self.left)

    def reason_to_leave(self, item: pytest.Item) -> str:
        """Why this run leaves the test to another; empty if it takes it."""
        if self.tier == "all":
            return ""
        if item.get_closest_marker("night"):
            return "for the night"
        daily = BROWSER not in item.path.parents or item.get_closest_marker("daily") is not None
        if daily != self.fast:
            return "of --browser" if self.fast else "of the default"
        return "rows of long tables" if self.fast and not self.has_its_turn(item) else ""

    def has_its_turn(self, item: pytest.Item) -> bool:
        marker = item.get_closest_marker("share")
        rows = marker.args[0] if marker else FOLDERS.get(item.path.parent.name, 1)
        return crc32(item.nodeid.encode()) % rows == self.share % rows

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """The workers of xdist deselect: each of them has counted the same."""
        self.left = Counter(getattr(node, "workeroutput", {}).get("left", {})) or self.left

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        counts = ", ".join(f"{count} {reason}" for reason, count in self.left.items())
        if self.fast and counts:
            terminalreporter.write_line(f"Left: {counts}. `start.py test --all` runs everything.")
