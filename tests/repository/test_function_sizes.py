"""No function is longer than 40 lines or has more than 12 branches, in Python or in JavaScript.

A branch is an if, a loop, an except, a case, a conditional expression or a comprehension. Decision 046 has the
exceptions.
"""

import ast

import pytest
import tree_sitter
import tree_sitter_javascript

from tests.support.root import ROOT

LINES, BRANCHES = 40, 12
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
NESTED = FUNCTIONS | ast.ClassDef | ast.Lambda
BRANCH = (
    ast.If | ast.IfExp | ast.For | ast.AsyncFor | ast.While | ast.ExceptHandler | ast.match_case | ast.comprehension
)
JS_FUNCTIONS = {"function_declaration", "function_expression", "arrow_function", "method_definition"}
JS_BRANCHES = {
    *("if_statement", "for_statement", "for_in_statement", "while_statement", "do_statement", "switch_case"),
    *("catch_clause", "ternary_expression"),
}
EXCEPTIONS = {
    "draw/scalars.py picture_in_groups", "engine/methods/reduction.py quantile", "files/saving/graphs.py special",
    "graph/backends/native/writer.py function", "graph/contents.py contents", "graph/contents.py state_of",
    "graph/guards.py change", "graph/guards.py observe", "graph/subgraph.py gradients",
}  # fmt: skip


def own(node, children, is_nested):
    """The nodes below a function that are not in a function or class inside it."""
    for child in children(node):
        if not is_nested(child):
            yield child
            yield from own(child, children, is_nested)


def python_functions(text):
    """(name, lines, branches) of each function of a source."""
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, FUNCTIONS):
            inside = own(function, ast.iter_child_nodes, lambda node: isinstance(node, NESTED))
            branches = sum(isinstance(node, BRANCH) for node in inside)
            yield function.name, function.end_lineno - function.lineno + 1, branches


def javascript_functions(text):
    """(name or first line, lines, branches) of each function of a source."""
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_javascript.language()))
    nodes = [parser.parse(text.encode()).root_node]
    for node in nodes:  # which grows
        nodes += node.children
        if node.type in JS_FUNCTIONS:
            inside = own(node, lambda child: child.children, lambda child: child.type in JS_FUNCTIONS)
            name = node.child_by_field_name("name")
            at = f"line {node.start_point.row + 1}" if name is None else name.text.decode()
            yield at, node.end_point.row - node.start_point.row + 1, sum(child.type in JS_BRANCHES for child in inside)


def large_functions(suffix, functions):
    for path in sorted((ROOT / "minigrad").rglob(f"*{suffix}")):
        if "_course" not in path.parts:
            for name, lines, branches in functions(path.read_text("utf-8")):
                if lines > LINES or branches > BRANCHES:
                    yield (
                        f"{path.relative_to(ROOT / 'minigrad').as_posix()} {name}",
                        f"{lines} lines, {branches} branches",
                    )


@pytest.mark.parametrize(("suffix", "functions"), [(".py", python_functions), (".js", javascript_functions)])
def test_a_function_is_one_screen(suffix, functions):
    large = dict(large_functions(suffix, functions))

    assert not large.keys() - EXCEPTIONS, {name: large[name] for name in large.keys() - EXCEPTIONS}
    exceptions = {name for name in EXCEPTIONS if f"{suffix} " in name}
    assert exceptions <= large.keys(), "an exception that is none: take it out"


def test_what_is_counted():
    python = "def f(x):\n    def g(): return 1 if x else 2\n    return [y for y in x] if x else g()\n"
    javascript = "function f(x) {\n  const g = () => {\n    return x ? 1 : 2;\n  };\n  if (x) return g;\n}\n"

    assert list(python_functions(python)) == [("f", 3, 2), ("g", 1, 1)]
    assert list(javascript_functions(javascript)) == [("f", 6, 1), ("line 2", 3, 1)]
