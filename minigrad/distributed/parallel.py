"""`%%parallel -n 4`: run a notebook cell on ranks, each a process of its own. Load it with
`%load_ext minigrad.distributed.parallel`.

    %%parallel -n 4 -i x,steps -o loss

The kernel does not take part. Ranks see only the notebook's names listed after -i. Their own names are lost at the end,
except those listed after -o: the notebook gets a list of their values by rank. So a cell states its inputs and outputs.
"""

from __future__ import annotations

import base64
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from IPython import display
from IPython.core import magic_arguments
from IPython.core.getipython import get_ipython

from ..files.saving.files import load, save
from .group import DistributedError
from .launcher import run_on_ranks

magic: Any = magic_arguments
OFTEN = 0.2  # seconds between two updates of the display
RECORDED = "minigrad"  # key of an output's metadata for the values of -o, so that a notebook records its runs
TAIL = 8  # lines of each rank shown while it runs


class CellOutput:
    """The output of ranks: the last lines of each while they run, then all lines, in the order of ranks."""

    def __init__(self, n: int):
        self.lines: list[list[str]] = [[] for _ in range(n)]
        self.title = f"{n} rank{'s' if n > 1 else ''}"
        self.handle: Any = display.display({"text/plain": self.title}, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        self.shown = time.monotonic()

    def add(self, rank: int, line: str) -> None:
        self.lines[rank].append(f"[{rank}] {line}")
        if time.monotonic() - self.shown > OFTEN:
            self.shown = time.monotonic()
            self.show("\n".join([f"{self.title}, running", *(line for lines in self.lines for line in lines[-TAIL:])]))

    def show(self, text: str, **metadata: str) -> None:
        if self.handle is not None:  # None in a terminal, which cannot update output
            self.handle.update({"text/plain": text}, raw=True, metadata=metadata)

    def close(self, given: dict[str, Any]) -> None:
        """Show all lines, under the first title, so that a second run of the notebook shows the same."""
        self.show(self.title, **({RECORDED: encode_values(given)} if given else {}))
        for line in (line for lines in self.lines for line in lines):
            print(line)


def encode_values(values: dict[str, Any]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "values.mg")
        save(path, values)
        return base64.b64encode(path.read_bytes()).decode()


def decode_values(text: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "values.mg")
        path.write_bytes(base64.b64decode(text))
        values: dict[str, Any] = load(path)
        return values


class CellError(DistributedError):
    """A cell failed on a rank. A notebook shows the rank's traceback instead of the kernel's."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


def parallel(line: str, cell: str) -> None:
    """Run the cell on several ranks, which are processes connected by mg.distributed."""
    shell: Any = get_ipython()
    said = magic.parse_argstring(parallel, line)
    n, reads, gives = said.n, names(said.i), names(said.o)
    missing = [name for name in reads if name not in shell.user_ns]
    if missing:
        raise CellError(f"%%parallel -i {','.join(missing)}: the notebook has no such name")
    job = {"texts": [(f"Cell In[{len(shell.user_ns['In']) - 1}]", "\n" + cell)], "out": gives, "argv": [""]}
    given = {"names": {name: shell.user_ns[name] for name in reads}, "arguments": ()}
    output, found = CellOutput(n), {}
    try:
        results = run_on_ranks(job, n, output.add, given, said.t)
        found = {name: [result[i] for result in results] for i, name in enumerate(gives)}
    except DistributedError as error:
        raise CellError(str(error)) from None
    except KeyboardInterrupt:
        raise CellError("stopped, and all ranks with it") from None
    finally:
        output.close(found)
    shell.user_ns.update(found)


@cache  # on a second load, arguments must not be added again
def make_magic() -> Any:
    """The magic with its options, declared as in IPython's own magics; `%%parallel?` shows them."""
    read = "the notebook's names that the cell reads, as x,y: values that mg.save takes"
    give = "the cell's names to return: the notebook gets a list of each, by rank"
    after, count = "seconds after which all ranks are ended", "number of ranks"
    options = ("-t", None, float, after), ("-o", "", str, give), ("-i", "", str, read), ("-n", 2, int, count)
    for name, usual, kind, about in options:
        magic.argument(name, default=usual, type=kind, help=about)(parallel)
    return magic.magic_arguments()(parallel)


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def load_ipython_extension(shell: Any) -> None:
    shell.register_magic_function(make_magic(), "cell")
