"""What was noted, as events: who lies in whom, in which module, at which line, with how many operations."""

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

ASIDE = {"memory", "profiler", "transfer"}  # what is no part of the time of what it lies in


@dataclass(eq=False)
class FunctionEvent:
    """One op, derivative, step of a program, block or change of memory; where `count` is above 1, all of one key.

    kind                op, backward, step, program, module, block, memory; collective, and transfer, which goes on
                        beside all others from its start to its end; or profiler: what it does for itself
    module              the path of the module that it was called in: GPT.blocks.0.mlp
    stack               lines of the user's, the innermost first
    input_shapes        of its operands
    flops               scalar operations, a multiply-add being two; None where nobody says how many
    begin, end          in nanoseconds of one clock
    birth               of the record that an op left; negative of its derivative's; 0 for none
    ns, self_ns         how long; and without what lies inside
    cpu_memory_usage    bytes that came while it ran, less those that went; self_cpu_memory_usage without what is inside
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
    self_cpu_time_total = property(lambda self: self.self_ns / 1000, doc="Microseconds without what lies inside.")
    cpu_time = property(lambda self: self.ns / 1000 / max(self.count, 1), doc="Microseconds of one, on average.")

    def __repr__(self) -> str:
        return f"<{self.name}: {self.count} × {self.cpu_time:.3f} us>"

    @property
    def around(self) -> Iterator[FunctionEvent]:
        """Those that it lies in, from the inside."""
        event = self.cpu_parent
        while event is not None:
            yield event
            event = event.cpu_parent


class Detail(NamedTuple):
    """What is noted of an op where it is asked for.

    specs    of the result, and of the operands
    stack    the user's lines, the innermost first
    rule     of a derivative, what was computed, as a graph
    added    of a derivative, how many additions its gradients took where they met others
    """

    specs: tuple[Any, ...]
    stack: tuple[Place, ...] = ()
    rule: Graph | None = None
    added: int = 0


def events_of(entries: Iterable[Any], thread: int) -> list[FunctionEvent]:
    """The events of a thread, each after the one that it lies in. See Log for what the entries are."""
    found: list[FunctionEvent] = []
    arrived = 0
    for end, begin, what, detail, birth in zip(*[iter(entries)] * 5, strict=True):
        if isinstance(what, Output):  # hands on what arrives at a compiled call, or a Function
            arrived = birth
        elif begin:  # else it is told of and did not run: another result of the same call
            event = made(what, detail, birth)
            event.begin, event.end, event.thread = begin, end, thread
            if birth < 0 and arrived:
                event.birth, arrived = arrived, 0
            found.append(event)
    events = nested(found)
    for event in events:
        measure(event)
    place(events)
    return events


# -- what it is ------------------------------------------------------------------------------------------------


def made(what: Op | FunctionEvent | int, detail: Detail | None, birth: int) -> FunctionEvent:
    """What was noted as an event, when and where left open."""
    if isinstance(what, int):
        return FunctionEvent("[memory]", "memory", cpu_memory_usage=what)
    if isinstance(what, FunctionEvent):
        return replace(what)
    event = FunctionEvent(called(what, birth < 0), "backward" if birth < 0 else "op", birth=birth)
    if detail is not None:
        event.stack, event.input_shapes = tuple(map(str, detail.stack)), shapes_of(detail.specs[1:])
        if birth >= 0:
            event.flops = cost(what, *detail.specs)
        else:
            event.flops = None if detail.rule is None else total((*map(cost_of, detail.rule.nodes), detail.added))
    return event


def step(nodes: Sequence[Node], counted: Iterable[Node], name: str = "") -> FunctionEvent:
    """A step of a program, as it is each time: in the module that all its nodes are in, at the line of the last.

    counted    those of the nodes whose operations no other step counts
    name       what it is called, if it is not one node's op
    """
    places = [place for node in nodes if (place := getattr(node, "place", None)) is not None]
    paths = takewhile(lambda names: len({*names}) == 1, zip(*[place.module.split(".") for place in places]))
    return FunctionEvent(
        name or called(nodes[-1].op),
        "step",
        ".".join(names[0] for names in paths),
        tuple(map(str, places[-1:])),
        shapes_of(x.spec for x in nodes[0].inputs) if len(nodes) == 1 else [],
        total(map(cost_of, counted)),
    )


def called(op: Op, backward: bool = False) -> str:
    """matmul, and MatMulBackward; cross_entropy: divided behind words, as PyTorch does, and not behind syllables."""
    if backward or op.kind != type(op).__name__:
        return op.kind + "Backward" * backward
    return str(op) if isinstance(op, Fused) else op.method or re.sub("(?<=[a-z]{3})(?=[A-Z])", "_", op.kind).lower()


def shapes_of(specs: Iterable[Any]) -> list[list[int | None]]:
    """The shapes, None for a length that only a run can tell; of an operand that is several, of none."""
    return [[None if is_unknown(n) else n for n in x.shape] if isinstance(x, Spec) else [] for x in specs]


def cost(op: Op, *specs: Any) -> int | None:
    """How many scalar operations it is; None where nobody says, none of a branch or a loop: its steps have them."""
    try:
        flops = 0 if isinstance(op, Control) else op.flops(*specs)
    except NotImplementedError:
        return None
    return None if is_unknown(flops) else flops


def cost_of(node: Node) -> int | None:
    """The same of a node; none of a leaf."""
    return cost(node.op, node.spec, *(x.spec for x in node.inputs)) if node.inputs else 0


def total(flops: Iterable[int | None]) -> int | None:
    """The sum; None where one of them is."""
    numbers = [*flops]
    return None if None in numbers else sum(numbers)  # type: ignore[arg-type]


# -- who lies in whom, and where -------------------------------------------------------------------------------


def nested(events: list[FunctionEvent]) -> list[FunctionEvent]:
    """Events in the order of their ends as events in that of their beginnings, which know what they lie in.

    What began after another began, and was told of before it, lies in it; what only ended after it goes before.
    """
    above: list[FunctionEvent] = []
    order = events[::-1]
    for event in order:
        while above and above[-1].begin > event.begin:
            after = above.pop()
            after.begin = max(after.begin, event.end)
        event.cpu_parent = above[-1] if above else None
        if event.kind != "memory":  # several come at one moment, side by side
            above.append(event)
    order.sort(key=lambda event: event.begin)
    return order


def measure(event: FunctionEvent) -> None:
    """How long it was; the one that it lies in has so much less for itself."""
    parent, event.ns = event.cpu_parent, event.end - event.begin
    event.self_ns += event.ns
    if event.kind == "memory":  # what goes where nothing runs has a row of its own
        (parent or event).self_cpu_memory_usage += event.cpu_memory_usage
    if parent is not None:
        parent.self_ns -= event.ns
        if event.kind in ASIDE:
            for each in event.around:
                each.cpu_memory_usage += event.cpu_memory_usage
                each.ns -= event.ns
        elif parent.flops is None:  # what is inside says how many
            parent.flops = 0


def place(events: Iterable[FunctionEvent]) -> None:
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


# -- those of one key ------------------------------------------------------------------------------------------


def averages(events: Iterable[FunctionEvent], shapes: bool, stack: int, module: bool) -> list[FunctionEvent]:
    """One for all events of a name; and, where it is asked for, of one module, lines and shapes.

    In its totals what lies in another of them counts once.
    """

    def key(event: FunctionEvent) -> tuple[Any, ...]:
        operands = tuple(map(tuple, event.input_shapes)) if shapes else ()
        return event.name, event.module if module else "", event.stack[:stack], operands

    found: dict[tuple[Any, ...], FunctionEvent] = {}
    for event in events:
        if (of := key(event)) not in found:
            name, where, lines, operands = of
            found[of] = FunctionEvent(name, event.kind, where, lines, [*map(list, operands)], count=0)
        one = found[of]
        one.count += event.count
        one.self_ns += event.self_ns
        one.self_cpu_memory_usage += event.self_cpu_memory_usage
        one.flops = total((one.flops, event.flops))
        if of not in map(key, event.around):
            one.ns += event.ns
            one.cpu_memory_usage += event.cpu_memory_usage
    return [*found.values()]
