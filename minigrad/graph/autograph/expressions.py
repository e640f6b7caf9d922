"""Convert expressions that choose what to evaluate to calls of operators, which decide when they see the values.

    a and b            ag.and_(a, lambda: b)
    not a              ag.not_(a)
    a if c else b      ag.if_expression(c, lambda: a, lambda: b)
    a < b < c          ag.compare(a, '<', lambda: b, '<', lambda: c)
    [… if c]           [… if ag.filter_(c)]                           an error, with advice, if c is a tensor
    f(x)               ag.call(f)(x)                                   f is converted too, when it is called
    y                  ag.defined(y)                                   if y may have no value

Operands are wrapped in lambdas, so that only those that Python would evaluate are evaluated.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from .jumps import at
from .operators import REPLACED
from .scopes import SPECIAL, Names, arguments, is_engine, is_foreign

SIGNS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


class Expressions(ast.NodeTransformer):
    """Rewrites expressions, in the order in which they are evaluated.

    ag         the name of the operators' namespace in the generated code
    outer      the globals of the function: name → value
    own        the names that are not global
    local      names of this function, and of functions around it, that may have no value
    defined    the local names that certainly have a value at this point
    result     the variable that holds the return value, if there is one; only the last line reads it
    """

    def __init__(self, ag: str, outer: dict[str, Any], own: set[str]):
        self.ag, self.outer, self.own = ag, outer, own
        self.local: set[str] = set()
        self.defined: Names = frozenset()
        self.result: str | None = None
        self.first_argument: str | None = None

    def operator(self, name: str, *args: ast.expr, like: ast.AST) -> ast.Call:
        """ag.name(*args)"""
        function = ast.Attribute(ast.Name(self.ag, ast.Load()), name, ast.Load())
        call = ast.Call(function, list(args), [])
        for node in (call, function, function.value):
            ast.copy_location(node, like)
        return call

    def later(self, value: ast.expr) -> ast.expr:
        """lambda: value"""
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.copy_location(ast.Lambda(nothing, self.visit(value)), value)

    # -- boolean and conditional expressions ----------------------------------------------------------

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        if assigns(node):
            return self.generic_visit(node)
        first, *rest = node.values
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return self.operator(name, self.visit(first), *map(self.later, rest), like=node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        return self.operator("not_", node.operand, like=node) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        if assigns(node):
            return self.generic_visit(node)
        test = self.visit(node.test)
        return self.operator("if_expression", test, self.later(node.body), self.later(node.orelse), like=node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        first, *more = node.ops
        of_none = any(isinstance(x, ast.Constant) and x.value is None for x in (node.left, *node.comparators))
        asked = ast.In | ast.NotIn if of_none else ast.In | ast.NotIn | ast.Is | ast.IsNot
        if not (more or isinstance(first, asked)) or assigns(node):
            return self.generic_visit(node)
        args = [self.visit(node.left)]
        for sign, right in zip(node.ops, node.comparators):
            args += [ast.copy_location(ast.Constant(SIGNS[type(sign)]), right), self.later(right)]
        return self.operator("compare", *args, like=node)

    def visit_Assert(self, node: ast.Assert) -> Any:
        says = [] if node.msg is None else [self.later(node.msg)]
        return ast.copy_location(ast.Expr(self.operator("assert_", self.visit(node.test), *says, like=node)), node)

    # -- calls ----------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> Any:
        function = node.func
        if isinstance(function, ast.Name) and function.id == "super" and not node.args and self.first_argument:
            # super() looks for self in the running function, which may be a generated function for a branch.
            given = ast.parse(f"super(__class__, {self.first_argument})", mode="eval").body
            return at([given], node)[0]
        self.generic_visit(node)
        named = self.resolve_function(function)
        if self.is_builtin(function):
            if function.id in ("map", "filter"):  # type: ignore[attr-defined]
                node.args[:1] = map(self.convert_argument, node.args[:1])
        elif is_left_alone(named):
            node.args = [self.convert_argument(arg) if is_engine(named) else arg for arg in node.args]
        elif not isinstance(function, ast.Lambda):
            node.func = self.operator("call", node.func, like=function)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        is_class = node.attr == "__class__" and isinstance(node.ctx, ast.Load)
        return self.operator("class_of", node.value, like=node) if is_class else node

    def is_builtin(self, function: ast.expr) -> bool:
        """Whether the function called is a Python builtin that needs no replacement for tensors."""
        if not isinstance(function, ast.Name) or function.id in self.own or function.id in self.outer:
            return False
        return hasattr(builtins, function.id) and function.id not in SPECIAL

    def resolve_function(self, function: ast.expr) -> Any:
        """The function that `module.name` or a global name refers to; None if it is not known before the call."""
        path = []
        while isinstance(function, ast.Attribute):
            path.append(function.attr)
            function = function.value
        if not isinstance(function, ast.Name) or function.id in self.own:
            return None
        value = self.outer.get(function.id)
        while path and isinstance(value, ModuleType):
            value = getattr(value, path.pop(), None)
        return value if not path and isinstance(value, FunctionType | BuiltinFunctionType | type) else None

    def convert_argument(self, arg: ast.expr) -> ast.expr:
        """Convert a user's function that is passed to a function of minigrad, as in `mg.func.grad(loss)`."""
        if not isinstance(arg, ast.Name) or arg.id in self.own:
            return arg
        is_special = arg.id in SPECIAL and arg.id not in self.outer
        return self.operator("call", arg, like=arg) if is_special or not is_foreign(self.outer.get(arg.id)) else arg

    # -- names ----------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> Any:
        if isinstance(node.ctx, ast.Load) and node.id in self.local - self.defined - {self.result}:
            return self.operator("defined", node, like=node)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        node.value = self.visit(node.value)
        self.defined |= {node.target.id}
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        node.args = self.visit(node.args)
        with self.knowing(set(arguments(node))):
            node.body = self.visit(node.body)
        return node

    def comprehension(self, node: Any) -> Any:
        with self.knowing(set()):
            for part in node.generators:
                part.iter = self.visit(part.iter)
                self.defined |= {name.id for name in ast.walk(part.target) if isinstance(name, ast.Name)}
                part.ifs = [self.operator("filter_", self.visit(test), like=test) for test in part.ifs]
            for field in ("key", "value", "elt"):
                if hasattr(node, field):
                    setattr(node, field, self.visit(getattr(node, field)))
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension

    @contextmanager
    def knowing(self, names: set[str]) -> Iterator[None]:
        """A block in which these names have values, too."""
        before = self.defined
        self.defined = before | names
        yield
        self.defined = before


def is_left_alone(named: Any) -> bool:
    """Whether a known function is called without conversion."""
    is_special = named in REPLACED or hasattr(named, "dispatch")  # made by functools.singledispatch
    return named is not None and is_foreign(named) and named.__module__ != "math" and not is_special


def assigns(node: ast.AST) -> bool:
    """Whether the expression binds a name by `:=`. In a lambda, the name would be local to the lambda."""
    return any(isinstance(part, ast.NamedExpr) for part in ast.walk(node))
