"""Attempts outlive the kernel, and enough of them bring a solution that has its price."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from minigrad.course import exercise, feedback, lessons, score
from minigrad.course.attempts import FILE, KEYS, Attempts, attempts, summarize
from minigrad.course.journal import lines
from minigrad.course.standing import standing
from tests.support.root import ROOT

PART = next(part for part in exercise.load_exercise("01_scalar_engine").parts if part.name == "visits")  # a number
RIGHT = "times_at_x, nodes = 1024, 11"
NUMBERS = [1, 2, 3, 4]  # none of them a known-wrong answer


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A course folder, with the kernel of an exercise in it."""
    (tmp_path / lessons.STATE).write_text("{}")
    (tmp_path / "exercises").mkdir()
    monkeypatch.chdir(tmp_path / "exercises")
    return tmp_path


def in_a_new_kernel(source: str, call: str = "check('visits')") -> feedback.Note:
    """What is said in a notebook that has run this, and nothing else."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(f"from minigrad.course import check, solution\n{source}\nsaid = {call}", namespace)
    note = namespace["said"]
    assert isinstance(note, feedback.Note)
    return note


def attempt(n: int) -> feedback.Note:
    return in_a_new_kernel(f"times_at_x = nodes = {n}")


def test_attempts_are_counted_on_after_the_kernel_was_restarted_and_the_same_one_counts_once(home):
    near = ["One more attempt" in repr(attempt(n)) for n in (1, 1, 2, 1, 3)]

    assert near == [False, False, True, True, False]
    assert [record["event"] for record in attempts(home)] == ["tried"] * 3


def test_two_kernels_that_are_open_at_once_know_of_each_other(home):
    here: dict[str, Any] = {}
    exec("from minigrad.course import check\ntimes_at_x = nodes = 1\nfirst = check('visits')", here)
    attempt(2)
    exec("times_at_x = nodes = 3\nsecond = check('visits')", here)

    assert "solution(" not in repr(here["first"])
    assert "solution(" in repr(here["second"])


def test_a_process_of_its_own_reads_what_another_has_tried(home):
    attempt(1)
    code = "from minigrad.course import check\ntimes_at_x = nodes = 2\nprint(repr(check('visits')))"

    came = subprocess.run(
        [sys.executable, "-c", code], cwd=Path.cwd(), env={"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        capture_output=True, text=True, check=True, encoding="utf-8",
    )  # fmt: skip

    assert "One more attempt" in came.stdout


def test_a_line_holds_no_more_than_it_must(home):
    attempt(1)

    (record,) = [json.loads(line) for line in (home / FILE).read_text("utf-8").splitlines()]
    assert record.keys() == {"version", "part", "event", "attempt", "known", "when"}
    assert (record["part"], record["event"], record["known"], len(record["attempt"])) == ("visits", "tried", False, 16)


def test_known_wrong_answers_have_a_hint_of_their_own_and_bring_the_solution_nearer(home):
    assert "Hint: Two ways from the last node" in repr(in_a_new_kernel("times_at_x, nodes = 20, 11"))
    assert "One more attempt" in repr(attempt(1))
    assert [record["known"] for record in attempts(home)] == [True, False]


@pytest.mark.parametrize("source", ["", "times_at_x = nodes = ..."])
def test_what_is_not_written_yet_is_no_attempt(home, source):
    in_a_new_kernel(source)

    assert attempts(home) == []


def test_a_loop_that_never_ends_is_no_attempt(home):
    endless = "def multiply(a, b):\n    while True: pass\nadd, Node = None, lambda x: x"
    said = in_a_new_kernel(endless, "check('product')")

    assert "a loop in it never ends" in repr(said)
    assert attempts(home) == []


# -- the solution ---------------------------------------------------------------------------------


def test_before_enough_attempts_the_solution_is_refused_and_asking_costs_nothing(home):
    attempt(1)

    said = in_a_new_kernel("", "solution('visits')")

    assert repr(said).startswith("visits: the solution is shown after 3 different attempts; so far there was one.")
    assert "1024" not in str(said._repr_mimebundle_())
    assert len(attempts(home)) == 1
    assert "there was none" in repr(in_a_new_kernel("", "solution('zero')"))


def test_check_says_when_a_solution_may_be_seen_and_what_it_costs(home):
    said = [repr(attempt(n)) for n in NUMBERS]

    assert "solution" not in said[0]
    assert "One more attempt that comes out differently, and you may see a solution." in said[1]
    assert '3 different attempts: `solution("visits")` shows a way now, and then it counts 0 points.' in said[2]
    assert "4 different attempts" in said[3]


def test_a_solution_that_was_shown_is_shown_again_and_the_part_counts_nothing(home):
    for n in NUMBERS:
        attempt(n)

    first, second = (in_a_new_kernel("", "solution('visits')") for _ in range(2))
    passed = in_a_new_kernel(RIGHT)

    assert PART.solution in repr(first)
    assert f">{PART.solution}</pre>" in first._repr_mimebundle_()["text/html"]
    assert repr(first) == repr(second)
    assert passed.passed
    assert "The solution was shown before, so it counts 0 of 1 point." in repr(passed)
    assert [record["event"] for record in attempts(home)] == ["tried"] * 4 + ["revealed"]
    now = summarize(attempts(home), "visits")
    assert (now.passed, now.revealed, now.earned_points(PART)) == (False, True, 0)


def test_whoever_has_passed_may_see_the_solution_and_keeps_the_points(home):
    in_a_new_kernel(RIGHT)

    said = in_a_new_kernel("", "solution('visits')")
    broken_again = attempt(1)

    assert said.passed
    assert PART.solution in repr(said)
    now = summarize(attempts(home), "visits")
    assert (now.passed, now.revealed, now.earned_points(PART)) == (
        True,
        False,
        0,
    )  # as `grade` says of what is there now
    assert '`solution("visits")` shows a way.' in repr(broken_again)
    in_a_new_kernel(RIGHT)
    assert summarize(attempts(home), "visits").earned_points(PART) == 1


@pytest.mark.parametrize(
    "wrong", ["times_at_x = nodes = 1", "times_at_x = nodes = object()", "times_at_x = nodes = []"]
)
def test_a_part_that_was_solved_and_then_broken_says_so_until_it_is_right_again(home, wrong):
    """`status` said passed, `check` said not yet, and `grade` gave no point."""
    broken = "visits: passed before, but the current answer is wrong"
    assert in_a_new_kernel(RIGHT).passed
    for _ in range(2):  # the second time the attempt is known
        said = in_a_new_kernel(wrong)
        assert broken in repr(said)

        now = standing(home)
        assert broken in " ".join(repr(now).split())
        assert broken in now._repr_mimebundle_()["text/html"]
        assert (now.points, now.exercises[0].passed_parts, now.next) == (0, 0, "exercises/01_scalar_engine.ipynb")
        assert next(part.state for part in now.exercises[0].parts if part.name == "visits") == "broken"

    assert in_a_new_kernel(RIGHT).passed
    assert broken not in repr(standing(home))
    assert standing(home).points == 1


def test_a_journal_of_an_older_edition_calls_nothing_broken(home):
    tries = Attempts(home / FILE)
    tries.record("visits", "passed")
    tries.record("visits", "tried", "aa")

    assert summarize(attempts(home), "visits").passed
    assert not summarize(attempts(home), "visits").broken


def test_a_solution_is_python_that_passes():
    """The markers are gone, the indent is right, and nothing but the answer's own cell is needed."""
    for each in exercise.all_exercises():
        for part in each.parts:
            compile(part.solution, part.name, "exec")
            assert "###" not in part.solution
            assert 2 <= part.attempts_before_solution <= 5
    namespace = {"__name__": "__main__"}
    exec(PART.solution, namespace)
    assert exercise.check_answer(PART, namespace).state == "pass"


@pytest.mark.parametrize("call", ["solution()", "solution('no such part')", "solution(3)", "solution([])"])
def test_solution_of_no_part_lists_the_parts(home, call):
    assert "01_scalar_engine: product (2 points)" in repr(in_a_new_kernel("", call))


# -- what may be wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize("damage", [
    b'{"version": 1, "part": "vis',
    b'{"version": 1, "part": ["visits"], "event": ["passed"], "attempt": [], "known": {}}\n',
    b'{"version": 1, "part": "visits", "event": ["passed"], "attempt": [], "known": {}}\n',
    b'{"version": 1, "part": "visits", "event": "tried", "attempt": {"a": []}, "known": 7}\n',
    b"\xff\x00\n[1]\n3\nnull\n", b"[" * 100_000 + b"\n",
])  # fmt: skip
def test_a_damaged_file_neither_breaks_check_nor_gives_a_point(home, damage):
    attempt(1)
    with (home / FILE).open("ab") as file:
        file.write(damage)

    assert "Hint" in repr(attempt(2))
    assert not summarize(attempts(home), "visits").passed


def test_a_file_that_cannot_be_written_is_told_and_attempts_are_counted_in_the_kernel(home):
    (home / FILE).mkdir()
    here: dict[str, Any] = {}

    exec("from minigrad.course import check\ntimes_at_x = nodes = 1\nsaid = check('visits')", here)
    first = repr(here["said"])
    exec("times_at_x = nodes = 2\nsaid = check('visits')", here)

    assert "It could not be saved in" in first
    assert "One more attempt" in repr(here["said"])


def test_a_package_that_is_broken_is_told_and_raises_nothing(home, tmp_path, monkeypatch):
    (tmp_path / "01_broken.json").write_text('{"title": "', "utf-8")
    monkeypatch.setattr(exercise, "ANSWERS", tmp_path)

    for call in ("check('visits')", "solution('visits')", "check()"):
        assert "The course's own files cannot be read" in repr(in_a_new_kernel("", call)), call


def test_the_notebook_of_somebody_else_that_is_scored_leaves_nothing_behind(home):
    assert score(ROOT / "solutions" / "01_scalar_engine.ipynb")["points"] == 10
    assert attempts(home) == []


def test_where_the_lessons_come_from_nothing_is_kept(monkeypatch):
    monkeypatch.chdir(ROOT / "exercises")

    assert Attempts().path is None
    assert [repr(attempt(n)).count("One more attempt") for n in (1, 2)] == [0, 0]


def test_copying_and_resetting_the_course_leave_what_was_tried(checkout):
    """The learner's folder is brought up to date and a lesson is reset: the two files are no part of either."""
    checkout.minigrad("copy")
    file = checkout.work / FILE
    file.write_text('{"version": 1, "part": "visits", "event": "passed", "attempt": "", "known": false}\n', "utf-8")

    checkout.minigrad("copy")
    said = checkout.minigrad("reset", "lessons/00").stdout

    assert summarize(lines(file, KEYS), "visits").passed
    assert "What you have locked, tried and passed is kept" in said
