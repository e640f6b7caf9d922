"""The pipeline: run the passes one after another, and report what each one changed.

    optimised(graph)            the graph after all of STANDARD
    steps(graph)                the graph after each pass, with nodes, bytes and optionally seconds; prints as a table

STANDARD changes no bit of any result. FAST may add and multiply in another order, as compilers do with -ffast-math:
results differ by rounding, and 0 may become −0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import wrap

from ....engine.base.spec import Specs
from ....engine.core.graph import Graph
from ....engine.ops import ControlDep, TupleGet
from ....engine.tensor.precision import widen_graph
from ....engine.tensor.rewrite import RULES, share, simplify
from .dce import dce
from .decompose import decompose
from .fast_math import BY_BLAS, FAST_MATH
from .fold import fold
from .fuse import epilogues, fuse
from .liveness import bytes_moved, ordered, peak_bytes
from .remat import QUICK, remat
from .transpose_rules import FAST_TRANSPOSES, narrow, transposes

Pass = Callable[[Graph], Graph]

STANDARD: tuple[Pass, ...] = (
    *(dce, narrow, partial(decompose, exact=True), fold, simplify, transposes, share),
    *(epilogues, remat, fuse, ordered),
)
BEGIN: tuple[Pass, ...] = (dce, narrow, decompose, fold)
END: tuple[Pass, ...] = (share, epilogues, partial(remat, ops=QUICK), partial(fuse, reductions=True), ordered)
BY_FAST_MATH = partial(simplify, rules=RULES + FAST_MATH)
FAST: tuple[Pass, ...] = (*BEGIN, BY_FAST_MATH, partial(transposes, rules=FAST_TRANSPOSES + BY_BLAS), *END)
# Native code sums directly, without a product with ones.
NATIVE: tuple[Pass, ...] = (*BEGIN, BY_FAST_MATH, partial(transposes, rules=FAST_TRANSPOSES), *END)


def optimised(graph: Graph, passes: Sequence[Pass] = STANDARD) -> Graph:
    """The graph after these passes. Before the first pass, the casts of half precision become nodes of the graph."""
    graph = widen_graph(graph)
    for each in passes:
        graph = each(graph)
    return graph


@dataclass(frozen=True)
class PassResult:
    """The graph after one pass.

    name           of the pass
    nodes          number of ops that run
    bytes_moved    bytes that they read and write
    peak_bytes     most bytes of computed arrays alive at one time, run op by op
    changed        whether the pass changed the graph
    seconds        duration of a run, if measured
    """

    name: str
    graph: Graph
    nodes: int
    bytes_moved: int
    peak_bytes: int
    changed: bool
    seconds: float | None = None


class PassResults(list[PassResult]):
    """The graph before all passes and after each. It prints as a table of the passes that changed something.

    idle    the passes that found nothing to change
    """

    idle = property(lambda self: [step.name for step in self if not step.changed])

    def __repr__(self) -> str:
        timed = any(step.seconds is not None for step in self)
        rows = [("pass", "nodes", "bytes moved", "peak bytes", *["ms"] * timed)]
        for step in self:
            if step.changed:
                time = [f"{1e3 * step.seconds:,.3f}"] if step.seconds is not None else [""] * timed
                rows.append((step.name, f"{step.nodes:,}", f"{step.bytes_moved:,}", f"{step.peak_bytes:,}", *time))
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:]))]).rstrip()
            for row in rows
        ]
        if self.idle:
            lines += wrap(f"nothing to change for {', '.join(self.idle)}", 80, subsequent_indent="  ")
        if any(map(is_open, self)):
            lines.append("bytes leave out arrays whose length is known only at run time")
        return "\n".join(lines)


def is_open(step: PassResult) -> bool:
    """Whether some length in the graph is unknown."""
    specs = [s for node in step.graph.nodes for s in (node.spec if isinstance(node.spec, Specs) else [node.spec])]
    return not all(spec.is_known for spec in specs)


def steps(
    graph: Graph, passes: Sequence[Pass] = STANDARD, measure: Callable[[Graph], float] | None = None
) -> PassResults:
    """The graph as given, and after each pass.

    measure    graph → seconds of a run; None to skip the measurement
    """
    way = PassResults([step("as written", graph, True, measure)])
    for each in passes:
        after = each(graph)
        way.append(step(name_of(each), after, listing(after) != listing(graph), measure))
        graph = after
    return way


def step(name: str, graph: Graph, changed: bool, measure: Callable[[Graph], float] | None) -> PassResult:
    """Count the nodes and bytes of one graph, and measure its run."""
    nodes = sum(1 for node in graph.nodes if node.inputs and not isinstance(node.op, TupleGet | ControlDep))
    seconds = None if measure is None else measure(graph)
    return PassResult(name, graph, nodes, bytes_moved(graph), peak_bytes(graph), changed, seconds)


def listing(graph: Graph) -> list[object]:
    """The ops in order, each with the indices of its operands: equal for graphs that run the same ops."""
    place = {node: i for i, node in enumerate(graph.nodes)}
    results = tuple(y and place[y] for y in graph.outputs)
    return [*((node.op, tuple(place[x] for x in node.inputs)) for node in graph.nodes), results]


def name_of(each: Pass) -> str:
    """The name of a pass."""
    return name_of(each.func) if isinstance(each, partial) else each.__name__
