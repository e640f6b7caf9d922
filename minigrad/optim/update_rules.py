"""Runs one definition of each update rule both on arrays and in graphs.

A rule changes its operands in place: `m *= β; m += …; p −= …`. On arrays it allocates nothing: the methods of Scratch,
which have PyTorch's names (a trailing _ means that the first operand is changed), reuse scratch memory. In a graph the
operands are cells: a cell holds a symbol, and an in-place operator replaces that symbol. So the eager rule, run once on
cells, leaves the graph of the update in them.

A graph refers to the optimiser's state and does not copy it. The state of a tensor is the one that eager steps use, so
eager and traced steps can alternate. The state of a graph's variable is in slot variables; each session has values of
its own for these. A traced step also refers to the learning rate, so a scheduler can change it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import repeat
from operator import add, mul, sub, truediv
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..engine import ops
from ..engine.base.device import CPU
from ..engine.base.dtypes import wide
from ..engine.base.errors import GraphError
from ..engine.base.spec import Spec, spec_of
from ..engine.core.modes import no_grad
from ..engine.methods import Operand
from ..engine.tensor.tensor import Tensor
from ..graph.variable import GraphVariable
from ..tracing.builder import GraphBuilder, Tracer
from ..tracing.tracer import on_worker
from .groups import NOTES, Group, State, is_symbol

if TYPE_CHECKING:
    from .optimizer import Optimizer


class Scratch(NamedTuple):
    """Three scratch arrays as large as the operands, and the methods that write to them.

    xp          the array module
    term        every method writes its result here; the result is valid until the next method call
    second      for rules that need a second temporary
    gradient    for a gradient that differs from the one backward computed
    """

    xp: Any
    term: Any
    second: Any
    gradient: Any

    def add_(self, y: Any, x: Any, alpha: float) -> None:
        """y ← y + α x"""
        y += self.xp.multiply(x, alpha, out=self.term)

    def lerp_(self, y: Any, x: Any, weight: float) -> None:
        """y ← y + w (x − y) = (1 − w) y + w x: adds x to a running mean."""
        step = self.xp.subtract(x, y, out=self.term)
        step *= weight
        y += step

    def mean_square_(self, y: Any, x: Any, weight: float) -> None:
        """y ← (1 − w) y + w x². After an overflow y stays ∞; lerp_ would compute ∞ − ∞ and give NaN."""
        y *= 1 - weight
        step = self.xp.multiply(x, weight, out=self.term)
        step *= x
        y += step

    def addcdiv_(self, y: Any, x: Any, z: Any, value: float) -> None:
        """y ← y + c x / z"""
        step = self.xp.divide(x, z, out=self.term)
        step *= value
        y += step

    def square(self, x: Any) -> Any:
        """x²"""
        return self.xp.multiply(x, x, out=self.term)

    def variance(self, v: Any, m: Any) -> Any:
        """v − m², at least 0 despite rounding; ∞ where v is ∞, because m² is limited to finite numbers."""
        y = self.xp.minimum(self.square(m), float(np.finfo(spec_of(getattr(m, "symbol", m)).dtype).max), out=self.term)
        return self.xp.maximum(self.xp.subtract(v, y, out=self.term), 0, out=self.term)

    def root(self, x: Any, eps: float) -> Any:
        """√x + ε"""
        y = self.xp.sqrt(x, out=self.term)
        y += eps
        return y

    def plus(self, x: Any, y: Any, alpha: float) -> Any:
        """x + α y, in the memory of `gradient`."""
        return self.xp.add(x, self.xp.multiply(y, alpha, out=self.term), out=self.gradient)


# -- scalars: Python numbers, or symbols while a graph is built ----------------------------------------------------


def power(beta: float, t: Any) -> Any:
    """βᵗ of numbers or symbols. Both agree to the last bit; with Python's own ** they would not."""
    return beta**t if isinstance(t, Operand) or isinstance(beta, Operand) else powers(beta, t)


@lru_cache(maxsize=64)
def powers(beta: float, t: float) -> float:
    """βᵗ by NumPy, cached, because a step needs the same power for every parameter."""
    return float(np.power(beta, t))


def sqrt(x: Any) -> Any:
    """√x"""
    return x.sqrt() if isinstance(x, Operand) else math.sqrt(x)


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, else y."""
    if isinstance(condition, Operand):
        return condition.apply(ops.Where(), *(getattr(v, "symbol", v) for v in (x, y)))
    return x if condition else y


def effective_gradient(p: Any, g: Any, pad: Scratch, options: Group) -> Any:
    """The gradient for the update: negated to maximise, and with λ p added for weight decay.

    Decoupled weight decay shrinks p instead, and leaves the gradient unchanged:
    Loshchilov & Hutter 2019, “Decoupled Weight Decay Regularization”, algorithm 2. https://arxiv.org/abs/1711.05101
    """
    if options.get("maximize"):
        g = pad.xp.negative(g, out=pad.gradient)
    if rate := options.get("weight_decay"):
        if options.get("decoupled_weight_decay"):
            p *= 1 - options["lr"] * rate
        else:
            g = pad.plus(g, p, rate)
    return g


def in_place(operator: Callable[[Any, Any], Any]) -> Callable[[SymbolCell, Any], SymbolCell]:
    """The in-place form of an operator, for cells: it stores the result in the cell."""
    return lambda cell, o: cell.hold(operator(cell.symbol, cell.cast_operand(o)))


class SymbolCell:
    """Holds a symbol, which an in-place operator replaces by its result."""

    __slots__ = ("symbol",)

    def __init__(self, symbol: Any = None):
        self.symbol = symbol

    def hold(self, symbol: Any) -> SymbolCell:
        self.symbol = symbol
        return self

    def cast_operand(self, o: Any) -> Any:
        """o as an operand for this cell. A symbol is converted to this cell's precision and device."""
        if isinstance(o, SymbolCell):
            return o.symbol
        return o.astype(self.symbol.dtype).to(self.symbol.device) if isinstance(o, Tracer) else o

    __iadd__, __isub__, __imul__, __itruediv__ = map(in_place, (add, sub, mul, truediv))


class Words:
    """The array module of a rule on cells: `multiply(x, y, out=cell)` calls the method `multiply` of x's symbol."""

    def __getattr__(self, name: str) -> Callable[..., SymbolCell]:
        def word(x: SymbolCell, *others: Any, out: SymbolCell) -> SymbolCell:
            return out.hold(getattr(x.symbol, name)(*map(x.cast_operand, others)))

        return word


# -- state ----------------------------------------------------------------------------------------------


class StateSlot(Tensor):
    """An entry of an optimiser's state as a tensor that a graph captures. Each run reads it from the state.

    name      the key of the entry
    owners    the parameters it belongs to: one, or several that share a count of steps
    """

    __slots__ = ("buffer", "name", "optimizer", "owners")

    def __init__(self, optimizer: Optimizer, owners: Sequence[Tensor], remembered: str):
        self.optimizer, self.owners, self.name = optimizer, tuple(owners), remembered
        first = optimizer.state[owners[0]][remembered]
        self.buffer: Any = None if remembered not in optimizer.counters else np.array(first)
        self.node, self.tracked = None, False
        self.spec: Spec = spec_of(self.value)

    ids = property(lambda self: {*map(id, self.owners)}, doc="The ids of the owners.")

    @property
    def value(self) -> Any:
        if self.buffer is None:
            return self.optimizer.state[self.owners[0]][self.name]
        return self.merge_counts() if self.apart else self.buffer

    @value.setter
    def value(self, array: Any) -> None:
        self.value[...] = array

    @property
    def apart(self) -> bool:
        """Whether an owner's count is no longer the shared buffer, because of a step or a load outside the graph."""
        counts = map(dict.get, map(self.optimizer.state.__getitem__, self.owners), repeat(self.name))
        return {*map(id, counts)} != {id(self.buffer)}

    @property
    def together(self) -> bool:
        """Whether the owners have made the same number of steps, so that one count is right for all."""
        if not self.apart:
            return True
        counts = [self.optimizer.state[p].get(self.name) for p in self.owners]
        return None not in counts and all(n == counts[0] for n in counts)

    def merge_counts(self) -> Any:
        """Share one count again after steps or loads outside the graph. Raises GraphError if the counts differ."""
        states = [self.optimizer.state[p] for p in self.owners]
        first = states[0][self.name]
        if any(state[self.name] != first for state in states):
            raise GraphError(
                f"{self.optimizer.name} was traced for parameters with the same number of steps, and their numbers "
                "now differ: step all of them, or trace again"
            )
        self.buffer[...] = first
        for state in states:
            state[self.name] = self.buffer
        return self.buffer


class Rate(Tensor):
    """An option that schedules change, such as lr, as a tensor that a graph reads at each run."""

    __slots__ = ("array", "group", "name", "number")

    def __init__(self, group: Group, name: str):
        self.group, self.name = group, name
        self.number: float | None = None
        self.node, self.tracked = None, False
        self.spec: Spec = Spec((), float)

    @property
    def value(self) -> Any:
        option = self.group[self.name]
        number = float(option[0] if self.name == "betas" else option)
        if number != self.number:
            self.array, self.number = np.array(number), number
        return self.array


def slots_of(optimizer: Optimizer, p: Any, options: Group, dtype: Any) -> dict[str, Any]:
    """Name → tensor or variable, for each state array of p."""
    state = optimizer.state[p]
    for name in optimizer.state_names(p, options):
        if name not in state:
            array = p.spec.device.xp.full(optimizer.shape(p, name), optimizer.start(name, options), dtype)
            state[name] = slot_variable(p, f"{optimizer.name}/{name}", array) if isinstance(p, GraphVariable) else array
    return {name: slot(optimizer, [p], name) for name in optimizer.state_names(p, options)}


def slot(optimizer: Optimizer, owners: Sequence[Any], name: str) -> Any:
    """The tensor or variable for an entry of the state of these parameters."""
    if isinstance(owners[0], GraphVariable):
        return optimizer.state[owners[0]][name]
    key = (name, *map(id, owners))
    if key not in optimizer.slots:
        optimizer.slots[key] = StateSlot(optimizer, owners, name)
    return optimizer.slots[key]


def slot_variable(variable: GraphVariable, name: str, first: Any) -> GraphVariable:
    """A variable for the state of another variable, in its graph and on its worker."""
    graph: Any = variable.builder
    with graph.building(), graph.name_scope(f"{variable.name}/"), on_worker(variable.node.worker):
        return GraphVariable(first, trainable=False, name=name)


def counting_together(optimizer: Optimizer, ps: Sequence[Any]) -> list[list[Any]]:
    """The parameters, divided into lists with the same number of steps, which can share one count."""
    companies: dict[Any, list[Any]] = {}
    for p in ps:
        state = optimizer.state[p]
        if isinstance(p, GraphVariable):
            company: Any = id(state["step"]) if "step" in state else None
        else:
            for name, start in optimizer.counters.items():
                state.setdefault(name, start)
            company = tuple(float(state[name]) for name in optimizer.counters)
        companies.setdefault(company, []).append(p)
    for p, *others in companies.values():
        if isinstance(p, GraphVariable) and "step" not in optimizer.state[p]:
            for name, start in optimizer.counters.items():
                count = slot_variable(p, f"{optimizer.name}/{name}", p.device.array(start))
                for q in (p, *others):
                    optimizer.state[q][name] = count
    return list(companies.values())


# -- one step -------------------------------------------------------------------------------------------


def update(
    optimizer: Optimizer, builder: GraphBuilder, pairs: Iterable[tuple[Any, Any]], give: Callable[[Any, Any], Any]
) -> list[Any]:
    """Build the graph of a step with these pairs (parameter, gradient). Returns give(place, value) for each change."""
    gradient_of = {id(p): g for p, g in pairs}
    changes: list[tuple[Any, Any]] = []
    builder.note_read(optimizer, "groups()")
    for group in vars(optimizer)["param_groups"]:
        ps = [p for p in group["params"] if gradient_of.get(id(p)) is not None]
        names = moving_options(optimizer, group)
        moving = {name: builder.lift(option_tensor(optimizer, group, name)).astype(float) for name in names}
        for company in counting_together(optimizer, ps):
            state, counted = count_step(optimizer, builder, company, group, moving)
            home = company[0].device
            changes += counted
            state, options = {name: n.to(home) for name, n in state.items()}, insert_symbols(group, moving, home)
            for p in company:
                with on_worker(p.node.worker if isinstance(p, GraphVariable) else None):
                    changes += move_parameter(optimizer, builder, p, gradient_of[id(p)], group, options, state)
    return [give(place, value) for place, value in changes]


def count_step(optimizer: Optimizer, builder: GraphBuilder, company: list[Any], group: Group, moving: Group) -> Any:
    """Count a step of parameters that share a count. Returns their counters, and a list of (place, new value)."""
    counts = {name: slot(optimizer, company, name) for name in optimizer.counters}
    refuse_overlap(builder, counts)
    for count in counts.values():
        if isinstance(count, StateSlot):
            builder.note_read(count, "together")
    state: State = {name: builder.lift(count) for name, count in counts.items()}
    there = next((n.device for n in state.values()), CPU)
    optimizer.count(state, insert_symbols(group, moving, there))
    return state, [(count, state[name]) for name, count in counts.items()]


def move_parameter(
    optimizer: Optimizer, builder: GraphBuilder, p: Any, g: Any, group: Group, options: Group, state: State
) -> list[tuple[Any, Any]]:
    """(place, new value) for p and its state arrays, from the optimiser's `move` on cells."""
    dtype = wide(p.dtype)
    slots = slots_of(optimizer, p, group, dtype)
    cell, *means = (SymbolCell(builder.lift(x).astype(dtype)) for x in (p, *slots.values()))
    pad = Scratch(Words(), SymbolCell(), SymbolCell(), SymbolCell())
    g_cell = effective_gradient(cell, SymbolCell(builder.lift(g).astype(dtype)), pad, options)
    optimizer.move(cell, g_cell, pad, options, state, *means)
    return [(p, cell.symbol), *((place, m.symbol) for place, m in zip(slots.values(), means))]


def insert_symbols(options: Group, moving: Group, device: Any) -> Group:
    """The options, with a symbol on the device for each that schedules change; in betas, for the first number only."""
    symbols = {name: x.to(device) for name, x in moving.items()}
    return options | {name: (x, *options[name][1:]) if name == "betas" else x for name, x in symbols.items()}


def moving_options(optimizer: Optimizer, group: Group) -> list[str]:
    """The options that a traced step reads at each run: lr, and those that a schedule changes, unless they are 0."""
    return ["lr", *filter(group.get, optimizer.scheduled)]


def constant_options(optimizer: Optimizer, group: Group) -> Group:
    """The options that are constants of a trace. Options that schedules change are not, except for betas[1]."""
    options = group.copy()
    for name in moving_options(optimizer, group):
        options[name] = options[name][1:] if name == "betas" else "moving"
    for name in NOTES & options.keys():
        del options[name]
    return options


def option_tensor(optimizer: Optimizer, group: Group, name: str) -> Any:
    """The tensor through which a graph reads an option of a group; the option itself, if it is a symbol."""
    if is_symbol(group[name]):
        return group[name]
    key = (name, id(group))
    if key not in optimizer.slots:
        optimizer.slots[key] = Rate(group, name)
    return optimizer.slots[key]


def refuse_overlap(builder: GraphBuilder, counts: dict[str, Any]) -> None:
    """Raises GraphError if one graph would count the steps of a parameter in two places."""
    there = [c.what for c in builder.captured.values() if isinstance(c.what, StateSlot) and c.what.buffer is not None]
    for count in counts.values():
        for other in there:
            is_same_count = isinstance(count, StateSlot) and other.name == count.name
            if is_same_count and other is not count and not other.ids.isdisjoint(count.ids):
                raise GraphError(
                    "one graph steps some parameters together, and then only some of them, but they share one count of "
                    "steps: step the same parameters each time, or use an optimiser for each part"
                )


def step(optimizer: Optimizer, builder: GraphBuilder, pairs: Iterable[tuple[Any, Any]]) -> None:
    """Take a step inside a function that is being traced: edit the parameters and their state."""
    with no_grad():  # needed to edit a leaf that requires a gradient
        for place, value in update(optimizer, builder, pairs, lambda place, value: (place, value)):
            builder.become(place, value)
