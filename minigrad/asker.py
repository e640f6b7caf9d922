"""Who asks: the user's code, which may act by the answer, or the engine, which knows what it asks."""

from __future__ import annotations

import sys
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any

ENGINE = str(Path(__file__).parent)
STAND_INS = {str(Path(ENGINE, "graph", "autograph", file)) for file in ("branches.py", "replaced.py")}


def asked_by_user(depth: int = 2) -> bool:
    """Whether the caller, so many frames up from here, is the user's code, and not the engine.

    What acts in the place of the user's code asks for the user: AutoGraph's `and` or max(), a dataclass's `==`, NumPy.
    """
    frame: Any = sys._getframe(depth)
    while frame is not None and acts_for_another(frame.f_code.co_filename, frame.f_code.co_name):
        frame = frame.f_back
    return frame is not None and not frame.f_code.co_filename.startswith((ENGINE, "<minigrad"))


@cache
def acts_for_another(file: str, function: str) -> bool:
    """Whether code does what the code that calls it says: Python's and NumPy's own does."""
    if file.startswith(ENGINE):
        return file in STAND_INS
    homes = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), "<frozen", "<__array")
    installed = {"site-packages", "dist-packages"}.intersection(Path(file).parts)
    return bool(installed) or file.startswith(homes) or (file == "<string>" and function.startswith("__"))
