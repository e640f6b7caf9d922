"""A graph on a GPU: run once, recorded once, then replayed.

The first call runs node by node, so that every kernel is compiled and every library is initialised:

    kernel     fused groups, and every elementwise op that has a C expression; written into its planned buffer
    product    MatMul and Affine, by cuBLAS; written into its planned buffer
    call       everything else, by op.forward(xp, …), in memory of its own

The second call is recorded as it runs: its launches become one CUDA graph, which later starts with a single call,
whatever its length. Nodes that cannot be recorded (an effect, a factorisation, a sort, a branch, an op on the CPU)
split the recording: the recorded parts are replayed, and the nodes between them run.

    copy moved inputs  ·  replay  ·  run  ·  replay  ·  copy out the results

An input that arrives twice at the same address, as parameters do, is bound: the recording reads it in place. Other
inputs are copied into buffers. Nothing here waits for the GPU.

Tested on the simulated device, which follows the same rules, and with kernels run on the CPU; not yet on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal

from ....engine import ops
from ....engine.base.device import Device
from ....engine.base.dimension import fits
from ....engine.base.errors import ShapeError
from ....engine.base.spec import Specs
from ....engine.core.graph import Graph
from ....engine.core.interpret import array_function, is_constant, value
from ....engine.core.node import Node
from ....engine.core.op import Elementwise
from ....engine.ops import Affine, ControlDep, MatMul, Move, RandomChoice, RandomPermutation, StopGradient, TupleGet
from ...compiler.executable import device_of
from ...compiler.passes.fuse import Fused, single_op_graph
from ...compiler.passes.liveness import Ordered
from ...compiler.program.buffer import Buffer
from ..c import NotWritten
from .arena import Arena
from .kernel import Kernel
from .kernel import kernel as kernel_of
from .machine import GPUMachine, Run, machine_of, multiply

Place = tuple[int, tuple[int, ...]]


class ReplayState:
    """Runs a program: the first call node by node, the second recorded, the rest replayed.

    before      address and strides of each array of the last call; None before the first call
    bound       input → the array whose address was recorded; keeping it alive keeps the address valid
    moving      input → the buffer it is copied into at each call
    recorded    one function per part, which replays or runs the part
    pool        the memory pool of the recordings, kept as long as they can be replayed
    """

    def __init__(self, program: Replay):
        self.program, self.machine, self.plan = program, program.machine, program.plan
        self.memory = self.machine.xp.empty(max(self.plan.size, 1), "u1")
        self.values: dict[Node, Any] = {}
        self.left: dict[Kernel, list[Any]] = {}
        self.before: list[Place | None] | None = None
        self.bound: dict[int, Any] = {}
        self.moving: dict[int, Any] = {}
        self.recorded: list[Callable[[], None]] = []
        self.pool: Any = None

    def __call__(self, arrays: tuple[Any, ...], step: Callable[..., None]) -> tuple[Any, ...]:
        now = [self.place(arrays[i]) if i in self.program.here else None for i in range(len(arrays))]
        if self.before is None:
            self.plainly(arrays, step)
        elif not self.recorded or any(now[i] != self.place(x) for i, x in self.bound.items()):
            self.record(arrays, now, self.before)
        else:
            self.fill(arrays)
            for part, (_, nodes) in zip(self.recorded, self.program.parts):
                step(nodes, part)
        self.before = now
        ys = self.results(arrays)
        if not self.recorded:
            self.values = {}
        return ys

    def place(self, array: Any) -> Place:
        """The address and the strides of an array."""
        return self.machine.address(array), array.strides

    # -- running -------------------------------------------------------------------------------------

    def plainly(self, arrays: tuple[Any, ...], step: Callable[..., None]) -> None:
        """Run every node once, on the arrays themselves."""
        self.values = self.program.constants | dict(zip(self.program.graph.inputs, arrays))
        for _, nodes in self.program.parts:
            for node in nodes:
                step((node,), self.run, node)
                for x in self.plan.done.get(node, ()):
                    del self.values[x]

    def run(self, node: Node) -> None:
        """Run one node on the values of its inputs."""
        steps, plan = self.program.steps, self.plan
        route = self.program.writers.get(node)
        if route is None:
            self.values[node] = steps.call(node, self.values)
            return
        outs = [self.array(y) for y in plan.buffers_of(node)]
        if route == "kernel":
            steps.kernel(node, self.values, outs, plan.over[node], self.left)
        else:
            steps.product(node, self.values, outs[0])
        self.values[node] = tuple(outs) if isinstance(node.spec, Specs) else outs[0]

    def array(self, y: Buffer) -> Any:
        """The array that a result is written into."""
        own = self.plan.target_input(y)
        if own is not None:
            return self.values[own]
        start = self.plan.memory[y].offset
        assert start is not None, "the plan gives every written buffer a place"
        return self.memory[start : start + y.nbytes].view(y.shell.dtype).reshape(y.shell.shape)

    def results(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arrays to return. Copy first: some results may be views of inputs that are overwritten afterwards."""
        graph, into = self.program.graph, self.program.into
        given: list[Any] = []
        for i, y in enumerate(graph.outputs):
            copied = y is not None and (
                i not in into or any(r in self.plan.inputs for r in self.plan.buffers_of(y)[0].roots)
            )
            given.append(None if y is None else self.values[y].copy() if copied else self.values[y])
        for i, x in into.items():
            y = graph.outputs[i]
            if y is not None and self.plan.target_input(self.plan.buffers_of(y)[0]) is not graph.inputs[x]:
                arrays[x][...] = given[i]
            given[i] = arrays[x]
        return tuple(given)

    # -- recording -----------------------------------------------------------------------------------

    def fill(self, arrays: tuple[Any, ...]) -> None:
        """Copy moving inputs into their buffers; pass on inputs of other devices: no recording reads them."""
        for i, x in enumerate(self.program.graph.inputs):
            if i in self.moving:
                self.moving[i][...] = arrays[i]
            elif i not in self.bound:
                self.values[x] = arrays[i]

    def record(self, arrays: tuple[Any, ...], now: list[Place | None], before: list[Place | None]) -> None:
        """Record every part, and run it."""
        inputs, targets = self.program.graph.inputs, self.program.into.values()
        for i in self.program.here:
            if i in targets or (now[i] == before[i] and i not in self.moving):
                self.bound[i] = arrays[i]
            elif i not in self.moving:
                self.bound.pop(i, None)
                self.moving[i] = self.machine.xp.empty(inputs[i].spec.shape, inputs[i].spec.dtype)
        self.values = self.program.constants | {inputs[i]: a for i, a in (self.bound | self.moving).items()}
        self.fill(arrays)
        self.recorded = []
        self.pool = self.machine.pool()
        for recordable, nodes in self.program.parts:
            part = self.part(nodes) if recordable else self.stretch(nodes)
            part()
            self.recorded.append(part)

    def part(self, nodes: list[Node]) -> Callable[[], None]:
        """Record nodes for replaying. Each replay also repeats their deferred checks (device.refuse)."""
        device = self.program.device
        known = dict(device.doubts)
        device.doubts.clear()

        def all_of_them() -> None:
            for node in nodes:
                self.run(node)
                for x in self.plan.done.get(node, ()):
                    if x not in self.program.awaited:
                        self.values.pop(x, None)  # returns its memory to the pool, for the next node

        try:
            launch = self.machine.record(all_of_them, self.pool)
            doubts = list(device.doubts.values())
        finally:
            device.doubts.clear()
            device.doubts.update(known)

        def replay_part() -> None:
            launch()
            for error, wrong in doubts:
                device.refuse(wrong, error)

        return replay_part

    def stretch(self, nodes: list[Node]) -> Callable[[], None]:
        """A function that runs nodes again at each call, and copies their values to where recorded parts read them."""
        kept: dict[Node, Any] = {}

        def run() -> None:
            for node in nodes:
                self.run(node)
                if node in self.program.replayed:
                    if node in kept:
                        kept[node][...] = self.values[node]
                    else:
                        kept[node] = self.values[node].copy()
                    self.values[node] = kept[node]

        return run


Route = Literal["kernel", "product", "call"]

# Families of ops whose forward only launches kernels: it reads no value, and calls no library that cannot be recorded.
# A test checks this on the simulated device. Ops that are not listed run between the recorded parts.
RECORDED = {
    *("arithmetic", "comparison", "pointwise", "activation", "special", "movement", "reduce", "normalise"),
    *("pattern", "leaf", "matmul", "index", "scan", "convolution", "pooling", "recurrent", "random"),
}
# Ops that wait for the GPU: copies, CuPy's sort by thrust, and matrix products that do not take the route "product".
WAITING = Move | RandomPermutation | RandomChoice | MatMul | Affine


def is_here(node: Node, device: Device) -> bool:
    """Whether the node and its inputs are on this device, with known lengths."""
    specs = [s for x in (node, *node.inputs) for s in (x.spec if isinstance(x.spec, Specs) else (x.spec,))]
    return all(spec.device is device and spec.is_known for spec in specs)


def is_recordable(node: Node) -> bool:
    """Whether the launches of the op's own forward can be recorded."""
    op = node.op
    if isinstance(op, TupleGet):
        return isinstance(node.inputs[0].op, Fused) or is_recordable(node.inputs[0])
    home, _, family = type(op).__module__.rpartition(".")
    known = home == ops.__name__ and (family in RECORDED or isinstance(op, StopGradient | ControlDep))
    return known and not op.effect and not isinstance(op, WAITING)


def route_of(node: Node) -> Route:
    """The route of a node: how it runs."""
    if isinstance(node.op, MatMul | Affine):
        same = all(x.spec.dtype == node.spec.dtype for x in node.inputs)
        return "product" if same and node.spec.dtype.char in "fde" else "call"
    try:
        return "call" if group(node) is None else "kernel"
    except NotWritten:
        return "call"


def group(node: Node) -> Fused | None:
    """The node as a fused group; None if it is not elementwise. Raises NotWritten if it has no C expression."""
    if isinstance(node.op, Fused):
        found = node.op
    elif isinstance(node.op, Elementwise) and node.inputs and not node.op.effect:
        found = Fused(single_op_graph(node.op, tuple(x.spec for x in node.inputs), node.spec))
    else:
        return None
    kernel_of(found, [x.spec for x in node.inputs])
    return found


class NodeRunner:
    """Runs nodes, and caches their kernels: one for each layout of the operands.

    values    node → its array; a tuple for several results
    outs      arrays that the results of a kernel or a product are written into
    """

    def __init__(self, machine: GPUMachine, device: Device):
        self.machine, self.device = machine, device
        self.kernels: dict[tuple[Node, tuple[tuple[int, ...], ...]], tuple[Kernel, Run]] = {}

    def call(self, node: Node, values: Mapping[Node, Any]) -> Any:
        """The result of the op's own forward; a copy, if an effect returns its operand."""
        xs = [values[x] for x in node.inputs]
        if not node.op.effect and is_here(node, self.device):
            return array_function(node.op, node.spec, *(x.spec for x in node.inputs))(self.machine.xp, *xs)
        y = value(node, *xs)
        return y.copy() if any(y is x for x in xs) else y

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
        self, node: Node, values: Mapping[Node, Any], outs: list[Any],
        over: frozenset[tuple[int, int]], left: dict[Kernel, list[Any]],
    ) -> None:  # fmt: skip
        """Run a fused group into `outs`.

        left    kernel → arrays for the partial results of its first pass, kept between calls
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
    """A compiled graph: it maps the inputs' arrays to the outputs' arrays; an output that is None stays None.

    threads    ignored: a GPU has its own threads; accepted because Program takes it
    into       index of an output → index of the input whose array it overwrites, after the last read of the old value
    machine    launches kernels; by default the machine of the graph's device

    here       indices of the inputs that are on the graph's device and are read or written
    constants  node → its value
    writers    node that writes into a planned buffer → its route: "kernel" or "product"
    parts      the nodes in order, in stretches: (whether it is recorded, its nodes)
    replayed   the nodes that recorded nodes read

    Returned arrays belong to the caller. A call that arrives while another is running gets its own buffers.
    """

    def __init__(
        self, graph: Graph, threads: int | None = None, into: Mapping[int, int] | None = None,
        machine: GPUMachine | None = None,
    ):  # fmt: skip
        self.into = dict(into or {})
        targets = {i: graph.inputs[x] for i, x in self.into.items() if graph.outputs[i] is not None}
        self.device = device_of(graph)
        ours = {node for node in (*graph.nodes, *targets.values()) if is_here(node, self.device)}
        self.graph = graph = order_by_device(graph, ours)
        self.here = [i for i, x in enumerate(graph.inputs) if x in ours]
        self.machine = machine or machine_of(self.device)
        self.steps = NodeRunner(self.machine, self.device)
        self.constants = {node: value(node) for node in graph.nodes if is_constant(node)}
        self.writers = {node: route for node in graph.nodes if node in ours and (route := route_of(node)) != "call"}
        self.plan = Arena(graph, self.writers, targets)
        self.parts = parts(self.plan.order, {node for node in ours if node in self.writers or is_recordable(node)})
        self.replayed = {x for recorded, nodes in self.parts if recorded for node in nodes for x in node.inputs}
        self.awaited = {x for recorded, nodes in self.parts if not recorded for node in nodes for x in node.inputs}
        self.idle: list[ReplayState] = []

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        if len(arrays) != len(self.graph.inputs) or not all(map(is_for, arrays, self.graph.inputs)):
            came = [(a.shape, a.dtype) for a in arrays]
            raise ShapeError(f"this program takes {[x.spec for x in self.graph.inputs]}, got {came}")
        if not all(arrays[x].flags.c_contiguous for x in self.into.values()):
            return self.through_copies(arrays)
        try:
            state = self.idle.pop()
        except IndexError:
            state = ReplayState(self)
        ys = state(arrays, self.step)
        self.idle.append(state)  # after an error the state is dropped: its recording may be incomplete
        return ys

    def step(self, nodes: Sequence[Node], run: Callable[..., None], *given: Node) -> None:
        """Run one node of a plain run, or one part of a replay. A profiler overrides this."""
        run(*given)

    def through_copies(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run on contiguous copies of the arrays, which kernels need; copy new parameters back into the arrays."""
        ys = list(self(*(x.spec.device.xp.ascontiguousarray(a) for x, a in zip(self.graph.inputs, arrays))))
        for y, x in self.into.items():
            arrays[x][...] = ys[y]
            ys[y] = arrays[x]
        return tuple(ys)

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels that have run, without repeats."""
        return list(dict.fromkeys(kernel for kernel, _ in self.steps.kernels.values()))

    @property
    def source(self) -> str:
        """The text of the kernels that have run."""
        return "\n".join(dict.fromkeys(kernel.text for kernel in self.kernels))

    @property
    def peak_bytes(self) -> int:
        """Bytes of the block that kernels and matrix products write into."""
        return self.plan.size


def is_for(array: Any, x: Node) -> bool:
    """Whether the array has the dtype and shape of the input."""
    spec = x.spec
    return bool(array.dtype == spec.dtype and (array.shape == spec.shape or fits(array.shape, spec.shape)))


def order_by_device(graph: Graph, here: Collection[Node]) -> Graph:
    """The graph, ordered so that nodes of other devices, and copies from and to them, do not split a recording: they
    run first if they need no node of this device, and last if no node of this device needs them."""
    place: dict[Node, int] = {}
    for node in graph.nodes:
        place[node] = int(bool(node.inputs) and (node in here or any(place[x] for x in node.inputs)))
    needed: set[Node] = set()
    for node in reversed(graph.nodes):
        if node in here or node in needed:
            needed.update(node.inputs)
        elif place[node]:
            place[node] = 2
    return Ordered(graph.inputs, graph.outputs, tuple(sorted(graph.nodes, key=place.__getitem__)))


def parts(order: Sequence[Node], recordable: Collection[Node]) -> list[tuple[bool, list[Node]]]:
    """The nodes in order, in stretches: (whether the stretch is recorded, its nodes)."""
    stretches = groupby(order, recordable.__contains__)
    return [(recorded, list(part)) for recorded, part in stretches]
