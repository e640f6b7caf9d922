"""C++ loops over the axes of a step, and their bodies.

An operand is a pointer to its first element; shapes and strides are numbers in the text. Axes that are contiguous with
each other in all operands become one loop. The innermost loop is vectorised (`EACH`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ....engine.core.graph import Graph
from ....engine.core.node import Node
from ...compiler.program.buffer import Buffer, ProgramStep
from ..c import Expr, NotWritten, cast, emit_load, emit_store, literal, register_type

Axis = tuple[int, list[int]]  # the axis's length, and each operand's step along it, in elements


def is_number(v: Buffer) -> bool:
    """Whether an operand is a number, which is written into the text."""
    return v.kind == "constant" and not v.shell.ndim


def axes_of(shape: Sequence[int], operands: Sequence[Buffer]) -> list[Axis]:
    """The axes of a loop over that shape, in the order of the last operand's memory, outermost first."""
    strides = [axis_steps(v, shape) for v in operands]
    order = sorted(range(len(shape)), key=lambda a: -abs(strides[-1][a]))
    return merge_axes([(shape[a], [s[a] for s in strides]) for a in order])


def merge_axes(axes: Iterable[Axis]) -> list[Axis]:
    """The axes, with those that are contiguous with each other in all operands merged."""
    found: list[Axis] = []
    for n, steps in axes:
        if found and all(outer == inner * n for outer, inner in zip(found[-1][1], steps)):
            found[-1] = (found[-1][0] * n, steps)
        elif n > 1:
            found.append((n, steps))
    return found


def axis_steps(v: Buffer, shape: Sequence[int]) -> list[int]:
    """The strides of an operand, in elements, along the axes of a loop that it broadcasts to."""
    own = [0 if n == 1 else s // v.shell.itemsize for n, s in zip(v.shell.shape, v.shell.strides)]
    return [0] * (len(shape) - len(own)) + own


def element(k: int, axes: Sequence[Axis]) -> str:
    """The C expression of the current element of operand k in loops over the axes."""
    terms = [f"i{d}" if steps[k] == 1 else f"i{d} * {steps[k]}" for d, (_, steps) in enumerate(axes) if steps[k]]
    return f"a{k}[{' + '.join(terms) or '0'}]"


def read(k: int, v: Buffer, axes: Sequence[Axis]) -> Expr:
    """The C expression of the current element of operand k; a literal if the operand is a number."""
    if is_number(v):
        return literal(v.array.item(), v.shell.dtype)
    return Expr(emit_load(element(k, axes), v.shell.dtype), v.shell.dtype)


def indent_code(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def emit_simd_loops(axes: Sequence[Axis], lines: Iterable[str], first: int = 0) -> Iterable[str]:
    """Nested loops over the axes, numbered from `first`; the innermost one is vectorised."""
    if not axes:
        return ["{", *indent_code(lines), "}"]
    (n, _), *rest = axes
    if not rest:
        return [f"EACH(i{first}, {n}) {{", *indent_code(lines), "}"]
    return [
        f"for (index i{first} = 0; i{first} < {n}; i{first}++)",
        *indent_code(emit_simd_loops(rest, lines, first + 1)),
    ]


def elementwise(step: ProgramStep, value: Callable[..., Expr]) -> Iterable[str]:
    """The lines of y = f(xs), elementwise."""
    *xs, y = step.operands
    axes = axes_of(y.shell.shape, step.operands)
    given = [read(k, x, axes) for k, x in enumerate(xs)]
    return emit_simd_loops(axes, [f"{element(len(xs), axes)} = {emit_store(cast(value(*given), y.shell.dtype))};"])


def copy(step: ProgramStep) -> Iterable[str]:
    """The lines of y = x, only where the mask, if any, is true. Raises NotWritten for a cast from float to integer."""
    x, *mask, y = step.operands
    if x.shell.dtype.kind == "f" and y.shell.dtype.kind in "iu":
        raise NotWritten(step.text)
    if not mask:
        return elementwise(step, lambda x: x)
    axes = axes_of(y.shell.shape, step.operands)
    given, into = emit_store(cast(read(0, x, axes), y.shell.dtype)), element(2, axes)
    return emit_simd_loops(axes, [f"{into} = {read(1, mask[0], axes)} ? {given} : {into};"])


class GroupStep(NamedTuple):
    """The operation of a step that computes a group of elementwise ops; some outputs may be full reductions.

    lines     the lines that compute one element of each node
    values    node → the expression of its element
    """

    body: Graph
    lines: list[str]
    values: dict[Node, Expr]


def group(step: ProgramStep, does: GroupStep) -> Iterable[str]:
    """The lines of a group without reductions: for each element, compute and store all results."""
    outputs = [y for y in does.body.outputs if y is not None]
    ys = list(enumerate(step.operands))[len(does.body.inputs) :]
    axes = axes_of(ys[0][1].shell.shape, step.operands)
    stores = [f"{element(k, axes)} = {emit_store(does.values[y])};" for (k, _), y in zip(ys, outputs)]
    return emit_simd_loops(axes, [*emit_group_body(step, does, axes), *stores])


def emit_group_body(step: ProgramStep, does: GroupStep, axes: Sequence[Axis]) -> list[str]:
    """The lines that load the operands of a group and compute its nodes."""
    xs = list(enumerate(step.operands))[: len(does.body.inputs)]
    return [*(f"const {register_type(x.shell.dtype)} x{k} = {read(k, x, axes)};" for k, x in xs), *does.lines]
