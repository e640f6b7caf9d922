"""A browser test that fails is run once more: alone, after all others, with a browser and a JupyterLab of its own.

If it passes then, the run is green and lists it under "passed at second try", with what its page and its server said
and how busy the machine was. Three such tests in one run are red. No other test is ever run again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from tests.plugins.tiers import BROWSER, ROOT

MOST = 2
CATEGORY = "passed at second try"


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and config.option.tier:
        config.pluginmanager.register(SecondTry(config), "minigrad-second-try")


def machine_load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores" if hasattr(os, "getloadavg") else "load unknown"


class SecondTry:
    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.loads: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.loads[report.nodeid] = machine_load()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        stats = self.config.pluginmanager.get_plugin("terminalreporter").stats
        failures = [*stats.get("failed", []), *stats.get("error", [])]
        names = {report.nodeid: None for report in failures if is_of_browser(report)}
        if exitstatus != pytest.ExitCode.TESTS_FAILED or not 0 < len(names) <= MOST:
            return
        passed = {name for name in names if passes_alone(name, self.config.option.share)}
        stats[CATEGORY] = [report for report in failures if report.nodeid in passed]
        for kind in ("failed", "error"):
            stats[kind] = [report for report in stats.get(kind, []) if report.nodeid not in passed]
        if not stats["failed"] and not stats["error"]:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for report in terminalreporter.stats.get(CATEGORY, []):
            terminalreporter.section(f"{CATEGORY}: {report.nodeid} ({self.loads[report.nodeid]})")
            terminalreporter.write_line(report.longreprtext)
            for title, text in report.sections:
                terminalreporter.write_line(f"-- {title}\n{text}")


def is_of_browser(report: pytest.TestReport) -> bool:
    return BROWSER in (ROOT / report.nodeid.partition("::")[0]).parents


def passes_alone(name: str, share: int) -> bool:
    options = ["-p", "tests.plugins.tiers", f"--share={share}", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", "-n0", *options, name]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False).returncode == 0
