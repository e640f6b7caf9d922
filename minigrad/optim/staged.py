"""Update rules, run on arrays and written down in graphs: one definition of each optimiser.

A rule changes its operands in place: `m *= β; m += …; p −= …`. On arrays Scratch makes no new ones: its words, which
are PyTorch's (a name that ends in _ changes its first operand), write over memory that is used again. In a graph the
rule is given cells: a cell holds a symbol, and to change it in place is to hold another. So the rule of an eager step,
run once on cells, leaves in them the update as a graph.

What is remembered takes part by reference: of tensors, in the optimiser's own state, so that eager and traced steps
may follow one another; of a graph's variables, in variables beside them, of which each session has its own. So does
the learning rate of a traced step, and a scheduler may change it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
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
from ..tracing.worker import on_worker
from .groups import NOTES, Group, State, is_symbol

if TYPE_CHECKING:
    from .optimizer import Optimizer


class Scratch(NamedTuple):
    """Three scratch arrays as large as the operands, and the words that write on them.

    xp          the module that computes
    term        where every word works, and leaves what it gives back: until the next word
    second      for a rule that needs two things at once
    gradient    the gradient, where it is not the one that backward left
    """

    xp: Any
    term: Any
    second: Any
    gradient: Any

    def add_(self, y: Any, x: Any, alpha: float) -> None:
        """y ← y + α x"""
        y += self.xp.multiply(x, alpha, out=self.term)

    def lerp_(self, y: Any, x: Any, weight: float) -> None:
        """y ← y + w (x − y), which is (1 − w) y + w x: a running mean takes in x."""
        step = self.xp.subtract(x, y, out=self.term)
        step *= weight
        y += step

    def mean_square_(self, y: Any, x: Any, weight: float) -> None:
        """y ← (1 − w) y + w x², so written that an overflow stays ∞, where ∞ − ∞ would be no number for ever."""
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
        """v − m², not below 0 by rounding; ∞ where v is, where ∞ − ∞ would be no number."""
        y = self.xp.minimum(self.square(m), float(np.finfo(spec_of(getattr(m, "symbol", m)).dtype).max), out=self.term)
        y = self.xp.subtract(v, y, out=self.term)
        return self.xp.maximum(y, 0, out=self.term)

    def root(self, x: Any, eps: float) -> Any:
        """√x + ε"""
        y = self.xp.sqrt(x, out=self.term)
        y += eps
        return y

    def plus(self, x: Any, y: Any, alpha: float) -> Any:
        """x + α y, written where the gradient may be changed."""
        return self.xp.add(x, self.xp.multiply(y, alpha, out=self.term), out=self.gradient)


# -- numbers that are the same for all elements: Python's own, or, while a step is written down, symbols -----------


def power(beta: float, t: Any) -> Any:
    """βᵗ, of a number, or of a symbol: of both with the same last bit, which Python's own ** has otherwise."""
    return beta**t if isinstance(t, Operand) or isinstance(beta, Operand) else powers(beta, t)


@lru_cache(maxsize=64)
def powers(beta: float, t: float) -> float:
    """βᵗ as NumPy has it. Every parameter of a step asks for the same one."""
    return float(np.power(beta, t))


def sqrt(x: Any) -> Any:
    """√x"""
    return x.sqrt() if isinstance(x, Operand) else math.sqrt(x)


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, else y."""
    if isinstance(condition, Operand):
        return condition.apply(ops.Where(), *(getattr(v, "symbol", v) for v in (x, y)))
    return x if condition else y


def wanted(p: Any, g: Any, pad: Scratch, options: Group) -> Any:
    """The gradient of what is minimised: of −f to maximise f, and of f + λ/2 |p|² to decay the weights.

    Decoupled, p shrinks by itself and the gradient stays as it is:
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


def in_place(operator: Callable[[Any, Any], Any]) -> Callable[[Cell, Any], Cell]:
    """The operator, as a cell hears it: what it gives is held from now on."""
    return lambda cell, o: cell.hold(operator(cell.symbol, cell.fitted(o)))


class Cell:
    """A place for a symbol, which an operator in place replaces by the next one."""

    __slots__ = ("symbol",)

    def __init__(self, symbol: Any = None):
        self.symbol = symbol

    def hold(self, symbol: Any) -> Cell:
        self.symbol = symbol
        return self

    def fitted(self, o: Any) -> Any:
        """o as an operand here. A number, even one that a graph computes, takes this cell's precision and device."""
        if isinstance(o, Cell):
            return o.symbol
        return o.astype(self.symbol.dtype).to(self.symbol.device) if isinstance(o, Tracer) else o

    __iadd__, __isub__, __imul__, __itruediv__ = map(in_place, (add, sub, mul, truediv))


class Words:
    """The array module of a rule that is written down: `multiply(x, y, out=cell)`, and every other method's name."""

    def __getattr__(self, name: str) -> Callable[..., Cell]:
        def word(x: Cell, *others: Any, out: Cell) -> Cell:
            return out.hold(getattr(x.symbol, name)(*map(x.fitted, others)))

        return word


# -- what is remembered ---------------------------------------------------------------------------------


class StateSlot(Tensor):
    """What an optimiser remembers, as a tensor that a graph captures: read, whenever it runs, where it is remembered.

    name      under which it is remembered
    owners    the parameters that it is remembered of: one; or several, that count their steps together
    """

    __slots__ = ("buffer", "name", "optimizer", "owners")

    def __init__(self, optimizer: Optimizer, owners: Sequence[Tensor], remembered: str):
        self.optimizer, self.owners, self.name = optimizer, tuple(owners), remembered
        first = optimizer.state[owners[0]][remembered]
        self.buffer: Any = None if remembered not in optimizer.counters else np.array(first)
        self.node, self.tracked = None, False
        self.spec: Spec = spec_of(self.value)

    ids = property(lambda self: {*map(id, self.owners)}, doc="Of the owners.")

    @property
    def value(self) -> Any:
        if self.buffer is None:
            return self.optimizer.state[self.owners[0]][self.name]
        return self.counted() if self.apart else self.buffer

    @value.setter
    def value(self, array: Any) -> None:
        self.value[...] = array

    @property
    def apart(self) -> list[Tensor]:
        """The owners that have a count of their own, since they were stepped, or loaded, outside the graph."""
        state, name, buffer = self.optimizer.state, self.name, self.buffer
        return [p for p in self.owners if state[p].get(name) is not buffer]

    @property
    def together(self) -> bool:
        """Whether the owners have made the same number of steps, and one count is right for all."""
        if not self.apart:
            return True
        counts = [self.optimizer.state[p].get(self.name) for p in self.owners]
        return None not in counts and all(n == counts[0] for n in counts)

    def counted(self) -> Any:
        """The one count, from now on, of parameters that were stepped, or loaded, outside the graph."""
        states = [self.optimizer.state[p] for p in self.owners]
        first = states[0][self.name]
        if any(state[self.name] != first for state in states):
            raise GraphError(
                f"{self.optimizer.name} was traced for parameters that had made the same number of steps, and by "
                "now they have not: step all of them, or trace anew"
            )
        self.buffer[...] = first
        for state in states:
            state[self.name] = self.buffer
        return self.buffer


class Rate(Tensor):
    """An option of a group that schedules move, such as lr, as a tensor that a graph reads at each run."""

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
    """Name → what remembers it, of the arrays that the rule carries for p."""
    state = optimizer.state[p]
    for name in optimizer.carried(p, options):
        if name not in state:
            array = p.spec.device.xp.full(optimizer.shape(p, name), optimizer.start(name, options), dtype)
            state[name] = beside(p, f"{optimizer.name}/{name}", array) if isinstance(p, GraphVariable) else array
    return {name: slot(optimizer, [p], name) for name in optimizer.carried(p, options)}


def slot(optimizer: Optimizer, owners: Sequence[Any], name: str) -> Any:
    """The tensor, or the variable, that remembers something of these parameters."""
    if isinstance(owners[0], GraphVariable):
        return optimizer.state[owners[0]][name]
    key = (name, *map(id, owners))
    if key not in optimizer.slots:
        optimizer.slots[key] = StateSlot(optimizer, owners, name)
    return optimizer.slots[key]


def beside(variable: GraphVariable, name: str, first: Any) -> GraphVariable:
    """A variable that is remembered beside another, in whose graph it is."""
    graph: Any = variable.builder
    with graph.building(), graph.name_scope(f"{variable.name}/"), on_worker(variable.node.worker):
        return GraphVariable(first, trainable=False, name=name)


def counting_together(optimizer: Optimizer, ps: Sequence[Any]) -> list[list[Any]]:
    """The parameters, in companies that have made the same number of steps, and so need one count."""
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
                count = beside(p, f"{optimizer.name}/{name}", p.device.array(start))
                for q in (p, *others):
                    optimizer.state[q][name] = count
    return list(companies.values())


# -- one step -------------------------------------------------------------------------------------------


def update(
    optimizer: Optimizer, builder: GraphBuilder, pairs: Iterable[tuple[Any, Any]], give: Callable[[Any, Any], Any]
) -> list[Any]:
    """The step of these (parameter, gradient), as nodes; what `give(place, value)` gives for all that changes."""
    gradient_of = {id(p): g for p, g in pairs}
    changes: list[tuple[Any, Any]] = []
    builder.note_read(optimizer, "groups()")
    for options in vars(optimizer)["param_groups"]:
        ps = [p for p in options["params"] if gradient_of.get(id(p)) is not None]
        names = moving_options(optimizer, options)
        moving = {name: builder.lift(option_tensor(optimizer, options, name)).astype(float) for name in names}
        for company in counting_together(optimizer, ps):
            counts = {name: slot(optimizer, company, name) for name in optimizer.counters}
            refuse_overlap(builder, counts)
            for count in counts.values():
                if isinstance(count, StateSlot):
                    builder.note_read(count, "together")
            state: State = {name: builder.lift(count) for name, count in counts.items()}
            there, home = next((n.device for n in state.values()), CPU), company[0].device
            optimizer.count(state, insert_symbols(options, moving, there))
            changes += [(count, state[name]) for name, count in counts.items()]
            state, settings = {name: n.to(home) for name, n in state.items()}, insert_symbols(options, moving, home)
            for p in company:
                with on_worker(p.node.worker if isinstance(p, GraphVariable) else None):
                    changes += move_parameter(optimizer, builder, p, gradient_of[id(p)], options, settings, state)
    return [give(place, value) for place, value in changes]


def move_parameter(
    optimizer: Optimizer, builder: GraphBuilder, p: Any, g: Any, group: Group, options: Group, state: State
) -> list[tuple[Any, Any]]:
    """p, and what is remembered of it, each with its new value: the optimiser's own `move`, on cells."""
    dtype = wide(p.dtype)
    slots = slots_of(optimizer, p, group, dtype)
    cell, *means = (Cell(builder.lift(x).astype(dtype)) for x in (p, *slots.values()))
    pad = Scratch(Words(), Cell(), Cell(), Cell())
    g_cell = wanted(cell, Cell(builder.lift(g).astype(dtype)), pad, options)
    optimizer.move(cell, g_cell, pad, options, state, *means)
    return [(p, cell.symbol), *((place, m.symbol) for place, m in zip(slots.values(), means))]


def insert_symbols(options: Group, moving: Group, device: Any) -> Group:
    """The options, with a symbol on the device for each that schedules move; of betas they move only the first."""
    symbols = {name: x.to(device) for name, x in moving.items()}
    return options | {name: (x, *options[name][1:]) if name == "betas" else x for name, x in symbols.items()}


def moving_options(optimizer: Optimizer, group: Group) -> list[str]:
    """The options that a traced step reads at each run: lr, and what a schedule moves, unless it is 0."""
    return ["lr", *(name for name in optimizer.scheduled if group.get(name))]


def constant_options(optimizer: Optimizer, group: Group) -> Group:
    """The options that a trace holds as constants: of those that schedules move, only the second of betas."""
    options = {name: x for name, x in group.items() if name not in NOTES}
    moving = options.keys() & moving_options(optimizer, group)
    return options | {name: options[name][1:] if name == "betas" else "moving" for name in moving}


def option_tensor(optimizer: Optimizer, group: Group, name: str) -> Any:
    """The tensor through which a graph reads an option of a group; the option, if it is a symbol."""
    if is_symbol(group[name]):
        return group[name]
    key = (name, id(group))
    if key not in optimizer.slots:
        optimizer.slots[key] = Rate(group, name)
    return optimizer.slots[key]


def refuse_overlap(builder: GraphBuilder, counts: dict[str, Any]) -> None:
    """Raises GraphError where one graph would count the steps of a parameter in two places."""
    there = [c.what for c in builder.captured.values() if isinstance(c.what, StateSlot) and c.what.buffer is not None]
    for count in counts.values():
        for other in there:
            is_same_count = isinstance(count, StateSlot) and other.name == count.name
            if is_same_count and other is not count and not other.ids.isdisjoint(count.ids):
                raise GraphError(
                    "one graph steps some parameters together, and some of them again without the others, whose steps "
                    "are counted as one: step the same parameters each time, or take an optimiser for each part"
                )


def step(optimizer: Optimizer, builder: GraphBuilder, pairs: Iterable[tuple[Any, Any]]) -> None:
    """A step inside a function that is being traced: an edit of the parameters and of what is remembered."""
    with no_grad():  # as a leaf that requires a gradient is edited
        for place, value in update(optimizer, builder, pairs, lambda place, value: (place, value)):
            builder.become(place, value)
