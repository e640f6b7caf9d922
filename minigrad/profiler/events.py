"""What was noted, as events: who lies in whom, in which module, at which line, with how many operations."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import takewhile
from operator import attrgetter
from typing import Any

from ..autograd.function_rule import Output
from ..base.dimension import is_unknown
from ..base.spec import Spec
from ..compiler.control import flops as flops_of
from ..compiler.passes.fuse import Fused
from ..core.op import Op
from .log import Block, Detail, Log
from .programs import Line


@dataclass(eq=False)
class FunctionEvent:
    """One op, derivative, step of a program, or block; or, where `count` is above 1, all those of one key.

    kind                op, backward, step, program, module or block
    begin, end          in nanoseconds of one clock
    ns, self_ns         how long; and without what lies inside
    module              the path of the module that it was called in: GPT.blocks.0.mlp
    stack               lines of the user's, the innermost first
    input_shapes        of its operands
    flops               scalar operations, a multiply-add being two; None where nobody says how many
    cpu_memory_usage    bytes that came while it ran, less those that went; self_cpu_memory_usage without what is inside
    """

    name: str
    kind: str
    begin: int
    end: int
    thread: int
    module: str = ""
    stack: tuple[str, ...] = ()
    input_shapes: list[list[int | None]] = field(default_factory=list)
    flops: int | None = 0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    birth: int = 0
    cpu_parent: FunctionEvent | None = None
    cpu_children: list[FunctionEvent] = field(default_factory=list)
    count: int = 1
    ns: int = 0
    self_ns: int = 0
    is_backward: bool = False

    key = property(lambda self: self.name)
    cpu_time_total = property(lambda self: self.ns / 1000, doc="Microseconds.")
    self_cpu_time_total = property(lambda self: self.self_ns / 1000, doc="Microseconds without what lies inside.")
    cpu_time = property(lambda self: self.ns / 1000 / self.count, doc="Microseconds of one, on average.")

    def __repr__(self) -> str:
        return f"<{self.name}: {self.count} × {self.cpu_time:.3f} us>"


def events_of(log: Log, shapes: bool, flops: bool) -> list[FunctionEvent]:
    """The events of a thread, each after the one that it lies in; with shapes of operands, and operations, if asked."""
    roots: list[FunctionEvent] = []
    arrived = 0
    entries = iter(log.entries)
    for end, begin, what, detail, birth in zip(entries, entries, entries, entries, entries):
        if isinstance(what, Output):  # hands on what arrives at a compiled call, or a Function
            arrived = birth
        elif begin:  # else it is told of and did not run: another result of the same call
            event = made(log.native, end, begin, what, detail, birth)
            event.input_shapes, event.flops = event.input_shapes if shapes else [], event.flops if flops else 0
            if birth < 0 and arrived:
                event.birth, arrived = arrived, 0
            adopt(roots, event)
    events = [*preorder(roots)]
    for event in events:
        event.ns = event.end - event.begin
        if event.cpu_children and event.flops is None:  # what is inside says how many
            event.flops = 0
        event.self_ns = event.ns - sum(child.end - child.begin for child in event.cpu_children)
    place(events)
    for when, nbytes in log.memory:
        charge(roots, when, nbytes)
    return events


def made(thread: int, end: int, begin: int, what: Any, detail: Detail | None, birth: int) -> FunctionEvent:
    """An entry of a log as an event."""
    if isinstance(what, Block):
        return FunctionEvent(what.name, what.kind, begin, end, thread)
    if isinstance(what, Line):
        return of_line(FunctionEvent(what.name or called(what.nodes[-1].op), "step", begin, end, thread), what)
    backward = birth < 0
    event = FunctionEvent(called(what, backward), "backward" if backward else "op", begin, end, thread, birth=birth)
    if detail is not None:
        event.stack, event.input_shapes = detail.stack, shapes_of(detail.operands)
        event.flops = cost(what, detail, backward)
    return event


def of_line(event: FunctionEvent, line: Line) -> FunctionEvent:
    """The step of a program: in the module that all its nodes are in, at the line of the last."""
    places = [place for node in line.nodes if (place := getattr(node, "place", None)) is not None]
    if places:
        paths = [place.module.split(".") for place in places]
        event.module = ".".join(names[0] for names in takewhile(lambda names: len({*names}) == 1, zip(*paths)))
        event.stack = (str(places[-1]),)
    if len(line.nodes) == 1:
        event.input_shapes = shapes_of(x.spec for x in line.nodes[0].inputs)
    costs = [cost(n.op, Detail(n.spec, tuple(x.spec for x in n.inputs), ()), False) for n in line.counted]
    event.flops = None if None in costs else sum(costs)  # type: ignore[arg-type]
    return event


def shapes_of(specs: Iterable[Any]) -> list[list[int | None]]:
    """The shapes, None for a length that only a run can tell; of an operand that is several, of none."""
    return [[None if is_unknown(n) else n for n in x.shape] if isinstance(x, Spec) else [] for x in specs]


def called(op: Op, backward: bool = False) -> str:
    """matmul, and MatMulBackward."""
    if backward:
        return f"{op.kind}Backward"
    if isinstance(op, Fused):
        return str(op)
    return op.method or (op.kind.lower() if op.kind == type(op).__name__ else op.kind)


def cost(op: Op, detail: Detail, backward: bool) -> int | None:
    """How many scalar operations it is; None where nobody says."""
    try:
        if backward:
            return None if detail.rule is None else flops_of(detail.rule)
        found = op.flops(detail.spec, *detail.operands)
        return None if is_unknown(found) else found
    except (NotImplementedError, AttributeError):
        return None


# -- who lies in whom --------------------------------------------------------------------------------------


def adopt(done: list[FunctionEvent], event: FunctionEvent) -> None:
    """One more event, which ends last: what began after it began lies in it; what only ended after that goes before."""
    inside = []
    while done and done[-1].begin >= event.begin:
        inside.append(done.pop())
    event.begin = max(event.begin, done[-1].end) if done else event.begin
    event.cpu_children = inside[::-1]
    for child in inside:
        child.cpu_parent = event
    done.append(event)


def preorder(roots: Iterable[FunctionEvent]) -> Iterator[FunctionEvent]:
    """Each event, then those in it."""
    stack = [*reversed([*roots])]
    while stack:
        event = stack.pop()
        yield event
        stack += reversed(event.cpu_children)


def place(events: list[FunctionEvent]) -> None:
    """Each event to its module and line: a derivative's are those of the op that it is the derivative of."""
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


def charge(events: list[FunctionEvent], when: int, nbytes: int) -> None:
    """Bytes that came, or went, to the events that ran at that moment."""
    innermost = None
    while events:
        i = bisect_left(events, when, key=attrgetter("begin")) - 1
        if i < 0 or events[i].end < when:
            break
        innermost = events[i]
        innermost.cpu_memory_usage += nbytes
        events = innermost.cpu_children
    if innermost is not None:
        innermost.self_cpu_memory_usage += nbytes


# -- those of one key ----------------------------------------------------------------------------------------


def averages(events: Iterable[FunctionEvent], shapes: bool, stack: int, module: bool) -> list[FunctionEvent]:
    """One for all events of a name; and, where it is asked for, of one module, lines and shapes.

    In the total of a name an event inside another of it counts once.
    """
    found: dict[Any, FunctionEvent] = {}
    for event in events:
        key = group(event, shapes, stack, module)
        total = found.get(key)
        nested = any(group(above, shapes, stack, module) == key for above in ancestors(event))
        if total is None:
            found[key] = replace(
                event,
                cpu_parent=None,
                cpu_children=[],
                module=event.module if module else "",
                stack=event.stack[:stack],
                input_shapes=event.input_shapes if shapes else [],
            )
            continue
        total.count += 1
        total.self_ns += event.self_ns
        total.self_cpu_memory_usage += event.self_cpu_memory_usage
        total.flops = None if total.flops is None or event.flops is None else total.flops + event.flops
        if not nested:
            total.ns += event.ns
            total.cpu_memory_usage += event.cpu_memory_usage
    return [*found.values()]


def group(event: FunctionEvent, shapes: bool, stack: int, module: bool) -> Any:
    """What is alike of events that are taken together."""
    return (
        event.name,
        event.module if module else None,
        event.stack[:stack],
        str(event.input_shapes) if shapes else None,
    )


def ancestors(event: FunctionEvent) -> Iterator[FunctionEvent]:
    """Those that it lies in, from the inside."""
    above = event.cpu_parent
    while above is not None:
        yield above
        above = above.cpu_parent
