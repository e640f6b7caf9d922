"""Plain CuPy in NumPy style: whole-array expressions, gradients by hand, no engine.

On the CPU the same code runs on NumPy, which is how it is tested.
"""

from __future__ import annotations

from typing import Any

from minigrad.engine.base.device import device as device_called

from ..workloads import A, B, C, Workload
from . import Run


class Arrays:
    """Raises NotImplementedError for a workload without an implementation here."""

    def __init__(self, device: str = "gpu"):
        self.device = device_called(device)
        self.xp = self.device.xp

    def given(self, workload: Workload) -> tuple[dict[str, Any], dict[str, Any], Any]:
        """The batch, the parameters, and a function that returns the loss and their gradients."""
        if not hasattr(self, workload.name):
            raise NotImplementedError(f"no {workload.name} in plain CuPy")
        batch, P = ({n: self.device.array(a) for n, a in arrays.items()} for arrays in workload.arrays())
        return batch, P, getattr(self, workload.name)

    def finish(self) -> None:
        if self.device.name == "gpu":
            self.xp.cuda.Device().synchronize()

    def large(self, workload: Workload) -> Run:
        batch, P, of = self.given(workload)
        stages = {"forward": lambda: of(False, **batch, **P), "gradient": lambda: of(True, **batch, **P)}
        return Run(stages, lambda: self.read(*of(True, **batch, **P)), finish=self.finish)

    def training(self, workload: Workload) -> Run:
        batch, P, of = self.given(workload)
        moments = {name: (self.xp.zeros_like(p), self.xp.zeros_like(p)) for name, p in P.items()}
        t = 0

        def step() -> Any:
            nonlocal t
            t += 1
            loss, G = of(**batch, **P)
            root = (1 - 0.999**t) ** 0.5
            for name, g in G.items():
                m, v = moments[name]
                m += 0.1 * (g - m)
                v += 0.001 * (g * g - v)
                P[name] -= workload.lr * root / (1 - 0.9**t) * m / (self.xp.sqrt(v) + 1e-8 * root)
            return loss

        return Run({"step": step}, lambda: self.read(*of(**batch, **P)), finish=self.finish)

    def read(self, loss: Any, G: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        return float(self.device.read(loss)), {name: self.device.read(g) for name, g in G.items()}

    # -- the workloads ------------------------------------------------------------------------------------

    def fused(self, wanted: bool, x: Any) -> Any:
        s, t = 1 / (1 + self.xp.exp(-(A * x + B))), self.xp.tanh(C * x)
        loss = (s * t + x * x).sum()
        return (loss, {"x": s * (A * (1 - s) * t + C * (1 - t * t)) + 2 * x}) if wanted else loss

    def softmax(self, wanted: bool, w: Any, x: Any) -> Any:
        p = self.xp.exp(x - x.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        along = (p * w).sum(-1, keepdims=True)
        return (along.sum(), {"x": p * (w - along)}) if wanted else along.sum()

    def layernorm(self, wanted: bool, w: Any, x: Any, gain: Any, bias: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        scale = 1 / self.xp.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)
        y = centred * scale
        loss = ((y * gain + bias) * w).sum()
        if not wanted:
            return loss
        gy = w * gain
        gx = scale * (gy - gy.mean(-1, keepdims=True) - y * (gy * y).mean(-1, keepdims=True))
        return loss, {"x": gx, "gain": (w * y).sum(0), "bias": w.sum(0)}

    def mlp(self, x: Any, y: Any, **P: Any) -> Any:
        xp, rows = self.xp, self.xp.arange(len(y))
        h1 = xp.maximum(x @ P["W1"].T + P["b1"], 0)
        h2 = xp.maximum(h1 @ P["W2"].T + P["b2"], 0)
        z = h2 @ P["W3"].T + P["b3"]
        z = z - z.max(1, keepdims=True)
        p = xp.exp(z)
        total = p.sum(1, keepdims=True)
        loss = (xp.log(total[:, 0]) - z[rows, y]).mean()
        g = p / total
        g[rows, y] -= 1
        g /= len(y)
        G = {}
        for i, h, W in ((3, h2, P["W3"]), (2, h1, P["W2"]), (1, x, None)):
            G[f"W{i}"], G[f"b{i}"] = g.T @ h, g.sum(0)
            if W is not None:
                g = (g @ W) * (h > 0)
        return loss, G
