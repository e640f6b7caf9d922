"""What a notebook has beside Python, as far as its cells need it here: magics, commands, `display`, `check`.

IPython says what a cell means. This is the shell that it asks: one that runs what is timed, and nothing else.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:  # the sandbox loads this file, and typing takes longer to load than most cells to run
    from typing import Any

    Run = Callable[[str], Any]
RUN = ("time", "capture", "prun")  # magics that run what they are given


def python_of(source: str) -> str:
    """A cell in Python alone."""
    from IPython.core.inputtransformer2 import TransformerManager  # few cells need it, and it loads for 0.1 s

    return str(TransformerManager().transform_cell(source))  # type: ignore[no-untyped-call]


class Silent:
    """What does nothing, whatever it is asked."""

    def __call__(self, *args: Any, **named: Any) -> Silent:
        return self

    def __getattr__(self, name: str) -> Silent:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    __getitem__ = __call__

    def __iter__(self) -> Iterator[Any]:
        return iter(())


def stand_in(line: Run, below: Run) -> None:
    """Let there be what a cell can call only in a notebook; `check` has nothing to say where there are no answers.

    line, below    run what stands behind a magic, and below one
    """
    silent, shell = Silent(), Silent()
    vars(shell).update(
        run_line_magic=lambda name, source: line(source) if name in RUN else None,
        run_cell_magic=lambda name, options, source: below(source) if name in RUN else None,
        getoutput=lambda command: [],
    )
    vars(builtins).update(display=silent, get_ipython=shell)
    for name in ("minigrad.course", "IPython.core.getipython"):
        sys.modules[name] = module = ModuleType(name)
        module.__getattr__ = silent.__getattr__  # type: ignore[method-assign]
