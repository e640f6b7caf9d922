"""Pyodide's core, Python as WebAssembly and its standard library: from the npm package, which is fetched once.

npm fetches the package by its name; the registry is the one that npm is configured with. `--pyodide` replaces npm.
"""

from __future__ import annotations

import base64
import io
import json
import shutil
import subprocess
import tarfile
import tempfile
from hashlib import sha512
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

VERSION = "314.0.6"  # of jupyterlite-pyodide-kernel 0.8.6: see pyproject.toml, where that is pinned
INTEGRITY = "BKDTJyIqFxC4BExLqeRS3f5xvXZIjOt8C3zGLN/Cc7tFxSwvKVhVkchQQ2AGLOtR4YrVOIFxbV8poyDOOmWwxQ=="  # npm's own
ARCHIVE = f"pyodide-{VERSION}.tgz"  # the name that `npm pack` gives the file
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
CACHE = user_cache_path("minigrad-course") / "site"


def unpack(folder: Path, pyodide: Path | None = None) -> dict[str, Any]:
    """Write the core into a folder; returns Pyodide's own lock, which lists the packages that it was built with."""
    with tarfile.open(fileobj=io.BytesIO(archive(pyodide))) as packed:
        inside = {name: packed.extractfile(f"package/{name}").read() for name in (*FILES, "pyodide-lock.json")}
    for name in FILES:
        (folder / name).write_bytes(inside[name])
    return json.loads(inside["pyodide-lock.json"])


def read(name: str) -> bytes:
    """The bytes of a file in the npm package."""
    with tarfile.open(fileobj=io.BytesIO(archive())) as packed:
        data: bytes = packed.extractfile(f"package/{name}").read()
    return data


def archive(pyodide: Path | None = None) -> bytes:
    """The npm package, checked to have the bytes that this site was tested with.

    pyodide    what --pyodide names: the package as a file, or a folder, which may contain that file
    """
    given = pyodide / ARCHIVE if pyodide is not None and pyodide.is_dir() else pyodide
    if given is not None and (given.exists() or given is pyodide):
        return verify(given)
    cached = CACHE / ARCHIVE
    if cached.is_file() and is_known(data := cached.read_bytes()):
        return data
    with tempfile.TemporaryDirectory() as folder:
        data = verify(fetch(Path(folder)))
    cached.parent.mkdir(parents=True, exist_ok=True)
    cached.write_bytes(data)
    return data


def fetch(folder: Path) -> Path:
    """Let npm write the package into a folder."""
    instead = f"get {ARCHIVE} elsewhere (npm pack pyodide@{VERSION}) and name it: --pyodide {ARCHIVE}"
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError(f"npm fetches Pyodide, and npm is not installed: install Node.js, or {instead}")
    command = [npm, "pack", f"pyodide@{VERSION}", "--ignore-scripts", "--pack-destination", str(folder)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise RuntimeError(f"npm could not fetch pyodide@{VERSION}:\n{done.stderr[-2000:]}Try again, or {instead}")
    return folder / ARCHIVE


def verify(path: Path) -> bytes:
    """The bytes of a file, which have to be those of the npm package."""
    if not path.is_file():
        raise RuntimeError(f"--pyodide names {path}, which does not exist")
    data = path.read_bytes()
    if not is_known(data):
        raise RuntimeError(
            f"{path} has {len(data)} bytes that are not the npm package of pyodide {VERSION}: nothing was written"
        )
    return data


def is_known(data: bytes) -> bool:
    return base64.b64encode(sha512(data).digest()).decode() == INTEGRITY
