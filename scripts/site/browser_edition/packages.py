"""The packages that Python loads in the browser: wheels, and a lock of our own that names these and no others.

Pyodide's lock names 350 packages on a CDN, and some of them are too old. pip fetches the files in wheels.lock, checked
by sha256. The kernel starts with all of them, so wheels need not declare dependencies. The course's own wheel has the
engine and the data of `check`, as in the pip package, and stored runs of lessons that a browser cannot make; everything
else is in the site's contents.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from packaging.utils import canonicalize_name, parse_wheel_filename

import minigrad
from minigrad.course import lessons
from minigrad.engine.base.whole_file import replace_file

from .pyodide_core import CACHE, VERSION, read

WANTED = Path(__file__).with_name("wheels.lock")
PACKAGE = Path(minigrad.__file__).parent
COMPILED = ("numpy", "ml-dtypes", "matplotlib")  # built for the browser only in a Pyodide distribution
LEFT_OUT = (
    "{} is not in this site, which runs lessons 00 to 02 and exercise 01. The rest runs on your own machine, as the "
    "first page of the book says, or in a site that was built with NumPy"
)


def collect(folder: Path, known: dict[str, Any], distribution: Path | None, beside: dict[str, bytes]) -> list[str]:
    """Write wheels and lock into the folder; returns the names of all packages to load at start.

    beside    further modules by file name
    """
    for wheel in [*fetched(), *of_the_kernel()]:
        shutil.copy(wheel, folder)
    course(folder, beside)
    packages = {entry["name"]: entry for entry in map(locked, sorted(folder.glob("*.whl")))}
    if distribution is not None:
        for name, entry in compiled(distribution, known).items():
            if name not in packages:
                shutil.copy(distribution / entry["file_name"], folder)
                packages[name] = entry
    lock = {"info": known["info"], "packages": packages}
    (folder / "pyodide-lock.json").write_text(json.dumps(lock), "utf-8")
    return list(packages)


def fetched() -> list[Path]:
    """The wheels of wheels.lock, from the package index or from an earlier fetch."""
    folder = CACHE / sha256(WANTED.read_bytes()).hexdigest()[:16]
    if not folder.is_dir():
        new = folder.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--require-hashes"]
        pure = ["--no-deps", "--only-binary=:all:", "--python-version=3.14", "--platform=any", "--implementation=py"]
        subprocess.run([*pip, *pure, "-d", str(new), "-r", str(WANTED)], check=True)
        new.rename(folder)
    return sorted(folder.glob("*.whl"))


def of_the_kernel() -> list[Path]:
    """The kernel's own wheels, without the old widgetsnbextension 3."""
    share = Path(sys.prefix) / "share" / "jupyter" / "labextensions" / "@jupyterlite" / "pyodide-kernel-extension"
    return [wheel for wheel in sorted((share / "static" / "pypi").glob("*.whl")) if "nbextension-3" not in wheel.name]


def stand_ins() -> dict[str, bytes]:
    """Stub modules that raise an error on import."""
    modules = [name.replace("-", "_") for name in COMPILED]
    return {f"{m}.py": f"raise ModuleNotFoundError({LEFT_OUT.format(m)!r}, name={m!r})\n".encode() for m in modules}


def course(folder: Path, beside: dict[str, bytes]) -> Path:
    """The course's wheel: the package of this checkout, without parts for a checkout or a server.

    beside    further files by name
    """
    files = [path for path in sorted(PACKAGE.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    inside = {path.relative_to(PACKAGE.parent).as_posix(): path.read_bytes() for path in files}
    engine = {name: data for name, data in inside.items() if "_course" not in name}
    name, version = "minigrad_course", minigrad.__version__
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    kind = "Wheel-Version: 1.0\nGenerator: minigrad\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    about = {"METADATA": metadata, "WHEEL": kind, "RECORD": ""}
    told = {f"{name}-{version}.dist-info/{file}": text for file, text in about.items()}
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for file, data in (engine | dict(recorded()) | beside | told).items():
            packed.writestr(zipfile.ZipInfo(file, (2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return wheel


def recorded() -> Iterator[tuple[str, bytes]]:
    """Stored outputs of `%%parallel` cells, which it shows where no processes can start."""
    for path in sorted((lessons.course() / "lessons").glob("*.ipynb")):
        whole = json.loads(path.read_text("utf-8"))["cells"]
        cells = [cell for cell in whole if "".join(cell["source"]).startswith("%%parallel")]
        if cells:
            yield f"minigrad/_course/lessons/{path.name}", json.dumps({"cells": cells}).encode()


def compiled(distribution: Path, known: dict[str, Any]) -> dict[str, Any]:
    """NumPy and its dependencies, from the Pyodide distribution that belongs to the lock."""
    found = with_dependencies(known)
    for entry in found.values():
        path = distribution / entry["file_name"]
        if not path.is_file() or not is_locked(path.read_bytes(), entry):
            raise RuntimeError(f"--pyodide needs a Pyodide {VERSION} distribution, and {path} does not match its lock")
    return found


def with_dependencies(known: dict[str, Any]) -> dict[str, Any]:
    """The lock's entries of NumPy, of what else is compiled, and of all that these need."""
    found: dict[str, Any] = {}
    todo = list(COMPILED)
    while todo:
        if (name := canonicalize_name(todo.pop())) not in found:
            found[name] = known["packages"][name]
            todo += found[name]["depends"]
    return found


def is_locked(data: bytes, entry: dict[str, Any]) -> bool:
    wanted: str = entry["sha256"]
    return sha256(data).hexdigest() == wanted


def fetch_compiled(address: str) -> Path:
    """Fetch NumPy and its dependencies, as --pyodide wants them, each checked by its sha256 in Pyodide's lock.

    Raises RuntimeError, with nothing written, if a file cannot be fetched or has other bytes.
    """
    folder = CACHE / f"pyodide-{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    for entry in with_dependencies(json.loads(read("pyodide-lock.json"))).values():
        path, url = folder / entry["file_name"], address + entry["file_name"]
        if not path.is_file() or not is_locked(path.read_bytes(), entry):
            try:
                with urlopen(url, timeout=60) as answer:
                    data = answer.read()
            except OSError as error:
                raise RuntimeError(f"--numpy could not fetch {url}: {error}") from error
            if not is_locked(data, entry):
                raise RuntimeError(f"--numpy fetched {url}, whose sha256 is not the one of Pyodide {VERSION}'s lock")
            replace_file(path, [data])
    return folder


def published() -> str:
    """Where Pyodide fetches packages of its version, as its own JavaScript says."""
    (address,) = re.findall(rb"https://[^`]+/v\$\{\w+\}/full/", read("pyodide.mjs"))
    return re.sub(r"\$\{\w+\}", VERSION, address.decode())


def locked(wheel: Path) -> dict[str, Any]:
    """A lock's entry for a wheel."""
    name, version, *_ = parse_wheel_filename(wheel.name)
    about = {"name": name, "version": str(version), "file_name": wheel.name, "install_dir": "site"}
    kind = {"package_type": "package", "unvendored_tests": False, "imports": [], "depends": []}
    return about | kind | {"sha256": sha256(wheel.read_bytes()).hexdigest()}
