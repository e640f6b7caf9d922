"""Compiled programs that report each of their steps; the steps themselves do not change.

The program's own text runs, with a mark after the last line of each node, and one after each whole branch or loop.
Its results are the same to the last bit. It has its own workspace, which lives for as long as the profiler is open.

    def program(x0, x1):
        since = clock()
        dot(x0, x1, b0)
        since = mark(0, since)
        tanh(b0, b0)
        since = mark(1, since)

On a GPU, the first call reports each node, and waits for the device after each node. From the third call on, a program
replays a few recordings, and each recording is a step.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cache
from itertools import pairwise
from time import perf_counter_ns as clock
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

from ..engine.core.node import Node
from ..graph.backends.cuda.replay import Replay
from ..graph.compiler.program.program import Program
from .events import FunctionEvent, step

Timed = Callable[..., tuple[Any, ...]]
Tell = Callable[[int, int, FunctionEvent], None]  # end, start, event
COMPOUND = ast.If | ast.For | ast.While


def time_steps(program: Any, tell: Tell) -> Timed:
    """The program, instrumented to report its steps; unchanged if it has none."""
    if isinstance(program, Program):
        return instrument(program, tell)
    return TimedReplay(program, tell) if isinstance(program, Replay) else program


# -- on the CPU ------------------------------------------------------------------------------------------------


MARKED: WeakKeyDictionary[Program, tuple[CodeType, list[FunctionEvent]]] = WeakKeyDictionary()  # a cache


def instrument(program: Program, tell: Tell) -> Program:
    """A copy of the program, with marks in its text."""
    if program not in MARKED:
        MARKED[program] = with_marks(program)
    code, steps = MARKED[program]

    def mark(number: int, since: int) -> int:
        now = clock()
        tell(now, since, steps[number])
        return now

    twin = copy(program)
    twin.idle, twin.code = [], code
    twin.text = replace(program.text, scope=program.text.scope | {"clock": clock, "mark": mark})
    return twin


def with_marks(program: Program) -> tuple[CodeType, list[FunctionEvent]]:
    """The program's text with marks in it, and the event that each mark reports."""
    text = ast.parse(program.source)
    body = next(f for f in text.body if isinstance(f, ast.FunctionDef) and f.name == "program")
    marks = Marks(program)
    body.body = [*lines("since = clock()"), *marks.put(body.body)]
    return compile(text, "<profiled program>", "exec"), marks.steps


class Marks:
    """Puts marks into a program's text.

    nodes      line of the text → its node
    last       the last of each node's successive lines; lines without a node may stand between these
    parts      name of a C++ function → the part of the program that it computes
    steps      the event that each mark reports
    counted    nodes whose FLOPs a step counts
    alone      nodes that have a step of their own
    """

    def __init__(self, program: Program):
        self.nodes = program.text.nodes
        self.last = {line for (line, node), (_, after) in pairwise([*self.nodes.items(), (0, None)]) if node != after}
        self.parts = {part.name: part for part in getattr(program, "parts", ())}
        self.steps: list[FunctionEvent] = []
        self.counted: set[Node] = set()
        self.alone: set[Node] = set()

    def put(self, statements: Sequence[ast.stmt], depth: int = 0) -> list[ast.stmt]:
        """The statements with marks. The mark of a branch or loop measures from its start."""
        out: list[ast.stmt] = []
        for statement in statements:
            node, compound = self.nodes.get(statement.lineno), isinstance(statement, COMPOUND)
            for inside in ("body", "orelse"):
                if found := getattr(statement, inside, []):
                    setattr(statement, inside, self.put(found, depth + compound))
            if node is None or not (compound or statement.lineno in self.last):
                out.append(statement)
            elif compound:
                out += [*lines(f"since{depth} = since"), statement, *self.mark(statement, node, f"since{depth}")]
            else:
                out += [statement, *self.mark(statement, node, "since")]
        return out

    def mark(self, statement: ast.stmt, node: Node, since: str) -> list[ast.stmt]:
        """The mark after a statement of the node."""
        part = self.parts.get(callee(statement))
        nodes, name = ((node,), "") if part is None else (part.nodes, f"{part.name} ({part.steps} in C)")
        self.steps.append(step(nodes, [n for n in nodes if n not in self.counted], name))
        if part is None:  # the node's lines before and after a part in C count as one call
            self.steps[-1].count = int(node not in self.alone)
            self.alone.add(node)
        self.counted.update(nodes)
        return lines(f"since = mark({len(self.steps) - 1}, {since})")


def lines(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def callee(statement: ast.stmt) -> str:
    """The function that a line calls, if the line is only a call; else ""."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name
    return ""


# -- on a GPU --------------------------------------------------------------------------------------------------


class TimedReplay(Replay):
    """A GPU program that shares the state of `program`, and waits for the GPU after each step."""

    def __init__(self, program: Replay, tell: Tell):
        vars(self).update(vars(program))
        self.tell = tell
        self.told = cache(lambda *nodes: step(nodes, nodes, f"replay of {len(nodes)} nodes" * (len(nodes) > 1)))

    def step(self, nodes: Sequence[Node], run: Callable[..., None], *given: Node) -> None:
        start = clock()
        run(*given)
        self.machine.wait()
        self.tell(clock(), start, self.told(*nodes))
