"""Cuts a network into stages, and runs any pipeline schedule on them: a batch is cut into microbatches.

Activations go up the stages and gradients down, in messages with a tag for each stage, direction and microbatch. A
sender does not wait for delivery, so processes wait for one another only as the schedule requires; a Schedule is
checked for deadlocks when it is made. Gradients of the microbatches add up in `.grad`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from ..api.functions.creation import full, zeros, zeros_like
from ..api.functions.movement import cat
from ..engine.base.device import CPU
from ..engine.base.device import device as as_device
from ..engine.base.errors import ShapeError
from ..engine.base.spec import Spec
from ..engine.core.modes import no_grad
from ..engine.core.node import place
from ..engine.tensor.grad import backward
from ..engine.tensor.tensor import Tensor
from ..nn.container import Sequential
from ..profiler.costs import estimate
from .collectives import all_gather_into_tensor, irecv, isend, resolve_group
from .group import DistributedError, ProcessGroup, Work
from .schedules import Schedule, Task, schedule

HEAD = 1024  # bytes of the message that describes a stage's outputs, sent once in a run


@dataclass(eq=False)
class PipelineStage:
    """Stage `stage_index` of `num_stages`: a module, called with the output of the stage before it.

    It runs on process stage_index modulo the group's size. If the input is a tuple, a Sequential gets it as
    one argument, as its own parts do; another module gets the elements as arguments.
    """

    submodule: Any
    stage_index: int
    num_stages: int
    device: Any = "cpu"
    group: Any = None

    def __post_init__(self) -> None:
        self.device, self.group = as_device(self.device), resolve_group(self.group)

    def __call__(self, xs: tuple[Tensor, ...], several: bool) -> Any:
        return self.submodule(xs) if several and isinstance(self.submodule, Sequential) else self.submodule(*xs)


class Pipeline:
    """The stages of this process. They run a schedule with the stages of other processes; all make the same calls.

    loss_fn        computes the loss of a microbatch from output and target, in the last stage
    scale_grads    whether to divide gradients by the number of microbatches, for gradients of the whole batch: True if
                   the loss is a mean, False if it is a sum

    Batch statistics, as in BatchNorm, are computed for each microbatch. Before its first output in a run, a stage
    sends a message of HEAD bytes with dtypes and shapes. Raises DistributedError if the stages are not those of this
    process, or other processes run another schedule.
    """

    def __init__(
        self, stages: Sequence[PipelineStage], schedule: Schedule,
        loss_fn: Callable[..., Tensor] | None = None, scale_grads: bool = True,
    ):  # fmt: skip
        g, v = stages[0].group, schedule.chunks
        wanted = [(c * g.size + g.rank, g.size * v) for c in range(v)]
        got = [(stage.stage_index, stage.num_stages) for stage in stages]
        if got != wanted or schedule.workers != g.size:
            differing = f"process {g.rank} of {g.size} has stages {wanted}, (stage_index, num_stages), and got {got}"
            raise DistributedError(f"{schedule.name} for {schedule.workers} processes of {v} stages: {differing}")
        g.agree(f"pipeline {schedule.name} {zlib.crc32(repr(schedule.steps).encode()):x}", place)
        self.group = g.split(f"{g.name} pipeline", g.ranks) or g  # a group of its own, so that no other messages mix in
        self.stages, self.schedule, self.loss_fn = stages, schedule, loss_fn
        self.scale = 1 / schedule.microbatches if scale_grads else 1.0

    def step(self, *args: Tensor, target: Tensor | None = None, losses: list[Tensor] | None = None) -> Any:
        """Run forward and backward of a batch; returns the outputs in the last stage's process.

        args      inputs, only in the first stage's process; cut along their first axis
        target    for loss_fn, only in the last stage's process
        losses    a list to which the last stage's process appends each microbatch's loss

        Raises ShapeError if the microbatches are not of one size, or a stage's outputs differ in shape between them.
        """
        return self.run(self.schedule, args, target, losses)

    def eval(self, *args: Tensor, target: Tensor | None = None, losses: list[Tensor] | None = None) -> Any:
        """Run only forward, under no_grad(); does not switch modules to evaluation."""
        with no_grad():
            return self.run(self.schedule.forward_only(), args, target, losses)

    def run(self, ran: Schedule, args: Sequence[Tensor], target: Tensor | None, losses: list[Tensor] | None) -> Any:
        m, self.ran, self.last = ran.microbatches, ran, ran.stages - 1
        here = [stage.stage_index for stage in self.stages]
        judges = self.last in here and (ran is self.schedule or losses is not None)
        if bool(args) != (0 in here) or (judges and (target is None or self.loss_fn is None)):
            raise DistributedError(
                f"a pipeline takes its inputs from the process of the first stage, target and loss_fn from that of "
                f"the last; stages {here} of {ran.stages} got {len(args)} inputs, target {target}, {self.loss_fn}"
            )
        self.given, self.losses = microbatches(args, m) if args else [], losses
        self.targets = microbatches([target], m) if target is not None and judges else None
        self.group.agree(ran.name, place)
        self.messages, self.kept = Messages(self.group, m), dict[tuple[int, int], Any]()
        self.outputs, self.times, zero = dict[int, Any](), list[tuple[float, float]](), perf_counter()
        for kind, i, chunk in ran.steps[self.group.rank]:
            began, ended = getattr(self, kind)(self.stages[chunk], i)
            self.times.append((began - zero, ended - zero))
            self.messages.move_on()
        self.messages.move_on(wait=True)
        if not self.outputs:
            return None
        whole = tuple(cat(parts) for parts in zip(*(self.outputs[i] for i in range(m))))
        return whole if self.several else whole[0]

    def forward(self, stage: PipelineStage, i: int) -> tuple[float, float]:
        """Run forward of microbatch i; returns when its computation began and ended."""
        s = stage.stage_index
        xs, several, n = self.messages.inputs(stage, i) if s else (self.given[i], False, len(self.given[i][0]))
        began = perf_counter()
        y = stage(xs, several)
        ys = y if isinstance(y, tuple) else (y,)
        if not all(isinstance(each, Tensor) for each in ys):
            raise TypeError(f"stage {s} of a pipeline must return a tensor or a tuple of tensors, and returned {y!r}")
        if s == self.last:
            self.outputs[i], self.several = [each.detach() for each in ys], ys is y
            ys = (self.loss(y, n, *self.targets[i]),) if self.targets else ()
            if self.losses is not None:
                self.losses += [loss.detach() for loss in ys]
        ended = perf_counter()
        if s < self.last:
            self.messages.give_outputs(s, i, ys, ys is y, n)
        if self.ran is self.schedule:
            self.kept[s, i] = xs, ys
        return began, ended

    def loss(self, y: Any, n: int, target: Tensor) -> Tensor:
        """The loss of a microbatch of n samples. Raises ShapeError unless it has n targets: fewer might broadcast."""
        assert self.loss_fn
        if len(target) != n:
            m = self.ran.microbatches
            raise ShapeError(f"a pipeline had a batch of {n * m} at its first stage, and targets of {len(target) * m}")
        return self.loss_fn(y, target)

    def backward(self, stage: PipelineStage, i: int) -> tuple[float, float]:
        """Run backward of microbatch i; returns when its computation began and ended."""
        s = stage.stage_index
        xs, ys = self.kept.pop((s, i))
        if s == self.last:
            gys = [full((), self.scale, dtype=ys[0].dtype, device=ys[0].device)]
        else:
            ys = [y for y in ys if y.tracked]
            gys = [self.messages.recv(y.spec, s + 1, self.messages.tag(s, i, 1)) for y in ys]
        began = perf_counter()
        if ys:
            backward(ys, gys)
        ended = perf_counter()
        for x in xs if s else ():
            if x.tracked:
                gx = zeros_like(x) if x.grad is None else x.grad
                self.messages.send(gx, s - 1, self.messages.tag(s - 1, i, 1))
        return began, ended

    def measured(self) -> list[Task]:
        """The tasks of the last run in all processes, in seconds from its start, without waits. All must call it."""
        times = Tensor(np.empty((self.group.size * len(self.times), 2)))
        all_gather_into_tensor(times, Tensor(np.array(self.times)), self.group)
        rows = iter(times.tolist())
        tasks = [Task(w, step, *next(rows)) for w, steps in enumerate(self.ran.steps) for step in steps]
        return sorted(tasks, key=lambda task: (task.start, task.worker))


def ScheduleGPipe(stage: PipelineStage, n_microbatches: int, *args: Any, **options: Any) -> Pipeline:
    """A Pipeline that runs forward of all microbatches, then backward of all. The name is PyTorch's."""
    return Pipeline([stage], schedule("gpipe", stage.group.size, n_microbatches), *args, **options)


def Schedule1F1B(stage: PipelineStage, n_microbatches: int, *args: Any, **options: Any) -> Pipeline:
    """A Pipeline that alternates forward and backward of one microbatch each. The name is PyTorch's."""
    return Pipeline([stage], schedule("1f1b", stage.group.size, n_microbatches), *args, **options)


def ScheduleInterleaved1F1B(
    stages: Sequence[PipelineStage], n_microbatches: int, *args: Any, **options: Any
) -> Pipeline:
    """As Schedule1F1B, but with several stages on each process. The name is PyTorch's."""
    plan = schedule("1f1b", stages[0].group.size, n_microbatches, len(stages))
    return Pipeline(stages, plan, *args, **options)


# -- messages between stages -----------------------------------------------------------------------


class Messages:
    """The messages of one run of m microbatches: outputs up the stages, gradients down. Each has its own tag."""

    def __init__(self, group: ProcessGroup, m: int):
        self.group, self.m = group, m
        self.said, self.heard = dict[int, str](), dict[int, Any]()  # stage → description of its outputs, of its inputs
        self.under_way = list[Work]()
        self.own = dict[int, list[Tensor]]()  # messages of a single process to itself

    def send(self, x: Tensor, stage: int, tag: int) -> None:
        if self.group.size == 1:
            self.own.setdefault(tag, []).append(x)
        else:
            self.under_way.append(isend(x, self.group.ranks[stage % self.group.size], self.group, tag))

    def recv(self, spec: Spec, stage: int, tag: int) -> Tensor:
        if self.group.size == 1:
            return self.own[tag].pop(0)
        x = zeros(*spec.shape, dtype=spec.dtype, device=spec.device)
        irecv(x, self.group.ranks[stage % self.group.size], self.group, tag).wait()
        return x

    def tag(self, stage: int, i: int, way: int) -> int:
        """The tag of a message between a stage and the next for microbatch i; way: 0 outputs, 1 gradients, 2 head."""
        return (stage * self.m + i) * 3 + way

    def give_outputs(self, s: int, i: int, ys: Sequence[Tensor], several: bool, n: int) -> None:
        said = json.dumps([n, several, [(str(y.dtype), y.shape, y.tracked) for y in ys]])
        first = s not in self.said
        if len(said) > HEAD or self.said.setdefault(s, said) != said:
            rule = f"all outputs of a stage must have the same specs, described in {HEAD} bytes"
            raise ShapeError(f"stage {s} gives {said} for microbatch {i}, and gave {self.said.get(s)} before: {rule}")
        if first:
            self.send(Tensor(np.frombuffer(said.encode().ljust(HEAD), np.uint8).copy()), s + 1, self.tag(s, 0, 2))
        for y in ys:
            self.send(y.detach(), s + 1, self.tag(s, i, 0))

    def inputs(self, stage: PipelineStage, i: int) -> tuple[tuple[Tensor, ...], bool, int]:
        """The previous stage's output for microbatch i, whether it was a tuple, and the size of a microbatch."""
        s = stage.stage_index
        if s not in self.heard:
            head = self.recv(Spec((HEAD,), np.dtype(np.uint8), CPU), s - 1, self.tag(s - 1, 0, 2))
            self.heard[s] = json.loads(bytes(head.numpy()))
        n, several, outputs = self.heard[s]
        specs = [(Spec(tuple(shape), np.dtype(dtype), stage.device), learns) for dtype, shape, learns in outputs]
        tag = self.tag(s - 1, i, 0)
        return tuple(self.recv(spec, s - 1, tag).requires_grad_(learns) for spec, learns in specs), several, n

    def move_on(self, wait: bool = False) -> None:
        """Drop completed messages; with `wait`, wait for all."""
        self.under_way = [work for work in self.under_way if not (work.wait() if wait else work.is_completed())]


def microbatches(xs: Sequence[Tensor], m: int) -> list[tuple[Tensor, ...]]:
    """Cut a batch along its first axis into m microbatches."""
    n, odd = divmod(min((x.shape or (0,))[0] for x in xs), m)
    if odd or not n or any(len(x) != n * m for x in xs):
        got = ", ".join(str(x.spec) for x in xs)
        raise ShapeError(f"a pipeline cuts the first axis of a batch into {m} equal microbatches, and got {got}")
    return [tuple(x[i * n : (i + 1) * n] for x in xs) for i in range(m)]


# -- stages ---------------------------------------------------------------------------------------


def stages_of(model: Sequential, stages: int | Sequence[str], *inputs: Any) -> list[Sequential]:
    """Cut a model into stages, whose parameters keep their names.

    stages    names of the parts that begin the second, third, … stage; or the number of stages, to be balanced:
              the largest stage is as small as possible, in training FLOPs that `profiler.estimate` counts on these
              inputs, or in parameters if there are no inputs

    Raises ValueError if there is no such cut, or two stages would share a parameter.
    """
    names = [name for name, _ in model.named_children()]
    if not isinstance(stages, int):
        starts = [names.index(name) if name in names else 0 for name in stages]
    elif not 0 < stages <= len(names):
        raise ValueError(f"{len(names)} parts can be cut into 1 to {len(names)} stages, not {stages}")
    elif inputs:
        costs = estimate(model, *inputs).by_module
        starts = balance_stages([costs[f"{type(model).__name__}.{name}"].train_flops for name in names], stages)
    else:
        starts = balance_stages([sum(p.size for p in part.parameters()) for part in model], stages)
    if 0 in starts or starts != sorted({*starts}):
        raise ValueError(f"stages must begin with different parts, in order, among {names[1:]}: got {stages}")
    parts: list[Sequential] = [model[i:j] for i, j in pairwise([0, *starts, len(names)])]
    refuse_shared(parts)
    return parts


def refuse_shared(parts: Sequence[Sequential]) -> None:
    """Raise ValueError if two stages share a parameter."""
    homes: dict[int, int] = {}
    for stage, part in enumerate(parts):
        for name, p in part.named_parameters():
            if homes.setdefault(id(p), stage) != stage:
                raise ValueError(
                    f"parameter {name} of stage {stage} is also one of stage {homes[id(p)]}, and each would learn a "
                    "copy of its own: cut where both are in one stage"
                )


def balance_stages(costs: Sequence[int], n: int) -> list[int]:
    """The starts of the second, third, … of n consecutive runs of costs, such that the largest sum is minimal."""

    @cache
    def best(first: int, n: int) -> tuple[int, list[int]]:
        if n == 1:
            return sum(costs[first:]), []
        cuts = range(first + 1, len(costs) - n + 2)
        return min((max(sum(costs[first:cut]), best(cut, n - 1)[0]), [cut, *best(cut, n - 1)[1]]) for cut in cuts)

    return best(0, n)[1]
