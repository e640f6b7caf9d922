"""The cost of a model, counted without running it: parameters, multiply-adds, bytes.

The model is traced: its forward pass runs on tensors that have a spec but no elements, which gives the graph of its
ops. Each op has a cost formula; the cost and the saved arrays of its derivative are read from the rule that backward
would run. So a model may be larger than this machine's memory: make it in `with mg.device("meta"):`, without elements.

    FLOP    one scalar operation of any op: an add, a comparison, an exponential
    MAC     one multiply and one add of a matrix product or a convolution: 1 MAC = 2 FLOPs. Papers on networks count
            these, and call them mult-adds, or FLOPs
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib import import_module
from itertools import accumulate
from typing import Any, NamedTuple, cast

import numpy as np

from ..engine.base.device import CPU
from ..engine.base.spec import Spec
from ..engine.base.table import Table
from ..engine.core.node import Node
from ..engine.ops import Const, Input, StopGradient
from ..engine.tensor.rules import CompiledRule, plan
from ..engine.tensor.symbol import Symbol
from ..engine.tensor.tensor import Tensor
from ..graph.compiler.passes.liveness import moved_by
from ..graph.compiler.passes.remat import flops_of
from ..nn.module import Module
from ..nn.tree import Parameter
from ..tracing.gradients import Recomputation
from .forward_pass import ForwardPass, abstract_arguments, trace_forward, watch_forward
from .icicle import icicle_svg, tree
from .ledger import of_pytorch

COUNTS = "parameters", "MACs", "FLOPs", "saved for backward"
HEAD = {"module": "<", "type": "<", "output": "<", **dict.fromkeys(COUNTS, ",")}
NOTE = "Each module with all that is in it; 1 MAC = 2 FLOPs; bytes saved for backward at the first op that saves them."


class Cost(NamedTuple):
    """The cost of ops: forward, and backward in derivatives and gradient accumulation. 1 MAC = 2 FLOPs."""

    flops: int = 0
    macs: int = 0
    backward_flops: int = 0
    backward_macs: int = 0
    bytes_moved: int = 0  # operands read and results written, forward
    saved_bytes: int = 0  # bytes of activations that backward reads, each counted at the first op that saves it

    @property
    def train_flops(self) -> int:
        """FLOPs of forward and backward. 1 MAC = 2 FLOPs."""
        return self.flops + self.backward_flops

    @property
    def intensity(self) -> float:
        """FLOPs for each byte moved, forward."""
        return self.flops / max(self.bytes_moved, 1)


class OwnParameters(NamedTuple):
    """A module's class, and the parameters that it holds directly."""

    kind: str
    parameters: list[Tensor]


def of_total(name: str, doc: str) -> Any:
    """A property of Estimate that reads this field of its total."""
    return property(lambda self: getattr(self.total, name), doc=doc)


@dataclass(frozen=True, repr=False)
class Estimate:
    """The result of `estimate`. It prints as a table; a notebook adds a picture of the FLOPs by module.

    ran                 the forward pass
    parts               path → module, outermost first
    held                the model's buffers
    checkpoint_bytes    bytes of the arrays in the model's state_dict
    """

    ran: ForwardPass
    parts: Mapping[str, OwnParameters]
    held: list[Tensor]
    checkpoint_bytes: int
    depth: int | None = None

    # -- the model's size ------------------------------------------------------------------------------

    @cached_property
    def parameter_tensors(self) -> list[Tensor]:
        """The model's parameters, each once."""
        return [p for part in self.parts.values() for p in part.parameters]

    parameters = property(lambda self: sum(p.size for p in self.parameter_tensors), doc="Numbers in its parameters.")
    trainable = property(
        lambda self: sum(p.size for p in self.parameter_tensors if p.tracked), doc="Those that are not frozen."
    )
    buffers = property(lambda self: sum(x.size for x in self.held), doc="Numbers in its buffers.")

    @cached_property
    def bytes_per_parameter(self) -> dict[str, float]:
        """Bytes of training state for each trainable parameter: its value, its gradient, its optimizer state.

        In mixed precision with Adam 2 + 2 + 4 + 4 + 4 = 16: the parameter and its gradient in float16, and in float32
        its master copy, m and v. Rajbhandari et al. 2020, “ZeRO”, §3.1. https://arxiv.org/abs/1910.02054
        """
        size = sum(p.spec.nbytes for p in self.parameter_tensors if p.tracked) / max(self.trainable, 1)
        mixed = 16.0 * (size > 0)
        return {"SGD": 2 * size, "SGD with momentum": 3 * size, "Adam": 4 * size, "Adam, mixed precision": mixed}

    # -- the cost of a run ----------------------------------------------------------------------------

    @cached_property
    def costs(self) -> dict[Node, Cost]:
        """Node → the cost of its op."""
        pulled, kept = self.backward
        bytes_of: dict[Node, int] = dict.fromkeys(kept.values(), 0)
        for x, node in kept.items():
            bytes_of[node] += x.spec.nbytes
        return {
            node: Cost(*cost([node]), *pulled.get(node, (0, 0)), moved_by(node, self.ran.home), bytes_of.get(node, 0))
            for node in self.ran.nodes
            if node.inputs and not node.op.effect  # an effect, such as drawing a random key, is no op in an eager run
        }

    @cached_property
    def backward(self) -> tuple[dict[Node, tuple[int, int]], dict[Node, Node]]:
        """Two dicts: node → FLOPs and MACs of its derivative; array that backward reads → the first node that saves it.

        A checkpoint is counted as in a graph: only the values that backward reads are recomputed
        (tracing/gradients.py). Parameters and buffers of the model do not count as saved.
        """
        rules, own = rules_of(self.ran), {id(x) for x in (*self.parameter_tensors, *self.held)}
        pulled: dict[Node, tuple[int, int]] = {}
        kept: dict[Node, Node] = {}
        arrived = set(self.ran.outputs)  # nodes that a gradient has reached
        reading, seen = Recomputation(Symbol(self.ran.nodes[0])), set(self.ran.nodes)
        for node in (node for node in reversed(rules) if node in arrived):
            reads: list[Node] = [node, *node.inputs]
            if node.part is not None:
                reads = [x.node for x in reading.operands(node, Symbol(Node(Input("gy"), (), node.spec)))]
            saved, again = trace_reads([reads[i] for i in rules[node].reads], self.ran.home, seen)
            kept |= dict.fromkeys(saved, node)
            gradients = rules[node].graph
            sent = [x for x, gx in zip(node.inputs, gradients.outputs) if gx is not None]
            flops, macs = cost([*gradients.nodes, *again])
            for x in sent:
                flops += x.spec.size * (x in arrived)  # a second gradient is added to the first
                arrived.add(x)
            pulled[node] = flops, macs
        is_own = {x for x in kept if isinstance(x.op, Const) or id(self.ran.tensors.get(x)) in own}
        return pulled, {x: node for x, node in kept.items() if x not in is_own}

    @cached_property
    def total(self) -> Cost:
        """The cost of all ops."""
        return total(self.costs.values())

    flops = of_total("flops", "FLOPs of a forward pass. 1 MAC = 2 FLOPs.")
    macs = of_total("macs", "Multiply-adds of products, forward. 1 MAC = 2 FLOPs.")
    backward_flops = of_total("backward_flops", "FLOPs of a backward pass. 1 MAC = 2 FLOPs.")
    backward_macs = of_total("backward_macs", "Multiply-adds of products, backward. 1 MAC = 2 FLOPs.")
    train_flops = of_total("train_flops", "FLOPs of forward and backward. 1 MAC = 2 FLOPs.")
    bytes_moved = of_total("bytes_moved", "Bytes that ops read and write, forward.")
    intensity = of_total("intensity", "FLOPs for each byte moved, forward.")
    saved_bytes = of_total("saved_bytes", "Bytes of activations saved for backward.")

    @cached_property
    def peak_bytes(self) -> int:
        """Most bytes of results alive at once in a forward pass that saves what backward reads.

        A result that is not saved is freed after its last reader has run and every module call that took it as an
        argument has returned. Memory that an op uses internally is not counted.
        """
        return peak(self.ran, self.backward[1])

    @cached_property
    def inference_peak_bytes(self) -> int:
        """Most bytes of results alive at once in a forward pass under no_grad(), where nothing is saved."""
        return peak(self.ran, ())

    # -- by part ---------------------------------------------------------------------------------------

    @cached_property
    def by_module(self) -> dict[str, Cost]:
        """Path → the cost of that module's calls, including the modules inside it."""
        empty = {path: Cost() for part in self.parts for path in path_prefixes(part)}
        pairs = ((path, each) for node, each in self.costs.items() for path in path_prefixes(module_of(node)))
        return empty | sum_by_name(pairs)

    @cached_property
    def by_op(self) -> dict[str, Cost]:
        """Kind of op → the cost of all ops of that kind, most FLOPs first."""
        costs = sum_by_name((node.op.kind, each) for node, each in self.costs.items())
        return dict(sorted(costs.items(), key=lambda each: -each[1].flops))

    @cached_property
    def outputs(self) -> dict[str, Spec]:
        """Path → the spec of the last result of that module."""
        return {path: node.spec for node in self.costs for path in path_prefixes(module_of(node))}

    def table(self, depth: int | None = None) -> str:
        """A row for each module down to this depth (the model itself has depth 0), and the totals."""
        totals = (f"{name:<15} {value}" for name, value in figures(self).items())
        return "\n".join([str(module_table(self, depth)), "", *totals])

    def __repr__(self) -> str:
        return self.table(self.depth)

    def _repr_html_(self) -> str:
        totals = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in figures(self).items())
        picture = icicle_svg(tree(leaves(self)), lambda flops: f"{flops:,} FLOPs", "FLOPs")
        table = module_table(self, self.depth)._repr_html_()
        return f'<div class="mg-widget">{picture}{table}<dl>{totals}</dl></div>'


def estimate(
    model: Callable[..., Any], *inputs: Any, run: bool = False, depth: int | None = 3, **options: Any
) -> Estimate:
    """Count the cost of forward and backward of a model or function, without computing. 1 MAC = 2 FLOPs.

    inputs, options    the model's arguments. Only the specs of tensors are read. A TensorSpec or a shape can replace a
                       tensor; a shape gets the dtype of the model's parameters, or of its buffers if it has none
    run                run the model once, on tensors with values, and count its ops: for control flow on values
    depth              how many modules deep the table goes; None for all

    The model is counted in its present state: training or evaluation, frozen or not, under no_grad() or not. An error
    of the model on unfit inputs names the module it came from. Raises NoValueError if the model reads a value.
    A PyTorch module is counted by PyTorch's own ops (pytorch_costs.py).
    """
    if not callable(model):
        raise TypeError(f"estimate counts a Module, or a function of tensors, and got {model!r}")
    if of_pytorch(model, inputs, options):
        counting: Any = import_module(".pytorch_costs", __package__)
        return cast(Estimate, counting.estimate_pytorch(model, inputs, options, run, depth))
    called = getattr(model, "python_function", model)  # the model inside mg.function(model)
    module = called if isinstance(called, Module) else None
    if run:
        ran = watch_forward(model, inputs, options)
    else:
        state = [*module.parameters(), *module.buffers()] if module else []
        like = next((x.spec for x in state if x.spec.is_float), None)
        like = like or Spec((), np.dtype(np.float64), CPU)
        ran = trace_forward(model, *abstract_arguments((inputs, options), like.device, like.dtype))
    if module is None:
        parts = parts_read(ran)
        return Estimate(ran, parts, [], sum(p.spec.nbytes for part in parts.values() for p in part.parameters), depth)
    buffers = list({id(x): x for x in module.buffers()}.values())
    return Estimate(ran, parts_of(module), buffers, sum(x.spec.nbytes for _, x in module._named_state()), depth)


def parts_of(model: Any) -> dict[str, OwnParameters]:
    """Path → the class and own parameters of that module; a shared parameter belongs to the first module."""
    seen: set[int] = set()
    parts = {}
    for path, module in model.named_modules(prefix=type(model).__name__):
        own = [p for p in module.parameters(recurse=False) if id(p) not in seen]
        seen.update(map(id, own))
        parts[path] = OwnParameters(type(module).__name__, own)
    return parts


def parts_read(ran: ForwardPass) -> dict[str, OwnParameters]:
    """Module path → the parameters, and other leaves that require gradients, that a function reads in that module."""
    parts: dict[str, OwnParameters] = {}
    for node, x in ran.tensors.items():
        if node not in ran.arguments and (isinstance(x, Parameter) or (x.tracked and x.is_leaf)):
            parts.setdefault(module_of(node), OwnParameters("", [])).parameters.append(x)
    return parts


def module_of(node: Any) -> str:
    """The path of the module whose call ran this node."""
    return "" if node.place is None else node.place.module


# -- how it is counted ------------------------------------------------------------------------------------


def rules_of(ran: ForwardPass) -> dict[Node, CompiledRule]:
    """Node that a real run would record → the rule of its derivative."""
    tracked = {node for node, x in ran.tensors.items() if x.tracked}
    rules: dict[Node, CompiledRule] = {}
    for node in ran.nodes:
        wanted = tuple(x in tracked for x in node.inputs)
        if any(wanted) and not isinstance(node.op, StopGradient):
            rule = plan(node.op, tuple(x.spec for x in node.inputs)).rule(wanted)
            if rule is not None:
                rules[node] = rule
                tracked.add(node)
    return rules


def trace_reads(reads: list[Node], home: Mapping[Node, Node], seen: set[Node]) -> tuple[list[Node], list[Node]]:
    """The arrays that must be saved for these reads, and the nodes to recompute from them. Adds nodes to `seen`."""
    saved, again = list[Node](), list[Node]()
    for x in reads:  # `reads` grows in the loop
        if x in home:
            saved.append(home[x])
        elif x not in seen and x.inputs:
            again.append(x)
            reads += x.inputs
        seen.add(x)
    return saved, again


def cost(nodes: Iterable[Node]) -> tuple[int, int]:
    """FLOPs and MACs of these nodes, by the formulas of their ops."""
    specs = [(node.op, (node.spec, *(x.spec for x in node.inputs))) for node in nodes if node.inputs]
    return sum(flops_of(op, *each) for op, each in specs), sum(op.macs(*each) for op, each in specs)


def total(costs: Iterable[Cost]) -> Cost:
    """The sum of costs, field by field."""
    return Cost(*map(sum, zip(*costs)))


def sum_by_name(costs: Iterable[tuple[str, Cost]]) -> dict[str, Cost]:
    """Name → the sum of the costs under it."""
    found: dict[str, list[Cost]] = {}
    for name, each in costs:
        found.setdefault(name, []).append(each)
    return {name: total(each) for name, each in found.items()}


def path_prefixes(path: str) -> list[str]:
    """The prefixes of a path: A, A.b and A.b.c."""
    return list(accumulate(path.split("."), "{}.{}".format))


def peak(ran: ForwardPass, kept: Iterable[Node]) -> int:
    """Most bytes of results alive at once. A result lives until its last reader; if saved or an output, to the end.

    A module's arguments stay alive until its call returns.
    """
    last, ends = dict.fromkeys([*kept, *(ran.home[y] for y in ran.outputs)], len(ran.nodes)), dict[str, int]()
    for i, node in reversed([*enumerate(ran.nodes)]):
        if node.inputs:
            # Path of a module call still in progress → the index of its last node.
            ends = {path: ends.get(path, i) for path in path_prefixes(module_of(node))}
            for x in node.inputs:
                entered = [end for path, end in ends.items() if path not in path_prefixes(module_of(x))]
                last[ran.home[x]] = max(last.get(ran.home[x], 0), *entered[:1], i)
    change = [0] * (len(ran.nodes) + 2)
    for i, node in enumerate(ran.nodes):
        if node.inputs and ran.home[node] is node and not node.op.effect:
            change[i] += node.spec.nbytes
            change[last.get(node, i) + 1] -= node.spec.nbytes
    return max(accumulate(change))


# -- as a table -------------------------------------------------------------------------------------------


def module_table(e: Estimate, depth: int | None) -> Table:
    """A row for each module, down to a depth."""
    own = [(path, p.size) for path, part in e.parts.items() for p in part.parameters]
    rows = []
    for path, cost in e.by_module.items():
        level, name = path.count("."), path.rpartition(".")[2] or "(outside of modules)"
        if depth is None or level <= depth:
            kind, output = e.parts[path].kind if path in e.parts else "", str(e.outputs.get(path, "")).partition("@")[0]
            size = sum(n for other, n in own if f"{other}.".startswith(f"{path}."))
            name = "\N{NO-BREAK SPACE}" * 2 * level + name
            rows.append((name, kind, output, size, cost.macs, cost.flops, cost.saved_bytes))
    return Table(HEAD, rows, NOTE)


def figures(e: Estimate) -> dict[str, str]:
    """The totals of an estimate, in words."""
    kinds = " and ".join(sorted({f"{p.dtype}" for p in e.parameter_tensors}))
    numbers = f"{e.parameters:,}{f' in {kinds}' * bool(kinds)}"
    numbers += f", of which {e.trainable:,} learn" * (e.trainable != e.parameters)
    per = "; ".join(f"{name} {size:g}" for name, size in e.bytes_per_parameter.items())
    return {
        "parameters": f"{numbers}; buffers {e.buffers:,}; a checkpoint {e.checkpoint_bytes:,} bytes",
        "forward": f"{e.macs:,} MACs of products and convolutions; {e.flops:,} FLOPs of all ops",
        "backward": f"{e.backward_macs:,} MACs; {e.backward_flops:,} FLOPs; both ways {e.train_flops:,} FLOPs",
        "bytes moved": f"{e.bytes_moved:,} forward, {e.intensity:.3g} FLOPs for each",
        "activations": f"{e.saved_bytes:,} bytes saved for backward, inputs among them; of what is computed, "
        f"{e.peak_bytes:,} at the peak of forward, and {e.inference_peak_bytes:,} where nothing is saved",
        "training state": f"bytes for each parameter: {per}",
    }


def leaves(e: Estimate) -> Iterator[tuple[str, str, str, int]]:
    """(module, direction, kind of op, FLOPs) of each op, once for each direction: forward and backward."""
    for node, cost in e.costs.items():
        yield module_of(node), "forward", node.op.kind, cost.flops
        yield module_of(node), "backward", node.op.kind, cost.backward_flops
