"""Graphs of JAX: a function that is called with arguments, a jaxpr, a stage of jit. The text of HLO: hlo.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jax.stages import Compiled, Lowered, Traced

from ..listing import Listing
from ..picture import GraphRun
from . import hlo, name_of
from .jax_run import run_of
from .jaxpr import array_names, is_jaxpr, jaxpr_of, listing_of_jaxpr


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
    """The forward and backward pass of f(*args).

    Raises NoGradientError if jax.grad would fail, ValueError for more than `most` equations.
    """
    return run_of(f, args, names, most).replay()
