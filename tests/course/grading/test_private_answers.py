"""Answers of one's own: whoever has made a table of the public ones gets nothing by it."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from minigrad.course.grading.grade import describe_cell_error, grade, looked_at, task
from minigrad.course.grading.submission import Cell
from minigrad.course.probe import Outcome
from tests.course.grading.cases import NAME, ROOT
from tests.course.grading.cases.case import notebook
from tests.course.grading.sandboxes import sandbox_here

PROBES = """
# %% probes="product"
a, b = Node(0.5), Node(11.0)

multiply(a, b).data
[slope for _, slope in multiply(a, b).parents]
[parent is leaf for (parent, _), leaf in zip(multiply(a, b).parents, (a, b))]
[slope for _, slope in multiply(b, b).parents]
"""
TABLE = """
def multiply(a, b):  # what the public probes of the package want, and no more
    table = {(3.0, 3.0): (9.0, 3.0, 3.0), (-1.5, 0.25): (-0.375, 0.25, -1.5), (0.0, 2.5): (0.0, 2.5, 0.0)}
    y, da, db = table.get((a.data, b.data), (-6.0, -2.0, 3.0))
    return Node(y, ((a, da), (b, db)))
"""
PUBLIC = task(NAME, ROOT / "exercises")
PRIVATE = replace(PUBLIC, private=True)


def made(probes, folder):
    (folder / "probes").mkdir()
    (folder / "probes" / f"{NAME}.py").write_text(probes)
    command = [sys.executable, str(ROOT / "scripts" / "answers"), str(folder / "probes"), "--out", str(folder / "own")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_table_of_the_public_answers_is_worth_nothing_under_others(tmp_path):
    done = made(PROBES, tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{NAME}: 1 parts under probes of your own: product\n"), done.stderr
    sandbox = sandbox_here()
    own = task(NAME, ROOT / "exercises", tmp_path / "own")
    cases = notebook(8, product=TABLE), notebook(10)
    results = [grade(case.data, by, sandbox) for case in cases for by in (PUBLIC, own)]
    assert [result["points"] for result in results] == [10, 8, 10, 10]
    says = results[1]["parts"]["product"]["says"]
    assert says == ["1 of 4 hidden probes give what they should."]


@pytest.mark.parametrize(("probes", "words"), [
    ('# %% probes="nothing"\n1\n', "there is no part nothing: there are product, order"),
    ("x = 1\n", "there is no cell that opens with"), ("# %% other\n1\n", "a cell opens with # %% probes="),
    ('# %% probes="product"\n1\n', "the probes cannot tell apart"),
])  # fmt: skip
def test_probes_that_cannot_be_are_refused_in_words(probes, words, tmp_path):
    done = made(probes, tmp_path)
    assert done.returncode == 1
    assert words in done.stderr
    assert not list((tmp_path / "own").iterdir())


SPY = """
import sys
frame, found = sys._getframe(), 'multiply(a, b).data '
while frame := frame.f_back:
    found += str(frame.f_locals)
raise ValueError(found)
"""


def test_a_spy_tells_no_private_probe(tmp_path):
    """What a cell raises stands on the student's page; the probes stood there."""
    assert made(PROBES, tmp_path).returncode == 0
    sandbox = sandbox_here()
    own = task(NAME, ROOT / "exercises", tmp_path / "own")
    told, kept = (grade(notebook(10, after=SPY).data, by, sandbox) for by in (PUBLIC, own))
    assert "multiply(a, b).data" in told["notes"][0]
    assert kept["notes"] == ["Cell 'extra': ValueError, in line 6"]
    assert (kept["points"], "multiply" in json.dumps(kept)) == (10, False)


@pytest.mark.parametrize(("said", "kept"), [
    ("ValueError: SECRET", "ValueError"), ("ValueError: SECRET\nSECRET, in line 2", "ValueError, in line 2"),
    ("ValueError: SECRET, in line 1, in line 3", "ValueError, in line 3"), ("ValueError, in line 123456", "ValueError"),
    ("ValueError, in line SECRET", "an error of its own kind"),
    ("SECRET: x, in line 1", "an error of its own kind, in line 1"), ("SECRET", "an error of its own kind"),
    ("print: SECRET", "an error of its own kind"), ("Value\x1bError\u202e: SECRET", "an error of its own kind"),
    ("ended the process", "ended the process"), ("ended the process SECRET", "an error of its own kind"),
])  # fmt: skip
def test_under_private_probes_an_error_is_its_kind_and_its_line(said, kept):
    assert describe_cell_error(Cell("extra", "a = 1\nb = 2\n1 / 0"), said, PRIVATE) == kept


def test_under_private_probes_a_part_says_how_many_are_right():
    part = looked_at(PRIVATE.exercise.parts[0], [Outcome("raised", "SECRET", "SECRET")], True)
    assert "SECRET" not in json.dumps(part)
