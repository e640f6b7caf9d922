"""A graph on a GPU: run once, recorded once, and replayed.

The first call runs node by node, so that every kernel is compiled and every library has started. The second is recorded
as it runs: its launches become one CUDA graph, which from then on starts with a single call, whatever its length. What
cannot be recorded (an effect, a factorisation, a sort) splits it: parts are replayed, and what is between them is run.

    copy in what moved  ·  replay  ·  run  ·  replay  ·  copy out the results

An input that comes twice at the same address, as parameters do, is bound: the recording reads it where it is. Others
are copied into buffers of their own (state.py). Nothing here waits for the GPU.

It has run on the simulated device, which obeys the same rules, and with kernels executed on the CPU; not on a GPU yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from ...device import Device
from ...errors import ShapeError
from ...node import Node
from ...ops import Input
from ...spec import Specs
from ..graph import Graph
from ..interpret import is_constant
from .arena import Arena, arena, late
from .kernel import Kernel
from .machine import Machine, machine_of
from .state import State
from .steps import Route, Steps, is_recordable, route_of


class Replay:
    """(array of each input) → (array of each output); None where an output is None.

    threads    of a GPU's own there are enough: 1, or what the CPU's programs are given
    into       output → input, in whose own array it is written, once nobody reads its old value
    machine    what launches; that of the graph's device

    writers    the nodes that write where the plan says → how: a kernel, or a matrix product
    parts      the nodes in the order in which they run, in stretches: (whether it is recorded, its nodes)

    What is handed out is the caller's. A call that comes while another is running has buffers of its own.
    """

    def __init__(
        self,
        graph: Graph,
        threads: int = 1,
        into: Mapping[int, int] | None = None,
        machine: Machine | None = None,
    ):
        self.into = dict(into or {})
        targets = {y: graph.inputs[x] for i, x in self.into.items() if (y := graph.outputs[i]) is not None}
        self.graph = graph = late(graph, targets)
        self.device = device_of(graph)
        self.machine = machine or machine_of(self.device)
        self.steps = Steps(self.machine)
        self.writers = {node: route for node in graph.nodes if (route := route_of(node)) != "call"}
        self.parts = parts(graph, self.writers)
        self.plan: Arena = arena(graph, self.writers, targets)
        self.last_read = last_read(graph, self.plan)
        self.awaited = {x for recorded, nodes in self.parts if not recorded for node in nodes for x in node.inputs}
        self.idle: list[State] = []

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        came = [(a.shape, a.dtype) for a in arrays]
        if came != [(x.spec.shape, x.spec.dtype) for x in self.graph.inputs]:
            raise ShapeError(f"this program takes {[x.spec for x in self.graph.inputs]}, and got {came}")
        if not all(arrays[x].flags.c_contiguous for x in self.into.values()):
            return self.through_copies(arrays)
        try:
            state = self.idle.pop()
        except IndexError:
            state = State(self)
        try:
            return state(*arrays)
        finally:
            self.idle.append(state)

    def through_copies(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """A call with parameters that do not lie in memory as kernels write: on copies, and back."""
        ys = list(self(*map(self.machine.xp.ascontiguousarray, arrays)))
        for y, x in self.into.items():
            arrays[x][...] = ys[y]
            ys[y] = arrays[x]
        return tuple(ys)

    @property
    def kernels(self) -> list[Kernel]:
        """Those that have run, each once."""
        return list(dict.fromkeys(kernel for kernel, _ in self.steps.kernels.values()))

    @property
    def source(self) -> str:
        """Their text."""
        return "\n".join(dict.fromkeys(kernel.text for kernel in self.kernels))

    @property
    def peak_bytes(self) -> int:
        """Bytes of the block in which kernels and matrix products write."""
        return self.plan.size


def device_of(graph: Graph) -> Device:
    """The device on which a graph runs: that of its first input; without inputs, of what it gives."""
    nodes = [*graph.inputs, *(y for y in graph.outputs if y is not None)]
    return nodes[0].spec.device


def parts(graph: Graph, writers: Mapping[Node, Route]) -> list[tuple[bool, list[Node]]]:
    """The nodes in the order in which they run; of each stretch, whether it is recorded."""
    nodes = [node for node in graph.nodes if not isinstance(node.op, Input)]
    stretches = groupby(nodes, lambda node: node in writers or is_constant(node) or is_recordable(node))
    return [(recorded, list(part)) for recorded, part in stretches]


def last_read(graph: Graph, plan: Arena) -> dict[Node, list[Node]]:
    """Node → those whose arrays nobody needs once it has run."""
    order = graph.nodes
    place = {node: i for i, node in enumerate(order)}
    until = {node: plan.last.get(plan.home[node], place[node]) for node in order}
    for node in order:
        for x in node.inputs:
            if isinstance(x.spec, Specs):  # as long as its pieces
                until[x] = max(until[x], until[node])
    done: dict[Node, list[Node]] = {}
    for node, i in until.items():
        if node.inputs and i < len(order):
            done.setdefault(order[i], []).append(node)
    return done
