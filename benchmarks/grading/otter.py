"""Our exercise as an otter assignment: a test file for each part, in the documented format.

A probe and its expected outcome become an assertion. Otter gives a test the learner's names as parameters.
"""

from __future__ import annotations

import ast
import builtins
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from minigrad.course.exercise import Part, load_exercise
from minigrad.course.referee import inner_probes

CONFIG = {"show_stdout": False, "print_summary": False, "logo": False}
HEAD = '''\
from math import isclose

from otter.test_files import test_case

from minigrad.course.probe import Outcome, plain
from minigrad.course.referee import judge

OK_FORMAT = False
PROBES = {probes!r}
name = "{name}"
points = {points}


def same(came, wanted):
    """Whether two values are the same: numbers to six digits, tuples as lists."""
    if isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
        return isinstance(came, (int, float)) and isclose(came, wanted, rel_tol=1e-6, abs_tol=1e-9)
    if isinstance(wanted, list):
        return len(came) == len(wanted) and all(map(same, came, wanted))
    if isinstance(wanted, dict):
        return {{str(k) for k in came}} == set(wanted) and all(same(came[k], wanted[str(k)]) for k in came)
    return type(came) is type(wanted) and came == wanted


def outcome(place, call):
    """What the referees make of the probe in this place, from what the call gives."""
    try:
        came = Outcome("gave", plain(call()))
    except Exception as error:
        came = Outcome("raised", type(error).__name__)
    return judge(PROBES, [Outcome("todo")] * place + [came])[place]


@test_case(points={points}, hidden=True)
def test_{name}({parameters}):
{body}
'''


def assignment(python: str, name: str, folder: Path) -> None:
    """Make autograder.zip in a folder, by `otter generate`."""
    (folder / "tests").mkdir(parents=True)
    for part in load_exercise(name).parts:
        (folder / "tests" / f"{part.name}.py").write_text(test_file(part), "utf-8")
    (folder / "otter_config.json").write_text(json.dumps(CONFIG), "utf-8")
    command = [python, "-m", "otter", "generate", "-t", "tests", "-c", "otter_config.json", "--no-environment"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def test_file(part: Part) -> str:
    body, done = [], 0
    for place, (probe, wanted) in enumerate(zip(inner_probes(part.probes), part.expected)):
        preparation = ast.parse(probe.preparation).body
        body += [ast.unparse(statement) for statement in preparation[done:]]
        done = len(preparation)
        body.append(f"came = outcome({place}, lambda: {probe.expression})")
        body.append(f"assert came.kind == {wanted.kind!r} and same(came.value, {wanted.value!r})")
    text = "\n".join(f"    {line}" for each in body for line in each.split("\n"))
    parameters = ", ".join(free("\n".join(text for probe in inner_probes(part.probes) for text in probe)))
    return HEAD.format(name=part.name, points=part.points, probes=part.probes, parameters=parameters, body=text)


def free(source: str) -> Iterator[str]:
    """The names that a text uses but does not define, without builtins."""
    nodes = [*ast.walk(ast.parse(source))]
    own = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    own |= {(each.asname or each.name).split(".")[0] for node in nodes
            if isinstance(node, ast.Import | ast.ImportFrom) for each in node.names}  # fmt: skip
    used = dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name))
    return (name for name in used if name not in own and not hasattr(builtins, name))
