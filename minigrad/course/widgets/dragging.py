"""A graph of Values as a program that the browser evaluates: each operation and its derivatives, as nested lists.

The lists are parsed from the formulas that pictures show, such as "1 − {y}²" (draw/scalars.py), so no rule is written
twice. gradient_descent.py does the same for a graph of nodes. This module must not import NumPy: a browser may lack it.
"""

from __future__ import annotations

import ast
from typing import Any

from ...draw.picture import Box, Picture
from ...draw.scalars import POWER, rules
from ...draw.words import format_op, number
from ...scalar.value import Value, history

PYTHON = str.maketrans({"×": "*", "÷": "/", "−": "-", "^": "**", "²": "**2"})
SPELT = {  # the operations that dragging.js, or JavaScript's Math, implements
    *["Add", "Sub", "Mult", "Div", "Pow", "USub", "Gt", "GtE", "Lt", "LtE", "Invert", "IfExp", "relu", "where"],
    *["invert", "kept", "equal", "maximum", "minimum", "exp", "expm1", "log", "log1p", "tanh", "sqrt", "sin", "cos"],
    *["abs", "sign"],
}
MOST = 8  # the most sliders


def scalar_program(y: object, picture: Picture) -> list[dict[str, Any]]:
    """The nodes of y's graph, operands first; [] if a browser cannot evaluate a node, or for over 8 leaves."""
    if not isinstance(y, Value) or sum(box.kind == "leaf" for box in picture.boxes) > MOST:
        return []
    order = dict(zip(picture.boxes, history(y), strict=True))
    if not all(is_spelt(v) for v in order.values()):
        return []
    return [record(v, box, picture) for box, v in order.items()]


def record(v: Value, box: Box, picture: Picture) -> dict[str, Any]:
    if not v.parents:
        return {"id": box.id, "value": v.data, "drags": box.kind == "leaf"}
    arrows = picture.arrows_into[box.id]
    return {"id": box.id, "of": [a.tail for a in arrows], "arrows": [a.id for a in arrows], "trees": trees(v)}


def trees(v: Value) -> list[Any]:
    """The formula of v, and of its derivative with respect to each operand."""
    words = (format_op(v.op, ["a", "b"][: len(v.parents)]), *rules(v.op))
    return [tree(each.format(a="a", b="b", y="y")) for each in words]


def is_spelt(v: Value) -> bool:
    """Whether a browser can evaluate v: a leaf, or an operation whose formulas are exact and use only SPELT."""
    if not v.parents:
        return True
    return len(rules(v.op)) == len(v.parents) and is_exact(v.op) and all(tree_ops(each) <= SPELT for each in trees(v))


def is_exact(op: str) -> bool:
    """Whether the formula shows an op's exponent with all its digits; True for an op without exponent."""
    power = POWER.fullmatch(op)
    return power is None or all(float(number(p).replace("−", "-")) == p for p in (float(power[1]), float(power[1]) - 1))


def tree(words: str) -> Any:
    """A formula as nested lists: 1 − y² → ["Sub", 1, ["Pow", "y", 2]]"""
    return ast_to_lists(ast.parse(words.translate(PYTHON), mode="eval").body)


def ast_to_lists(node: ast.AST) -> Any:
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(id):
            return id
        case ast.BinOp(left, op, right) | ast.Compare(left, [op], [right]):
            return [type(op).__name__, ast_to_lists(left), ast_to_lists(right)]
        case ast.UnaryOp(op, x):
            return [type(op).__name__, ast_to_lists(x)]
        case ast.IfExp(test, yes, no):
            return ["IfExp", ast_to_lists(test), ast_to_lists(yes), ast_to_lists(no)]
        case ast.Call(ast.Name(f) | ast.Attribute(ast.Name("xp"), f), xs):
            return [f, *map(ast_to_lists, xs)]
    return ["?"]


def tree_ops(each: Any) -> set[str]:
    """The operations in a tree."""
    return {each[0]}.union(*map(tree_ops, each[1:])) if isinstance(each, list) else set()
