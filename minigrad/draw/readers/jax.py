"""Graphs of JAX: a function that is called with arguments, a jaxpr (jaxpr.py), a stage of jit (hlo.py).

The forward and backward pass runs a function's equations one by one: jax.vjp returns the backward function of each.
Shares are added in the order in which JAX adds them: from the last equation to the first, and from the last operand to
the first. A jit inside the function is one equation, which JAX compiles as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal
from jax.stages import Compiled, Lowered, Traced

from ...engine.base.errors import NoGradientError
from ...engine.base.spec import Spec
from ...engine.core.op import Elementwise
from ...engine.tensor.symbol import placeholder
from ..heat import heat_of
from ..listing import Listing
from ..picture import Arrow, Box, GraphRun, Picture, Share
from ..rules import Rule, rules_like
from ..tensors import format_array, make_share
from ..words import join_names
from . import hlo, name_of
from .hlo import ITEM
from .jaxpr import (
    array_names,
    callee,
    is_jaxpr,
    jaxpr_of,
    listing_of_jaxpr,
    names_of,
    spec_of,
    static_arguments,
)  # fmt: skip

METHODS: dict[str, Callable[..., Any]] = {  # primitives that differ from minigrad's method of the same name
    "add": lambda p, x, y: x + y, "sub": lambda p, x, y: x - y, "mul": lambda p, x, y: x * y, "neg": lambda p, x: -x,
    "div": lambda p, x, y: x / y, "pow": lambda p, x, y: x**y, "integer_pow": lambda p, x: x ** p["y"],
    "square": lambda p, x: x**2, "logistic": lambda p, x: x.sigmoid(), "reduce_sum": lambda p, x: x.sum(p["axes"]),
    "max": lambda p, x, y: x.maximum(y), "min": lambda p, x, y: x.minimum(y),
    "reshape": lambda p, x: x.reshape(p["new_sizes"]), "broadcast_in_dim": lambda p, x: x.reshape(p["shape"]),
    "transpose": lambda p, x: x.T if x.ndim == 2 else None,
    "dot_general": lambda p, x, y: x @ y if p["dimension_numbers"] == (((x.ndim - 1,), (0,)), ((), ())) else None,
}  # fmt: skip


class EquationRun(NamedTuple):
    """An equation that ran.

    places     the positions of the operands that have gradients
    arrows     the arrows from these operands
    pull       maps the gradients of the results to the gradients of these operands
    slopes     whether the equation works element by element, so that its derivative is an array
    """

    eqn: Any
    box: str
    places: list[int]
    arrows: list[Arrow]
    pull: Callable[..., Any]
    rules: list[Rule]
    slopes: bool


def listing_of(x: Any, args: Sequence[Any], names: Mapping[str, object]) -> Listing:
    """The listing of a function called with args, or of an object that has a graph without arguments."""
    if isinstance(x, Lowered | Compiled):
        text = x.as_text(dialect="hlo") if isinstance(x, Lowered) else x.as_text()
        return hlo.listing_of(text, args, names)
    if isinstance(x, Traced):
        x = x.jaxpr
    if is_jaxpr(x):
        return listing_of_jaxpr(x, array_names(None, names), "a jaxpr")
    return listing_of_jaxpr(jaxpr_of(x, args), array_names(x, names), f"a call of {name_of(x)}")


def replay_of(f: Any, args: Sequence[Any], names: Mapping[str, object], most: int = 10_000) -> GraphRun:
    return run_of(f, args, names, most).replay()


def run_of(f: Any, args: Sequence[Any], names: Mapping[str, object], most: int = 10_000) -> JaxRun:
    """The run of f(*args). Every float argument has a gradient.

    Raises NoGradientError if jax.grad would fail, ValueError for more than `most` equations.
    """
    f = f.__wrapped__ if hasattr(f, "trace") else f  # run the function inside jit op by op
    closed, static = jaxpr_of(f, args), static_arguments(args)
    if (count := len(closed.jaxpr.eqns)) > most:
        raise ValueError(f"{count:,} equations are too many to step through: take a part of up to {most:,}")
    values = jax.tree.leaves([x for i, x in enumerate(args) if i not in static])
    (y, *others) = closed.jaxpr.outvars
    run = JaxRun(closed, [jnp.asarray(x) for x in values], array_names(f, names))
    if others or y.aval.shape or isinstance(y, Literal) or y not in run.active:
        specs = join_names([spec_of(y.aval) for y in closed.jaxpr.outvars])
        raise NoGradientError(f"backward starts at one float that depends on an argument, but f returns {specs}")
    return run


class JaxRun:
    """The values of a jaxpr, and its picture without gradients.

    values, places    a variable → its value, and the id of its box
    active            variables that have a gradient
    grads             a variable → its gradient so far, during the backward pass
    """

    def __init__(self, closed: ClosedJaxpr, args: Sequence[Any], names: Mapping[int, str]):
        jaxpr = closed.jaxpr
        self.end = jaxpr.outvars[0]
        self.values: dict[Any, Any] = {}
        self.places: dict[Any, str] = {}
        self.active: set[Any] = set()
        self.boxes: dict[str, Box] = {}
        self.arrows: list[Arrow] = []
        self.steps: list[EquationRun] = []
        self.grads: dict[Any, Any] = {}
        known = [*(names.get(id(x), "constant") for x in closed.consts), *names_of(jaxpr, jaxpr.invars)]
        for var, value, name in zip((*jaxpr.constvars, *jaxpr.invars), (*closed.consts, *args), known, strict=True):
            if var in jaxpr.invars and jnp.issubdtype(value.dtype, jnp.inexact):
                self.active.add(var)
            self.add_box("leaf", "", [var], [value], ITEM.sub(r".\1", name))
        for eqn in jaxpr.eqns:
            if eqn.outvars:
                self.run(eqn)

    def add_box(self, kind: str, sign: str, variables: Sequence[Any], values: Sequence[Any], name: str = "") -> str:
        id = f"b{len(self.boxes) + 1}"
        self.values.update(zip(variables, values))
        self.places.update(dict.fromkeys(variables, id))
        arrays = [array_of(x) for x in values]
        heat = heat_of(arrays[0]) if len(arrays) == 1 else None
        spec, text = " ".join(spec_of(jax.typeof(x)) for x in values), join_names([format_array(x) for x in arrays])
        grad = "·" if self.active.intersection(variables) else ""
        self.boxes[id] = Box(id, kind, name, sign, spec * (kind != "constant"), text, grad, value_heat=heat)
        return id

    def operand(self, x: Any) -> str:
        """The id of an operand's box. A number written in the jaxpr gets a new box."""
        return self.add_box("constant", "", [], [jnp.asarray(x.val)]) if isinstance(x, Literal) else self.places[x]

    def run(self, eqn: Any) -> None:
        """Run an equation, and add its box and its arrows."""
        xs = [x.val if isinstance(x, Literal) else self.values[x] for x in eqn.invars]
        places = [i for i, x in enumerate(eqn.invars) if not isinstance(x, Literal) and x in self.active]
        ys, pull = jax.vjp(lambda *active: bind(eqn, xs, places, active), *(xs[i] for i in places))
        self.active.update(y for y in eqn.outvars if places and jnp.issubdtype(y.aval.dtype, jnp.inexact))
        tails = [self.operand(x) for x in eqn.invars]
        shown = [f"#{len(self.boxes) + 1}", *(self.boxes[tail].display_name for tail in tails)]
        sign, rules, slopes = derivatives(eqn, shown)
        head = self.add_box("op", sign, eqn.outvars, ys)
        arrows = [Arrow(f"a{len(self.arrows) + i}", tail, head) for i, tail in enumerate(tails, 1)]
        self.arrows += arrows
        passed = [arrows[i] for i in places], pull, [rules[i] for i in places], slopes
        self.steps.append(EquationRun(eqn, head, places, *passed))

    def replay(self) -> GraphRun:
        """Run backpropagation and record each share of it."""
        self.grads[self.end] = jnp.ones_like(self.values[self.end])
        shares = [share for step in reversed(self.steps) for share in self.pull(step)]
        for var, grad in self.grads.items():
            box, array = self.boxes[self.places[var]], array_of(grad)
            self.boxes[box.id] = replace(box, grad=format_array(array), grad_heat=heat_of(array))
        end = self.places[self.end]
        self.boxes[end] = replace(self.boxes[end], name=self.boxes[end].name or "result")
        picture = Picture(tuple(self.boxes.values()), tuple(self.arrows), (end,))
        sizes = {self.places[var]: value.nbytes for var, value in self.values.items()}
        return GraphRun(picture, "1", tuple(shares), self.reads(), frees=True, sizes=sizes)

    def pull(self, step: EquationRun) -> list[Share]:
        """The shares that an equation passes back to its operands. Also adds them to the operands' gradients."""
        gys = [self.grads.get(y) for y in step.eqn.outvars]
        if all(gy is None for gy in gys) or not step.places:
            return []
        gys = [jnp.zeros_like(self.values[y]) if gy is None else gy for y, gy in zip(step.eqn.outvars, gys)]
        gxs, found = step.pull(gys), []
        slopes = step.pull([jnp.ones_like(gys[0])]) if step.slopes else [None] * len(gxs)
        for place, arrow, gx, rule, slope in reversed([*zip(step.places, step.arrows, gxs, step.rules, slopes)]):
            x = step.eqn.invars[place]
            before = self.grads.get(x)
            self.grads[x] = gx if before is None else jax.lax.add(before, gx)
            arrays = [y if y is None else array_of(y) for y in (slope, gys[0], gx, self.grads[x], before)]
            found.append(make_share(arrow.id, rule, *arrays))
        return found

    def reads(self) -> dict[str, tuple[str, ...]]:
        """Box of an equation → boxes of the values that the equation's backward function keeps alive."""
        owner = {id(value): self.places[var] for var, value in self.values.items()}
        kept = {step.box: [owner.get(id(x), "") for x in jax.tree.leaves(step.pull)] for step in self.steps}
        return {box: tuple(dict.fromkeys(filter(None, found))) for box, found in kept.items()}


def bind(eqn: Any, xs: Sequence[Any], places: Sequence[int], active: Sequence[Any]) -> list[Any]:
    """The results of an equation for the operands xs, where `active` replaces the operands at `places`."""
    operands = [active[places.index(i)] if i in places else x for i, x in enumerate(xs)]
    with eqn.ctx.manager:
        ys = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
    return ys if eqn.primitive.multiple_results else [ys]


def derivatives(eqn: Any, names: list[str]) -> tuple[str, list[Rule], bool]:
    """The symbol of an equation, its derivatives, and whether it works element by element, taken from minigrad's op.

    names    the names of the result and of each operand
    """
    name = eqn.primitive.name
    try:
        operands = [
            float(x.val) if isinstance(x, Literal) else placeholder("", Spec(x.aval.shape, str(x.aval.dtype)))
            for x in eqn.invars
        ]
        assert name in METHODS or not any(eqn.params.values()), "a method of this name may have other parameters"
        method = partial(METHODS.get(name, lambda p, x, *ys: getattr(x, name)(*ys)), eqn.params)
        y, sign, rules = rules_like(method, operands, names, eqn.outvars[0].aval.shape)
        assert sign, "a formula shows the operands in minigrad's order"
        is_pointwise = isinstance(y.op, Elementwise) and all(x.spec.shape == y.spec.shape for x in y.inputs)
        return sign, rules, is_pointwise
    except Exception:  # minigrad has no such op, or its op takes other arguments or has no derivative
        return callee(eqn) or name, [Rule("vjp(g)", True)] * len(eqn.invars), False


def array_of(x: Any) -> Any:
    """A JAX array as a NumPy array; for a random key, the integers that it consists of."""
    is_key = jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(x) if is_key else x)
