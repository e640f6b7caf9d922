"""Pyodide's core, Python as WebAssembly and its standard library: out of the npm package, which is fetched once."""

from __future__ import annotations

import base64
import io
import json
import tarfile
import urllib.request
from hashlib import sha512
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

VERSION = "314.0.6"  # of jupyterlite-pyodide-kernel 0.8.6: see pyproject.toml, where that is pinned
INTEGRITY = "BKDTJyIqFxC4BExLqeRS3f5xvXZIjOt8C3zGLN/Cc7tFxSwvKVhVkchQQ2AGLOtR4YrVOIFxbV8poyDOOmWwxQ=="  # as npm says it
URL = f"https://registry.npmjs.org/pyodide/-/pyodide-{VERSION}.tgz"
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
CACHE = user_cache_path("minigrad-course") / "site"


def unpack(folder: Path) -> dict[str, Any]:
    """Write the core into a folder; what Pyodide's own lock says of the packages that it was built with."""
    with tarfile.open(fileobj=io.BytesIO(archive())) as packed:
        inside = {name: packed.extractfile(f"package/{name}").read() for name in (*FILES, "pyodide-lock.json")}
    for name in FILES:
        (folder / name).write_bytes(inside[name])
    return json.loads(inside["pyodide-lock.json"])


def archive() -> bytes:
    """The npm package, whose bytes are the ones that this site was tried with."""
    path = CACHE / Path(URL).name
    if path.is_file() and is_known(found := path.read_bytes()):
        return found
    with urllib.request.urlopen(URL, timeout=120) as answer:
        fetched = answer.read()
    if not is_known(fetched):
        raise RuntimeError(
            f"{URL} gave {len(fetched)} bytes that are not those of pyodide {VERSION}: nothing was written"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(fetched)
    return fetched


def is_known(data: bytes) -> bool:
    return base64.b64encode(sha512(data).digest()).decode() == INTEGRITY
