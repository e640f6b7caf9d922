"""Right answers that are written in unusual ways, and wrong ones that come near: each has the verdict it deserves.

The answers are in tests/course/answers, a cell for each: `# %% right: order: a stack and a set` or `# %% wrong: …`.
Before them stands a table of short ones: "wrong: order: …": "code", or {"old": "new"}, which is the solution with that
change.
"""

from __future__ import annotations

import re
import sys
from ast import literal_eval
from functools import lru_cache
from pathlib import Path

import pytest
from nbformat import NotebookNode

from minigrad.course import exercise
from minigrad.course.exercise import Part
from tests.support.root import ROOT
from tests.support.table import table

sys.path.insert(0, str(ROOT / "scripts"))

from notebooks import exercise as making
from notebooks.source import notebook

DIVIDED_BY_0 = """
def f(x):
    y = x
    while y.item() > 1:
        y = y / 2
    return 1 / (y - y)


inputs = [0.5, 1.5, 3.5]
"""
BY_IDENTITY = {"entry not in seen": "id(entry) not in seen", "seen.add(entry)": "seen.add(id(entry))"}
BY_NAME = {"seen.add(entry)": "seen.add(entry.name())"}
EACH_PATH = """
def backward(y, g=1.0):
    waiting = [(y, g)]
    while waiting:
        v, g = waiting.pop(0)
        v.grad = v.grad + g
        waiting += [(parent, slope * g) for parent, slope in v.parents]
"""
SWAPPED = """
@mg.function
def huber(x):
    if abs(x) >= 1:
        return x * x / 2
    return abs(x) - 0.5
"""
LAMBDA = """
@mg.function
def mine(x):
    half = lambda t: t.item() / 2
    while x > 1:
        x = half(x)
    return x
"""
TURNS = """
@mg.function
def mine(x):
    turns = mg.tensor(0.0)
    while x > 1:
        if x > 5:
            x = x / 3
        else:
            x = x / 2
        turns = turns + 1
    return turns
"""
UNROLLED = TURNS.replace("while x > 1", "for _ in mg.arange(5)").replace("turns\n", "x\n")
RETURNED = """
def backward(y):
    gradient = dict.fromkeys(history(y), 0.0) | {y: 1.0}
    for v in reversed(history(y)):
        for parent, slope in v.parents:
            gradient[parent] += gradient[v] * slope
    return gradient
"""
PENCIL = "import numpy as np\ndL_ds, dL_dp, dL_dw, dL_dy, dL_dx = 2, 2, 2, 4, np.array([16])"
SUSPECTS = """
def suspects(functions, points):
    agree = lambda f, x: mg.gradcheck(f, mg.tensor(float(x)), raise_exception=False)
    return {name for name, f in functions.items() for x in points if not agree(f, x)}
"""
AGAIN = "after_values, after_shapes, after_numbers, after_tensors = 1, 2, 5, 6"
BENT_UNSEEN = "def curve(x):\n    return x.exp().detach() + x + 1 + 1 + 1"
ON_TOP = """
def pay_in(losses):
    total = losses[0]
    for loss in losses[1:]:
        total += loss
    total.backward()
"""
ROOT_OF_2 = """
def go_on(x):
    return abs(x * x - 2) > 1e-13


def turn(x):
    return (x + 2 / x) / 2
"""
EDGE = """
def build():
    return mg.nn.Sequential(
        mg.nn.Conv2d(3, 8, 5, stride=4, padding=2), mg.nn.ReLU(), mg.nn.Conv2d(8, 10, 3, padding=1), mg.nn.ReLU(),
        mg.nn.Flatten(), mg.nn.Linear(2560, 10),
    )
"""
TOLD = [  # exercise, part, wrong answer, what the learner is told, what must not be said
    ("02_backward_by_hand", "by_hand", PENCIL, "It is a list of one number: give the number.", "arrow"),
    ("02_backward_by_hand", "repair", EACH_PATH, "each path is walked on its own: 40 doublings never end", "loop"),
    ("02_backward_by_hand", "referee", SUSPECTS, "wrap the set in `sorted(...)`", "Three functions"),
    ("06_what_a_graph_keeps", "census", BY_IDENTITY, "You compare with `is` or `id`", "Every path"),
    ("06_what_a_graph_keeps", "census", BY_NAME, "Remember the entries that were seen", "`is`"),
    ("06_what_a_graph_keeps", "pay_in", "def pay_in(losses):\n    pass", "nothing was paid into it", "`return`"),
    ("06_what_a_graph_keeps", "pay_in", ON_TOP, "belongs to the caller", "retain_graph"),
    ("06_what_a_graph_keeps", "thrifty", BENT_UNSEEN, "is a part of the curve cut off", "straight line"),
    ("10_control_flow_in_graphs", "own_loop", ROOT_OF_2, "all starts end at the same number", "floor"),
    ("11_tracing", "traces", AGAIN, "3 was met", "each new"),
    ("11_tracing", "huber", SWAPPED, "Did you swap the two ways?", "decorated"),
    ("11_tracing", "own_function", LAMBDA, "of the cell of `mine`", "<lambda>"),
    ("17_what_grows_how", "budget", EDGE, "an edge that no window reaches", "by 4 leaves"),
    ("11_tracing", "own_function", TURNS, "No gradient leads", "`return`"),
    ("11_tracing", "own_function", TURNS.replace("turns\n", "x.detach()\n"), "cut off with detach", "`return`"),
    ("11_tracing", "own_function", UNROLLED, "a tensor of known length", "Python's"),
    ("02_backward_by_hand", "repair", RETURNED, "into the `.grad` of each parent", "order"),
]
STATES = {"right": "pass", "wrong": "fail"}


def written(path: Path) -> dict[str, str | dict[str, str]]:
    """The answers of a file: what each is, and its code or its changes."""
    short, *cells = re.split(r"^# %% ", path.read_text("utf-8"), flags=re.MULTILINE)
    return literal_eval(short.strip() or "{}") | dict(cell.split("\n", 1) for cell in cells)


ANSWERS = [
    pytest.param(path.stem, *said.split(": ", 2), answer, id=f"{path.stem[:2]} {said}")
    for path in sorted((ROOT / "tests" / "course" / "answers").glob("*.py"))
    for said, answer in written(path).items()
]


@lru_cache
def known(name: str) -> tuple[NotebookNode, dict[str, Part]]:
    parts = {part.name: part for part in exercise.load_exercise(name).parts}
    return notebook(ROOT / "solutions" / "source" / f"{name}.py"), parts


def code(part: Part, answer: str | dict[str, str]) -> str:
    """An answer's code; changes are made to the part's solution."""
    if isinstance(answer, str):
        return answer
    changed = part.solution
    for old, new in answer.items():
        assert changed.count(old) == 1, f"the solution of {part.name} has {old!r} {changed.count(old)} times"
        changed = changed.replace(old, new)
    return changed


@pytest.mark.share(8)
@table("name, deserves, part, what, answer", ANSWERS, groups=8)
def test_an_answer_has_the_verdict_it_deserves(name, deserves, part, what, answer):
    nb, parts = known(name)

    outcomes = making.outcomes(nb, part, code(parts[part], answer), parts[part].probes, what)

    said = exercise.verdict(parts[part], outcomes)
    assert said.state == STATES[deserves], said.says


def test_every_part_has_a_right_answer_besides_its_solution():
    answered = {(param.values[0], param.values[2]) for param in ANSWERS if param.values[1] == "right"}
    parts = {(each.name, part.name) for each in exercise.all_exercises() for part in each.parts if part.open}

    assert parts <= answered
    assert len(ANSWERS) >= 550


@table("name, part, answer, expected, absent", TOLD)
def test_a_wrong_answer_is_told_its_own_mistake(name, part, answer, expected, absent):
    """Each of these answers passed, or was told about a mistake that it does not have."""
    nb, parts = known(name)

    outcomes = making.outcomes(nb, part, code(parts[part], answer).strip(), parts[part].probes, "told")

    said = exercise.verdict(parts[part], outcomes)
    told = " ".join((*said.says, said.hint))
    assert said.state == "fail"
    assert expected in told
    assert absent not in told


@table("expression, shown", [
    ("round(float(bound), 6)", "bound"), ('str(chosen.get("a")).strip().lower()', 'chosen["a"]'),
    ("round(float(counted('ab', 'c')), 4)", "counted('ab', 'c')"), ("int(weights)", "int(weights)"),
    ("letters([1.0], 1.0, 4)", "letters([1.0], 1.0, 4)"),
])  # fmt: skip
def test_a_probe_is_shown_without_the_conversions_around_it(expression, shown):
    assert exercise.strip_conversions(expression) == shown


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_infinite_is_not_said_to_stand_on_a_border():
    """In 08 a function that divides by 0 was told to move its inputs off the numbers that an `if` asks for."""
    nb, parts = known("08_the_road_taken")
    part, source = parts["own_road"], DIVIDED_BY_0

    said = exercise.verdict(part, making.outcomes(nb, "own_road", source, part.probes, "infinite"))

    assert said.state == "fail"
    assert not any("border" in sentence for sentence in (*said.says, said.hint))
