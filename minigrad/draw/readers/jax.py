"""Graphs of JAX: a function that is called with arguments, a jaxpr (jaxpr.py), a stage of jit (hlo.py).

The forward and backward pass runs a function's equations one by one: jax.vjp returns the backward function of each.
Shares are added in the order in which JAX adds them: from the last equation to the first, and from the last operand to
the first. A jit inside the function is one equation, which JAX compiles as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal
from jax.stages import Compiled, Lowered, Traced

from ...engine.base.errors import NoGradientError
from ..listing import Listing
from ..picture import GraphRun
from ..rules import Rule
from ..words import join_names
from . import hlo, name_of
from .hlo import ITEM
from .jaxpr import array_names, callee, is_jaxpr, jaxpr_of, listing_of_jaxpr, names_of, spec_of, static_arguments
from .replay import GraphReplay, OpRun, own_derivatives

METHODS: dict[str, Callable[..., Any]] = {  # primitives that differ from minigrad's method of the same name
    "add": lambda p, x, y: x + y, "sub": lambda p, x, y: x - y, "mul": lambda p, x, y: x * y, "neg": lambda p, x: -x,
    "div": lambda p, x, y: x / y, "pow": lambda p, x, y: x**y, "integer_pow": lambda p, x: x ** p["y"],
    "square": lambda p, x: x**2, "logistic": lambda p, x: x.sigmoid(), "reduce_sum": lambda p, x: x.sum(p["axes"]),
    "max": lambda p, x, y: x.maximum(y), "min": lambda p, x, y: x.minimum(y),
    "reshape": lambda p, x: x.reshape(p["new_sizes"]), "broadcast_in_dim": lambda p, x: x.reshape(p["shape"]),
    "transpose": lambda p, x: x.T if x.ndim == 2 else None,
    "dot_general": lambda p, x, y: x @ y if p["dimension_numbers"] == (((x.ndim - 1,), (0,)), ((), ())) else None,
}  # fmt: skip


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
    """The forward and backward pass of f(*args). Every float argument has a gradient.

    Raises NoGradientError if jax.grad would fail, ValueError for more than `most` equations.
    """
    f = f.__wrapped__ if hasattr(f, "trace") else f  # run the function inside jit op by op
    closed, static = jaxpr_of(f, args), static_arguments(args)
    if (count := len(closed.jaxpr.eqns)) > most:
        instead = f"take a part of up to {most:,}, or look at all of it with GraphView"
        raise ValueError(f"{count:,} equations are too many to step through: {instead}")
    values = jax.tree.leaves([x for i, x in enumerate(args) if i not in static])
    (y, *others) = closed.jaxpr.outvars
    run = JaxRun(closed, [jnp.asarray(x) for x in values], array_names(f, names))
    if others or y.aval.shape or isinstance(y, Literal) or y not in run.active:
        specs = join_names([spec_of(y.aval) for y in closed.jaxpr.outvars])
        raise NoGradientError(f"backward starts at one float that depends on an argument, but f returns {specs}")
    end = run.boxes[run.box_of[y]]
    run.boxes[end.id] = replace(end, name=end.name or "result")
    return run.replay(y, run.reads())


class JaxRun(GraphReplay):
    """The values of a jaxpr by its variables.

    kept    box of an equation → the arrays that its backward function keeps alive
    """

    def __init__(self, closed: ClosedJaxpr, args: Sequence[Any], names: Mapping[int, str]):
        super().__init__(lambda x: spec_of(jax.typeof(x)), array_of, jnp.ones_like)
        jaxpr = closed.jaxpr
        self.kept: dict[str, list[Any]] = {}
        self.active = {x for x in jaxpr.invars if jnp.issubdtype(x.aval.dtype, jnp.inexact)}
        known = [*(names.get(id(x), "constant") for x in closed.consts), *names_of(jaxpr, jaxpr.invars)]
        for var, value, name in zip((*jaxpr.constvars, *jaxpr.invars), (*closed.consts, *args), known, strict=True):
            self.add("leaf", ITEM.sub(r".\1", name), "", {var: value})
        for eqn in jaxpr.eqns:
            if eqn.outvars:
                self.run(eqn)

    def tail(self, x: Any) -> str:
        """The id of an operand's box. A number written in the jaxpr gets a new box."""
        if isinstance(x, Literal):
            x, value = object(), jnp.asarray(x.val)
            self.add("constant", "", "", {x: value})
        return self.box_of[x]

    def run(self, eqn: Any) -> None:
        """Run an equation, and add its box and its arrows."""
        xs = [x.val if isinstance(x, Literal) else self.values[x] for x in eqn.invars]
        places = [i for i, x in enumerate(eqn.invars) if not isinstance(x, Literal) and x in self.active]
        ys, vjp = jax.vjp(lambda *active: bind(eqn, xs, places, active), *(xs[i] for i in places))
        self.active.update(y for y in eqn.outvars if places and jnp.issubdtype(y.aval.dtype, jnp.inexact))
        tails = [self.tail(x) for x in eqn.invars]
        shown = [f"#{len(self.boxes) + 1}", *(self.boxes[tail].display_name for tail in tails)]
        sign, rules, is_pointwise = derivatives(eqn, shown)
        arrows = self.add("op", "", sign, dict(zip(eqn.outvars, ys)), tails)
        self.kept[self.box_of[eqn.outvars[0]]] = jax.tree.leaves(vjp)

        def pull(gys: Sequence[Any]) -> list[Any]:
            given = [jnp.zeros_like(y) if gy is None else gy for y, gy in zip(ys, gys)]
            return [*vjp(given)][::-1]

        uses = [(eqn.invars[i], arrows[i], rules[i]) for i in reversed(places)]
        self.ops += [OpRun(eqn.outvars, uses, pull, is_pointwise)] * bool(places)

    def reads(self) -> dict[str, tuple[str, ...]]:
        """Box of an equation → boxes of the values that the equation's backward function keeps alive."""
        owner = {id(value): self.box_of[key] for key, value in self.values.items()}
        found = {box: [owner[id(x)] for x in kept if id(x) in owner] for box, kept in self.kept.items()}
        return {box: tuple(dict.fromkeys(boxes)) for box, boxes in found.items()}


def bind(eqn: Any, xs: Sequence[Any], places: Sequence[int], active: Sequence[Any]) -> list[Any]:
    """The results of an equation for the operands xs, where `active` replaces the operands at `places`."""
    operands = [active[places.index(i)] if i in places else x for i, x in enumerate(xs)]
    with eqn.ctx.manager:
        ys = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
    return ys if eqn.primitive.multiple_results else [ys]


def derivatives(eqn: Any, names: list[str]) -> tuple[str, list[Rule], bool]:
    """The symbol of an equation, its derivatives, and whether it works element by element.

    names    the names of the result and of each operand
    """
    name, otherwise = eqn.primitive.name, Rule("vjp(g)", True)
    operands = [float(x.val) if isinstance(x, Literal) else (x.aval.shape, str(x.aval.dtype)) for x in eqn.invars]
    method, shape = partial(method_like, name, eqn.params), eqn.outvars[0].aval.shape
    sign, rules, is_pointwise = own_derivatives(method, operands, names, shape, otherwise)
    return sign or callee(eqn) or name, rules, is_pointwise


def method_like(name: str, params: Mapping[str, Any], x: Any, *xs: Any) -> Any:
    """The result of minigrad's method for the same op. Raises an error of any kind if there is none."""
    if name in METHODS:
        return METHODS[name](params, x, *xs)
    assert not any(params.values()), "a method of this name may have other parameters"
    return getattr(x, name)(*xs)


def array_of(x: Any) -> Any:
    """A JAX array as a NumPy array; for a random key, the integers that it consists of."""
    is_key = jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(x) if is_key else x)
