"""The same lines in another framework, run where it is installed, and recorded for everyone else.

    @in_pytorch
    def sum_of_ones(torch):
        \"\"\"tensor(3.)\"\"\"
        print(torch.ones(3).sum())

The docstring is what the function printed when the lesson was written. If the function returns a GraphView, the folder
recordings/ has its graph. `scripts/record` writes both; the tests compare them with the framework's output.
"""

from __future__ import annotations

import inspect
import io
import json
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from IPython.display import display

from minigrad.course import widgets
from minigrad.course.journal import place
from minigrad.draw.listing import Entry, Listing, Scope

MISSING = "{} is not installed here. When the lesson was written, these lines printed:\n"
DIFFERENT = "The lesson's author saw something else:\n"
RAISED = "This version of {} cannot run these lines ({}).\nWhen the lesson was written, they printed:\n"


def show(package: str, name: str, f: Callable[[Any], object]) -> None:
    """Run f(package) and show what it prints and returns, or show its recording if the package is not installed.

    In the repository, where lessons are built, the recording is shown, so that a build does not depend on the package.
    """
    text, view = recording(f)
    if place("") is not None:
        try:
            printed, view = run(f, package)
            text = printed if printed == text else f"{printed}\n{DIFFERENT}{text}"
        except Exception as error:  # not installed, an older version, or one that does not support this Python
            text = (RAISED if find_spec(package) else MISSING).format(name, type(error).__name__) + text
    print(text)
    if view is not None:
        display(view)  # type: ignore[no-untyped-call]


in_pytorch = partial(show, "torch", "PyTorch")
in_jax = partial(show, "jax", "JAX")
in_tensorflow = partial(show, "tensorflow", "TensorFlow")


def run(f: Callable[[Any], object], package: str) -> tuple[str, Any]:
    """What f(package) prints, without trailing spaces, and what it returns. Warnings of deprecations are hidden."""
    with redirect_stdout(io.StringIO()) as printed, warnings.catch_warnings():
        for category in (DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        view = f(import_module(package))
    return "\n".join(line.rstrip() for line in printed.getvalue().rstrip().splitlines()), view


def recording(f: Callable[[Any], object]) -> tuple[str, widgets.GraphView | None]:
    """The docstring of f, and the recorded view if f has one. Raises ValueError if f has no docstring."""
    if not f.__doc__:
        raise ValueError(f"{f.__name__} needs a docstring: what it prints where its framework is installed")
    path = Path(__file__).with_name("recordings") / f"{f.__name__}.json"
    view = widgets.GraphView(listing_from(path.read_text("utf-8"))) if path.is_file() else None
    return inspect.cleandoc(f.__doc__), view


def listing_from(text: str) -> Listing:
    """The listing that scripts/record wrote as JSON, without the framework's own objects."""
    plain = json.loads(text)
    scopes = [Scope(**scope, thing=None) for scope in plain["scopes"]]
    for row in plain["entries"]:
        row["path"] = None if row["path"] is None else tuple(scopes[i] for i in row["path"])
    return Listing(plain["output"], [Entry(**row, thing=None) for row in plain["entries"]], plain["notes"])
