"""The same lines in PyTorch, run where PyTorch is installed, and recorded for everyone else.

    @in_pytorch
    def gradient_of_a_product(torch):
        \"\"\"tensor(3.)\"\"\"
        x = torch.tensor(2.0, requires_grad=True)
        (x * 3).backward()
        print(x.grad)

The docstring is what the function printed when the lesson was written; the tests compare it with PyTorch's output.
"""

from __future__ import annotations

import inspect
import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from minigrad.course.journal import place

RECORDED = "PyTorch is not installed here. It printed:\n"
DIFFERENT = "The lesson's author saw something else:\n"
RAISED = "This PyTorch cannot run it ({}).\nIt printed, when the lesson was written:\n"


def in_pytorch(f: Callable[[Any], object]) -> None:
    """Run f(torch) and show what it prints, or show the recording in f's docstring if PyTorch is not installed.

    In the repository, where lessons are built, the recording is shown, so that a build does not depend on PyTorch.
    """
    recorded = recording(f)
    if place("") is None:
        print(recorded)
    elif find_spec("torch") is None:
        print(RECORDED + recorded)
    else:
        try:
            printed = run_in_pytorch(f)
        except Exception as error:  # an older PyTorch, or one that does not support this Python
            print(RAISED.format(type(error).__name__) + recorded)
        else:
            print(printed if printed == recorded else f"{printed}\n{DIFFERENT}{recorded}")


def recording(f: Callable[[Any], object]) -> str:
    """The docstring of f. Raises ValueError if there is none."""
    if not f.__doc__:
        raise ValueError(f"{f.__name__} needs a docstring: what it prints where PyTorch is installed")
    return inspect.cleandoc(f.__doc__)


def run_in_pytorch(f: Callable[[Any], object]) -> str:
    """What f(torch) prints, without trailing spaces. PyTorch's warnings that something is deprecated are hidden."""
    with redirect_stdout(io.StringIO()) as printed, warnings.catch_warnings():
        for category in (DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        f(import_module("torch"))
    return "\n".join(line.rstrip() for line in printed.getvalue().rstrip().splitlines())
