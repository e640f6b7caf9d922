"""RMSprop: the gradient over the running size of it."""

from __future__ import annotations

from typing import Any

from .groups import Group, State
from .inplace import Pad, where
from .optimizer import Rule


class RMSprop(Rule):
    """v ← α v + (1 − α) g²;  p ← p − lr g / (√v + ε)

    Tieleman & Hinton 2012, “Neural Networks for Machine Learning”, lecture 6.5.

    centered    √(v − m²) for √v, with m the running mean of g: the spread about the mean, Graves 2013, “Generating
                Sequences With Recurrent Neural Networks”, eq. 38-45. https://arxiv.org/abs/1308.0850
    momentum    b ← μ b + g / (√v + ε);  p ← p − lr b
    """

    options = Group(lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False, maximize=False)

    def carried(self, options: Group) -> tuple[str, ...]:
        centre = ("grad_avg",) if options["centered"] else ()
        return ("square_avg", *centre, "momentum_buffer") if options["momentum"] else ("square_avg", *centre)

    def move(self, p: Any, g: Any, pad: Pad, options: Group, state: State, v: Any, *means: Any) -> None:
        carried = dict(zip(self.carried(options)[1:], means))
        pad.mean_square_(v, g, 1 - options["alpha"])
        if options["centered"]:
            m = carried["grad_avg"]
            pad.lerp_(m, g, 1 - options["alpha"])
            v = pad.xp.subtract(v, pad.square(m), out=pad.term)
            v = pad.xp.maximum(v, 0, out=v)  # rounding may put it below
        spread = pad.root(v, options["eps"])
        if options["momentum"]:
            b = carried["momentum_buffer"]
            b *= options["momentum"]
            pad.addcdiv_(b, g, spread, 1)
            pad.add_(p, b, -options["lr"])
        else:
            pad.addcdiv_(p, g, spread, -options["lr"])


class Rprop(Rule):
    """s ← η₊ s where the gradient has kept its sign, η₋ s where it has turned;  p ← p − s sign(g), but not there

    Each number has a step of its own, and the size of its gradient does not count.
    Riedmiller & Braun 1993, “A direct adaptive method for faster backpropagation learning: The RPROP algorithm”.

    etas          η₋ and η₊
    step_sizes    the least and the largest s, which begins as lr
    """

    options = Group(lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), maximize=False)

    def carried(self, options: Group) -> tuple[str, ...]:
        return "prev", "step_size"

    def move(self, p: Any, g: Any, pad: Pad, options: Group, state: State, before: Any, s: Any) -> None:
        xp, (shrink, grow), (least, largest) = pad.xp, options["etas"], options["step_sizes"]
        s += where(state["step"] == 1, options["lr"], 0)
        turn = xp.sign(xp.multiply(g, before, out=pad.term), out=pad.term)
        for bound, factor in ((xp.maximum, grow - 1), (xp.minimum, 1 - shrink)):
            change = bound(turn, 0, out=pad.second)
            change *= factor
            change += 1
            s *= change
        xp.minimum(xp.maximum(s, least, out=s), largest, out=s)
        stays = xp.minimum(turn, 0, out=pad.term)
        stays += 1
        xp.multiply(g, stays, out=before)
        step = xp.sign(before, out=pad.term)
        step *= s
        p -= step
