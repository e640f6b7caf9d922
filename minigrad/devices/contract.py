"""What CuPy has, and may be asked for: the names and parameters in cupy.txt, which the simulated device keeps to."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any


@cache
def contract() -> dict[str, list[str]]:
    """What CuPy has: name → its parameters (* for any number), or ['ufunc'], or ['value']."""
    lines = files(__package__).joinpath("cupy.txt").read_text("utf-8").splitlines()
    return {name: parameters for name, *parameters in (line.split() for line in lines[1:])}


def permitted(name: str, parameters: list[str], args: Any, options: Any) -> None:
    """Raises TypeError for a parameter that CuPy's function has not."""
    unknown = set(options) - set(parameters)
    if unknown and parameters.count("*") < 2 and parameters != ["*"]:
        raise TypeError(f"CuPy's {name} has no parameter {', '.join(sorted(unknown))}")
    if "*" not in parameters and len(args) > len(parameters):
        raise TypeError(f"CuPy's {name} takes {len(parameters)} arguments, and got {len(args)}")
