"""From a graph to something that runs: the one way, whoever asks (a session, a traced function, a branch, a loop).

    compiled(graph)                             an Executable: arrays in, arrays out

What it becomes is decided by where its arrays are (`programs` of their Device), and by whether a NaN is looked for:

    all on the CPU                  a Program: one Python function of NumPy calls, its memory planned
    some on a GPU                   a Replay: a kernel for each fused group, recorded and replayed; what is on the CPU
                                    runs between the recordings
    in a block of trap_nan()        op by op, each result looked at                                          (blame.py)
    where a run failed              op by op, once more, until an op fails, which the error names            (blame.py)

Nothing else interprets arrays. Tensors whose every op is to be seen are not its business: on_tensors, in graph/.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ...engine.base.device import CPU, Device
from ...engine.base.errors import BoundsError, GraphError, MinigradError
from ...engine.base.spec import Specs
from ...engine.core.graph import Graph
from ...engine.core.node import Node
from ...engine.ops import Clone, Const, Input
from .blame import interrupts, located, trap_nan, walk_now
from .passes.liveness import memory_of
from .passes.pipeline import STANDARD, Pass, optimised

KNOWN = {FloatingPointError, RuntimeWarning}  # NumPy's, that users ask for


class Executable:
    """(array of each input) → (array of each output); None where an output is None.

    graph      as it was built: what runs op by op
    program    the same, compiled

    If a run fails, the error names the op that failed, and the line where it was built. A run that a signal handler
    stops, for example at a time limit, has not failed: the handler's own error is raised, and nothing runs again.
    """

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
        """Raises the error of a run as one that names the op, and its line; nothing where it does, or none is found."""
        told = isinstance(error, AssertionError) or getattr(error, "located", False)  # in the user's own words, or ours
        found = None if told or interrupts(error) else located(self, arrays)
        if found is not None:
            where, why = found
            is_known = isinstance(why, MinigradError) or type(why) in KNOWN
            kind = BoundsError if type(why) is IndexError else type(why) if is_known else GraphError
            named: Any = kind(f"{where}: {why}")
            named.located = True
            raise named from error

    def trapped(self, *arrays: Any) -> tuple[Any, ...]:
        """The same op by op. Raises AnomalyError at the first op that makes a NaN or an infinity of finite numbers."""
        with trap_nan():
            return self(*arrays)

    @property
    def source(self) -> str:
        """The text that runs: Python, or the kernels that have run."""
        return str(getattr(self.program, "source", ""))

    @property
    def c_source(self) -> str:
        """The C++ that its parts are; none where NumPy does all."""
        return str(getattr(self.program, "c_source", ""))


def compiled(
    graph: Graph,
    passes: Sequence[Pass] = STANDARD,
    threads: int = 1,
    program: Callable[..., Callable[..., tuple[Any, ...]]] | None = None,
    into: Mapping[int, int] | None = None,
    finish: Callable[[Graph], Graph] = lambda graph: graph,
) -> Executable:
    """The graph, compiled for the device that it is on.

    program   what it becomes on the CPU, if that is not a Program
    into      output → input, in whose own array it is written, once nobody reads its old value
    finish    what is done to the graph at the very end, in either form
    """
    made = finish(optimised(graph, passes))
    device = device_of(graph)
    make = program if program is not None and device is CPU else device.program
    return Executable(finish(graph), make(made, threads, into))


def device_of(graph: Graph) -> Device:
    """The device on which a graph runs: that of its arrays; of several, the one that is not the CPU."""
    specs = (spec for x in graph.nodes for spec in (x.spec if isinstance(x.spec, Specs) else (x.spec,)))
    return next((spec.device for spec in specs if spec.device is not CPU), CPU)


def owned(graph: Graph, written: Graph | None = None, into: Collection[int] = ()) -> Graph:
    """The graph with copies where one result would share the memory of another, of an input or of a constant.

    written    the graph as it was built, of which those results that share memory there may share it here
    into       outputs that are written into an array of their own

    Two ops on equal operands became one, x + 0 became x: of that the caller, who may edit a result, must see nothing.
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
    """Whether its memory belongs to somebody else."""
    return isinstance(node.op, Input | Const)
