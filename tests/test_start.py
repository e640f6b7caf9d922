"""start.py: set up once, heal what was left half-way, go on without a network, and say clearly what is wrong.

Installing is slow and needs a network, so uv and pip are stand-ins here: programs that write down how they were called
and put the files in place. Everything else is real; tests/test_install.py installs for real.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import lazy_loader
import pytest
from miniature import ROOT, Checkout

SITE = (
    "Lib/site-packages"
    if os.name == "nt"
    else f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
)
PYTHON = "Scripts/python.exe" if os.name == "nt" else "bin/python"

INSTALLER = f"""
import os, shutil, signal, sys
from pathlib import Path
root = Path.cwd()
if sys.argv[-1] == "--version":
    sys.exit()
with open(root / "calls.txt", "a", encoding="utf-8") as calls:
    print("pip" if sys.argv[0].endswith("__main__.py") else "uv", sys.argv[-1], file=calls)
if (root / "offline").exists():
    sys.exit("error: no network")
site = root / ".venv" / "{SITE}"
for module in "jupyterlab anywidget numpy pytest nbval playwright mypy".split():
    (site / (module + ".py")).write_text("", "utf-8")
    if (root / "killed").exists():
        os.kill(os.getppid(), signal.SIGTERM)
        sys.exit(1)
shutil.copytree({str(Path(lazy_loader.__file__).parent)!r}, site / "lazy_loader", dirs_exist_ok=True)
(site / "minigrad.pth").write_text(str(root), "utf-8")
"""


@dataclass(frozen=True)
class Fresh:
    """A checkout in which nothing is set up yet, on a machine that has uv, or pip, or neither."""

    checkout: Checkout
    machine: Path

    @property
    def root(self) -> Path:
        return self.checkout.root

    @property
    def calls(self) -> list[str]:
        """How the installer was called: its name and the last word of its command."""
        path = self.root / "calls.txt"
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def start(self, *arguments: str, through: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PATH": str(self.machine), "PYTHONPATH": str(self.machine), "PYTHONUTF8": "1"}
        command = [*through, sys.executable, str(self.root / "start.py"), *(arguments or ("copy",))]
        return subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=60)

    def upgrade(self) -> None:
        with (self.root / "pyproject.toml").open("a", encoding="utf-8") as file:
            file.write("# a new edition\n")


def with_uv(machine: Path) -> None:
    (machine / "uv.py").write_text(INSTALLER, "utf-8")
    if os.name == "nt":
        (machine / "uv.bat").write_text(f'@"{sys.executable}" "{machine / "uv.py"}" %*\n', "utf-8")
    else:
        (machine / "uv").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{machine / "uv.py"}" "$@"\n', "utf-8")
        (machine / "uv").chmod(0o755)


def module(machine: Path, name: str, body: str) -> None:
    """A package that Python finds before its own of that name, and that `python -m` runs."""
    (machine / name).mkdir(parents=True)
    (machine / name / "__init__.py").write_text("", "utf-8")
    (machine / name / "__main__.py").write_text(body, "utf-8")


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

    assert process.stderr == "Name what to add, out of gpu-cu12, gpu-cu13, instructor, test; this was gpu.\n"
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
    lose_python,
    lose_the_base_python,
    lose_a_package,
    be_of_another_machine,
    garble_the_stamp,
    lose_everything,
]


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
