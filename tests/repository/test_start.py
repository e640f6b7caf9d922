"""start.py sets up once, goes on without a network, and says clearly what is wrong."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from minigrad.course.cli import command_line
from tests.support.fresh_machine import INSTALLER, PYTHON, SITE, Fresh, module
from tests.support.miniature_checkout import Checkout
from tests.support.root import ROOT


def test_set_up_happens_once(fresh: Fresh) -> None:
    first, second = fresh.start(), fresh.start()

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert first.stdout.startswith("Course folder: ")
    assert second.stderr == ""
    assert fresh.calls == ["uv . into .venv"]


def test_what_setting_up_is_at_is_said_in_a_few_lines(fresh: Fresh) -> None:
    """It was silent for a minute; and the list of what was installed is as long as the screen."""
    assert fresh.start().stderr.splitlines() == [
        "Setting up .venv: once, about a minute, 300 MB",
        "  making the environment",
        "  installing the course and what it needs",
        "  5 packages",
    ]


@pytest.mark.skipif(os.name != "posix", reason="Windows has no terminals for tests")
def test_at_a_terminal_the_newest_line_stands_in_the_place_of_the_one_before(fresh: Fresh) -> None:
    import pty

    ours, theirs = pty.openpty()

    assert fresh.start(stderr=theirs).returncode == 0
    seen = os.read(ours, 10_000).decode()
    os.close(ours)
    os.close(theirs)

    assert re.search(r"\r  \+ numpy==2\.4 *\r *\r", seen), seen


def test_only_the_tests_install_what_the_tests_need(fresh: Fresh) -> None:
    fresh.start()
    assert fresh.start("test", "-k", "ops").stdout.endswith("checking -k ops\n")
    fresh.start()
    fresh.upgrade()
    fresh.start("test")
    fresh.start()

    assert fresh.calls == ["uv . into .venv", *["uv .[test] into .venv-test"] * 2, "uv . into .venv"]


def test_tests_leave_the_learners_jupyterlab_alone(fresh: Fresh) -> None:
    """nbgrader's menus came into it with them, and 400 MB."""
    fresh.start()
    before = sorted((fresh.root / ".venv").rglob("*"))

    assert fresh.start("test").returncode == 0

    assert sorted((fresh.root / ".venv").rglob("*")) == before
    assert (fresh.root / ".venv-test" / SITE / "pytest.py").is_file()


def test_anything_else_runs_with_the_python_of_the_tests(fresh: Fresh) -> None:
    """So CI finds out where to install what no extra names."""
    where = fresh.start("python", "-c", "import sys; print(sys.executable)").stdout

    assert where == f"{fresh.root / '.venv-test' / PYTHON}\n"
    assert fresh.calls == ["uv .[test] into .venv-test"]


def test_tests_have_the_extras_of_the_course_too(fresh: Fresh) -> None:
    fresh.start("add", "gpu-cu13")
    fresh.start("test")

    assert fresh.calls[-1] == "uv .[gpu-cu13,test] into .venv-test"


def test_an_extra_is_added_and_remembered(fresh: Fresh) -> None:
    assert fresh.start("add", "instructor").returncode == 0
    for _ in range(2):
        fresh.upgrade()
        fresh.start()

    assert fresh.calls == ["uv .[instructor] into .venv"] * 3


def test_the_site_installs_what_it_is_made_with(fresh: Fresh) -> None:
    script = fresh.root / "scripts" / "site" / "__main__.py"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text("import sys\nprint('writing', *sys.argv[1:])\n", "utf-8")

    assert fresh.start("site", "--pyodide", "here", "out").stdout.endswith("writing --pyodide here out\n")
    assert fresh.calls == ["uv .[lite] into .venv"]


def test_an_unknown_extra_is_refused_with_the_choice(fresh: Fresh) -> None:
    process = fresh.start("add", "gpu")

    known = "audience, cluster, gpu-cu12, gpu-cu13, instructor, kernels, lite, mpi, native, onnx, publish, serve, test"
    assert process.stderr == f"Name what to add, out of {known}; this was gpu.\n"
    assert process.returncode == 1


def test_without_a_network_the_installation_that_is_there_is_used(fresh: Fresh) -> None:
    fresh.start()
    fresh.upgrade()
    (fresh.root / "offline").touch()

    process = fresh.start()

    assert process.returncode == 0
    assert "error: no network" in process.stderr
    assert "going on with what is there" in process.stderr
    (fresh.root / "offline").unlink()
    assert "Setting up" in fresh.start().stderr
    assert "Setting up" not in fresh.start().stderr


def test_asking_for_the_tests_without_a_network_does_not_cost_the_course(fresh: Fresh) -> None:
    fresh.start()
    (fresh.root / "offline").touch()
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
    assert fresh.calls == ["pip uv into .venv", "pip . into .venv"]


@pytest.mark.skipif(os.name != "posix", reason="a uv that fails is written as a shell script here")
def test_pip_installs_the_course_where_uv_cannot(fresh: Fresh) -> None:
    (fresh.machine / "uv").write_text("#!/bin/sh\nexit 2\n", "utf-8")

    assert fresh.start().returncode == 0
    assert fresh.calls == ["pip . into .venv"]


def test_without_uv_and_pip_the_way_to_get_one_is_said(fresh: Fresh) -> None:
    shutil.rmtree(fresh.machine)
    module(fresh.machine, "pip", "raise SystemExit(1)")
    module(fresh.machine, "ensurepip", "raise SystemExit(1)")

    process = fresh.start()

    assert process.returncode == 1
    assert "neither pip nor ensurepip. On Debian and Ubuntu: sudo apt install python3-venv" in process.stderr


def test_without_venv_the_way_to_get_it_is_said(fresh: Fresh) -> None:
    (fresh.machine / "venv.py").write_text("raise ImportError", "utf-8")

    assert "no module venv. On Debian and Ubuntu: sudo apt install" in fresh.start().stderr


def test_a_read_only_checkout_is_refused_with_a_way_out(fresh: Fresh, unprivileged: list[str]) -> None:
    fresh.root.chmod(0o555)

    process = fresh.start(through=tuple(unprivileged))

    fresh.root.chmod(0o755)
    assert process.returncode == 1
    told = process.stderr.splitlines()[-1]
    assert told.startswith(f"Cannot set up the course in {fresh.root} ([Errno 13] Permission denied")
    assert "copy the folder to another place where you can write" in told


def be_a_file(root: Path) -> Path:
    (root / ".venv").touch()
    return root


def be_where_a_path_ends(root: Path) -> Path:
    """A program's folder cannot be put on the PATH if its name has what separates one folder from the next there."""
    return root.rename(root.parent / f"A{os.pathsep}B")


@pytest.mark.parametrize("trouble", [be_a_file, be_where_a_path_ends], ids=lambda trouble: trouble.__name__)
def test_a_place_for_no_environment_is_refused_with_a_way_out(fresh: Fresh, trouble: Callable[[Path], Path]) -> None:
    root = trouble(fresh.root)

    told = Fresh(Checkout(root), fresh.machine).start().stderr.splitlines()[-1]

    assert told.startswith(f"Cannot set up the course in {root} (")
    assert told.endswith("copy the folder to another place where you can write, and run start.py there.")


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


@pytest.mark.parametrize("asked", ["--help", "-h", "help"])
def test_help_sets_nothing_up(fresh: Fresh, asked: str) -> None:
    assert "python3 start.py test" in fresh.start(asked).stdout
    assert not (fresh.root / ".venv").exists()


def test_a_typo_is_refused_before_anything_is_set_up(fresh: Fresh) -> None:
    """It took a minute of installing until minigrad said so."""
    process = fresh.start("stauts")

    assert process.returncode == 1
    assert process.stderr.startswith("There is no verb stauts. Did you mean status? The verbs are status, submit,")
    assert "did you mean" not in fresh.start("zzz").stderr
    assert not (fresh.root / ".venv").exists()


def test_help_lists_every_verb_of_minigrad(fresh: Fresh) -> None:
    (choices,) = (action.choices for action in command_line()._actions if action.choices)
    listed = re.findall(r"^    python3 start\.py ([a-z]+)", fresh.start("--help").stdout, re.M)

    assert sorted(listed) == sorted([*choices, "site", "test", "python"])


def test_a_verb_of_minigrad_is_handed_on(fresh: Fresh) -> None:
    assert "Course folder: " in fresh.start("status").stdout


def test_start_is_written_in_the_grammar_of_python_3_8() -> None:
    ast.parse((ROOT / "start.py").read_text("utf-8"), feature_version=(3, 8))


def test_an_older_python_is_told_which_one_is_needed() -> None:
    pretence = "import runpy, sys; sys.version, sys.version_info = '3.8.18 (old)', (3, 8, 18); "
    code = pretence + f"runpy.run_path({str(ROOT / 'start.py')!r}, run_name='__main__')"

    process = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=False)

    assert process.returncode == 1
    assert process.stderr == "Python 3.11 or newer is needed, and this is 3.8.18: see https://www.python.org\n"
