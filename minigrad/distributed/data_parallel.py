"""One model in many processes, each with its own share of the data: gradients are averaged while backward runs.

Parameters are put into buckets in reverse order, in which gradients usually come. A bucket's last gradient starts its
all-reduce. Each later gradient tests the all-reduces, and so progresses them; the end of backward waits for all. Every
process starts the buckets in the same order, whatever the order of its gradients.

Li et al. 2020, “PyTorch Distributed: Experiences on Accelerating Data Parallel Training”, §3.
https://arxiv.org/abs/2006.15704
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from itertools import accumulate, cycle, islice
from typing import Any, NoReturn

import numpy as np

from ..api.functions.movement import cat
from ..data.dataset import Sampler, refuse_other_options, shuffle_indices
from ..engine import random
from ..engine.base.damaged_state import refuse_by_name
from ..engine.base.dtypes import float32
from ..engine.base.errors import GraphError, NoGradientError, ShapeError, StateError
from ..engine.core.hooks import Handle
from ..engine.core.modes import current, no_grad
from ..engine.core.node import place
from ..engine.tensor.early import at_end
from ..engine.tensor.inplace import write
from ..engine.tensor.tensor import Tensor
from ..nn.functional.normalisation import scale_and_shift
from ..nn.module import IncompatibleKeys, Module
from ..nn.norm import BatchNormNd
from . import collectives, functional
from .collectives import get_rank, get_world_size, resolve_group
from .group import DistributedError, ProcessGroup, ReduceOp, Work

MEGABYTE = 1 << 20


class DistributedDataParallel(Module):
    """Calls a module with a part of the batch in each process; backward() gives all processes the mean gradient.

    The mean is the gradient of the whole batch if the loss is a mean over examples and all parts are equally large.

    process_group             the group of processes; all if None
    bucket_cap_mb             size of a full bucket in megabytes (2²⁰ bytes)
    find_unused_parameters    whether a backward may leave parameters out, in this process or in all
    broadcast_buffers         whether each call of the module first copies the buffers of the group's first process
    gradient_as_bucket_view   whether `.grad` is a view of the bucket, without a copy

    The constructor copies parameters and buffers from the first process. If names, shapes or dtypes differ between
    processes, DistributedError says which.

    A backward that leaves a parameter out raises DistributedError at its end. With find_unused_parameters the missing
    gradient counts as zero; if no process has one, `.grad` stays as it is. Each backward adds to `.grad`, so one may
    follow another. In a traced function, an op of the graph reduces each gradient. mg.grad() reduces nothing. Every
    process must make the same number of steps, as DistributedSampler ensures; there is no join(). state_dict() has the
    module's own names; load_state_dict() also takes PyTorch's, which begin with "module.".
    """

    def __init__(
        self, module: Module, process_group: ProcessGroup | None = None, bucket_cap_mb: float = 25,
        find_unused_parameters: bool = False, broadcast_buffers: bool = True, gradient_as_bucket_view: bool = False,
    ):  # fmt: skip
        self.module, self.group = module, resolve_group(process_group)
        self.find_unused, self.broadcast_buffers = find_unused_parameters, broadcast_buffers
        self.names = {id(p): name for name, p in module.named_parameters() if p.requires_grad}
        if not self.names:
            raise ValueError(f"{type(module).__name__} has no parameter that requires a gradient: call it directly")
        make_alike([*module.named_parameters(), *module.named_buffers()], self.group)
        learning = [p for p in module.parameters() if p.requires_grad]
        self.buckets = [*fill_buckets(learning, bucket_cap_mb * MEGABYTE, gradient_as_bucket_view)]
        self.bucket_of = {id(p): bucket for bucket in self.buckets for p in bucket.parameters}
        self.handles = [(p, p.register_post_accumulate_grad_hook(self.on_gradient)) for p in learning]
        self.syncing = self.forward_synced = True
        self.works: list[Work] = []

    def forward(self, *xs: Any, **options: Any) -> Any:
        learning = [id(p) for p in self.module.parameters() if p.requires_grad]
        if learning != [*self.names] or not all(is_hooked(p, handle) for p, handle in self.handles):
            raise DistributedError(
                "the module's parameters were replaced, moved, frozen or unfrozen after DistributedDataParallel was "
                "made, and their gradients would not be reduced: wrap it again"
            )
        self.forward_synced = self.syncing
        if self.broadcast_buffers and self.syncing:
            with no_grad():
                for b in self.module.buffers():
                    b.copy_(functional.broadcast(b, self.group.ranks[0], self.group))
        return self.module(*xs, **options)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block in which each process adds up gradients by itself; the next backward after it reduces the sums."""
        before, self.syncing = self.syncing, False
        try:
            yield
        finally:
            self.syncing = before

    def join(self, *_: Any, **__: Any) -> NoReturn:
        raise DistributedError(
            "PyTorch's join() lets processes without further batches contribute zeros; here all must make the same "
            "number of steps: deal equal numbers of batches, as DistributedSampler does, or set drop_last=True"
        )

    # -- while backward runs ---------------------------------------------------------------------

    def on_gradient(self, p: Tensor) -> None:
        """Hook, called when the gradient of p is complete."""
        if current.mode.builder is not None:
            if not self.syncing:
                raise GraphError("no_sync() is read once, at tracing: use it around an untraced step")
            p.grad = functional.all_reduce(p.grad, ReduceOp.AVG, self.group)
        elif self.syncing or self.forward_synced:
            if at_end(self.finish):  # at the first gradient of this pass
                self.works = []
                for bucket in self.buckets:
                    bucket.begin()
            self.bucket_of[id(p)].take(p)
            self.advance()

    def advance(self) -> None:
        """Start the full buckets, in order, and progress those already started."""
        for work in self.works:
            work.is_completed()
        for bucket in self.buckets[len(self.works) :]:
            if bucket.missing:
                break
            self.works.append(bucket.start(self.group))

    def finish(self) -> None:
        """End of backward: start the remaining buckets, wait for all, and write the gradients back."""
        unused = [p for bucket in self.buckets for p in [*bucket.missing.values()]]
        if unused and not self.find_unused:
            raise DistributedError(
                f"rank {self.group.ranks[self.group.rank]}: backward gave no gradient to "
                f"{', '.join(self.names[id(p)] for p in unused)}, and other processes may wait for it: let the loss "
                "depend on all parameters, freeze those, or pass find_unused_parameters=True"
            )
        for p in unused:
            self.bucket_of[id(p)].take(p)
        self.advance()
        used = self.used_anywhere() if self.find_unused else {}
        for work, bucket in zip(self.works, self.buckets):
            work.wait()
            bucket.give_back(used)

    def used_anywhere(self) -> dict[int, bool]:
        """id of a parameter → whether any process has its gradient."""
        ps = [p for p, _ in self.handles]
        used = Tensor(np.array([p.grad is not None for p in ps], np.int32))
        collectives.all_reduce(used, ReduceOp.MAX, self.group)
        return {id(p): bool(is_used) for p, is_used in zip(ps, used.numpy())}

    # -- state, as in the module ------------------------------------------------------------------

    def state_dict(self, *, prefix: str = "") -> dict[str, Tensor]:
        return self.module.state_dict(prefix=prefix)

    @refuse_by_name
    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        if assign:
            raise StateError("DistributedDataParallel needs the parameters it was made with: leave out assign=True")
        own = {name for name, _ in self.module._named_state()}
        prefix = "module." if own.isdisjoint(state_dict) else ""
        return self.module.load_state_dict({n.removeprefix(prefix): x for n, x in state_dict.items()}, strict)


class Bucket:
    """Gradients that are reduced together.

    flat       all these gradients in one array; None between two passes, unless `.grad` is a view of it
    parts      id of a parameter → its gradient in that array
    missing    parameters whose gradient is not yet complete in this pass
    """

    def __init__(self, parameters: list[Tensor], is_viewed: bool):
        self.parameters, self.is_viewed = parameters, is_viewed
        self.flat: Tensor | None = None
        self.parts: dict[int, Any] = {}
        self.missing: dict[int, Tensor] = {}

    def begin(self) -> None:
        """Begin a backward pass."""
        self.missing = {id(p): p for p in self.parameters}
        if self.flat is None:
            spec, ends = self.parameters[0].spec, [*accumulate(p.size for p in self.parameters)]
            flat = spec.device.xp.empty(ends[-1], spec.dtype)
            self.parts = {id(p): flat[end - p.size : end].reshape(p.shape) for p, end in zip(self.parameters, ends)}
            self.flat = Tensor(flat)

    def take(self, p: Tensor) -> None:
        """Copy p's gradient; zeros if it has none."""
        if p.grad is not None and p.grad.tracked:
            raise NoGradientError("DistributedDataParallel has no create_graph=True: its sums have no history")
        self.parts[id(p)][...] = 0 if p.grad is None else p.grad.value
        del self.missing[id(p)]

    def start(self, group: ProcessGroup) -> Work:
        """Start the sum over all processes. Gradients are divided first: in half precision the sum could overflow."""
        assert self.flat is not None
        self.flat.value /= group.size
        work = collectives.all_reduce(self.flat, ReduceOp.SUM, group, async_op=True)
        assert work is not None
        return work

    def give_back(self, used: dict[int, bool]) -> None:
        """Write the reduced gradients to the `.grad` of used parameters."""
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


def fill_buckets(parameters: list[Tensor], most: float, is_viewed: bool) -> Iterator[Bucket]:
    """The parameters from last to first, in buckets of one dtype and device. A bucket is full at `most` bytes."""
    rooms: defaultdict[Any, list[Tensor]] = defaultdict(list)
    for p in reversed(parameters):
        key = p.spec.dtype, p.spec.device
        rooms[key].append(p)
        if sum(x.spec.nbytes for x in rooms[key]) >= most:
            yield Bucket(rooms.pop(key), is_viewed)
    yield from (Bucket(rest, is_viewed) for rest in rooms.values())


def is_hooked(p: Tensor, handle: Handle) -> bool:
    """Whether p still has the hook of this handle."""
    return p.node is not None and p.node.hooks is not None and p.node.hooks.after is handle.book


def make_alike(state: Sequence[tuple[str, Tensor]], group: ProcessGroup) -> None:
    """Copy these tensors from the first process to all. Raises DistributedError if their specs differ."""
    for name, x in state:
        group.agree(f"{name} is {x.spec}{', learned' * x.requires_grad}", place)
    group.agree(f"{len(state)} parameters and buffers", place)
    with no_grad():
        for _, x in state:
            collectives.broadcast(x, group.ranks[0], group)


class SyncBatchNorm(BatchNormNd):
    """(x − μ) / √(σ² + ε) · w + b for each channel, over all processes' batches in training: see nn.BatchNorm1d.

    x                (N, C) or (N, C, …); N may differ between processes, and be 0
    process_group    the processes whose batches count as one; all processes if None

    A step costs one all_gather of 2C + 1 numbers, and its gradient one reduce_scatter. The mean, squared deviations and
    count of each process combine to those of all (Chan et al. 1979, “Updating Formulae and a Pairwise Algorithm for
    Computing Sample Variances”, eq. 2.1); sums of squares would lose digits under a large mean. The loss is the sum of
    all processes' losses, as for every collective; gradients of w and b cover only each process's own batch.

    Raises ShapeError if all processes together have only one value for a channel, as one value has no variance.
    PyTorch has this class in torch.nn; here imports go in one direction, and mg.nn does not import mg.distributed.
    """

    dims = 2, 3, 4, 5

    def __init__(self, *given: Any, process_group: ProcessGroup | None = None, **named: Any):
        super().__init__(*given, **named)
        self.process_group = process_group

    def forward(self, input: Any) -> Any:
        if not self.training:
            return super().forward(input)
        x, momentum, C = self._check_input(input), self._momentum(), self.num_features
        axes, column = (0, *range(2, x.ndim)), (C, *(1,) * (x.ndim - 2))
        wide = x.astype(float32) if x.spec.is_half else x
        n = wide.lift(x.size // C).astype(wide.dtype).reshape(1)
        mean = wide.sum(axes) / n.maximum(1)
        squares = ((wide - mean.reshape(column)) ** 2).sum(axes)
        rows = functional.all_gather(cat([mean, squares, n]).unsqueeze(0), self.process_group)
        means, squares, counts = rows[:, :C], rows[:, C:-1], rows[:, -1:]  # a row for each process
        total = counts.sum()
        if isinstance(total, Tensor) and total.item() < 2:
            raise ShapeError(f"{self} in training needs more than one value for each channel in all, and got {x.spec}")
        mean = (counts * means).sum(0) / total
        squares = (squares + counts * (means - mean) ** 2).sum(0)
        with no_grad():
            for running, now in ((self.running_mean, mean), (self.running_var, squares / (total - 1))):
                if running is not None:
                    running.copy_(running * (1 - momentum) + now.detach() * momentum)
        y = (wide - mean.reshape(column)) / (squares.reshape(column) / total + self.eps).sqrt()
        return scale_and_shift(y, self.weight, self.bias, column).astype(x.dtype)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: ProcessGroup | None = None) -> Module:
        """Replace each batch normalisation of the module by a SyncBatchNorm with the same tensors."""
        if isinstance(module, BatchNormNd) and not isinstance(module, cls):
            options = module.eps, module.momentum, module.affine, module.track_running_stats
            made = cls(module.num_features, *options, process_group=process_group)
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                setattr(made, name, getattr(module, name))
            return made.train(module.training)
        for name, part in [*module._modules()]:
            setattr(module, name, cls.convert_sync_batchnorm(part, process_group))
        return module


class DistributedSampler(Sampler):
    """Every `num_replicas`-th index, from `rank` on: mg.data.DataLoader(data, sampler=DistributedSampler(data)).

    num_replicas    number of shares; the number of processes if None
    rank            number of this share; this process's rank if None
    shuffle         whether to shuffle; the order depends only on `seed` and the epoch, so all processes agree
    drop_last       whether to drop the examples that cannot be dealt evenly; otherwise the first ones are repeated

    Call set_epoch before each epoch: as in PyTorch, the order stays the same until then. PyTorch has this class in
    torch.utils.data; here imports go in one direction, and mg.utils does not import mg.distributed.
    """

    def __init__(
        self, dataset: Sized, num_replicas: int | None = None, rank: int | None = None,
        shuffle: bool = True, seed: int = 0, drop_last: bool = False,
    ):  # fmt: skip
        self.num_replicas = get_world_size() if num_replicas is None else num_replicas
        self.rank = get_rank() if rank is None else rank
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(f"DistributedSampler: rank must be 0 to {self.num_replicas - 1}, and got {self.rank}")
        self.dataset, self.shuffle, self.seed, self.drop_last, self.epoch = dataset, shuffle, seed, drop_last, 0

    def __len__(self) -> int:
        """The number of indices that each process gets."""
        n, p = len(self.dataset), self.num_replicas
        return n // p if self.drop_last else -(-n // p)

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        order = shuffle_indices(n, random.fold_in(random.key(self.seed), self.epoch)) if self.shuffle else range(n)
        return islice(cycle(order), self.rank, len(self) * self.num_replicas, self.num_replicas)

    def set_epoch(self, epoch: int) -> None:
        """Use the order of this epoch from now on."""
        self.epoch = epoch

    def state_dict(self) -> dict[str, Any]:
        """The epoch, which determines the order, and the options, which load_state_dict compares."""
        options = {"shuffle": self.shuffle, "seed": self.seed, "drop_last": self.drop_last, "length": len(self.dataset)}
        return {"epoch": self.epoch, "num_replicas": self.num_replicas, **options}

    @refuse_by_name
    def load_state_dict(self, state_dict: Mapping[str, Any], under_way: bool = False) -> None:
        """Continue in the epoch of a saved sampler."""
        own = self.state_dict()
        refuse_other_options(self, state_dict, own, **{name: x for name, x in own.items() if name != "epoch"})
        self.epoch = state_dict["epoch"]
