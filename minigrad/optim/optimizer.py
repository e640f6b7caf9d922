"""Optimizer: groups of parameters, the state of each parameter, and the loop that updates them.

Most rules are elementwise: they compute each element from the same element of parameter, gradient and means. So a
parameter is updated in pieces that stay in the processor's cache while a rule makes its dozen array calls, and all
pieces share one small scratch. A subclass defines its rule in `move`, and names its running means in `state_names`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import Parameter, Signature
from typing import Any, ClassVar

import numpy as np

from ..engine.base.damaged_state import refuse_by_name
from ..engine.base.device import CPU, device_of
from ..engine.base.dtypes import wide
from ..engine.base.errors import GraphError, NoGradientError, ShapeError
from ..engine.core.calls import named_scope
from ..engine.core.modes import current, enable_grad, no_grad
from ..engine.core.stateful import Stateful
from ..engine.core.versions import edit
from ..engine.tensor.tensor import Tensor
from ..graph import effects
from ..graph.graph import StaticGraph, builder_of, gradients
from ..tracing.builder import Tracer
from . import update_rules
from .groups import Group, Params, State, check_options, groups_of, loaded_options, members, refuse_symbol, refuse_twice
from .update_rules import Scratch, constant_options, effective_gradient

PIECE = 1 << 16  # elements: five arrays of float32 are about a megabyte, like a second-level cache
PIECE_OFF_CPU = 1 << 22  # larger, because each call costs more on other devices
SMALL = 1 << 12  # bytes: scratch of up to this size is kept from step to step
COUNTED = (int, type(None))


class Optimizer(Stateful):
    """Parameters, and a rule that updates each by its gradient.

    param_groups    list of groups: dictionaries of parameters and of options
    state           parameter → its state: a count of steps, and arrays of its shape
    defaults        the options that a group has by default
    """

    counters: ClassVar[dict[str, float]] = {"step": 0}  # the numbers that `count` updates, and their initial values
    remembered: ClassVar[tuple[str, ...]] = ()  # all arrays that `state_names` may name, for any options
    scheduled: frozenset[str] = frozenset()  # options that a schedule changes, in addition to lr
    unnoted: ClassVar[frozenset[str]] = frozenset({"scheduled", "state", "slots", "scratch", "defaults"})
    optional: ClassVar[tuple[str, ...]] = ()  # arrays and counts that a saved state may lack

    def __init__(self, params: Params, defaults: Group):
        self.defaults = defaults
        self.param_groups: list[Group] = []
        self.state: defaultdict[Any, State] = defaultdict(dict)
        self.scratch: dict[Any, Any] = {}
        self.slots: dict[Any, Any] = {}  # the tensors of this optimiser that graphs captured: see update_rules.py
        for group in groups_of(self.name, params):
            self.add_param_group(group)
        if not any(p.requires_grad for p in self.parameters()):
            first = next(self.parameters(), None)
            raise TypeError(
                f"{self.name} updates leaves that require a gradient, and none here does, {first!r} for one: "
                "make them with requires_grad=True, or pass model.parameters()"
            )

    name = property(lambda self: type(self).__name__)

    @property
    def lr(self) -> float:
        """The learning rate of the first group. Assignment sets the rate of every group."""
        lr: float = self.param_groups[0]["lr"]
        return lr

    @lr.setter
    def lr(self, lr: float) -> None:
        for group in self.param_groups:
            group |= check_options(self.name, {"lr": lr})

    def parameters(self) -> Iterator[Tensor]:
        """Every parameter, group by group, in the order in which state_dict numbers them."""
        if (builder := current.mode.builder) is not None:
            builder.note_read(self, "groups()")
        return (p for group in vars(self)["param_groups"] for p in group["params"])

    def groups(self) -> list[tuple[str, Any]]:
        """The constants of a traced step: the ids of parameters, and the options that stay fixed in its runs."""
        found: list[tuple[str, Any]] = []
        for group in vars(self)["param_groups"]:
            ids = [id(group), *map(id, group["params"])]
            found += [("params", ids), *constant_options(self, group).items()]
        return found

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters with its own options, for a layer that is unfrozen later.

        Raises ValueError on a parameter that is already in a group, and on an option this optimiser does not have.
        """
        params = members(self.name, param_group, self.defaults)
        group = {"params": params} | check_options(self.name, {**self.defaults, **param_group, "params": params})
        refuse_twice(self.name, [*self.param_groups, group])
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set every gradient to None, or fill it with zeros in place, because backward() adds to gradients."""
        for p in self.parameters():
            if set_to_none:
                p.grad = None
            elif p.grad is not None:
                with no_grad():
                    p.grad.zero_()

    # -- one step -----------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        closure    computes the loss and calls backward(); step() returns its result
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        pairs = [(p, g) for p in self.parameters() if (g := p.grad) is not None]
        if (builder := current.mode.builder) is not None:
            update_rules.step(self, builder, pairs)
        else:
            with named_scope("block", f"Optimizer.step#{self.name}.step"):
                self.step_by(pairs)
                for watcher in current.mode.watchers:
                    if hasattr(watcher, "on_step"):
                        watcher.on_step(self)
        return loss

    def step_by(self, pairs: Iterable[tuple[Tensor, Any]]) -> None:
        """Take a step with these pairs (parameter, gradient)."""
        for group in self.param_groups:
            refuse_symbol(self.name, group["lr"])
        options_of = {id(p): group for group in self.param_groups for p in group["params"]}
        pairs = list(pairs)
        edit(*[p.value for p, _ in pairs])  # so that a backward pass that needs the old values raises an error
        for p, g in pairs:
            self.update(p, g.value, options_of[id(p)])
        if any(pad.term.nbytes > SMALL for pad in self.scratch.values()):
            self.scratch.clear()  # so that backward can use the memory between two steps

    def update(self, p: Tensor, g: Any, options: Group) -> None:
        """Update p in pieces. A half-precision parameter is updated in float32, where ε and g² do not underflow."""
        value, state, carried = p.value, self.state[p], self.state_names(p, options)
        dtype = wide(value.dtype)
        if type(state.get("step")) not in COUNTED:  # a graph has stored the count in an array: see update_rules.py
            state |= {name: state[name].item() for name in self.counters if name in state}
        self.count(state, options)
        for name in carried:
            if name not in state:
                state[name] = p.spec.device.xp.full(self.shape(p, name), self.start(name, options), dtype)

        in_place = value.dtype == dtype and value.flags.c_contiguous
        moved = value if in_place else value.astype(dtype, order="C")
        if g.dtype != dtype:
            g = g.astype(dtype)
        self.sweep(moved, g, [state[name] for name in carried], options, state)
        if not in_place:
            value[...] = moved

    def sweep(self, p: Any, g: Any, means: list[Any], options: Group, state: State) -> None:
        """Update the arrays p and means in place, in pieces."""
        flat = [x.ravel() for x in (p, g, *means)]
        device = device_of(p)
        for p_, g_, *means_ in pieces(flat, PIECE if device is CPU else PIECE_OFF_CPU):
            pad = self.pad(p_, device.xp)
            self.move(p_, effective_gradient(p_, g_, pad, options), pad, options, state, *means_)

    def move(self, p: Any, g: Any, pad: Scratch, options: Group, state: State, *means: Any) -> None:
        """Update p, a piece of a parameter, in place.

        g        the gradient of the piece
        pad      scratch memory
        state    the state of the parameter; "step" is the number of this step, from 1
        means    the pieces of the arrays that `state_names` lists
        """
        raise NotImplementedError(f"{self.name} has no update rule: define its method move")

    def state_names(self, p: Any, options: Group) -> tuple[str, ...]:
        """The names, in `state`, of the arrays that are kept for p from step to step."""
        return self.remembered

    def shape(self, p: Any, name: str) -> tuple[int, ...]:
        """The shape of the state array of p with this name."""
        found: tuple[int, ...] = p.shape
        return found

    def start(self, name: str, options: Group) -> float:
        """The initial value of a state array."""
        return 0.0

    def count(self, state: State, options: Group) -> None:
        """Update the counters in `state` at the start of a step."""
        state["step"] = state.get("step", self.counters["step"]) + 1

    # -- in a graph, with TensorFlow's names ----------------------------------------------

    def minimize(
        self, loss: Any, global_step: Any = None, var_list: list[Any] | None = None,
        grad_loss: Any = None, name: str | None = None,
    ) -> Any:  # fmt: skip
        """The op that takes one step to reduce the loss when a session runs it."""
        return self.apply_gradients(self.compute_gradients(loss, var_list, grad_loss), global_step, name)

    def compute_gradients(self, loss: Any, var_list: list[Any] | None = None, grad_loss: Any = None) -> list[Any]:
        """(gradient, variable) for each variable, as nodes. The gradient is None if the loss does not depend on it.

        var_list    the variables; by default all parameters of the optimiser
        """
        if not isinstance(loss, Tracer):
            raise GraphError(
                f"minimize() needs a loss in a graph, and got {loss!r}: for a tensor with a value, call "
                f"loss.backward() and then {self.name}.step()"
            )
        xs = list(self.parameters()) if var_list is None else list(var_list)
        return list(zip(gradients(loss, xs, None if grad_loss is None else [grad_loss]), xs))

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """The op that updates each variable by its gradient, which the caller may have changed.

        For tensors with values, and in a traced function, takes the step immediately and returns None instead.

        global_step    a variable to which 1 is added
        """
        pairs = [(p, g) for g, p in grads_and_vars if g is not None]
        self._refuse_strange(pairs)
        builder = builder_of([g for _, g in pairs])
        if isinstance(builder, StaticGraph):
            with builder.building():
                given = update_rules.update(self, builder, pairs, builder.add_assignment)
                counted = [] if global_step is None else [global_step.assign_add(1)]
                return effects.group(*given, *counted, name=self.name if name is None else name)
        if builder is None:
            self.step_by((p, p.lift(g)) for p, g in pairs)
        else:
            update_rules.step(self, builder, pairs)
        if global_step is not None:
            with no_grad():
                global_step.add_(1)
        return None

    def _refuse_strange(self, pairs: list[tuple[Any, Any]]) -> None:
        """Raises NoGradientError without pairs, ValueError on an unknown variable, ShapeError on a wrong shape."""
        if not pairs:
            raise NoGradientError(f"{self.name} has nothing to update: the loss depends on none of the variables")
        known = {*map(id, self.parameters())}
        for p, g in pairs:
            if id(p) not in known:
                raise ValueError(f"{self.name} was not made with {p!r}, and updates only its own parameters")
            if np.shape(g) != p.shape:
                raise ShapeError(f"a gradient must have the shape of its variable {p.spec}, got {np.shape(g)}")

    # -- memory --------------------------------------------------------------------------

    def pad(self, p: Any, xp: Any) -> Scratch:
        """Scratch for a piece. All pieces of one dtype share the same memory."""
        n, key = p.size, (xp, p.dtype)
        whole = self.scratch.get(key)
        if whole is None or whole.term.size < n:
            whole = self.scratch[key] = Scratch(xp, *[xp.empty(n, p.dtype) for _ in Scratch._fields[1:]])
        if whole.term.size == n:
            return whole
        return Scratch(xp, whole.term[:n], whole.second[:n], whole.gradient[:n])

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "scratch": {}, "slots": {}}  # a copy creates its own scratch and slots

    def __repr__(self) -> str:
        lines = [
            f"  group {i}: {len(group['params'])} parameters, "
            + ", ".join(f"{name}={x!r}" for name, x in group.items() if name != "params")
            for i, group in enumerate(self.param_groups)
        ]
        return "\n".join([f"{self.name}(", *lines, ")"])

    # -- saving and loading ---------------------------------------------------------------

    def state_dict(self) -> Group:
        """The state from which another run can continue. Parameters are numbered, arrays copied.

        {"state": {0: {"step": 7, …}, …}, "param_groups": [{"lr": 0.1, …, "params": [0, 1]}]}, PyTorch's format.
        """
        number = {p: i for i, p in enumerate(self.parameters())}
        groups = [{**group, "params": [number[p] for p in group["params"]]} for group in self.param_groups]
        state = {
            number[p]: {name: x.copy() if hasattr(x, "shape") else x for name, x in kept.items()}
            for p, kept in self.state.items()
        }
        return {"state": state, "param_groups": groups}

    @refuse_by_name
    def load_state_dict(self, state_dict: Group) -> None:
        """Continue from a saved state: the state of each parameter, and the options of each group.

        Raises ValueError if another kind of optimiser saved the state, if the constructor refuses its options, or if
        its groups differ in number or size; ShapeError if an array does not fit. Nothing is loaded then.
        """
        if not isinstance(state_dict, Mapping) or not {"state", "param_groups"} <= state_dict.keys():
            raise ValueError(f"{self.name} can only load the state_dict() of an optimiser, got {state_dict!r:.80}")
        groups, state = state_dict["param_groups"], state_dict["state"]
        sizes, wanted = ([len(group["params"]) for group in gs] for gs in (groups, self.param_groups))
        if sizes != wanted:
            raise ValueError(f"{self.name} has groups of {wanted} parameters, and this state is of groups of {sizes}")
        options = [loaded_options(self.name, group, loaded) for group, loaded in zip(self.param_groups, groups)]
        for group, loaded in zip(self.param_groups, options):
            self.check({**group, **loaded})
        fitting = self._fit_states([i for group in groups for i in group["params"]], state, options)
        self.state.clear()
        self.state.update(fitting)
        for group, loaded in zip(self.param_groups, options):
            group.pop("initial_lr", None)  # may be absent from the saved group, if no schedule has admitted it
            group |= loaded

    def _fit_states(self, numbers: list[Any], state: Mapping[Any, State], options: list[Group]) -> list[Any]:
        """(parameter, state) for each parameter whose number has an entry in the saved state."""
        if len({*numbers}) < len(numbers) or not state.keys() <= {*numbers}:
            raise ValueError(
                f"{self.name}: the groups of this state list parameters {numbers}, but it has entries for {[*state]}"
            )
        owners = [{**group, **loaded} for group, loaded in zip(self.param_groups, options) for _ in group["params"]]
        entries = zip(numbers, self.parameters(), owners)
        return [(p, fit_state(self, p, state[i], group)) for i, p, group in entries if i in state]

    def check(self, options: Group) -> None:
        """Raises ValueError if options contradict each other."""


class UpdateRule(Optimizer):
    """An optimiser whose constructor takes `options`: name → default value, in the order of the arguments."""

    options: ClassVar[Group] = {}
    __signature__: ClassVar[Signature]

    def __init_subclass__(cls) -> None:
        said = (Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=x) for name, x in cls.options.items())
        cls.__signature__ = Signature([Parameter("params", Parameter.POSITIONAL_OR_KEYWORD), *said])

    def __init__(self, *given: Any, **named: Any):
        bound = self.__signature__.bind(*given, **named)
        bound.apply_defaults()
        self.check(bound.arguments)
        super().__init__(bound.arguments.pop("params"), bound.arguments)


def pieces(arrays: list[Any], most: int) -> Iterator[list[Any]]:
    """The flat arrays, all cut at the same places into pieces of at most `most` elements."""
    n = arrays[0].size
    if 0 < n <= most:
        yield arrays
    else:
        for start in range(0, n, most):
            yield [a[start : start + most] for a in arrays]


def fit_state(optimizer: Optimizer, p: Tensor, kept: State, options: Group) -> State:
    """The saved state of a parameter, converted to the device and the precision of p.

    Numbers that another library saves as 0-d arrays become numbers. Entries that are None are left out.
    """
    dtype, kept = wide(p.dtype), {name: x for name, x in kept.items() if x is not None}
    carried = optimizer.state_names(p, options)
    strange = kept.keys() - {*carried, *optimizer.remembered, *optimizer.counters, "mu"}
    absent = [name for name in (*optimizer.counters, *carried) if name not in kept and name not in optimizer.optional]
    if kept and (strange or absent):
        raise ValueError(
            f"{optimizer.name} keeps {', '.join(carried) or 'only its steps'} for {p.spec}, but this state has "
            f"{', '.join(map(str, kept))}: load it into the kind of optimiser that saved it"
        )
    if kept.keys() <= {"step"}:  # SGD without momentum starts as if there had been no step
        return {}
    state: State = {"step": 1}  # PyTorch's SGD has no count, but a saved momentum means at least one step
    for name, x in kept.items():
        if name == "mu":  # ASGD computes it from its steps
            continue
        array = p.spec.device.array(x)
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{name!r} in the state of {optimizer.name} must be numbers, got {x!r:.80}")
        if name in optimizer.counters:
            if array.size != 1 or not array >= 0 or (name == "step" and array % 1):
                raise ValueError(f"{name!r} in the state of {optimizer.name} must be a count, got {x!r:.80}")
            state[name] = int(array) if name == "step" else float(array)
        elif array.shape != (shape := optimizer.shape(p, name)):
            raise ShapeError(f"{name} in the state of {p.spec} must have the shape {shape}, got {array.shape}")
        else:
            state[name] = array.astype(dtype)
    return state
