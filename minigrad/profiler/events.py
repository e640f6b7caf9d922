"""Turns log entries into events, and finds the parent, module, lines and FLOPs of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, NamedTuple

from ..autograd.function_rule import Output
from ..engine.base.dimension import is_unknown
from ..engine.base.spec import Spec
from ..engine.core.graph import Graph
from ..engine.core.node import Node, Place
from ..engine.core.op import Op
from ..graph.compiler.control import Control
from ..graph.compiler.passes.fuse import Fused

ASIDE = {"memory", "profiler", "transfer"}  # kinds whose time does not count for the event around them


@dataclass(eq=False)
class FunctionEvent:
    """An op, derivative, step of a program, block or change of memory; if `count` is above 1, merged events of one key.

    kind                op, backward, step, program, module, block, memory, collective; transfer, which runs
                        concurrently with all others; or profiler, the profiler's own work
    module              path of the module that called it: GPT.blocks.0.mlp
    stack               the user's lines, innermost first
    input_shapes        shapes of its operands
    flops               scalar operations, a multiply-add being two; None if unknown
    begin, end          times of one clock, in nanoseconds
    birth               serial number of the op's record, negated for the op's derivative; 0 without a record
    ns, self_ns         duration, and duration without the events inside it
    cpu_memory_usage    bytes allocated while it ran, less those freed; self_cpu_memory_usage without events inside it
    """

    name: str
    kind: str
    module: str = ""
    stack: tuple[str, ...] = ()
    input_shapes: list[list[int | None]] = field(default_factory=list)
    flops: int | None = 0
    begin: int = 0
    end: int = 0
    thread: int = 0
    birth: int = 0
    count: int = 1
    ns: int = 0
    self_ns: int = 0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    is_backward: bool = False
    cpu_parent: FunctionEvent | None = None

    key = property(lambda self: self.name)
    cpu_time_total = property(lambda self: self.ns / 1000, doc="Microseconds.")
    self_cpu_time_total = property(lambda self: self.self_ns / 1000, doc="Microseconds without the events inside.")
    cpu_time = property(lambda self: self.ns / 1000 / max(self.count, 1), doc="Microseconds of one event, on average.")

    def __repr__(self) -> str:
        return f"<{self.name}: {self.count} × {self.cpu_time:.3f} us>"

    @property
    def around(self) -> Iterator[FunctionEvent]:
        """The events around it, innermost first."""
        event = self.cpu_parent
        while event is not None:
            yield event
            event = event.cpu_parent


class Detail(NamedTuple):
    """Details of an op, which the profiler records if the user asks for them.

    specs    specs of the result, then of the operands
    stack    the user's lines, innermost first
    rule     graph of the derivative
    added    number of additions that accumulated the derivative's gradients
    """

    specs: tuple[Any, ...]
    stack: tuple[Place, ...] = ()
    rule: Graph | None = None
    added: int = 0


def events_of(entries: Iterable[Any], thread: int) -> list[FunctionEvent]:
    """The events of a thread, each after the event around it. The class EventLog describes the entries."""
    found: list[FunctionEvent] = []
    arrived = 0
    for end, begin, what, detail, birth in zip(*[iter(entries)] * 5, strict=True):
        if isinstance(what, Output):  # an Output passes on the gradients of a compiled call, or a Function
            arrived = birth
        elif begin:  # 0 for an entry that is only another result of the same call
            event = make_event(what, detail, birth)
            event.begin, event.end, event.thread = begin, end, thread
            if birth < 0 and arrived:
                event.birth, arrived = arrived, 0
            found.append(event)
    events = nest_events(found)
    for event in events:
        measure(event)
    locate_events(events)
    return events


# -- from log to event -----------------------------------------------------------------------------------------


def make_event(what: Op | FunctionEvent | int, detail: Detail | None, birth: int) -> FunctionEvent:
    """The event of an entry, still without time and thread."""
    if isinstance(what, int):
        return FunctionEvent("[memory]", "memory", cpu_memory_usage=what)
    if isinstance(what, FunctionEvent):
        return replace(what)
    event = FunctionEvent(event_name(what, birth < 0), "backward" if birth < 0 else "op", birth=birth)
    if detail is not None:
        event.stack, event.input_shapes = tuple(map(str, detail.stack)), shapes_of(detail.specs[1:])
        if birth >= 0:
            event.flops = cost(what, *detail.specs)
        else:
            event.flops = None if detail.rule is None else total((*map(cost_of, detail.rule.nodes), detail.added))
    return event


def step(nodes: Sequence[Node], counted: Iterable[Node], name: str = "") -> FunctionEvent:
    """The event of a program's step, for every run: in the module that its nodes share, at the line of the last node.

    counted    the nodes whose FLOPs no other step counts
    name       the step's name, if it is not the op of a single node
    """
    places = [place for node in nodes if (place := getattr(node, "place", None)) is not None]
    paths = takewhile(lambda names: len({*names}) == 1, zip(*[place.module.split(".") for place in places]))
    return FunctionEvent(
        name or event_name(nodes[-1].op), "step", ".".join(names[0] for names in paths), tuple(map(str, places[-1:])),
        shapes_of(x.spec for x in nodes[0].inputs) if len(nodes) == 1 else [], total(map(cost_of, counted)),
    )  # fmt: skip


def event_name(op: Op, backward: bool = False) -> str:
    """PyTorch's name of an op: matmul, MatMulBackward; cross_entropy, with an underscore between words."""
    if backward or op.kind != type(op).__name__:
        return f"{op.kind}{'Backward' * backward}"
    return str(op) if isinstance(op, Fused) else op.method or re.sub("(?<=[a-z]{3})(?=[A-Z])", "_", op.kind).lower()


def shapes_of(specs: Iterable[Any]) -> list[list[int | None]]:
    """The shapes, with None for a length known only in a run, and [] for an operand of several values."""
    return [[None if is_unknown(n) else n for n in x.shape] if isinstance(x, Spec) else [] for x in specs]


def cost(op: Op, *specs: Any) -> int | None:
    """Scalar operations of an op; None if unknown; 0 for a branch or a loop, as each of its steps is counted."""
    try:
        flops = 0 if isinstance(op, Control) else op.flops(*specs)
    except NotImplementedError:
        return None
    return None if is_unknown(flops) else flops


def cost_of(node: Node) -> int | None:
    """Scalar operations of a node's op; None if unknown, 0 for a leaf."""
    return cost(node.op, node.spec, *(x.spec for x in node.inputs)) if node.inputs else 0


def total(flops: Iterable[int | None]) -> int | None:
    """The sum; None if a term is None."""
    numbers = [*flops]
    return None if None in numbers else sum(numbers)  # type: ignore[arg-type]


# -- nesting, and places --------------------------------------------------------------------------------------


def nest_events(events: list[FunctionEvent]) -> list[FunctionEvent]:
    """Sort events from the order of their ends to that of their starts, and set each event's parent.

    An event that begins after another and ends before it is inside it. If two overlap, the later loses the overlap.
    """
    above: list[FunctionEvent] = []
    order = events[::-1]
    for event in order:
        while above and above[-1].begin > event.begin:
            after = above.pop()
            after.begin = max(after.begin, event.end)
        event.cpu_parent = above[-1] if above else None
        if event.kind != "memory":  # several memory events may share one moment
            above.append(event)
    order.sort(key=lambda event: event.begin)
    return order


def measure(event: FunctionEvent) -> None:
    """Set the event's duration, and subtract it from the self time of the event around it."""
    parent, event.ns = event.cpu_parent, event.end - event.begin
    event.self_ns += event.ns
    if event.kind == "memory":  # memory freed outside all events has its own row
        (parent or event).self_cpu_memory_usage += event.cpu_memory_usage
    if parent is not None:
        parent.self_ns -= event.ns
        if event.kind in ASIDE:
            for each in event.around:
                each.cpu_memory_usage += event.cpu_memory_usage
                each.ns -= event.ns
        elif parent.flops is None:  # unknown: the events inside it count their own FLOPs
            parent.flops = 0


def locate_events(events: Iterable[FunctionEvent]) -> None:
    """Set each event's module and lines: a derivative takes the module and the lines of its forward op."""
    forward = {event.birth: event for event in events if event.birth > 0}
    for event in events:
        parent, origin = event.cpu_parent, forward.get(-event.birth) if event.birth < 0 else None
        event.is_backward = event.kind == "backward" or bool(parent and parent.is_backward)
        if origin is not None:
            event.module, event.stack = origin.module, origin.stack
        elif event.kind == "module":
            event.module, event.name = event.name, f"nn.Module: {event.name}"
        elif parent is not None:
            event.module, event.stack = event.module or parent.module, event.stack or parent.stack
