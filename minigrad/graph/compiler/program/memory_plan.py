"""Memory planning: decide once which memory each result uses.

Three rules save memory and cache misses. A result may overwrite an operand that is read for the last time: the two then
share one *allocation*. Allocations that are never alive at the same step may share bytes of the workspace, a block of
memory kept between calls. And outputs are written to their final place: an array made for the caller, or, for a
parameter's next value, the argument itself, after the last read of its old value.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from .buffer import Buffer, ProgramStep, Section, roots_of
from .record import Recorder

ALIGNED = 64  # bytes of a cache line; buffers never share one
LARGE = 1 << 20  # bytes: a larger workspace is packed in both directions


@dataclass(eq=False)
class Allocation:
    """Results that use the same memory one after the other.

    first, last    the steps between which it is in use; last is None if it is returned to the caller
    offset         in the workspace, in bytes; None if it lies elsewhere
    argument       the argument whose array it uses, if any
    """

    nbytes: int
    first: int
    last: int | None
    roots: list[Buffer] = field(default_factory=list)
    offset: int | None = None
    argument: Buffer | None = None


def alike(x: Buffer, y: Buffer) -> bool:
    """Whether both buffers have the same layout and dtype, in roots of the same size."""
    return x.lies_as(y) and x.shell.dtype == y.shell.dtype and x.root.nbytes == y.root.nbytes


@dataclass(eq=False)
class MemoryPlan:
    """Where each buffer lies.

    steps          in the order in which they run
    allocations    root → its allocation
    size           bytes of the workspace
    outputs        the buffers that are returned
    last           root → the last step that uses it
    """

    steps: list[ProgramStep]
    allocations: dict[Buffer, Allocation]
    size: int
    outputs: tuple[Buffer | None, ...]
    last: dict[Buffer, int] = field(default_factory=dict)

    @property
    def peak_bytes(self) -> int:
        """Bytes of the workspace and of the arrays made for the caller."""
        return self.size + sum(t.nbytes for t in self.residents if t.last is None and t.argument is None)

    @property
    def residents(self) -> list[Allocation]:
        """All allocations, without repeats."""
        return list(dict.fromkeys(self.allocations.values()))

    def __repr__(self) -> str:
        rows = [f"{len(self.residents)} buffers for {len(self.allocations)} results, {self.size:,} bytes of workspace"]
        for t in self.residents:
            where = "an argument's own" if t.argument else "handed out" if t.last is None else f"at {t.offset}"
            end = "the end" if t.last is None else t.last
            rows.append(f"  {t.nbytes:>12,} bytes, steps {t.first} to {end}: {where}")
        return "\n".join(rows)


def plan(section: Section, into: Mapping[int, int]) -> MemoryPlan:
    """The plan of a section.

    into    index of an output → index of the argument whose array it overwrites
    """
    steps, outputs, wanted = resolve_outputs(section, into)
    wanted = {r: x for r, x in wanted.items() if (r.shell.shape, r.shell.dtype) == (x.shell.shape, x.shell.dtype)}
    final = {i: section.arguments[a] for i, a in into.items() if outputs[i] is not section.arguments[a]}
    steps = delay_parameter_writes(steps, wanted)
    first, last = first_writes(steps), {r: k for k, s in enumerate(steps) for r in s.memory_roots}
    leaving = {r for i, y in enumerate(outputs) if y is not None and i not in into for r in y.roots}
    wanted = {r: x for r, x in wanted.items() if r not in leaving and may_adopt(steps, r, x, first, last)}
    for i, x in final.items():
        y = outputs[i]
        assert y is not None
        if wanted.get(y.root) is not x:
            steps.append(copying(y, x))
            last[y.root] = len(steps) - 1
    allocations = assign_allocations(steps, wanted, leaving, first, last)
    size = assign_offsets(t for t in dict.fromkeys(allocations.values()) if t.last is not None)
    returned = tuple(section.arguments[into[i]] if i in into else y for i, y in enumerate(outputs))
    return MemoryPlan(steps, allocations, size, returned, last)


# -- outputs --------------------------------------------------------------------------------------------


def resolve_outputs(
    section: Section, into: Mapping[int, int]
) -> tuple[list[ProgramStep], list[Buffer | None], dict[Buffer, Buffer]]:
    """The steps, with copies of outputs that cannot be returned as such; the outputs; buffer → argument to reuse."""
    steps, outputs = list(section.steps), list(section.outputs)
    targets = {section.arguments[a] for a in into.values()}
    wanted: dict[Buffer, Buffer] = {}
    for i, y in enumerate(outputs):
        if y is None:
            continue
        own = section.arguments[into[i]] if i in into else None
        old = any(r in targets for r in y.roots) and y is not own
        if old or y.root.kind == "constant":
            out = Recorder().new(y.shell.shape, y.shell.dtype)
            at = 1 + max((k for k, s in enumerate(steps) if s.result is y), default=-1)
            steps.insert(at, copying(y, out))
            outputs[i] = y = out
        if own is not None and y is y.root and y.kind == "planned" and y.shell.flags.c_contiguous:
            wanted.setdefault(y, own)
    for i, y in enumerate(outputs):
        if y is not None and i not in into and any(r in wanted for r in y.roots):
            out = Recorder().new(y.shell.shape, y.shell.dtype)
            steps.append(copying(y, out))
            outputs[i] = out
    return steps, outputs, wanted


def copying(x: Buffer, out: Buffer) -> ProgramStep:
    """out[...] = x"""
    return ProgramStep("copyto({1}, {0})", (x, out), (1,), scope={"copyto": np.copyto}, does=np.copyto)


def delay_parameter_writes(steps: list[ProgramStep], wanted: Mapping[Buffer, Buffer]) -> list[ProgramStep]:
    """Move each step that writes a parameter's next value behind the last read of its old value, if possible."""
    place: dict[ProgramStep, tuple[int, ...]] = {step: (k,) for k, step in enumerate(steps)}
    writing, reading = users(steps, "write_operands"), users([s for s in steps if not s.is_view], "read_operands")
    for n, (root, x) in enumerate(wanted.items()):
        if len(writing[root]) == 1 and x in reading:
            (moved,), behind = writing[root], max(reading[x], key=place.__getitem__)
            touched, made = roots_of(moved.operands), roots_of(moved.write_operands)
            others = [*(s for r in touched for s in writing.get(r, ())), *(s for r in made for s in reading.get(r, ()))]
            start, end = place[moved], place[behind]
            if start < end and not any(start < place[s] <= end for s in others):
                place[moved] = (*end, -n)  # of several steps moved behind one, the last comes first
    return sorted(steps, key=place.__getitem__)


def users(steps: Iterable[ProgramStep], how: str) -> dict[Buffer, list[ProgramStep]]:
    """Root → the steps that read it (how="read_operands") or write it (how="write_operands")."""
    found: dict[Buffer, list[ProgramStep]] = {}
    for step in steps:
        for root in roots_of(getattr(step, how)):
            found.setdefault(root, []).append(step)
    return found


# -- lifetimes --------------------------------------------------------------------------------------------


def first_writes(steps: Iterable[ProgramStep]) -> dict[Buffer, int]:
    """Root → the first step that writes it."""
    first: dict[Buffer, int] = {}
    for k, s in enumerate(steps):
        for v in s.write_operands:
            first.setdefault(v.root, k)
    return first


def may_adopt(
    steps: list[ProgramStep], root: Buffer, x: Buffer, first: Mapping[Buffer, int], last: Mapping[Buffer, int]
) -> bool:
    """Whether `root` may overwrite the argument x: x is last read before it, or element by element in that step."""
    k = first[root]
    return last.get(x, -1) < k or (last[x] == k and lies_over(steps[k], root, x))


def lies_over(step: ProgramStep, root: Buffer, x: Buffer) -> bool:
    """Whether the step may write `root` into the memory of x: if it reads x, then only the element it is writing."""
    written = [i for i in step.writes if step.operands[i].root is root]
    read = [i for i, v in enumerate(step.operands) if i not in step.writes and x in v.roots]
    if len(written) != 1:
        return False
    out = step.operands[written[0]]
    return all(step.may_lie_over(written[0], i) and step.operands[i].lies_as(out) for i in read)


def assign_allocations(
    steps: list[ProgramStep], wanted: Mapping[Buffer, Buffer], leaving: set[Buffer],
    first: Mapping[Buffer, int], last: Mapping[Buffer, int],
) -> dict[Buffer, Allocation]:  # fmt: skip
    """Root → its allocation: inherited from an operand last read by the step that first writes the root, or new."""
    allocations: dict[Buffer, Allocation] = {}
    for k, step in enumerate(steps):
        for out in step.write_operands:
            root = out.root
            if root.kind != "planned" or root in allocations:
                continue
            argument = wanted.get(root)
            end = None if root in leaving or argument is not None else last[root]
            allocation = inherit_allocation(step, k, out, allocations, argument, end, last)
            if allocation is None:
                allocations[root] = Allocation(root.nbytes, k, end, [root], argument=argument)
            else:
                allocations[root] = allocation
                allocation.roots.append(root)
                allocation.last, allocation.argument = end, argument
    return allocations


def inherit_allocation(
    step: ProgramStep, k: int, out: Buffer, allocations: Mapping[Buffer, Allocation],
    argument: Buffer | None, end: int | None, last: Mapping[Buffer, int],
) -> Allocation | None:  # fmt: skip
    """The allocation that `out`, a result of step k, inherits from an operand last read there; None if none fits."""
    if argument is not None and last.get(argument) == k:
        return None  # the argument itself is overwritten
    for x in step.read_operands:
        allocation = allocations.get(x.root)
        if allocation is None or allocation.last != k or last[x.root] != k or not alike(x, out) or out.root is x.root:
            continue
        if end is None and not all(alike(root, out.root) for root in allocation.roots):
            continue
        if argument is not None and allocation.first <= last.get(argument, -1):
            continue
        if lies_over(step, out.root, x.root):
            return allocation
    return None


# -- offsets ------------------------------------------------------------------------------------------------


def assign_offsets(allocations: Iterable[Allocation]) -> int:
    """Give each allocation an offset, so that those alive at the same step never overlap. Returns the total size.

    A large plan is also packed from the last step to the first, because packing from the first
    leaves gaps where arrays grow from step to step.
    """
    every = list(allocations)
    spans = [(t.first, t.last, t.nbytes) for t in every if t.last is not None]
    size, offsets = pack(spans)
    if size > LARGE:
        size, offsets = min((size, offsets), pack([(-last, -first, nbytes) for first, last, nbytes in spans]))
    for allocation, offset in zip(every, offsets, strict=True):
        allocation.offset = offset
    return size


def pack(spans: Sequence[tuple[int, int, int]]) -> tuple[int, list[int]]:
    """The total size, and an offset for each (first step, last step, bytes).

    Arrays are placed in the order of their first steps, each into the smallest gap that is large enough.
    """
    gaps = Gaps()
    leaving: list[tuple[int, int, int]] = []  # a heap: (last step, offset, size)
    size, offsets = 0, [0] * len(spans)
    for i, (first, last, nbytes) in sorted(enumerate(spans), key=lambda pair: pair[1][0]):
        while leaving and leaving[0][0] < first:
            gaps.release(*heappop(leaving)[1:])
        need = -(-max(nbytes, 1) // ALIGNED) * ALIGNED
        start, length = gaps.smallest(need) or gaps.before(size)
        if length:
            gaps.remove(start, length)
        if length > need:
            gaps.add(start + need, length - need)
        size, offsets[i] = max(size, start + need), start
        heappush(leaving, (last, start, need))
    return size, offsets


class Gaps:
    """The free gaps between allocations. Adjacent gaps are merged.

    by_offset    (offset, size), in order
    by_size      (size, offset), in order
    """

    def __init__(self) -> None:
        self.by_offset: list[tuple[int, int]] = []
        self.by_size: list[tuple[int, int]] = []

    def add(self, offset: int, size: int) -> None:
        insort(self.by_offset, (offset, size))
        insort(self.by_size, (size, offset))

    def remove(self, offset: int, size: int) -> None:
        del self.by_offset[bisect_left(self.by_offset, (offset, size))]
        del self.by_size[bisect_left(self.by_size, (size, offset))]

    def smallest(self, need: int) -> tuple[int, int] | None:
        """The smallest gap of at least `need` bytes, the first of equal gaps; None if there is none."""
        i = bisect_left(self.by_size, (need, 0))
        return self.by_size[i][::-1] if i < len(self.by_size) else None

    def before(self, end: int) -> tuple[int, int]:
        """The gap that ends at `end`; if there is none, an empty gap there."""
        return self.by_offset[-1] if self.by_offset and sum(self.by_offset[-1]) == end else (end, 0)

    def release(self, offset: int, size: int) -> None:
        """Free a range, and merge it with adjacent gaps."""
        i = bisect_left(self.by_offset, (offset, 0))
        for gap in self.by_offset[max(i - 1, 0) : i + 1]:
            if sum(gap) == offset or offset + size == gap[0]:
                self.remove(*gap)
                offset, size = min(offset, gap[0]), size + gap[1]
        self.add(offset, size)
