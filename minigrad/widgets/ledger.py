"""Live bytes, counted: what an array is for, from when the engine has told of it until it is let go.

The ledger is a watcher of a real run. It holds every array that ops, derivative rules, `.grad` and the optimiser bring
along by a weak reference, and so sees each go. Whose an array is, it reads off the engine's own records: what
a record has saved, what a checkpoint holds, what an optimiser remembers. An array that is two things (a weight that is
kept for backward) is counted once, as the first of CONSUMERS that it is.

A compiled program is one op to a watcher. What happens in it is read off its plan: the workspace is there from the
first call on, and what is handed out is there from the step that writes it.

What an op or a rule makes and drops again inside itself is not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import wraps
from itertools import groupby
from typing import Any
from weakref import WeakSet, ref

import numpy as np

from ..autograd.function_rule import Output, keeper
from ..autograd.graph import Unpacking
from ..base.pytree import leaves
from ..compiler.program.memory_plan import MemoryPlan
from ..compiler.program.program import Program
from ..core.modes import current, watching
from ..core.node import Record
from ..core.op import Op
from ..core.versions import owner
from ..draw.rules import sign_of
from ..graph.compiled import Backward
from ..tensor.tensor import Tensor
from ..utils.checkpoint import Argument, Promise, Segment

CONSUMERS = (
    "parameters",
    "optimizer state",
    "inputs",
    "gradients",
    "saved for backward",
    "other activations",
    "compiler's workspace",
)
GRADIENTS, SAVED, OTHER, WORKSPACE = 3, 4, 5, 6
Live = tuple[int, ...]  # bytes of each of CONSUMERS


@dataclass(frozen=True)
class Entry:
    """What ran, and what was alive then."""

    phase: str
    what: str
    live: Live

    @property
    def total(self) -> int:
        return sum(self.live)


@dataclass(eq=False)
class Ledger:
    """The books of a run.

    model, optimizer, inputs    whose arrays are known from the start
    phase                       what the run is at: whoever runs it says so
    most                        entries; one more raises ValueError
    """

    model: Any
    optimizer: Any
    inputs: list[Tensor]
    most: int
    phase: str = "start"
    entries: list[Entry] = field(default_factory=list)
    arrays: dict[int, ref[Any]] = field(default_factory=dict)
    sent: set[int] = field(default_factory=set)  # ids of arrays that are gradients on their way
    records: WeakSet[Record] = field(default_factory=WeakSet)
    parts: WeakSet[Segment] = field(default_factory=WeakSet)
    programs: dict[Program, int] = field(default_factory=dict)  # program → bytes of its workspace
    called: Any = None  # the record of the compiled call that was told last

    # -- what the engine tells --------------------------------------------------------------------------

    def saw(self, op: Op, y: Tensor, xs: tuple[Tensor, ...]) -> None:
        before = self.live() if self.entries else None
        record = keeper(y) if y.tracked else None
        if isinstance(record, Record):
            self.records.add(record)
        way = way_of(record)
        if way is not None and self.called is not None and self.called() is record:
            return  # another result of the same call
        self.called = ref(record) if way is not None else None
        self.note(x.value for x in (y, *xs))
        words = f"{sign_of(op)} gives {y.spec}, {y.value.nbytes:,} bytes"
        if self.phase == "backward":
            words = f"once more, {words}: a checkpoint runs its part again"
        if way is None:
            self.write(words)
        else:
            results = len(way.split.graph.outputs)
            self.ran(way.run.program, before, lambda i: OTHER if i < results else SAVED)

    def pulled(self, node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
        known = set(self.arrays)
        found = [owner(array) for array in arrays_in([gy, *gxs])]
        self.note(found)
        new = {id(array): array.nbytes for array in found if id(array) not in known}
        way = way_of(node)
        self.sent.update(map(id, found))
        if isinstance(node.op, Output):
            return  # which hands on what arrives
        if way is None:
            sends = (
                f"sends on {sum(new.values()):,} new bytes of gradients" if new else "sends its gradient on as it is"
            )
            freed = self.entries[-1].live[SAVED] - self.live()[SAVED]
            lets = f", and lets go {freed:,} bytes that were kept for it" if freed > 0 else ""
            self.write(f"the derivative of {sign_of(node.op)} {sends}{lets}")
        else:
            program = way.pull(tuple(sorted(gy))).variant((), ()).run.program
            self.ran(program, self.entries[-1].live, lambda i: GRADIENTS)  # what it reads is there until its end

    def ran(self, program: Program, before: Live | None, consumer: Callable[[int], int]) -> None:
        """A program's run, the first time step by step as it was planned.

        consumer    number of an output → whose bytes it is
        """
        is_new = program not in self.programs
        self.programs[program] = program.text.size
        end, before, plan = self.live(), before or (0,) * len(CONSUMERS), program.plan
        working = [(k, step) for k, step in enumerate(plan.steps) if not step.is_view]
        ends = [[*steps][-1] for _, steps in groupby(working, lambda each: each[1].node)]
        for k, step in ends if is_new else ends[-1:]:
            out = handed(plan, k, consumer)
            live = [min(b + out.get(i, 0), max(b, e)) for i, (b, e) in enumerate(zip(before, end))]
            live[WORKSPACE] = end[WORKSPACE]
            used = sum(t.nbytes for t in plan.residents if t.offset is not None and t.first <= k <= (t.last or 0))
            words = f"in the program, {called(step)}: {used:,} of the {plan.size:,} bytes of its workspace are in use"
            self.write(words if is_new else "the same program runs again, in the same workspace", tuple(live))
        self.write("the program is done, and has handed out what it made")

    # -- the books --------------------------------------------------------------------------------------

    def note(self, arrays: Iterable[Any]) -> None:
        """Arrays that are there."""
        for array in map(owner, arrays):
            if id(array) not in self.arrays:
                self.arrays[id(array)] = ref(array, self.forgetting(id(array)))

    def forgetting(self, key: int) -> Callable[[Any], None]:
        """What happens when the array of that id goes."""

        def forget(_: Any) -> None:
            self.arrays.pop(key, None)
            self.sent.discard(key)

        return forget

    def write(self, what: str, live: Live | None = None) -> None:
        """One more entry. Raises ValueError where there are too many."""
        if len(self.entries) >= self.most:
            raise ValueError(
                f"MemoryTimeline shows up to {self.most} moments of a run, and this run has more: steps=1, or a model "
                "of fewer layers"
            )
        self.entries.append(Entry(self.phase, what, self.live() if live is None else live))

    def live(self) -> Live:
        """Bytes alive just now, by consumer."""
        consumer: dict[int, int] = {}
        for i, arrays in reversed(list(enumerate(self.consumers()))):
            arrays = [owner(array) for array in arrays]
            self.note(arrays)
            consumer |= dict.fromkeys(map(id, arrays), i)
        live = [0] * len(CONSUMERS)
        for key, held in list(self.arrays.items()):
            array = held()
            if array is not None:
                other = GRADIENTS if key in self.sent else OTHER
                live[consumer.get(key, other)] += array.nbytes
        live[WORKSPACE] = sum(self.programs.values())
        return tuple(live)

    def consumers(self) -> Iterator[list[Any]]:
        """The arrays of each of the first five of CONSUMERS."""
        parameters = list(self.model.parameters())
        yield [p.value for p in parameters]
        yield list(arrays_in(self.optimizer.state.values()))
        yield [x.value for x in self.inputs]
        yield [p.grad.value for p in parameters if p.grad is not None]
        yield list(self.saved())

    def saved(self) -> Iterator[Any]:
        """What records and checkpoints hold until backward comes by."""
        for record in list(self.records):
            for kept in record.saved or ():
                if isinstance(kept, Promise):
                    self.parts.add(kept.part)
                else:
                    yield from arrays_in([kept])
        for part in list(self.parts):
            arguments = (x for x in leaves(part.arguments) if isinstance(x, Argument) and x.unpack is None)
            yield from (x.held.value for x in arguments)
            yield from (x.value for x, _ in part.arrays.values())

    def hearing(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """f, which is heard also where a checkpoint runs it again."""

        @wraps(f)
        def heard(*args: Any) -> Any:
            if self in current.mode.watchers:
                return f(*args)
            with watching(self):
                return f(*args)

        return heard


def arrays_in(values: Iterable[Any]) -> Iterator[Any]:
    """The arrays among some values, in the tensors and dictionaries of them."""
    for value in values:
        if isinstance(value, dict):
            yield from arrays_in(value.values())
        elif isinstance(value, Tensor):
            yield value.value
        elif isinstance(value, np.ndarray):
            yield value


def way_of(record: Any) -> Any:
    """How a compiled graph was run whose record this is; None of any other."""
    rule = getattr(record, "rule", None)
    rule = rule.rule if isinstance(rule, Unpacking) else rule
    return rule.variant if isinstance(rule, Backward) else None


def handed(plan: MemoryPlan, k: int, consumer: Callable[[int], int]) -> dict[int, int]:
    """Consumer → bytes that are handed out and written by step k."""
    out: dict[int, int] = {}
    for allocation, i in {plan.allocations.get(y.root): i for i, y in enumerate(plan.outputs) if y is not None}.items():
        if allocation is not None and allocation.argument is None and allocation.first <= k:
            out[consumer(i)] = out.get(consumer(i), 0) + allocation.nbytes
    return out


def called(step: Any) -> str:
    """What a step of a program is of."""
    return "a copy" if step.node is None else sign_of(step.node.op)
