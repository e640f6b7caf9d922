"""What CuPy has, as lines of text: the contract that the simulated device keeps.

sum a axis dtype out keepdims        a function and its parameters (* stands for any)
.sum axis dtype out keepdims         a method of arrays
add ufunc                            an elementwise function
float32 value                        anything else

python tests/support/cupy_names.py > minigrad/graph/backends/cupy.txt  writes the list anew, CuPy being installed
"""

import inspect
import re
import types

MODULES = ("", "linalg.", "lib.stride_tricks.")


def listing(cupy):
    """The public names of CuPy that an op may use, one line each, in order."""
    lines = [f"{m}{name} {kind(cupy, value)}" for m in MODULES for name, value in members(cupy, m)]
    lines += [f".{name} {kind(cupy, value)}" for name, value in vars_of(cupy.ndarray)]
    return sorted(lines)


def members(cupy, module):
    home = cupy
    for part in module.split(".")[:-1]:
        home = getattr(home, part)
    return [(n, v) for n, v in vars_of(home) if not isinstance(v, types.ModuleType) and n not in ("annotations", "np")]


def vars_of(home):
    return [(name, getattr(home, name)) for name in dir(home) if not name.startswith("_")]


def kind(cupy, value):
    if isinstance(value, cupy.ufunc):
        return "ufunc"
    if not callable(value) or isinstance(value, type):
        return "value"
    try:
        return written(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):  # compiled: the first line of its documentation is its signature
        return documented(value)


def written(parameters):
    return " ".join("*" if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) else p.name for p in parameters if p != "self")


def documented(value):
    line = re.match(r"[\w.]+\((.*?)\)(?: ->.*)?$", (value.__doc__ or "").split("\n")[0])
    if line is None:
        return "*"
    parameters = [p.split("=")[0].split()[-1] for p in line[1].split(",") if p.strip() not in ("self", "")]
    return " ".join("*" if p.startswith("*") else p for p in parameters)


if __name__ == "__main__":
    import cupy

    print(f"# CuPy {cupy.__version__}: written by tests/support/cupy_names.py", *listing(cupy), sep="\n")
