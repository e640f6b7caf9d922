"""Derivative rules in words, taken from the op table: this module has no rules of its own.

An op's vjp runs on symbols with the learner's names; the graph that it builds is then written as a formula.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from ..engine.core.graph import Graph
from ..engine.core.node import Node
from ..engine.core.op import Elementwise, Op
from ..engine.ops import BroadcastTo, Const, Input, Reshape, Sum
from ..engine.tensor.rewrite import optimise
from ..engine.tensor.symbol import Symbol, placeholder
from .words import format_op, join_names, number

ARRIVING = "g"  # the gradient that arrives at the result
LINES = "row", "column"  # what one index along axis 0 or axis 1 of a matrix selects
TIGHTNESS = {  # precedence of operators, as in school; any other op is a function
    "=": 0, "≠": 0, ">": 0, "≥": 0, "<": 0, "≤": 0, "+": 1, "−": 1, "×": 2, "÷": 2, "@": 2, "neg": 3,
}  # fmt: skip
TIGHTEST = 9


@dataclass(frozen=True)
class Rule:
    """A derivative with respect to one operand.

    text        "" if the derivative does not exist
    is_whole    False: `text` is the local derivative, to be multiplied by the arriving gradient, as y for x × y;
                True: `text` is the whole formula with the arriving gradient g, as g @ yᵀ for x @ y
    """

    text: str
    is_whole: bool


def rules_of(node: Node, names: list[str]) -> list[Rule]:
    """The derivatives of a recorded op with respect to each operand.

    names    of the result and of each operand
    """
    op = node.op
    y, *xs = (placeholder(name, n.spec) for name, n in zip(names, (node, *node.inputs), strict=True))
    whole = op.vjp(placeholder(ARRIVING, node.spec), y, *xs)
    if not isinstance(op, Elementwise):
        return [Rule(text_of(gx), True) for gx in whole]
    # The gradient of a broadcast operand is also summed, so the whole formula is shown.
    triples = zip(xs, op.partials(y, *xs), whole, strict=True)
    return [Rule(text_of(p), False) if x.shape == y.shape else Rule(text_of(gx), True) for x, p, gx in triples]


def rules_like(
    method: Callable[..., Any], xs: Sequence[Any], names: Sequence[str], shape: Sequence[int]
) -> tuple[Node, str, list[Rule]]:
    """The node that a method of minigrad makes of symbols and numbers, its symbol, and its derivative for each operand.

    The symbol is "" if the node reads the operands in another order.
    names    of the result and of each operand
    shape    of the result

    Raises an error of any kind if minigrad has no such method, or one with other operands or without derivatives.
    """
    node = method(*xs).node
    assert node.spec.shape == tuple(shape)
    given = [getattr(x, "node", None) for x in xs]
    order = [given.index(x if x in given else None) for x in node.inputs]
    rules = rules_of(node, [names[0], *(names[1 + i] for i in order)])
    return node, sign_of(node.op) * (order == sorted(order)), [rules[order.index(i)] for i in range(len(xs))]


@singledispatch
def text_of(rule: Any) -> str:
    """A rule's result in words: a symbol's formula, a number, or nothing."""
    return "" if rule is None else number(rule)


@text_of.register
def _(rule: Symbol) -> str:
    (simplest,) = optimise(Graph((), (rule.node,))).outputs
    assert simplest is not None
    return in_words(simplest)


def in_words(node: Node) -> str:
    """A rule as a formula; a copy or a sum at its end is put into words: g ÷ 6 to each of 6, sum of g over rows."""
    last = node.inputs[0] if isinstance(node.op, Reshape) else node
    if not isinstance(last.op, BroadcastTo | Sum):
        return formula(node)
    x, whole = last.inputs[0].spec, last.spec
    words = formula(last.inputs[0]).replace(f"reshape({ARRIVING})", ARRIVING)
    if isinstance(last.op, Sum):
        along = [f"axis {a}" for a in last.op.axes] if x.ndim > 2 else [LINES[a] + "s" for a in last.op.axes]
        return f"sum of {words}" + f" over {join_names(along)}" * (len(along) < x.ndim)
    axes = [a for a, n in enumerate(whole.shape) if x.shape[a : a + 1] != (n,)] if x.ndim == whole.ndim == 2 else []
    return f"{words} to each {LINES[axes[0]] if len(axes) == 1 else f'of {whole.size // max(x.size, 1)}'}"


def formula(node: Node) -> str:
    """A node as a formula of the placeholders."""
    match node.op:
        case Input(name):
            return name
        case Const(value):
            return number(value)
    sign = sign_of(node.op)
    return format_op(sign, [parenthesize(x, sign, position) for position, x in enumerate(node.inputs)])


def parenthesize(x: Node, sign: str, position: int) -> str:
    """The formula of an operand, in brackets if precedence requires them."""
    inner = TIGHTNESS.get(sign_of(x.op), TIGHTEST) if x.inputs else TIGHTEST
    outer = TIGHTNESS.get(sign, TIGHTEST if sign.startswith("^") or sign == "transpose" else 0)
    apart = inner < outer or (inner == outer and position > 0 and sign in ("−", "÷"))
    return f"({formula(x)})" if apart else formula(x)


def sign_of(op: Op) -> str:
    """The symbol of an op in drawings."""
    return op.label
