"""A step of a program as a C++ function.

    STEP add_tanh_0(const float *a0, const float *a1, float *a2)
    {
        EACH(i0, 1600) {
            const float x0 = a0[i0];
            const float x1 = a1[i0];
            const float t0 = x0 + x1;                   // Add
            const float t1 = tanhf(t0);                 // Tanh
            a2[i0] = t1;
        }
    }

Equal steps share one function. A loop over rows calls functions on blocks that stay in the cache.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from ....engine.core.node import Node
from ....engine.ops import LogAddExp
from ....engine.ops.special import Special
from ...compiler.passes.fuse import Fused, is_full_reduction
from ...compiler.program.buffer import Buffer, EinsumStep, ProgramStep, ReduceStep
from ...compiler.program.tiling import TiledLoop
from ..c import CALLS, FUNCTIONS, C, NotWritten, storage_type, words
from .loops import GroupStep, copy, elementwise, group, is_number
from .reduce import contraction, product, reduced_group, reduction

HEAD = Path(__file__).with_name("functions.h").read_text("utf-8")
OWN = set(re.findall(r"#define (\w+)", HEAD))
LIBRARY = {f"{name}{f}" for name in CALLS.values() for f in ("", "f")} - OWN


class CppWriter:
    """Writes C++ functions.

    functions    parameters and body → name
    names        step → the name of its function
    """

    def __init__(self) -> None:
        self.functions: dict[str, str] = {}
        self.names: dict[ProgramStep, str] = {}

    def can(self, step: ProgramStep) -> bool:
        """Whether a step can be written as a function; if so, the function is added."""
        before = len(self.functions)
        try:
            self.names[step] = self.function(step)
        except NotWritten:
            while len(self.functions) > before:
                self.functions.popitem()
            return False
        return True

    def function(self, step: ProgramStep) -> str:
        """The name of the function of a step, which is written if it is new. Raises NotWritten if C cannot do it."""
        does, node = step.does, step.node
        for v in step.operands:
            check(v)
        if node is not None and any(map(may_cancel, node.op.body.nodes if isinstance(node.op, Fused) else [node])):
            raise NotWritten(step.text)
        if step.loop is not None:
            return self.add_function("rows", step, self.rows(step.loop))
        if isinstance(does, GroupStep):
            kinds = [n.op.kind.lower() for n in does.body.nodes if n.inputs]
            title = "_".join(dict.fromkeys(re.sub(r"\W", "", kind) for kind in kinds[:3]))
            write = reduced_group if any(y and is_full_reduction(y) for y in does.body.outputs) else group
            return self.add_function(title, step, write(step, does))
        if isinstance(does, ReduceStep):
            return self.add_function(f"{does.ufunc.__name__}_along", step, reduction(step, does))
        if isinstance(does, EinsumStep):
            return self.add_function("einsum", step, contraction(step, does))
        if does is np.dot:
            return self.add_function("product", step, product(step))
        if does is np.copyto:
            return self.add_function("copy", step, copy(step))
        if isinstance(does, np.ufunc):
            return self.add_function(does.__name__, step, elementwise(step, getattr(C, does.__name__)))
        raise NotWritten(step.text)

    def add_function(self, title: str, step: ProgramStep, body: Iterable[str]) -> str:
        """The name of a function with that body, existing or new."""
        text = f"({', '.join(parameters(step))})\n{{\n" + "".join(f"    {line}\n" for line in body) + "}\n"
        library_of(text)
        return self.functions.setdefault(text, f"{title}_{len(self.functions)}")

    @property
    def text(self) -> str:
        """All functions, after the functions they call."""
        own = "\n".join(f"STEP {name}{text}" for text, name in self.functions.items())
        used = words(own)
        templates = "\n".join(text for name, text in FUNCTIONS.items() if name in used)
        library = "".join(map(declare_function, library_of(own + templates)))
        return f"{library}\n{templates}\n\n{own}"

    def rows(self, loop: TiledLoop) -> Iterable[str]:
        """The lines that run the body of a loop on each block of rows."""
        plan = loop.plan
        if loop.length % loop.rows or loop.terms:
            raise NotWritten("a shorter last block, or partial results of blocks")

        def place(v: Buffer) -> str:
            home = plan.allocations.get(v.root)
            argument = v.root if home is None else home.argument
            if argument is None:
                assert home is not None
                return f"({storage_type(v.shell.dtype)} *)(w + {(home.offset or 0) + v.offset})"
            k = loop.arguments.index(argument)
            step = argument.shell.strides[0] * loop.rows if loop.cut[k] else 0
            moved = f"(const char *)a{k} + k * {step}" if step else f"(const char *)a{k}"
            return f"({storage_type(v.shell.dtype)} *)({moved}{f' + {v.offset}' if v.offset else ''})"

        yield f"for (index k = 0; k < {loop.length // loop.rows}; k++) {{"
        for step in plan.steps:
            if not step.is_view:
                yield f"    {self.call(step, place)}"
        yield "}"

    def call(self, step: ProgramStep, place: Callable[[Buffer], str], memory: str = "") -> str:
        """The line that calls a step's function; a loop also gets workspace."""
        name = self.names.get(step) or self.function(step)
        given = [place(v) for v in step.operands if not is_number(v)]
        return f"{name}({', '.join([*given, *[memory] * (step.loop is not None)])});"


def may_cancel(node: Node) -> bool:
    """Whether an op may subtract nearly equal numbers, so that its digits depend on how these were rounded.

    Near their zeros, ln(eˣ + eʸ), ln |Γ| and ψ match NumPy's digits only if NumPy computes them.
    """
    return isinstance(node.op, LogAddExp) or (isinstance(node.op, Special) and node.spec.dtype.itemsize > 4)


def check(v: Buffer) -> None:
    """Raises NotWritten for an operand of unknown place or shape, without a C type, misaligned, or empty."""
    storage_type(v.shell.dtype)
    if len(v.roots) > 1 or not getattr(v.root.spec, "is_known", True):
        raise NotWritten("an array whose place or shape is known only at run time")
    if any(b % v.shell.itemsize for b in (*v.shell.strides, v.offset)):
        raise NotWritten("an array whose strides are not whole elements")
    if 0 in v.shell.shape:
        raise NotWritten("an empty array")


def parameters(step: ProgramStep) -> list[str]:
    """The parameter list: pointers to the operands, and the workspace of a loop."""
    given = [
        f"{'' if k in step.writes else 'const '}{storage_type(v.shell.dtype)} *a{k}"
        for k, v in enumerate(step.operands)
        if not is_number(v)
    ]
    return [*given, *["char *w"] * (step.loop is not None)]


def library_of(text: str) -> list[str]:
    """The functions of the C library that a text calls. Raises NotWritten on Windows, where they cannot be linked."""
    names = sorted(words(text) & LIBRARY)
    if names and sys.platform == "win32":
        raise NotWritten(f"{names[0]} of the C library")
    return names


def declare_function(name: str) -> str:
    """The declaration of a function of the C library."""
    kind = "double" if name in CALLS.values() else "float"
    number = 2 if name.removesuffix("f") in ("pow", "atan2", "hypot") or name.startswith("fmod") else 1
    return f'extern "C" {kind} {name}({", ".join([kind] * number)});\n'
