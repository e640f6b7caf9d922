"""The forward and backward pass over a graph that PyTorch recorded.

Autograd keeps only the values that backward reads; PyTorch's own ops compute the others again. A function is recorded
while it runs, so all its values are known. Gradients come from the recorded nodes, called one by one in the order of
autograd's engine: no hook runs, no .grad changes, and backward() can still be called.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from torch.utils._python_dispatch import TorchDispatchMode

from ...engine.base.errors import NoGradientError
from ..names import names_in
from ..picture import GraphRun
from ..rules import Rule
from ..tensors import format_array
from ..words import join_names
from . import refuse_missing_arguments
from .pytorch_aten import AtenCall, Edge, call_of, edge_of, edges_of, method_like, results_of, saved_by
from .pytorch_calls import preserve
from .pytorch_tensors import hook_names, node_hook_names, nodes_before, spec_of, tensors_in
from .replay import GraphReplay, OpRun, own_derivatives


class OpRecorder(TorchDispatchMode):
    """Records a run.

    ran       each op, its arguments by name, and its result
    values    edge → the value that an op read
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ran: list[tuple[Any, dict[str, Any], Any]] = []
        self.values: dict[Edge, Tensor] = {}

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for x in tensors_in(args):
            if x.grad_fn is not None and edge_of(x) not in self.values:
                self.values[edge_of(x)] = x.detach().clone()  # an op may change x in place later
        y = op(*args, **(kwargs or {}))
        self.ran.append((op, {**dict(zip((x.name for x in op._schema.arguments), args)), **(kwargs or {})}, y))
        return y


def replay_of(
    y: Any, args: Sequence[Any], namespace: Mapping[str, object], most: int = 10_000, is_sum: bool = False
) -> GraphRun:
    """The forward and backward pass over y's graph; if y is a function or a module, over the graph of y(*args).

    most      the most nodes that the graph may have
    is_sum    backward starts at the sum of a result that is not a single number

    Raises NoGradientError if backward() would fail, ValueError for a graph that is too large, and if a value cannot be
    computed again.
    """
    recording = OpRecorder()
    with ExitStack() as around:
        if not isinstance(y, Tensor):
            if not callable(y):
                raise TypeError(f"expected a tensor, or a function and its arguments; got {y!r}")
            refuse_missing_arguments(y, args)
            around.enter_context(preserve(y, args))
            with recording:
                y, variables = call(y, args)
            namespace = {**namespace, **variables, "result": y}
        order = order_of(y, most, is_sum)
        return TorchRun(y, order, recording, namespace).run()


def order_of(y: Any, most: int, is_sum: bool) -> list[Any]:
    """The nodes of y's graph, in the order in which they were made; leaves before their first user."""
    if not isinstance(y, Tensor):
        raise TypeError(f"expected a function that returns one tensor; it returned a {type(y).__name__}: {y!r}")
    if not y.requires_grad:
        why = "it was detached, made under torch.no_grad(), or no operand has requires_grad=True"
        raise NoGradientError(f"no backward to step through: {spec_of(y)} has no grad_fn, since {why}")
    if y.numel() != 1 and not is_sum:
        raise NoGradientError(f"backward starts at a single number, not at {spec_of(y)}: take y.sum()")
    array_of(y)  # raises TypeError for a tensor without numbers
    before = nodes_before([edge_of(y).node])
    if len(before) > most:
        what = f"a graph of {len(before):,} nodes is too large to step through"
        raise ValueError(f"{what}: take a part of up to {most:,} nodes, or look at all of it with GraphView")
    made = sorted(before, key=lambda node: node._sequence_nr())  # autograd's engine runs the ops from last to first
    return [*dict.fromkeys(x for node in made for x in (*before[node], node))]


def call(f: Any, args: Sequence[Any]) -> tuple[Any, dict[str, object]]:
    """The result of f(*args), and the variables of f; for a module, its parameters."""
    found: dict[str, object] = dict(f.named_parameters()) if isinstance(f, Module) else {}

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "return" and frame.f_code is getattr(f, "__code__", None):
            found.update(frame.f_locals)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        return f(*args), found
    finally:
        sys.setprofile(before)


class TorchRun(GraphReplay):
    """A recorded graph and the values of its nodes. The key of a value is its edge, or its id if it has no gradient.

    order     the nodes, inputs before users
    calls     node → its call; leaves have none
    """

    def __init__(self, y: Tensor, order: list[Any], recording: OpRecorder, namespace: Mapping[str, object]):
        super().__init__(spec_of, array_of, torch.ones_like)
        self.y, self.end, self.order = y.detach(), edge_of(y), order
        self.saved = {node: saved_by(node) for node in order}
        made = {y: (op, args) for op, args, ys in recording.ran for y in tensors_in(ys)}
        ran = {y.grad_fn: call for y, call in made.items() if y.grad_fn is not None}
        self.calls = {x: call_of(x, self.saved[x], *ran.get(x, (None, {}))) for x in order if x.next_functions}
        self.names = names_in(namespace, lambda x: key_of(x) if isinstance(x, Tensor) else None)
        leaves = {Edge(x, 0): x.variable for x in order if hasattr(x, "variable")}
        held = [*tensors_in([*self.saved.values()]), *(x for x in namespace.values() if isinstance(x, Tensor))]
        inside = [x for x in (*held, *made) if x.grad_fn in self.saved]
        self.note = note_on([*leaves.values(), *inside], self.calls)
        known = {edge_of(x): x.detach() for x in reversed(held) if x.grad_fn is not None}
        known[self.end] = self.y
        self.values = known | {edge: x.detach() for edge, x in leaves.items()} | recording.values
        self.compute_values()
        if not made:
            self.check_result()
        for node in order:
            self.add_node(node)

    def compute_values(self) -> None:
        """Recompute values that ops read but autograd did not keep. Raises ValueError if that is not possible."""
        read = {edge for node in self.order for edge in edges_of(node)}
        for node, call in self.calls.items():
            missing = read.intersection(results_of(node)) - self.values.keys()
            if missing:
                self.values |= zip(results_of(node), self.compute(call))
            if missing - self.values.keys():
                raise ValueError(
                    f"{node.name()} cannot run again: PyTorch did not keep all of its operands, or it is random. "
                    "Step through a function, which is recorded while it runs: ChainRule(f, x, …)"
                )

    def check_result(self) -> None:
        """Raise ValueError if the last op now computes another value, because a tensor has changed."""
        results = self.compute(self.calls[self.end.node]) if self.end.node in self.calls else ()
        again = dict(zip(results_of(self.end.node), results)).get(self.end, self.y)
        if not torch.allclose(again, self.y, rtol=0, atol=0, equal_nan=True):
            texts = [format_array(array_of(x)) for x in (again, self.y)]
            why = "a tensor of its graph was changed in place. Run the forward pass again"
            raise ValueError(f"the graph now computes {texts[0]}, but its tensor has the value {texts[1]}: {why}")

    @torch.no_grad()
    def compute(self, call: AtenCall) -> Sequence[Tensor]:
        """The results of an op, run again; () if an operand is missing, or if the op draws random numbers."""
        is_random = call.op is None or torch.Tag.nondeterministic_seeded in call.op.tags
        if is_random or any(isinstance(x, Edge) and x not in self.values for x in call.operands):
            return ()
        args = {k: [*map(self.value, x)] if type(x) is list else self.value(x) for k, x in call.args.items()}
        if call.name in ("view", "unsafe_view"):  # the clone before it may have had another layout in memory
            return [self.value(call.args["self"]).reshape(call.args["size"])]
        kinds = {x.name: str(x.type) for x in call.op._schema.arguments}
        y = call.op(**{k: x.item() if kinds[k] == "number" and isinstance(x, Tensor) else x for k, x in args.items()})
        return [y] if isinstance(y, Tensor) else y

    def value(self, x: Any) -> Any:
        """The value of an operand; any other argument as it is."""
        return self.values[x] if isinstance(x, Edge) else x

    def add_node(self, node: Any) -> None:
        """Add the box of a node, boxes for its operands that have no gradient, and its arrows."""
        results = {edge: self.values.get(edge) for edge in results_of(node)}
        call = self.calls.get(node)
        if call is None:
            self.add("leaf", self.names.get(id(node.variable), ""), "", results)
            return
        name, tails = self.names.get((node, 0), ""), [self.tail(x) for x in call.operands]
        shown = [name or f"#{len(self.boxes) + 1}", *(self.boxes[id].display_name for id in tails)]
        sign, rules = self.symbol_and_rules(node, call, shown)
        arrows = self.add("op", name, sign, results, tails)
        uses = zip(call.operands, arrows, rules, strict=True)
        operands = [use for use in uses if isinstance(use[0], Edge) and use[0].node]
        is_pointwise = call.op is not None and torch.Tag.pointwise in call.op.tags
        self.ops.append(OpRun([*results], operands, partial(pull, node), is_pointwise))

    def tail(self, x: Any) -> str:
        """The id of an operand's box; a new one for a constant, and for a value that was not kept."""
        key: Any = x if isinstance(x, Edge) else id(x)
        if key not in self.box_of:
            name, is_lost = self.names.get(key, ""), isinstance(x, Edge)
            key = object() if is_lost else key
            kind = "constant" if is_lost or (x.numel() == 1 and not name) else "leaf"
            self.add(kind, name, "", {key: None if is_lost else x})
        return self.box_of[key]

    def symbol_and_rules(self, node: Any, call: AtenCall, names: list[str]) -> tuple[str, list[Rule]]:
        """The symbol of an op and its derivatives: those of minigrad's op, if minigrad has the same op.

        names    the names of the result and of each operand
        """
        out, xs = node._input_metadata[0], list[Any]()
        for x in call.operands:  # an operand that was not kept gets the shape of the result
            value = self.values.get(x, out) if isinstance(x, Edge) else x
            is_number = xs and value is x and x.numel() == 1
            dtype = str(value.dtype).removeprefix("torch.").replace("bfloat16", "float32")  # NumPy has no bfloat16
            xs.append(float(x) if is_number else (tuple(value.shape), dtype))
        method = partial(method_like, call)
        sign, rules, _ = own_derivatives(method, xs, names, out.shape, Rule("", False))
        return sign or call.name.removesuffix("_forward"), rules

    def run(self) -> GraphRun:
        reads = {self.box_of[Edge(node, 0)]: self.read_by(node) for node in self.calls}
        with torch.no_grad():
            return self.replay(self.end, reads, self.note)

    def read_by(self, node: Any) -> tuple[str, ...]:
        """The ids of the boxes whose values a node saved, without constants."""
        ids = {self.box_of.get(edge_of(x) if x.requires_grad else id(x)) for x in tensors_in(self.saved[node])}
        return tuple(id for id, box in self.boxes.items() if id in ids and box.kind != "constant")


def pull(node: Any, gys: Sequence[Tensor | None]) -> list[Tensor | None]:
    """The gradient that a node passes along each edge, in the operand's shape and dtype, as in autograd's engine."""
    if hasattr(node, "apply"):  # the node of a torch.autograd.Function
        slots = zip(gys, node._input_metadata, strict=True)
        gys = [torch.zeros(x.shape, dtype=x.dtype, device=x.device) if gy is None else gy for gy, x in slots]
    result = (node.apply if hasattr(node, "apply") else node)(*gys)
    needs = getattr(node, "needs_input_grad", [x for x, _ in node.next_functions])
    gxs = [gx for gx, need in zip(result if isinstance(result, tuple) else [result], needs, strict=False) if need]
    places = [x._input_metadata[nr] for x, nr in edges_of(node)]
    return [None if gx is None else gx.sum_to_size(x.shape).to(x.dtype) for gx, x in zip(gxs, places, strict=True)]


def note_on(tensors: Sequence[Tensor], nodes: Iterable[Any]) -> str:
    """A sentence on the hooks of some tensors and nodes; "" if there are none."""
    names = [name for x in tensors for name in hook_names(x)] + [name for x in nodes for name in node_hook_names(x)]
    found = join_names([*dict.fromkeys(names)])
    return f"Hooks do not run here ({found}): if they change a gradient, backward() differs." if names else ""


def key_of(x: Tensor) -> Any:
    """The key of a tensor in the graph: its edge if it was computed, otherwise its id."""
    return edge_of(x) if x.grad_fn is not None else id(x)


def array_of(x: Tensor) -> Any:
    """A tensor as a NumPy array. Raises TypeError if it is complex, not dense, or on the meta device."""
    if x.is_meta or x.is_complex() or x.layout is not torch.strided:
        what = f"{spec_of(x)} on {x.device}, which is {x.layout}"
        raise TypeError(f"only dense tensors of real numbers can be stepped through, not {what}")
    return (x.float() if x.dtype is torch.bfloat16 else x).detach().cpu().numpy()
