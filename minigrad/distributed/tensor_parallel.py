"""Tensor parallelism: each process has a part of every weight, and all compute one layer together.

A network of two layers cuts the first by its columns, the second by its rows, and one sum makes their parts a whole:

    x → f → [A₁ | A₂] → gelu → [B₁ / B₂] → g → y         f  y = x,   gx = Σ gy    (Entered)
                                                         g  y = Σ x, gx = gy      (Reduced)

Unlike elsewhere in this package, all have the same loss, and not a part of it. With `sequence` a process has, between
such pairs, a part of the tokens: f becomes all_gather, g reduce_scatter, whose gradients are each other.
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
from ..nn.functional.loss import reduced
from ..nn.tree import dotted
from .functional import AllReduce, all_gather, all_reduce, broadcast, reduce_scatter
from .group import ProcessGroup, ReduceOp
from .world import found, groups


class Entered(AllReduce):
    """y = x, alike in all processes, of which each goes on with its part; gx = Σ gy. Megatron's f"""

    effect, is_view = False, True  # nothing is said to the others on the way there

    def forward(self, xp: Any, x: Any) -> Any:
        return x

    def vjp(self, gy: Any, y: Any, x: Any) -> tuple[Any]:
        return (gy.apply(Reduced(self.group, self.op)),)


class Reduced(AllReduce):
    """y = Σ x, alike in all processes, which all go on with it in the same way; gx = gy. Megatron's g"""

    call = "all_reduce"

    def vjp(self, gy: Any, y: Any, x: Any) -> tuple[Any]:
        return (gy.apply(Entered(self.group, self.op)),)


class Parallel(nn.Module):
    """A layer of which each process has a part, with the weights of the whole one in the group's first process.

    cuts        parameter → the axis that is cut; the others are whole
    blocks      how many things lie side by side there, each of which is cut: queries, keys and values are 3
    sequence    whether x or y, the one that is else alike for all, is cut along its tokens: (N, T / p, C)

    Raises ShapeError where the processes do not divide what is cut.
    """

    cuts: ClassVar[dict[str, int]] = {}
    weight: Any
    bias: Any

    def __init__(self, whole: nn.Module, group: ProcessGroup | None = None, *, blocks: int = 1, sequence: bool = False):
        g = found(group)
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
        """The parameter of which all have their part. All must call."""
        axis = self.cuts.get(name)
        if axis is None:
            return part
        parts = all_gather(part.unsqueeze(0), groups[self.group]).unflatten(axis + 1, (self.blocks, -1))
        return parts.movedim(0, axis + 1).flatten(axis, axis + 2)

    def entered(self, x: Any) -> Any:
        """f: what all have, or have a part of the tokens of, as what each goes on with."""
        if self.sequence:
            return all_gather(x.swapaxes(0, 1), groups[self.group]).swapaxes(0, 1)
        return operand(x).apply(Entered(self.group, ReduceOp.SUM))

    def left(self, y: Any) -> Any:
        """g: the sum of all y, or of this process's tokens."""
        if self.sequence:
            return reduce_scatter(y.swapaxes(0, 1), groups[self.group]).swapaxes(0, 1)
        return y.apply(Reduced(self.group, ReduceOp.SUM))

    def shared(self, name: str) -> Any:
        """A whole parameter; where each process has its tokens, its gradient is of those of all."""
        x = getattr(self, name)
        return x.apply(Entered(self.group, ReduceOp.SUM)) if self.sequence and x is not None else x


class ColumnParallelLinear(Parallel):
    """y = x Wᵀ + b, this process's part of it: x (…, in) → y (…, out / p)."""

    cuts: ClassVar[dict[str, int]] = {"weight": 0, "bias": 0}

    def forward(self, x: Any) -> Any:
        return functional.linear(self.entered(x), self.weight, self.bias)


class RowParallelLinear(Parallel):
    """y = x Wᵀ + b of a part of x: x (…, in / p) → y (…, out). The bias is added once, to the sum."""

    cuts: ClassVar[dict[str, int]] = {"weight": 1}

    def forward(self, x: Any) -> Any:
        y, bias = self.left(functional.linear(x, self.weight)), self.shared("bias")
        return y if bias is None else y + bias


class SequenceParallelNorm(Parallel):
    """LayerNorm of this process's tokens: made with sequence=True."""

    normalized_shape: tuple[int, ...]
    eps: float

    def forward(self, x: Any) -> Any:
        return functional.layer_norm(x, self.normalized_shape, self.shared("weight"), self.shared("bias"), self.eps)


class VocabParallelEmbedding(Parallel):
    """y = W[tokens] of an Embedding without options, W (V / p, C) being this process's rows: (…) → (…, C).

    Where the table is the last layer too, `logits` are x Wᵀ for these rows: (…, C) → (…, V / p).
    """

    cuts: ClassVar[dict[str, int]] = {"weight": 0}

    def forward(self, tokens: Any) -> Any:
        row, here = among(operand(tokens), len(self.weight), groups[self.group])
        return self.left(self.weight[row] * here.unsqueeze(-1))

    def logits(self, x: Any) -> Any:
        return functional.linear(self.entered(x), self.weight)


def vocab_parallel_cross_entropy(logits: Any, target: Any, reduction: str = "mean", group: Any = None) -> Any:
    """−ln softmax(x)[target] where each process has a part of x: logits (…, V / p), target (…).

    The scores never meet: of each token, the largest is found, and two sums (Shoeybi et al., §3).
    """
    x, g = operand(logits), found(group)
    row, here = among(x.lift(target), x.shape[-1], g)
    x = x - all_reduce(x.detach().max(-1, keepdim=True)[0], ReduceOp.MAX, g)
    mine = stack([x.exp().sum(-1), x.take_along_dim(row.unsqueeze(-1), -1).squeeze(-1) * here])
    total, chosen = mine.apply(Reduced(g.name, ReduceOp.SUM))
    return reduced(total.log() - chosen, reduction)


def among(index: Any, rows: int, g: ProcessGroup) -> tuple[Any, Any]:
    """Where each index is among this process's rows, 0 where it is not; and whether it is.

    Raises BoundsError where no process has it.
    """
    V = rows * g.size
    place = within(index, 0, V - 1, f"{g.size} processes have rows 0 to {V - 1}") - rows * g.rank
    here = (place >= 0) & (place < rows)
    return place.where(here, 0), here


def parallel_block(block: Any, group: ProcessGroup | None = None, sequence: bool = False) -> Any:
    """The block of a GPT in parallel, in place: x (N, T, C), or (N, T / p, C) with `sequence`, to the same.

    Forward costs two g of N T C numbers, backward two f; with `sequence`, twice as many messages, of as many bytes, and
    the sums of the gradients of two norms and two biases. Dropout would drop the same in every part, and is refused.
    """
    attention, mlp, p = block.attention, block.mlp, found(group).size
    options: dict[str, Any] = {"group": group, "sequence": sequence}
    if attention.heads % p:
        raise ShapeError(f"{p} processes do not divide the {attention.heads} heads of attention: choose a multiple")
    if block.drop.p or attention.dropout:
        raise ValueError(f"a parallel block has no dropout, and this has {block.drop.p}: make it with dropout=0.0")
    attention.heads //= p
    attention.qkv = ColumnParallelLinear(attention.qkv, blocks=3, **options)
    attention.out = RowParallelLinear(attention.out, **options)
    mlp[0], mlp[2] = ColumnParallelLinear(mlp[0], **options), RowParallelLinear(mlp[2], **options)
    if sequence:
        block.norm1, block.norm2 = (SequenceParallelNorm(norm, **options) for norm in (block.norm1, block.norm2))
    return block


def part_of_state(module: nn.Module, whole: Mapping[str, Any]) -> dict[str, Any]:
    """Of the state_dict of the whole, this process's part: module.load_state_dict(part_of_state(module, whole))."""
    return exchanged(module, whole, lambda layer, name, x: layer.part(name, x))


def whole_state(module: nn.Module) -> dict[str, Any]:
    """The state_dict of the whole, in every process. All must call."""
    return exchanged(module, module.state_dict(), lambda layer, name, x: layer.whole(name, x))


def exchanged(module: nn.Module, state: Mapping[str, Any], by: Callable[[Any, str, Any], Any]) -> dict[str, Any]:
    layers = ((path, layer) for path, layer in module.named_modules() if isinstance(layer, Parallel))
    names = ((layer, name, dotted(path, name)) for path, layer in layers for name in layer.cuts)
    return {**state, **{full: by(layer, name, state[full]) for layer, name, full in names if full in state}}
