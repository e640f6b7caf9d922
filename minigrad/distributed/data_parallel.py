"""One model in many processes, each with its own part of a batch: gradients are averaged while backward goes on.

Parameters are put into buckets in reverse order, as gradients come. The last gradient of a bucket starts its
all-reduce; later ones ask how it is, which moves it on; the end of backward waits for all. Every process starts the
buckets in one order, whatever order its gradients come in.

Li et al. 2020, “PyTorch Distributed: Experiences on Accelerating Data Parallel Training”, §3.
https://arxiv.org/abs/2006.15704
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, NoReturn

import numpy as np

from ..engine.base.damaged_state import refuse_by_name
from ..engine.base.errors import GraphError, NoGradientError, StateError
from ..engine.core.hooks import Handle
from ..engine.core.modes import current, no_grad
from ..engine.core.node import place
from ..engine.tensor.early import at_end
from ..engine.tensor.inplace import write
from ..engine.tensor.tensor import Tensor
from ..nn.module import IncompatibleKeys, Module
from . import collectives, functional
from .group import DistributedError, ProcessGroup, ReduceOp, Work
from .world import found

MEGABYTE = 1 << 20


class DistributedDataParallel(Module):
    """The module, called with a part of the batch in each process; after backward() all have the mean gradient.

    That is the gradient of the whole batch where the loss is a mean over examples and all parts have as many.

    process_group             all processes, if None
    bucket_cap_mb             a bucket is full when it has so many megabytes (2²⁰ bytes)
    find_unused_parameters    whether a backward may leave parameters out, here or everywhere
    broadcast_buffers         whether each call of the module begins with the buffers of the group's first process
    gradient_as_bucket_view   whether `.grad` looks into the bucket, and no copy is made

    When it is made, parameters and buffers become those of the first process. Where two processes have other names,
    shapes or dtypes, DistributedError says which.

    A backward that leaves a parameter out raises DistributedError at its end; with find_unused_parameters it counts as
    zero, and where no process has a gradient its `.grad` stays as it is. Each backward adds to `.grad`, and so may
    follow another. In a traced function each gradient is reduced by an op of the graph. mg.grad() reduces nothing.
    Every process must make as many steps: DistributedSampler sees to that; there is no join(). state_dict() has the
    module's own names; load_state_dict() also takes PyTorch's, which begin with "module.".
    """

    def __init__(
        self,
        module: Module,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float = 25,
        find_unused_parameters: bool = False,
        broadcast_buffers: bool = True,
        gradient_as_bucket_view: bool = False,
    ):
        self.module, self.group = module, found(process_group)
        self.find_unused, self.broadcast_buffers = find_unused_parameters, broadcast_buffers
        self.names = {id(p): name for name, p in module.named_parameters() if p.requires_grad}
        if not self.names:
            raise ValueError(f"{type(module).__name__} has no parameter that requires a gradient: call it as it is")
        make_alike([*module.named_parameters(), *module.named_buffers()], self.group)
        learning = [p for p in module.parameters() if p.requires_grad]
        self.buckets = [*filled(learning, bucket_cap_mb * MEGABYTE, gradient_as_bucket_view)]
        self.bucket_of = {id(p): bucket for bucket in self.buckets for p in bucket.parameters}
        self.handles = [(p, p.register_post_accumulate_grad_hook(self.arrived)) for p in learning]
        self.syncing = self.forward_synced = True
        self.works: list[Work] = []

    def forward(self, *xs: Any, **options: Any) -> Any:
        learning = [id(p) for p in self.module.parameters() if p.requires_grad]
        if learning != [*self.names] or not all(is_hooked(p, handle) for p, handle in self.handles):
            raise DistributedError(
                "the module's parameters were replaced, moved, frozen or unfrozen after DistributedDataParallel was "
                "made, and their gradients would not be reduced: make it anew"
            )
        self.forward_synced = self.syncing
        if self.broadcast_buffers and self.syncing:
            with no_grad():
                for b in self.module.buffers():
                    b.copy_(functional.broadcast(b, self.group.ranks[0], self.group))
        return self.module(*xs, **options)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block in which gradients add up in each process; the first backward after it reduces their sums."""
        before, self.syncing = self.syncing, False
        try:
            yield
        finally:
            self.syncing = before

    def join(self, *_: Any, **__: Any) -> NoReturn:
        raise DistributedError(
            "in PyTorch, processes that have run out of batches take part with zeros inside join(); here all make as "
            "many steps: give them as many batches, as DistributedSampler does, or drop_last=True"
        )

    # -- while backward goes on -------------------------------------------------------------------

    def arrived(self, p: Tensor) -> None:
        """The gradient of p is there."""
        if current.mode.builder is not None:
            if not self.syncing:
                raise GraphError("no_sync() is asked once, when a function is traced: take it around an untraced step")
            p.grad = functional.all_reduce(p.grad, ReduceOp.AVG, self.group)
        elif self.syncing or self.forward_synced:
            if at_end(self.finish):  # the first of this pass
                self.works = []
                for bucket in self.buckets:
                    bucket.begin()
            self.bucket_of[id(p)].take(p)
            self.advance()

    def advance(self) -> None:
        """Start the buckets that are full, in their order, and move on those that were started."""
        for work in self.works:
            work.is_completed()
        for bucket in self.buckets[len(self.works) :]:
            if bucket.missing:
                break
            self.works.append(bucket.start(self.group))

    def finish(self) -> None:
        """The end of backward: what is left is started, all is waited for, and gradients are where they belong."""
        unused = [p for bucket in self.buckets for p in [*bucket.missing.values()]]
        if unused and not self.find_unused:
            raise DistributedError(
                f"rank {self.group.ranks[self.group.rank]}: backward gave no gradient to "
                f"{', '.join(self.names[id(p)] for p in unused)}, and other processes may wait for it: let the loss "
                "depend on all parameters, freeze those, or say find_unused_parameters=True"
            )
        for p in unused:
            self.bucket_of[id(p)].take(p)
        self.advance()
        used = self.used_anywhere() if self.find_unused else {}
        for work, bucket in zip(self.works, self.buckets):
            work.wait()
            bucket.give_back(used)

    def used_anywhere(self) -> dict[int, bool]:
        """id of a parameter → whether a process has a gradient of it."""
        ps = [p for p, _ in self.handles]
        used = Tensor(np.array([p.grad is not None for p in ps], np.int32))
        collectives.all_reduce(used, ReduceOp.MAX, self.group)
        return {id(p): bool(is_used) for p, is_used in zip(ps, used.numpy())}

    # -- state: that of the module ----------------------------------------------------------------

    def state_dict(self, *, prefix: str = "") -> dict[str, Tensor]:
        return self.module.state_dict(prefix=prefix)

    @refuse_by_name
    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        if assign:
            raise StateError("DistributedDataParallel waits for the parameters it was made with: leave out assign=True")
        own = {name for name, _ in self.module._named_state()}
        prefix = "module." if own.isdisjoint(state_dict) else ""
        return self.module.load_state_dict({n.removeprefix(prefix): x for n, x in state_dict.items()}, strict)


class Bucket:
    """Gradients that travel together.

    flat       all of them, side by side; None between two passes, unless `.grad` looks into it
    parts      id of a parameter → its gradient there
    missing    parameters whose gradient has not come in this pass
    """

    def __init__(self, parameters: list[Tensor], is_viewed: bool):
        self.parameters, self.is_viewed = parameters, is_viewed
        self.flat: Tensor | None = None
        self.parts: dict[int, Any] = {}
        self.missing: dict[int, Tensor] = {}

    def begin(self) -> None:
        """A pass begins."""
        self.missing = {id(p): p for p in self.parameters}
        if self.flat is None:
            spec, ends = self.parameters[0].spec, [*accumulate(p.size for p in self.parameters)]
            flat = spec.device.xp.empty(ends[-1], spec.dtype)
            self.parts = {id(p): flat[end - p.size : end].reshape(p.shape) for p, end in zip(self.parameters, ends)}
            self.flat = Tensor(flat)

    def take(self, p: Tensor) -> None:
        """p's gradient; zeros if it has none."""
        if p.grad is not None and p.grad.tracked:
            raise NoGradientError("create_graph=True meets DistributedDataParallel, whose sums have no history")
        self.parts[id(p)][...] = 0 if p.grad is None else p.grad.value
        del self.missing[id(p)]

    def start(self, group: ProcessGroup) -> Work:
        """The sum over all processes begins, of gradients that were divided: in half precision it would overflow."""
        assert self.flat is not None
        self.flat.value /= group.size
        work = collectives.all_reduce(self.flat, ReduceOp.SUM, group, async_op=True)
        assert work is not None
        return work

    def give_back(self, used: dict[int, bool]) -> None:
        """What was reduced, to the `.grad` of those that are used."""
        for p in self.parameters:
            part = self.parts[id(p)]
            if not used.get(id(p), True):
                continue
            if p.grad is None or self.is_viewed:
                p.grad = Tensor(part if self.is_viewed else part.copy())
            else:
                write(p.grad, part)
        if not self.is_viewed:
            self.flat, self.parts = None, {}


def filled(parameters: list[Tensor], most: float, is_viewed: bool) -> Iterator[Bucket]:
    """The parameters from last to first, in buckets of one dtype and device; one of `most` bytes is full."""
    rooms: defaultdict[Any, list[Tensor]] = defaultdict(list)
    for p in reversed(parameters):
        key = p.spec.dtype, p.spec.device
        rooms[key].append(p)
        if sum(x.spec.nbytes for x in rooms[key]) >= most:
            yield Bucket(rooms.pop(key), is_viewed)
    yield from (Bucket(rest, is_viewed) for rest in rooms.values())


def is_hooked(p: Tensor, handle: Handle) -> bool:
    """Whether p still has the hook."""
    return p.node is not None and p.node.hooks is not None and p.node.hooks.after is handle.book


def make_alike(state: Sequence[tuple[str, Tensor]], group: ProcessGroup) -> None:
    """Give all processes these tensors of the first. Raises DistributedError where they differ in kind."""
    for name, x in state:
        group.agree(f"{name} is {x.spec}{', learned' * x.requires_grad}", place)
    group.agree(f"{len(state)} parameters and buffers", place)
    with no_grad():
        for _, x in state:
            collectives.broadcast(x, group.ranks[0], group)
