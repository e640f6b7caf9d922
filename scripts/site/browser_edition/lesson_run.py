"""Run the code cells of a lesson; print as JSON which ran, and the numbers that then have a name.

python lesson_run.py NOTEBOOK
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

SIMPLE = (int, float, str, bool)


def main(path: Path) -> None:
    shell: Any = InteractiveShell.instance()
    cells = json.loads(path.read_text("utf-8"))["cells"]
    print(json.dumps([run(shell, cell) for cell in cells if cell["cell_type"] == "code"]))


def run(shell: Any, cell: dict[str, Any]) -> dict[str, Any]:
    """A cell's id, whether it ran, and the numbers and texts that have a name after it."""
    with capture_output():
        ran = shell.run_cell("".join(cell["source"]), store_history=False).success
    named = {name: value for name, value in shell.user_ns.items() if type(value) in SIMPLE and name[0] != "_"}
    return {"id": cell["id"], "ran": ran, "numbers": named}


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
