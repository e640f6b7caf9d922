"""What you built in an exercise goes on working: later lessons run your code where `check` passed it.

    from minigrad.course.mine import mine

    Value = mine("01", "Value")        of exercise 01: your multiply, order and gradients, with operators around them
    my_pass = mine("13", "my_pass")    of exercise 13: your own pass over a graph
    example = mine("13", "example")    of exercise 13: the function on which that pass has something to do
    ring = mine("22", "ring")          of exercise 22: an all-reduce, like those of distributed.algorithms
    chunk = mine("22", "chunk")        of exercise 22: which chunk a worker in a ring sends in which round

Each call prints one sentence that says whose code runs. It is yours if `.minigrad-attempts.jsonl` says that the parts
passed, and if the cells of your notebook in `exercises` pass `check` again now. Otherwise it is the course's, which
does the same. A lesson never fails because of your code: if yours raises an exception or runs for too long, the
course's takes its place, with a sentence. In the repository, where lessons are built and tested, it is always the
course's, so that outputs are the same.

Only the code cells of your own notebook of that exercise are run, in the kernel of the lesson, as they were run in the
exercise. Nothing is unpickled, no other file is run, and nothing is recorded.
"""

from __future__ import annotations

import functools
import json
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from minigrad.course import CourseError, attempts, exercise
from minigrad.course.attempts import Attempts
from minigrad.course.exercise import Part
from minigrad.course.feedback import run, source_of
from minigrad.course.journal import place
from minigrad.course.notebook_state import NAME, NotebookState
from minigrad.course.probe import Outcome, run_limited
from minigrad.draw.words import join_names
from minigrad.scalar.value import Value

CALL_SECONDS = 5.0  # for one call of a learner's function
LOAD_SECONDS = 20.0  # for all cells of their notebook
FEEDBACK = re.compile(r"^(\s*)(?:check|solution)\(.*$", re.M)  # lines that are not run again
Names = dict[str, Any]


@dataclass(frozen=True)
class Recipe:
    """How to get something that a learner builds in an exercise.

    parts      the parts of the exercise that must have passed
    build      makes it from the names that these parts define
    trust      makes the learner's names, given with the course's, safe for a lesson, or raises NotUsable
    """

    parts: tuple[str, ...]
    build: Callable[[Names], Any]
    trust: Callable[[Names, Names], Names]


class NotUsable(Exception):
    """Why the learner's code cannot run here: the end of a sentence."""


def mine(number: str, name: str) -> Any:
    """What you built under this name in the exercise of this number, or the course's own version."""
    wanted = BUILT.get((number, name))
    if wanted is None:
        offered = ", ".join(f'mine("{number}", "{name}")' for number, name in BUILT)
        raise CourseError(f'there is no mine("{number}", "{name}"): choose one of {offered}')
    course = solutions(number, wanted.parts)
    try:
        built = wanted.build(wanted.trust(load(number, wanted.parts), course))
    except NotUsable as why:
        print(f"{name}: the course's code runs here{why}.")
        return wanted.build(course)
    print(f"{name}: your own code of exercise {number} runs here.")
    return built


def find_parts(number: str, names: tuple[str, ...]) -> tuple[str, list[Part]]:
    """The name of the exercise with this number, and its parts of these names."""
    found = next(each for each in exercise.all_exercises() if each.name.startswith(f"{number}_"))
    return found.name, [part for part in found.parts if part.name in names]


def solutions(number: str, parts: tuple[str, ...]) -> Names:
    """The names that the worked solutions of these parts define, among those that the exercise gives."""
    from minigrad import ops
    from minigrad.graph import compiler

    names: Names = {"Node": Node, "add": add} if number == "01" else {"Node": compiler.Node, "ops": ops}
    for part in find_parts(number, parts)[1]:
        run(part.solution, names)
    return names


def load(number: str, parts: tuple[str, ...]) -> Names:
    """The names that the learner's notebook defines. Raises NotUsable unless these parts passed, and pass now."""
    file = place(attempts.FILE)
    records = [] if file is None else attempts.attempts(file.parent)
    tried = {name: attempts.summarize(records, name) for name in parts}
    missing = [name for name, summary in tried.items() if not summary.passed or summary.broken]
    if file is None or missing:
        raise NotUsable(f"; yours does once `check` has passed {join_names(missing)} in exercise {number}")
    the_exercise, answered = find_parts(number, parts)
    names = run_notebook(file.parent / "exercises" / f"{the_exercise}.ipynb", answered)
    for part in answered:
        if exercise.check_answer(part, names).state != "pass":
            raise NotUsable(f", because what your notebook defines now does not pass `check` ({part.name})")
    return names


def run_notebook(path: Path, answered: list[Part]) -> Names:
    """Run the code cells of a notebook up to the last that answers one of these parts. Returns their names."""
    try:
        cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
        sources = [source_of(cell) for cell in cells]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise NotUsable(f", because exercises/{path.name} cannot be read") from None
    last = max((n for n, cell in enumerate(cells) if any(answers(cell, part) for part in answered)), default=-1)
    names: Names = {"__name__": "__main__", NAME: NotebookState(attempts=Attempts(path=None))}
    began = time.monotonic()
    for source in sources[: last + 1]:  # a cell that raises may belong to another part; check judges what is defined
        run(FEEDBACK.sub(r"\1pass", source), names)
        if time.monotonic() - began > LOAD_SECONDS:
            raise NotUsable(f", because exercises/{path.name} runs for too long")
    return names


def answers(cell: Names, part: Part) -> bool:
    """Whether this cell is the answer to a part: by its id, or because it defines one of the part's names."""
    source = "".join(cell["source"])
    defined = any(re.search(rf"^(?:def|class) {name}\b|^{name}\b.*=", source, re.M) for name in part.defines)
    return defined or cell.get("id") == part.name


def guard_functions(names: Names, course: Names) -> Names:
    return {name: guard(name, names[name], course[name]) for name in ("my_pass", "example", "chunk") if name in course}


def guard(name: str, theirs: Callable[..., Any], course: Callable[..., Any]) -> Callable[..., Any]:
    """The learner's function; from the first call that fails or takes too long on, the course's."""
    failed: list[str] = []

    @functools.wraps(theirs)
    def call(*arguments: Any) -> Any:
        if not failed:
            came, why = call_limited(lambda: theirs(*arguments))
            if not why:
                return came
            failed.append(why)
            print(f"{name}: the course's code goes on here, because yours {why}.")
        return course(*arguments)

    return call


def call_limited(work: Callable[[], Any]) -> tuple[Any, str]:
    """The result of a call, and "" or why there is none, as in "raised ValueError"."""
    results: list[Any] = []

    def outcome() -> Outcome:
        try:
            results.append(work())
        except Exception as error:
            return Outcome("raised", type(error).__name__)
        return Outcome("gave")

    came = run_limited(outcome, CALL_SECONDS)
    if came.kind == "gave":
        return results[0], ""
    return None, f"raised {came.value}" if came.kind == "raised" else "ran for too long"


# -- exercise 01 ----------------------------------------------------------------------------------


class Node:
    """A number, and the nodes that it was made from, each with its slope. As exercise 01 gives it."""

    def __init__(self, data: float, parents: tuple[tuple[Any, float], ...] = ()):
        self.data = data
        self.parents = parents


def add(a: Node, b: Node) -> Node:
    return Node(a.data + b.data, ((a, 1.0), (b, 1.0)))


class ValueOfNodes:
    """A Value like mg.Value, made of the functions of exercise 01; a subclass says whose, in `code`.

    Sums, products and the walk back are theirs. The other operations, of one parent, are the engine's.
    """

    code: Any

    def __init__(self, data: float, node: Any = None):
        self.node = self.code.Node(float(data)) if node is None else node

    @property
    def data(self) -> float:
        return self.node.data

    @data.setter
    def data(self, number: float) -> None:
        self.node.data = number

    @property
    def grad(self) -> float:
        return getattr(self.node, "grad", 0.0)

    @grad.setter
    def grad(self, number: float) -> None:
        self.node.grad = number

    def backward(self) -> None:
        """Add to the grad of each node how much this value moves for a nudge of it."""
        for node, slope in self.code.gradients(self.node).items():
            node.grad = getattr(node, "grad", 0.0) + slope

    def by_engine(self, name: str, *arguments: float) -> ValueOfNodes:
        """A new value made from this one by a method of the engine's Value, with its slope."""
        made = getattr(Value(self.data), name)(*arguments)
        return type(self)(made.data, self.code.Node(made.data, ((self.node, made.parents[0][1]),)))

    def __add__(self, other: Any) -> ValueOfNodes:
        return type(self)(0.0, self.code.add(self.node, self.node_of(other)))

    def __mul__(self, other: Any) -> ValueOfNodes:
        return type(self)(0.0, self.code.multiply(self.node, self.node_of(other)))

    __radd__, __rmul__ = __add__, __mul__

    def node_of(self, other: Any) -> Any:
        return other.node if isinstance(other, ValueOfNodes) else self.code.Node(float(other))

    def __neg__(self) -> ValueOfNodes:
        return self * -1.0

    def __sub__(self, other: Any) -> ValueOfNodes:
        return self + -other

    def __rsub__(self, other: Any) -> ValueOfNodes:
        return -self + other

    def __truediv__(self, other: Any) -> ValueOfNodes:
        return self * (other**-1.0)

    __pow__ = functools.partialmethod(by_engine, "__pow__")
    exp = functools.partialmethod(by_engine, "exp")
    log = functools.partialmethod(by_engine, "log")
    tanh = functools.partialmethod(by_engine, "tanh")
    relu = functools.partialmethod(by_engine, "relu")

    def __repr__(self) -> str:
        return f"Value({self.data:g}, grad={self.grad:g})"


def value_of(code: Names) -> type[ValueOfNodes]:
    """The Value of this Node, add, multiply and gradients."""
    return type("Value", (ValueOfNodes,), {"code": SimpleNamespace(**code)})


def compare_values(names: Names, course: Names) -> Names:
    """The learner's names. Raises NotUsable if their Value computes anything else than the course's."""
    came, why = call_limited(lambda: small_network(value_of(names)))
    if why:
        raise NotUsable(f", because yours {why}")
    if not all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(came, small_network(value_of(course)))):
        raise NotUsable(", because yours gives other numbers for a small network")
    return names | {"gradients": guard("gradients", names["gradients"], course["gradients"])}


def small_network(value: type[ValueOfNodes]) -> list[float]:
    """The loss of a small network, and its gradients. The loss is a sum of 60 terms."""
    x, w, b = value(0.5), value(-1.5), value(0.25)
    loss = sum((((x * w + b).tanh() * n - x) ** 2 for n in range(60)), value(0.0))
    loss.backward()
    return [loss.data, x.grad, w.grad, b.grad]


# -- exercise 22 ----------------------------------------------------------------------------------


def ring_of(chunk: Callable[[int, int, int], int]) -> Callable[[int, int, int], Any]:
    """The ring in which each rank sends these chunks, as an algorithm like those of minigrad.distributed.algorithms."""
    from minigrad.distributed.algorithms import Recv, Send, parts

    def ring(rank: int, p: int, n: int) -> Any:
        before, after = (rank - 1) % p, (rank + 1) % p
        for r in range(2 * (p - 1)):
            gone, comes = (parts(n, p, chunk(sender, r, p)) for sender in (rank, before))
            yield Send(after, gone), Recv(before, comes, add=r < p - 1)

    return ring


BUILT = {
    ("01", "Value"): Recipe(("product", "order", "gradients"), value_of, compare_values),
    ("13", "my_pass"): Recipe(("own_pass",), itemgetter("my_pass"), guard_functions),
    ("13", "example"): Recipe(("own_pass",), itemgetter("example"), guard_functions),
    ("22", "chunk"): Recipe(("ring_by_hand",), itemgetter("chunk"), guard_functions),
    ("22", "ring"): Recipe(("ring_by_hand",), lambda names: ring_of(names["chunk"]), guard_functions),
}
