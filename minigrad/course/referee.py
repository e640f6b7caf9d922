"""Referees: functions that judge the data a probe sends, where none of the learner's code runs.

Each probe is split in two. The inner half uses the learner's names: it runs with the learner's code and sends plain
data. Comparisons, `and`, `or`, `not` and referees are the outer half, which runs on that data: the grader runs it
outside the sandbox, and `check` in the notebook's process, in a scope of its own. So an answer that replaces `all`,
`numpy.allclose` or a part of the engine changes what the grader receives, but not how the grader judges it.

    def left(f):                   runs with the learner's code, and returns the numbers to send
        return count(f), values(f)

    @referee
    def left(sent, f):             runs outside, on the data that the other `left` sent, and on the probe's arguments;
        return ...                 a parameter `_` receives None in place of an argument that uses the learner's names

    left(row(3))                   a probe: its outcome is what the referee returns
    [left(f) for f in some]        the referee is called for each f
    len(traces()) <= 12            the length is sent, and compared outside

The learner's code may send anything to make a referee wrong, slow or endless. Nothing stops a referee, so it must check
sent data before it loops over it or counts to it. If a referee raises an exception, that is the probe's outcome.
"""

from __future__ import annotations

import ast
import contextvars
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from types import CodeType
from typing import Any

from minigrad.course.probe import Odd, Outcome, ProbeSource, cut, plain

MARK = "referee"  # the name of the decorator that marks a referee


@dataclass(frozen=True)
class Halves:
    """Probes, split in two.

    inside    the probes that run with the learner's code
    setup     the referees, and the definitions that they use
    rules     for each probe, a function from the values it sends to its outcome, and the number of values; None if the
              value sent is the outcome
    """

    inside: list[ProbeSource]
    setup: CodeType
    rules: tuple[tuple[CodeType, int] | None, ...]


@lru_cache(256)
def split(probes: str) -> Halves:
    """Split probes into their halves, each with the definitions that it uses."""
    body = ast.parse(probes).body
    functions = [each for each in body if isinstance(each, ast.FunctionDef)]
    referees = {f.name: f for f in functions if any(isinstance(x, ast.Name) and x.id == MARK for x in f.decorator_list)}
    rest = [each for each in body if each not in referees.values()]
    setup = [each for each in rest if not isinstance(each, ast.Expr)]
    cuts = {each: SplitProbe(referees, each.value) for each in rest if isinstance(each, ast.Expr)}
    inner = dependencies(setup, [cut.leaf for cut in cuts.values()])
    outer = [each for each in setup if referees.keys().isdisjoint(definitions(each))] + [*referees.values()]
    outer = dependencies(outer, [cut.rule for cut in cuts.values() if cut.rule])
    return Halves(
        probes_of([ast.Expr(cuts[each].leaf) if each in cuts else each for each in rest if each in (*cuts, *inner)]),
        compile(ast.Module(outer, []), "<referee>", "exec"),
        tuple(cut.compile() for cut in cuts.values()),
    )


class SplitProbe:
    """A probe cut into leaves, which are evaluated inside, and a rule, the expression over their values, or None."""

    def __init__(self, referees: dict[str, ast.FunctionDef], probe: ast.expr):
        self.referees, self.leaves, self.slots = referees, list[ast.expr](), list[ast.expr]()
        rule = self.outside(probe)
        self.leaf = self.leaves[0] if len(self.leaves) == 1 else ast.List(self.leaves, ast.Load())
        self.rule = None if rule in self.slots else rule

    def outside(self, node: ast.expr) -> ast.expr:
        """The expression to evaluate outside, with a slot for each leaf."""
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
                return ast.Compare(self.outside(left), ops, [*map(self.outside, others)])
            case ast.BoolOp(op, values):
                return ast.BoolOp(op, [*map(self.outside, values)])
            case ast.UnaryOp(ast.Not() as op, operand):
                return ast.UnaryOp(op, self.outside(operand))
            case ast.Tuple(elements) | ast.List(elements) if any(map(self.is_cut, elements)):
                return ast.List([*map(self.outside, elements)], ast.Load())
        return self.slot(node)

    def call(self, probe: ast.Call, sent: ast.expr) -> ast.Call:
        """The call of the referee: the data sent, then the arguments that it has parameters for."""
        parameters = self.referees[probe.func.id].args  # type: ignore[attr-defined]
        _, *names = [each.arg for each in parameters.args]
        own = [ast.Constant(None) if name == "_" else each for name, each in zip(names, probe.args)]
        own += probe.args[len(names) :] if parameters.vararg else []
        return ast.Call(probe.func, [sent, *own], [each for each in probe.keywords if each.arg in names])

    def is_cut(self, node: ast.expr) -> bool:
        """Whether a part of the node is evaluated outside."""
        return not isinstance(node, ast.Constant) and SplitProbe(self.referees, node).rule is not None

    def slot(self, leaf: ast.expr) -> ast.expr:
        self.leaves.append(leaf)
        self.slots.append(ast.Name(f"_{len(self.slots)}", ast.Load()))
        return self.slots[-1]

    def compile(self) -> tuple[CodeType, int] | None:
        """The rule compiled as a function with a parameter for each slot, and the number of slots."""
        if self.rule is None:
            return None
        names = [ast.arg(f"_{i}") for i in range(len(self.slots))]
        function = ast.Lambda(ast.arguments([], names, kwonlyargs=[], kw_defaults=[], defaults=[]), self.rule)
        return compile(ast.fix_missing_locations(ast.Expression(function)), "<referee>", "eval"), len(names)


def dependencies(setup: list[ast.stmt], roots: list[ast.expr]) -> list[ast.stmt]:
    """The statements of the setup that the roots depend on, directly or indirectly, in their order."""
    names, kept = {name for each in roots for name in uses(each)}, set[ast.stmt]()
    defined = {each: {*definitions(each)} for each in setup}
    while more := {each for each in setup if each not in kept and not names.isdisjoint(defined[each])}:
        kept |= more
        names |= {name for each in more for name in uses(each)}
    return [each for each in setup if each in kept]


def uses(tree: ast.AST) -> Iterator[str]:
    """The names that a tree reads."""
    return (node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))


def definitions(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement defines."""
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in names)
        case _:  # `x[0] = 1` defines x, too
            stored = (n for n in ast.walk(statement) if isinstance(getattr(n, "ctx", None), ast.Store))
            yield from (name.id for n in stored for name in ast.walk(n) if isinstance(name, ast.Name))


def parse_probes(probes: str) -> list[ProbeSource]:
    """The expressions of a text, each with the statements before it."""
    return probes_of(ast.parse(probes).body)


def probes_of(body: list[ast.stmt]) -> list[ProbeSource]:
    """The expressions among some statements, each with the other statements before it."""
    preparation, probes = list[str](), list[ProbeSource]()
    for each in body:
        if isinstance(each, ast.Expr):
            probes.append(ProbeSource("\n".join(preparation), ast.unparse(each)))
        else:
            preparation.append(ast.unparse(each))
    return probes


def inner_probes(probes: str) -> list[ProbeSource]:
    """The half of the probes that runs with the learner's code; judge() takes their outcomes."""
    return split(probes).inside


def inner_probe(probes: str, place: int) -> ProbeSource:
    """The inner half of one probe, with the definitions that it uses."""
    probe = inner_probes(probes)[place]
    setup = dependencies(ast.parse(probe.preparation).body, [ast.parse(probe.expression, mode="eval").body])
    return ProbeSource("\n".join(map(ast.unparse, setup)), probe.expression)


def judge(probes: str, sent: list[Outcome]) -> list[Outcome]:
    """The outcomes of the probes, computed from the outcomes of their inner halves."""
    halves = split(probes)
    calm = contextvars.Context()  # without the notebook's open blocks: no_grad, errstate, a graph
    scope: dict[str, Any] = {MARK: lambda function: function}  # new for each call, because judging may change it
    calm.run(exec, halves.setup, scope)
    if np := sys.modules.get("numpy"):  # the scalar exercises do not need NumPy
        calm.run(np.seterr, all="ignore")  # the data may overflow, and a warning would appear in the notebook
    return [calm.run(decide, rule, came, scope) for rule, came in zip_longest(halves.rules[: len(sent)], sent)]


def decide(rule: tuple[CodeType, int] | None, came: Outcome, scope: dict[str, Any]) -> Outcome:
    """The outcome of one probe."""
    if rule is None or came.kind != "gave":
        return came
    code, slots = rule
    try:
        function = eval(code, scope)
        return Outcome("gave", plain(function(came.value) if slots == 1 else function(*came.value)))
    except Odd as odd:
        return Outcome("odd", str(odd))
    except AssertionError as broken:  # the message is the referee's own
        return Outcome("raised", "AssertionError", cut(" ".join(str(broken).split())))
    except Exception as error:
        return Outcome("raised", type(error).__name__)
