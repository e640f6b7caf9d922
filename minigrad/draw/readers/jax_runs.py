"""JAX's eager runs, and jaxprs with the values of a run, for StaticVsDynamic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from dataclasses import replace
from functools import partial, wraps
from inspect import isfunction
from io import StringIO
from types import CodeType
from typing import Any

import jax
from jax._src.core import EvalTrace, set_current_trace  # no public module reports eager ops
from jax.extend.core import Literal

from ..picture import Box
from ..static_run import SIGNS, Saw, StaticRun, code_of, own_line
from ..tensors import format_array
from ..words import number
from .jax import array_of, bind
from .jaxpr import array_names, branch_scopes, function_of, is_jaxpr, names_of, spec_of, static_arguments, symbol_of

CALLS = "jit", "custom_jvp_call", "custom_vjp_call"
title, branch = "jaxpr: built once, run often", "jax.lax.cond"


def is_tensor(x: Any) -> bool:
    return isinstance(x, jax.Array)


def describe(x: Any) -> Box:
    if isinstance(x, jax.Array) or getattr(x, "ndim", 0) > 0:
        return Box("", "leaf", "", "", spec_of(jax.typeof(x)), format_array(array_of(x)), "")
    return Box("", "constant", "", "", "", number(x), "")


def names(f: Callable[..., Any]) -> dict[int, str]:
    return array_names(f, {})


def prepare(f: Any, args: Sequence[Any]) -> AbstractContextManager[Sequence[Any]]:
    return nullcontext(args)


def watch(saw: Saw) -> AbstractContextManager[Any]:
    return set_current_trace(ReportingTrace(saw))


class ReportingTrace(EvalTrace):
    """JAX's eager evaluation, which also reports each primitive that a function calls."""

    def __init__(self, saw: Saw):
        super().__init__()
        self.saw = saw

    def process_primitive(self, primitive: Any, args: Any, params: Any, /) -> Any:
        return self.report(sign_of(primitive.name, params), args, super().process_primitive(primitive, args, params))

    def process_custom_jvp_call(self, primitive: Any, fun: Any, *rest: Any, **params: Any) -> Any:
        return self.report(fun.debug_info.func_name, rest[-1], fun.call_wrapped(*rest[-1]))

    process_custom_vjp_call = process_custom_jvp_call

    def report(self, sign: str, xs: Sequence[Any], y: Any) -> Any:
        if ys := [x for x in jax.tree.leaves(y) if isinstance(x, jax.Array)]:
            self.saw(sign, ys, xs)
        return y


def sign_of(name: str, params: Any) -> str:
    """The symbol of a primitive; if it calls one function, the function's name. x * 2 is a jit around a primitive."""
    calls = [x for x in params.values() if is_jaxpr(x)] if name in CALLS else []
    if params.get("inline"):
        inside = {eqn.primitive.name for eqn in calls[0].eqns} - {"convert_element_type"}
        name = inside.pop() if len(inside) == 1 else params["name"]
    elif calls:
        name = function_of(calls[0]) or name
    return symbol_of(SIGNS.get(name, name.strip("_").removeprefix("reduce_")), params)


class JaxprTraces:
    """A function and its jaxprs."""

    trace_count = property(lambda self: len(self.jaxprs))

    def __init__(self, f: Callable[..., Any]):
        self.f, self.jaxprs = f if isfunction(f) else getattr(f, "__wrapped__", f), list[Any]()
        self.traced = wraps(f)(partial(self.f))  # of which JAX has no traces yet

    def jit(self, args: Sequence[Any]) -> Any:
        return jax.jit(self.traced, static_argnums=static_arguments(args))

    def trace_for(self, *args: Any) -> Any:
        jaxpr = self.jit(args).trace(*args).jaxpr  # from JAX's own cache, if it has one for these arguments
        if not any(jaxpr is each for each in self.jaxprs):
            self.jaxprs.append(jaxpr)
        return jaxpr

    def run(self, *args: Any) -> StaticRun:
        closed, static, captured = self.trace_for(*args), static_arguments(args), names(self.f)
        given = jax.tree.leaves([x for i, x in enumerate(args) if i not in static])
        values = [*closed.consts, *map(jax.numpy.asarray, given)]
        known = [*(captured.get(id(x), "constant") for x in closed.consts), *names_of(closed, closed.jaxpr.invars)]
        env = dict(zip((*closed.jaxpr.constvars, *closed.jaxpr.invars), values))
        run = StaticRun(unused={var: replace(describe(env[var]), name=name) for var, name in zip(env, known)})
        for eqn in closed.jaxpr.eqns:
            add_equation(run, env, eqn, code_of(self.f))
        with redirect_stdout(StringIO()):
            run.results = jax.tree.leaves(self.jit(args)(*args))
        return run


Traces = JaxprTraces


def add_equation(run: StaticRun, env: dict[Any, Any], eqn: Any, code: CodeType) -> None:
    """Run an equation, and add its box. env: variable → its value."""
    xs = [x.val if isinstance(x, Literal) else env[x] for x in eqn.invars]
    with redirect_stdout(StringIO()) as printed:
        ys = bind(eqn, xs, (), ())
        jax.effects_barrier()
    env.update(zip(eqn.outvars, ys))
    operands = [describe(x) if isinstance(var, Literal) else var for var, x in zip(eqn.invars, xs)]
    frames = eqn.source_info.traceback.frames if eqn.source_info.traceback else ()
    line = own_line([(frame.file_name, frame.line_num) for frame in reversed(frames)], code)
    sign = sign_of(eqn.primitive.name, eqn.params)
    box = run.run_op(sign, eqn.outvars, [*map(describe, ys)], operands, line)
    run.prints[box] = printed.getvalue()
    if branches := eqn.params.get("branches"):
        labels = [scope.label for scope in branch_scopes(branches)]
        signs = {label: [*map(sign_with_numbers, branch.eqns)] for label, branch in zip(labels, branches)}
        run.add_branches(box, labels[int(xs[0])], dict(reversed(signs.items())))


def sign_with_numbers(eqn: Any) -> str:
    """The symbol of an equation, with its numbers: + 1."""
    numbers = [describe(x.val).value for x in eqn.invars if isinstance(x, Literal)]
    return " ".join([sign_of(eqn.primitive.name, eqn.params), *numbers])
