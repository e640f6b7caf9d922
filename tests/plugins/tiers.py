"""Which tests a run takes.

    --tier default    every promise once: what `start.py test` runs
    --tier browser    the rest of tests/browser
    --tier all        everything, and more of what is tried at random
    --tier changed    what is named on the command line, without what is for the night or a browser
    (no tier)         what is named on the command line, at the sizes of the default

Markers of a test:

    daily       the default runs it, although it is in tests/browser
    night       only `--tier all` runs it
    tool        it tests a script or a benchmark: `--tier all` runs it, and `--tier changed` where it is named
    share(n)    it is a row of a long table, of which the default runs one row in n; without `daily` in tests/browser,
                the browser tier does so instead

slow_tests.txt lists slow tests. The default runs a quarter of them, as if each had `share(4)`, and `--tier changed` all
that are named.

The commit decides which rows, so every row has its turn; `--share N` repeats the choice of an earlier run. The browser
tier runs those tests of tests/browser that the default does not.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

ROOT = Path(__file__).resolve().parents[2]
BROWSER = ROOT / "tests" / "browser"
FOLDERS = {
    "torch_oracle": 6,
    "distributed": 12,
    "grading": 8,
    "reports": 6,
}  # whole folders that rotate; share(1) exempts a test
SHARES = 5040  # divisible by each n that a marker may name, so that N repeats the choice for each of them


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers")
    group.addoption("--tier", choices=["default", "browser", "all", "changed"], help="which tests to take")
    group.addoption("--share", type=int, metavar="N", help="which rows of long tables to take (default: by commit)")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.share is None:
        config.option.share = share_of_commit()
    if config.option.tier == "all":
        os.environ["NIGHTLY"] = "1"  # read by tests that try more at random then
    config.pluginmanager.register(Tiers(config), "minigrad-tiers")


def share_of_commit() -> int:
    """A number that changes with each commit; 0 where there is no git."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"]
    try:
        commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(commit, 16) % SHARES


def is_row_in_share(row: str, rows: int, share: int) -> bool:
    """Whether this share has the row. A test of a long table may ask it, too, where `share(n)` would drop the test."""
    return crc32(row.encode()) % rows == share % rows


def slow_tests() -> Iterator[str]:
    """What slow_tests.txt lists, as file::test."""
    file = ""
    for line in (Path(__file__).parent / "slow_tests.txt").read_text("utf-8").splitlines():
        names = [] if line.startswith("#") else line.split()
        if line.startswith("tests/"):
            file = names.pop(0)
        yield from (f"{file}::{name}" for name in names)


class Tiers:
    """Deselects the tests of other tiers, and reports how many they are."""

    def __init__(self, config: pytest.Config) -> None:
        self.tier, self.share = config.option.tier, config.option.share
        self.short = self.tier in ("default", "browser", "changed")
        self.slow = set(slow_tests()) if self.tier != "changed" else set()
        self.deselected: Counter[str] = Counter()

    def pytest_report_header(self) -> str | None:
        if not self.short:
            return None
        return f"long tables: share {self.share}, by commit; --share {self.share} repeats it, --all takes everything"

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if self.tier is None:
            return
        reasons = [(item, self.reason_to_deselect(item)) for item in items]
        self.deselected = Counter(reason for _, reason in reasons if reason)
        items[:] = [item for item, reason in reasons if not reason]
        config.hook.pytest_deselected(items=[item for item, reason in reasons if reason])
        if hasattr(config, "workeroutput"):  # of a process of xdist
            config.workeroutput["deselected"] = dict(self.deselected)

    def reason_to_deselect(self, item: pytest.Item) -> str:
        """Why this run does not take the test; empty if it does."""
        if self.tier == "all":
            return ""
        marks = {marker.name: marker for marker in reversed([*item.iter_markers()])}  # the closest of each name
        if "night" in marks:
            return "tests for the night"
        if "tool" in marks and self.tier != "changed":
            return "tests of scripts and benchmarks"
        for_browser = item.nodeid.startswith("tests/browser/") and "daily" not in marks
        if self.tier == "browser" and not for_browser:
            return "tests of the default" if self.is_in_share(item, marks.get("share")) else ""
        if self.tier != "browser" and for_browser:
            return "browser tests (--browser)"
        return "" if self.is_in_share(item, marks.get("share")) else "slow tests and rows of long tables"

    def is_in_share(self, item: pytest.Item, marker: pytest.Mark | None) -> bool:
        rows = marker.args[0] if marker else FOLDERS.get(item.path.parent.name, 1)
        if item.nodeid.partition("[")[0] in self.slow:
            rows = 4
        # checks of one program on n ranks share its start
        return is_row_in_share(re.sub(r"check_\w+", "", item.nodeid), rows, self.share)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """With xdist the workers deselect, and each of them has the same counts."""
        self.deselected = Counter(getattr(node, "workeroutput", {}).get("deselected", {})) or self.deselected

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        counts = ", ".join(f"{count} {reason}" for reason, count in self.deselected.items())
        if self.short and counts:
            terminalreporter.write_line(f"Not run: {counts}. `start.py test --all` runs everything.")
