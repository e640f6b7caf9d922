"""A batch: resumed, never stopped by one, and told in tables and pages that harm nobody."""

import csv
import gc
import io
import json
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from minigrad.course import exercise, referee
from minigrad.course.attempts import FILE, Attempts
from minigrad.course.cli import main
from minigrad.course.exercise import ANSWERS
from minigrad.course.grading import command, gradebook, pages, tables
from minigrad.course.grading.batch import Batch, Course
from minigrad.course.grading.collect import submissions
from minigrad.course.grading.submission import read
from minigrad.course.lessons import STATE
from tests.course.grading.cases import CASES, NAME, ROOT, UNTOUCHED
from tests.course.grading.sandboxes import Told, job, sandbox_here
from tests.support.table import table

RIGHT = CASES["as_it_should_be"].data


def hand_in(folder, exercise=NAME, /, **files):
    """Student → file, put into a folder of each. Returns what is found there."""
    for student, data in files.items():
        path = folder / student / f"{exercise}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return submissions(folder)


def batch(folder, sandbox):
    return Batch(Course(ROOT / "exercises"), sandbox, folder / "out", 2)


def grade_class(folder, *options):
    """Run the command on what is in the folder `in`, and return its exit status."""
    return main(["grade", str(folder / "in"), "--out", str(folder / "out"), *options])


PARTS = ("product", "order", "gradients", "visits", "zero", "eight_signs")
NOTHING = {"cells": {}, "parts": {part: [["gave", 1, ""]] for part in PARTS}}


@pytest.mark.parametrize("place", [f"exercises/{NAME}.ipynb", "exercises"])
def test_a_part_that_was_passed_in_its_course_folder_and_is_wrong_now_says_so(tmp_path, monkeypatch, capsys, place):
    """`status` said passed of a notebook of which `grade` said wrong."""
    monkeypatch.setattr(command, "find_sandbox", lambda unsafe, limits: Told(NOTHING))
    monkeypatch.setattr(gradebook, "is_there", lambda: False)
    (tmp_path / "exercises").mkdir()
    (tmp_path / "exercises" / f"{NAME}.ipynb").write_bytes(RIGHT)
    (tmp_path / STATE).write_text("{}")
    Attempts(tmp_path / FILE).record("order", "passed")

    for _ in range(2):  # the second time from the results that are kept
        assert main(["grade", str(tmp_path / place), "--out", str(tmp_path / "out")]) == 0
        said = capsys.readouterr().out
        assert said.count("passed before, but the current answer is wrong") == 1
        assert "order: passed before, but the current answer is wrong" in said
        (page,) = (tmp_path / "out" / "feedback").glob("*.html")
        assert "Passed before, but the current answer is wrong." in page.read_text("utf-8")


def test_what_is_graded_is_not_graded_again_unless_it_changes(tmp_path):
    handed = hand_in(tmp_path / "in", ada=RIGHT, bob=RIGHT + b" ")
    first = Told(NOTHING)
    before = batch(tmp_path, first).run(handed)
    assert [(result["status"], result["notes"], result["stopped"]) for result in before] == [("graded", [], [])] * 2
    second = Told(NOTHING)
    assert batch(tmp_path, second).run(handed) == before
    assert (len(first.jobs), len(second.jobs)) == (2, 0)

    handed = hand_in(tmp_path / "in", bob=RIGHT + b"  ")
    third = Told(NOTHING)
    batch(tmp_path, third).run(handed)
    assert len(third.jobs) == 1
    assert len(list((tmp_path / "out" / "results").iterdir())) == 2


class Cycle:
    """Garbage whose collection runs Python code, so that another thread goes on in the middle of a parse."""

    def __init__(self):
        self.me = self

    def __del__(self):
        sum(range(500))


def test_threads_that_parse_at_once_do_not_grade_twice(tmp_path, monkeypatch):
    """A SystemError of Python 3.11 made a submission be graded again, alone."""
    monkeypatch.setattr(referee, "split", referee.split.__wrapped__)
    handed = hand_in(tmp_path / "in", **{f"s{i}": RIGHT + b" " * i for i in range(12)})
    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(50)
    sys.setswitchinterval(1e-6)
    try:
        sandbox = Told(NOTHING)
        monkeypatch.setattr(sandbox, "run", lambda job: ([Cycle() for _ in range(40)], Told.run(sandbox, job))[1])
        results = Batch(Course(ROOT / "exercises"), sandbox, tmp_path / "out", 4).run(handed)
    finally:
        gc.set_threshold(*threshold)
        sys.setswitchinterval(interval)
    assert [result["notes"] for result in results] == [[]] * 12
    assert len(sandbox.jobs) == 12


def test_of_two_notebooks_for_one_exercise_one_is_graded_and_the_other_is_named(tmp_path):
    """Both had one file of results, and the points of whichever name came last in the alphabet."""
    draft = tmp_path / "in" / "ada" / "zz_draft.ipynb"
    hand_in(tmp_path / "in", ada=RIGHT, bob=RIGHT + b" ")
    draft.write_text(json.dumps(UNTOUCHED), "utf-8")
    course = Course(ROOT / "exercises")

    handed = course.submissions(tmp_path / "in")
    results = batch(tmp_path, Told(NOTHING)).run(handed)

    assert [(r["student"], r["file"]) for r in results] == [("ada", NAME), ("bob", NAME)]
    assert results[0]["notes"][0].endswith("was graded, not ada/zz_draft.ipynb.")
    assert results[1]["notes"] == []
    assert batch(tmp_path, Told(NOTHING)).run(handed) == results


@pytest.mark.parametrize("names", [(NAME, f"{NAME} (1)"), (f"{NAME} (1)", NAME), ("x_" + NAME, NAME)])
def test_an_edited_notebook_counts_before_an_untouched_copy(names, tmp_path):
    """A student who had downloaded the notebook twice got the points of the untouched copy: its number was higher."""
    folder = tmp_path / "in" / "ada"
    folder.mkdir(parents=True)
    for name, data in zip(names, (RIGHT, json.dumps(UNTOUCHED).encode())):
        (folder / f"{name}.ipynb").write_bytes(data)
    course = Course(ROOT / "exercises")

    (only,) = course.submissions(tmp_path / "in")
    assert only.data() == RIGHT


@pytest.mark.parametrize("other", [f"{NAME}_old", f"{NAME}-Copy1", f"my {NAME}", "zz"])
def test_the_file_with_the_name_of_the_exercise_counts_before_files_with_more_in_their_names(other, tmp_path):
    """docs/classroom.md promised it, and `NAME_old.ipynb` counted, as it sorts behind `NAME.ipynb`."""
    for name, data in ((NAME, RIGHT), (other, RIGHT + b" ")):
        hand_in(tmp_path / "in", name, ada=data)

    (only,) = Course(ROOT / "exercises").submissions(tmp_path / "in")
    assert (only.file, len(only.besides)) == (NAME, 1)


def test_the_exercise_of_a_submission_is_found_without_reading_answers(tmp_path, monkeypatch):
    """All answers were read each time: of the 60 s that a folder of 190 names took, 55."""
    for name in ("zz", NAME, f"{NAME}_old"):
        hand_in(tmp_path / "in", name, ada=RIGHT)
    monkeypatch.setattr(exercise, "part_of", lambda *args: pytest.fail("answers were read"))
    course = Course(ROOT / "exercises")

    assert [course.exercise_of(each) for each in course.submissions(tmp_path / "in")] == [NAME]


def test_what_a_notebook_says_it_answers_counts_before_the_name_of_a_folder(tmp_path):
    folder = tmp_path / "in" / "ada" / "02_backward_by_hand"
    folder.mkdir(parents=True)
    (folder / "final.ipynb").write_bytes(RIGHT)
    (folder / "other.ipynb").write_bytes(b'{"cells": []}')
    course = Course(ROOT / "exercises")

    assert {each.file: course.exercise_of(each) for each in course.submissions(tmp_path / "in")} == {
        "final": NAME, "other": "02_backward_by_hand",
    }  # fmt: skip


def test_a_result_that_was_cut_short_is_made_anew(tmp_path):
    handed = hand_in(tmp_path / "in", ada=RIGHT)
    batch(tmp_path, Told(NOTHING)).run(handed)
    (file,) = (tmp_path / "out" / "results").iterdir()
    file.write_text(file.read_text()[:50])

    again = Told(NOTHING)
    batch(tmp_path, again).run(handed)
    assert len(again.jobs) == 1
    assert json.loads(file.read_text())["student"] == "ada"


def test_one_bad_submission_stops_no_other(tmp_path):
    handed = hand_in(tmp_path / "in", ada=RIGHT, bob=b"no notebook", eve=RIGHT + b" ")
    results = batch(tmp_path, Told(NOTHING, RuntimeError("of our own"), at=(1, 3))).run(handed)

    assert sorted(r["status"] for r in results) == ["failed", "graded", "unreadable"]
    (failed,) = (r for r in results if r["status"] == "failed")
    assert failed["notes"] == ["the grader itself failed on it: RuntimeError: of our own"]
    assert tables.score(failed) is None


def test_without_time_there_is_no_score(tmp_path):
    (result,) = batch(tmp_path, Told(None)).run(hand_in(tmp_path / "in", ada=RIGHT))
    assert (result["status"], result["points"], tables.score(result)) == ("failed", 0, None)
    assert result["notes"] == ["Nothing could be checked: it was still running after 240 s and was stopped."]


def test_what_runs_in_a_sandbox_is_ended_when_it_is_over_and_nothing_begins_after():
    sandbox = sandbox_here()
    sleeps = job("import time\ntime.sleep(1e6)")
    with ThreadPoolExecutor() as pool:
        running = [pool.submit(sandbox.run, sleeps) for _ in range(2)]
        while len(sandbox.running) < 2:
            time.sleep(0.01)
        sandbox.end()
        replies = [future.result(30) for future in [*running, pool.submit(sandbox.run, sleeps)]]
    assert [reply.data for reply in replies] == [None] * 3
    assert not sandbox.running


def test_two_students_of_names_that_look_alike_have_files_of_their_own(tmp_path):
    handed = hand_in(tmp_path / "in", **{"a b": RIGHT, "a_b": RIGHT, "a+b": RIGHT})
    batch(tmp_path, Told(NOTHING)).run(handed)
    assert len(list((tmp_path / "out" / "results").iterdir())) == 3


# -- what is told -------------------------------------------------------------------------------------


def result(student="ada", points=2, status="graded", shows="", exercise=NAME, state="", **more):
    state = state or ("pass" if points else "fail")
    parts = {"product": {"state": state, "points": points, "of": 2, "says": [], "hint": "", "shows": shows}}
    who = {"student": student, "name": "", "file": exercise, "where": f"{student}/x.ipynb", "exercise": exercise}
    return {**who, "digest": "", "status": status, "points": points, "of": 2, "notes": [], "parts": parts, **more}


FORMULAS = [
    "=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "＝1", "  =1", "x;=1", 'x; "@SUM(A1)', "x|+1", "a\n=1",
    "\r=1", "\u2028=1", "x;\t＠1", "\ufeff=1", "\x1b;=1",
]  # fmt: skip


@table("name", FORMULAS)
@pytest.mark.parametrize("divided", [",", ";", "\t", "|"])
def test_no_cell_of_a_table_is_a_formula_wherever_lines_are_divided(name, divided):
    mine = result(name, 0, notes=[name], shows=name)
    written, named = tables.tables([mine]), tables.tables([mine | {"name": name}])
    for text in (written["scores.csv"], written["canvas.csv"], named["moodle.csv"]):
        assert not any(letter in text for letter in "\r\t\x1b\u2028\ufeff")
        for row in csv.reader(io.StringIO(text), delimiter=divided, quoting=csv.QUOTE_MINIMAL):
            assert not any(cell.lstrip(' "').startswith(tuple("=+-@＝＋－＠")) for cell in row)


def test_tables_keep_what_is_no_formula():
    """Canvas wants the spaces before Points Possible, and a name its apostrophe."""
    assert [*map(tables.safe, ["    Points Possible", "O'Brien-Smith", "1 = 2; a, -b", 3, 4.5])] == [
        "    Points Possible", "O'Brien-Smith", "1 = 2; a, -b", 3, 4.5,
    ]  # fmt: skip
    assert len(tables.safe("x" * 10**6)) <= 32_767


def test_a_class_in_tables():
    results = [result("ada"), result("bob", 0, "unreadable", state="wait"), result("eve", 1, exercise="02_x")]
    canvas = list(csv.DictReader(io.StringIO(tables.tables(results)["canvas.csv"])))
    assert [(row["ID"], row[NAME], row["02_x"]) for row in canvas] == [
        ("", "2", "2"), ("ada", "2", ""), ("bob", "", ""), ("eve", "", "1"),
    ]  # fmt: skip
    plain = list(csv.DictReader(io.StringIO(tables.tables(results)["scores.csv"])))
    assert [(row["student"], row["status"], row[f"{NAME}: product"]) for row in plain] == [
        ("ada", "graded", "2"), ("bob", "unreadable", ""), ("eve", "graded", ""),
    ]  # fmt: skip


def test_what_a_student_writes_is_text_on_every_page():
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    mine = result(evil, 0, name=evil, notes=[evil], shows=evil)
    mine["parts"]["product"] |= {"says": [evil], "hint": evil}
    for page in (pages.feedback(mine, evil), pages.class_report([mine | {"status": "crashed"}], {})):
        assert "<script" not in page
        assert "<img" not in page
        assert "&lt;script&gt;" in page
        assert "default-src 'none'" in page


def test_what_stands_between_backticks_is_code_and_text_all_the_same():
    mine = result(points=0)
    mine["parts"]["product"] |= {"says": ["Is `a < b` <i> right?"], "hint": "`x`"}
    page = pages.feedback(mine, "x")
    assert "Is <code>a &lt; b</code> &lt;i&gt; right?" in page
    assert "<code>x</code>" in page
    results = [result(points=0, shows="`y` is read as `x`"), result("b", notes=["`z`"], status="crashed")]
    of_class = pages.class_report(results, {})
    assert "<code>y</code> is read as <code>x</code>" in of_class
    assert "<code>z</code>" in of_class
    assert "`" not in of_class


def test_a_class_report_counts_misconceptions_and_difficulty():
    results = [result(f"s{i}", 2 * (i % 2), shows="" if i % 2 else "takes it for a sum") for i in range(10)]
    page = pages.class_report(results, {})
    assert "takes it for a sum</td><td class=number>5" in page
    assert "product</td><td>50%" in page
    assert 'aria-label="submissions by points: 0: 5, 2: 5"' in page
    assert re.findall(r"<text[^>]*>([a-z]+)</text>", page) == ["points", "submissions"]  # of the axes


def test_three_submissions_have_no_statistics_and_a_room_has_its_table():
    few = pages.class_report([result(f"s{i}", 2 * (i % 2), shows="takes it for a sum") for i in range(3)], {})
    room = pages.class_report([result()], {}, room=[["question", "shows"], ["boxes", "<b>One too many"]])
    assert "are not shown" in few
    assert "takes it for a sum</td><td class=number>3" in few
    assert not re.search("discrimination|Time spent|<svg", few)
    assert "<td>boxes</td><td>&lt;b&gt;One too many</td>" in room


def test_time_spent_is_told_where_notebooks_tell_and_unknown_elsewhere():
    assert "Time spent: unknown." in pages.class_report([result(f"s{i}", minutes=0.0) for i in range(4)], {})
    told = pages.class_report([result(f"s{i}", minutes=m) for i, m in enumerate((10.0, 20.0, 31.0))] + [result()], {})
    assert "Time spent, in 3 notebooks that record it: 10 to 31 minutes, median 20; 1 do not." in told


def test_what_tells_strong_from_weak_is_a_correlation():
    rest = [0, 1, 2, 3]
    results = [{"points": n + got, "parts": {"p": {"points": got}}} for n, got in zip(rest, (0, 0, 1, 1))]
    assert pages.discrimination(results, "p", [False, False, True, True]) == "0.89"
    assert pages.discrimination(results, "p", [True] * 4) == "–"


LONG = "\n".join(f"def f{i}(a, b):\n    c = a * {i} + b\n    return [c, a - b, {{'k': c}}]" for i in range(5))


def test_answers_are_alike_whatever_names_they_have():
    other = LONG.replace("a", "x").replace("f", "g").replace("retxrn", "return").replace("deg", "def")
    sources = {"ada": LONG, "bob": other + "  # mine", "eve": "\n".join(f"x{i} = sum(range({i}))" for i in range(40))}
    ((who, share),) = pages.groups(sources)
    assert who == {"ada", "bob"}
    assert share > 0.9


def test_who_is_alike_over_another_is_of_the_group(monkeypatch):
    monkeypatch.setattr(pages, "fingerprint", lambda source: {*range(int(source), int(source) + 20)})
    assert pages.groups({"kim": "40", "ada": "0", "eve": "2", "bob": "1"}) == [({"ada", "bob", "eve"}, 19 / 21)]


def test_short_answers_and_what_is_no_python_are_like_nothing():
    assert pages.groups({"ada": "x = 1", "bob": "x = 1", "eve": "def (" * 100, "kim": "def (" * 100}) == []


# -- the command --------------------------------------------------------------------------------------


def test_the_command_grades_a_class(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "find_sandbox", lambda unsafe, limits: Told(NOTHING))
    hand_in(tmp_path / "in", ada=RIGHT, bob=b"", **{"..": RIGHT})
    assert grade_class(tmp_path) == 0
    said = capsys.readouterr().out
    assert "2 submissions: 1 graded, 1 unreadable" in said
    assert "unreadable bob: the file is empty" in said
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {
        "scores.csv", "canvas.csv", "moodle.csv", "results.json", "class.html", "feedback", "results",
    }  # fmt: skip
    links = re.findall(r'href="([^"]*)"', (tmp_path / "out" / "class.html").read_text("utf-8"))
    assert len(links) == 2
    assert all((tmp_path / "out" / link).is_file() for link in links)
    assert grade_class(tmp_path, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [(each["student"], each["status"]) for each in told] == [("ada", "graded"), ("bob", "unreadable")]


def test_the_command_says_why_it_cannot_begin(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("minigrad.course.grading.sandbox.no_bubblewrap", lambda: "bubblewrap is for Linux")
    monkeypatch.setattr("minigrad.course.grading.sandbox.no_container", lambda: "there is no docker and no podman")
    hand_in(tmp_path / "in", ada=RIGHT)
    assert grade_class(tmp_path) == 1
    why = "this machine has no sandbox for them: bubblewrap is for Linux; there is no docker"
    assert why in capsys.readouterr().err
    assert grade_class(tmp_path, "--exercise", "99") == 1
    assert "there is no exercise '99': there are 01_scalar_engine" in capsys.readouterr().err
    assert main(["grade", str(tmp_path / "nowhere"), "--out", str(tmp_path / "out"), "--unsafe"]) == 1
    assert "there is no" in capsys.readouterr().err


def test_the_command_refuses_what_it_could_not_end(tmp_path, capsys, monkeypatch):
    """Each of these was a traceback, and results among the submissions were graded at the next run."""
    monkeypatch.setattr(command, "find_sandbox", lambda unsafe, limits: Told(NOTHING))
    hand_in(tmp_path / "in", ada=RIGHT)
    (tmp_path / "file").write_text("")
    out = ["--out", str(tmp_path / "out")]
    refused = {
        "cannot write in": ["--out", str(tmp_path / "file")],
        "(Not a directory)": ["--out", str(tmp_path / "file" / "out")],
        "would be graded next time": ["--out", str(tmp_path / "in" / "out")],
        "such as 01_scalar_engine.json": [*out, "--answers", str(tmp_path / "none")],
        "must be the number of jobs": [*out, "--workers", "-3"],
    }
    for why, options in refused.items():
        assert main(["grade", str(tmp_path / "in"), *options]) == 1
        assert why in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"in", "file"}
    assert main(["grade", str(tmp_path / "in" / "ada"), "--out", str(tmp_path / "in" / "out")]) == 0


def test_a_place_that_submissions_can_read_is_refused(tmp_path, capsys, monkeypatch):
    """An environment made in the grading folder itself: the sandbox shows all of it, private answers too."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "class"))
    for name in ("class/in", "class/own", "in", "own"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "class")
    for folder in ("class/own", "own"):
        (tmp_path / folder / f"{NAME}.json").write_bytes((ANSWERS / f"{NAME}.json").read_bytes())
    for place, out, own in (("class/in", "out", "own"), ("in", "class/out", "own"), ("in", "out", "link/own")):
        folders = [str(tmp_path / place), "--out", str(tmp_path / out), "--answers", str(tmp_path / own)]
        assert main(["grade", *folders]) == 1
        assert f"lies in {tmp_path / 'class'}, which submissions can read" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_is_not_enforced_is_said_at_the_start_and_in_the_report(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "find_sandbox", lambda unsafe, limits: Told(NOTHING))
    hand_in(tmp_path / "in", ada=RIGHT)
    assert grade_class(tmp_path) == 0
    assert capsys.readouterr().err.startswith("minigrad: not enforced here: there is no sandbox: every submission can")
    assert "Not enforced: there is no sandbox" in (tmp_path / "out" / "class.html").read_text("utf-8")
    assert "enforced" not in pages.class_report([result()], {})


def test_an_exercise_without_answers_of_ones_own_fails_and_stops_no_other(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "find_sandbox", lambda unsafe, limits: Told(NOTHING))
    hand_in(tmp_path / "in", ada=RIGHT)
    (tmp_path / "in" / "ada" / "02_backward_by_hand.ipynb").write_bytes(RIGHT)
    own = tmp_path / "own" / f"{NAME}.json"
    own.parent.mkdir()
    own.write_bytes((ANSWERS / f"{NAME}.json").read_bytes())

    assert grade_class(tmp_path, "--answers", str(own.parent), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert {each["exercise"]: each["status"] for each in told} == {NAME: "graded", "02_backward_by_hand": "failed"}


def test_the_worksheet_has_the_columns_without_which_moodle_takes_none():
    """Those that its importer looks for: mod/assign/feedback/offline/importgradeslib.php."""
    (row,) = csv.DictReader(io.StringIO(tables.tables([result("815")])["moodle.csv"]))
    assert row.keys() >= {"Identifier", "Grade", "Last modified (grade)", "Feedback comments"}
    assert (row["Identifier"], row["Last modified (grade)"]) == ("Participant 815", "")


def test_the_gradebook_has_each_score_once(tmp_path, monkeypatch):
    api = pytest.importorskip("nbgrader.api", reason="the gradebook is nbgrader's")
    results = [result("ada"), result("bob", 0)]
    for _ in range(2):
        gradebook.write(tmp_path, results)
    gradebook.write(tmp_path, [result("bob", 2)])
    with api.Gradebook(f"sqlite:///{tmp_path / gradebook.FILE}") as book:
        scores = {s.student_id: s.score for s in book.assignment_submissions(NAME)}
    assert scores == {"ada": 2, "bob": 2}


def test_a_person_is_shown_code_and_words_and_no_output(tmp_path):
    nb = json.loads(RIGHT)
    nb["cells"][1]["outputs"] = [{"output_type": "display_data", "data": {"text/html": "<script>"}, "metadata": {}}]
    made = json.loads(gradebook.readable(read(json.dumps(nb).encode()), result()))
    assert all(not cell.get("outputs") for cell in made["cells"])
    assert "<script>" not in json.dumps(made)
    marked = [cell["metadata"]["nbgrader"]["grade_id"] for cell in made["cells"] if "nbgrader" in cell["metadata"]]
    assert marked == ["product", "check-product"]


def test_names_and_texts_that_no_encoding_has_stop_nothing(tmp_path, monkeypatch, capsys):
    odd = "\udcff\ud800"
    answer = {"cells": {odd: f"ValueError: {odd}"}, "parts": NOTHING["parts"]}
    monkeypatch.setattr(command, "find_sandbox", lambda unsafe, limits: Told(answer))
    hand_in(tmp_path / "in", **{"ada\udcff": RIGHT, "x" * 200: RIGHT})
    assert grade_class(tmp_path) == 0
    results = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))
    assert sorted(r["student"] for r in results) == ["ada\\udcff", "x" * 200]
    assert all(r["status"] == "graded" for r in results)
