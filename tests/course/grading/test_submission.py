"""What is read from a file that somebody has handed in."""

import json

import pytest

from minigrad.course.grading.submission import Release, Unreadable, read, to_run


def notebook(*cells, **more):
    return json.dumps({"cells": list(cells), **more}).encode()


def cell(source, name="a", **metadata):
    return {"cell_type": "code", "id": name, "metadata": metadata, "source": source}


def at(time):
    return cell("1", execution={"iopub.execute_input": time})


def test_pauses_are_no_time_spent():
    times = ["2026-11-20T10:00:00.000000Z", "2026-11-20T10:05:00Z", "2026-11-20T12:00:00Z", "2026-11-20T12:03:30Z"]
    assert read(notebook(*map(at, times))).minutes == 8.5


@pytest.mark.parametrize("time", [None, 3, "yesterday", [], "0001-01-01T00:00:00Z", "9" * 10_000])
def test_times_that_are_none_are_passed_over(time):
    assert read(notebook(at(time), at("2026-11-20T10:00:00Z"))).minutes == 0.0


EXERCISE = Release({"given": "x = 1"}, ("check-part",))


def test_the_exercises_own_code_is_run_after_what_came_back_in_its_place():
    handed = read(notebook(cell("import numpy\nx = 2", "given"), cell("y = 3", "part")))
    told = [(each.name, each.source) for each in to_run(handed, EXERCISE)]
    assert told == [("given (as handed in)", "import numpy\nx = 2"), ("given", "x = 1"), ("part", "y = 3")]


def test_a_space_that_nobody_sees_is_no_change():
    handed = read(notebook(cell("x = 1  \r\n\n", "given")))
    assert [each.name for each in to_run(handed, EXERCISE)] == ["given"]


def test_code_that_is_missing_comes_first_and_copies_keep_their_order():
    handed = read(notebook(cell("y = 3", "part"), cell("y = 4", "part"), cell("z = 5", "other")))
    names = [each.name for each in to_run(handed, EXERCISE)]
    assert names == ["given", "part", "part (2)", "other"]


def test_the_name_that_nbgrader_gave_counts_before_the_id():
    (known,) = read(notebook(cell("1", "x7", nbgrader={"grade_id": "part"}))).cells
    assert known.name == "part"


@pytest.mark.parametrize(("data", "words"), [
    (b"", "empty"), (b"[]", "not a notebook"), (b"{}", "without cells"), (b'{"cells": 3}', "without cells"),
    (b"{", "not a notebook"), (b"\xff\xfe\x00", "no"), (notebook(*[cell("1")] * 3000), "3000 cells; at most"),
])  # fmt: skip
def test_what_is_no_notebook_says_why(data, words):
    with pytest.raises(Unreadable, match=words):
        read(data)
