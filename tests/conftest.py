"""What several tests of the course's machinery start from."""

from __future__ import annotations

import gc
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.fresh_machine import INSTALLER, Fresh, module, with_uv
from tests.support.miniature_checkout import Checkout
from tests.support.root import ROOT

# The same examples in every run, so that a change is judged by what it changes. EXPLORE=1 looks for new ones.
# Hypothesis's limits of time are off: on a busy machine a right example is slow, too.
settings.register_profile(
    "repeated", derandomize=not os.environ.get("EXPLORE"), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeated")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collecting makes objects that stay, so the garbage collector would go through all of them and find nothing."""
    gc.disable()
    try:
        yield
    finally:
        freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is None or nextitem.path != item.path:
        freeze()


def freeze() -> None:
    """From here on `gc.collect()` visits only new objects, and not the millions that earlier files have left."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """This package under a name that is not easy, with two lessons, an exercise and some data."""
    root = tmp_path / "Übung mit Leerzeichen" / "minigrad"
    shutil.copytree(ROOT / "minigrad", root / "minigrad", ignore=shutil.ignore_patterns("__pycache__", "_course"))
    made = Checkout(root)
    made.ship("lessons/00_start_here.ipynb", "1 + 1", "2 + 2")
    made.ship("lessons/01_graph.ipynb", "x = 3")
    made.ship("exercises/01_graph.ipynb", "y = ...")
    (root / "lessons" / "data").mkdir()
    (root / "lessons" / "data" / "digits.csv").write_text("0,1\n", "utf-8")
    return made


@pytest.fixture
def unprivileged() -> list[str]:
    """What to put before a command so that it may not write where the folder's mode forbids it; root may, by itself."""
    if os.name != "posix":
        pytest.skip("the mode of a folder does not make it read-only on Windows")
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("run by root, who may write everywhere, and there is no setpriv to give that up")
    return [setpriv, "--bounding-set", "-dac_override,-dac_read_search"]


@pytest.fixture
def stands_still() -> Any:
    """The module time on a machine that stands still for a minute, 0.1 s after this."""
    began = time.monotonic()

    class Clock:
        def monotonic(self) -> float:
            now = time.monotonic()
            return now + 60 * (now - began > 0.1)

        def __getattr__(self, name: str) -> Any:
            return getattr(time, name)

    return Clock()


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Any]:
    """A room with a running server, and its clients."""
    from tests.course.test_audience import opened  # imported here because the module needs segno

    with opened(tmp_path) as hall:
        yield hall


@pytest.fixture
def fresh(checkout: Checkout, tmp_path: Path) -> Fresh:
    for name in ("start.py", "pyproject.toml"):
        shutil.copy(ROOT / name, checkout.root)
    (checkout.root / "scripts").mkdir()
    (checkout.root / "scripts" / "check").write_text("import sys; print('checking', *sys.argv[1:])", "utf-8")
    machine = tmp_path / "machine"
    module(machine, "pip", INSTALLER)
    with_uv(machine)
    return Fresh(checkout, machine)
