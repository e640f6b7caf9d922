"""Graphs of JAX: the jaxpr of a function that is called with arguments, a jaxpr, an HLO module.

An equation is a node. A jit, a custom_vjp or a checkpoint is only a group, into which its operands go. A scan, a while
or a cond is a node as well, which reads the results of its body or branches. Transformations are groups, too: jvp is
the forward pass of a gradient, transpose(jvp) its backward pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from inspect import getclosurevars, isfunction, unwrap
from itertools import groupby
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal
from jax.extend.source_info_util import summarize
from jax.stages import Compiled, Lowered, Traced

from ...engine.base.pytree import leaves, paths
from ...engine.core.node import Place
from ..listing import Entry, Listing, Path, Scope
from ..listing_readers import line_of
from ..names import names_in
from ..subgraphs import WORDS
from ..tensors import format_array
from .hlo import ITEM, LONGEST, EntryList, leaf, listing_of_text

PLACE = re.compile(r"(.+?):(\d+).* \((.*)\)$")
UNSAID = "None", "False", "()"  # values of parameters that say nothing
IN_SPEC = "shape", "new_sizes", "new_dtype", "preferred_element_type"  # parameters that a spec shows
Env = dict[Any, Entry]  # a variable of a jaxpr → the entry of its value


def listing_of(x: Any, args: Sequence[Any], names: Mapping[str, object]) -> Listing:
    """The listing of a function called with args, of a jaxpr, of a stage of jit, or of the text of an HLO module."""
    if isinstance(x, str | Lowered | Compiled):
        return listing_of_text(x if isinstance(x, str) else x.as_text(*["hlo"] * isinstance(x, Lowered)))
    title = "a jaxpr"
    if isinstance(x, Traced):
        x = x.jaxpr
    elif not isinstance(x, Jaxpr | ClosedJaxpr):
        title, names, x = f"a call of {name_of(x)}", {**names, **captured(x)}, jaxpr_of(x, args)
    reader = JaxprReader(names_in(names, lambda held: id(held) if hasattr(held, "dtype") else None))
    reader.read_all(x)
    return Listing(title, reader.entries)


def jaxpr_of(f: Any, args: Sequence[Any]) -> ClosedJaxpr:
    """The jaxpr of a call. Arguments such as train=True or a number of steps are static. TypeError if there is none."""
    if isinstance(f, jax.Array):
        raise TypeError("a JAX array has no graph: draw the function that computes it, as in mg.draw(f, x)")
    if not callable(f) or not args:
        raise TypeError(f"expected a function of JAX and its arguments, as in mg.draw(f, x), or a jaxpr; got {f!r}")
    if hasattr(f, "trace"):  # a jit, which knows its static arguments
        return f.trace(*args).jaxpr
    static = [i for i, x in enumerate(args) if isinstance(x, bool | int | str) or callable(x)]
    return jax.make_jaxpr(f, static_argnums=static)(*args)


def name_of(f: Any) -> str:
    f = getattr(f, "func", f)  # of a partial
    return getattr(f, "__name__", type(f).__name__)


def captured(f: Any) -> dict[str, object]:
    """What a function reads from its closure and its module, by name: W, params['w']."""
    f = unwrap(getattr(f, "func", f))
    found = getclosurevars(f) if isfunction(f) else None
    held = {**found.globals, **found.nonlocals} if found else {}
    return {path: x for name, tree in held.items() for path, x in zip(paths(tree, name), leaves(tree))}


class JaxprReader(EntryList):
    """The entries of a jaxpr and of all that it calls.

    names    id of an array → its name
    """

    def __init__(self, names: Mapping[int, str]):
        super().__init__()
        self.names = names

    def read_all(self, jaxpr: Any) -> None:
        """Add the equations, with names for arguments and results. An argument that is not read goes last."""
        variables = opened(jaxpr).invars
        args = [argument(*pair) for pair in zip(variables, names_of(jaxpr, "arg_names", "input", variables))]
        results = self.read(jaxpr, args, ())
        for x in (*args, *results):
            self.add(x)
        for y, name in zip(results, names_of(jaxpr, "result_paths", "result", results)):
            y.name = ", ".join(filter(None, (y.name, ITEM.sub(r".\1", name)))) if y.kind != "constant" else ""

    def read(self, jaxpr: Any, xs: Sequence[Entry], path: Path) -> list[Entry]:
        """Add the equations of a jaxpr that is called with xs. Returns the entries of its results."""
        inner = opened(jaxpr)
        env = Env(zip(inner.invars, xs, strict=True))
        consts = jaxpr.consts if isinstance(jaxpr, ClosedJaxpr) else [None] * len(inner.constvars)
        for var, const in zip(inner.constvars, consts):
            name = self.names.get(id(getattr(const, "val", const)), "constant")
            env[var] = argument(var, name, None)
            env[var].facts = ("captured: a constant of the graph",)
        for eqn, at in scoped(inner.eqns, path):
            results = self.equation(eqn, [operand(x, env) for x in eqn.invars], at)
            env.update(zip(eqn.outvars, results, strict=True))
        return [operand(y, env) for y in inner.outvars]

    def equation(self, eqn: Any, xs: list[Entry], path: Path) -> list[Entry]:
        """Add an equation, with all that it calls. Returns the entries of its results."""
        name = eqn.primitive.name
        parts = parts_of(eqn)
        if is_call(eqn, parts):
            label = eqn.params.get("name") or function_of(parts[0]) or name
            return self.read(parts[0], xs, (*path, Scope("module", label, name, eqn)))
        if name in ("cond", "scan", "while"):
            kind = {"cond": "branch", "scan": f"loop, {eqn.params.get('length')} steps"}.get(name, "loop")
            path = (*path, Scope("scope", name, kind, eqn))
            xs = self.control(eqn, xs, path)
        else:
            for part in parts:  # how a reduction or a scatter combines two numbers
                region = (*path, Scope("module", function_of(part) or "region", "combines numbers", part))
                xs += self.read(part, [argument(var, "number", region) for var in opened(part).invars], region)
        found = node(name, eqn.outvars, eqn, path)
        found.facts, found.line = facts_of(eqn), place_of(eqn)
        self.add(found, xs)
        return [found] * len(eqn.outvars)

    def control(self, eqn: Any, xs: list[Entry], path: Path) -> list[Entry]:
        """Add the branches or the body of a cond, a scan or a while. Returns the entries that its node reads."""
        about, ys = eqn.params, []
        if "branches" in about:
            several = len(about["branches"]) != 2
            for i, branch in enumerate(about["branches"]):
                label = f"branch {i}" if several else ("false", "true")[i]
                ys += self.read(branch, xs[1:], (*path, Scope("scope", label, WORDS.get(label, ""), branch)))
            return [xs[0], *ys]
        if "length" in about:
            fixed, carried = about["num_consts"], about["num_carry"]
            return self.read(about["jaxpr"], self.turning(about["jaxpr"], xs, fixed, carried, path), path)
        first = about["cond_nconsts"]
        test, body = ((*path, Scope("scope", name, WORDS[name], eqn)) for name in ("test", "body"))
        inner = self.turning(about["body_jaxpr"], xs[first:], about["body_nconsts"], len(xs), body)
        ys = self.read(about["cond_jaxpr"], [*xs[:first], *inner[about["body_nconsts"] :]], test)
        return [*ys, *self.read(about["body_jaxpr"], inner, body)]

    def turning(self, body: Any, xs: list[Entry], fixed: int, carried: int, path: Path) -> list[Entry]:
        """Add the carries and rows of a loop. Returns what its body is called with: constants, carries and rows."""
        found = xs[:fixed]
        for i, (var, x) in enumerate(zip(opened(body).invars[fixed:], xs[fixed:], strict=True)):
            found.append(node("carry" if i < carried else "row", [var], var, path))
            self.add(found[-1], [x])
        return found


# -- parts of a jaxpr -------------------------------------------------------------------------------------------------


def opened(jaxpr: Any) -> Jaxpr:
    return jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr


def parts_of(eqn: Any) -> list[Any]:
    """The jaxprs among the parameters of an equation."""
    held = [x for value in eqn.params.values() for x in (value if isinstance(value, tuple) else (value,))]
    return [x for x in held if isinstance(x, Jaxpr | ClosedJaxpr)]


def is_call(eqn: Any, parts: Sequence[Any]) -> bool:
    """Whether an equation only calls its one jaxpr, with all operands and for all results."""
    if len(parts) != 1 or eqn.primitive.name in ("scan", "reduce", "reduce_window"):
        return False
    part = opened(parts[0])
    return (len(part.invars), len(part.outvars)) == (len(eqn.invars), len(eqn.outvars))


def function_of(jaxpr: Any) -> str:
    """The name of the Python function that a jaxpr was traced from; "" if it is unknown."""
    name = str(getattr(opened(jaxpr).debug_info, "func_src_info", None)).partition(" at ")[0]
    return name if name not in ("None", "<unknown>") else ""


def names_of(jaxpr: Any, which: str, otherwise: str, things: Sequence[Any]) -> list[str]:
    """The names that JAX has for arguments or results, else input 1, input 2, …."""
    known = getattr(opened(jaxpr).debug_info, which, None) or ()
    return [*known] if len(known) == len(things) else [f"{otherwise} {i}" for i in range(1, len(things) + 1)]


def scoped(eqns: Sequence[Any], path: Path) -> Iterator[tuple[Any, Path]]:
    """Each equation with its scopes. Equations that follow each other share them."""
    scopes: list[Scope] = []
    for eqn in eqns:
        found = scopes_of(eqn.source_info.name_stack.stack, eqn)
        same = [a.label == b.label for a, b in zip(scopes, found)]
        shared = same.index(False) if False in same else len(same)
        scopes = scopes[:shared] + found[shared:]
        yield eqn, (*path, *scopes)


def scopes_of(stack: Sequence[Any], eqn: Any) -> list[Scope]:
    """Name scopes, and transformations, as one scope if they follow each other: transpose(jvp)."""
    found = []
    for is_transform, items in groupby(stack, lambda item: type(item).__name__ == "Transform"):
        names = [item.name for item in items]
        if is_transform:
            of = "backward" if "transpose" in names else "forward" if "jvp" in names else "transformed"
            names = ["(".join(names) + ")" * (len(names) - 1)]
        found += [Scope("scope", name, of if is_transform else "name scope", eqn) for name in names]
    return found


# -- entries ----------------------------------------------------------------------------------------------------------


def node(sign: str, variables: Sequence[Any], thing: Any, path: Path) -> Entry:
    return Entry("op", sign, "", " ".join(map(spec_of, variables)), thing, sum(map(bytes_of, variables)), path=path)


def argument(var: Any, name: str, path: Path | None = ()) -> Entry:
    return leaf(name, spec_of(var), var, bytes_of(var), path)


def spec_of(var: Any) -> str:
    return str(var.aval.str_short(short_dtypes=True)).replace(",", ", ")


def bytes_of(var: Any) -> int:
    """The bytes of a value; 0 for a token, which only orders effects."""
    return int(var.aval.size) * int(var.aval.dtype.itemsize) if hasattr(var.aval, "dtype") else 0


def operand(x: Any, env: Env) -> Entry:
    """The entry of a variable, or of a number written in the jaxpr."""
    if isinstance(x, Literal):
        return Entry("constant", "", "", "", x, value=format_array(np.asarray(x.val)), path=None)
    return env[x]


def facts_of(eqn: Any) -> tuple[str, ...]:
    """The parameters of an equation, without long ones, functions and jaxprs."""
    found = ((key, str(x)) for key, x in eqn.params.items() if key not in IN_SPEC and not callable(x))
    return tuple(f"{key} {text}" for key, text in found if text not in UNSAID and len(text) <= LONGEST)


def place_of(eqn: Any) -> str:
    """The user's line that an equation comes from."""
    found = PLACE.match(summarize(eqn.source_info))
    return "" if found is None or found[1] == __file__ else line_of(Place(found[1], int(found[2]), found[3]))
