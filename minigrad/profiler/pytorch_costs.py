"""The cost of a PyTorch model, as costs.py counts it: forward and backward run on a copy without elements.

Products of matrices, convolutions and attention cost what PyTorch's own formulas say: the FLOPs that
torch.utils.flop_counter counts, two for each MAC. Any other op that computes costs one FLOP for each element of its
largest operand or result. Bytes saved for backward are those that autograd saves (pytorch_memory.py). An LSTM on the
CPU also saves a workspace, whose size is known only with run=True.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from copy import deepcopy
from types import SimpleNamespace
from typing import Any, cast

import torch
from torch._subclasses import fake_tensor
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.flop_counter import flop_registry, sdpa_backward_flop, sdpa_flop

from ..draw.readers.pytorch_tensors import spec_of
from ..engine.base.errors import NoValueError
from ..engine.core.node import NamedNode, Place
from .books import About, Consumer
from .costs import Cost, Estimate, OwnParameters, parts_of, total
from .forward_pass import WAY_OUT
from .pytorch_memory import TorchLedger, tensors_in


def lstm_flop(x: Any, w_input: Any, w_hidden: Any, *_: Any, **options: Any) -> int:
    """FLOPs of one layer in one direction."""
    return int(2 * x.numel() // x.shape[-1] * (w_input.numel() + w_hidden.numel()))


aten = torch.ops.aten
FORMULAS = flop_registry | {  # PyTorch's table lacks attention and LSTMs on the CPU
    aten._scaled_dot_product_flash_attention_for_cpu: sdpa_flop,
    aten._scaled_dot_product_flash_attention_for_cpu_backward: sdpa_backward_flop,
    aten.mkldnn_rnn_layer: lstm_flop,
    aten.mkldnn_rnn_layer_backward: lambda *given, **options: 2 * lstm_flop(*given, **options),
}
MOVES = re.compile("copy|clone|empty|zero|ones|full|fill|cat|stack|index|embedding|pad|select|slice|rand|arange|lift")


class CostLedger(TorchLedger):
    """A ledger that also counts the cost of each op.

    costs    where an op ran in forward → the costs of its calls and of their derivatives
    specs    where an op ran in forward → the spec of its last result
    """

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.costs: dict[About, list[Cost]] = {}
        self.specs: dict[About, str] = {}

    def ran(self, func: Any, given: Any, result: Any) -> About:
        about, is_backward = super().ran(func, given, result), self.phase == "backward"
        results, formula = tensors_in(result), FORMULAS.get(func.overloadpacket)
        every = [] if func.is_view else [*tensors_in(given), *results]
        if formula is not None:
            flops = formula(*given[0], **given[1] or {}, out_val=result)
        else:
            flops = 0 if MOVES.search(func._schema.name) else max([x.numel() for x in every], default=0)
        macs = 0 if formula is None else flops // 2
        moved = sum(x.numel() * x.element_size() for x in every)
        cost = Cost(0, 0, flops, macs) if is_backward else Cost(flops, macs, bytes_moved=moved)
        if about.module or flops:
            self.costs.setdefault(about, []).append(cost)
        if results and not is_backward:
            self.specs[about] = spec_of(results[0])
        return about

    def enter_savings(self) -> None:
        """Count the bytes saved for backward, each tensor at the first op that saves it."""
        seen = {self.books.find_holding(x) for x in (*self.model.parameters(), *self.model.buffers())}
        for saving in self.savings:
            if saving.last is None and saving.holding not in seen:
                self.costs.setdefault(saving.about, []).append(Cost(saved_bytes=saving.holding.nbytes))
            seen.add(saving.holding)


def estimate_pytorch(model: Any, inputs: Any, options: Any, run: bool, depth: int | None) -> Estimate:
    """The estimate of a PyTorch module: see estimate()."""
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"estimate needs a PyTorch Module, which it copies: call this in a Module's forward: {model!r}")
    parts = {path: OwnParameters(kind, [*map(numbers, own)]) for path, (kind, own) in parts_of(model).items()}
    nbytes = sum(x.nbytes for x in tensors_in(dict(model.state_dict())))
    found = Estimate(cast(Any, None), parts, [*map(numbers, model.buffers())], nbytes, depth)
    fake = fake_tensor.FakeTensorMode(allow_non_fake_inputs=True)
    with torch.random.fork_rng(), nullcontext() if run else fake:
        with nullcontext() if run else fake_tensor.FakeCopyMode(fake):
            model, inputs, options = deepcopy((model, inputs, options))
        tensors = *model.parameters(), *model.buffers(), *tensors_in([inputs, options])
        like = next((x for x in tensors if x.is_floating_point()), torch.empty(0))
        inputs, options = tree_map(lambda x: argument(x, like), (inputs, options), is_leaf=is_shape)
        try:
            ledger, peak = count(model, inputs, options)
            with torch.no_grad():
                _, inference_peak = count(model, inputs, options)
        except (fake_tensor.DataDependentOutputException, fake_tensor.DynamicOutputShapeException) as error:
            raise NoValueError(f"the model reads a value, by {error}, and its tensors have none: {WAY_OUT}") from error
    costs = {node_of(about, ledger.specs.get(about)): total(each) for about, each in ledger.costs.items()}
    vars(found).update(costs=costs, peak_bytes=peak, inference_peak_bytes=inference_peak)  # its cached properties
    return found


def count(model: Any, inputs: Any, options: Any) -> tuple[CostLedger, int]:
    """Run forward and backward. Returns the ledger, and the peak of the bytes of results during forward."""
    with CostLedger(model, None, tensors_in([inputs, options])) as ledger:
        results = [y for y in tensors_in(tree_leaves(model(*inputs, **options))) if y.requires_grad]
        ledger.enter_savings()
        peak = max(moment.live[Consumer.SAVED] + moment.live[Consumer.OTHER] for moment in ledger.timeline())
        if results:  # the values of the gradients do not change the costs
            torch.autograd.backward(results, [y.detach() for y in results])
    return ledger, peak


def is_shape(x: Any) -> bool:
    return isinstance(x, tuple) and len(x) > 0 and all(type(n) is int for n in x)


def argument(x: Any, like: Any) -> Any:
    """An argument, moved to the model's device. A shape becomes a tensor with the dtype of the model's parameters."""
    if is_shape(x):
        return like.new_zeros(x)
    return x.to(like.device) if isinstance(x, torch.Tensor) else x


def numbers(x: Any) -> Any:
    """A parameter or a buffer in the form that an Estimate reads."""
    return SimpleNamespace(size=x.numel(), tracked=x.requires_grad, dtype=str(x.dtype)[6:], spec=x)


def node_of(about: About, result: str | None) -> NamedNode:
    """An op in the form that an Estimate reads."""
    op: Any = SimpleNamespace(kind=about.op)
    return NamedNode(op, (), result or "", "", Place("", 0, "", about.module))
