"""Lessons 08 to 11 read names with one network, and say of its function that it has not changed: so it has not."""

from __future__ import annotations

import ast

from tests.support.root import ROOT

LESSONS = ROOT / "lessons" / "source"


def lines_of(function: ast.FunctionDef) -> list[str]:
    """What it says, without its docstring."""
    said = [*map(ast.unparse, function.body)]
    return [ast.unparse(function.args), *said[ast.get_docstring(function) is not None :]]


def test_the_function_that_reads_names_is_the_same_in_each_lesson_that_has_it():
    found = {}
    for path in sorted(LESSONS.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name == "scores":
                found[path.stem[:2]] = lines_of(node)

    assert {"08", "10", "11"} <= found.keys()
    assert all(each == found["08"] for each in found.values())
