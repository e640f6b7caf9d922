"""Submissions are found wherever a system puts them, and no name leads anywhere."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unicodedata
import zipfile
from pathlib import Path

import pytest

from minigrad.course.grading import collect
from minigrad.course.grading.collect import MOST_FILES, MOST_NOTEBOOKS, NothingFound, submissions
from minigrad.course.grading.submission import LARGEST, Unreadable

posix = pytest.mark.skipif(os.name != "posix", reason="links, pipes, users: as POSIX has them")
NOTEBOOK = b'{"cells": []}'


def put(folder, name, data=NOTEBOOK):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def zipped(files, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def pack(folder, files):
    """A zip of these files in the folder."""
    (folder / "all.zip").write_bytes(zipped(files))
    return folder / "all.zip"


def known(place):
    return [(each.student, each.name, each.file) for each in submissions(place)]


LAYOUTS = {
    "Canvas":
        ({"meyerada_4711_9_01_scalar_engine.ipynb": 0, "noether_LATE_12_10_01_scalar_engine-1.ipynb": 0},
         [("12", "noether", "01_scalar_engine"), ("4711", "meyerada", "01_scalar_engine")]),
    "Moodle":
        ({"Emmy Noether_815_assignsubmission_file_/01_scalar_engine.ipynb": 0,
          "Ada Meyer_816_assignsubmission_file/01_scalar_engine (2).ipynb": 0},
         [("815", "Emmy Noether", "01_scalar_engine"), ("816", "Ada Meyer", "01_scalar_engine")]),
    "nbgrader":
        ({"ada/ps1/01_scalar_engine.ipynb": 0, "ada/ps1/02_backward_by_hand.ipynb": 0},
         [("ada", "", "01_scalar_engine"), ("ada", "", "02_backward_by_hand")]),
    "files, named after the student and the exercise":
        ({"ada_01_a.ipynb": 0, "ada 02_b (1).ipynb": 0, "bob-01_a.ipynb": 0, "carl.ipynb": 0, "01_a.ipynb": 0},
         [("01_a", "", "01_a"), ("ada", "", "01_a"), ("ada", "", "02_b"), ("bob", "", "01_a"), ("carl", "", "carl")]),
    "Canvas, anonymous":
        ({"anon_Ab12C_9_01_scalar_engine.ipynb": 0, "LATE_anon_xY3_10_01_scalar_engine.ipynb": 0},
         [("anon_Ab12C", "", "01_scalar_engine"), ("anon_xY3", "", "01_scalar_engine")]),
    "Canvas, names with a line in them":
        ({"van_der_berg_LATE_12_10_01_a.ipynb": 0}, [("12", "van_der_berg", "01_a")]),
    "Moodle, without folders":
        ({"Emmy Noether_815_assignsubmission_file_01_scalar_engine.ipynb": 0,
          "Gruppe 3-Ada Meyer_816_assignsubmission_file_01_scalar_engine (2).ipynb": 0},
         [("815", "Emmy Noether", "01_scalar_engine"), ("816", "Gruppe 3-Ada Meyer", "01_scalar_engine")]),
    "Blackboard":
        ({"Homework 1_ada_attempt_2026-11-20-10-00-00_01_a.ipynb": 0,
          "Homework 1_ada_attempt_2026-11-20-10-00-00.txt": 0},
         [("ada", "Homework 1_ada", "01_a")]),
    "Brightspace":
        ({"123-45 - Ada Meyer - Nov 20, 2026 937 AM/01_a.ipynb": 0,
          "4-5 - Bob Lee- Nov 20, 2026 1000 PM/01_a.ipynb": 0},
         [("123", "Ada Meyer", "01_a"), ("4", "Bob Lee", "01_a")]),
    "inbound": ({"ada+ps1+2026-11-20 10:00:00 UTC+x1/01_a.ipynb": 0}, [("ada", "", "01_a")]),
    "a folder each": ({"ada/01_a.ipynb": 0, "bob/01_a.ipynb": 0}, [("ada", "", "01_a"), ("bob", "", "01_a")]),
    "a file each": ({"ada.ipynb": 0, "bob.ipynb": 0}, [("ada", "", "ada"), ("bob", "", "bob")]),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_is_read_from_a_folder_and_from_a_zip(layout, tmp_path):
    files, found = LAYOUTS[layout]
    for name in files:
        put(tmp_path / "in", name)

    assert known(tmp_path / "in") == found
    assert known(pack(tmp_path, dict.fromkeys(files, NOTEBOOK))) == found


def test_a_file_that_is_called_as_a_second_try_alone_is_somebodys(tmp_path):
    for name in ("(1).ipynb", "-2.ipynb"):
        put(tmp_path, name)

    assert known(tmp_path) == [("(1)", "", ""), ("-2", "", "")]


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


@pytest.mark.parametrize("names", [
    ("HW_ada_attempt_2026-11-09-10-00-00_01_a.ipynb", "HW_ada_attempt_2026-11-10-09-00-00_01_a.ipynb"),
    ("1-2 - Ada - Nov 30, 2026 1159 PM/01_a.ipynb", "1-2 - Ada - Dec 1, 2026 905 AM/01_a.ipynb"),
    ("1-2 - Ada - Dec 1, 2026 905 AM - 01_a.ipynb", "1-2 - Ada - Dec 1, 2026 1201 PM - 01_a.ipynb"),
], ids=["Blackboard", "Brightspace", "Brightspace, without folders"])  # fmt: skip
def test_of_several_attempts_of_one_student_the_last_counts(names, tmp_path):
    """Each attempt was listed as another student."""
    for name in names:
        put(tmp_path, name, name.encode())

    (only,) = submissions(tmp_path)
    assert only.data() == names[1].encode()


def test_users_of_blackboard_whose_names_end_alike_are_two_students(tmp_path):
    """An underscore may belong to the assignment's name or to the user's."""
    for user in ("a_x", "b_x"):
        put(tmp_path, f"HW_{user}_attempt_2026-11-09-10-00-00_01_a.ipynb", user.encode())

    assert [each.data() for each in submissions(tmp_path)] == [b"a_x", b"b_x"]


@posix
def test_a_warning_lists_names_that_look_alike(tmp_path):
    """docs/classroom.md promised this warning, and none was printed."""
    told = []
    for name in ("Bob", "bob", "bob\u200b", "eve"):
        put(tmp_path, f"{name}/01_a.ipynb")
    submissions(tmp_path, told.append)

    assert told == ["the names 'Bob', 'bob', 'bob\\u200b' look alike: are they one student?"]


def test_a_zip_of_a_student_at_canvas_is_theirs_and_what_editors_keep_in_it_is_not_looked_at(tmp_path):
    """Jupyter's checkpoint was a second submission, of no points, and took the place of the true one."""
    work = {"work/01_a.ipynb": NOTEBOOK}
    work |= {"work/.ipynb_checkpoints/01_a-checkpoint.ipynb": b"", "__MACOSX/._01_a.ipynb": b""}

    assert known(pack(tmp_path, {"noetheremmy_LATE_12_10_hw.zip": zipped(work)})) == [("12", "noetheremmy", "01_a")]


def test_whoever_handed_in_something_else_is_not_forgotten(tmp_path):
    files = {
        "ada_4_99_solution.py": b"", "bob_5_98_text.html": b"", "eve_6_text.html": b"", "dan_7_97_01_a.ipynb": NOTEBOOK,
        "dan_7_96_readme.txt": b"", "notes.txt": b"",
    }  # fmt: skip

    found = submissions(pack(tmp_path, files))
    assert [each.student for each in found] == ["4", "5", "6", "7"]
    for each in found[:3]:
        with pytest.raises(Unreadable, match="it is not a notebook"):
            each.data()


def test_a_folder_of_a_zip_is_not_taken_for_a_file_that_lies_too_deep(tmp_path):
    place = pack(tmp_path, {"ada/" + "x/" * (collect.DEEPEST + 2): b"", "ada/01_a.ipynb": NOTEBOOK})

    assert [str(path) for path, _ in collect.members(zipfile.ZipFile(place))] == ["ada/01_a.ipynb"]


def test_a_zip_in_a_zip_is_opened_and_one_deeper_is_not(tmp_path):
    once = zipped({"01_a.ipynb": NOTEBOOK})
    deep = zipped({"deeper.zip": zipped({"x.zip": once})})

    ada, bob = submissions(pack(tmp_path, {"ada/work.zip": once, "bob/deep.zip": deep}))
    assert (ada.student, ada.data()) == ("ada", NOTEBOOK)
    with pytest.raises(Unreadable):
        bob.data()


VICTIM = {"124/01_a.ipynb": NOTEBOOK, "816/01_a.ipynb": NOTEBOOK, "alice/01_a.ipynb": NOTEBOOK}
AIMED = [  # inside somebody's folder or zip, names such as a system gives to another student
    "x_124_999999_01_a.ipynb", "alice+x+2099/01_a.ipynb", "alice+x+2099-01-01 00:00:00 UTC+r/01_a.ipynb",
    "Alice_124_assignsubmission_file_/01_a.ipynb", "Alice_816_assignsubmission_file_01_a.ipynb",
    "LATE_anon_xY3_10_01_a.ipynb", "../124/01_a.ipynb", "..\\124\\01_a.ipynb", "/124/01_a.ipynb",
    "x_124_999999_x.zip", "Alice_816_assignsubmission_file_x.zip",
]  # fmt: skip


@pytest.mark.parametrize("name", AIMED)
@pytest.mark.parametrize("around", ["ada_123_7_hw.zip", "123.zip", "123/hw.zip", "123/"])
def test_nobody_hands_in_for_another(name, around, tmp_path):
    """A name that a student has chosen was read as a system's: the victim's points were those of another notebook."""
    data = zipped({"01_a.ipynb": b"{}"}) if name.endswith(".zip") else b"{}"
    file, data = (around, zipped({name: data})) if around.endswith(".zip") else (around + name.lstrip("./\\"), data)
    everything = VICTIM | {file: data}
    for path, content in everything.items():
        put(tmp_path / "in", path, content)

    for place in (tmp_path / "in", pack(tmp_path, everything)):
        found = {each.student: each.data() for each in submissions(place)}
        assert found == {"123": b"{}", "124": NOTEBOOK, "816": NOTEBOOK, "alice": NOTEBOOK}


def test_a_file_called_as_moodle_calls_anothers_is_its_owners(tmp_path):
    """Moodle puts the name of the file last, and the last number counted."""
    put(tmp_path, "Mallory_815_assignsubmission_file_x_816_assignsubmission_file_01_a.ipynb", b"{}")
    put(tmp_path, "Alice_816_assignsubmission_file_01_a.ipynb")

    assert [(each.student, each.data()) for each in submissions(tmp_path)] == [("815", b"{}"), ("816", NOTEBOOK)]


def test_honest_names_that_look_as_a_systems_are_their_owners(tmp_path):
    """`alice/hw_1_2_01….ipynb` was a submission of student 1."""
    for name in ("alice/hw_1_2_01_a.ipynb", "bob/hw_1_2_01_a.ipynb", "eve/a+b+c/01_a.ipynb"):
        put(tmp_path / "folders", name)
    for name in ("alice_hw_1_2_01_a.ipynb", "bob_hw_1_2_01_a.ipynb"):
        put(tmp_path / "files", name)

    assert [each.student for each in submissions(tmp_path / "folders")] == ["alice", "bob", "eve"]
    assert [each.student for each in submissions(tmp_path / "files")] == [Path(name).stem for name in (
        "alice_hw_1_2_01_a.ipynb", "bob_hw_1_2_01_a.ipynb")]  # fmt: skip


@pytest.mark.parametrize("names", [
    ("week1/alice/01_a.ipynb", "week1/bob/01_a.ipynb"), ("week1/alice_4_9_01_a.ipynb", "week1/bob_5_8_01_a.ipynb"),
    ("week1/Alice_4_assignsubmission_file_/01_a.ipynb", "week1/Bob_5_assignsubmission_file_/02_b.ipynb"),
    ("canvas.zip/alice_4_9_01_a.ipynb", "canvas.zip/bob_5_8_01_a.ipynb"),
])  # fmt: skip
def test_where_several_students_look_as_one_the_way_out_is_told(names, tmp_path):
    """Silently one of the class was graded, as a student called week1."""
    first = names[0].partition("/")[0]
    inner = {name.partition("/")[2]: NOTEBOOK for name in names}
    if first.endswith(".zip"):
        put(tmp_path / "in", first, zipped(inner))
    for name in inner if not first.endswith(".zip") else ():
        put(tmp_path / "in", f"{first}/{name}")

    for each in submissions(tmp_path / "in"):
        (warning,) = each.warnings
        assert warning.startswith(f"{first!r} was taken for one student, and may hold several, ")
        assert warning.endswith(f"if so, grade {tmp_path / 'in' / first} by itself")
    if not first.endswith(".zip"):
        packed = pack(tmp_path, dict.fromkeys(names, NOTEBOOK))
        assert all("unpack" in each.warnings[0] for each in submissions(packed))
    assert len(submissions(tmp_path / "in" / first)) == 2
    assert not any(each.warnings for each in submissions(tmp_path / "in" / first))


def test_one_notebook_with_a_name_of_a_number_alone_is_not_taken_for_several_students(tmp_path):
    """Without its number the name was empty, and so was that under which names as a system gives them were noted."""
    put(tmp_path, "ada/bob+x+2026-11-20/-2.ipynb")

    assert [each.warnings for each in submissions(tmp_path)] == [()]


def test_every_file_that_gave_way_to_another_is_named(tmp_path):
    for name in ("01_a.ipynb", "01_a-2.ipynb", "old/01_a.ipynb", "all.zip"):
        put(tmp_path, f"ada/{name}", zipped({"01_a.ipynb": NOTEBOOK}) if name == "all.zip" else NOTEBOOK)
    put(tmp_path, "notes.docx")
    told = []

    (only,) = submissions(tmp_path, told.append)
    assert only.where == "ada/01_a-2.ipynb"
    assert set(only.besides) == {"ada/01_a.ipynb", "ada/old/01_a.ipynb", "ada/all.zip/01_a.ipynb"}
    assert told == ["ignored, as neither notebooks nor in a student's folder: notes.docx"]


@pytest.mark.parametrize("names", [("Bob", "bob"), ("bob", "bob "), ("José", unicodedata.normalize("NFD", "José"))])
@posix
def test_two_names_that_an_eye_takes_for_one_are_two(names, tmp_path):
    for name in (*names, "eve"):
        put(tmp_path, f"{name}/01_a.ipynb", name.encode())

    found = {each.student: each.data().decode() for each in submissions(tmp_path)}
    assert found == {name: name for name in (*names, "eve")}


def test_names_that_windows_keeps_for_itself_are_names(tmp_path):
    files = dict.fromkeys(("CON/01_a.ipynb", "nul./01_a.ipynb", "a:b/01_a.ipynb"), NOTEBOOK)

    assert [each.student for each in submissions(pack(tmp_path, files))] == ["CON", "a:b", "nul."]


def test_more_than_may_be_says_how_much_may_be(tmp_path):
    """Files after the first 20,000 of a whole class were left out, without a word."""
    flood = io.BytesIO()
    with zipfile.ZipFile(flood, "w") as archive:
        for i in range(MOST_FILES + 1):
            archive.writestr(f"{i}.txt", b"")
    notebooks = {f"{i}.ipynb": b"" for i in range(MOST_NOTEBOOKS + 1)}
    put(tmp_path / "in", "flood.zip", flood.getvalue())
    put(tmp_path / "in", "large.zip", zipped({"01_a.ipynb": NOTEBOOK}) + bytes(collect.LARGEST_ZIP))
    put(tmp_path / "in", "many.zip", zipped(notebooks))
    put(tmp_path / "in", "deep/" + "x/" * 30 + "01_a.ipynb")
    put(tmp_path / "in", "zoe/01_a.ipynb")

    found = {each.student: each for each in submissions(tmp_path / "in")}
    for student, why in {
        "flood": f"more than {MOST_FILES} files", "large": f"more than {collect.LARGEST_ZIP >> 20} MB",
        "many": f"the limit is {MOST_NOTEBOOKS}", "deep": f"more than {collect.DEEPEST} folders",
    }.items():  # fmt: skip
        with pytest.raises(Unreadable, match=why):
            found[student].data()
    assert found["zoe"].data() == NOTEBOOK


def test_nobody_is_left_out_of_a_large_class(tmp_path):
    files = {f"{i}/readme.txt": b"" for i in range(MOST_FILES)} | {"zoe/01_a.ipynb": NOTEBOOK}

    assert len(submissions(pack(tmp_path, files))) == MOST_FILES + 1


@posix
@pytest.mark.parametrize("part", ["eve/work/01_a.ipynb", "eve/work", "eve"])
def test_a_link_that_takes_the_place_of_what_was_found_is_not_followed(part, tmp_path):
    """It was looked at, and then opened: between the two a student could put a link to the grader's own files there."""
    secret = tmp_path / "secret" / "work" / "01_a.ipynb"
    put(tmp_path, "secret/work/01_a.ipynb", b"answers")
    put(tmp_path / "in", "eve/work/01_a.ipynb")
    (found,) = submissions(tmp_path / "in")

    (tmp_path / "in" / part).rename(tmp_path / "away")
    aim = {"eve/work/01_a.ipynb": secret, "eve/work": secret.parent, "eve": secret.parent.parent}
    (tmp_path / "in" / part).symlink_to(aim[part])
    with pytest.raises(Unreadable, match="its path contains a link"):
        found.data()


@posix
def test_what_is_no_file_or_is_gone_is_told_and_waited_for_by_nobody(tmp_path):
    put(tmp_path, "ada/01_a.ipynb")
    put(tmp_path, "bob/01_a.ipynb")
    os.mkfifo(tmp_path / "bob" / "02_b.ipynb")
    (tmp_path / "eve").symlink_to(tmp_path / "ada")
    found = {each.where: each for each in submissions(tmp_path)}

    (tmp_path / "ada" / "01_a.ipynb").unlink()
    for where, why in {"ada/01_a.ipynb": "No such file", "bob/02_b.ipynb": "a pipe", "eve": "it is a link"}.items():
        with pytest.raises(Unreadable, match=why):
            found[where].data()


@posix
def test_a_folder_without_right_is_said_of_its_student(tmp_path):
    """Whoever had such a folder was in no table. As root in a process of nobody's, because root may read all."""
    with tempfile.TemporaryDirectory() as place:
        for name in ("ada", "bob"):
            put(Path(place), f"{name}/01_a.ipynb")
        Path(place).chmod(0o755)
        Path(place, "bob").chmod(0)
        program = (
            "import sys, os\nfrom pathlib import Path\nfrom minigrad.course.grading.collect import submissions\n"
            "os.geteuid() or os.setuid(65534)\n"
            "for each in submissions(Path(sys.argv[1])):\n"
            "    try: print(each.student, len(each.data()))\n    except Exception as error: print(each.student, error)"
        )
        ran = subprocess.run([sys.executable, "-c", program, place], capture_output=True, text=True, check=True)
        Path(place, "bob").chmod(0o755)
    refused = "bob bob cannot be read: the folder cannot be opened: Permission denied"
    assert ran.stdout.splitlines() == ["ada 13", refused]


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_of_which_a_byte_is_another_stops_nothing(method, tmp_path):
    """zlib has an error of its own, which ended the run."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("01_a.ipynb", os.urandom(1000))
    whole = out.getvalue()
    put(tmp_path, "ada/01_a.ipynb")
    for at in range(0, len(whole), 7):
        put(tmp_path, f"s{at:04}.zip", whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])

    for each in submissions(tmp_path):
        with contextlib.suppress(Unreadable):
            each.data()


def test_names_that_lead_elsewhere_are_only_names(tmp_path):
    files = {"../../../etc/ada/01_a.ipynb": NOTEBOOK, "/bob/01_a.ipynb": NOTEBOOK}

    for each in submissions(pack(tmp_path, files)):
        assert each.data() == NOTEBOOK
        assert ".." not in each.where
        assert not each.where.startswith("/")


def test_a_zip_that_would_fill_the_memory_fills_none(tmp_path):
    (bomb,) = submissions(pack(tmp_path, {"ada/01_a.ipynb": b"0" * (20 * LARGEST)}))
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


@posix
def test_a_student_of_whom_there_is_no_file_is_listed(tmp_path):
    """An empty zip, an empty folder and a link to nothing were in no table; and nobody was told of the first two."""
    put(tmp_path, "ada/01_a.ipynb")
    put(tmp_path, "bob.zip", zipped({}))
    (tmp_path / "dan" / "work").mkdir(parents=True)
    (tmp_path / "eve").symlink_to("nowhere")
    put(tmp_path, "fay.zip", zipped({"../": b"", "..": b""}))
    found = {each.student: each for each in submissions(tmp_path)}

    assert found["ada"].data() == NOTEBOOK
    for student, why in {"bob": "no file", "dan": "is empty", "eve": "is a link", "fay": "no file"}.items():
        with pytest.raises(Unreadable, match=why):
            found.pop(student).data()
    assert list(found) == ["ada"]


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 broken", b"no zip at all"])
def test_a_broken_zip_is_a_submission_that_cannot_be_read(data, tmp_path):
    put(tmp_path / "in", "ada/work.zip", data)

    (broken,) = submissions(tmp_path / "in")
    with pytest.raises(Unreadable, match="zip"):
        broken.data()


def test_a_place_without_notebooks_says_so(tmp_path):
    put(tmp_path, "readme.txt")
    (tmp_path / "empty").mkdir()
    for place in (tmp_path, tmp_path / "empty", tmp_path / "nowhere"):
        with pytest.raises(NothingFound, match="no"):
            submissions(place)
