"""A repository in miniature: this package, and lessons that a test may rewrite, run by its own command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FIRST = "lessons/00_start_here.ipynb"
GRAPH = "lessons/01_graph.ipynb"


@dataclass(frozen=True)
class Checkout:
    """A repository in miniature, run as a learner runs it: by a command, in a process of its own."""

    root: Path

    @property
    def work(self) -> Path:
        return self.root / "work"

    def ship(self, name: str, *sources: str) -> None:
        """Write a lesson as a new edition of the course would have it, with stored outputs."""
        write_notebook(self.root / name, sources, output="as built")

    def minigrad(self, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(self.root), "PYTHONUTF8": "1", **options.pop("env", {})}
        command = [*options.pop("through", ()), sys.executable, "-P", "-m", "minigrad", *map(str, arguments)]
        options = {"cwd": self.root, "capture_output": True, "encoding": "utf-8", "timeout": 60} | options
        return subprocess.run(command, env=environment, check=False, **options)

    def done(self, *arguments: object, **options: Any) -> dict[str, Any]:
        """The outcome that a verb reports as JSON, having done what it was told."""
        process = self.minigrad(*arguments, "--json", **options)
        assert process.returncode == 0, process.stderr
        return json.loads(process.stdout)

    def refused(self, *arguments: object, **options: Any) -> str:
        """The one line that a verb says when it does not do what it was told."""
        process = self.minigrad(*arguments, **options)
        assert (process.returncode, process.stdout, process.stderr.count("\n")) == (1, "", 1), process.stderr
        return process.stderr


def sources(path: Path) -> list[str]:
    return [cell["source"] for cell in json.loads(path.read_text("utf-8"))["cells"]]


def write_notebook(path: Path, sources: tuple[str, ...], output: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    stored = {"output_type": "stream", "name": "stdout", "text": output}
    cells = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "source": s, "outputs": [stored], "execution_count": n}
        for n, s in enumerate(sources)
    ]
    text = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {"widgets": {}}, "cells": cells})
    path.write_text(text, "utf-8")
