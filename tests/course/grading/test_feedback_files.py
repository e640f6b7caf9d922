"""Feedback goes back in the form that a class's system takes: nobody lays out folders by hand."""

from __future__ import annotations

import zipfile

import pytest

from minigrad.course.grading import command
from tests.course.grading.cases import NAME
from tests.course.grading.sandboxes import Told
from tests.course.grading.test_batch import NOTHING, RIGHT, grade_class, hand_in


@pytest.fixture
def graded(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "find_sandbox", lambda unsafe, limits: Told(NOTHING))

    def grade(*places):
        hand_in(tmp_path / "in", **dict.fromkeys(places, RIGHT))
        assert grade_class(tmp_path) == 0
        return tmp_path / "out"

    return grade


def test_moodle_gets_a_zip_with_the_folders_that_it_has_named(graded):
    emmy, ada = "Emmy Noether_815_assignsubmission_file_", "Ada Meyer_816_assignsubmission_file_"
    out = graded(emmy, ada)

    with zipfile.ZipFile(out / f"moodle_{NAME}.zip") as packed:
        assert sorted(packed.namelist()) == [f"{ada}/{NAME}.html", f"{emmy}/{NAME}.html"]
        assert b"Emmy Noether" in packed.read(f"{emmy}/{NAME}.html")


def test_nbgrader_gets_a_folder_with_its_own_time_stamps(graded, tmp_path):
    for name in ("timestamp.txt", "submission_secret.txt", "diary.txt"):
        (tmp_path / "in" / "ada" / NAME).mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / "ada" / NAME / name).write_text(name)
    out = graded(f"ada/{NAME}")

    folder = out / "feedback" / "ada" / NAME
    assert sorted(path.name for path in folder.iterdir()) == [f"{NAME}.html", "submission_secret.txt", "timestamp.txt"]
    assert (folder / "timestamp.txt").read_text() == "timestamp.txt"


def test_a_folder_of_anybody_elses_has_pages_alone(graded):
    out = graded("ada", "bob")

    assert len(list((out / "feedback").iterdir())) == 2
    assert not list(out.glob("moodle_*.zip"))
