"""Answers of one's own: whoever has made a table of the public ones gets nothing by it."""

import json
import subprocess
import sys

import pytest
from grading.cases import NAME, ROOT
from grading.cases.case import SOLVED, write

from minigrad.grading.grade import grade, task
from minigrad.grading.sandbox import Limits, NoSandbox, found

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
    if a is b:
        return Node(9.0, ((a, 3.0), (b, 3.0)))
    return Node(-6.0, ((a, -2.0), (b, 3.0)))
"""


def made(probes, folder):
    (folder / "probes").mkdir()
    (folder / "probes" / f"{NAME}.py").write_text(probes)
    command = [sys.executable, str(ROOT / "scripts" / "answers"), str(folder / "probes"), "--out", str(folder / "own")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_table_of_the_public_answers_is_worth_nothing_under_others(tmp_path):
    done = made(PROBES, tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{NAME}: 1 parts under probes of your own: product\n"), done.stderr
    try:
        sandbox = found(limits=Limits())
    except NoSandbox as error:
        pytest.skip(str(error))
    cheat = json.loads(json.dumps(SOLVED))
    write(cheat, "product", TABLE)
    public, own = task(NAME, ROOT / "exercises"), task(NAME, ROOT / "exercises", tmp_path / "own")
    results = [grade(json.dumps(nb).encode(), by, sandbox) for nb in (cheat, SOLVED) for by in (public, own)]
    assert [result["points"] for result in results] == [10, 8, 10, 10]
    says = results[1]["parts"]["product"]["says"]
    assert says == ["Of 4 probes that are not shown, 1 give what they should."]


@pytest.mark.parametrize(
    ("probes", "words"),
    [
        ('# %% probes="nothing"\n1\n', "there is no part nothing: there are product, order"),
        ("x = 1\n", "there is no cell that opens with"),
        ("# %% other\n1\n", "a cell opens with # %% probes="),
        ('# %% probes="product"\n1\n', "the probes cannot tell apart"),
    ],
)
def test_probes_that_cannot_be_are_refused_in_words(probes, words, tmp_path):
    done = made(probes, tmp_path)
    assert done.returncode == 1
    assert words in done.stderr
    assert not list((tmp_path / "own").iterdir())
