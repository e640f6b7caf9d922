"""ZeRO: each process keeps only a part of the training state. Ψ parameters, p processes, K numbers of state for each:

                                       parameters   gradients   state      elements that move
    data parallel (NO_SHARD)           Ψ            Ψ           KΨ         2Ψ    an all-reduce
    1   ZeroRedundancyOptimizer        Ψ            Ψ           KΨ/p       3Ψ    an all-reduce (DDP), broadcasts
    2   SHARD_GRAD_OP                  Ψ            Ψ/p         KΨ/p       2Ψ    reduce-scatter, all-gather
    3   FULL_SHARD                     Ψ/p          Ψ/p         KΨ/p       3Ψ    as 2, and an all-gather in backward

SGD has K = 0, with momentum 1; Adam has K = 2. Parameters, gradients and state have one dtype here.
Rajbhandari et al. 2020, “ZeRO: Memory Optimizations Toward Training Trillion Parameter Models”, §5, §7 and table 1. Its
first stage moves 2Ψ, because it sends gradients only to their owners. https://arxiv.org/abs/1910.02054
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from enum import Enum, auto
from functools import partial
from itertools import accumulate
from math import prod
from typing import Any, NoReturn
from weakref import WeakValueDictionary

import numpy as np

from ..autograd.function_rule import Output, OutputRule
from ..autograd.graph import innermost, saved_tensors_hooks
from ..engine.base.damaged_state import refuse_by_name
from ..engine.base.device import CPU
from ..engine.base.dtypes import wide
from ..engine.base.errors import GraphError, NoGradientError, StateError
from ..engine.base.spec import Spec
from ..engine.core.modes import current, no_grad
from ..engine.core.node import Record
from ..engine.core.versions import edits_of, owner
from ..engine.tensor.grad import origin
from ..engine.tensor.inplace import write
from ..engine.tensor.tensor import Tensor, wrap_array
from ..nn.module import IncompatibleKeys, Module
from ..nn.tree import Parameter
from ..nn.utils import total_norm
from ..optim.groups import Group
from ..optim.optimizer import Optimizer
from . import collectives, functional
from .collectives import resolve_group
from .data_parallel import make_alike
from .group import DistributedError, ProcessGroup, ReduceOp


class ShardingStrategy(Enum):
    """FULL_SHARD cuts parameters, gradients and state; SHARD_GRAD_OP only gradients and state; NO_SHARD nothing."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()


FULL_SHARD, SHARD_GRAD_OP, NO_SHARD = ShardingStrategy


class Shard(Tensor):
    """One process's part of a gradient."""

    __slots__ = ()

    def norm(self, *_: Any, **__: Any) -> NoReturn:
        raise DistributedError(
            f"{self.spec} is one process's part of a gradient, and does not give the norm, or the finiteness, of the "
            "whole: clip by model.clip_grad_norm_(max_norm), and use bfloat16, which needs no GradScaler"
        )

    isfinite = norm


class FlatParameter(Parameter):
    """All parameters of a unit, which is a FullyShardedDataParallel module, in one array: the row."""

    __slots__ = ()


class FlatPart(FlatParameter):
    """This process's part of a FlatParameter."""

    __slots__ = ()

    @staticmethod
    def wrap_array(value: Any, spec: Spec) -> Tensor:
        y = wrap_array(value, spec)
        y.__class__ = Shard
        return y


class FullyShardedDataParallel(Module):
    """A module whose parameters are one array, `flat_param`. Each process keeps a part, and runs on a batch of its own.

    process_group        the group of processes; all if None
    sharding_strategy    see ShardingStrategy
    auto_wrap_policy     classes of inner modules that become units of their own, so that less is gathered at once

    Parameters are whole while their unit runs. FULL_SHARD then frees them, also those that backward needs, and gathers
    them again when backward reads them. `.grad` of flat_param is this process's part of the mean gradient, 0 for
    unused parameters. The constructor copies parameters and buffers from the first process. Create optimisers after
    it. Elementwise optimisers, such as SGD and Adam, update parts as they would the whole; Adafactor, Muon and LBFGS do
    not. SHARD_GRAD_OP keeps parameters whole between steps too, as the paper's second stage does; PyTorch does so only
    within a step. Zhao et al. 2023, “PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel”, §3 and §4.2.
    https://arxiv.org/abs/2304.11277
    """

    def __init__(
        self, module: Module, process_group: ProcessGroup | None = None,
        sharding_strategy: ShardingStrategy = FULL_SHARD, auto_wrap_policy: Iterable[type[Module]] = (),
    ):  # fmt: skip
        wrap_inner(module, tuple(auto_wrap_policy), process_group, sharding_strategy)
        self.module, self.group, self.strategy = module, resolve_group(process_group), sharding_strategy
        own = {name: p for name, p in module.named_parameters() if not isinstance(p, FlatParameter)}
        first = check_alike(own, module)
        if any((unit.group, unit.strategy) != (self.group, self.strategy) for unit in self.units()):
            raise ValueError("nested units must have one process_group and one sharding_strategy")
        make_alike([*own.items(), *module.named_buffers()], self.group)
        self.places = [places_of(p, module) for p in own.values()]
        self.shapes = [p.shape for p in own.values()]
        self.parts = 1 if sharding_strategy is NO_SHARD else self.group.size
        self.length = -(-sum(p.size for p in own.values()) // self.parts)  # of a part; zeros pad the last part
        full = np.zeros(self.length * self.parts, first.dtype)
        for view, p in zip(self.views(full), own.values()):
            view[...] = p.value
        self.full: np.ndarray | None = full if sharding_strategy is SHARD_GRAD_OP else None
        mine = self.mine(full) if sharding_strategy is not FULL_SHARD else self.mine(full).copy()
        kind = FlatParameter if sharding_strategy is NO_SHARD else FlatPart
        self.flat_param: Any = kind(Tensor(mine), first.requires_grad) if own else None
        self.gathered = edits_of(full)
        self.calls: list[UnitCall] = []
        self.hide_all()

    def forward(self, *xs: Any, **options: Any) -> Any:
        if current.mode.builder is not None:
            raise GraphError(
                "FullyShardedDataParallel gathers and frees memory as it runs, and a graph would free nothing: "
                "call it outside of mg.function, or use DistributedDataParallel"
            )
        if self.flat_param is None:
            return self.module(*xs, **options)
        call = UnitCall(self)
        self.calls.append(call)
        try:
            with saved_tensors_hooks(call.pack, call.unpack) if self.strategy is FULL_SHARD else nullcontext():
                return self.module(*xs, **options)
        finally:
            self.calls.remove(call)
            call.full, call.tensors = None, []

    def __repr__(self) -> str:
        size = f"{self.length:,} of {self.length * self.parts:,} elements here"
        return f"FullyShardedDataParallel({type(self.module).__name__}, {self.strategy.name}, {size})"

    def units(self) -> list[FullyShardedDataParallel]:
        """This unit, and the units inside it."""
        return [m for m in self.modules() if isinstance(m, FullyShardedDataParallel)]

    # -- the row ----------------------------------------------------------------------------------

    def views(self, full: np.ndarray) -> list[np.ndarray]:
        """Views of the parameters in the whole row."""
        cuts = [*accumulate(prod(shape) for shape in self.shapes)]
        return [row.reshape(shape) for row, shape in zip(np.split(full, cuts), self.shapes)]

    def mine(self, full: np.ndarray) -> np.ndarray:
        """This process's part of the whole row."""
        start = self.length * self.group.rank if self.parts > 1 else 0
        part: np.ndarray = full[start : start + self.length]
        return part

    def gather(self) -> np.ndarray:
        """Gather the whole row from all processes."""
        part: np.ndarray = self.flat_param.value
        if self.strategy is NO_SHARD:
            return part
        if self.full is None:
            full: np.ndarray = np.empty(self.length * self.parts, part.dtype)
        elif owner(part) is not self.full:
            raise DistributedError("the module was moved after FullyShardedDataParallel was made: wrap it again")
        elif self.gathered == edits_of(full := self.full):
            return full
        else:
            part = part.copy()  # MPI must not send from memory that it writes to
        collectives.all_gather_into_tensor(Tensor(full), Tensor(part), self.group)
        self.gathered = edits_of(full)
        return full

    def hide_all(self) -> None:
        """Replace each parameter by a lookup that works only while the unit runs."""
        for i, places in enumerate(self.places):
            for m, name in places:
                m._forget(name)
                del vars(m)[name]
                vars(m).setdefault("_computed", {})[name] = partial(self.current_parameter, i)

    def show_all(self, full: np.ndarray) -> None:
        """Replace the lookups that hide_all made by parameters, which are views of the whole row."""
        for places, view in zip(self.places, self.views(full)):
            p = Parameter(Tensor(view), self.flat_param.requires_grad)
            for m, name in places:
                del vars(m)["_computed"][name]
                setattr(m, name, p)

    def current_parameter(self, i: int, m: Any, name: str) -> Any:
        if not self.calls:
            raise StateError(
                f"{type(m).__name__}.{name} is sharded, and whole only in calls of its FullyShardedDataParallel: put "
                "checkpoint() around that, and read parameters in `with model.summon_full_params():`"
            )
        return self.calls[-1].tensors[i]

    # -- whole state ------------------------------------------------------------------------------

    @contextmanager
    def summon_full_params(self, writeback: bool = True) -> Iterator[Any]:
        """A block in which the original module is whole again in every process; yields the module. All must call it.

        writeback    whether to keep edits
        """
        every = self.units()
        wrapped = [(m, name, part) for m in self.modules() for name, part in m._modules() if part in every]
        units = [unit for unit in every if unit.flat_param is not None]
        fulls = [unit.gather().copy() for unit in units]
        for unit, full in zip(units, fulls):
            unit.show_all(full)
        for m, name, part in wrapped:
            vars(m)[name] = part.module
        try:
            yield self.module
        finally:
            for m, name, part in wrapped:
                vars(m)[name] = part
            for unit, full in zip(units, fulls):
                unit.hide_all()
                if writeback:
                    write(unit.flat_param, unit.mine(full))

    def state_dict(self, *, prefix: str = "") -> dict[str, Tensor]:
        """The whole state, under the wrapped module's names, in every process. All processes must call this."""
        with self.summon_full_params(writeback=False) as module:
            return module.state_dict(prefix=prefix)  # type: ignore[no-any-return]

    @refuse_by_name
    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        if assign:
            raise StateError("FullyShardedDataParallel copies values into its flat_param: leave out assign=True")
        with self.summon_full_params() as module:
            return module.load_state_dict(state_dict, strict)  # type: ignore[no-any-return]

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """mg.nn.utils.clip_grad_norm_ over all parts: scales the gradients, and returns their norm before scaling."""
        grads = [p.grad for p in self.parameters() if p.grad is not None]
        with no_grad():
            total = Tensor(total_norm([Tensor(g.value) for g in grads], norm_type).value.reshape(1))
            if self.parts > 1:  # the norm of the parts' norms is the norm of the whole
                norms = Tensor(np.empty(self.parts))
                collectives.all_gather_into_tensor(norms, total, self.group)
                total = norms.norm(norm_type)
        scale = max_norm / (total.item() + 1e-6)
        if not scale >= 1:
            for g in grads:
                write(g, g.value * scale)
        return total.reshape(())


class UnitCall:
    """The whole row during one call of a unit; also the rule that turns parameters' gradients into the part's gradient.

    tensors    the parameters, recorded as outputs of one op
    around     the surrounding saved_tensors_hooks, which pack all other saved tensors
    """

    reads = ()

    def __init__(self, unit: FullyShardedDataParallel):
        self.unit, self.around, flat = unit, innermost(), unit.flat_param
        self.full: np.ndarray | None = unit.gather()
        self.spec, self.dtype = flat.spec, flat.dtype
        self.tensors = [Tensor(view) for view in unit.views(self.full)]
        if current.mode.recording and flat.requires_grad:
            record = Record(functional.AllGather(unit.group.name), (origin(flat),), self, ())
            for i, y in enumerate(self.tensors):
                y.node, y.tracked = Record(Output(i), (record,), OutputRule(y.spec, i), ()), True

    def pack(self, x: Tensor) -> Any:
        """For a saved tensor in the row, keep only its position."""
        if self.full is None or owner(x.value) is not self.full:
            return x if self.around is None else self.around.pack(x)
        return partial(self.again, x.value.ctypes.data - self.full.ctypes.data, x.value.shape, x.value.strides)

    def unpack(self, packed: Any) -> Any:
        if isinstance(packed, partial):
            return packed()
        return packed if self.around is None else self.around.unpack(packed)

    def again(self, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        """The tensor at this position in the row, gathered again."""
        if self.full is None:
            self.full = self.unit.gather()
        return Tensor(np.ndarray(shape, self.dtype, self.full, offset, strides))

    def pull(self, gys: dict[int, Any]) -> tuple[Any]:
        """This process's part of the mean gradient over processes, from `gys`: index of a parameter → its gradient."""
        unit, self.full = self.unit, None
        flat = np.zeros(unit.length * unit.parts, self.dtype)
        for i, view in enumerate(unit.views(flat)):
            if i in gys:
                view[...] = gys[i]
        flat /= unit.group.size  # before the sum, which could overflow in half precision
        if unit.parts == 1:
            collectives.all_reduce(Tensor(flat), ReduceOp.SUM, unit.group)
            return (flat,)
        part = np.empty(unit.length, self.dtype)
        collectives.reduce_scatter_tensor(Tensor(part), Tensor(flat), ReduceOp.SUM, unit.group)
        return (part,)

    def trace(self, node: Any, gys: Any) -> NoReturn:
        raise NoGradientError("FullyShardedDataParallel has no create_graph=True: its sums have no history")


flattened: WeakValueDictionary[int, Tensor] = WeakValueDictionary()  # parameters now in a row, if still referenced


def wrap_inner(module: Module, classes: tuple[type[Module], ...], group: Any, strategy: ShardingStrategy) -> None:
    """Make each inner module of these classes a unit, the innermost first."""
    for parent in reversed([*module.modules()]):
        for name, part in [*parent.named_children()]:
            if isinstance(part, classes):
                setattr(parent, name, FullyShardedDataParallel(part, group, strategy))


def places_of(p: Tensor, module: Module) -> list[tuple[Any, str]]:
    """(module, name) of each place that holds this parameter."""
    return [(m, name) for m in module.modules() for name, x in m._own_parameters() if x is p]


def check_alike(own: dict[str, Tensor], module: Module) -> Any:
    """Check that the parameters can form a row, and return any of them. Raises ValueError if they cannot."""
    kinds = {(p.dtype, p.spec.device, p.requires_grad): name for name, p in own.items()}
    if len(kinds) > 1 or any(device is not CPU for _, device, _ in kinds):
        raise ValueError(
            "a unit needs parameters on the CPU, of one dtype, all trainable or all frozen, and "
            f"{', '.join(kinds.values())} differ: wrap each kind as a unit of its own"
        )
    if shared := [name for name, p in own.items() if id(p) in flattened]:
        raise ValueError(f"{shared[0]} is in another unit already, and the two would diverge: make one unit of both")
    flattened.update({id(p): p for p in own.values()})
    p = next(iter(own.values()), next(module.parameters(), None))
    if p is None:
        raise ValueError(f"{type(module).__name__} has no parameters: call it directly")
    return p


class ZeroRedundancyOptimizer(Optimizer):
    """A distributed optimiser: each process has the state of some parameters, updates them, and sends them to all.

    optimizer_class    SGD, Adam, …: an optimiser that updates each parameter by itself
    process_group      the group of processes; all if None

    Each parameter is assigned whole, the largest first, to the process that has the fewest elements so far. Gradients
    must be equal in all processes, as DistributedDataParallel makes them. As PyTorch's ZeroRedundancyOptimizer.
    """

    def __init__(self, params: Any, optimizer_class: Any, process_group: ProcessGroup | None = None, **defaults: Any):
        if optimizer_class.step is not Optimizer.step:
            raise TypeError(f"{optimizer_class.__name__} looks at all parameters at once, and cannot be split")
        self.optim, self.group = optimizer_class(params, **defaults), resolve_group(process_group)
        self.owners: dict[int, int] = {}  # id of a parameter → the rank that updates it
        self.consolidated: Group | None = None
        self.deal()

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["optim"], name)

    def parameters(self) -> Iterator[Tensor]:
        return self.optim.parameters()  # type: ignore[no-any-return]

    def deal(self) -> None:
        """Assign an owner to each parameter without one."""
        loads = dict.fromkeys(self.group.ranks, 0)
        for p in sorted(self.parameters(), key=lambda p: (id(p) not in self.owners, -p.size)):
            loads[self.owners.setdefault(id(p), min(loads, key=loads.__getitem__))] += p.size

    def add_param_group(self, param_group: Group) -> None:
        self.optim.add_param_group(param_group)
        self.deal()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        if current.mode.builder is not None:
            raise GraphError("ZeroRedundancyOptimizer.step() sends parameters as it runs: call it outside the graph")
        self.consolidated = None
        return super().step(closure)

    def step_by(self, pairs: Iterable[tuple[Tensor, Any]]) -> None:
        """Update this process's parameters, then give all processes every parameter from its owner."""
        owners, me = self.owners, self.group.ranks[self.group.rank]
        self.optim.step_by([(p, g) for p, g in pairs if owners[id(p)] == me])
        for p in self.parameters():
            collectives.broadcast(p, owners[id(p)], self.group)

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collect the state of all processes on rank `to`, for its state_dict(). All processes must call this."""
        state, owners, counters = {}, self.owners, self.optim.counters
        for i, (p, options) in enumerate((p, group) for group in self.param_groups for p in group["params"]):
            kept, rank = self.optim.state.get(p, {}), owners[id(p)]
            numbers = Tensor(np.array([len(kept) > 0, *[kept.get(name, 0) for name in counters]], np.float64))
            collectives.broadcast(numbers, rank, self.group)
            if not numbers.numpy()[0]:
                continue
            state[i] = dict(zip(counters, numbers.numpy()[1:].tolist()))
            state[i]["step"] = int(state[i]["step"])
            for name in self.optim.state_names(p, options):
                array = kept[name] if name in kept else np.empty(self.optim.shape(p, name), wide(p.dtype))
                collectives.broadcast(Tensor(array), rank, self.group)
                state[i][name] = array.copy()
        groups = self.optim.state_dict()["param_groups"]
        mine = self.group.ranks[self.group.rank] == to
        self.consolidated = {"state": state, "param_groups": groups} if mine else None

    def state_dict(self) -> Group:
        """The whole state, on the rank to which consolidate_state_dict() sent it."""
        if self.consolidated is None:
            raise StateError("the state is in parts: first, all processes call consolidate_state_dict(to=rank)")
        return self.consolidated

    @refuse_by_name
    def load_state_dict(self, state_dict: Group) -> None:
        """Load this process's part of a whole state."""
        me, owners = self.group.ranks[self.group.rank], self.owners
        mine = {i for i, p in enumerate(self.parameters()) if owners[id(p)] == me}
        self.optim.load_state_dict({**state_dict, "state": {i: x for i, x in state_dict["state"].items() if i in mine}})
