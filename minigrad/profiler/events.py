"""Turns log entries into events, finds the parent, module, lines and FLOPs of each, and shows them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib.resources import files
from itertools import takewhile
from typing import Any, NamedTuple

from ..autograd.function_rule import Output
from ..draw.svg import STYLE, text
from ..draw.words import shorten
from ..engine.base.dimension import is_unknown
from ..engine.base.spec import Spec
from ..engine.base.table import Table
from ..engine.core.graph import Graph
from ..engine.core.node import Node, Place
from ..engine.core.op import Op
from ..graph.compiler.control import Control
from ..graph.compiler.passes.fuse import Fused

ASIDE = {"memory", "profiler", "transfer"}  # kinds whose time does not count for the event around them
SORTS = "cpu_time cpu_time_total self_cpu_time_total count flops cpu_memory_usage self_cpu_memory_usage".split()  # noqa: SIM905
NAME = 55  # most characters of a name, as in PyTorch
WORDS, EMPTY = {"Module", "Input Shapes", "Source Location"}, {"", "--", "0 B"}
NEEDS = {  # field to group events by → the option of key_averages, and the profiler's option that records it
    "input_shapes": ("group_by_input_shape", "record_shapes"),
    "stack": ("group_by_stack_n", "with_stack"),
    "module": ("group_by_module", "with_modules"),
}
WIDTH, ROW = 860, 20  # pixels
LEAST = 1.0  # pixels: narrower frames appear only in the table
LOOKS = (files(__package__) / "icicle.css").read_text("utf-8")


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


# -- merging events --------------------------------------------------------------------------------------------


def averages(events: Iterable[FunctionEvent], shapes: bool, stack: int, module: bool) -> list[FunctionEvent]:
    """Merge events of the same name; on request, only if modules, lines or shapes are equal too.

    Totals leave out an event that is inside another event of the same key.
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


# -- as a table -------------------------------------------------------------------------------------------------


class EventList(list[FunctionEvent]):
    """Events, or merged events of the same key. It prints as a table."""

    def __init__(self, events: Iterable[FunctionEvent] = (), wall: int = 0):
        """wall    nanoseconds for which the profiler was open"""
        super().__init__(events)
        self.wall = wall

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events together, each counted once."""
        return sum(event.self_ns for event in self) / 1000

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_module: bool = False
    ) -> EventList:
        """Merge events of the same name; on request, only if shapes, innermost user lines or modules are equal too.

        Raises ValueError if shapes, lines or modules were not recorded.
        """
        asked = group_by_input_shape, group_by_stack_n, group_by_module
        for by, (what, (parameter, option)) in zip(asked, NEEDS.items()):
            if by and not any(getattr(event, what) for event in self):
                raise ValueError(f"{parameter} needs data that was not recorded: open the profiler with {option}=True")
        listed = (event for event in self if event.kind not in ASIDE or event.self_cpu_memory_usage)
        return EventList(averages(listed, *asked), self.wall)

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_name_column_width: int = NAME) -> str:
        """The table as text, sorted by `sort_by`, largest first; without `sort_by`, in order of occurrence.

        row_limit    number of rows; -1 for all
        """
        return str(self.to_table(sort_by, row_limit, max_name_column_width))

    def to_table(self, sort_by: str | None = None, row_limit: int = 100, width: int = NAME) -> Table:
        """The table, also for a notebook, without empty columns."""
        whole = max(self.self_cpu_time_total, 1e-3)
        rows = [row(event, whole, width) for event in self.sort_rows(sort_by, row_limit)]
        titles = [title for title in TITLES if not rows or {cells[title] for cells in rows} - EMPTY]
        head = {title: "<" if title in WORDS else "" for title in titles}
        values = [tuple(cells[title] for title in titles) for cells in rows]
        return Table(head, values, "\n".join(self.footer(len(rows))))

    def sort_rows(self, sort_by: str | None, row_limit: int) -> list[FunctionEvent]:
        """The rows of a table. Raises ValueError for an unknown sort_by or a bad row_limit."""
        if sort_by is not None and sort_by not in SORTS:
            raise ValueError(f"a table is sorted by one of {', '.join(SORTS)}, and got sort_by={sort_by!r}")
        if not isinstance(row_limit, int) or row_limit < -1:
            raise ValueError(f"row_limit is a number of rows, or -1 for all, and got {row_limit!r}")
        rows = [*self] if sort_by is None else sorted(self, key=lambda event: -(getattr(event, sort_by) or 0))
        return rows if row_limit == -1 else rows[:row_limit]

    def footer(self, shown: int) -> list[str]:
        inside = self.self_cpu_time_total
        lines = [f"{len(self) - shown} more rows"] * (shown < len(self))
        lines.append(f"Self CPU time total: {duration(inside)}")
        if self.wall:
            lines.append(f"Python outside of what is listed: {duration(max(0.0, self.wall / 1000 - inside))}")
        return lines

    def _repr_html_(self) -> str:
        return self.to_table()._repr_html_()

    def __str__(self) -> str:
        return self.table()


def row(event: FunctionEvent, whole: float, width: int) -> dict[str, str]:
    """Title → cell of an event; `whole` is the time of all events in microseconds."""
    flops = f"{event.flops:,}" if event.flops else "--"
    return {
        "Name": shorten(event.name, width),
        "Self CPU %": f"{event.self_cpu_time_total / whole:.2%}", "Self CPU": duration(event.self_cpu_time_total),
        "CPU total %": f"{event.cpu_time_total / whole:.2%}", "CPU total": duration(event.cpu_time_total),
        "CPU time avg": duration(event.cpu_time),
        "CPU Mem": size(event.cpu_memory_usage), "Self CPU Mem": size(event.self_cpu_memory_usage),
        "# of Calls": str(event.count), "Total FLOPs": "unknown" if event.flops is None else flops,
        "Module": event.module, "Input Shapes": str(event.input_shapes or ""),
        "Source Location": " < ".join(event.stack),
    }  # fmt: skip


def duration(us: float) -> str:
    """A duration in PyTorch's format: 1.275ms."""
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def size(nbytes: int) -> str:
    """A number of bytes in PyTorch's format: -1.50 KB."""
    for unit, power in (("GB", 30), ("MB", 20), ("KB", 10)):
        if abs(nbytes) >= 1 << power:
            return f"{nbytes / (1 << power):.2f} {unit}"
    return f"{nbytes} B"


TITLES = [*row(FunctionEvent("", "op"), 1.0, NAME)]


# -- as an icicle chart: widths are amounts, and parts lie below the whole --------------------------------------


@dataclass
class Branch:
    """A module, or all ops of one name in a module.

    kind      module, forward or backward
    amount    nanoseconds or FLOPs
    """

    name: str
    kind: str = "module"
    amount: int = 0
    count: int = 0
    parts: dict[tuple[str, str], Branch] = field(default_factory=dict)

    def part(self, name: str, kind: str) -> Branch:
        return self.parts.setdefault((kind, name), Branch(name, kind))

    depth = property(lambda self: 1 + max((part.depth for part in self.parts.values()), default=0))


def tree(leaves: Iterable[tuple[str, str, str, int]]) -> Branch:
    """The tree of modules and their ops, from (path of the module, kind, name, amount) of each op."""
    root = Branch("all ops")
    for module, kind, name, amount in leaves:
        path = [root]
        for part in filter(None, module.split(".")):
            path.append(path[-1].part(part, "module"))
        leaf = path[-1].part(name, kind)
        leaf.count += 1
        for branch in (*path, leaf):
            branch.amount += amount
    return root


def icicle(events: Iterable[FunctionEvent]) -> str:
    """The icicle chart of a run's time, from modules down to ops; the width of an op is its self time."""
    ops = [event for event in events if event.kind in ("op", "backward", "step", "program")]
    leaves = ((e.module, "backward" if e.is_backward else "forward", e.name, e.self_ns) for e in ops)
    return icicle_svg(tree(leaves), lambda ns: duration(ns / 1000), "Time")


def icicle_svg(root: Branch, written: Callable[[int], str], what: str) -> str:
    """The picture and its caption. Each rectangle has its numbers as a title, and can be reached by the Tab key.

    written    formats an amount
    what       name of the amount: Time or FLOPs
    """
    height = root.depth * ROW
    bars = "".join(draw_frames(root, root, written, 0.0, 0))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="mg-picture" role="group" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" style="max-width: 100%" aria-label="{what} by module and op, as in the '
        f'table"><style>{STYLE}{LOOKS}</style>{bars}</svg>'
        f"<p>{what} by module and op, each as wide as its share; forward blue, backward brown and dashed.</p>"
    )


def draw_frames(branch: Branch, root: Branch, written: Callable[[int], str], left: float, row: int) -> Iterator[str]:
    """Draw a branch's rectangle, then the rectangles of its parts below it, in the order of their first calls."""
    whole = max(root.amount, 1)
    width = WIDTH * branch.amount / whole
    if width < LEAST:
        return
    calls = f", {branch.count} calls" if branch.count else ""
    words = escape(f"{branch.name}: {written(branch.amount)}, {branch.amount / whole:.1%}{calls}")
    fits = int((width - 8) / 7)
    name = text("mg-value", left + 4, row * ROW + 14, shorten(branch.name, fits)) if fits > 2 else ""
    yield (
        f'<g class="mg-bar mg-{branch.kind}" tabindex="0" role="img" aria-label="{words}"><title>{words}</title>'
        f'<rect class="mg-frame" x="{left:.2f}" y="{row * ROW}" width="{width:.2f}" height="{ROW}"/>{name}</g>'
    )
    for part in branch.parts.values():
        yield from draw_frames(part, root, written, left, row + 1)
        left += WIDTH * part.amount / whole
