"""A compiled program that tells of each of its steps, which are the steps that run without it.

Its own text is run, with a word behind each line that belongs to a node. The lines of one node are one step; of a
branch or a loop there is one step for the whole, and steps inside. Arithmetic is what it was, to the last bit; the
memory it works in is a workspace of its own, for as long as the profiler is open.

    def program(x0, x1):
        start()
        dot(x0, x1, b0)
        mark(0)
        tanh(b0, b0)
        mark(1)

On a GPU a first call tells of each node, and waits for the device after it; from the third on a call is a few
recordings, of which each is a step.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from time import perf_counter_ns as clock
from typing import Any, NamedTuple

from ..backends.cuda.replay import NodeRunner, Replay
from ..compiler.program.program import Program
from ..core.node import Node

Timed = Callable[..., tuple[Any, ...]]
Tell = Callable[[int, int, "Line"], None]  # end, beginning, of what


class Line(NamedTuple):
    """A step of a program.

    name       what it is called, if it is not one node's op
    counted    those of its nodes whose operations no other step counts
    """

    nodes: tuple[Node, ...]
    name: str = ""
    counted: tuple[Node, ...] = ()


def timed(program: Any, tell: Tell) -> Timed:
    """The program, telling of its steps; itself where it has none."""
    if isinstance(program, Program):
        return marked(program, tell)
    return TimedReplay(program, tell) if isinstance(program, Replay) else program


# -- on the CPU ----------------------------------------------------------------------------------------


def marked(program: Program, tell: Tell) -> Program:
    """The same program, its text with marks in it."""
    text = ast.parse(program.source)
    body = next(f for f in text.body if isinstance(f, ast.FunctionDef) and f.name == "program")
    marks = Marks(tell, program.text.nodes, {part.name: part for part in getattr(program, "parts", ())})
    marks.counted.update(
        marks.nodes[line] for s in ast.walk(body) if holds(s) and (line := getattr(s, "lineno", 0)) in marks.nodes
    )
    body.body = [*called("start"), *marks.put(body.body)]
    twin = copy(program)
    twin.idle = []
    twin.code = compile(ast.fix_missing_locations(text), "<profiled program>", "exec")
    words = {"start": marks.start, "mark": marks.mark, "enter": marks.enter, "leave": marks.leave}
    twin.text = replace(program.text, scope=program.text.scope | words)
    return twin


class Marks:
    """The marks of a program, and what they tell.

    nodes    line of the text → the node it is part of
    parts    function of C++ → what it does
    counted  nodes whose operations a step counts, or the steps inside: those of branches and loops
    """

    def __init__(self, tell: Tell, nodes: dict[int, Node], parts: dict[str, Any]):
        self.tell, self.nodes, self.parts = tell, nodes, parts
        self.lines: list[Line] = []
        self.counted: set[Node] = set()
        self.last = 0
        self.inside: list[int] = []

    def put(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements with a mark behind the last of each node, and around those that hold others."""
        out: list[ast.stmt] = []
        for statement, after in zip(statements, [*statements[1:], None]):
            node = self.nodes.get(statement.lineno)
            if isinstance(statement, ast.With | ast.If | ast.For | ast.While):
                statement.body = self.put(statement.body)
                if not isinstance(statement, ast.With):
                    statement.orelse = self.put(statement.orelse)
                around = [] if node is None else called("leave", self.line((node,)))
                out += [*(called("enter") if around else ()), statement, *around]
                continue
            out.append(statement)
            if node is not None and (after is None or self.nodes.get(after.lineno) is not node or holds(after)):
                part = self.parts.get(callee(statement))
                nodes, name = ((node,), "") if part is None else (part.nodes, f"{part.name} ({part.steps} in C)")
                out += called("mark", self.line(nodes, name))
        return out

    def line(self, nodes: tuple[Node, ...], name: str = "") -> int:
        """The number of one more line."""
        new = tuple(node for node in nodes if node not in self.counted)
        self.counted.update(new)
        self.lines.append(Line(nodes, name, new))
        return len(self.lines) - 1

    def start(self) -> None:
        self.last = clock()

    def mark(self, number: int) -> None:
        now = clock()
        self.tell(now, self.last, self.lines[number])
        self.last = now

    def enter(self) -> None:
        self.last = clock()
        self.inside.append(self.last)

    def leave(self, number: int) -> None:
        self.last = clock()
        self.tell(self.last, self.inside.pop(), self.lines[number])


def called(name: str, *numbers: int) -> list[ast.stmt]:
    """The line that calls a function of that name."""
    return ast.parse(f"{name}({', '.join(map(str, numbers))})").body


def holds(statement: Any) -> bool:
    """Whether a statement holds others."""
    return isinstance(statement, ast.With | ast.If | ast.For | ast.While)


def callee(statement: ast.stmt) -> str:
    """The function that a line calls, if it is nothing but a call."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name
    return ""


# -- on a GPU ------------------------------------------------------------------------------------------


class TimedReplay:
    """A program of a GPU: of a plain run each node, of a recorded one each part."""

    def __init__(self, program: Replay, tell: Tell):
        self.program, self.tell = program, tell

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        program = self.program
        state = program.idle[-1] if program.idle else None
        if state is None:
            twin = copy(program)
            twin.steps = TimedNodes(program.steps, self.waited)
            ys = twin(*arrays)
            for left in twin.idle:
                left.program = program
            return ys
        plain = state.recorded
        state.recorded = told = [self.part(run, nodes) for run, (_, nodes) in zip(plain, program.parts)]
        try:
            return program(*arrays)
        finally:
            if state.recorded is told:
                state.recorded = plain

    def part(self, run: Callable[[], None], nodes: Sequence[Node]) -> Callable[[], None]:
        line = Line(tuple(nodes), f"replay of {len(nodes)} nodes", tuple(nodes))
        return lambda: self.waited(run, line)

    def waited(self, run: Callable[[], Any], line: Line) -> Any:
        """What run() gives, once the device has done it; told as that line."""
        start = clock()
        y = run()
        self.program.machine.wait()
        self.tell(clock(), start, line)
        return y


class TimedNodes(NodeRunner):
    """Runs nodes, and tells of each."""

    def __init__(self, steps: NodeRunner, waited: Callable[[Callable[[], Any], Line], Any]):
        super().__init__(steps.machine, steps.device)
        self.kernels, self.waited = steps.kernels, waited

    def call(self, node: Node, *given: Any) -> Any:
        return self.waited(lambda: NodeRunner.call(self, node, *given), Line((node,), "", (node,)))

    def product(self, node: Node, *given: Any) -> None:
        self.waited(lambda: NodeRunner.product(self, node, *given), Line((node,), "", (node,)))

    def kernel(self, node: Node, *given: Any) -> None:
        self.waited(lambda: NodeRunner.kernel(self, node, *given), Line((node,), "", (node,)))
