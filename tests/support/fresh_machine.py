"""A checkout in which nothing is set up, on a machine whose installers are stand-ins.

Installing is slow and needs a network. The uv and pip here write down how they were called and put files in place;
everything else is real, and tests/repository/test_install.py installs for real.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import lazy_loader

from tests.support.miniature_checkout import Checkout

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
environment = Path(sys.argv[sys.argv.index("--python") + 1]).parents[1]
with open(root / "calls.txt", "a", encoding="utf-8") as calls:
    print("pip" if sys.argv[0].endswith("__main__.py") else "uv", sys.argv[-1], "into", environment.name, file=calls)
print("Resolved 5 packages in 2 ms")
print(" + numpy==2.4", flush=True)
if (root / "offline").exists():
    sys.exit("error: no network")
site = environment / "{SITE}"
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
        """How the installer was called: its name, the last word of its command, and where it installs."""
        path = self.root / "calls.txt"
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def start(
        self, *arguments: str, through: tuple[str, ...] = (), stderr: int = subprocess.PIPE
    ) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PATH": str(self.machine), "PYTHONPATH": str(self.machine), "PYTHONUTF8": "1"}
        command = [*through, sys.executable, str(self.root / "start.py"), *(arguments or ("copy",))]
        options = {"env": environment, "stdout": subprocess.PIPE, "stderr": stderr, "encoding": "utf-8", "timeout": 60}
        return subprocess.run(command, check=False, **options)

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
