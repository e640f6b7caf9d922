"""The text of a program while it is emitted: its lines, the names they use, and its branches and loops.

    Cond                                While                               Scan
    greater(b0, c0, b1)                 t0 = x.copy()                       t0 = x
    if b1:                              while True:                         for k0 in range(5):
        t0 = empty((2,), float64)           y0 = empty((), boolean)             y0 = empty((2,), float64)
        exp(x, t0)                          less(t0, c0, y0)                    multiply(t0, x1, y0)
    else:                                   if not y0:                          t0 = y0
        t0 = empty((2,), float64)               break
        tanh(x, t0)                         …

The graph of a branch or a body has a memory plan of its own: its operands are arguments, and its workspace starts where
the workspace of the surrounding lines ends. Results that nothing reads are not computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....engine.base.device import CPU
from ....engine.base.dimension import is_unknown
from ....engine.base.spec import Specs
from ....engine.core.graph import Graph
from ....engine.core.node import NamedNode, Node, spot
from ..passes.pipeline import optimised
from .buffer import Buffer, ProgramStep, Section, copied_order
from .memory_plan import plan

if TYPE_CHECKING:
    from .emit import Lines


LARGE = 1 << 16  # bytes: an array of at least this size is deleted after its last use
RECYCLED = 1 << 20  # bytes: an array of at least this size is reused once the caller has released it
KNOWN: dict[str, Any] = {
    "empty": np.empty, "errstate": np.errstate, "len": len, "range": range, "reversed": reversed,
    **dict.fromkeys(("at", "handed", "one_thread", "share")),  # the program defines these
}  # fmt: skip


@dataclass
class Text:
    """A program's source, and what it needs to run.

    size       bytes of workspace
    kept       lines that define names kept between calls
    defined    lines of the functions
    scope      name in the lines → its object
    nodes      line number of the source → the node it is part of
    whole      arguments that must be contiguous, because a result stored in them is reshaped
    loops      number of loops over blocks
    named      text that makes a kept object → its name
    constants  value of a constant → its name
    large      number of large arrays made for the caller
    steps      all steps emitted so far
    """

    size: int
    kept: list[str] = field(default_factory=list)
    defined: list[str] = field(default_factory=list)
    scope: dict[str, Any] = field(default_factory=lambda: dict(KNOWN))
    nodes: dict[int, Node] = field(default_factory=dict)
    whole: set[Buffer] = field(default_factory=set)
    loops: int = 0
    named: dict[Any, str] = field(default_factory=dict)
    constants: dict[Any, str] = field(default_factory=dict)
    large: int = 0
    steps: list[ProgramStep] = field(default_factory=list)

    source = property(lambda self: "\n".join([*self.kept, *([""] if self.kept else []), *self.defined, ""]))

    def bind(self, name: str, thing: Any) -> str:
        """The name bound to the object throughout the text: `name`, or `name_2` and so on if it is taken."""
        called, k = name, 2
        while self.scope.setdefault(called, thing) is not thing:
            called, k = f"{name}_{k}", k + 1
        return called

    # -- names kept between calls ---------------------------------------------------------------------

    def keep(self, letter: str, made: str) -> str:
        """The name of an object that is made once, from the text `made`; equal texts share a name."""
        if made not in self.named:
            self.named[made] = name = f"{letter}{len(self.named)}"
            self.scope[name] = None  # until the program runs
            self.kept.append(f"{name} = {made}")
        return self.named[made]

    def is_kept(self, name: str) -> bool:
        """Whether the name is kept between calls."""
        return name in self.scope

    def constant(self, value: Buffer) -> str:
        """The name of a constant; equal numbers share a name."""
        array = value.array
        key = (array.dtype, array.tobytes()) if not array.ndim else value
        if key not in self.constants:
            self.constants[key] = name = f"c{len(self.constants)}"
            self.scope[name] = array
            self.kept.append(f"# {name} = {array.dtype} {array if not array.ndim else [*array.shape]}")
        return self.constants[key]

    def constant_array(self, number: Buffer, like: np.ndarray) -> str:
        """The name of an array filled with a constant, with the shape and layout of `like`."""
        key = (number.array.dtype, number.array.tobytes(), like.shape, like.strides)
        if key not in self.constants:
            order = copied_order(like)
            array = np.empty([like.shape[a] for a in order], number.array.dtype).transpose(np.argsort(order))
            array.fill(number.array.item())
            self.constants[key] = name = f"c{len(self.constants)}"
            self.scope[name] = array
            self.kept.append(f"# {name} = {array.dtype} {number.array} in an array {[*like.shape]}")
        return self.constants[key]

    # -- arrays --------------------------------------------------------------------------------------

    def at(self, x: np.ndarray, offset: int) -> str:
        """The name of an array in the workspace."""
        strides = "" if x.flags.c_contiguous else f", {x.strides}"
        return self.keep("b", f"at({offset}, {x.shape}, {self.dtype(x.dtype)}{strides})")

    def new(self, x: np.ndarray) -> str:
        """The expression that allocates an array for the caller."""
        dtype = self.dtype(x.dtype)
        if x.nbytes >= RECYCLED:
            name, self.large = f"new{self.large}", self.large + 1
            self.kept.append(f"{name} = handed({x.shape}, {dtype}, {x.strides})")
            return f"{name}()"
        if x.flags.c_contiguous:
            return f"empty({x.shape}, {dtype})"
        order = copied_order(x)
        back = tuple(order.index(a) for a in range(x.ndim))
        return f"empty({tuple(x.shape[a] for a in order)}, {dtype}).transpose({back})"

    def dtype(self, dtype: np.dtype) -> str:
        """The name of a dtype, which is added to the scope."""
        name = "boolean" if dtype.kind == "b" else dtype.name
        self.scope[name] = dtype
        return name


def add_comment(line: str, made: Any, node: Node | None) -> str:
    """The line with a comment: the spec of its result, and the user's line that built it, if known."""
    comment = format_spec(made)
    if isinstance(node, NamedNode):
        comment += f" {node.name}" + (f", {spot(node.place.file, node.place.line)}" if node.place else "")
    return f"{line:<52}# {comment}"


def format_spec(made: Any) -> str:
    """The spec of an array as text, f64[?, 3]; of several arrays, (f64[2], bool[])."""
    if isinstance(made, Specs):
        return f"({', '.join(map(format_spec, made))})"
    kind = "bool" if made.dtype.kind == "b" else f"{made.dtype.kind}{8 * made.dtype.itemsize}"
    is_known = {*map(type, made.shape)} <= {int}
    return f"{kind}[{', '.join(map(str, made.shape) if is_known else map(format_length, made.shape))}]"


def format_length(n: Any) -> str:
    return "?" if is_unknown(n) else str(n)


Line = tuple[str, Node | None]


class InlinedGraph(NamedTuple):
    """The lines of a graph, to be placed among other lines.

    names    names of its outputs; None for an output that is not computed
    looks    whether each output may alias an argument or a constant
    large    names of large arrays to delete once the outputs have other names
    """

    lines: list[Line]
    names: list[str | None]
    looks: list[bool]
    large: list[str]


def control(lines: Lines, step: ProgramStep) -> list[Line]:
    """The lines of a branch or a loop; a single call of its op if its graphs cannot be lines of the program."""
    op, node = step.node.op, step.node
    if is_closed(op.graphs):
        written: list[Line] = op.emit(lines, step)
        return written
    names = [lines.result(y) if lines.is_read(y) else "_" for y in step.results]
    call = lines.bind_names(step).format(*lines.operands(step))
    return [(add_comment(f"{', '.join(names)}{',' * (len(names) == 1)} = {call}", node.spec, node), node)]


def is_closed(graphs: Sequence[Graph]) -> bool:
    """Whether the graphs can be lines of a program: they are on the CPU, and their inputs have known lengths."""
    known = all(x.spec.is_known for graph in graphs for x in graph.inputs)
    return known and all(node.spec.device is CPU for graph in graphs for node in graph.nodes)


# -- if, while, for ------------------------------------------------------------------------------------


def branch(op: Any, lines: Lines, step: ProgramStep) -> list[Line]:
    """if p: … else: …"""
    before, (p, *k) = operands(lines, step, 1)
    read = [lines.is_read(y) for y in step.results]
    names = [lines.result(y) if r else None for y, r in zip(step.results, read)]
    out = [*before, opening(f"if {p}:", read, step)]
    header: list[Line]
    for header, graph in (([], op.true), ([("else:", step.node)], op.false)):
        part = emit_graph(op, graph, lines, k, read, names)
        ys = [y and y + ".copy()" * looks for y, looks in zip(part.names, part.looks)]
        body = [*part.lines, *emit_assignment(names, ys)]
        out += header + indent_lines(body or [("pass", None)])
    return out


def while_loop(op: Any, lines: Lines, step: ProgramStep) -> list[Line]:
    """while test(c, k): c, ys = body(c, k)"""
    before, given = operands(lines, step, op.carried)
    read, carries, stacks = loop_names(op, lines, step)
    lines.text.scope |= {"xp": np, "Stack": GrowingStack}
    made = [
        (f"{s} = Stack(xp, {y.spec.shape[1:]}, {lines.text.dtype(y.spec.dtype)})", None)
        for s, y in zip(stacks, step.results[op.carried :])
        if s is not None
    ]
    k, kept = given[op.carried :], [True] * op.carried + read[op.carried :]
    test = emit_graph(op, op.test, lines, [*carries, *k], [True] + [False] * (len(op.test.outputs) - 1))
    body = emit_graph(op, op.body, lines, [*carries, *k], kept)
    puts = [(f"{s}.put({y})", None) for s, y in zip(stacks, body.names[op.carried :]) if s is not None]
    go = f"while {'True' if test.lines else test.names[0]}:"
    check = [*test.lines, (f"if not {test.names[0]}:", None), ("    break", None)] if test.lines else []
    start = starting(op, carries, given, body, may_not_run=True)
    inside = indent_lines([*check, *body.lines, *puts, *emit_step_end(carries, body, body.large)])
    filled = [(f"{s} = {s}.filled", step.node) for s in stacks if s is not None]
    return [*before, *start, *made, opening(go, read, step), *inside, *ending(carries, body), *filled]


def for_loop(op: Any, lines: Lines, step: ProgramStep) -> list[Line]:
    """for t in range(n): c, ys[t] = body(c, x[t], k)"""
    n, m = op.carried, op.carried + op.sliced
    before, given = operands(lines, step, m)
    read, carries, stacks = loop_names(op, lines, step)
    length = op.steps([x.spec for x in step.node.inputs])
    count = f"len({given[n]})" if is_unknown(length) else str(length)
    made = [
        (f"{s} = empty(({', '.join([count, *map(str, y.spec.shape[1:])])},), {lines.text.dtype(y.spec.dtype)})", None)
        for s, y in zip(stacks, step.results[n:])
        if s is not None
    ]
    t = lines.new("k")
    slices = [lines.new("t") for _ in given[n:m]]
    body = emit_graph(op, op.body, lines, [*carries, *slices, *given[m:]], [True] * n + read[n:])
    steps = f"reversed(range({count}))" if op.reverse else f"range({count})"
    cuts = [(f"{x} = {whole}[{t}, ...]", None) for x, whole in zip(slices, given[n:m])]
    done = body.large + [x for x, v in zip(slices, step.operands[n:m]) if v.root.kind == "made"]
    puts = [(f"{s}[{t}] = {y}", None) for s, y in zip(stacks, body.names[n:]) if s is not None]
    start = starting(op, carries, given, body, may_not_run=is_unknown(length) or not length)
    go = opening(f"for {t} in {steps}:", read, step)
    inside = [*cuts, *body.lines, *puts, *emit_step_end(carries, body, done)]
    return [*before, *start, *made, go, *indent_lines(inside or [("pass", None)]), *ending(carries, body)]


# -- parts of branches and loops -------------------------------------------------------------------------


def operands(lines: Lines, step: ProgramStep, first: int) -> tuple[list[Line], list[str]]:
    """The operands' names, and lines that rename non-contiguous kept views, so that each call reshapes them again.

    first    index of the first operand that the graphs read by its own name
    """
    before, names = [], lines.operands(step)
    for i, v in enumerate(step.operands):
        if i >= first and lines.text.is_kept(names[i]) and not v.shell.flags.c_contiguous:
            name = lines.new("t")
            before.append((f"{name} = {names[i]}", step.node))
            names[i] = name
    return before, names


def loop_names(op: Any, lines: Lines, step: ProgramStep) -> tuple[list[bool], list[str], list[str | None]]:
    """Which results are read; the names of the carries; the names of the stacks, None for an unread stack."""
    read = [lines.is_read(y) for y in step.results]
    for y in step.results[: op.carried]:
        lines.names[y] = lines.new("t")
    stacks = [lines.result(y) if r else None for y, r in zip(step.results[op.carried :], read[op.carried :])]
    return read, [lines.names[y] for y in step.results[: op.carried]], stacks


def emit_graph(
    op: Any, graph: Graph, lines: Lines, given: Sequence[str], keep: Sequence[bool], names: Sequence[str | None] = ()
) -> InlinedGraph:
    """Emit a graph of the op.

    given    names of its inputs
    keep     which outputs are computed
    names    preferred names of the outputs
    """
    outputs = tuple(y if k or op.effect else None for y, k in zip(graph.outputs, keep, strict=True))
    section = lines.program.section(optimised(Graph(graph.inputs, outputs)))  # with the effects that outputs wait for
    read = tuple(y if k else None for y, k in zip(section.outputs, keep))
    planned = plan(Section(section.arguments, section.steps, read), {})
    inner = lines.among(planned, dict(zip(section.arguments, given, strict=True)))
    for y, name in zip(planned.outputs, names):
        if y is not None and name is not None and y.root is y and y.kind != "argument":
            if y.kind == "made":
                inner.names.setdefault(y, name)
            else:
                inner.wanted.setdefault(planned.allocations[y], name)
    written = inner.lines(planned.steps)
    ys = [None if y is None else inner.name(y) for y in planned.outputs]
    looks = [y is not None and any(r.kind in ("argument", "constant") for r in y.roots) for y in planned.outputs]
    own = [y for y in planned.outputs if y is not None and y.kind in ("planned", "made") and y.nbytes >= LARGE]
    return InlinedGraph(written, ys, looks, list(dict.fromkeys(map(inner.name, own))))


def opening(text: str, read: Sequence[bool], step: ProgramStep) -> Line:
    """The first line of a branch or a loop, with the specs of the results that are read as a comment."""
    specs = Specs(y.spec for y, r in zip(step.results, read) if r)
    return add_comment(text, specs[0] if len(specs) == 1 else specs, step.node), step.node


def starting(op: Any, carries: list[str], given: list[str], body: InlinedGraph, may_not_run: bool) -> list[Line]:
    """Assign the carries before the first step. They are copied if the loop may return them unchanged."""
    copied = [may_not_run and not looks for looks in body.looks[: op.carried]]
    return emit_assignment(carries, [x + ".copy()" * copy for x, copy in zip(given, copied)])


def emit_step_end(carries: list[str], body: InlinedGraph, done: list[str]) -> list[Line]:
    """The end of a step: pass the carries to the next step, and delete names that keep large arrays alive."""
    return [*emit_assignment(carries, body.names), *([(f"del {', '.join(done)}", None)] if done else [])]


def ending(carries: list[str], body: InlinedGraph) -> list[Line]:
    """The end of a loop: copy the carries that may alias other memory."""
    return [(f"{c} = {c}.copy()", None) for c, looks in zip(carries, body.looks) if looks]


def emit_assignment(names: Iterable[str | None], ys: Iterable[str | None]) -> list[Line]:
    """The line a, b = y, z, without pairs of equal names; no line if nothing is left."""
    pairs = [(a, y) for a, y in zip(names, ys) if a is not None and y is not None and a != y]
    return [(f"{', '.join(a for a, _ in pairs)} = {', '.join(y for _, y in pairs)}", None)] if pairs else []


def indent_lines(lines: Iterable[Line]) -> list[Line]:
    """The lines, indented by four spaces."""
    return [(f"    {line}", node) for line, node in lines]


class GrowingStack:
    """Rows appended one by one to an array, which doubles its length when it is full."""

    def __init__(self, xp: Any, shape: tuple[int, ...], dtype: np.dtype):
        self.xp, self.length = xp, 0
        self.rows: Any = xp.empty((0, *shape), dtype)

    def put(self, y: Any) -> None:
        t = self.length
        if t >= len(self.rows):
            longer = self.xp.empty((max(4, 2 * t), *y.shape), y.dtype)
            if t:
                longer[:t] = self.rows
            self.rows = longer
        self.rows[t] = y
        self.length += 1

    filled = property(lambda self: self.rows[: self.length], doc="The rows appended so far.")
