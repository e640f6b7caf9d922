"""DeZero, the engine of “Deep Learning from Scratch 3” (Saito 2020): an object per op, rules on variables.

It was written for NumPy 1, and needs three fixes: a name that NumPy 2 dropped is restored; the numbers in its rules
become float32, because in NumPy 2 a float64 constant would turn every gradient into float64; for the same reason its
labels are 16-bit. Its matmul takes only two axes, so it runs no transformer here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

vars(np)["int"] = int

import dezero  # noqa: E402
import dezero.core  # noqa: E402
import dezero.functions as F  # noqa: E402

from ..workloads import Workload  # noqa: E402
from . import Run  # noqa: E402

as_array = dezero.core.as_array
dezero.core.as_array = lambda x, *xp: np.array(x, "f4") if type(x) in (int, float) else as_array(x, *xp)


class DeZero:
    tanh, relu, sum = staticmethod(F.tanh), staticmethod(F.relu), staticmethod(F.sum)
    linear = staticmethod(F.linear)
    mse_loss, cross_entropy = staticmethod(F.mean_squared_error), staticmethod(F.softmax_cross_entropy)

    def training(self, workload: Workload) -> Run:
        """Its weights and gradients are (in, out); answers are transposed."""
        batch, arrays = workload.arrays()
        if batch.get("y", np.empty(0)).dtype == np.int64:
            batch["y"] = batch["y"].astype(np.int16)
        model = dezero.Layer()
        for name, array in arrays.items():
            setattr(model, name, dezero.Parameter(np.ascontiguousarray(array.T)))
        P = {name: getattr(model, name) for name in arrays}
        kinds = {"sgd": dezero.optimizers.SGD, "adam": dezero.optimizers.Adam}
        update = kinds[workload.update](workload.lr).setup(model).update if workload.update else None

        def gradients() -> Any:
            model.cleargrads()
            loss = workload.loss(self, **batch, **P)
            loss.backward()
            return loss

        def step() -> None:
            gradients()
            if update is not None:
                update()

        def answer() -> tuple[float, dict[str, np.ndarray]]:
            loss = float(gradients().data)
            return loss, {name: p.grad.data.T.copy() for name, p in P.items()}

        return Run({"step": step}, answer)
