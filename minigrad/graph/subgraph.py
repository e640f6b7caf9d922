"""Subgraphs: the branches of a cond, the test and the body of a loop, each traced into its own graph.

A tensor that a subgraph reads from outside becomes an operand of the op; a tensor that it edits outside becomes a
result, which the outer graph takes as the new value. So all subgraphs of an op are functions of the same operands, with
results of the same specs. Arguments and results may have any structure; the helpers below match and fill it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import update_wrapper
from typing import Any, NamedTuple

import numpy as np

from ..engine.base.dimension import fits, lengths_of
from ..engine.base.errors import ConversionError, DTypeError, GraphError, NoGradientError, ShapeError
from ..engine.base.pytree import leaves, leaves_beside, paths, replace_leaves, unflatten_like
from ..engine.base.spec import Spec
from ..engine.core.graph import Graph
from ..engine.core.modes import current, in_mode
from ..engine.core.node import NamedNode, Node, spot
from ..engine.core.op import Op
from ..engine.methods import Operand
from ..engine.ops import TupleGet
from ..engine.tensor.tensor import Tensor
from ..tracing.builder import Capture, GraphBuilder, Retrace, Tracer
from ..tracing.gradients import gradients, total
from ..tracing.tracer import own_memory
from ..tracing.views import mark_stale
from .compiler.control import Cond, Control
from .compiler.passes.purify import find_effect_values
from .graph import StaticGraph
from .sharing import Pairs, pass_on, share, sources_outside, symbols_of
from .waits import Waits, gives_nothing, variable_of


class Subgraph(Waits):
    """The builder of a branch, a test, or a body.

    title      its name in error messages
    result     the return value of the traced function
    outputs    the results of its graph, in order
    symbols    the symbols of its arguments
    starts     argument of a loop's body → its value before the first turn
    written    id of a tensor edited in place → the moment from which its aliases should show the edit
    own        the nodes made in it
    asked      for each gradients() call, its sources in the outer builder, and the arguments that gradients reached
    """

    outer: GraphBuilder
    way_out = property(lambda self: self.outer.way_out)

    def __init__(self, outer: GraphBuilder, title: str = "a block"):
        super().__init__(outer)
        self.title = title
        self.outputs: list[Tracer] = []
        self.symbols: list[Tracer] = []
        self.starts: dict[Node, Tracer] = {}
        self.written: dict[int, int] = {}
        self.own: set[Node] = set()
        self.asked: list[tuple[list[Any], set[Node]]] = []

    def write(
        self, f: Callable[..., Any], arguments: Callable[[Subgraph], Sequence[Any]], normal: Any = lambda result: result
    ) -> Subgraph:
        """Trace the function on symbols, which arguments() creates in this builder."""
        self.place = place_of(f)
        with self.building():
            try:
                result = self.call(f, *arguments(self))
            except Exception as error:
                if not isinstance(error, Retrace | ConversionError):
                    self.outer.note_early(error)
                raise
            for op in filter(gives_nothing, leaves(result)):  # ops of the outer graph run whichever branch is taken
                self.lift(op)
            self.result = normal(unflatten_like(result, (None if gives_nothing(x) else x for x in leaves(result))))
        return self

    def __str__(self) -> str:
        return f"{self.title} ({self.place})"

    def argument(self, name: str, spec: Spec) -> Tracer:
        self.symbols.append(symbol := super().argument(name, spec))
        return symbol

    def take(self, x: Any, y: Tracer) -> None:
        is_block = isinstance(y.node.op, TupleGet)  # a branch or a loop edited x, and may read aliases afterwards
        moment = y.node.inputs[0].born - 1 if is_block else y.node.born
        self.written.setdefault(id(self.lift(x).memory), moment)
        if current.mode.recording and (whole := self.whole(self.lift(x))) is not None:
            self.outer.recorded_in_parts.add(id(self.stands.get(id(whole), whole)))
        super().take(x, y)

    def edits(self, x: Any, source: Tracer) -> None:
        if source.node in self.starts:  # a loop variable: only a run knows which one is edited, and when
            self.written[id(source)] = -1
            source.edited = True
            mark_stale(source, x.apart)
        else:
            super().edits(x, source)

    def edited_outside(self) -> list[Any]:
        """The outside tensors that the subgraph edits in place."""
        return [captured.what for captured in self.edited.values()]

    def of_effects(self) -> list[Tracer]:
        """The values computed by effects. They must be saved, because backward cannot recompute them."""
        return [Tracer(node, self) for node in find_effect_values(Graph((), tuple(y.node for y in self.outputs)))]

    def zeros(self, x: Tracer) -> Tracer:
        """Zeros of the dtype and shape of x, a result that only the other branch has."""
        with self.building():
            return self.lift(0).astype(x.dtype).broadcast_to(x.shape)

    def graph(self, edited: Sequence[Any], outside: Sequence[Any], sliced: int = 0) -> Graph:
        """The finished graph. Its inputs: carried (arguments, then edited tensors), sliced, and read from outside.
        Its last output is True, once all effects are done.
        """
        with self.building():
            (done,) = self.after_effects([self.lift(True)])
            for what in (*edited, *outside):
                self.lift(what)
        also, reads = ([self.captured[id(what)].input for what in some] for some in (edited, outside))
        carried = len(self.inputs) - sliced
        inputs = (*self.inputs[:carried], *also, *self.inputs[carried:], *reads)
        return Graph(inputs, tuple(y.node for y in (*self.outputs, done)))

    def step(self, edited: Sequence[Any], outside: Sequence[Any], ys: Sequence[Tracer] = (), sliced: int = 0) -> Graph:
        """The graph of a loop's body, which also returns the carried values from before the step, for backward."""
        self.outputs += [self.lift(what) for what in edited]
        carried = len(self.outputs)
        self.outputs += ys
        kept = self.of_effects()
        graph = self.graph(edited, outside, sliced)
        *given, done = graph.outputs
        before = [x for x, y in zip(graph.inputs[:carried], given) if y is not None and x.spec == y.spec]
        return self.per_turn(Graph(graph.inputs, (*given, *before, *(y.node for y in kept), done)), edited)

    # -- gradients taken inside the subgraph -----------------------------------------------------------

    def node(self, op: Op, inputs: tuple[Node, ...] = (), spec: Any = None, name: str | None = None) -> NamedNode:
        self.own.add(node := super().node(op, inputs, spec, name))
        return node

    def input(self, name: str, spec: Spec) -> NamedNode:
        self.own.add(node := super().input(name, spec))
        return node

    def leaves(self) -> list[Any]:
        return list({id(x): x for x in (*super().leaves(), *self.outer.leaves())}.values())

    def reads(self, x: Any) -> list[Node]:
        if x is None:
            return []
        in_blocks = [c.input for c in self.captured.values() if c.what is not x and variable_of(c.what) is x]
        with self.control_dependencies(None):
            return [*in_blocks, *([] if isinstance(x, Tensor) and id(x) not in self.captured else super().reads(x))]

    def gradients(
        self, ys: Sequence[Any], xs: Sequence[Any], grad_ys: Sequence[Any] | None = None, stop: Sequence[Any] = ()
    ) -> list[Any]:
        """As GraphBuilder.gradients(), but gradients also pass through values computed outside."""
        sources = [self.seen_outside(x) for x in xs]
        stops = [its for x in stop if (its := self.seen_outside(x)) is not None]
        with self.building():
            seeds = self.seeds(ys, grad_ys)
            places = [self.reads(its if id(its) in self.captured else x) for its, x in zip(sources, xs)]
            stopped = {node for x in stop for node in self.reads(x)}
            outside = [c for c in self.captured.values() if isinstance(c.what, Tracer) and is_float(c.input)]
            ends = [*(c.input for c in outside), *filter(is_float, self.inputs)]
            found = gradients(seeds, {*ends, *(node for nodes in places for node in nodes)}, stopped)
            self.note_arguments_reached(found, [x for x in sources if x is not None])
            inside = [[found[node] for node in nodes if node in found] for nodes in places]
            through = [c for c in outside if c.input in found and c.input not in stopped]
            further = [self.from_outside_of(c, found[c.input], sources, stops) for c in through]
            return [total([*gs, *(g for g in more if g is not None)]) for gs, *more in zip(inside, *further)]

    def note_arguments_reached(self, found: Mapping[Node, Any], sources: list[Any]) -> None:
        """Note which arguments of a loop's body gradients reached. Raises NoGradientError if they reach a source."""
        reached = found.keys() & self.starts.keys()
        for node in reached:
            self.refuse_through(node, any(depends(self.outer, self.starts[node], sources)))
        self.asked.append((sources, reached))

    def from_outside_of(self, c: Capture, gy: Any, sources: Sequence[Any], stops: Sequence[Any]) -> list[Any]:
        """⟨gy, ∂c/∂x⟩ for each x. c and ∂c/∂x are computed outside; gy, a single number, multiplies ∂c/∂x.

        Raises NoGradientError if c has several elements and depends on an x.
        """
        variable = variable_of(c.what)  # for x = variable, gy is the whole gradient
        asked = [i for i, x in enumerate(sources) if x is not None and x is not variable]
        y = self.outer.lift(c.what)
        found: list[Any] = [None] * len(sources)
        for i, g in zip(asked, self.outer.gradients([one_of(y)], [sources[i] for i in asked], None, stops)):
            if g is not None and y.spec.size != 1:
                raise NoGradientError(
                    f"a gradient taken in a branch or the body of a loop passes through {y}, which is computed "
                    "outside: that is only supported for one number, such as a loss. Compute it inside, or detach() it"
                )
            found[i] = g if g is None else (gy.reshape(()).astype(g.dtype) * self.lift(g)).astype(g.dtype)
        return found

    def seen_outside(self, x: Any) -> Any:
        """The symbol or tensor of the outer builder that x stands for; None if x was made in this subgraph."""
        if not isinstance(x, Tracer) or x.builder is not self:
            return x
        its = (c.what for c in self.captured.values() if c.symbol is x or getattr(c.what, "node", None) is x.node)
        return next(its, None if x.node in self.own else Tracer(x.node, self.outer))

    def refuse_gradients_through_turns(self) -> None:
        """Raises NoGradientError if a gradient taken in the body would continue through earlier turns."""
        arguments = [Tracer(node, self) for node in self.inputs]
        for xs, came_by in [*self.asked]:
            todo = [i for i, node in enumerate(self.inputs) if node in came_by]
            for i in todo:  # `todo` grows during the loop
                for y in self.outputs[i : i + 1]:
                    self.refuse_through(self.inputs[i], any(depends(self, y, xs)))
                    todo += [j for j, passes in enumerate(depends(self, y, arguments)) if passes and j not in todo]

    def refuse_through(self, argument: Node, is_through: bool) -> None:
        if is_through:
            raise NoGradientError(
                f"a gradient in the body of a loop continues through {self.starts[argument]}, which comes from the "
                "previous turn, or from outside, and depends on the source of the gradient there: detach() it at the "
                "start of the body, or compute the loss over all turns, and its gradient after the loop"
            )


def is_float(node: Any) -> bool:
    """Whether the node has a single floating-point result, at which a gradient can arrive."""
    return isinstance(node.spec, Spec) and node.spec.is_float


def one_of(y: Tracer) -> Tracer:
    """A single number that depends on all elements of y."""
    with y.builder.building():
        return y if y.spec.size == 1 else y.sum()


def depends(builder: GraphBuilder, y: Any, xs: Sequence[Any]) -> list[bool]:
    """For each x, whether a gradient passes from y to it."""
    y = builder.lift(y)
    if not is_float(y.node):
        return [False] * len(xs)
    return [g is not None for g in builder.gradients([one_of(y)], xs)]


class Variables:
    """The variables of a loop; or, with row=True, the tensors that a scan iterates over, one row per step.

    start     their values before the first step, in the outer graph
    names     their names in the subgraph
    specs     their specs, the same at every step
    opened    the lengths that may change
    """

    def __init__(
        self, builder: GraphBuilder, tree: Any, invariants: Any = None,
        row: bool = False, names: Sequence[str] | None = None,
    ):  # fmt: skip
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
                raise ShapeError(f"shape_invariants needs one shape for each of {len(values)} variables, got {shapes}")
            self.specs = [self.invariant(path, x, shape) for (path, _), x, shape in zip(values, self.start, shapes)]

    def invariant(self, path: str, x: Tracer, shape: Any) -> Spec:
        """The spec of a variable with its unknown lengths. Raises ShapeError if the initial value does not match."""
        said = lengths_of(tuple(x.shape if shape is None else shape), lambda axis: None)
        if not fits(x.shape, said):
            raise ShapeError(f"{path} is {x.spec}, and shape_invariants says {shape}")
        self.opened |= {n for n, m in zip(said, x.shape) if n != m}
        return x.spec.with_shape(said)

    def arguments(self, part: Subgraph) -> Any:
        """Create the variables as arguments of a part, in their structure."""
        self.symbols = [part.argument(name, spec) for name, spec in zip(self.names, self.specs)]
        part.starts |= {symbol.node: x for symbol, x in zip(self.symbols, self.start)}
        part.stands |= {id(symbol): x for symbol, x in zip(self.symbols, self.start)}
        return fill_tree(self.tree, self.symbols)

    def next_values(self, part: Subgraph, result: Any, who: str) -> list[Tracer]:
        """The variables after a step. Raises an error if a structure, dtype or shape has changed."""
        before = Side(part, fill_tree(self.tree, (Tracer(node, part) for node in part.inputs)), "before the step")
        after = Side(part, result, f"after it ({part.place})")
        hint = "; an axis whose length may change is None in shape_invariants=" if who == "while_loop()" else ""
        return match_sides(
            before, after, f"a variable of {who} keeps its structure, dtype and shape", hint, self.opened
        )[1]

    def loop_results(self, part: Subgraph, ys: list[Tracer], pairs: Pairs, may_skip: bool) -> list[Tracer]:
        """The results of a loop. A variable that every turn edits in place is the initial tensor itself, edited."""
        sources = sources_outside(part, self.start, may_skip)
        for i, (symbol, x) in enumerate(zip(self.symbols, self.start)):
            if symbol.node is not part.inputs[i] and part.outputs[i] is symbol:
                with in_mode(recording=current.mode.recording and id(x) in part.outer.recorded_in_parts):
                    part.outer.take(x, ys[i])
                ys[i] = x
            elif id(symbol) in part.written:  # a later turn may edit what earlier variables passed on to this one
                for memory in {m for what in (x, *sources[i]) for m in symbols_of(part.outer, what)}:
                    part.outer.edits(symbol, memory)
        pass_on(ys, part, sources)  # after the edits, so that the results show them
        share(ys[: len(self.start)], (part, pairs))
        return ys


def apply_control(
    builder: GraphBuilder, op: Control, operands: Sequence[Any],
    edited: Sequence[Any], counts: tuple[int, int], name: str | None,
) -> list[Tracer]:  # fmt: skip
    """Add the op, take its results as the new values of the edited tensors, and return the other results.

    counts    how many results come before those of the edited tensors, and how many after
    name      the name scope of the nodes, in the graph of a session
    """
    if not operands:
        raise GraphError(f"{op} needs something to work on: a loop variable, or a tensor that it reads")
    first, more = counts
    with builder.building(), builder.name_scope(name) if name and isinstance(builder, StaticGraph) else nullcontext():
        with in_mode(recording=True):  # no_grad() was applied inside the parts
            y = builder.apply(op, tuple(latest_operands(builder, op, operands, edited)))
            pieces = [own_memory(builder.add_op(TupleGet(i), (y,))) for i in range(first + len(edited) + more)]
        y.views.clear()
        asked = pieces[:first] + pieces[first + len(edited) :]
        return after_assigning(builder, edited, pieces[first:], asked)


def latest_operands(
    builder: GraphBuilder, op: Control, operands: Sequence[Any], edited: Sequence[Any]
) -> Sequence[Any]:
    """The operands. In a session's graph, edited operands are read after the run's earlier assignments."""
    if not isinstance(builder, StaticGraph):
        return operands
    first, last = (1, len(operands)) if isinstance(op, Cond) else (op.carried - len(edited), op.carried)  # type: ignore[attr-defined]
    latest = {id(what): builder.latest(what) for what in edited}
    return [latest.get(id(x), x) if first <= i < last else x for i, x in enumerate(operands)]


def after_assigning(
    builder: GraphBuilder, edited: Sequence[Any], values: Sequence[Tracer], ys: list[Tracer]
) -> list[Tracer]:
    """Give the edited tensors their values and return the ys. In a session's graph the ys wait for the assignments."""
    before = builder.updates()
    for what, value in zip(edited, values):
        if isinstance(builder, StaticGraph):
            builder.become(what, value)
        else:
            with in_mode(recording=current.mode.recording and id(what) in builder.recorded_in_parts):
                builder.take(what, value)
    return builder.after_updates(ys, before)


def outside_of(*parts: Subgraph, but: Sequence[Any] = ()) -> list[Any]:
    """The outside tensors that the parts read, each once."""
    found = {id(c.what): c.what for part in parts for c in part.captured.values()}
    return [what for key, what in found.items() if key not in set(map(id, but))]


def is_value(leaf: Any) -> bool:
    """Whether a leaf can be a value in a graph: a tensor, an array, a number."""
    return isinstance(leaf, Operand | np.ndarray | np.generic | int | float)


def fill_tree(tree: Any, ys: Iterable[Any]) -> Any:
    """The tree with its values replaced by the ys."""
    return replace_leaves(tree, is_value, ys)


def as_loop_vars(loop_vars: Any, result: Any) -> Any:
    """The result of a body, in the structure of the loop variables. A single variable may be returned bare."""
    if isinstance(loop_vars, tuple | list) and len(loop_vars) == 1 and not isinstance(result, tuple | list):
        result = (result,)
    if type(loop_vars) is list and isinstance(result, tuple):
        return list(result)
    if type(loop_vars) is tuple and isinstance(result, list):
        return tuple(result)
    return result


class Side(NamedTuple):
    """One of two structures that must match.

    builder    the graph of its values
    tree       its values, with their structure
    words      its name in error messages
    """

    builder: GraphBuilder
    tree: Any
    words: str


def match_sides(one: Side, other: Side, law: str, hint: str = "", opened: Collection[int] = ()) -> list[list[Tracer]]:
    """The values of both sides, as operands in their graphs. Raises an error if structure, dtype or shape differ.

    law       the rule that the error message states
    hint      what to do about a wrong shape
    opened    lengths of side `one` that may be any length on side `other`
    """
    try:
        beside = leaves_beside(one.tree, other.tree)
    except ShapeError as reason:
        raise ShapeError(f"{law}: {one.words} and {other.words} differ: {reason}") from None
    found: list[list[Tracer]] = [[], []]
    for path, x, y in zip(paths(one.tree, "result"), leaves(one.tree), beside):
        if is_value(x) and is_value(y):
            found[0].append(one.builder.lift(x, y.spec if isinstance(y, Operand) else None))
            found[1].append(other.builder.lift(y, x.spec if isinstance(x, Operand) else None))
            a, b = found[0][-1].spec, found[1][-1].spec
            differ = f"{law}: {path} is {a} {one.words}, and {b} {other.words}"
            if a.dtype != b.dtype:
                raise DTypeError(f"{differ}. Use .astype(), or begin with mg.tensor(…, dtype=…)")
            same_lengths = all(n == m or n in opened for n, m in zip(a.shape, b.shape))
            if (a.ndim, a.device) != (b.ndim, b.device) or not same_lengths:
                raise ShapeError(differ + hint)
        elif x is not y and (is_value(x) or is_value(y) or x != y):
            raise GraphError(f"{law}: {path} is {format_leaf(x)} {one.words}, and {format_leaf(y)} {other.words}")
    return found


def format_leaf(leaf: Any) -> str:
    """A leaf in an error message: its spec, or its repr."""
    return str(leaf.spec) if isinstance(leaf, Operand) else repr(leaf)


def names_of_variables(body: Any, loop_vars: Any) -> list[str]:
    """The names that a body has for its variables; [] if they are unknown."""
    if hasattr(body, "names"):
        return list(body.names)
    code = getattr(inspect.unwrap(body), "__code__", None)
    if code is None or code.co_argcount != len(loop_vars):
        return []
    named = [(paths(x, name), leaves(x)) for name, x in zip(code.co_varnames, loop_vars)]
    return [path for some in named for path, leaf in zip(*some) if is_value(leaf)]


def wrapping(f: Callable[..., Any], g: Callable[..., Any]) -> Callable[..., Any]:
    """g, a wrapper of f, with f as its __wrapped__, so that errors and drawings name f."""
    return update_wrapper(g, f, assigned=(), updated=())


def place_of(f: Any) -> str:
    """The file and line of a function."""
    code = getattr(inspect.unwrap(f), "__code__", None)
    return repr(f) if code is None else spot(code.co_filename, code.co_firstlineno)


def shapes_in(tree: Any) -> list[Any]:
    """The shapes in a structure of shapes: tuples or lists of numbers and None, or objects with a shape."""
    if tree is None or hasattr(tree, "shape"):
        return [getattr(tree, "shape", None)]
    if isinstance(tree, dict):
        return [shape for branch in tree.values() for shape in shapes_in(branch)]
    if all(n is None or isinstance(n, int) for n in tree):
        return [tuple(tree)]
    return [shape for branch in tree for shape in shapes_in(branch)]
