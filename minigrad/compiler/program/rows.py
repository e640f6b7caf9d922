"""Steps over rows: what treats each row of large arrays by itself is done on a block of rows at a time.

A softmax finds each row's largest element, subtracts it, takes the exponential, adds up, divides: five steps, and
each would read and write all of memory. But a row's result needs that row only. So steps that follow one another and
write arrays of as many rows become the body of one loop; what only they use is as large as a block, and stays in the
cache. The arithmetic is the same, to the last bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from .buffer import Buffer, Section, Step, shell
from .lower import BLOCK
from .memory_plan import plan
from .tiling import TiledLoop


def in_rows(section: Section) -> Section:
    """The section, its runs of steps over rows as loops."""
    uses = uses_of(section.steps)
    kept = {r for y in section.outputs if y is not None for r in y.roots}
    steps: list[Step] = []
    run = RowRun()
    for step in section.steps:
        if not (run.takes(step) or run.passes(step)):
            steps += run.finished(uses, kept)
            run = RowRun()
            if not run.takes(step):
                steps.append(step)
    steps += run.finished(uses, kept)
    return Section(section.arguments, seen(steps, section.outputs), section.outputs)


def seen(steps: list[Step], outputs: Iterable[Buffer | None]) -> list[Step]:
    """The steps, but for the views that nobody uses any more."""
    used: set[Buffer | None] = set(outputs)
    kept: list[Step] = []
    for step in reversed(steps):
        if not step.is_view or step.result in used:
            kept.append(step)
            used.update(step.operands)
    return kept[::-1]


def uses_of(steps: Iterable[Step]) -> Counter[Buffer]:
    """How often each memory is used."""
    return Counter(root for step in steps for root in roots_used(step))


def roots_used(step: Step) -> list[Buffer]:
    """The memories that a step reads or writes; a view only looks at one."""
    return [] if step.is_view else [r for v in step.operands for r in v.roots]


@dataclass
class RowRun:
    """Steps that may be one loop.

    views    the views among them, which come first
    after    steps among them that cannot be in the loop, and may as well come after it
    rows     how many rows everything has
    byrow    root → whether each of its rows was only read and written by steps of that row
    """

    steps: list[Step] = field(default_factory=list)
    views: list[Step] = field(default_factory=list)
    after: list[Step] = field(default_factory=list)
    rows: int = 0
    byrow: dict[Buffer, bool] = field(default_factory=dict)
    written: set[Buffer] = field(default_factory=set)

    def takes(self, step: Step) -> bool:
        """Whether the step can be one of them; if so, it is."""
        if step.leads is None or step.loop is not None or len(step.writes) != 1 or not self.fits(step):
            return False
        (out,) = step.written
        rows = out.shell.shape[0]
        byrow: dict[Buffer, bool] = {}
        for v, leads in zip(step.operands, step.leads, strict=True):
            for root in v.roots:
                byrow[root] = byrow.get(root, self.byrow.get(root, True)) and leads and is_by_row(v, rows)
        if any(not fine for root, fine in byrow.items() if root in self.written or root is out.root):
            return False
        if self.after and conflict(step, self.after):
            return False
        self.steps.append(step)
        self.rows = rows
        self.byrow |= byrow
        self.written.add(out.root)
        return True

    def fits(self, step: Step) -> bool:
        """Whether the step is over as many rows; the first one over enough of them, none of them too long."""
        (out,) = step.written
        rows = out.shell.shape[0]
        if self.steps:
            return bool(rows == self.rows)
        size = max(v.shell.size for v in leading_operands(step))
        return bool(rows > 1 and size > BLOCK >= size // rows)

    def passes(self, step: Step) -> bool:
        """Whether the step may be left for later, or is a view, which is no work; if so, it is."""
        if step.is_view and not any(r.kind == "made" for r in step.operands[0].roots):
            self.views.append(step)
            return True
        if not self.steps or len(self.after) == MOST_AFTER:
            return False
        self.after.append(step)
        return True

    def finished(self, uses: Mapping[Buffer, int], kept: set[Buffer]) -> list[Step]:
        """The steps, as a loop if that is worth while."""
        width = max((v.shell.size // self.rows for s in self.steps for v in leading_operands(s)), default=0)
        loop = [looped(self, max(1, BLOCK // width), uses, kept)] if len(self.steps) > 1 else self.steps
        return [*self.views, *loop, *self.after]


MOST_AFTER = 64  # steps that a run may pass by


def conflict(step: Step, others: Iterable[Step]) -> bool:
    """Whether the step may not come before the others: one of them writes what it uses, or uses what it writes."""
    touched = set(roots_used(step))
    written = {r for v in step.written for r in v.roots}
    made = set(step.operands)
    return any(
        other.result in made
        or not made.isdisjoint(other.results)
        or any(r in touched for v in other.written for r in v.roots)
        or any(r in written for r in roots_used(other))
        for other in others
    )


def leading_operands(step: Step) -> list[Buffer]:
    """The operands that have rows."""
    assert step.leads is not None
    return [v for v, leads in zip(step.operands, step.leads) if leads]


def is_by_row(v: Buffer, rows: int) -> bool:
    """Whether row i of v lies within the i-th part of its memory."""
    root = v.root
    pitch, rest = divmod(root.nbytes, rows)
    if rest or len(v.roots) > 1 or root.kind not in ("planned", "argument") or v.shell.shape[0] != rows:
        return False
    inner = [s * (n - 1) for s, n in zip(v.shell.strides[1:], v.shell.shape[1:])]
    inside = min(inner, default=0) >= 0 and 0 <= v.offset <= pitch - sum(inner) - v.shell.itemsize
    return bool(v.shell.strides[0] == pitch and inside)


def looped(run: RowRun, rows: int, uses: Mapping[Buffer, int], kept: set[Buffer]) -> Step:
    """The run as one step."""
    blocks = Blocks(rows, own(run, rows, uses, kept))
    body = [
        Step(s.text, tuple(map(blocks.of, s.operands, s.leads or ())), s.writes, None, s.scope, s.over, s.quiet, s.node)
        for s in run.steps
    ]
    arguments, cut = tuple(blocks.arguments.values()), tuple(leads for _, leads in blocks.arguments)
    written = {v for s in body for v in s.written}
    writes = tuple(i for i, v in enumerate(arguments) if v in written)
    loop = TiledLoop(plan(Section(arguments, body, ()), {}), arguments, run.rows, rows, cut, ())
    return loop.step(tuple(v for v, _ in blocks.arguments), writes, writes, run.steps[-1].node)


def own(run: RowRun, rows: int, uses: Mapping[Buffer, int], kept: set[Buffer]) -> dict[Buffer, Buffer]:
    """Root → a buffer of so many rows in its place, for what only steps of the run use."""
    return {
        r: Buffer(shell((rows * (r.nbytes // run.rows),), np.dtype(np.uint8)), "planned")
        for r, n in uses_of(run.steps).items()
        if r.kind == "planned" and n == uses[r] and r not in kept and run.byrow[r]
    }


@dataclass
class Blocks:
    """What stands for values in the body of a loop.

    rows         of a block
    own          root → the buffer in its place, which is as large as a block
    arguments    (value, whether it has rows) → its block
    views        into the buffers
    """

    rows: int
    own: dict[Buffer, Buffer]
    arguments: dict[tuple[Buffer, bool], Buffer] = field(default_factory=dict)
    views: dict[Buffer, Buffer] = field(default_factory=dict)

    def of(self, v: Buffer, leads: bool) -> Buffer:
        if v.kind == "constant" and not leads:
            return v
        shape = (self.rows, *v.shell.shape[1:]) if leads else v.shell.shape
        part = shell(shape, v.shell.dtype, v.shell.strides)
        if v.root in self.own:
            return self.views.setdefault(v, Buffer(part, "view", (self.own[v.root],), v.offset))
        return self.arguments.setdefault((v, leads), Buffer(part, "argument"))
