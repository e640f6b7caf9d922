"""A failure in one submission, at any stage, is recorded for that submission alone, and the run goes on."""

import json
import zipfile

import pytest

from minigrad.course.grading import batch, collect, command, submission
from minigrad.course.grading.collect import submissions
from minigrad.course.grading.submission import Unreadable, read
from tests.course.grading.cases import NAME
from tests.course.grading.sandboxes import Told, sent_by
from tests.course.grading.test_batch import NOTHING, RIGHT, grade_class, hand_in
from tests.course.grading.test_collect import NOTEBOOK, pack, zipped

EVES = RIGHT.replace(b'"nbformat": 4', b'"eve": 1, "nbformat": 4')
DIGITS = "9" * 5_000
SOLUTION = sent_by(RIGHT, NAME)


@pytest.fixture
def grade_all(tmp_path, monkeypatch):
    """Grades the class in tmp_path / "in", and returns student → result."""
    monkeypatch.setattr(command, "find_sandbox", lambda unsafe, limits: Told(NOTHING))

    def grade():
        assert grade_class(tmp_path) == 0
        return {each["student"]: each for each in json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))}

    return grade


STAGES = {
    "to open its zip": (collect, "expand"), "to tell whose it is": (collect, "owner"),
    "to look for several students": (collect, "several_students"), "to choose the newest": (collect, "newest"),
    "to tell which exercise it answers": (batch.Course, "exercise_of"), "to read it": (batch, "digest_of"),
    "to grade it": (batch, "grade"), "to cut its texts": (batch, "sanitize"), "to read it again": (command, "read"),
    "to write its page": (command, "feedback"), "to give it back": (command, "for_nbgrader"),
}  # fmt: skip


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_that_fails_for_one_student_does_not_affect_the_others(stage, grade_all, tmp_path, monkeypatch):
    module, name = STAGES[stage]
    works = getattr(module, name)
    torn = []

    def tear(*args, **options):
        if "eve" in repr(args) or b"eve" in next((each for each in args if isinstance(each, bytes)), b""):
            torn.append(args)
            if len(torn) == 1:
                raise LookupError("torn on purpose")
        return works(*args, **options)

    hand_in(tmp_path / "in", ada=RIGHT, bob=RIGHT + b" ", eve=EVES)
    monkeypatch.setattr(module, name, tear)
    found = grade_all()

    assert torn, "the stage was never reached"
    assert found.keys() == {"ada", "bob", "eve"}
    assert [found[student]["status"] for student in ("ada", "bob")] == ["graded", "graded"]
    assert (tmp_path / "out" / "scores.csv").exists()


def test_a_file_name_with_a_number_of_five_thousand_digits_is_graded(grade_all, tmp_path):
    """int() raised a ValueError, and this and every later run ended without a table."""
    folder = tmp_path / "in"
    hand_in(folder, ada=RIGHT)
    (folder / "eve.zip").write_bytes(zipped({f"{NAME}-{DIGITS}.ipynb": RIGHT, f"{NAME}-2.ipynb": b"old"}))

    assert {student: each["status"] for student, each in grade_all().items()} == {"ada": "graded", "eve": "graded"}


def test_a_path_in_a_zip_that_is_too_long_for_the_disk_is_graded(grade_all, tmp_path):
    folder = tmp_path / "in"
    hand_in(folder, ada=RIGHT)
    (folder / "eve.zip").write_bytes(zipped({f"{'x' * 4_500}/{NAME}.ipynb": RIGHT}))

    assert {student: each["status"] for student, each in grade_all().items()} == {"ada": "graded", "eve": "graded"}


@pytest.mark.parametrize("more", [[], [["gave", 1, ""]]], ids=["too few", "too many"])
def test_a_part_with_another_number_of_outcomes_has_no_points(more, grade_all, tmp_path, monkeypatch):
    """An IndexError made all of it `failed`."""
    came = SOLUTION["product"] + more if more else SOLUTION["product"][:1]
    answer = {"cells": {}, "parts": SOLUTION | {"product": came}}
    monkeypatch.setattr(command, "find_sandbox", lambda unsafe, limits: Told(answer))
    hand_in(tmp_path / "in", eve=RIGHT)
    result = grade_all()["eve"]

    assert (result["status"], result["parts"]["product"]["state"]) == ("crashed", "died")
    assert result["points"] == result["of"] - result["parts"]["product"]["of"]


# -- limits: a notebook at a limit is accepted, and one above is refused ---------------------------------------


def notebook(source="", outputs=(), cells=1):
    cell = {"cell_type": "code", "id": "c", "source": source, "outputs": [{"text": [*outputs]}], "metadata": {}}
    return json.dumps({"cells": [cell] * cells, "nbformat": 4, "nbformat_minor": 5}).encode()


def cells_of(each, number):
    return b'{"cells": [%s]}' % b",".join([each] * number)


LINES = submission.MOST_ITEMS - notebook().count(b",")
LIMITS = {
    "cells": (notebook(cells=submission.MOST_CELLS), notebook(cells=submission.MOST_CELLS + 1), "2001 cells"),
    "cells that are none": (cells_of(b"[]", 2_000), cells_of(b"[]", 2_001), "2001 cells"),
    "characters": (notebook("#" * (4 << 20)), notebook("#" * (1 + (4 << 20))), "4194305 characters"),
    "lines": (notebook(outputs=["a"] * LINES), notebook(outputs=["a"] * (LINES + 2)), "at most 1000000"),
    "bytes": (NOTEBOOK.ljust(submission.LARGEST), NOTEBOOK.ljust(submission.LARGEST + 1), "more than 20 MB"),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_notebook_at_a_limit_is_read_and_one_above_it_is_refused(limit):
    at, above, why = LIMITS[limit]
    assert read(at) is not None
    with pytest.raises(Unreadable, match=why):
        read(above)


def test_zips_in_a_zip_are_limited_and_the_outer_one_is_read_once(tmp_path, monkeypatch):
    """The outer zip was read again for each inner one: 1,000 took seconds, and 4,000 did not finish."""
    inner = zipped({"01_a.ipynb": NOTEBOOK})
    opened = []
    whole = zipfile.ZipFile
    monkeypatch.setattr(collect.zipfile, "ZipFile", lambda *args: opened.append(args) or whole(*args))
    work = {f"{i}.zip": inner for i in range(collect.MOST_ZIPS)}
    (found,) = submissions(pack(tmp_path, {"ada/work.zip": zipped(work)}))

    assert found.data() == NOTEBOOK
    assert len(opened) <= 2 * collect.MOST_ZIPS + 5
    (found,) = submissions(pack(tmp_path, {"ada/work.zip": zipped(work | {"more.zip": inner})}))
    with pytest.raises(Unreadable, match=f"holds 21 zips; at most {collect.MOST_ZIPS}"):
        found.data()


def test_zips_in_a_zip_have_no_more_bytes_and_files_than_one_zip(tmp_path, monkeypatch):
    """20 zips of 38 MB took 39 s, and 20 of 20,000 files each minutes: each had the limits of the whole."""
    monkeypatch.setattr(collect, "LARGEST_ZIP", 1 << 20)
    monkeypatch.setattr(collect, "MOST_FILES", 100)
    half = zipped({"01_a.ipynb": NOTEBOOK, "rest": bytes(1 << 19)}, zipfile.ZIP_STORED)
    many = zipped({f"{i}.ipynb": NOTEBOOK for i in range(60)})

    def read(*inner):
        work = zipped({f"{i}.zip": data for i, data in enumerate(inner)})
        (found,) = submissions(pack(tmp_path, {"ada/work.zip": work}), subject=lambda each: "")
        return [each for each in (found.where, *found.besides) if each.endswith(".zip")]

    assert read(half) == []
    assert read(half, half) == ["ada/work.zip/1.zip"]
    assert read(many) == []
    assert read(many, many) == ["ada/work.zip/1.zip"]


def test_a_file_in_more_than_twenty_folders_of_a_zip_is_refused(tmp_path):
    """Folders go 20 deep; in zips 15,000 names of 900 folders each took a minute."""
    at, above = ("x/" * depth + "01_a.ipynb" for depth in (collect.DEEPEST - 1, collect.DEEPEST))
    (found,) = submissions(pack(tmp_path, {"ada/" + at: NOTEBOOK}))
    assert found.data() == NOTEBOOK
    (found,) = submissions(pack(tmp_path, {"ada/" + above: NOTEBOOK}))
    with pytest.raises(Unreadable, match="more than 20 folders"):
        found.data()
    (found,) = submissions(pack(tmp_path, {"../" * 30 + "ada/" + above: NOTEBOOK}))
    assert (found.student, found.where) == ("ada", "ada/…/01_a.ipynb")


def test_notebooks_of_a_student_that_unpack_to_more_than_eighty_megabytes_are_refused(tmp_path):
    """100 notebooks of 20 MB, packed to 2 MB, took 80 s."""
    large = NOTEBOOK + b" " * (collect.LARGEST - len(NOTEBOOK))
    at = {f"{i}.ipynb": large for i in range(4)}
    assert len(submissions(pack(tmp_path, {"ada/work.zip": zipped(at)}))) == 4
    (found,) = submissions(pack(tmp_path, {"ada/work.zip": zipped(at | {"5.ipynb": NOTEBOOK})}))
    with pytest.raises(Unreadable, match="exceed 80 MB"):
        found.data()


def test_names_of_cells_that_the_submission_does_not_have_are_in_no_result(grade_all, tmp_path, monkeypatch):
    """A reply with 60,000 invented cell names made a result of 2.5 MB."""
    stopped = dict.fromkeys(map(str, range(60_000)), "ended the process")
    monkeypatch.setattr(command, "find_sandbox", lambda unsafe, limits: Told({"cells": stopped, "parts": SOLUTION}))
    hand_in(tmp_path / "in", eve=RIGHT)

    assert (grade_all()["eve"]["stopped"], grade_all()["eve"]["points"]) == ([], 10)


def test_format_4_with_an_empty_list_of_worksheets_is_format_4():
    """It was read as format 3, which keeps cells in worksheets, and got 0 points."""
    assert read(json.dumps(json.loads(RIGHT) | {"worksheets": []}).encode()).cells == read(RIGHT).cells
