"""Control flow as ops: branches and loops hold finished graphs, and are nodes like any other.

    Cond(true, false)       y = true(x) if p else false(x)
    While(test, body)       c = body(c) as long as test(c)
    Scan(body)              c, y[t] = body(c, x[t]) for each t, forwards or in reverse

The operands k are the values that a branch or a body reads from outside; all graphs of an op take the same k. A loop
returns its last carries c, and for each y of its body a stack with one row per step. The carries before each step are
among the ys, because backward recomputes the steps from them; a pass drops carries that nothing reads (passes/dce.py).
The derivative of a While or a Scan is a Scan in the opposite direction; the derivative of a Cond is a Cond. So
derivatives of every order exist. They are built in control_grad.py.

The last result of each op is True. It depends on every effect in the op's graphs, so reading it runs the effects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...engine.base.errors import ShapeError
from ...engine.base.spec import Spec, Specs, spec_of
from ...engine.core.graph import Graph
from ...engine.core.op import Op
from .control_grad import cond_gradients, loop_gradients
from .executable import Executable, compile_graph
from .passes.liveness import memory_of
from .passes.purify import STEPS, graphs_of
from .passes.specialise import specialise_graph
from .program.buffer import ProgramStep
from .program.source import Line, branch, for_loop, while_loop

if TYPE_CHECKING:
    from .program.emit import Lines


Run = Callable[[Graph, Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True, repr=False)
class Control(Op):
    """An op made of graphs. It has several results."""

    inline = False

    graphs = property(lambda self: tuple(graphs_of(self).values()), doc="Its graphs.")
    functions = cached_property(lambda self: {id(graph): Inner(graph) for graph in self.graphs})
    gives = property(lambda self: (self.body,), doc="The graphs whose results are the op's results.")

    @cached_property
    def effect(self) -> bool:  # type: ignore[override]
        return any(node.op.effect for graph in self.graphs for node in graph.nodes)

    def run(self, graph: Graph, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Run one of the op's graphs on these arrays."""
        return self.functions[id(graph)](*arrays)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(graph.nodes)} nodes" for graph in self.graphs)
        return f"{type(self).__name__}({sizes})"


@dataclass(frozen=True, repr=False)
class Cond(Control):
    """y = true(k) if p else false(k): the operands are p and k"""

    true: Graph
    false: Graph

    symbol = "if"
    gives = property(lambda self: (self.true, self.false))

    def infer(self, p: Spec, *k: Spec) -> Specs:  # type: ignore[override]
        accept(self, "branches", self.true, k)
        return Specs(results(self.true))

    def forward(self, xp: Any, p: Any, *k: Any) -> tuple[Any, ...]:
        chosen = self.true if p else self.false
        return copy_aliases(self.run(chosen, k), chosen, 1)

    def emit(self, lines: Lines, step: ProgramStep) -> list[Line]:
        return branch(self, lines, step)

    def vjp(self, gy: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        return cond_gradients(self, gy, y, *xs)

    def flops(self, y: Any, *xs: Any) -> int:
        return max(flops(self.true), flops(self.false))


class Loop(Control):
    """An op that runs its body repeatedly."""

    body: Graph
    carried: int

    def turns(self, xs: Sequence[Any], run: Run) -> tuple[Sequence[Any], list[Sequence[Any]]]:
        """The last carries, and the ys of each step. run(graph, operands) returns a graph's results."""
        raise NotImplementedError

    def forward(self, xp: Any, *xs: Any) -> tuple[Any, ...]:
        carries, rows = self.turns(xs, self.run)
        specs = results(self.body)[self.carried :]
        return *copy_aliases(carries, self.body, len(rows)), *(
            y.device.xp.stack([ys[i] for ys in rows]) if rows else y.device.xp.empty((0, *row(y)), y.dtype)
            for i, y in enumerate(specs)
        )

    def vjp(self, gy: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        return loop_gradients(self, Scan, gy, y, *xs)


@dataclass(frozen=True, repr=False)
class While(Loop):
    """c, ys = body(c, k) as long as test(c, k). Operands: c and k. Results: the last c, and stacks of the ys

    carried    the number of carries c

    The length of the stacks is unknown until the loop has run.
    """

    test: Graph
    body: Graph
    carried: int

    symbol = "while"
    sliced, reverse, length = 0, False, None  # fields of a Scan: no operand is sliced, and the length is unknown

    def infer(self, *xs: Spec) -> Specs:  # type: ignore[override]
        accept(self, "body", self.body, xs)
        carries = (x.spec for x in self.body.inputs[: self.carried])
        return Specs((*carries, *stack_specs(STEPS, results(self.body)[self.carried :])))

    def turns(self, xs: Sequence[Any], run: Run) -> tuple[Sequence[Any], list[Sequence[Any]]]:
        n, rows = self.carried, []
        carries, k = xs[:n], xs[n:]
        while run(self.test, (*carries, *k))[0]:
            ys = run(self.body, (*carries, *k))
            carries = ys[:n]
            rows.append(ys[n:])
        return carries, rows

    def emit(self, lines: Lines, step: ProgramStep) -> list[Line]:
        return while_loop(self, lines, step)

    def flops(self, y: Any, *xs: Any) -> int:
        return STEPS * (flops(self.test) + flops(self.body))  # type: ignore[no-any-return]


@dataclass(frozen=True, repr=False)
class Scan(Loop):
    """c, y[t] = body(c, x[t], k) for each t. Operands: c, x and k. Results: the last c, and stacks of the ys

    carried    the number of carries c
    sliced     the number of x, whose first axis is t
    reverse    whether t runs from last to first
    length     the number of steps, if there is no x that determines it
    """

    body: Graph
    carried: int
    sliced: int
    reverse: bool = False
    length: int | None = None

    symbol = "scan"

    def steps(self, xs: Sequence[Any]) -> Any:
        """The number of steps."""
        return xs[self.carried].shape[0] if self.sliced else self.length

    def infer(self, *xs: Spec) -> Specs:  # type: ignore[override]
        n, m = self.carried, self.carried + self.sliced
        lengths = {x.shape[0] for x in xs[n:m]}
        if len(lengths) > 1:
            raise ShapeError(f"{self} scans the first axis of {', '.join(map(str, xs[n:m]))}, whose lengths differ")
        accept(self, "body", self.body, (*xs[:n], *(x.with_shape(x.shape[1:]) for x in xs[n:m]), *xs[m:]))
        ys = results(self.body)
        return Specs((*ys[:n], *stack_specs(self.steps(xs), ys[n:])))

    def turns(self, xs: Sequence[Any], run: Run) -> tuple[Sequence[Any], list[Sequence[Any]]]:
        n, m, steps, rows = self.carried, self.carried + self.sliced, range(self.steps(xs)), []
        carries, slices, k = xs[:n], xs[n:m], xs[m:]
        for t in reversed(steps) if self.reverse else steps:
            ys = run(self.body, (*carries, *[x[t, ...] for x in slices], *k))
            carries = ys[:n]
            rows.append(ys[n:])
        return carries, rows[::-1] if self.reverse else rows

    def emit(self, lines: Lines, step: ProgramStep) -> list[Line]:
        return for_loop(self, lines, step)

    def flops(self, y: Any, *xs: Any) -> int:
        return self.steps(xs) * flops(self.body)  # type: ignore[no-any-return]


# -- specs ------------------------------------------------------------------------------------------


def results(graph: Graph) -> tuple[Spec, ...]:
    """The specs of the graph's outputs."""
    return tuple(y.spec for y in graph.outputs if y is not None)


def stack_specs(steps: int, specs: Iterable[Spec]) -> Iterable[Spec]:
    """The specs of stacks with one row per step."""
    return (spec.with_shape((steps, *spec.shape)) for spec in specs)


def row(spec: Spec) -> tuple[int, ...]:
    """The shape of a stack's row if no step has run; all zeros if a length is unknown."""
    return spec.shape if spec.is_known else (0,) * spec.ndim


def accept(op: Op, part: str, graph: Graph, xs: Sequence[Spec]) -> None:
    """Raises ShapeError if the operands' specs differ from those the graph was built for."""
    wanted = [x.spec for x in graph.inputs]
    fits = len(wanted) == len(xs) and all(
        w == x or (w.with_shape(()) == x.with_shape(()) and w.ndim == x.ndim and not (w.is_known and x.is_known))
        for w, x in zip(wanted, xs)
    )
    if not fits:
        raise ShapeError(f"{op}: {part} built for operands {wanted}, got {list(xs)}")


def flops(graph: Graph) -> int:
    """Floating-point operations of one run of the graph."""
    return sum(node.op.flops(node.spec, *(x.spec for x in node.inputs)) for node in graph.nodes if node.inputs)


# -- running ----------------------------------------------------------------------------------------


class Inner:
    """One graph of an op as a function of arrays, compiled at first call, or once per shape if lengths are unknown."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.is_open = not all(x.spec.is_known for x in graph.inputs)
        self.made: dict[tuple[Spec, ...], Executable] = {}

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        specs = tuple(map(spec_of, arrays)) if self.is_open else ()
        run = self.made.get(specs)
        if run is None:
            run = self.made[specs] = compile_graph(specialise_graph(self.graph, specs) if specs else self.graph)
        return run(*arrays)


def copy_aliases(ys: Sequence[Any], graph: Graph, steps: int) -> tuple[Any, ...]:
    """The results of a graph. Results that may alias an operand are copied; if no step ran, all are copied."""
    home = memory_of(graph.nodes)
    looks = [y is not None and not home[y].inputs for y in graph.outputs]
    return tuple(y.copy() if steps == 0 or look else y for y, look in zip(ys, looks))
