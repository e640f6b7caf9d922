"""What a model costs, counted and not computed: parameters, multiply-adds, bytes.

The model is traced: its forward pass runs on tensors that have a spec and no elements, and leaves the graph of its ops.
What an op costs it says itself, and what its derivative costs and keeps is read off the rule that backward would run.
So a model may be larger than the machine: `with mg.device("meta"):` makes one without memory.

    FLOP    one operation on numbers, of whatever op: an add, a comparison, an exponential
    MAC     one multiply and one add of a product of matrices, or of a convolution: 1 MAC = 2 FLOPs. Papers on networks
            count these, and call them mult-adds, or FLOPs
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..base.device import CPU
from ..base.spec import Spec
from ..compiler.passes.liveness import moved_by
from ..core.node import Node
from ..nn.module import Module
from ..nn.tree import Parameter
from ..ops import Const, Input, StopGradient
from ..tensor.rules import CompiledRule, plan
from ..tensor.symbol import Symbol
from ..tensor.tensor import Tensor
from ..tracing.recompute import Recomputation
from .costs_table import html, module_of, text
from .forward_pass import ForwardPass, specified, traced, watched


class Cost(NamedTuple):
    """What ops cost, forward, and backward in the derivatives and where gradients are added up. 1 MAC = 2 FLOPs."""

    flops: int = 0
    macs: int = 0
    backward_flops: int = 0
    backward_macs: int = 0
    bytes_moved: int = 0  # operands read and results written, forward


class Part(NamedTuple):
    """A module, and the parameters that it holds itself."""

    kind: str
    parameters: list[Tensor]


@dataclass(frozen=True)
class Estimate:
    """What `estimate` found. As text it is a table; in a notebook there is a picture beside it, of where the FLOPs are.

    name        of the model
    ran         its forward pass
    parts       path → module, the outermost first
    state       the model's parameters and buffers, each once
    checkpoint_bytes    of the arrays of its state_dict
    """

    name: str
    ran: ForwardPass
    parts: Mapping[str, Part]
    state: tuple[Tensor, ...]
    checkpoint_bytes: int
    depth: int | None = None

    # -- what the model is ----------------------------------------------------------------------------

    @cached_property
    def learned(self) -> list[Tensor]:
        """Its parameters, each once."""
        return [p for part in self.parts.values() for p in part.parameters]

    parameters = property(lambda self: sum(p.size for p in self.learned), doc="Numbers in its parameters.")
    trainable = property(lambda self: sum(p.size for p in self.learned if p.tracked), doc="Those that are not frozen.")
    buffers = property(lambda self: sum(x.size for x in self.state) - self.parameters, doc="Numbers in its buffers.")

    @cached_property
    def bytes_per_parameter(self) -> dict[str, float]:
        """Bytes of training state for each parameter that learns: itself, its gradient, what the optimizer remembers.

        In mixed precision with Adam 2 + 2 + 4 + 4 + 4 = 16: the parameter and its gradient in float16, and in float32
        its master copy, m and v. Rajbhandari et al. 2020, “ZeRO”, §3.1. https://arxiv.org/abs/1910.02054
        """
        learned = [p for p in self.learned if p.tracked]
        size = sum(p.spec.nbytes for p in learned) / max(self.trainable, 1)
        return {"SGD": 2 * size, "SGD with momentum": 3 * size, "Adam": 4 * size, "Adam, mixed precision": 16.0}

    # -- what a run of it costs -----------------------------------------------------------------------

    @cached_property
    def rules(self) -> dict[Node, CompiledRule]:
        """Each op that would be recorded, the last first → its derivative."""
        tracked = {node for node, x in self.ran.tensors.items() if x.tracked}
        rules: dict[Node, CompiledRule] = {}
        for node in self.ran.nodes:
            wanted = tuple(x in tracked for x in node.inputs)
            if any(wanted) and not isinstance(node.op, StopGradient):
                rule = plan(node.op, tuple(x.spec for x in node.inputs)).rule(wanted)
                if rule is not None:
                    rules[node] = rule
                    tracked.add(node)
        reached = set(self.ran.outputs)
        for node in reversed(rules):
            if node in reached:
                reached.update(node.inputs)
        return {node: rules[node] for node in reversed(rules) if node in reached}

    @cached_property
    def read(self) -> tuple[dict[Node, Node], dict[Node, list[Node]]]:
        """What derivatives read: array of the forward pass → the op that keeps it first; op → what is computed again.

        That is what they read of a checkpoint: counted as a graph runs it (tracing/recompute.py).
        """
        kept: dict[Node, Node] = {}
        again: dict[Node, list[Node]] = {node: [] for node in self.rules}
        reading, found = Recomputation(Symbol(self.ran.nodes[0])), set(self.ran.nodes)
        for node, rule in self.rules.items():
            slots: Any = node, *node.inputs
            if node.part is not None:
                slots = [x.node for x in reading.operands(node, Symbol(Node(Input("gy"), (), node.spec)))]
            stack = [slots[i] for i in rule.reads]
            for x in stack:  # which grows meanwhile
                if x in self.ran.home:
                    kept[self.ran.home[x]] = node
                elif x not in found and x.inputs:
                    again[node].append(x)
                    stack += x.inputs
                found.add(x)
        return kept, again

    @cached_property
    def costs(self) -> dict[Node, Cost]:
        """Op → what it costs."""
        pulled: dict[Node, tuple[int, int]] = {}
        of_rule: dict[int, tuple[int, int]] = {}
        arrived, again = set(self.ran.outputs), self.read[1]
        for node, rule in self.rules.items():
            if node in arrived:
                if id(rule) not in of_rule:
                    of_rule[id(rule)] = cost(rule.graph.nodes)
                flops, macs = map(sum, zip(of_rule[id(rule)], cost(again[node])))
                for x, gx in zip(node.inputs, rule.graph.outputs):
                    if gx is not None:
                        flops += x.spec.size * (x in arrived)  # where gradients meet they are added
                        arrived.add(x)
                pulled[node] = flops, macs
        return {
            node: Cost(*cost([node]), *pulled.get(node, (0, 0)), moved_by(node, self.ran.home))
            for node in self.ran.nodes
            if node.inputs and not node.op.effect  # such as drawing a key, which no op does in an eager run
        }

    @cached_property
    def total(self) -> Cost:
        """Of all ops."""
        return total(self.costs.values())

    flops = property(lambda self: self.total.flops, doc="FLOPs of a forward pass. 1 MAC = 2 FLOPs.")
    macs = property(lambda self: self.total.macs, doc="Multiply-adds of products, forward. 1 MAC = 2 FLOPs.")
    backward_flops = property(lambda self: self.total.backward_flops, doc="FLOPs of a backward pass. 1 MAC = 2 FLOPs.")
    backward_macs = property(
        lambda self: self.total.backward_macs, doc="Multiply-adds of its products. 1 MAC = 2 FLOPs."
    )
    train_flops = property(lambda self: self.flops + self.backward_flops, doc="FLOPs of both. 1 MAC = 2 FLOPs.")
    bytes_moved = property(lambda self: self.total.bytes_moved, doc="Bytes that ops read and write, forward.")
    intensity = property(lambda self: self.flops / max(self.bytes_moved, 1), doc="FLOPs for each byte moved, forward.")

    @cached_property
    def kept(self) -> dict[Node, Node]:
        """Array that backward will read → the first op that keeps it. What the model itself holds is not among them."""
        own = {id(x) for x in self.state}
        kept = self.read[0].items()
        return {x: by for x, by in kept if id(self.ran.tensors.get(x)) not in own and not isinstance(x.op, Const)}

    kept_bytes = property(
        lambda self: sum(x.spec.nbytes for x in self.kept), doc="Bytes of activations kept for backward."
    )

    @cached_property
    def peak_bytes(self) -> int:
        """Most bytes computed and alive at one moment of a forward pass that keeps what backward reads.

        What is not kept goes when it was read for the last time; what an op needs inside itself is not counted.
        """
        return peak(self.ran, self.kept)

    @cached_property
    def inference_peak_bytes(self) -> int:
        """The same under no_grad(), where nothing is kept."""
        return peak(self.ran, ())

    # -- where -----------------------------------------------------------------------------------------

    @cached_property
    def by_module(self) -> dict[str, Cost]:
        """Path → what the calls of that module cost, with all below it."""
        found: dict[str, list[Cost]] = {path: [] for part in self.parts for path in above(part)}
        for node, each in self.costs.items():
            for path in above(module_of(node)):
                found.setdefault(path, []).append(each)
        return {path: total(costs) for path, costs in found.items()}

    @cached_property
    def by_op(self) -> dict[str, Cost]:
        """Kind of op → what all of that kind cost, the most FLOPs first."""
        found: dict[str, list[Cost]] = {}
        for node, each in self.costs.items():
            found.setdefault(node.op.kind, []).append(each)
        costs = {kind: total(each) for kind, each in found.items()}
        return dict(sorted(costs.items(), key=lambda each: -each[1].flops))

    @cached_property
    def outputs(self) -> dict[str, Spec]:
        """Path → the spec of what that module computed last."""
        return {path: node.spec for node in self.costs for path in above(module_of(node))}

    def table(self, depth: int | None = None) -> str:
        """The modules down to a depth, the model's own being 0, and the figures of the whole."""
        return text(self, depth)

    def __str__(self) -> str:
        return text(self, self.depth)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html(self, self.depth)


def cost(nodes: Iterable[Node]) -> tuple[int, int]:
    """FLOPs and MACs of some ops, as they say."""
    specs = [(node.op, (node.spec, *(x.spec for x in node.inputs))) for node in nodes if node.inputs]
    return sum(op.flops(*each) for op, each in specs), sum(op.macs(*each) for op, each in specs)


def total(costs: Iterable[Cost]) -> Cost:
    """Their sum."""
    return Cost(*map(sum, zip(*costs)))


def above(path: str) -> list[str]:
    """The path and those around it: A, A.b and A.b.c."""
    return list(accumulate(path.split("."), "{}.{}".format))


def peak(ran: ForwardPass, kept: Iterable[Node]) -> int:
    """Most bytes of results alive at once: each to its last reader, those kept and the outputs to the end."""
    last = {ran.home[x]: i for i, node in enumerate(ran.nodes) for x in (node, *node.inputs)}
    last |= dict.fromkeys([*kept, *(ran.home[y] for y in ran.outputs)], len(ran.nodes))
    change = [0] * (len(ran.nodes) + 2)
    for i, node in enumerate(ran.nodes):
        if node.inputs and ran.home[node] is node and not node.op.effect:
            change[i] += node.spec.nbytes
            change[last[node] + 1] -= node.spec.nbytes
    return max(accumulate(change))


def estimate(
    model: Callable[..., Any], *inputs: Any, run: bool = False, depth: int | None = 3, **options: Any
) -> Estimate:
    """What a forward pass of the model, or function, and its backward cost on such inputs, uncomputed. 1 MAC = 2 FLOPs.

    inputs, options    the model's arguments: tensors, of which the specs are read; or in place of one a TensorSpec, or
                       a shape, of the dtype of the model's parameters
    run                run the model once, on tensors with values, and count what ran: for one that decides by values
    depth              how many modules deep the table goes; None for all

    The model is counted as it is: in training or in evaluation, frozen or not. Raises what it raises itself on inputs
    that do not fit, with the module in which it did; NoValueError where it asks for a value.
    """
    floats = [p for p in model.parameters() if p.spec.is_float] if isinstance(model, Module) else []
    device = floats[0].spec.device if floats else CPU
    if not run:
        dtype = floats[0].dtype if floats else np.float64
        inputs = tuple(specified(x, device, dtype) for x in inputs)
        options = {name: specified(x, device, dtype) for name, x in options.items()}
    ran = (watched if run else traced)(model, inputs, options)
    name = type(model).__name__ if isinstance(model, Module) else getattr(model, "__name__", type(model).__name__)
    parts = parts_of(model) if isinstance(model, Module) else parts_read(ran)
    state = [p for part in parts.values() for p in part.parameters]
    nbytes = sum(p.spec.nbytes for p in state)
    if isinstance(model, Module):
        state += {id(x): x for x in model.buffers()}.values()
        nbytes = sum(x.spec.nbytes for _, x in model._named_state())
    return Estimate(name, ran, parts, tuple(state), nbytes, depth)


def parts_of(model: Module) -> dict[str, Part]:
    """Path → module, of a model; a parameter that two share is the first's."""
    seen: set[int] = set()
    parts = {}
    for path, module in model.named_modules(prefix=type(model).__name__):
        own = [p for p in module.parameters(recurse=False) if id(p) not in seen]
        seen.update(map(id, own))
        parts[path] = Part(type(module).__name__, own)
    return parts


def parts_read(ran: ForwardPass) -> dict[str, Part]:
    """Path → what a function reads there that is a parameter, or learns."""
    parts: dict[str, Part] = {}
    for node, x in ran.tensors.items():
        if node not in ran.arguments and (isinstance(x, Parameter) or (x.tracked and x.is_leaf)):
            parts.setdefault(module_of(node), Part("", [])).parameters.append(x)
    return parts
