"""Submissions are found wherever a system puts them, and no name leads anywhere."""

import io
import zipfile

import pytest

from minigrad.grading.collect import NothingFound, submissions
from minigrad.grading.submission import LARGEST, Unreadable

NOTEBOOK = b'{"cells": []}'


def put(folder, name, data=NOTEBOOK):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def known(place):
    return [(each.student, each.name, each.file) for each in submissions(place)]


LAYOUTS = {
    "Canvas": (
        {"meyerada_4711_9_01_scalar_engine.ipynb": 0, "noether_LATE_12_10_01_scalar_engine-1.ipynb": 0},
        [("12", "noether", "01_scalar_engine"), ("4711", "meyerada", "01_scalar_engine")],
    ),
    "Moodle": (
        {"Emmy Noether_815_assignsubmission_file_/01_scalar_engine.ipynb": 0,
         "Ada Meyer_816_assignsubmission_file/01_scalar_engine (2).ipynb": 0},
        [("815", "Emmy Noether", "01_scalar_engine"), ("816", "Ada Meyer", "01_scalar_engine")],
    ),
    "nbgrader": (
        {"ada/ps1/01_scalar_engine.ipynb": 0, "ada/ps1/02_backward_by_hand.ipynb": 0},
        [("ada", "", "01_scalar_engine"), ("ada", "", "02_backward_by_hand")],
    ),
    "Canvas, anonymous": (
        {"anon_Ab12C_9_01_scalar_engine.ipynb": 0, "LATE_anon_xY3_10_01_scalar_engine.ipynb": 0},
        [("anon_Ab12C", "", "01_scalar_engine"), ("anon_xY3", "", "01_scalar_engine")],
    ),
    "Canvas, names with a line in them": (
        {"van_der_berg_LATE_12_10_01_a.ipynb": 0}, [("12", "van_der_berg", "01_a")],
    ),
    "Moodle, without folders": (
        {"Emmy Noether_815_assignsubmission_file_01_scalar_engine.ipynb": 0,
         "Gruppe 3-Ada Meyer_816_assignsubmission_file_01_scalar_engine (2).ipynb": 0},
        [("815", "Emmy Noether", "01_scalar_engine"), ("816", "Gruppe 3-Ada Meyer", "01_scalar_engine")],
    ),
    "inbound": ({"ada+ps1+2026-11-20 10:00:00 UTC+x1/01_a.ipynb": 0}, [("ada", "", "01_a")]),
    "a folder each": ({"ada/01_a.ipynb": 0, "bob/01_a.ipynb": 0}, [("ada", "", "01_a"), ("bob", "", "01_a")]),
    "a file each": ({"ada.ipynb": 0, "bob.ipynb": 0}, [("ada", "", "ada"), ("bob", "", "bob")]),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_is_read_from_a_folder_and_from_a_zip(layout, tmp_path):
    files, found = LAYOUTS[layout]
    for name in files:
        put(tmp_path / "in", name)
    (tmp_path / "all.zip").write_bytes(zipped(dict.fromkeys(files, NOTEBOOK)))

    assert known(tmp_path / "in") == found
    assert known(tmp_path / "all.zip") == found


def test_of_several_tries_the_newest_counts(tmp_path):
    for when, data in (("2026-11-20 09:00:00 UTC", b"old"), ("2026-11-21 09:00:00 UTC", b"new")):
        put(tmp_path, f"ada+ps1+{when}+r/01_a.ipynb", data)

    (only,) = submissions(tmp_path)
    assert only.data() == b"new"


def test_of_files_that_a_system_has_numbered_the_last_counts(tmp_path):
    """Canvas calls a second try x-1.ipynb, which sorts before x.ipynb: the first try was graded."""
    for name, data in (("ada_4_99_01_a.ipynb", b"old"), ("ada_4_100_01_a-1.ipynb", b"new")):
        put(tmp_path / "canvas", name, data)
    for name in ("01_a.ipynb", "01_a-2.ipynb", "01_a-10.ipynb"):
        put(tmp_path / "folder" / "bob", name, name.encode())

    assert [each.data() for each in submissions(tmp_path / "canvas")] == [b"new"]
    assert [each.data() for each in submissions(tmp_path / "folder")] == [b"01_a-10.ipynb"]


def test_a_zip_of_a_student_at_canvas_is_theirs_and_what_editors_keep_in_it_is_not_looked_at(tmp_path):
    """Jupyter's checkpoint was a second submission, of no points, and took the place of the true one."""
    work = {
        "work/01_a.ipynb": NOTEBOOK,
        "work/.ipynb_checkpoints/01_a-checkpoint.ipynb": b"",
        "__MACOSX/._01_a.ipynb": b"",
    }
    place = tmp_path / "all.zip"
    place.write_bytes(zipped({"noetheremmy_LATE_12_10_hw.zip": zipped(work)}))

    assert known(place) == [("12", "noetheremmy", "01_a")]


def test_whoever_handed_in_something_else_is_not_forgotten(tmp_path):
    files = {
        "ada_4_99_solution.py": b"", "bob_5_98_text.html": b"", "eve_6_text.html": b"", "dan_7_97_01_a.ipynb": NOTEBOOK,
        "dan_7_96_readme.txt": b"", "notes.txt": b"",
    }  # fmt: skip
    place = tmp_path / "all.zip"
    place.write_bytes(zipped(files))

    found = submissions(place)
    assert [each.student for each in found] == ["4", "5", "6", "7"]
    for each in found[:3]:
        with pytest.raises(Unreadable, match="it is no notebook"):
            each.data()


def test_a_zip_in_a_zip_is_opened_and_one_deeper_is_not(tmp_path):
    once = zipped({"01_a.ipynb": NOTEBOOK})
    place = tmp_path / "all.zip"
    place.write_bytes(zipped({"ada/work.zip": once, "bob/deep.zip": zipped({"deeper.zip": once})}))

    ada, bob = submissions(place)
    assert (ada.student, ada.data()) == ("ada", NOTEBOOK)
    with pytest.raises(Unreadable):
        bob.data()


def test_names_that_lead_elsewhere_are_only_names(tmp_path):
    place = tmp_path / "all.zip"
    place.write_bytes(zipped({"../../../etc/ada/01_a.ipynb": NOTEBOOK, "/bob/01_a.ipynb": NOTEBOOK}))

    for each in submissions(place):
        assert each.data() == NOTEBOOK
        assert ".." not in each.where
        assert not each.where.startswith("/")


def test_a_zip_that_would_fill_the_memory_fills_none(tmp_path):
    place = tmp_path / "all.zip"
    place.write_bytes(zipped({"ada/01_a.ipynb": b"0" * (20 * LARGEST)}))

    (bomb,) = submissions(place)
    assert len(bomb.data()) == LARGEST + 1


def test_a_link_is_no_submission(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("42")
    put(tmp_path / "in", "ada/01_a.ipynb")
    (tmp_path / "in" / "bob.ipynb").symlink_to(secret)

    linked, true = sorted(submissions(tmp_path / "in"), key=lambda each: each.student == "ada")
    assert true.data() == NOTEBOOK
    with pytest.raises(Unreadable, match="link"):
        linked.data()


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 broken", b"no zip at all"])
def test_a_broken_zip_is_a_submission_that_cannot_be_read(data, tmp_path):
    put(tmp_path / "in", "ada/work.zip", data)

    (broken,) = submissions(tmp_path / "in")
    with pytest.raises(Unreadable, match="zip"):
        broken.data()


def test_a_place_without_notebooks_says_so(tmp_path):
    put(tmp_path, "readme.txt")
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(NothingFound, match="no"):
            submissions(place)
