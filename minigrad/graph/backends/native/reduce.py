"""Reductions in C++: sums and maxima, products of small matrices, einsums.

Numbers are accumulated in parallel lanes, piece by piece, so that a long sum is a sum of short sums. It is as exact as
NumPy's. The text fixes the order of additions, so the result does not depend on how the compiler vectorises.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf, prod
from typing import Any

import numpy as np

from ...compiler.passes.fuse import is_full_reduction, loop_shape
from ...compiler.program.buffer import Buffer, EinsumStep, ProgramStep, ReduceStep, Shape
from ..c import Expr, NotWritten, cast, emit_store, literal, register_type, storage_type
from ..group import Reducer, reducer
from .loops import Axis, GroupStep, axes_of, element, emit_group_body, indent_code, merge_axes, read

LANES = 16
HALVES = [LANES >> k for k in range(1, LANES.bit_length() - 1)]  # 8, 4, 2: the last two lanes are added to the total
PIECE = 1 << 10  # elements per piece
NARROW = 64  # most columns of a product kept in registers
SMALL_PRODUCT = 1 << 18  # multiplications: beyond this NumPy's BLAS is faster

Named = Callable[[str], str]
STARTS = {np.add: 0, np.maximum: -inf, np.minimum: inf}  # no multiply: lanes may overflow where a product does not


def emit_accumulation(
    outer: Sequence[Axis], inner: Sequence[Axis], numbers: Mapping[str, Reducer],
    each: Callable[[Named], Iterable[str]], end: Iterable[str],
) -> list[str]:  # fmt: skip
    """Loops over the outer axes; at each point, numbers are accumulated over the inner axes.

    numbers    name → its Reducer; the variable total_name holds the result
    each       makes the lines that add one element to the variables; its argument maps name → C variable
    end        the lines afterwards, which use the totals
    """
    begin = [f"{of_total(r)} total_{name} = {literal(r.start, r.dtype)};" for name, r in numbers.items()]
    *around, (n, _) = inner or [(1, [])]
    d = len(outer) + len(around)
    if n <= PIECE:
        lines = in_lanes(f"i{d}", n, n % LANES, numbers, each)
    else:
        pieces, rest = divmod(n, PIECE)
        bound = f"const index n = i{d} < {pieces} ? {PIECE} : {rest};"
        lines = in_lanes(f"i{d + 1}", "n" if rest else PIECE, rest % LANES, numbers, each)
        lines = emit_loops([(pieces + (rest > 0), [])], [*[bound] * (rest > 0), *lines], d)
    return emit_loops(outer, [*begin, *emit_loops(around, lines, len(outer)), *end])


def emit_loops(axes: Sequence[Axis], lines: Iterable[str], first: int = 0) -> list[str]:
    """Nested loops over axes."""
    lines = list(lines)
    for d in reversed(range(len(axes))):
        i = f"i{first + d}"
        lines = [f"for (index {i} = 0; {i} < {axes[d][0]}; {i}++) {{", *indent_code(lines), "}"]
    return lines


def in_pieces(axes: Sequence[Axis]) -> list[Axis]:
    """The axes as `emit_accumulation` loops over them: a long last axis is split into pieces of PIECE."""
    if not axes or axes[-1][0] <= PIECE:
        return [*axes]
    *around, (n, steps) = axes
    return [*around, (-(-n // PIECE), [s * PIECE for s in steps]), (PIECE, steps)]


def in_lanes(
    i: str, n: int | str, rest: int, numbers: Mapping[str, Reducer], each: Callable[[Named], Iterable[str]]
) -> list[str]:
    """A loop over n elements in lanes, which are combined pairwise into the totals; then the rest of the elements.

    n       a number, or a variable in the text
    rest    n modulo LANES
    """
    evenly = n if not rest else f"n - n % {LANES}" if isinstance(n, str) else n - rest
    lines: list[str] = []
    if evenly:
        lines += [f"{register_type(r.dtype)} {name}[{LANES}];" for name, r in numbers.items()]
        lines += [f"EACH(j, {LANES}) {name}[j] = {literal(r.start, r.dtype)};" for name, r in numbers.items()]
        lines += [f"for (index i = 0; i < {evenly}; i += {LANES})", f"    EACH(j, {LANES}) {{"]
        body = indent_code(indent_code(each(lambda name: f"{name}[j]")))
        lines += [f"        const index {i} = i + j;", *body, "    }"]
        for name, r in numbers.items():
            lines += [f"EACH(j, {half}) {emit_join(r, f'{name}[j]', f'{name}[j + {half}]')}" for half in HALVES]
            lines.append(emit_join(r, f"total_{name}", r.both(*(Expr(f"{name}[{j}]", r.dtype) for j in (0, 1)))))
    if rest:
        lines.append(f"for (index {i} = {evenly}; {i} < {n}; {i}++) {{")
        lines += [*indent_code(each(lambda name: f"total_{name}")), "}"]
    return lines


def of_total(r: Reducer) -> str:
    """The C type of a total: sums of single precision are accumulated in double, piece by piece."""
    return "double" if r.ufunc == "add" and r.dtype.kind == "f" else register_type(r.dtype)


def emit_join(r: Reducer, total: str, x: Any) -> str:
    """The line that combines a number with a total."""
    x = x if isinstance(x, Expr) else Expr(x, r.dtype)
    return f"{total} = {r.both(Expr(total, r.dtype), cast(x, r.dtype)).bare};"


# -- groups -------------------------------------------------------------------------------------------------


def reduced_group(step: ProgramStep, does: GroupStep) -> list[str]:
    """The lines of a group with full reductions: one number for all elements, or one per row."""
    body, values = does.body, does.values
    outputs = [y for y in body.outputs if y is not None]
    results = dict(zip(range(len(body.inputs), len(step.operands)), outputs, strict=True))
    numbers = {k: reducer(y) for k, y in results.items() if is_full_reduction(y)}
    first = step.operands[min(numbers)].shell.shape[:1]  # the rows of one block, fewer than the loop has
    outer, inner = group_axes(first, loop_shape(outputs[0])[len(first) :], step.operands, numbers)
    axes = [*outer, *in_pieces(inner)]
    lines = emit_group_body(step, does, axes)
    stores = [f"{element(k, axes)} = {emit_store(values[y])};" for k, y in results.items() if k not in numbers]

    def each(named: Named) -> list[str]:
        joins = [emit_join(r, named(f"r{k}"), values[results[k].inputs[0]]) for k, r in numbers.items()]
        return [*lines, *stores, *joins]

    end = []
    for k, r in numbers.items():
        total, dtype = Expr(f"total_r{k}", r.dtype), results[k].spec.dtype
        total = cast(total, dtype) if first else r.finish_total(total, dtype)
        end.append(f"a{k}[{'i0' if outer else '0'}] = {emit_store(total)};")
    return emit_accumulation(outer, inner, {f"r{k}": r for k, r in numbers.items()}, each, end)


def group_axes(first: Shape, rest: Shape, operands: Sequence[Buffer], numbers: Collection[int]) -> list[list[Axis]]:
    """The outer axes, of shape `first`, and the inner axes of a group; `numbers` are indices of its reductions."""
    whole = [k for k in range(len(operands)) if k not in numbers]
    spans = [operands[k] for k in whole]
    rest = rest or max((v.shell.shape[len(first) :] for v in spans), key=len)
    ndim = len(first) + len(rest)
    outer = axes_of(first, [leading_slice(v, ndim) for v in spans])
    inner = axes_of(rest, [Buffer(v.shell[0], "argument") if first and v.shell.ndim == ndim else v for v in spans])
    return [[(n, spread(steps, whole)) for n, steps in axes] for axes in (outer, inner)]


def leading_slice(v: Buffer, ndim: int) -> Buffer:
    """An operand along the first of `ndim` axes: a vector, or a number if it broadcasts."""
    along: tuple[Any, ...] = (slice(None), *[0] * (ndim - 1))
    return Buffer(v.shell[along] if v.shell.ndim == ndim else np.empty((), v.shell.dtype), "argument")


def spread(steps: Sequence[int], whole: Sequence[int]) -> list[int]:
    """Strides of the operands in `whole`, as a list for all operands; the others get 0."""
    found = [0] * (max(whole, default=0) + 1)
    for k, step in zip(whole, steps):
        found[k] = step
    return found


# -- sums along axes ------------------------------------------------------------------------------------------


def reduction(step: ProgramStep, does: ReduceStep) -> list[str]:
    """The lines that reduce by a ufunc along axes."""
    x, y = step.operands
    if does.ufunc not in STARTS or x.shell.dtype != y.shell.dtype or x.shell.dtype.kind != "f":
        raise NotWritten(step.text)
    left = [a for a in range(x.shell.ndim) if a not in does.axes]
    keepdims = y.shell.ndim == x.shell.ndim
    out = y.shell if not keepdims else y.shell[tuple(slice(None) if a in left else 0 for a in range(x.shell.ndim))]
    results = {a: s // y.shell.itemsize for a, s in zip(left, out.strides)}
    r = Reducer(does.ufunc.__name__, y.shell.dtype, STARTS[does.ufunc], None)
    steps = [s // x.shell.itemsize for s in x.shell.strides]
    axes = [(n, [steps[a], results.get(a, 0)]) for a, n in enumerate(x.shell.shape)]
    return reduce_products([axes[a] for a in left], [axes[a] for a in does.axes], step.operands, r)


def contraction(step: ProgramStep, does: EinsumStep) -> list[str]:
    """The lines of an einsum. Raises NotWritten if it is large and multiplies more than operands have elements."""
    left, _, right = does.subscripts.partition("->")
    letters = [*left.split(","), right]
    shells = [v.shell for v in step.operands]
    lengths = {c: n for said, x in zip(letters, shells) for c, n in zip(said, x.shape)}
    work = prod(lengths.values())
    if len({x.dtype for x in shells}) > 1 or shells[0].dtype not in (np.float32, np.float64):
        raise NotWritten(step.text)
    if len(lengths) == len(right) or work > max(SMALL_PRODUCT, *(x.size for x in shells)):
        raise NotWritten("NumPy has a faster einsum")

    def axis(c: str) -> Axis:
        strides = [x.strides[said.index(c)] // x.itemsize if c in said else 0 for x, said in zip(shells, letters)]
        return lengths[c], strides

    gone = [c for c in lengths if c not in right]
    sums = Reducer("add", shells[-1].dtype, 0, None)
    return reduce_products([*map(axis, right)], [*map(axis, gone)], step.operands, sums)


def reduce_products(left: list[Axis], gone: list[Axis], operands: Sequence[Buffer], r: Reducer) -> list[str]:
    """The lines of y = the product of the xs, reduced along the axes in `gone`.

    If these axes are innermost in memory, results are computed one by one; otherwise rows are added to rows of y.
    """
    *xs, y = operands
    left, gone = (merge_axes(sorted(axes, key=lambda axis: -max(map(abs, axis[1])))) for axes in (left, gone))

    def value(axes: Sequence[Axis]) -> Expr:
        return Expr(" * ".join(str(read(k, x, axes)) for k, x in enumerate(xs)), r.dtype)

    if not left or (gone and min(map(step_of, gone)) <= min(map(step_of, left))):
        x = value([*left, *in_pieces(gone)])
        end = f"{element(len(xs), left)} = {emit_store(Expr('total_r', r.dtype))};"
        return emit_accumulation(left, gone, {"r": r}, lambda named: [emit_join(r, named("r"), x)], [end])
    *before, row = left
    axes = [*before, *gone, row]
    out, i = element(len(xs), axes), f"i{len(axes) - 1}"
    clear = f"EACH({i}, {row[0]}) {out} = {emit_store(literal(r.start, r.dtype))};"
    add = f"EACH({i}, {row[0]}) {out} = {emit_store(r.both(read(len(xs), y, axes), value(axes)))};"
    return emit_loops(before, [clear, *emit_loops(gone, [add], len(before))])


def step_of(axis: Axis) -> int:
    """The smallest stride along an axis."""
    return min((abs(s) for s in axis[1] if s), default=1)


# -- products -----------------------------------------------------------------------------------------------


def product(step: ProgramStep) -> list[str]:
    """The lines of a product of two small matrices. They keep a few rows of the result at a time in registers."""
    x, y, z = (v.shell for v in step.operands)
    if (x.ndim, y.ndim) != (2, 2) or z.dtype not in (np.float32, np.float64) or not x.dtype == y.dtype == z.dtype:
        raise NotWritten(step.text)
    (m, k), n = x.shape, y.shape[1]
    if m * k * n > SMALL_PRODUCT or k > PIECE:
        raise NotWritten("NumPy's BLAS is faster or more exact")
    (xi, xl), (yl, yj), (zi, zj) = ([s // v.itemsize for s in v.strides] for v in (x, y, z))
    if n == 1 or n > NARROW or (xl == yl == 1 and k >= NARROW):
        return contraction(step, EinsumStep("il,lj->ij"))
    high = next(rows for rows in (4, 3, 2, 1) if m % rows == 0)
    rows, kind = range(high), storage_type(z.dtype)
    adds = " ".join(f"r{p}[j] = multiply_add(x{p}, y, r{p}[j]);" for p in rows)
    stores = " ".join(f"a2[(i + {p}) * {zi} + j * {zj}] = r{p}[j];" for p in rows)
    return [
        f"for (index i = 0; i < {m}; i += {high}) {{",
        f"    {kind} {', '.join(f'r{p}[{n}] = {{0}}' for p in rows)};",
        f"    for (index l = 0; l < {k}; l++) {{",
        f"        const {kind} {', '.join(f'x{p} = a0[(i + {p}) * {xi} + l * {xl}]' for p in rows)};",
        f"        EACH(j, {n}) {{ const {kind} y = a1[l * {yl} + j * {yj}]; {adds} }}",
        "    }",
        f"    EACH(j, {n}) {{ {stores} }}",
        "}",
    ]
