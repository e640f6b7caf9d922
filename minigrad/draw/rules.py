"""Derivative rules in words, read off the op table: nothing is said here that an op does not say itself.

An op's rule is run on symbols that bear the learner's names; what it wrote down is then spelled out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from ..engine.core.graph import Graph
from ..engine.core.node import Node
from ..engine.core.op import Elementwise, Op
from ..engine.ops import Const, Input
from ..engine.tensor.rewrite import optimise
from ..engine.tensor.symbol import Symbol, placeholder
from .words import number, written

ARRIVING = "g"  # the gradient that arrives at the result
TIGHTNESS = {
    **dict.fromkeys(("=", "≠", ">", "≥", "<", "≤"), 0),
    "+": 1,
    "−": 1,
    "×": 2,
    "÷": 2,
    "@": 2,
    "neg": 3,
}  # of operators, as in school; anything else is a function
TIGHTEST = 9


@dataclass(frozen=True)
class Rule:
    """A derivative towards one operand.

    text        "" where there is none
    is_whole    False: the local derivative, by which the arriving gradient is multiplied, as y for x × y;
                True: all that is done to the arriving gradient g, as g @ yᵀ for x @ y
    """

    text: str
    is_whole: bool


def rules_of(node: Node, names: list[str]) -> list[Rule]:
    """The derivative of a recorded op towards each operand.

    names    of the result and of each operand
    """
    op = node.op
    y, *xs = (placeholder(name, n.spec) for name, n in zip(names, (node, *node.inputs), strict=True))
    whole = op.vjp(placeholder(ARRIVING, node.spec), y, *xs)
    if not isinstance(op, Elementwise):
        return [Rule(text_of(gx), True) for gx in whole]
    # Where an operand was broadcast, its gradient is a product and a sum: then too the whole rule is shown.
    return [
        Rule(text_of(p), False) if x.shape == y.shape else Rule(text_of(gx), True)
        for x, p, gx in zip(xs, op.partials(y, *xs), whole, strict=True)
    ]


@singledispatch
def text_of(rule: Any) -> str:
    """A rule's result in words: a symbol's formula, a number, or nothing."""
    return "" if rule is None else number(rule)


@text_of.register
def _(rule: Symbol) -> str:
    (simplest,) = optimise(Graph((), (rule.node,))).outputs
    assert simplest is not None
    return formula(simplest)


def formula(node: Node) -> str:
    """What a node computes, written out down to the placeholders."""
    match node.op:
        case Input(name):
            return name
        case Const(value):
            return number(value)
    sign = sign_of(node.op)
    return written(sign, [bracketed(x, sign, position) for position, x in enumerate(node.inputs)])


def bracketed(x: Node, sign: str, position: int) -> str:
    """The formula of an operand, in brackets where it would fall apart without them."""
    inner = TIGHTNESS.get(sign_of(x.op), TIGHTEST) if x.inputs else TIGHTEST
    outer = TIGHTNESS.get(sign, TIGHTEST if sign.startswith("^") or sign == "transpose" else 0)
    apart = inner < outer or (inner == outer and position > 0 and sign in ("−", "÷"))
    return f"({formula(x)})" if apart else formula(x)


def sign_of(op: Op) -> str:
    """The sign that stands for an op in drawings."""
    return op.label
