"""Jaxprs, JAX's graphs of functions.

An equation is a node. A jit, a custom_vjp or a checkpoint is only a group: its operands go to the nodes in it. A scan,
a while or a cond is also a node, and reads the results of its body or branches. Transformations are groups, too: jvp
is the forward pass of a gradient, transpose(jvp) its backward pass.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import partial
from inspect import isfunction, unwrap
from itertools import groupby
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal
from jax.extend.source_info_util import summarize

from ...engine.base.pytree import leaves, paths
from ...engine.core.node import Place
from ..listing import LONGEST, Entry, Listing, Scope
from ..listing_readers import line_of
from ..names import names_in, variables_of
from ..nested import WORDS, NamedGraph, NamedOp, OpEntries
from ..tensors import format_array
from . import refuse_missing_arguments
from .hlo import ITEM, give_name

PLACE = re.compile(r"(.+?):(\d+).* \((.*)\)$")
NUMBER = re.compile(r"np\.\w+\((-?\d+)\)")  # np.int64(2)
DEFAULTS = "None", "False", "()"  # parameters with these values are not shown
SHOWN = "shape", "new_sizes", "new_dtype", "preferred_element_type", "y"  # parameters that spec or symbol show already


def listing_of_jaxpr(jaxpr: Any, names: Mapping[int, str], output: str) -> Listing:
    """The listing of a jaxpr, with names for its arguments and results. Arguments that no equation reads come last.

    names    id of an array → its name
    """
    entries = OpEntries()
    results = entries.read(JaxprReader(names).graph(jaxpr))
    for y, name in zip(results, names_of(jaxpr, results, "result_paths", "result")):
        entries.add(y)
        if y.kind != "constant":
            y.name = ", ".join(filter(None, (y.name, ITEM.sub(r".\1", name))))
    return Listing(output, entries.entries)


def jaxpr_of(f: Any, args: Sequence[Any]) -> ClosedJaxpr:
    """The jaxpr of f(*args). Raises TypeError if f cannot be called, or needs arguments and args is empty."""
    if isinstance(f, jax.Array):
        raise TypeError("a JAX array has no graph: draw the function that computes it, as in mg.draw(f, x)")
    if not callable(f):
        raise TypeError(f"expected a function of JAX and its arguments, as in mg.draw(f, x), or a jaxpr; got {f!r}")
    refuse_missing_arguments(f, args)
    if hasattr(f, "trace"):  # a jit, which knows its static arguments
        return f.trace(*args).jaxpr
    return jax.make_jaxpr(f, static_argnums=static_arguments(args))(*args)


def static_arguments(args: Sequence[Any]) -> list[int]:
    """The positions of static arguments, which have no arrays or floats, such as train=True or the shape (2, 3)."""
    found = [i for i, x in enumerate(args) if not isinstance(x, dict | list)]
    return [i for i in found if not any(isinstance(y, float) or is_array(y) for y in jax.tree.leaves(args[i]))]


def is_array(x: Any) -> bool:
    return hasattr(x, "dtype")


def array_names(f: Any, names: Mapping[str, object]) -> dict[int, str]:
    """id of an array → its name in `names`, in a partial, in f's closure or in f's module, such as W or params['w']."""
    trees = f.keywords if isinstance(f, partial) else {}
    f = unwrap(f.func if isinstance(f, partial) else f)
    trees = {**variables_of(f), **trees} if isfunction(f) else trees
    held = {path: x for name, tree in trees.items() for path, x in zip(paths(tree, name), leaves(tree))}
    return names_in({**names, **held}, lambda x: id(x) if is_array(x) else None)


class JaxprReader:
    """Describes the equations of a jaxpr and of the jaxprs that it calls."""

    def __init__(self, names: Mapping[int, str]):
        self.names = names
        self.constants: dict[int, Entry] = {}  # id of an array → its entry

    def graph(self, jaxpr: Any, operands: Sequence[Any] = (), scope: Scope | None = None) -> NamedGraph:
        inner = open_jaxpr(jaxpr)
        return NamedGraph(
            self.ops(jaxpr), [*map(operand, inner.outvars)], dict(zip(inner.invars, operands)), scope=scope
        )

    def ops(self, jaxpr: Any) -> Iterator[NamedOp]:
        inner = open_jaxpr(jaxpr)
        for var, name in zip(inner.invars, names_of(jaxpr, inner.invars), strict=True):
            yield NamedOp(give_name(node("leaf", "", [var], var), name), outputs=[var])
        consts = jaxpr.consts if isinstance(jaxpr, ClosedJaxpr) else [None] * len(inner.constvars)
        for var, const in zip(inner.constvars, consts):
            leaf = give_name(node("leaf", "", [var], var), self.names.get(id(const), "constant"))
            leaf.path, leaf.facts = None, ("captured: a constant of the graph",)
            yield NamedOp(leaf if const is None else self.constants.setdefault(id(const), leaf), outputs=[var])
        scopes: list[Scope] = []
        for eqn in inner.eqns:
            scopes = scopes_of(eqn, scopes)
            yield from self.equation(eqn, scopes)

    def equation(self, eqn: Any, scopes: list[Scope]) -> Iterator[NamedOp]:
        """Describe an equation and the jaxprs that it calls."""
        name, inputs, parts = eqn.primitive.name, [*map(operand, eqn.invars)], parts_of(eqn)
        if function := callee(eqn):
            scope = Scope("module", function, name, eqn)
            yield NamedOp(None, (), eqn.outvars, (), [*scopes, scope], [self.graph(parts[0], inputs)])
            return
        about, found = eqn.params, node("op", symbol_of(name, eqn.params), eqn.outvars, eqn)
        options = ((key, NUMBER.sub(r"\1", str(x))) for key, x in about.items() if key not in SHOWN and not callable(x))
        found.facts = tuple(f"{key} {text}" for key, text in options if text not in DEFAULTS and len(text) <= LONGEST)
        found.line = line_at(eqn)
        if name in ("cond", "scan", "while"):
            kind = "branch" if name == "cond" else f"loop, {about['length']} steps" if name == "scan" else "loop"
            scopes = [*scopes, Scope("scope", name, kind, eqn)]
        if name == "cond":
            inner = [self.graph(part, inputs[1:], scope) for scope, part in zip(branch_scopes(parts), parts)]
            inputs = inputs[:1]
        elif name in ("scan", "while"):
            inner, inputs = (yield from self.loop(eqn, inputs, scopes)), []
        else:  # such as the sum of two numbers in a scatter-add
            named = [Scope("module", function_of(part) or "region", "computation", part) for part in parts]
            inner = [self.graph(part, (), scope) for part, scope in zip(parts, named)]
        yield NamedOp(found, inputs, eqn.outvars, (), scopes, inner)

    def loop(self, eqn: Any, xs: list[Any], scopes: list[Scope]) -> Generator[NamedOp, None, list[NamedGraph]]:
        """Describe the carries and rows of a loop. Returns its parts: the test, if it has one, and the body."""
        about, test, inside = eqn.params, list[NamedGraph](), None
        first, fixed, carried = 0, about.get("num_consts"), about.get("num_carry")
        if eqn.primitive.name == "while":
            first, fixed, carried = about["cond_nconsts"], about["body_nconsts"], len(xs)
            inside = Scope("scope", "body", WORDS["body"], eqn)
        body = about["jaxpr"] if inside is None else about["body_jaxpr"]
        variables = open_jaxpr(body).invars[fixed:]
        for i, (var, x) in enumerate(zip(variables, xs[first + fixed :], strict=True)):
            entry = node("op", "carry" if i < carried else "row", [var], var)
            yield NamedOp(entry, [x], [var], (), [*scopes, inside] if inside else scopes)
        if inside is not None:
            scope = Scope("scope", "test", WORDS["test"], eqn)
            test = [self.graph(about["cond_jaxpr"], [*xs[:first], *variables], scope)]
        return [*test, self.graph(body, [*xs[first : first + fixed], *variables], inside)]


# -- parts of a jaxpr -------------------------------------------------------------------------------------------------


def is_jaxpr(x: Any) -> bool:
    return isinstance(x, Jaxpr | ClosedJaxpr)


def open_jaxpr(jaxpr: Any) -> Jaxpr:
    return jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr


def parts_of(eqn: Any) -> list[Any]:
    """The jaxprs among the parameters of an equation."""
    return [x for held in eqn.params.values() for x in (held if isinstance(held, tuple) else (held,)) if is_jaxpr(x)]


def callee(eqn: Any) -> str:
    """The name of the function that an equation calls, if it does nothing else; otherwise ""."""
    parts = parts_of(eqn)
    if len(parts) != 1 or eqn.primitive.name in ("scan", "reduce", "reduce_window"):
        return ""
    part = open_jaxpr(parts[0])
    is_call = (len(part.invars), len(part.outvars)) == (len(eqn.invars), len(eqn.outvars))
    return is_call * (function_of(part) or str(eqn.primitive.name))


def symbol_of(name: str, params: Mapping[str, Any]) -> str:
    """The name of a primitive; for a power, its exponent: ^3."""
    return f"^{params['y']}" if name == "integer_pow" else name


def branch_scopes(parts: Sequence[Any]) -> list[Scope]:
    """The scopes of the branches of a cond."""
    labels = ["false", "true"] if len(parts) == 2 else [f"branch {i}" for i in range(len(parts))]
    return [Scope("scope", label, WORDS.get(label, ""), part) for label, part in zip(labels, parts)]


def function_of(jaxpr: Any) -> str:
    """The name of the Python function that a jaxpr was traced from; "" if it is unknown."""
    name = str(getattr(open_jaxpr(jaxpr).debug_info, "func_src_info", None)).partition(" at ")[0]
    return name if name not in ("None", "<unknown>") else ""


def names_of(jaxpr: Any, things: Sequence[Any], which: str = "arg_names", otherwise: str = "input") -> list[str]:
    """JAX's names for arguments or results; if JAX has none, input 1, input 2, …."""
    known = getattr(open_jaxpr(jaxpr).debug_info, which, None) or ()
    return [*known] if len(known) == len(things) else [f"{otherwise} {i}" for i in range(1, len(things) + 1)]


def scopes_of(eqn: Any, before: Sequence[Scope]) -> list[Scope]:
    """The name scopes of an equation. Transformations that follow each other are one scope: transpose(jvp).

    before    the scopes of the previous equation, which are used again if they have the same labels
    """
    found = []
    stack = eqn.source_info.name_stack.stack
    for is_transform, items in groupby(stack, lambda item: type(item).__name__ == "Transform"):
        names, of = [item.name for item in items], "name scope"
        if is_transform:
            of = "backward" if "transpose" in names else "forward" if "jvp" in names else "transformed"
            names = ["(".join(names) + ")" * (len(names) - 1)]
        found += [Scope("scope", name, of, eqn) for name in names]
    same = [a.label == b.label for a, b in zip(before, found)]
    shared = same.index(False) if False in same else len(same)
    return [*before[:shared], *found[shared:]]


# -- entries ----------------------------------------------------------------------------------------------------------


def node(kind: str, sign: str, variables: Sequence[Any], thing: Any) -> Entry:
    """An entry with these variables. A token, which only orders effects, has no bytes."""
    avals = [var.aval for var in variables]
    nbytes = sum(int(aval.size) * aval.dtype.itemsize for aval in avals if is_array(aval))
    return Entry(kind, sign, "", " ".join(map(spec_of, avals)), thing, nbytes)


def spec_of(aval: Any) -> str:
    """The dtype and the shape of an abstract value, as in f32[3, 4]."""
    return str(aval.str_short(short_dtypes=True)).replace(",", ", ")


def operand(x: Any) -> Any:
    """A variable, or the entry of a number written in the jaxpr."""
    if isinstance(x, Literal):
        return Entry("constant", "", "", "", x, value=format_array(np.asarray(x.val)), path=None)
    return x


def line_at(eqn: Any) -> str:
    """The user's line that an equation comes from."""
    found = PLACE.match(summarize(eqn.source_info))
    return "" if found is None or found[1] == __file__ else line_of(Place(found[1], int(found[2]), found[3]))
