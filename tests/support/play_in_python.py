"""What minigrad makes of a text of the book's playground: the judge of its JavaScript."""

from __future__ import annotations

import ast
import warnings
from typing import Any

import numpy as np

import minigrad as mg

FUNCTIONS = ("sin", "cos", "tanh", "exp", "log", "relu", "sqrt", "sum", "mean", "dot", "where")


class AsTensors(ast.NodeTransformer):
    """Makes constants tensors, and in a static graph each `if` a where() of both branches."""

    def __init__(self, is_static: bool):
        self.is_static = is_static

    def visit_Constant(self, node: ast.expr) -> ast.AST:
        return ast.parse(f"tensor({ast.unparse(node)})", mode="eval").body

    visit_List = visit_Constant

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        choice = ast.Call(ast.Name("where", ast.Load()), [node.test, node.body, node.orelse], [])
        return choice if self.is_static else node


@np.errstate(all="ignore")
def run_in_python(text: str, given: dict[str, Any], is_static: bool) -> dict[str, Any]:
    """The value of the last statement, and the gradient of each leaf by name: None if it gets none."""

    def tensor(value: Any, requires_grad: bool = False) -> mg.Tensor:
        return mg.tensor(value, dtype=mg.float64, requires_grad=requires_grad)

    leaves = {name: tensor(value, True) for name, value in given.items()}
    scope = {name: getattr(mg, name) for name in FUNCTIONS} | {"tensor": tensor, **leaves}
    for statement in ast.parse(text).body:
        name = statement.targets[0].id if isinstance(statement, ast.Assign) else ""
        try:
            result = tensor(ast.literal_eval(statement.value), True)
            leaves |= {name: result} if name else {}
        except ValueError:  # no number and no list
            expression = ast.fix_missing_locations(AsTensors(is_static).visit(ast.Expression(statement.value)))
            with warnings.catch_warnings(action="ignore"):
                result = eval(compile(expression, "text", "eval"), scope)
        scope[name] = result
    if result.requires_grad and result.ndim == 0:
        with warnings.catch_warnings(action="ignore"):
            result.backward()
    grads = {name: None if one.grad is None else one.grad.tolist() for name, one in leaves.items()}
    return {"value": result.tolist(), "grads": grads}
