"""start.py sets up once, goes on without a network, and says clearly what is wrong."""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fresh import INSTALLER, SITE, Fresh, module
from miniature import ROOT, Checkout


def test_set_up_happens_once(fresh: Fresh) -> None:
    first, second = fresh.start(), fresh.start()

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert first.stdout.startswith("Setting up: once")
    assert second.stdout.startswith("Course folder: ")
    assert fresh.calls == ["uv ."]


def test_only_the_tests_install_what_the_tests_need(fresh: Fresh) -> None:
    fresh.start()
    assert fresh.start("test", "-k", "ops").stdout.endswith("checking -k ops\n")
    fresh.start()
    fresh.start("test")
    fresh.upgrade()
    fresh.start()

    assert fresh.calls == ["uv .", "uv .[test]", "uv .[test]"]  # what was asked for once is kept up to date


def test_an_extra_is_added_and_remembered(fresh: Fresh) -> None:
    assert fresh.start("add", "instructor").returncode == 0
    fresh.upgrade()
    fresh.start()

    assert fresh.calls == ["uv .[instructor]", "uv .[instructor]"]


def test_an_unknown_extra_is_refused_with_the_choice(fresh: Fresh) -> None:
    process = fresh.start("add", "gpu")

    assert (
        process.stderr
        == "Name what to add, out of cluster, gpu-cu12, gpu-cu13, graders, instructor, kernels, test; this was gpu.\n"
    )
    assert process.returncode == 1


def test_without_a_network_the_installation_that_is_there_is_used(fresh: Fresh) -> None:
    fresh.start()
    fresh.upgrade()
    (fresh.root / "offline").touch()

    process = fresh.start()

    assert process.returncode == 0
    assert "going on with what is there" in process.stdout
    (fresh.root / "offline").unlink()
    assert "Setting up" in fresh.start().stdout
    assert "Setting up" not in fresh.start().stdout


def test_asking_for_the_tests_without_a_network_does_not_cost_the_course(fresh: Fresh) -> None:
    fresh.start()
    (fresh.root / "offline").touch()
    for name in ("pytest", "nbval"):
        (fresh.root / ".venv" / SITE / f"{name}.py").unlink()

    assert fresh.start("test").stderr.endswith("Then run this again.\n")
    assert fresh.start().returncode == 0


def test_a_first_run_without_a_network_says_so_and_the_next_one_heals(fresh: Fresh) -> None:
    (fresh.root / "offline").touch()

    process = fresh.start()

    assert process.returncode == 1
    assert "Setting up failed: see above. It needs the network" in process.stderr
    (fresh.root / "offline").unlink()
    assert fresh.start().returncode == 0


def test_pip_is_asked_for_uv_first_and_for_the_course_if_there_is_none(fresh: Fresh) -> None:
    shutil.rmtree(fresh.machine)
    module(fresh.machine, "pip", INSTALLER)

    assert fresh.start().returncode == 0
    assert fresh.calls == ["pip uv", "pip ."]


@pytest.mark.skipif(os.name != "posix", reason="a uv that fails is written as a shell script here")
def test_pip_installs_the_course_where_uv_cannot(fresh: Fresh) -> None:
    (fresh.machine / "uv").write_text("#!/bin/sh\nexit 2\n", "utf-8")

    assert fresh.start().returncode == 0
    assert fresh.calls == ["pip ."]


def test_without_uv_and_pip_the_way_to_get_one_is_said(fresh: Fresh) -> None:
    shutil.rmtree(fresh.machine)
    module(fresh.machine, "pip", "raise SystemExit(1)")
    module(fresh.machine, "ensurepip", "raise SystemExit(1)")

    process = fresh.start()

    assert process.returncode == 1
    assert "neither pip nor ensurepip. On Debian and Ubuntu: sudo apt install python3-venv" in process.stdout


def test_without_venv_the_way_to_get_it_is_said(fresh: Fresh) -> None:
    (fresh.machine / "venv.py").write_text("raise ImportError", "utf-8")

    assert "no module venv. On Debian and Ubuntu: sudo apt install" in fresh.start().stderr


def test_a_read_only_checkout_is_refused_with_a_way_out(fresh: Fresh, unprivileged: list[str]) -> None:
    fresh.root.chmod(0o555)

    process = fresh.start(through=tuple(unprivileged))

    fresh.root.chmod(0o755)
    assert process.returncode == 1
    assert process.stderr.startswith(f"Cannot set up the course in {fresh.root} ([Errno 13] Permission denied")
    assert "copy the folder to another place where you can write" in process.stderr
    assert process.stderr.count("\n") == 1


def be_a_file(root: Path) -> Path:
    (root / ".venv").touch()
    return root


def be_where_a_path_ends(root: Path) -> Path:
    """A program's folder cannot be put on the PATH if its name has what separates one folder from the next there."""
    return root.rename(root.parent / f"A{os.pathsep}B")


@pytest.mark.parametrize("trouble", [be_a_file, be_where_a_path_ends], ids=lambda trouble: trouble.__name__)
def test_a_place_for_no_environment_is_refused_with_a_way_out(fresh: Fresh, trouble: Callable[[Path], Path]) -> None:
    root = trouble(fresh.root)

    told = Fresh(Checkout(root), fresh.machine).start().stderr

    assert told.startswith(f"Cannot set up the course in {root} (")
    assert told.endswith("copy the folder to another place where you can write, and run start.py there.\n")


def test_a_path_too_long_for_windows_is_refused_with_a_way_out() -> None:
    spec = importlib.util.spec_from_file_location("start", ROOT / "start.py")
    assert spec is not None
    assert spec.loader is not None
    start = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(start)

    told = start.too_long("C:\\" + "x" * 88)

    assert told.startswith("Windows has room for 90 characters in the path to this folder, and C:\\xxx")
    assert told.endswith("such as C:\\minigrad.")
    assert start.too_long("C:\\" + "x" * 87) == ""


def test_help_sets_nothing_up(fresh: Fresh) -> None:
    assert "python3 start.py test" in fresh.start("--help").stdout
    assert not (fresh.root / ".venv").exists()


def test_start_is_written_in_the_grammar_of_python_3_8() -> None:
    ast.parse((ROOT / "start.py").read_text("utf-8"), feature_version=(3, 8))


def test_an_older_python_is_told_which_one_is_needed() -> None:
    pretence = "import runpy, sys; sys.version, sys.version_info = '3.8.18 (old)', (3, 8, 18); "
    code = pretence + f"runpy.run_path({str(ROOT / 'start.py')!r}, run_name='__main__')"

    process = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=False)

    assert process.returncode == 1
    assert process.stderr == "Python 3.11 or newer is needed, and this is 3.8.18: see https://www.python.org\n"
