"""Tensor parallelism: each process has a part of every weight, and all processes compute each layer together.

Of two layers, the first is cut by columns, the second by rows; one sum of the parts gives the result:

    x → f → [A₁ | A₂] → gelu → [B₁ / B₂] → g → y         f  y = x,   gx = Σ gy    (CopyToParallel)
                                                         g  y = Σ x, gx = gy      (ReduceFromParallel)

Unlike elsewhere in this package, all processes have the whole loss, not a part of it. With `sequence`, each process has
a part of the tokens between such layer pairs: f becomes all_gather, g reduce_scatter, each the other's gradient.
Shoeybi et al. 2019, “Megatron-LM”, §3, https://arxiv.org/abs/1909.08053; for sequences Korthikanti et al. 2022,
“Reducing Activation Recomputation in Large Transformer Models”, §4.2, https://arxiv.org/abs/2205.05198.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from .. import nn
from ..api.functions.indexing import within
from ..api.functions.movement import stack
from ..engine.base.errors import ShapeError
from ..engine.tensor.lift import operand
from ..nn import functional
from ..nn.functional.loss import reduce_loss
from ..nn.tree import dotted_name
from .collectives import groups, resolve_group
from .functional import AllReduce, all_gather, all_reduce, broadcast, reduce_scatter
from .group import ProcessGroup, ReduceOp


class CopyToParallel(AllReduce):
    """y = x, equal in all processes, before each computes its part; gx = Σ gy. Megatron's f"""

    effect, is_view = False, True  # forward communicates nothing

    def forward(self, xp: Any, x: Any) -> Any:
        return x

    def vjp(self, gy: Any, y: Any, x: Any) -> tuple[Any]:
        return (gy.apply(ReduceFromParallel(self.group, self.op)),)


class ReduceFromParallel(AllReduce):
    """y = Σ x, equal in all processes, which then all compute the same; gx = gy. Megatron's g"""

    call = "all_reduce"

    def vjp(self, gy: Any, y: Any, x: Any) -> tuple[Any]:
        return (gy.apply(CopyToParallel(self.group, self.op)),)


class Parallel(nn.Module):
    """A layer of which each process has a part, made from the weights in the group's first process.

    cuts        parameter → the axis to cut; other parameters stay whole
    blocks      number of blocks along that axis; each block is cut: 3 for queries, keys and values
    sequence    whether an x or y that is otherwise equal in all processes is cut along tokens: (N, T / p, C)

    Raises ShapeError if the number of processes does not divide the axis.
    """

    cuts: ClassVar[dict[str, int]] = {}
    weight: Any
    bias: Any

    def __init__(self, whole: nn.Module, group: ProcessGroup | None = None, *, blocks: int = 1, sequence: bool = False):
        g = resolve_group(group)
        self.group, self.blocks, self.sequence = g.name, blocks, sequence
        for name, x in [*vars(whole).items()]:
            if name in whole._parameters and x is not None:
                x = nn.Parameter(self.part(name, broadcast(x.detach(), g.ranks[0], g)), x.requires_grad)
            if not name.startswith("_"):
                setattr(self, name, x)

    def part(self, name: str, whole: Any) -> Any:
        """This process's part of the parameter of that name."""
        x, axis, g = operand(whole), self.cuts.get(name), groups[self.group]
        if axis is None:
            return x
        if x.shape[axis] % (self.blocks * g.size):
            raise ShapeError(
                f"{type(self).__name__}: {name} {x.shape} is cut along axis {axis}, {self.blocks} times {g.size} equal "
                f"parts, and {g.size} processes do not divide {x.shape[axis] / self.blocks:g}: choose a multiple"
            )
        return x.unflatten(axis, (self.blocks, g.size, -1)).movedim(axis + 1, 0)[g.rank].flatten(axis, axis + 1)

    def whole(self, name: str, part: Any) -> Any:
        """The whole parameter, from the parts of all processes. All must call this."""
        axis = self.cuts.get(name)
        if axis is None:
            return part
        parts = all_gather(part.unsqueeze(0), groups[self.group]).unflatten(axis + 1, (self.blocks, -1))
        return parts.movedim(0, axis + 1).flatten(axis, axis + 2)

    def copy_to_parallel(self, x: Any) -> Any:
        """f: the layer's input, equal in all processes; with `sequence`, gathered from the tokens of all."""
        if self.sequence:
            return all_gather(x.swapaxes(0, 1), groups[self.group]).swapaxes(0, 1)
        return operand(x).apply(CopyToParallel(self.group, ReduceOp.SUM))

    def reduce_from_parallel(self, y: Any) -> Any:
        """g: the sum of the y of all processes; with `sequence`, only for this process's tokens."""
        if self.sequence:
            return reduce_scatter(y.swapaxes(0, 1), groups[self.group]).swapaxes(0, 1)
        return y.apply(ReduceFromParallel(self.group, ReduceOp.SUM))

    def shared_parameter(self, name: str) -> Any:
        """A whole parameter; with `sequence`, its gradient is summed over the tokens of all processes."""
        x = getattr(self, name)
        return x.apply(CopyToParallel(self.group, ReduceOp.SUM)) if self.sequence and x is not None else x


class ColumnParallelLinear(Parallel):
    """y = x Wᵀ + b, this process's part of it: x (…, in) → y (…, out / p)."""

    cuts: ClassVar[dict[str, int]] = {"weight": 0, "bias": 0}

    def forward(self, x: Any) -> Any:
        return functional.linear(self.copy_to_parallel(x), self.weight, self.bias)


class RowParallelLinear(Parallel):
    """y = x Wᵀ + b from a part of x: x (…, in / p) → y (…, out). The bias is added once, to the sum."""

    cuts: ClassVar[dict[str, int]] = {"weight": 1}

    def forward(self, x: Any) -> Any:
        y, bias = self.reduce_from_parallel(functional.linear(x, self.weight)), self.shared_parameter("bias")
        return y if bias is None else y + bias


class SequenceParallelNorm(Parallel):
    """LayerNorm of this process's tokens; needs sequence=True."""

    normalized_shape: tuple[int, ...]
    eps: float

    def forward(self, x: Any) -> Any:
        weight, bias = self.shared_parameter("weight"), self.shared_parameter("bias")
        return functional.layer_norm(x, self.normalized_shape, weight, bias, self.eps)


class VocabParallelEmbedding(Parallel):
    """y = W[tokens] for an Embedding without options; W (V / p, C) has this process's rows: (…) → (…, C).

    If the table is also the last layer, `logits` computes x Wᵀ for these rows: (…, C) → (…, V / p).
    """

    cuts: ClassVar[dict[str, int]] = {"weight": 0}

    def forward(self, tokens: Any) -> Any:
        row, here = local_rows(operand(tokens), len(self.weight), groups[self.group])
        return self.reduce_from_parallel(self.weight[row] * here.unsqueeze(-1))

    def logits(self, x: Any) -> Any:
        return functional.linear(self.copy_to_parallel(x), self.weight)


def vocab_parallel_cross_entropy(logits: Any, target: Any, reduction: str = "mean", group: Any = None) -> Any:
    """−ln softmax(x)[target], with a part of x in each process: logits (…, V / p), target (…).

    The logits are never gathered: only a maximum and two sums for each token are reduced (Shoeybi et al., §3).
    """
    x, g = operand(logits), resolve_group(group)
    row, here = local_rows(x.lift(target), x.shape[-1], g)
    x = x - all_reduce(x.detach().max(-1, keepdim=True)[0], ReduceOp.MAX, g)
    mine = stack([x.exp().sum(-1), x.take_along_dim(row.unsqueeze(-1), -1).squeeze(-1) * here])
    total, chosen = mine.apply(ReduceFromParallel(g.name, ReduceOp.SUM))
    return reduce_loss(total.log() - chosen, reduction)


def local_rows(index: Any, rows: int, g: ProcessGroup) -> tuple[Any, Any]:
    """For each index, its position among this process's rows, or 0 if it is not here; and whether it is here.

    Raises BoundsError for an index that no process has.
    """
    V = rows * g.size
    place = within(index, 0, V - 1, f"{g.size} processes have rows 0 to {V - 1}") - rows * g.rank
    here = (place >= 0) & (place < rows)
    return place.where(here, 0), here


def parallel_block(block: Any, group: ProcessGroup | None = None, sequence: bool = False) -> Any:
    """Make a GPT's block parallel, in place: x (N, T, C), or (N, T / p, C) with `sequence`; y has x's shape.

    Forward costs two g of N T C numbers, backward two f; with `sequence`, twice as many messages with the same bytes,
    and sums of the gradients of two norms and two biases. Dropout is refused: all parts would drop the same elements.
    """
    attention, mlp, p = block.attention, block.mlp, resolve_group(group).size
    options: dict[str, Any] = {"group": group, "sequence": sequence}
    if attention.heads % p:
        raise ShapeError(f"{p} processes do not divide the {attention.heads} heads of attention: choose a multiple")
    if block.drop.p or attention.dropout:
        raise ValueError(f"a parallel block has no dropout, and this one has {block.drop.p}: make it with dropout=0.0")
    attention.heads //= p
    attention.qkv = ColumnParallelLinear(attention.qkv, blocks=3, **options)
    attention.out = RowParallelLinear(attention.out, **options)
    mlp[0], mlp[2] = ColumnParallelLinear(mlp[0], **options), RowParallelLinear(mlp[2], **options)
    if sequence:
        block.norm1, block.norm2 = (SequenceParallelNorm(norm, **options) for norm in (block.norm1, block.norm2))
    return block


def part_of_state(module: nn.Module, whole: Mapping[str, Any]) -> dict[str, Any]:
    """This process's part of a whole state_dict: module.load_state_dict(part_of_state(module, whole))."""
    return map_parts(module, whole, lambda layer, name, x: layer.part(name, x))


def whole_state(module: nn.Module) -> dict[str, Any]:
    """The whole state_dict, in every process. All must call this."""
    return map_parts(module, module.state_dict(), lambda layer, name, x: layer.whole(name, x))


def map_parts(module: nn.Module, state: Mapping[str, Any], by: Callable[[Any, str, Any], Any]) -> dict[str, Any]:
    layers = ((path, layer) for path, layer in module.named_modules() if isinstance(layer, Parallel))
    names = ((layer, name, dotted_name(path, name)) for path, layer in layers for name in layer.cuts)
    return {**state, **{full: by(layer, name, state[full]) for layer, name, full in names if full in state}}
