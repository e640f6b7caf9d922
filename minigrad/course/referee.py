"""Referees: functions that decide about what probes send, and never meet the code that is judged.

A probe is cut where it compares. What needs the learner's names runs beside the learner's code, and gives plain data;
comparisons, `and`, `or`, `not` and referees run on that data, elsewhere: the grader runs them outside the sandbox, and
`check` in the notebook's process, on a scope of their own. So an answer that replaces `all`, `numpy.allclose` or a
part of the engine changes what is sent, and not what is made of it.

    def left(f):                   runs beside the learner's code, and gives numbers
        return count(f), values(f)

    @referee
    def left(sent, f):             runs outside: on what the other `left` has sent, and on the probe's arguments, if
        return ...                 it has parameters for them: `_` for one that uses the learner's names

    left(row(3))                   the probe: what the referee returns is its outcome
    [left(f) for f in some]        the referee is called on each
    len(traces()) <= 12            the length is sent, and compared outside

A referee is given whatever the learner's code has sent. If it raises an exception, that is the probe's outcome.
"""

from __future__ import annotations

import ast
import contextvars
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from types import CodeType
from typing import Any

from minigrad.course.probe import Odd, Outcome, Probe, parsed, plain

MARK = "referee"  # the decorator; it is only read, and never called
JOINS = (ast.Compare, ast.BoolOp, ast.Tuple, ast.List)  # in a probe, these are evaluated outside


@dataclass(frozen=True)
class Halves:
    """Probes, cut in two.

    inside    the text that runs beside the learner's code
    setup     the definitions of the referees, and what those need
    rules     for each probe, what makes its outcome of what was sent, and how many values those are; or None
    """

    inside: str
    setup: CodeType
    rules: tuple[tuple[CodeType, int] | None, ...]


@lru_cache(256)
def halves(probes: str) -> Halves:
    """The two halves of a text of probes. Each has those definitions that it needs, and no others."""
    body = ast.parse(probes).body
    referees = {each.name: each for each in body if isinstance(each, ast.FunctionDef) and is_referee(each)}
    rest = [each for each in body if each not in referees.values()]
    setup = [each for each in rest if not isinstance(each, ast.Expr)]
    cuts = {each: Cut(referees, each.value) for each in rest if isinstance(each, ast.Expr)}
    rules = [cut.rule for cut in cuts.values() if cut.rule]
    outside = [*needed(setup, [*referees.values(), *rules], {*referees}), *referees.values()]
    beside = needed(setup, [cut.leaf for cut in cuts.values()])
    inside = [cuts[each].leaf if each in cuts else each for each in rest if each in cuts or each in beside]
    return Halves(
        "\n".join(map(ast.unparse, inside)),
        compile(ast.Module(outside, []), "<referee>", "exec"),
        tuple(
            None if cut.rule is None else (compiled(cut.rule, len(cut.leaves)), len(cut.leaves))
            for cut in cuts.values()
        ),
    )


def is_referee(statement: ast.FunctionDef) -> bool:
    return any(isinstance(each, ast.Name) and each.id == MARK for each in statement.decorator_list)


class Cut:
    """One probe: its leaves, which are evaluated inside, and slots for them in what is evaluated outside."""

    def __init__(self, referees: dict[str, ast.FunctionDef], probe: ast.expr):
        self.referees, self.leaves, self.slots = referees, list[ast.expr](), list[ast.expr]()
        outer = self.outer(probe)
        self.leaf = self.leaves[0] if len(self.leaves) == 1 else ast.List(self.leaves, ast.Load())
        self.rule = None if outer in self.slots else outer

    def outer(self, node: ast.expr) -> ast.expr:
        """The expression to evaluate outside, with slots."""
        match node:
            case ast.Constant():
                return node
            case ast.Call(func=ast.Name(id=name)) if name in self.referees:
                return self.call(node, self.slot(node))
            case ast.ListComp(ast.Call(func=ast.Name(id=name)) as call, [part]) if name in self.referees:
                each, sent = ast.Name("each", ast.Store()), self.slot(node)
                again = self.call(call, ast.Name("each", ast.Load()))
                if len(again.args) > 1:
                    target = ast.Tuple([each, part.target], ast.Store())
                    pairs = ast.Call(ast.Name("zip", ast.Load()), [sent, part.iter], [])
                    return ast.ListComp(again, [ast.comprehension(target, pairs, [], 0)])
                return ast.ListComp(again, [ast.comprehension(each, sent, [], 0)])
            case ast.Compare(left, ops, others):
                return ast.Compare(self.outer(left), ops, [*map(self.outer, others)])
            case ast.BoolOp(op, values):
                return ast.BoolOp(op, [*map(self.outer, values)])
            case ast.UnaryOp(ast.Not() as op, operand):
                return ast.UnaryOp(op, self.outer(operand))
            case ast.Tuple(elements) | ast.List(elements) if any(map(self.is_cut, elements)):
                return ast.List([*map(self.outer, elements)], ast.Load())
        return self.slot(node)

    def call(self, probe: ast.Call, sent: ast.expr) -> ast.Call:
        """The referee's call: on what was sent, and on those arguments that it has parameters for."""
        parameters = self.referees[probe.func.id].args  # type: ignore[attr-defined]
        _, *names = [each.arg for each in parameters.args]
        own = [ast.Constant(None) if name == "_" else each for name, each in zip(names, probe.args)]
        own += probe.args[len(names) :] if parameters.vararg else []
        return ast.Call(probe.func, [sent, *own], [each for each in probe.keywords if each.arg in names])

    def is_cut(self, node: ast.expr) -> bool:
        """Whether a part of it is evaluated outside."""
        return not isinstance(node, ast.Constant) and Cut(self.referees, node).rule is not None

    def slot(self, leaf: ast.expr) -> ast.expr:
        self.leaves.append(leaf)
        self.slots.append(ast.Name(f"_{len(self.slots)}", ast.Load()))
        return self.slots[-1]


def needed(setup: list[ast.stmt], roots: list[Any], own: set[str] = frozenset()) -> list[ast.stmt]:  # type: ignore[assignment]
    """Those statements of the setup that define what the roots name, and what they name in turn.

    own    names that are defined elsewhere
    """
    names, found = {name for each in roots for name in loaded(each)} - own, set[ast.stmt]()
    while more := [each for each in setup if each not in found and names & {*bound(each)}]:
        found |= {*more}
        names |= {name for each in more for name in loaded(each)} - own
    return [each for each in setup if each in found]


def loaded(tree: ast.AST) -> Iterator[str]:
    return (node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))


def bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement defines."""
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in names)
        case _:  # `x[0] = 1` defines x, too
            stored = (n for n in ast.walk(statement) if isinstance(getattr(n, "ctx", None), ast.Store))
            yield from (name.id for n in stored for name in ast.walk(n) if isinstance(name, ast.Name))


def compiled(rule: ast.expr, slots: int) -> CodeType:
    """A function of what was sent, one parameter for each slot."""
    names = ast.arguments([], [ast.arg(f"_{i}") for i in range(slots)], kwonlyargs=[], kw_defaults=[], defaults=[])
    return compile(ast.fix_missing_locations(ast.Expression(ast.Lambda(names, rule))), "<referee>", "eval")


def inside(probes: str) -> str:
    """What of these probes runs beside the learner's code; it gives what judge() is called with."""
    return halves(probes).inside


def beside(probes: str, place: int) -> Probe:
    """The half of one probe that runs beside the learner's code, and the definitions that it needs."""
    probe = [*parsed(inside(probes))][place]
    setup = needed(ast.parse(probe.preparation).body, [ast.parse(probe.expression)])
    return Probe("\n".join(map(ast.unparse, setup)), probe.expression)


def judge(probes: str, sent: list[Outcome]) -> list[Outcome]:
    """The outcomes of the probes, from what their inner halves have sent."""
    cut = halves(probes)
    calm = contextvars.Context()  # where no block of a notebook's is open: no_grad, errstate, a graph
    scope: dict[str, Any] = {MARK: lambda function: function}  # a new one each time: what is sent may change it
    calm.run(exec, cut.setup, scope)
    return [calm.run(decided, rule, came, scope) for rule, came in zip_longest(cut.rules[: len(sent)], sent)]


def decided(rule: tuple[CodeType, int] | None, came: Outcome, scope: dict[str, Any]) -> Outcome:
    if rule is None or came.kind != "gave":
        return came
    code, slots = rule
    try:
        made = eval(code, scope)
        return Outcome("gave", plain(made(came.value) if slots == 1 else made(*came.value)))
    except Odd as odd:
        return Outcome("odd", str(odd))
    except AssertionError as broken:  # its words are the referee's own
        return Outcome("raised", "AssertionError", " ".join(str(broken).split())[:300])
    except Exception as error:
        return Outcome("raised", type(error).__name__)
