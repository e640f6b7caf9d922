"""The right loss and gradients, in float64 and without an engine."""

from __future__ import annotations

import numpy as np

from .engines.numpy import Blocked, Numpy
from .workloads import Arrays, Workload


def reference(workload: Workload) -> tuple[float, Arrays]:
    """By hand; Hessian times vector as the slope of the gradient along v."""
    if workload.kind == "hvp":
        return hessian_vector(workload)
    by_hand = Blocked("f8") if workload.kind == "large" else Numpy("f8")
    answer: tuple[float, Arrays] = getattr(by_hand, workload.kind)(workload).answer()
    return answer


def hessian_vector(workload: Workload, h: float = 1e-5) -> tuple[float, Arrays]:
    """(g(p + h v) − g(p − h v)) / 2h: its error, h² ≈ 1e-10 and rounding / h ≈ 1e-11, is far below float32's."""
    batch, P = workload.arrays()
    v = {name: array.astype("f8") for name, array in workload.vectors().items()}

    def moved(step: float) -> tuple[float, Arrays]:
        there = {name: p + step * v[name] for name, p in P.items()}
        parameters, gradients = Numpy("f8").by_hand(workload, batch, there)
        return float(gradients()), parameters.G

    (loss, _), (_, above), (_, below) = moved(0), moved(h), moved(-h)
    return loss, {name: (above[name] - below[name]) / (2 * h) for name in P}


def error(got: tuple[float, Arrays], wanted: tuple[float, Arrays]) -> float:
    """The largest relative error of the loss and the gradients, each as a vector; infinity for NaN."""
    loss, gradients = wanted
    assert got[1].keys() == gradients.keys(), f"gradients of {sorted(got[1])}, wanted {sorted(gradients)}"
    errors = [abs(got[0] - loss) / abs(loss)]
    for name, gradient in gradients.items():
        difference = np.linalg.norm(np.asarray(got[1][name], "f8") - gradient)
        errors.append(float(difference / np.linalg.norm(gradient)))
    return max(e if np.isfinite(e) else np.inf for e in errors)
