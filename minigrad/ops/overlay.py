"""What an in-place edit of a view does to the tensor that owns the memory."""

from __future__ import annotations

from dataclasses import dataclass

from ..op import Op


@dataclass(frozen=True)
class Overlay(Op):
    """z = x with `part` in place of what the view x → ops[0] → ops[1] → … looks at."""

    ops: tuple[Op, ...]

    symbol = "overlay"
    inline = False

    def infer(self, x, part): return x

    def forward(self, xp, x, part):
        seen = xp.arange(x.size).reshape(x.shape)  # places, not memory: whether an op is a view depends on the layout
        for op in self.ops:
            seen = op.forward(xp, seen)
        z = xp.array(x, order="C")  # which reshape below looks into, and does not copy
        z.reshape(-1)[seen.reshape(-1)] = part.reshape(-1)
        return z

    def vjp(self, gz, z, x, part):
        return gz.apply(self, gz.lift(0).astype(gz.dtype).broadcast_to(part.shape)), self.seen(gz)

    def seen(self, z):
        """What the view of z shows."""
        for op in self.ops:
            z = z.apply(op)
        return z

    def jvp(self, dxs, z, x, part): return dxs[0].apply(self, dxs[1])
    def flops(self, z, x, part): return 0
