"""The buffers of one call at a time, and what was recorded on them.

One node of a graph, run on a machine: a kernel, a matrix product, or the op's own forward.

kernel    fused groups, and every elementwise op that C can say; written into its buffer
product   MatMul and Affine, by cuBLAS; written into its buffer
call      everything else, by op.forward(xp, …), in memory of its own

A graph on a GPU: run once, recorded once, and replayed.

The first call runs node by node, so that every kernel is compiled and every library has started. The second is recorded
as it runs: its launches become one CUDA graph, which from then on starts with a single call, whatever its length. What
cannot be recorded (an effect, a factorisation, a sort) splits it: parts are replayed, and what is between them is run.

    copy in what moved  ·  replay  ·  run  ·  replay  ·  copy out the results

An input that comes twice at the same address, as parameters do, is bound: the recording reads it where it is. Others
are copied into buffers of their own. Nothing here waits for the GPU.

It has run on the simulated device, which obeys the same rules, and with kernels executed on the CPU; not on a GPU yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any, Literal

from ... import ops
from ...base.device import Device
from ...base.errors import ShapeError
from ...base.spec import Specs
from ...compiler.passes.fuse import Fused, alone
from ...core.graph import Graph
from ...core.node import Node
from ...core.op import Elementwise
from ...ops import Affine, ControlDep, Input, MatMul, Move, RandomChoice, RandomPermutation, StopGradient, TupleGet
from ...tensor.interpret import is_constant, value
from .arena import Arena, arena, late
from .c import NotWritten
from .kernel import Kernel
from .kernel import kernel as kernel_of
from .machine import Machine, Run, machine_of, multiply

Place = tuple[int, tuple[int, ...]]


class ReplayState:
    """Runs a program: first plainly, then recording, then replaying.

    before      where the arrays of the last call were
    bound       input → the array whose address was recorded, which is kept alive so that the address is its own
    moving      input → the buffer it is copied into at each call
    recorded    what to do, one after another
    pool        where the recordings allocated: theirs as long as they can be replayed
    """

    def __init__(self, program: Replay):
        self.program, self.machine, self.plan = program, program.machine, program.plan
        self.memory = self.machine.xp.empty(max(self.plan.size, 1), "u1")
        self.values: dict[Node, Any] = {}
        self.left: dict[Kernel, list[Any]] = {}
        self.before: list[Place] = []
        self.bound: dict[int, Any] = {}
        self.moving: dict[int, Any] = {}
        self.recorded: list[Callable[[], None]] = []
        self.pool: Any = None

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        now = [self.place(a) for a in arrays]
        if not self.before and arrays:
            self.plainly(arrays)
        elif not self.recorded or any(now[i] != self.place(x) for i, x in self.bound.items()):
            self.record(arrays, now)
        else:
            self.fill(arrays)
            for part in self.recorded:
                part()
        self.before = now
        ys = self.results(arrays)
        if not self.recorded:
            self.values = {}
        return ys

    def place(self, array: Any) -> Place:
        """Where an array lies, and how."""
        return self.machine.address(array), array.strides

    # -- running -------------------------------------------------------------------------------------

    def plainly(self, arrays: tuple[Any, ...]) -> None:
        """Every node once, on the arrays themselves."""
        self.values = dict(zip(self.program.graph.inputs, arrays))
        for _, nodes in self.program.parts:
            for node in nodes:
                self.run(node)
                for x in self.program.last_read.get(node, ()):
                    del self.values[x]

    def run(self, node: Node) -> None:
        """One node, on the arrays of the others."""
        steps, plan = self.program.steps, self.plan
        route = self.program.writers.get(node)
        if route is None:
            self.values[node] = steps.call(node, self.values)
            return
        specs = node.spec if isinstance(node.spec, Specs) else (node.spec,)
        results = plan.results.get(node, {})
        outs = [
            self.buffer(results[i]) if i in results else self.machine.xp.empty(spec.shape, spec.dtype)
            for i, spec in enumerate(specs)
        ]
        if route == "kernel":
            steps.kernel(node, self.values, outs, plan.over[node], self.left)
        else:
            steps.product(node, self.values, outs[0])
        self.values[node] = tuple(outs) if isinstance(node.spec, Specs) else outs[0]

    def buffer(self, y: Node) -> Any:
        """Where a result is written."""
        if y in self.plan.adopted:
            return self.values[self.plan.adopted[y]]
        start = self.plan.buffers[y].offset
        assert start is not None, "the plan gives a place to everything that is written"
        return self.memory[start : start + y.spec.nbytes].view(y.spec.dtype).reshape(y.spec.shape)

    def results(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """What is returned. Copies first: some may look at inputs that are then written over."""
        graph, into, adopted = self.program.graph, self.program.into, self.plan.adopted
        given: list[Any] = []
        for i, y in enumerate(graph.outputs):
            copied = y is not None and (i not in into or not self.plan.home[y].inputs)
            given.append(None if y is None else self.values[y].copy() if copied else self.values[y])
        for i, x in into.items():
            y = graph.outputs[i]
            if y is not None and adopted.get(y) is not graph.inputs[x]:
                arrays[x][...] = given[i]
            given[i] = arrays[x]
        return tuple(given)

    # -- recording -----------------------------------------------------------------------------------

    def fill(self, arrays: tuple[Any, ...]) -> None:
        """What is not bound, copied to where it was recorded."""
        for i, buffer in self.moving.items():
            buffer[...] = arrays[i]

    def record(self, arrays: tuple[Any, ...], now: list[Place]) -> None:
        """Records every part, and runs it."""
        inputs, targets = self.program.graph.inputs, self.program.into.values()
        for i, x in enumerate(inputs):
            if i in targets or (now[i] == self.before[i] and i not in self.moving):
                self.bound[i] = arrays[i]
            elif i not in self.moving:
                self.bound.pop(i, None)
                self.moving[i] = self.machine.xp.empty(x.spec.shape, x.spec.dtype)
        self.fill(arrays)
        self.values = {x: (self.bound | self.moving)[i] for i, x in enumerate(inputs)}
        self.recorded = []
        self.pool = self.machine.pool()
        for recordable, nodes in self.program.parts:
            part = self.part(nodes) if recordable else self.stretch(nodes)
            part()
            self.recorded.append(part)

    def part(self, nodes: list[Node]) -> Callable[[], None]:
        """Nodes that are replayed; what they doubt (device.refuse) is put to the device again each time."""
        device = self.program.device
        known = dict(device.doubts)
        device.doubts.clear()

        def all_of_them() -> None:
            for node in nodes:
                self.run(node)
                for x in self.program.last_read.get(node, ()):
                    if x not in self.program.awaited:
                        self.values.pop(x, None)  # its memory is the pool's again, for the next node to take

        try:
            launch = self.machine.record(all_of_them, self.pool)
            doubts = list(device.doubts.values())
        finally:
            device.doubts.clear()
            device.doubts.update(known)

        def replayed() -> None:
            launch()
            for error, wrong in doubts:
                device.refuse(wrong, error)

        return replayed

    def stretch(self, nodes: list[Node]) -> Callable[[], None]:
        """Nodes that run each time anew; what they make is copied to where the parts that follow read it."""
        kept: dict[Node, Any] = {}

        def run() -> None:
            for node in nodes:
                self.run(node)
                made = self.values[node]
                if isinstance(node.spec, Specs):
                    continue  # its pieces are copied
                if node in kept:
                    kept[node][...] = made
                else:
                    kept[node] = made.copy()
                self.values[node] = kept[node]

        return run


Route = Literal["kernel", "product", "call"]

# Families of ops whose forward launches, and does nothing else: no value is read, no library called that cannot be
# recorded. A test holds them to it on the simulated device. What is not listed runs between the recorded parts.
RECORDED = {
    *("arithmetic", "comparison", "pointwise", "activation", "special", "movement", "reduce", "softmax", "standardise"),
    *("pattern", "leaf", "product", "index", "scan", "convolution", "pooling", "recurrent", "random"),
}
SORTED = RandomPermutation | RandomChoice  # CuPy sorts with thrust, which waits


def is_recordable(node: Node) -> bool:
    """Whether what the op's own forward launches can be recorded."""
    op = node.op
    if isinstance(op, TupleGet):
        return isinstance(node.inputs[0].op, Fused) or is_recordable(node.inputs[0])
    home, _, family = type(op).__module__.rpartition(".")
    known = home == ops.__name__ and (family in RECORDED or isinstance(op, StopGradient | ControlDep))
    return known and not op.effect and not isinstance(op, Move | SORTED)


def route_of(node: Node) -> Route:
    """How the node runs."""
    if isinstance(node.op, MatMul | Affine):
        same = all(x.spec.dtype == node.spec.dtype for x in node.inputs)
        return "product" if same and node.spec.dtype.char in "fde" else "call"
    try:
        return "call" if group(node) is None else "kernel"
    except NotWritten:
        return "call"


def group(node: Node) -> Fused | None:
    """The node as a fused group; None if it is no loop. Raises NotWritten where C has no words for it."""
    if isinstance(node.op, Fused):
        found = node.op
    elif isinstance(node.op, Elementwise) and node.inputs and not node.op.effect:
        found = Fused(alone(node.op, tuple(x.spec for x in node.inputs)))
    else:
        return None
    kernel_of(found, [x.spec for x in node.inputs])
    return found


class NodeRunner:
    """Runs nodes, and keeps what it made for them: constants, and a kernel for each order of operands in memory.

    values    node → its array; of several results, a tuple
    outs      where the results of a kernel or a product are written
    """

    def __init__(self, machine: Machine):
        self.machine = machine
        self.constants: dict[Node, Any] = {}
        self.kernels: dict[tuple[Node, tuple[tuple[int, ...], ...]], tuple[Kernel, Run]] = {}

    def call(self, node: Node, values: Mapping[Node, Any]) -> Any:
        """What the op's own forward gives."""
        if is_constant(node):
            if node not in self.constants:
                self.constants[node] = value(node)
            return self.constants[node]
        return node.op.forward(self.machine.xp, *(values[x] for x in node.inputs))

    def product(self, node: Node, values: Mapping[Node, Any], out: Any) -> None:
        """x @ y, or x W + b, into `out`."""
        x, y, *bias = (values[x] for x in node.inputs)
        if isinstance(node.op, Affine):
            x, y = x.reshape(-1, x.shape[-1]), y.T if node.op.transposed else y
            out = out.reshape(x.shape[0], out.shape[-1])
        if out.size:
            multiply(self.machine, x, y, out)
        for b in bias:
            self.machine.xp.add(out, b, out=out)

    def kernel(
        self,
        node: Node,
        values: Mapping[Node, Any],
        outs: list[Any],
        over: frozenset[tuple[int, int]],
        left: dict[Kernel, list[Any]],
    ) -> None:
        """A fused group, into `outs`.

        left    what a kernel's first pass leaves for its second, kept from call to call
        """
        xs = [values[x] for x in node.inputs]
        steps = tuple(tuple(s // x.itemsize for s in x.strides) for x in xs)
        if (node, steps) not in self.kernels:
            fused = group(node)
            assert fused is not None
            made = kernel_of(fused, [x.spec for x in node.inputs], steps, over)
            self.kernels[node, steps] = made, self.machine.load(made, fused)
        made, run = self.kernels[node, steps]
        if made not in left:
            left[made] = [self.machine.xp.empty(s.shape, s.dtype) for s in made.partials]
        run(xs, outs, left[made])


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
        self.steps = NodeRunner(self.machine)
        self.writers = {node: route for node in graph.nodes if (route := route_of(node)) != "call"}
        self.parts = parts(graph, self.writers)
        self.plan: Arena = arena(graph, self.writers, targets)
        self.last_read = last_read(graph, self.plan)
        self.awaited = {x for recorded, nodes in self.parts if not recorded for node in nodes for x in node.inputs}
        self.idle: list[ReplayState] = []

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        came = [(a.shape, a.dtype) for a in arrays]
        if came != [(x.spec.shape, x.spec.dtype) for x in self.graph.inputs]:
            raise ShapeError(f"this program takes {[x.spec for x in self.graph.inputs]}, and got {came}")
        if not all(arrays[x].flags.c_contiguous for x in self.into.values()):
            return self.through_copies(arrays)
        try:
            state = self.idle.pop()
        except IndexError:
            state = ReplayState(self)
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
