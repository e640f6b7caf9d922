"""The parts of control flow: a branch, a test, a body, each written down as a graph of its own.

What a part reads from outside becomes an operand of the op, and what it edits in place there becomes a result, which
the graph outside takes up. So all parts of an op are functions of the same operands, with results of the same specs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from ..base.errors import GraphError, ShapeError
from ..base.lengths import fits, lengths_of
from ..base.pytree import leaves, paths
from ..base.spec import Spec
from ..compiler.control import Cond, Control
from ..compiler.passes.purify import drawn
from ..core.graph import Graph as Finished
from ..core.modes import current, in_mode
from ..ops import ControlDep, TupleGet
from ..tensor.tensor import Tensor
from ..tracing.builder import GraphBuilder, Tracer
from .graph import UPDATE_OPS, Graph
from .structure import Side, agreed, filled, is_value, place_of, shapes_in, without_ops
from .subgraph import Carries, Inner, Turn


class Part:
    """A function written down.

    title      what errors call it
    builder      its graph
    result     what the function returned
    outputs    the results of its graph, in order
    """

    def __init__(
        self,
        title: str,
        outer: GraphBuilder,
        f: Callable[..., Any],
        arguments: Callable[[Part], Sequence[Any]],
        normal: Callable[[Any], Any] = lambda result: result,
        carries: Carries | None = None,
    ):
        self.title, self.place = title, place_of(f)
        self.builder = Inner(outer) if carries is None else Turn(outer, carries)
        self.outputs: list[Tracer] = []
        with self.builder.building():
            self.result = normal(without_ops(f(*arguments(self))))

    def __str__(self) -> str:
        return f"{self.title} ({self.place})"

    def edited(self) -> list[Any]:
        """What it edits in place that is from outside."""
        return [captured.what for captured in self.builder.edited.values()]

    def of_effects(self) -> list[Tracer]:
        """Values that come of effects: backward, which computes the others again, could not compute these."""
        nodes = drawn(Finished((), tuple(y.node for y in self.outputs)))
        return [Tracer(node, self.builder) for node in nodes]

    def zeros(self, x: Tracer) -> Tracer:
        """Zeros, where the other branch gives x."""
        with self.builder.building():
            return self.builder.lift(0).astype(x.dtype).broadcast_to(x.shape)

    def graph(self, edited: Sequence[Any], outside: Sequence[Any], sliced: int = 0) -> Finished:
        """Of what is carried (arguments, and what is edited), sliced, and read outside. The last result is True, after
        all effects.
        """
        with self.builder.building():
            (done,) = self.builder.after_effects([self.builder.lift(True)])
            for what in (*edited, *outside):
                self.builder.lift(what)
        also, reads = ([self.builder.captured[id(what)].input for what in some] for some in (edited, outside))
        carried = len(self.builder.inputs) - sliced
        inputs = (*self.builder.inputs[:carried], *also, *self.builder.inputs[carried:], *reads)
        return Finished(inputs, tuple(y.node for y in (*self.outputs, done)))

    def step(
        self, edited: Sequence[Any], outside: Sequence[Any], ys: Sequence[Tracer] = (), sliced: int = 0
    ) -> Finished:
        """The same of a loop's body, which also gives what backward will need: the carries before the step."""
        self.outputs += [self.builder.lift(what) for what in edited]
        carried = len(self.outputs)
        self.outputs += ys
        kept = self.of_effects()
        graph = self.graph(edited, outside, sliced)
        *given, done = graph.outputs
        before = [x for x, y in zip(graph.inputs[:carried], given) if y is not None and x.spec == y.spec]
        return Finished(graph.inputs, (*given, *before, *(y.node for y in kept), done))


class Variables:
    """The variables of a loop; or what a loop goes along, of which it sees a row at each step.

    start     what they are before the first step, in the graph outside
    names     what they are called inside
    specs     of each, at every step
    opened    the lengths that may change
    """

    def __init__(
        self,
        builder: GraphBuilder,
        tree: Any,
        invariants: Any = None,
        row: bool = False,
        names: Sequence[str] | None = None,
    ):
        self.tree = tree
        values = [(path, leaf) for path, leaf in zip(paths(tree, "loop_vars"), leaves(tree)) if is_value(leaf)]
        self.start = [builder.lift(leaf) for _, leaf in values]
        self.specs = [x.spec.with_shape(x.shape[1:]) if row else x.spec for x in self.start]
        called = [*(names or ())]
        self.names = called if len(called) == len(self.start) else ["row" if row else "carry"] * len(self.start)
        self.opened: set[int] = set()
        if invariants is not None:
            shapes = shapes_in(invariants)
            if len(shapes) != len(values):
                raise ShapeError(f"shape_invariants says a shape for each loop variable: {len(values)}, not {shapes}")
            self.specs = [self.invariant(path, x, shape) for (path, _), x, shape in zip(values, self.start, shapes)]

    def invariant(self, path: str, x: Tracer, shape: Any) -> Spec:
        """The spec of a variable at every step, lengths left open. Raises ShapeError where it begins as another."""
        said = lengths_of(tuple(x.shape if shape is None else shape), lambda axis: None)
        if not fits(x.shape, said):
            raise ShapeError(f"{path} is {x.spec}, and shape_invariants says {shape}")
        self.opened |= {n for n, m in zip(said, x.shape) if n != m}
        return x.spec.with_shape(said)

    def arguments(self, part: Part) -> Any:
        """The variables as a part sees them."""
        self.symbols = [part.builder.argument(name, spec) for name, spec in zip(self.names, self.specs)]
        self.seen = filled(self.tree, self.symbols)
        part.builder.stands |= {id(symbol): x for symbol, x in zip(self.symbols, self.start)}
        return self.seen

    def carried(self, part: Part, result: Any, who: str) -> list[Tracer]:
        """The values of a step's result. Raises an error where they are not what the variables were before it."""
        before = Side(part.builder, self.seen, "before the step")
        after = Side(part.builder, result, f"after it ({part.place})")
        hint = "; an axis whose length may change is None in shape_invariants=" if who == "while_loop()" else ""
        law = f"a variable of {who} keeps its structure, dtype and shape"
        return agreed(before, after, law, hint, self.opened)[1]

    def left(self, part: Part, ys: list[Tracer], may_skip: bool) -> list[Tracer]:
        """The results of a loop. What each turn edits in place, and gives, is what the loop began with, edited."""
        pass_on(part.builder.outer, ys, part, self, may_skip)
        for i, (symbol, x) in enumerate(zip(self.symbols, self.start)):
            if symbol.node is not part.builder.inputs[i] and part.outputs[i] is symbol:
                part.builder.outer.take(x, ys[i])
                ys[i] = x
            elif symbol.node is not part.builder.inputs[i]:
                part.builder.outer.edits(symbol, x)
        return ys


def made(
    builder: GraphBuilder,
    op: Control,
    operands: Sequence[Any],
    edited: Sequence[Any],
    counts: tuple[int, int],
    name: str | None,
) -> list[Tracer]:
    """The results of the op that were asked for, those for what is edited taken up.

    counts    how many results come before these, and how many after
    name      of the scope in which they are, in the graph of a session
    """
    if not operands:
        raise GraphError(f"{op} needs something to work on: a loop variable, or a tensor that it reads")
    first, more = counts
    with builder.building(), builder.name_scope(name) if name and isinstance(builder, Graph) else nullcontext():
        with in_mode(recording=True):  # no_grad() was heeded in the parts; what they pass on is not computed there
            y = builder.apply(op, tuple(begun(builder, op, operands, edited)))
            pieces = [builder.applied(TupleGet(i), (y,)) for i in range(first + len(edited) + more)]
        for piece in pieces:
            piece.root = None  # it has memory of its own
        y.views.clear()
        asked = pieces[:first] + pieces[first + len(edited) :]
        return after_assigning(builder, edited, pieces[first:], asked)


def pass_on(
    builder: GraphBuilder, ys: Sequence[Tracer], part: Part, variables: Variables | None = None, may_skip: bool = True
) -> None:
    """Note what each result may be that was there before: what the part gives of it, and what a loop begins with.

    may_skip    whether the loop may have no turn
    """
    outside = {id(c.symbol): c.what for c in part.builder.captured.values()}
    symbols, start = ([], []) if variables is None else (variables.symbols, variables.start)
    place = {id(symbol): i for i, symbol in enumerate(symbols)}
    begun = [{id(x): x} for x in start]
    found: list[dict[int, Any]] = [{**its} for its in begun] if begun and may_skip else [{} for _ in ys]
    for _ in range(len(symbols) + 1):  # what a variable passes on to another, the next turn passes on to a third
        for its, y in zip(found, part.outputs):
            for memory in map(id, y.origins()):
                if memory in outside:
                    its[memory] = outside[memory]
                elif memory in place:
                    its |= begun[place[memory]] | found[place[memory]]
    for y, whats in zip(ys, found):
        for what in whats.values():
            here = what if getattr(what, "builder", None) is builder else builder.captured.get(id(what), y)
            source = (here if isinstance(here, Tracer) else here.symbol).memory
            if not any(source is x for x in (y, *y.passed)):
                y.passed.append(source)
                source.views.add(y)


def begun(builder: GraphBuilder, op: Control, operands: Sequence[Any], edited: Sequence[Any]) -> Sequence[Any]:
    """The operands; what is edited, in the graph of a session, as the assignments of the run before it left it."""
    if not isinstance(builder, Graph):
        return operands
    first, last = (1, len(operands)) if isinstance(op, Cond) else (op.carried - len(edited), op.carried)  # type: ignore[attr-defined]
    latest = {id(what): builder.latest(what) for what in edited}
    return [latest.get(id(x), x) if first <= i < last else x for i, x in enumerate(operands)]


def after_assigning(
    builder: GraphBuilder, edited: Sequence[Any], values: Sequence[Tracer], ys: list[Tracer]
) -> list[Tracer]:
    """The ys, once what is edited has its value: in the graph of a session, which runs what is asked for, they wait."""
    before = set(map(id, builder.get_collection(UPDATE_OPS))) if isinstance(builder, Graph) else set()
    for what, value in zip(edited, values):
        if isinstance(builder, Graph):
            builder.become(what, value)
        else:
            is_leaf = isinstance(what, Tensor) and what.requires_grad and what.is_leaf  # which no gradient passes
            with in_mode(recording=current.mode.recording and not is_leaf):
                builder.take(what, value)
    if not isinstance(builder, Graph) or not edited:
        return ys
    updates = [update for update in builder.get_collection(UPDATE_OPS) if id(update) not in before]
    return [builder.applied(ControlDep(), (y, *updates)) for y in ys]


def outside_of(*parts: Part, but: Sequence[Any] = ()) -> list[Any]:
    """What the parts read from outside, each once."""
    found = {id(c.what): c.what for part in parts for c in part.builder.captured.values()}
    return [what for key, what in found.items() if key not in set(map(id, but))]
