"""A fused group as one CUDA C kernel: each thread computes one element of the loop, then the next of its share.

    extern "C" __global__ void fused_add_tanh_5c0ffee5(
        const float* __restrict__ a0,               // f32[64, 128]
        const float* __restrict__ a1,               // f32[128]
        float* __restrict__ y0)                     // f32[64, 128]
    {
        for (unsigned int i = blockIdx.x * 256u + threadIdx.x; i < 8192u; i += gridDim.x * 256u) {
            const float x0 = a0[i];
            const float x1 = a1[i % 128u];
            const float t0 = x0 + x1;               // Add
            const float t1 = tanhf(t0);             // Tanh
            y0[i] = t1;
        }
    }

Each operand is read once into a register, and temporaries never go to memory. Shapes are numbers in the text, so the
compiler turns divisions of an index into products. Operands that broadcast, or have another memory order, are indexed
by their strides.

A full reduction takes two passes, in an order that depends only on the shape: each thread adds its elements, the
threads of a block add their sums pairwise, and one block adds the blocks' sums. There are no atomics, so every run
gives the same sum.

The tests compile the text for real GPUs and execute it on the CPU (tests/support/shim.py). It has not run on a GPU yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2s
from math import prod
from typing import Any

from ....engine.base.spec import Spec
from ....engine.core.node import Node
from ....engine.ops import BroadcastTo
from ...compiler.passes.fuse import Fused, is_full_reduction, loop_shape
from ..c import FUNCTIONS, Expr, cast, emit_load, emit_store, literal, register_type, storage_type, words
from ..group import Reducer, reducer, statements

CUDA = {  # more definitions for the text; a conversion to or from half precision is one instruction
    "INFINITY": "#ifndef INFINITY\n#define INFINITY __int_as_float(0x7f800000)\n#endif",
    "NAN": "#ifndef NAN\n#define NAN __int_as_float(0x7fffffff)\n#endif",
    "from_half": """\
__device__ inline float from_half(unsigned short bits)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}""",
    "to_half": """\
__device__ inline unsigned short to_half(float x)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
__device__ inline unsigned short to_half(double x)
{
    unsigned short bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
    return bits;
}""",
}


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of an array whose last axis is dense."""
    return tuple(prod(shape[a + 1 :]) for a in range(len(shape)))


def place(loop: tuple[int, ...], shape: tuple[int, ...], strides: tuple[int, ...], suffix: str) -> str:
    """The C expression of the index at which element i of the loop reads an operand that broadcasts to the loop.

    Axes that are contiguous with each other in memory are merged.
    """
    missing = len(loop) - len(shape)
    runs: list[list[int]] = []  # innermost first: length, stride, loop elements per step
    for axis in reversed(range(len(loop))):
        broadcast = axis < missing or shape[axis - missing] == 1
        stride = 0 if broadcast else strides[axis - missing]
        if loop[axis] == 1:
            continue
        if runs and stride == runs[-1][0] * runs[-1][1]:
            runs[-1][0] *= loop[axis]
        else:
            runs.append([loop[axis], stride, prod(loop[axis + 1 :])])
    terms = []
    for length, stride, inner in runs:
        if stride:
            step = f"i / {inner}{suffix}" if inner > 1 else "i"
            step = f"{step} % {length}{suffix}" if inner * length < prod(loop) else step
            terms.append(step if stride == 1 else f"{f'({step})' if ' ' in step else step} * {stride}{suffix}")
    return " + ".join(reversed(terms)).replace("+ -", "- ") or "0"


def reach(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """The largest absolute index in an array of this shape and these strides."""
    return sum((n - 1) * abs(s) for n, s in zip(shape, strides) if n)


def tree(j: int, r: Reducer, block: int, end: str) -> Iterator[str]:
    """The lines that combine the numbers of a block's threads pairwise, until thread 0 has the result."""
    mine, other = (Expr(f"s{j}[threadIdx.x{at}]", r.dtype) for at in ("", " + half"))
    yield f"    __shared__ {register_type(r.dtype)} s{j}[{block}];"
    yield f"    s{j}[threadIdx.x] = r{j};"
    yield f"    for (unsigned int half = {block // 2}u; half > 0u; half /= 2u) {{"
    yield "        __syncthreads();"
    yield f"        if (threadIdx.x < half) {mine} = {r.both(mine, other).bare};"
    yield "    }"
    yield f"    if (threadIdx.x == 0u) {end};"


BLOCK = 256  # threads per block
MOST_BLOCKS = 1024  # fills the largest GPU (132 to 160 multiprocessors × 8 blocks); fixed, so that sums are the same


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel.

    name         the function in the text
    grid         number of blocks
    arguments    names of its arrays: a0 … operands, y0 … results, p0 … partial results of the blocks
    """

    name: str
    grid: int
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Kernel:
    """The text of a group, and how to run it.

    launches    one; two if it reduces over more than one block; none if there are no elements
    reduced     indices of the results that are full reductions
    partials    for each result in `reduced`, the spec of the partial results that the first pass stores for the second
    """

    name: str
    text: str
    launches: tuple[Launch, ...]
    results: tuple[Spec, ...]
    reduced: tuple[int, ...]
    partials: tuple[Spec, ...]

    def arrays_by_name(
        self, operands: Sequence[Any], results: Sequence[Any], partials: Sequence[Any]
    ) -> dict[str, Any]:
        """Name of an array in the launches → the array."""
        return (
            {f"a{k}": a for k, a in enumerate(operands)}
            | {f"y{j}": y for j, y in enumerate(results)}
            | {f"p{j}": p for j, p in zip(self.reduced, partials)}
        )

    def __str__(self) -> str:
        return self.text


def kernel(
    fused: Fused,
    specs: Sequence[Spec],
    strides: Sequence[tuple[int, ...]] | None = None,
    over: frozenset[tuple[int, int]] = frozenset(),
) -> Kernel:
    """The kernel of a group on operands of these specs.

    strides    of each operand, in elements; None if all are contiguous
    over       pairs (result, operand) where the result overwrites the operand, element by element

    Raises NotWritten if an op of the group has no C expression.
    """
    strides = [contiguous(s.shape) for s in specs] if strides is None else strides
    return Writer(fused, tuple(specs), tuple(strides), over).kernel()


# -- the text -----------------------------------------------------------------------------------------------


class Writer:
    """Writes the text of one kernel."""

    def __init__(
        self, fused: Fused, specs: tuple[Spec, ...],
        strides: tuple[tuple[int, ...], ...], over: frozenset[tuple[int, int]],
    ):  # fmt: skip
        self.body = fused.body
        self.specs, self.strides, self.over = specs, strides, over
        self.outputs = [y for y in fused.body.outputs if y is not None]
        self.loop = loop_shape(self.outputs[0])
        self.size = prod(self.loop)
        self.reducers = {j: reducer(y) for j, y in enumerate(self.outputs) if is_full_reduction(y)}
        self.grid = max(min(-(-self.size // BLOCK), MOST_BLOCKS), 1 if self.reducers else 0)
        far = max([self.size + BLOCK * MOST_BLOCKS, *(reach(s.shape, t) for s, t in zip(specs, strides))])
        signed = far >= 2**31 or any(step < 0 for t in strides for step in t)
        self.index, self.suffix = ("long long", "ll") if signed else ("unsigned int", "u")

    def kernel(self) -> Kernel:
        first, second = "\n".join(self.first_pass()), "\n".join(self.second_pass())
        body = "\n\n".join(filter(None, (first, second)))
        used = words(body)
        needed = [text for word, text in (CUDA | FUNCTIONS).items() if word in used]
        name = f"fused_{self.title}_{blake2s(body.encode(), digest_size=4).hexdigest()}"
        text = "\n\n".join([*needed, body]).replace("NAME", name) + "\n"
        specs = tuple(y.spec for y in self.outputs)
        left = [Spec((self.grid,), r.dtype) for r in self.reducers.values()] if self.two_passes else []
        return Kernel(name, text, self.launches(name), specs, tuple(self.reducers), tuple(left))

    def launches(self, name: str) -> tuple[Launch, ...]:
        """One launch for each pass; none if there are no elements."""
        operands, results = [f"a{k}" for k in range(len(self.specs))], [f"y{j}" for j in range(len(self.outputs))]
        if not self.two_passes:
            return (Launch(name, self.grid, (*operands, *results)),) if self.grid else ()
        first_results = [f"p{j}" if j in self.reducers else y for j, y in enumerate(results)]
        second = tuple(argument for j in self.reducers for argument in (f"p{j}", f"y{j}"))
        return Launch(name, self.grid, (*operands, *first_results)), Launch(f"{name}_second", 1, second)

    @property
    def two_passes(self) -> bool:
        return bool(self.reducers) and self.grid > 1

    @property
    def title(self) -> str:
        """A few op names, to identify the kernel in a profiler."""
        kinds = [n.op.kind.lower() for n in self.body.nodes if n.inputs and not isinstance(n.op, BroadcastTo)]
        return "_".join(dict.fromkeys(kinds[:4] + kinds[-1:]))

    # -- the loop over elements ---------------------------------------------------------------------

    def first_pass(self) -> Iterator[str]:
        yield 'extern "C" __global__ void NAME('
        yield from self.parameters()
        yield "{"
        for j, r in self.reducers.items():
            yield f"    {register_type(r.dtype)} r{j} = {literal(r.start, r.dtype)};"
        start, step = f"blockIdx.x * {BLOCK}{self.suffix} + threadIdx.x", f"gridDim.x * {BLOCK}{self.suffix}"
        yield f"    for ({self.index} i = {start}; i < {self.size}{self.suffix}; i += {step}) {{"
        values: dict[Node, Expr] = {}
        for k, x in enumerate(self.body.inputs):
            values[x] = Expr(f"x{k}", x.spec.dtype)
            at = place(self.loop, x.spec.shape, self.strides[k], self.suffix)
            yield f"        const {register_type(x.spec.dtype)} x{k} = {emit_load(f'a{k}[{at}]', x.spec.dtype)};"
        yield from (f"        {line}" for line in statements(self.body, values))
        for j, y in enumerate(self.outputs):
            if j in self.reducers:
                r = self.reducers[j]
                yield f"        r{j} = {r.both(Expr(f'r{j}', r.dtype), cast(values[y.inputs[0]], r.dtype)).bare};"
            else:
                yield f"        y{j}[i] = {emit_store(values[y])};"
        yield "    }"
        for j, r in self.reducers.items():
            total = r.finish_total(Expr(f"s{j}[0]", r.dtype), self.outputs[j].spec.dtype)
            store = f"p{j}[blockIdx.x] = s{j}[0]" if self.two_passes else f"y{j}[0] = {emit_store(total)}"
            yield from tree(j, r, BLOCK, store)
        yield "}"

    def parameters(self) -> Iterator[str]:
        """The parameter list, one line per array."""
        written_over = {k for _, k in self.over}
        lines = []
        for k, spec in enumerate(self.specs):
            alone = "" if k in written_over else " __restrict__"
            lines.append((f"const {storage_type(spec.dtype)}*{alone} a{k}", str(spec)))
        for j, y in enumerate(self.outputs):
            alone = "" if any(j == result for result, _ in self.over) else " __restrict__"
            if j in self.reducers and self.two_passes:
                partial = f"{storage_type(self.reducers[j].dtype)}*{alone} p{j}"
                lines.append((partial, f"one for each of {self.grid} blocks"))
            else:
                lines.append((f"{storage_type(y.spec.dtype)}*{alone} y{j}", str(y.spec)))
        for n, (declared, note) in enumerate(lines):
            end = ")" if n == len(lines) - 1 else ","
            yield f"    {declared + end:<48}// {note}"

    # -- the second pass ---------------------------------------------------------------------------------

    def second_pass(self) -> Iterator[str]:
        if not self.two_passes:
            return
        types = {j: (storage_type(r.dtype), storage_type(self.outputs[j].spec.dtype)) for j, r in self.reducers.items()}
        pairs = [f"    const {p}* __restrict__ p{j}, {y}* __restrict__ y{j}" for j, (p, y) in types.items()]
        yield 'extern "C" __global__ void NAME_second('
        yield ",\n".join(pairs) + ")"
        yield "{"
        for j, r in self.reducers.items():
            yield f"    {register_type(r.dtype)} r{j} = {literal(r.start, r.dtype)};"
        yield f"    for (unsigned int i = threadIdx.x; i < {self.grid}u; i += {BLOCK}u) {{"
        for j, r in self.reducers.items():
            partial = Expr(emit_load(f"p{j}[i]", r.dtype), r.dtype)
            yield f"        r{j} = {r.both(Expr(f'r{j}', r.dtype), partial).bare};"
        yield "    }"
        for j, r in self.reducers.items():
            total = r.finish_total(Expr(f"s{j}[0]", r.dtype), self.outputs[j].spec.dtype)
            yield from tree(j, r, BLOCK, f"y{j}[0] = {emit_store(total)}")
        yield "}"
