"""Selective checkpoints: save results that are expensive to compute, and recompute the cheap ones.

    def context_fn():
        return create_selective_checkpoint_contexts(keep_products)

    y = checkpoint(block, x, context_fn=context_fn)

In the first run, a policy decides for each op whether to save its result. In the second run, the op returns its saved
results in order, and computes the results that were not saved.
In a graph that is being built, a saved node is not part of the segment (tracing/gradients.py). Names are PyTorch's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ..engine import ops
from ..engine.base.errors import NoGradientError
from ..engine.base.spec import Spec
from ..engine.core import modes, versions
from ..engine.core.op import Op
from ..engine.ops.convolution import Trilinear
from ..engine.tensor.rules import plan

PRODUCTS = (ops.MatMul, ops.Affine, ops.Contract, ops.Attention, Trilinear)


class CheckpointPolicy(Enum):
    """What to do with the result of an op. PREFER_ has the same effect as MUST_."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


SAVE = {CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, True}
Applied = tuple[Op, tuple[Spec, ...]]


@dataclass(frozen=True)
class SelectiveCheckpointContext:
    """The first argument of a policy.

    is_recompute    always False: the policy is called only in the first run, and its decisions hold for the second
    """

    is_recompute: bool = False


Policy = Callable[..., CheckpointPolicy | bool]


def keep_products(ctx: SelectiveCheckpointContext, op: Op, *specs: Spec) -> CheckpointPolicy:
    """A policy that saves matrix products, convolutions and attention, and recomputes the rest."""
    return CheckpointPolicy.PREFER_SAVE if isinstance(op, PRODUCTS) else CheckpointPolicy.PREFER_RECOMPUTE


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | Sequence[type[Op]],
) -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """The contexts of the first and the second run, for checkpoint(context_fn=…).

    policy_fn_or_list    a function (ctx, op, *specs of operands) → a CheckpointPolicy, or True to save the result; or
                         a list of the classes of ops whose results are saved
    """
    kept = Caching(policy_fn_or_list if callable(policy_fn_or_list) else keep_kinds(tuple(policy_fn_or_list)))
    return kept, Recall(kept)


def keep_kinds(kinds: tuple[type[Op], ...]) -> Policy:
    """A policy that saves the results of these classes of ops."""
    if not all(isinstance(kind, type) and issubclass(kind, Op) for kind in kinds):
        raise TypeError(f"expected a list of classes of ops, as in [mg.ops.MatMul], got {kinds!r}")
    return lambda ctx, op, *specs: isinstance(op, kinds)


class Caching:
    """The context of the first run: a watcher that saves the results that the policy selects.

    results    (op, specs of its operands) → for each call, (saved result, time of saving), or None to recompute it
    """

    def __init__(self, policy: Policy):
        self.policy = policy
        self.results: dict[Applied, list[tuple[Any, int] | None]] = {}

    def __enter__(self) -> None:
        mode = modes.current.mode
        if mode.builder is not None:
            mode.builder.part.keeps = self.keeps
        self.block = modes.in_mode(watchers=(*mode.watchers, *[self] * (mode.builder is None)))
        self.block.__enter__()

    def __exit__(self, *raised: Any) -> None:
        self.block.__exit__(*raised)

    def keeps(self, op: Op, *specs: Spec) -> bool:
        """Whether to save the result of op. A view is never saved, because it has no memory of its own."""
        said = not op.is_view and self.policy(SelectiveCheckpointContext(), op, *specs)
        if not isinstance(said, CheckpointPolicy | bool):
            raise TypeError(f"a policy must return a CheckpointPolicy or a bool, and for {op} it returned {said!r}")
        return said in SAVE

    def on_forward(self, op: Op, y: Any, xs: tuple[Any, ...]) -> None:
        specs = tuple([x.spec for x in xs])
        if specs in op.plans:
            kept = (y.value, versions.now()) if self.keeps(op, *specs) else None
            self.results.setdefault((op, specs), []).append(kept)

    def on_backward(self, node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
        pass


class Recall:
    """The context of the second run: ops return their saved results instead of computing them.

    left    (op, specs of its operands) → an iterator over the results that the second run has not used yet
    """

    def __init__(self, kept: Caching):
        self.kept = kept

    def __enter__(self) -> None:
        self.before, inside.recall = inside.recall, self
        self.left = {applied: iter(results) for applied, results in self.kept.results.items() if any(results)}
        for op, specs in self.left:
            planned = op.plans.get(specs) or plan(op, specs)
            if not isinstance(planned.run, CachedRun):
                planned.run = CachedRun((op, specs), planned.run)

    def __exit__(self, kind: Any, *raised: Any) -> None:
        inside.recall = self.before
        if kind is None:
            for (op, _), results in self.left.items():
                if next(results, self) is not self:
                    raise NoGradientError(f"checkpoint: the second time there were fewer {op} than the first")

    def result(self, applied: Applied) -> Any:
        """The next saved result of this op and specs; None if it was not saved, or was edited in place since."""
        kept: Any = next(self.left[applied], self) if applied in self.left else None
        if kept is self:
            raise NoGradientError(f"checkpoint: the second time there were more {applied[0]} than the first")
        return None if kept is None or versions.edited_since(*kept) else kept[0]


class CurrentRecall(threading.local):
    """The active Recall context of each thread."""

    recall: Recall | None = None


inside = CurrentRecall()


@dataclass(frozen=True, eq=False)
class CachedRun:
    """Inside a Recall context, returns the saved result of an op if there is one; else computes the result."""

    applied: Applied
    compute: Callable[..., Any]

    def __call__(self, *xs: Any) -> Any:
        kept = None if inside.recall is None else inside.recall.result(self.applied)
        return self.compute(*xs) if kept is None else kept
