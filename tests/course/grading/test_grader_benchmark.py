"""The benchmark of graders counts what it sees; what it sees of the two others, it says by itself."""

import json
import os
import sys

import pytest

from benchmarks.grading import crowd, graders, otter, side_by_side, suite, table
from benchmarks.grading.graders import GRADERS
from benchmarks.grading.side_by_side import FIRST, NEXT, judged
from minigrad.course.exercise import load_exercise
from minigrad.course.grading.sandbox import no_bubblewrap
from tests.course.grading.cases import CASES

pytestmark = pytest.mark.tool


def seen(score, following=10, outside=(), late=False):
    return {"scores": {FIRST: score, NEXT: following}, "outside": [*outside], "late": late}


@pytest.mark.parametrize(
    ("case", "what", "true"),
    [
        ("as_it_should_be", seen(10), {"right"}),
        ("slopes_swapped", seen(8), {"right"}),
        ("slopes_swapped", seen(0), {"silent"}),
        ("untouched", seen(0), {"right"}),
        ("untouched", seen(10), {"forged"}),
        ("untouched", seen(None), {"right"}),
        ("slopes_swapped", seen(None), set()),
        ("an_empty_file", seen(0), {"right", "silent"}),
        ("an_empty_file", seen(None), {"right"}),
        ("as_it_should_be", seen(10, following=None), {"right", "stopped"}),
        ("as_it_should_be", {"status": "out of time"}, {"stopped", "late"}),
    ],
)
def test_what_is_told_of_a_case(case, what, true):
    found = judged(CASES[case], what, followed=True)
    assert {word for word in ("right", "forged", "silent", "stopped", "late") if found[word]} == true
    assert found["family"] in suite.FAMILIES


def test_the_tables_have_every_family():
    assert {case.family for case in suite.cases().values()} == {*suite.FAMILIES}


def test_a_table_counts_and_names_what_differs():
    names = ("as_it_should_be", "untouched", "sleeps_at_the_top")
    whats = (seen(10), seen(10, outside=["reached the network"]), seen(None, late=True))
    theirs = {name: judged(CASES[name], what, followed=False) for name, what in zip(names, whats)}
    ours = {name: judged(CASES[name], seen(CASES[name].points), followed=True) for name in names}
    pace = {"per minute": 61.2, "cpu": 0.512, "peak": 250e6}
    text = table.whole(
        {
            "minigrad": {"version": "1", "cases": ours, "pace": pace},
            "otter": {"version": "7", "cases": theirs, "pace": {"status": "not all of them"}},
        }
    )
    lines = text.splitlines()
    assert "| **all (3)** | 3 | 1 |" in lines
    assert "| has more points than it deserves | 0 | 1 |" in lines
    assert "| writes, asks or lives on outside | 0 | 1 |" in lines
    assert "| costs the next submission its points | 0 | a process for each |" in lines
    assert "| has no score when its time is up | 0 | 1 |" in lines
    assert "| untouched | 0 | **10**, reached the network, forged |" in lines
    assert "| submissions per minute | 61 |" in lines
    assert not any(line.startswith("| as it should be") for line in lines)


@pytest.mark.parametrize("part", load_exercise(suite.NAME).parts, ids=lambda part: part.name)
def test_the_tests_for_otter_are_our_probes(part):
    """They pass on the solution, and not without it."""
    assert {*otter.free("import math as m\ndef f(x):\n    return g(x) + m.pi\nf(y)\nlen(z)")} == {"g", "y", "z"}
    text = otter.test_file(part).replace(
        "from otter.test_files import test_case", "test_case = lambda **k: lambda f: f"
    )
    scope: dict = {}
    exec(text, scope)
    solved: dict = {}
    for cell in json.loads((suite.ROOT / "solutions" / f"{suite.NAME}.ipynb").read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code" and "check(" not in "".join(cell["source"]):
            exec("".join(cell["source"]), solved)
    test = scope[f"test_{part.name}"]
    names = test.__code__.co_varnames[: test.__code__.co_argcount]

    test(*(solved[name] for name in names))
    with pytest.raises((AssertionError, TypeError)):
        test(*(None if name in part.defines else solved[name] for name in names))


def test_a_class_has_of_every_family_its_share():
    handed = crowd.submissions(100)
    families = [case.family for _, case in handed.values()]
    assert {family: families.count(family) for family in crowd.SHARES} == crowd.SHARES
    assert crowd.with_numpy(b"no notebook", 1) == b"no notebook"
    assert len(crowd.submissions(300)) == 300  # every case at least once, whatever is in its file


def test_a_grader_that_is_not_there_is_left_out_with_a_reason(tmp_path):
    assert GRADERS["otter"].missing(str(tmp_path / "python")).startswith("there is no ")
    odd = graders.Grader("odd", "no_such_module", *[None] * 3)
    assert "has no no_such_module: it is in the extra [graders]" in odd.missing(sys.executable)


def test_ours_in_a_world_of_its_own():
    """One that leaves a process behind: what it reaches, and whether the next has its points."""
    if why := no_bubblewrap():
        pytest.skip(why)
    if os.geteuid():
        pytest.skip("a sandbox inside a world takes root")
    found = side_by_side.suite(
        GRADERS["minigrad"], sys.executable,
        {"leaves_a_process_behind": CASES["leaves_a_process_behind"]}, CASES["as_it_should_be"].data, 1,
        lambda name, figures: None,
    )  # fmt: skip
    case = found["leaves_a_process_behind"]
    assert (case["score"], case["right"], case["stopped"], case["outside"]) == (10, True, False, [])
