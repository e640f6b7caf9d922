"""Whatever became of .venv, start.py run again makes it whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.fresh_machine import PYTHON, SITE, Fresh
from tests.support.miniature_checkout import Checkout

pytestmark = pytest.mark.share(8)


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for uv kills its parent by a signal")
@pytest.mark.parametrize("when", ["in the first set-up", "in an upgrade"])
def test_a_killed_set_up_heals(fresh: Fresh, when: str) -> None:
    if when == "in an upgrade":
        fresh.start()
        fresh.upgrade()
    (fresh.root / "killed").touch()
    assert fresh.start().returncode < 0
    (fresh.root / "killed").unlink()
    half = fresh.root / ".venv" / "half-written"
    half.touch()

    process = fresh.start()

    assert (process.returncode, half.exists()) == (0, False), process.stderr


def lose_python(venv: Path) -> None:
    (venv / PYTHON).unlink()


def lose_the_base_python(venv: Path) -> None:
    (venv / PYTHON).unlink()
    (venv / PYTHON).symlink_to(venv / "gone" / "python3.11")


def lose_a_package(venv: Path) -> None:
    (venv / SITE / "jupyterlab.py").unlink()


def be_of_another_machine(venv: Path) -> None:
    (venv / PYTHON).unlink()
    (venv / PYTHON).write_bytes(b"\x7fELF of another machine")
    (venv / PYTHON).chmod(0o755)


def garble_the_stamp(venv: Path) -> None:
    (venv / "finished.json").write_bytes(b'{"made_f\xff')


def lose_everything(venv: Path) -> None:
    shutil.rmtree(venv)
    venv.mkdir()


BREAKAGES = [
    lose_python, lose_the_base_python, lose_a_package, be_of_another_machine, garble_the_stamp, lose_everything,
]  # fmt: skip


@pytest.mark.skipif(os.name != "posix", reason="the programs of a Windows environment cannot be broken like this")
@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.__name__)
def test_a_broken_environment_heals(fresh: Fresh, breakage: Callable[[Path], None]) -> None:
    fresh.start()
    breakage(fresh.root / ".venv")

    process = fresh.start()

    assert process.returncode == 0, process.stderr
    assert fresh.start().stdout.startswith("Course folder: ")
    assert len(fresh.calls) == 2


def test_a_moved_checkout_is_installed_again(fresh: Fresh) -> None:
    """An editable installation points to the folder it was made in, where an old copy may still be."""
    fresh.start()
    copy = Fresh(Checkout(fresh.root.parent / "copy"), fresh.machine)
    shutil.copytree(fresh.root, copy.root, symlinks=True)

    process = copy.start()

    assert process.returncode == 0, process.stderr
    assert f"Course folder: {copy.root / 'work'}" in process.stdout
