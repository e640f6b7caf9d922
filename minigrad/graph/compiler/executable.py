"""Compile a graph into an Executable. Sessions, traced functions, branches and loops all use this module.

    compile_graph(graph)                        an Executable: arrays in, arrays out

How an Executable runs depends on the device of its arrays (see Device.program), and on whether trap_nan() is active:

    all on the CPU                  a Program: one Python function of NumPy calls, its memory planned
    some on a GPU                   a Replay: a kernel for each fused group, recorded and replayed; ops on the CPU
                                    run between the recordings
    in a block of trap_nan()        op by op; each result is checked                                         (blame.py)
    after a failed run              again op by op, until an op fails; the error names it                    (blame.py)

Runs of a graph on tensors, where each op is visible, are in graph/eager_interpreter.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any

from ...engine.base.device import CPU, Device
from ...engine.base.errors import BoundsError, GraphError, MinigradError
from ...engine.base.spec import Specs
from ...engine.core.graph import Graph
from ...engine.core.node import Node
from ...engine.ops import Clone, Const, Input
from .blame import find_failing_op, interrupts, trap_nan, walk_now
from .passes.liveness import memory_of
from .passes.pipeline import NATIVE, STANDARD, Pass, optimised

KNOWN = {FloatingPointError, RuntimeWarning}  # NumPy raises these only if the user has asked for it


class Executable:
    """A compiled graph: it maps the inputs' arrays to the outputs' arrays; an output that is None stays None.

    graph      the graph before optimisation, for runs op by op
    program    the compiled graph

    If a run fails, the error names the op that failed and the line where it was built. If a signal handler stops a run,
    for example at a time limit, the handler's own error is raised and nothing runs again.
    """

    source = property(
        lambda self: str(getattr(self.program, "source", "")),
        doc="The source that runs: Python on the CPU; on a GPU, the text of the kernels that have run so far.",
    )
    c_source = property(lambda self: str(getattr(self.program, "c_source", "")), doc="The C++ of the program's parts.")
    tiers = property(lambda self: "", doc="Which calls run which program, and why; empty if all run the same one.")

    def __init__(self, graph: Graph, program: Callable[..., tuple[Any, ...]]):
        self.graph, self.program = graph, program

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        walk = walk_now.get()
        if walk is not None:
            return walk(self, arrays)
        try:
            return self.program(*arrays)
        except Exception as error:
            self.blame(error, arrays)
            raise

    def blame(self, error: Exception, arrays: Sequence[Any]) -> None:
        """Raise the error again, naming the op and its line. Return if it already names them, or if no op fails."""
        told = isinstance(error, AssertionError) or getattr(error, "located", False)  # the user's error, or complete
        found = None if told or interrupts(error) else find_failing_op(self, arrays)
        if found is not None:
            where, why = found
            is_known = isinstance(why, MinigradError) or type(why) in KNOWN
            kind = BoundsError if type(why) is IndexError else type(why) if is_known else GraphError
            named: Any = kind(f"{where}: {why}")
            named.located = True
            raise named from error

    def run_trapping_nan(self, *arrays: Any) -> tuple[Any, ...]:
        """Run op by op. Raises AnomalyError at the first op that makes a NaN or an infinity from finite numbers."""
        with trap_nan():
            return self(*arrays)


def compile_graph(
    graph: Graph, passes: Sequence[Pass] = STANDARD, threads: int | None = None,
    program: Callable[..., Callable[..., tuple[Any, ...]]] | None = None,
    tiered: Callable[..., Executable] | None = None,
    into: Mapping[int, int] | None = None, finish: Callable[[Graph], Graph] = lambda graph: graph,
) -> Executable:  # fmt: skip
    """The graph, compiled for its device.

    program   builds the program if the graph runs on the CPU; by default Program
    tiered    makes an Executable from a Program for the first calls and a function that compiles its replacement
    into      index of an output → index of the input whose array it overwrites, after the last read of the old value
    finish    a last pass, applied to both the graph as built and the optimised graph
    """
    made = finish(optimised(graph, passes))
    device = device_of(graph)
    make = program if program is not None and device is CPU else device.program
    if make is not program or tiered is None:
        return Executable(finish(graph), make(made, threads, into))
    first = device.program(made, threads, into)
    return tiered(finish(graph), first, lambda: make(finish(optimised(graph, NATIVE)), threads, into))


def device_of(graph: Graph) -> Device:
    """The device on which a graph runs: the first among the devices of its arrays that is not the CPU, else the CPU."""
    for spec in map(attrgetter("spec"), graph.nodes):
        for each in spec if isinstance(spec, Specs) else (spec,):
            if each.device is not CPU:
                return each.device
    return CPU


def unalias_outputs(graph: Graph, written: Graph | None = None, into: Collection[int] = ()) -> Graph:
    """The graph with a Clone on each result that would share memory with another result, an input or a constant.

    written    the graph before optimisation; results that share memory in it may still share memory
    into       indices of the outputs that are written into the array of an input

    Passes merge equal ops and turn x + 0 into x. A caller that edits one result must not change another array.
    """
    home = memory_of([*graph.nodes, *([] if written is None else written.nodes)])
    seen: dict[Node, Node] = {}
    outputs: list[Node | None] = []
    for i, y in enumerate(graph.outputs):
        if y is not None and not isinstance(y.spec, Specs):
            was = None if written is None else written.outputs[i] if i < len(written.outputs) else y
            op = Clone() if was is None else was.op
            own = Node(op, (), y.spec) if was is None or i in into else home[was]
            if seen.setdefault(home[y], own) is not own or (is_given(home[y]) and not is_given(own)):
                y = Node(Clone(), (y,))
        outputs.append(y)
    return graph.with_outputs(tuple(outputs))


def is_given(node: Node) -> bool:
    """Whether the node's memory belongs to the caller or to the graph: an input or a constant."""
    return isinstance(node.op, Input | Const)
