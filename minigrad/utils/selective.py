"""Selective checkpoints: what is dear to compute is kept, what is cheap is computed again.

    def context_fn():
        return create_selective_checkpoint_contexts(keep_products)

    y = checkpoint(block, x, context_fn=context_fn)

As the ops run for the first time, a policy says of each whether its result is kept. The second time, the plan of an op
hands out what was kept of it, application by application, and computes the others.
In a graph that is being built its node is none of the part's (tracing/recompute.py). Names are PyTorch's.
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
    """What is done with the result of an op. What one would prefer is done."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


SAVE = {CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, True}
Applied = tuple[Op, tuple[Spec, ...]]


@dataclass(frozen=True)
class SelectiveCheckpointContext:
    """What a policy is told of the moment.

    is_recompute    False: it is asked the first time, and what it said holds for the second
    """

    is_recompute: bool = False


Policy = Callable[..., CheckpointPolicy | bool]


def keep_products(ctx: SelectiveCheckpointContext, op: Op, *specs: Spec) -> CheckpointPolicy:
    """The policy that keeps products of matrices, convolutions and attention, and computes the rest again."""
    return CheckpointPolicy.PREFER_SAVE if isinstance(op, PRODUCTS) else CheckpointPolicy.PREFER_RECOMPUTE


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | Sequence[type[Op]],
) -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """What checkpoint(context_fn=…) enters the first time, and the second.

    policy_fn_or_list    (ctx, op, specs of its operands) → CheckpointPolicy, or whether to save; or a list of the
                         kinds of op that are kept
    """
    kept = Caching(policy_fn_or_list if callable(policy_fn_or_list) else keep_kinds(tuple(policy_fn_or_list)))
    return kept, Recall(kept)


def keep_kinds(kinds: tuple[type[Op], ...]) -> Policy:
    """The policy that keeps the results of these kinds of op."""
    if not all(isinstance(kind, type) and issubclass(kind, Op) for kind in kinds):
        raise TypeError(f"a list of what is kept names kinds of op, as [mg.ops.MatMul], and this is {kinds!r}")
    return lambda ctx, op, *specs: isinstance(op, kinds)


class Caching:
    """The context of the first time: a watcher that keeps what the policy says.

    results    (op, specs of its operands) → what was kept of each application, and when; None for computed again
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
        """Whether the result of op is kept. A view has no memory of its own."""
        said = not op.is_view and self.policy(SelectiveCheckpointContext(), op, *specs)
        if not isinstance(said, CheckpointPolicy | bool):
            raise TypeError(f"a policy gives a CheckpointPolicy, and for {op} it gave {said!r}")
        return said in SAVE

    def saw(self, op: Op, y: Any, xs: tuple[Any, ...]) -> None:
        specs = tuple([x.spec for x in xs])
        if specs in op.plans:
            kept = (y.value, versions.now()) if self.keeps(op, *specs) else None
            self.results.setdefault((op, specs), []).append(kept)

    def pulled(self, node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
        pass


class Recall:
    """The context of the second time: ops whose results were kept give them, and compute nothing.

    left    the results of each op that are still to come
    """

    def __init__(self, kept: Caching):
        self.kept = kept

    def __enter__(self) -> None:
        self.before, inside.recall = inside.recall, self
        self.left = {applied: iter(results) for applied, results in self.kept.results.items() if any(results)}
        for op, specs in self.left:
            planned = op.plans.get(specs) or plan(op, specs)
            if not isinstance(planned.run, Recalled):
                planned.run = Recalled((op, specs), planned.run)

    def __exit__(self, kind: Any, *raised: Any) -> None:
        inside.recall = self.before
        if kind is None:
            for (op, _), results in self.left.items():
                if next(results, self) is not self:
                    raise NoGradientError(f"checkpoint: the second time there were fewer {op} than the first")

    def result(self, applied: Applied) -> Any:
        """What was kept of this application; None if nothing was, or if it was edited in place since."""
        kept: Any = next(self.left[applied], self) if applied in self.left else None
        if kept is self:
            raise NoGradientError(f"checkpoint: the second time there were more {applied[0]} than the first")
        return None if kept is None or versions.edited_since(*kept) else kept[0]


class Inside(threading.local):
    """Whose results are handed out in this thread just now."""

    recall: Recall | None = None


inside = Inside()


@dataclass(frozen=True, eq=False)
class Recalled:
    """How a planned op runs, of which a result is kept somewhere."""

    applied: Applied
    compute: Callable[..., Any]

    def __call__(self, *xs: Any) -> Any:
        kept = None if inside.recall is None else inside.recall.result(self.applied)
        return self.compute(*xs) if kept is None else kept
