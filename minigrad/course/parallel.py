"""`%%parallel` for lessons: where no ranks can be started, it shows the recorded outputs of the lesson instead.

    %load_ext minigrad.course.parallel

The recording is in the shipped lesson. The cell with the same source has the output that the ranks printed and, in the
output's metadata, the values of the names given by -o.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from IPython.core import magic_arguments
from IPython.core.getipython import get_ipython

from ..distributed import parallel as cells
from ..distributed.launcher import NoRanksError, starter
from .lessons import course


def parallel(line: str, cell: str) -> None:
    """Run the cell on several ranks, each a process. Without MPI, show its recorded outputs."""
    magic: Any = magic_arguments
    try:
        starter(magic.parse_argstring(cells.parallel, line).n)
    except NoRanksError as error:
        show(find_recording(f"%%parallel {line}\n{cell}", error), error)
    else:
        cells.parallel(line, cell)


def find_recording(source: str, error: NoRanksError) -> list[Any]:
    """The outputs of the cell with this source in the shipped lessons. Raises CellError if there is none."""
    for notebook in sorted((course() / "lessons").glob("*.ipynb")):
        for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
            if "".join(cell["source"]).strip() == source.strip() and cell.get("outputs"):
                outputs: list[Any] = cell["outputs"]
                return outputs
    raise cells.CellError(f"{error}. A lesson's own cells, unchanged, have a recorded run that can be shown here")


def show(outputs: list[Any], error: NoRanksError) -> None:
    shell: Any = get_ipython()
    print(f"Recorded, not run here: {error}.")
    for output in outputs:
        print(*lines(output), sep="", end="")
        if given := output.get("metadata", {}).get(cells.RECORDED):
            shell.user_ns.update(cells.decode_values(given))


def lines(output: Any) -> Iterator[str]:
    match output["output_type"]:
        case "error":
            raise cells.CellError(output["evalue"])
        case "stream":
            yield from output["text"]
        case _:
            yield "".join(output["data"]["text/plain"]) + "\n"


def load_ipython_extension(shell: Any) -> None:
    cells.load_ipython_extension(shell)
    shell.register_magic_function(parallel, "cell")
