"""The browser edition: JupyterLite with lessons and exercises, in which Python itself runs in the browser.

A lesson is at run/lab/index.html?path=lessons/00_start_here.ipynb. It loads everything from this folder: Pyodide's
core, fetched by npm; wheels, fetched by pip; and the installed JupyterLite. service-worker.js keeps it for offline use.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

from minigrad.course import lessons

from . import packages, pyodide_core, without_numpy

HERE, ROOT = Path(__file__).parent, Path(__file__).resolve().parents[3]
KERNEL = "@jupyterlite/pyodide-kernel-extension"
EXTENSIONS = (KERNEL, "@jupyter-widgets/jupyterlab-manager", "anywidget")  # besides the course's own


def build(out: Path, pyodide: Path | None = None) -> None:
    """Write out/run/.

    pyodide    an unpacked Pyodide distribution of the same version, from which NumPy and its dependencies are taken;
               or Pyodide's npm package as a file, instead of using npm
    """
    with tempfile.TemporaryDirectory() as folder:  # a new folder: JupyterLite would reuse files of an earlier build
        work = Path(folder)
        core = work / "static" / "pyodide"
        core.mkdir(parents=True)
        report("Python for the browser")
        lock = pyodide_core.unpack(core, pyodide)
        distribution = pyodide if pyodide is not None and pyodide.is_dir() else None
        lessons.copy(work / "files")
        beside: dict[str, bytes] = {}
        waiting: list[str] = []
        if distribution is None:
            report("lessons 00 to 02, run with NumPy and without")
            beside = packages.stand_ins()
            beside |= without_numpy.mark(work / "files", beside)
            waiting = [path.name for path in without_numpy.notebooks_with_numpy(work / "files")]
            go_on(work / "files" / "lessons")
        report("packages")
        configure(work, packages.collect(core, lock, distribution, beside), waiting)
        report("JupyterLite")
        made = work / "made"
        command = [sys.executable, "-m", "jupyterlite_core", "build", "--lite-dir", work, "--output-dir", made]
        done = subprocess.run(list(map(str, command)), cwd=work, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"jupyter lite build failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        serve_offline(made)
        out.mkdir(parents=True, exist_ok=True)
        shutil.move(made, out / "run")


def report(stage: str) -> None:
    print(f"browser edition: {stage}", flush=True)


def go_on(folder: Path) -> None:
    """Let Run All continue after a cell that needs NumPy: later cells, such as a quiz, may not need it."""
    for path in folder.glob("*.ipynb"):
        notebook = json.loads(path.read_text("utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell["metadata"]["tags"] = sorted({*cell["metadata"].get("tags", []), "raises-exception"})
        write(path, notebook)


def configure(work: Path, preloaded: list[str], waiting: list[str]) -> None:
    """JupyterLite's configuration: the place of Python, the extensions, and the course's own settings.

    preloaded    the packages that Python starts with
    waiting      the notebooks that need NumPy, where there is none: the list of files says so
    """
    installed = Path(sys.prefix) / "share" / "jupyter" / "labextensions"
    own = ROOT / "share" / "jupyterlab"
    extensions = [*(installed / name for name in EXTENSIONS), own / "minigrad-present", HERE / "minigrad-lite"]
    said = {
        "apps": ["lab"],
        "no_sourcemaps": True,
        "no_unused_shared_packages": True,
        "ignore_sys_prefix": ["federated_extensions"],
        "federated_extensions": [str(path) for path in extensions],
    }
    kernel = {
        "disablePyPIFallback": True,
        "pyodideUrl": "./static/pyodide/pyodide.mjs",
        "loadPyodideOptions": {"packages": preloaded},
    }
    site = {
        "appName": "minigrad",
        "exposeAppInBrowser": True,
        "needsNumpy": json.dumps(waiting),
        "enableServiceWorkerCache": "false",
        "disabledExtensions": ["@jupyterlab/notebook-extension:cell-executor"],  # minigrad-lite is it
        "litePluginSettings": {f"{KERNEL}:kernel": kernel},
    }
    write(work / "jupyter_lite_config.json", {"LiteBuildConfig": said})
    write(work / "jupyter-lite.json", {"jupyter-lite-schema-version": 0, "jupyter-config-data": site})
    shutil.copy(own / "overrides.json", work)


def write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1), "utf-8")


def serve_offline(made: Path) -> None:
    """Our service worker in place of JupyterLite's, which it extends; it lists all files by name."""
    (made / "service-worker.js").rename(made / "jupyterlite-service-worker.js")
    files = sorted(path for path in made.rglob("*") if path.is_file())
    edition = sha256(b"".join(sha256(path.read_bytes()).digest() for path in files)).hexdigest()[:16]
    names = [path.relative_to(made).as_posix() for path in files]
    text = (HERE / "service-worker.js").read_text("utf-8")
    text = text.replace('"EDITION"', json.dumps(edition)).replace('["FILES"]', json.dumps(names))
    (made / "service-worker.js").write_text(text, "utf-8")
