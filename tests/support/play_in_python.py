"""What minigrad makes of a text of the book's playground: the judge of its JavaScript."""

from __future__ import annotations

import ast
import warnings
from typing import Any

import numpy as np

import minigrad as mg

FUNCTIONS = ("sin", "cos", "tanh", "exp", "log", "relu", "sqrt", "sum", "mean", "dot")


class AsTensors(ast.NodeTransformer):
    """Makes constants tensors, and in a static graph each `if` a where() of both branches."""

    def __init__(self, is_static: bool):
        self.is_static = is_static

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.parse(f"tensor({node.value!r})", mode="eval").body

    def visit_List(self, node: ast.List) -> ast.AST:
        return ast.parse(f"tensor({ast.unparse(node)})", mode="eval").body

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if not self.is_static:
            return node
        return ast.Call(ast.Name("where", ast.Load()), [node.test, node.body, node.orelse], [])


def is_leaf(statement: ast.stmt) -> bool:
    """Whether this statement names a number or a list."""
    try:
        return isinstance(statement, ast.Assign) and ast.literal_eval(statement.value) is not None
    except ValueError:
        return False


def run_in_python(text: str, given: dict[str, Any], is_static: bool) -> dict[str, Any]:
    """The value of the last statement, and the gradient of each leaf by name: None if it gets none."""

    def tensor(value: Any) -> mg.Tensor:
        return mg.tensor(value, dtype=mg.float64)

    def leaf(value: Any) -> mg.Tensor:
        return mg.tensor(value, dtype=mg.float64, requires_grad=True)

    statements = ast.parse(text).body
    leaves = {name: leaf(value) for name, value in given.items()}
    scope = {name: getattr(mg, name) for name in FUNCTIONS} | {"where": mg.where, "tensor": tensor, **leaves}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for statement in statements:
            if is_leaf(statement):
                name = statement.targets[0].id
                result = leaves[name] = scope[name] = leaf(ast.literal_eval(statement.value))
                continue
            expression = ast.fix_missing_locations(AsTensors(is_static).visit(ast.Expression(statement.value)))
            result = eval(compile(expression, "text", "eval"), scope)
            if isinstance(statement, ast.Assign):
                scope[statement.targets[0].id] = result
        if result.requires_grad and result.ndim == 0:
            result.backward()
    grads = {name: None if one.grad is None else one.grad.tolist() for name, one in leaves.items()}
    return {"value": result.tolist(), "grads": grads}
