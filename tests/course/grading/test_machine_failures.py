"""Days on which something goes wrong around a class: it is said in words, no score is wrong, and nothing is lost."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from minigrad.course.grading import command, gradebook, pages
from minigrad.course.grading.batch import Batch, Course
from minigrad.course.grading.collect import submissions
from minigrad.course.grading.sandbox import Reply
from tests.course.grading.cases import CASES, NAME, ROOT
from tests.course.grading.cases.case import notebook
from tests.course.grading.sandboxes import Told, sandbox_here, sent_by
from tests.course.grading.test_batch import NOTHING, RIGHT, batch, grade_class, hand_in

pytestmark = pytest.mark.skipif(os.name != "posix", reason="submissions are graded where processes can be forked")
SOLUTION = sent_by(RIGHT, NAME)
RIGHTLY = {"cells": {}, "parts": SOLUTION}
LATE = {"cells": {}, "parts": SOLUTION | {"product": [["endless", None, ""]]}}
DIED = {"cells": {}, "parts": SOLUTION | {"product": [["died", None, ""]]}}
CELL_LATE = {"cells": {"given": "was stopped: its time was up"}, "parts": SOLUTION}


class Crowded(Told):
    """A machine on which nothing goes well while two run at once."""

    def __init__(self, answer, **more):
        super().__init__(answer, **more)
        self.together, self.now, self.most = threading.Barrier(2), 0, []

    def run(self, job, *more):
        if len(self.jobs) < 2:
            self.jobs.append(job)
            self.together.wait(20)
            return Reply(self.answer, "" if self.answer else "memory", 0.1)
        self.jobs.append(job)
        self.now += 1
        self.most.append(self.now)
        time.sleep(0.01)
        self.now -= 1
        return Reply(RIGHTLY, "", 0.1)


@pytest.mark.parametrize("stopped", [LATE, DIED, CELL_LATE, None], ids=["late", "died", "cell", "memory"])
def test_what_was_stopped_among_others_is_graded_again_alone_before_it_counts(stopped, tmp_path):
    """Sixty busy processes of one submission cost others up to 8 of 10 points, with the status graded."""
    handed = hand_in(tmp_path / "in", ada=RIGHT, bob=RIGHT + b" ")
    crowded = Crowded(stopped)
    told = []
    results = batch(tmp_path, crowded).run(handed, told.append)

    assert [(r["points"], r["status"], r["stopped"]) for r in results] == [(10, "graded", [])] * 2
    assert crowded.most == [1, 1]
    assert sorted(r["student"] for r in told) == ["ada", "bob"]


@pytest.mark.parametrize(
    ("came", "again"), [(None, True), (DIED, True), (CELL_LATE, True), (LATE, False), (NOTHING, False)]
)
def test_what_has_died_or_could_not_be_graded_is_tried_again_by_the_next_run(came, again, tmp_path):
    """A failure that a busy machine had caused stood there for good."""
    handed = hand_in(tmp_path / "in", ada=RIGHT)
    batch(tmp_path, Told(came)).run(handed)
    (result,) = batch(tmp_path, Told(RIGHTLY)).run(handed)
    assert (result["points"] == 10) is again

    repeated = Told(came)
    batch(tmp_path / "2", Told(came)).run(handed)
    batch(tmp_path / "2", repeated).run(handed)
    assert len(repeated.jobs) == again


def test_what_was_stopped_and_not_yet_tried_alone_does_not_count(tmp_path):
    """A run may be killed between the two."""
    handed = hand_in(tmp_path / "in", ada=RIGHT)
    first = Told(LATE, KeyboardInterrupt(), at=(2,))
    with pytest.raises(KeyboardInterrupt):
        batch(tmp_path, first).run(handed)
    second = Told(RIGHTLY)
    (result,) = batch(tmp_path, second).run(handed)
    assert (result["points"], len(second.jobs)) == (10, 1)


@pytest.fixture
def rightly(monkeypatch):
    told = Told(RIGHTLY)
    monkeypatch.setattr(command, "find_sandbox", lambda unsafe, limits: told)
    monkeypatch.setattr(gradebook, "is_there", lambda: False)  # it takes seconds, and has tests of its own
    return told


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_ended_ends_its_sandboxes_and_goes_on_with_the_rest(how, tmp_path):
    """Ctrl-C waited for all that was handed in."""
    sandbox_here()
    sleeps = notebook(10, before="import time\ntime.sleep(1e6)").data
    handed = hand_in(tmp_path / "in", ada=RIGHT, **{f"z{i}": sleeps + b" " * i for i in range(8)})
    run = "import signal, sys; from minigrad.course.cli import main\n"
    # Shells have programs in the background ignore it.
    run += "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    run += "sys.exit(main(['grade', 'in', '--out', 'out', '--workers', '2']))"
    process = subprocess.Popen([sys.executable, "-c", run], stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    results = tmp_path / "out" / "results"
    while not (results.exists() and any(results.glob("*.json"))):
        time.sleep(0.05)
        assert process.poll() is None
    sandboxes = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(how)
    _, said = process.communicate(timeout=30)

    assert process.returncode == 130
    kept = "1 submissions are graded and saved in out: the same command continues with the rest"
    assert f"minigrad: stopped. {kept}" in said
    assert not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in sandboxes)
    assert [path.name[:3] for path in results.iterdir()] == ["ada"]
    rest = Told(RIGHTLY)
    assert len(batch(tmp_path, rest).run(handed)) == 9
    assert len(rest.jobs) == 8


@pytest.mark.parametrize("after", [1, 3, 6])
def test_a_full_disk_is_a_sentence_and_no_file_is_half_written(after, tmp_path, rightly, capsys, monkeypatch):
    hand_in(tmp_path / "in", ada=RIGHT, bob=RIGHT + b" ", eve=RIGHT + b"  ")
    writes, sync = [], os.fsync

    def full(descriptor):
        writes.append(descriptor)
        if len(writes) > after:
            raise OSError(28, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr("os.fsync", full)
    assert grade_class(tmp_path, "--workers", "1") == 1  # so that a file and its folder follow each other
    assert "(No space left on device): finished results are kept, and the same command" in capsys.readouterr().err
    for path in (tmp_path / "out").rglob("*"):
        assert not path.name.endswith(".tmp")
        if path.suffix == ".json":
            json.loads(path.read_text())
    jobs = len(rightly.jobs)
    monkeypatch.setattr("os.fsync", sync)
    rightly.over = False
    assert grade_class(tmp_path) == 0
    assert len(rightly.jobs) - jobs == 3 - (after + 1) // 2  # each file, and its folder


@pytest.mark.parametrize("damage", ["", "[]", "{}", "null", "[" * 100_000, '{"seal": 1}', "points"])
def test_a_result_that_is_damaged_on_the_disk_is_made_anew(damage, tmp_path):
    """JSON that was no result ended the run, and a figure that had changed was believed."""
    handed = hand_in(tmp_path / "in", ada=RIGHT)
    batch(tmp_path, Told(RIGHTLY)).run(handed)
    (file,) = (tmp_path / "out" / "results").iterdir()
    file.write_text(file.read_text().replace('"points": 10', '"points": 9') if damage == "points" else damage)

    again = Told(RIGHTLY)
    (result,) = batch(tmp_path, again).run(handed)
    assert (result["points"], len(again.jobs)) == (10, 1)


def test_a_damaged_gradebook_is_a_sentence_and_nothing_is_written_over_it(tmp_path, rightly, capsys, monkeypatch):
    pytest.importorskip("nbgrader", reason="the gradebook is nbgrader's")
    monkeypatch.setattr(gradebook, "is_there", lambda: True)
    hand_in(tmp_path / "in", ada=RIGHT)
    book = tmp_path / "out" / gradebook.FILE
    book.parent.mkdir()
    book.write_bytes(b"not a database" * 1000)

    assert grade_class(tmp_path) == 1
    assert f"{book} cannot be used (" in (said := capsys.readouterr().err)
    assert "only it holds the points that people gave" in said
    assert book.read_bytes() == b"not a database" * 1000
    assert not (book.parent / "scores.csv").exists()
    book.unlink()
    assert grade_class(tmp_path) == 0
    assert len(rightly.jobs) == 1


def test_two_graders_do_not_write_into_one_folder_and_who_was_killed_is_in_nobodys_way(tmp_path, rightly, capsys):
    hand_in(tmp_path / "in", ada=RIGHT)
    holds = "import sys, time\nfrom pathlib import Path\nfrom minigrad.course.grading.command import only_one\n"
    holds += "with only_one(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(1e6)"
    other = subprocess.Popen([sys.executable, "-c", holds, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "held\n"
    half = tmp_path / "out" / "results" / ".x.json.0123abcd.minigrad.tmp"
    half.write_text("{")

    assert grade_class(tmp_path) == 1
    assert f"another grader is writing into {tmp_path / 'out'} now" in capsys.readouterr().err
    other.kill()
    other.communicate()
    assert grade_class(tmp_path) == 0
    assert not half.exists()


@pytest.mark.parametrize(("where", "name"), [
    (command, "feedback"), (command, "read"), (pages, "tokens"), (command, "label"),
])  # fmt: skip
def test_whatever_one_submission_raises_wherever_the_class_has_its_scores(where, name, tmp_path, rightly, monkeypatch):
    """On Python 3.13 a lone surrogate ended the run in the search for similar answers."""
    hand_in(tmp_path / "in", ada=RIGHT, bob=RIGHT + b" ")
    whole, calls = getattr(where, name), []

    def fails(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed")
        return whole(*arguments)

    monkeypatch.setattr(where, name, fails)
    assert grade_class(tmp_path) == 0
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [(r["student"], r["points"]) for r in results] == [("ada", 10), ("bob", 10)]
    assert calls
    assert (tmp_path / "out" / "class.html").exists()


def test_a_lone_surrogate_in_an_answer_is_one_more_letter(tmp_path, rightly):
    source = "x = '\ud800'\n" + "\n".join(f"y{i} = [x, {i}, 'a', x]" for i in range(20))
    odd = notebook(10, before=source).data
    hand_in(tmp_path / "in", ada=odd, bob=odd + b" ", eve=RIGHT)

    assert grade_class(tmp_path) == 0
    assert "ada, bob" in (tmp_path / "out" / "class.html").read_text()


def test_a_file_that_vanishes_while_others_are_graded_is_said(tmp_path):
    class Vanishing(Told):
        def run(self, job, *more):
            (tmp_path / "in" / "bob" / f"{NAME}.ipynb").unlink(missing_ok=True)
            return super().run(job, *more)

    handed = hand_in(tmp_path / "in", ada=RIGHT, bob=RIGHT)
    ada, bob = Batch(Course(ROOT / "exercises"), Vanishing(RIGHTLY), tmp_path / "out", 1).run(handed)
    assert (ada["points"], bob["status"]) == (10, "unreadable")
    assert bob["notes"] == [f"bob/{NAME}.ipynb cannot be read: No such file or directory"]


def test_names_at_the_limits_of_a_disk_stop_nothing(tmp_path, rightly):
    names = ["x" * 250, "é" * 120, "😀" * 60, "CON", "nul.", "a\nb", "-", "~", "."]
    hand_in(tmp_path / "in", **{name: RIGHT + b" " * i for i, name in enumerate(names) if name != "."})

    assert grade_class(tmp_path) == 0
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [r["points"] for r in results] == [10] * (len(names) - 1)
    assert not any(r["warnings"] for r in results)


def test_who_grades_is_told_which_file_gave_way_and_who_may_be_several(tmp_path, rightly, capsys):
    hand_in(tmp_path / "in", ada=RIGHT, **{"week1/bob": RIGHT, "week1/eve": RIGHT})
    (tmp_path / "in" / "ada" / "draft.ipynb").write_bytes(CASES["untouched"].data)
    (tmp_path / "in" / "notes.txt").write_text("")

    assert grade_class(tmp_path) == 0
    said = capsys.readouterr()
    assert "minigrad: ignored, as neither notebooks nor in a student's folder: notes.txt" in said.err
    assert f"look       ada: ada/{NAME}.ipynb was graded, not ada/draft.ipynb" in said.out
    assert f"look       week1: week1/eve/{NAME}.ipynb was graded, not week1/bob/{NAME}.ipynb" in said.out
    assert "look       week1: 'week1' was taken for one student, and may hold several, bob, eve: if so" in said.out
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [r["besides"] for r in results] == [["ada/draft.ipynb"], [f"week1/bob/{NAME}.ipynb"]]


def test_a_file_is_of_the_exercise_that_it_is_called_after(tmp_path):
    """In a folder that is called after another exercise it was graded as that."""
    hand_in(tmp_path / "in", ada=RIGHT)
    (tmp_path / "in" / "ada").rename(tmp_path / "in" / "02_backward_by_hand")
    (only,) = submissions(tmp_path / "in")
    assert Course(ROOT / "exercises").exercise_of(only, RIGHT) == NAME
