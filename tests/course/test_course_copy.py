"""The learner's work always wins: three editions of each file meet, and only an untouched one is replaced."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from minigrad.course import lessons
from tests.support.miniature_checkout import FIRST, GRAPH, Checkout, sources, write_notebook
from tests.support.root import ROOT

pytestmark = pytest.mark.share(8)


def run_every_cell(path: Path) -> None:
    """What JupyterLab saves after Run All Cells: outputs, counts, widget state, and an empty cell at the end."""
    write_notebook(path, (*sources(path), ""), output="as run by the learner")


def test_a_new_folder_gets_the_whole_course_without_outputs(checkout: Checkout) -> None:
    assert checkout.done("copy")["new"] == ["exercises/01_graph.ipynb", FIRST, GRAPH, "lessons/data/digits.csv"]
    notebook = json.loads((checkout.work / FIRST).read_text("utf-8"))
    assert sources(checkout.work / FIRST) == ["1 + 1", "2 + 2"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in notebook["cells"])
    assert "widgets" not in notebook["metadata"]
    assert (checkout.work / "lessons/data/digits.csv").read_text("utf-8") == "0,1\n"


def test_only_what_is_for_learners_is_copied(checkout: Checkout) -> None:
    for name in ("lessons/source/00", "solutions/01", "lessons/.ipynb_checkpoints/00", "lessons/.x"):
        notebook = checkout.root / f"{name}.ipynb"
        notebook.parent.mkdir(parents=True, exist_ok=True)
        notebook.write_text("{}", "utf-8")

    checkout.minigrad("copy")

    found = {path.relative_to(checkout.work).as_posix() for path in checkout.work.rglob("*") if path.is_file()}
    assert found == {".minigrad.json", "exercises/01_graph.ipynb", FIRST, GRAPH, "lessons/data/digits.csv"}


def test_copying_again_touches_nothing(checkout: Checkout) -> None:
    checkout.minigrad("copy")
    before = {path: path.stat().st_mtime_ns for path in checkout.work.rglob("*")}

    assert len(checkout.done("copy")["same"]) == 4
    assert {path: path.stat().st_mtime_ns for path in checkout.work.rglob("*")} == before


def test_running_is_not_editing(checkout: Checkout) -> None:
    checkout.minigrad("copy")
    run_every_cell(checkout.work / FIRST)
    checkout.ship(FIRST, "1 + 1", "the second edition")

    assert checkout.done("copy")["updated"] == [FIRST]
    assert sources(checkout.work / FIRST) == ["1 + 1", "the second edition"]


def test_a_notebook_that_was_run_is_left_as_it_is_while_the_course_stays(checkout: Checkout) -> None:
    checkout.minigrad("copy")
    run_every_cell(checkout.work / FIRST)

    assert FIRST in checkout.done("copy")["same"]
    assert "as run by the learner" in (checkout.work / FIRST).read_text("utf-8")


def test_an_edited_lesson_is_kept_and_its_new_edition_put_beside_it_once(checkout: Checkout) -> None:
    checkout.minigrad("copy")
    write_notebook(checkout.work / FIRST, ("my own",), output="")
    assert checkout.done("copy")["beside"] == []  # the course has no new edition
    checkout.ship(FIRST, "the second edition")
    beside = checkout.work / "lessons/00_start_here.new.ipynb"

    copied = checkout.done("copy")

    assert (copied["kept"], copied["beside"]) == ([FIRST], ["lessons/00_start_here.new.ipynb"])
    assert (sources(checkout.work / FIRST), sources(beside)) == (["my own"], ["the second edition"])
    beside.unlink()
    assert checkout.done("copy")["beside"] == []
    assert not beside.exists()


def test_a_new_edition_that_the_learner_worked_in_is_kept_too(checkout: Checkout) -> None:
    checkout.minigrad("copy")
    for edition in ("second", "third", "fourth"):
        write_notebook(checkout.work / FIRST, ("my own",), output="")
        checkout.ship(FIRST, f"the {edition} edition")
        checkout.minigrad("copy")
        if edition == "second":
            write_notebook(checkout.work / "lessons/00_start_here.new.ipynb", ("mine as well",), output="")

    assert {path.name: sources(path) for path in (checkout.work / "lessons").glob("00_*")} == {
        "00_start_here.ipynb": ["my own"],
        "00_start_here.new.ipynb": ["mine as well"],
        "00_start_here.new2.ipynb": ["the fourth edition"],
    }


def test_a_learner_who_takes_the_new_edition_is_up_to_date(checkout: Checkout) -> None:
    checkout.minigrad("copy")
    write_notebook(checkout.work / FIRST, ("my own",), output="")
    checkout.ship(FIRST, "the second edition")
    checkout.minigrad("copy")
    (checkout.work / "lessons/00_start_here.new.ipynb").replace(checkout.work / FIRST)
    checkout.ship(FIRST, "the third edition")

    assert checkout.done("copy")["updated"] == [FIRST]


def test_a_deleted_lesson_comes_back(checkout: Checkout) -> None:
    checkout.minigrad("copy")
    (checkout.work / FIRST).unlink()

    assert checkout.done("copy")["restored"] == [FIRST]
    assert sources(checkout.work / FIRST) == ["1 + 1", "2 + 2"]


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b'{"lessons/00_start_here.ipynb": 3}', b"\xff\xfe\x00"])
def test_a_damaged_state_file_costs_nobody_their_work(checkout: Checkout, damage: bytes) -> None:
    checkout.minigrad("copy")
    write_notebook(checkout.work / FIRST, ("my own",), output="")
    (checkout.work / ".minigrad.json").write_bytes(damage)

    assert checkout.done("copy")["kept"] == [FIRST]

    assert sources(checkout.work / FIRST) == ["my own"]
    checkout.ship(GRAPH, "the second edition")
    assert checkout.done("copy")["updated"] == [GRAPH]


def test_a_notebook_that_cannot_be_read_is_the_learners_own(checkout: Checkout) -> None:
    checkout.minigrad("copy")
    (checkout.work / FIRST).write_bytes(b'{"cells": [{"cell_ty')
    checkout.ship(FIRST, "the second edition")

    assert checkout.done("copy")["kept"] == [FIRST]
    assert (checkout.work / FIRST).read_bytes() == b'{"cells": [{"cell_ty'


def test_an_update_replaces_the_file_and_never_writes_into_it(checkout: Checkout) -> None:
    """A program that has the file open goes on reading the old one, whole; a second name for it shows what it sees."""
    checkout.minigrad("copy")
    (checkout.work / "as open elsewhere.ipynb").hardlink_to(checkout.work / FIRST)
    checkout.ship(FIRST, "the second edition")

    checkout.minigrad("copy")

    assert sources(checkout.work / FIRST) == ["the second edition"]
    assert sources(checkout.work / "as open elsewhere.ipynb") == ["1 + 1", "2 + 2"]


def test_a_full_disk_leaves_the_old_lesson_whole(checkout: Checkout) -> None:
    """A limit on the size of files makes writing fail half-way, as a full disk does."""
    resource = pytest.importorskip("resource", reason="only POSIX limits the size of a file")
    checkout.minigrad("copy")
    checkout.ship(FIRST, "a long one" * 10_000)

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    assert "cannot keep the course in" in checkout.refused("copy", preexec_fn=small_files)
    assert sources(checkout.work / FIRST) == ["1 + 1", "2 + 2"]
    assert not list(checkout.work.rglob("*.tmp"))


def test_a_reset_lesson_is_new_and_the_learners_own_is_in_backup(checkout: Checkout) -> None:
    checkout.minigrad("copy")
    for work in ("first", "second"):  # within one second, and both are kept
        write_notebook(checkout.work / FIRST, (work,), output="")
        assert sources(Path(checkout.done("reset", "00")["backup"])) == [work]

    assert sources(checkout.work / FIRST) == ["1 + 1", "2 + 2"]
    assert len(list((checkout.work / "backup").rglob("*.ipynb"))) == 2


def test_a_reset_of_what_was_not_edited_makes_no_backup(checkout: Checkout) -> None:
    checkout.minigrad("copy")
    write_notebook(checkout.work / FIRST, ("1 + 1", "2 + 2"), output="2")  # run, and not edited

    assert checkout.done("reset", "00")["backup"] is None

    assert not (checkout.work / "backup").exists()


def test_a_reset_on_a_full_disk_leaves_the_lesson_where_it_is(checkout: Checkout) -> None:
    """The lesson went to backup/ first, and then nothing could be written in its place."""
    resource = pytest.importorskip("resource", reason="only POSIX limits the size of a file")
    checkout.minigrad("copy")
    write_notebook(checkout.work / FIRST, ("my own",), output="")

    def tiny_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    assert "cannot keep the course in" in checkout.refused("reset", "00", preexec_fn=tiny_files)
    assert sources(checkout.work / FIRST) == ["my own"]
    assert not list((checkout.work / "backup").rglob("*"))


def reset_in_process(checkout: Checkout, monkeypatch: pytest.MonkeyPatch, name: str) -> Path | None:
    monkeypatch.setattr(lessons, "course", lambda: checkout.root)
    return lessons.reset(checkout.work, name)[1]


def test_two_resets_in_one_second_keep_both_backups(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second command failed to make its folder, and removed that of the first with the learner's work in it."""
    checkout.minigrad("copy")
    for name in (FIRST, GRAPH):
        write_notebook(checkout.work / name, ("my own",), output="")
    look, first = lessons.last_shipped, []

    def reset_another(folder: Path) -> dict[str, str]:
        monkeypatch.setattr(lessons, "last_shipped", look)
        first.append(reset_in_process(checkout, monkeypatch, GRAPH))
        return look(folder)

    monkeypatch.setattr(lessons, "last_shipped", reset_another)
    second = reset_in_process(checkout, monkeypatch, FIRST)

    assert [sources(backup) for backup in (*first, second)] == [["my own"]] * 2


def test_ctrl_c_behind_the_exchange_keeps_the_backup(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lesson was exchanged, and the only copy of the learner's work was removed."""
    checkout.minigrad("copy")
    write_notebook(checkout.work / FIRST, ("my own",), output="")
    write = lessons.write

    def interrupted(path: Path, data: bytes) -> None:
        write(path, data)
        raise KeyboardInterrupt

    monkeypatch.setattr(lessons, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reset_in_process(checkout, monkeypatch, FIRST)

    assert [sources(path) for path in (checkout.work / "backup").rglob("*.ipynb")] == [["my own"]]


@pytest.mark.parametrize("name", [GRAPH, "lessons/01", "lessons\\01_graph.ipynb", "work/lessons/01_graph.ipynb"])
def test_a_lesson_can_be_named_by_its_beginning_or_its_path(checkout: Checkout, name: str) -> None:
    assert checkout.done("reset", name) == {"name": GRAPH, "backup": None}


def test_a_name_that_fits_two_files_or_none_is_refused_with_the_choice(checkout: Checkout) -> None:
    assert f"'01' could be exercises/01_graph.ipynb or {GRAPH}: name one" in checkout.refused("reset", "01")
    misspelt = checkout.refused("reset", "01_grahp")
    assert f"no file '01_grahp': did you mean exercises/01_graph.ipynb or {GRAPH}?" in misspelt
    assert "no file '07': an example is exercises/01_graph.ipynb. All are in " in checkout.refused("reset", "07")


def test_the_course_is_not_copied_onto_itself(checkout: Checkout) -> None:
    before = (checkout.root / FIRST).read_bytes()

    assert "choose another folder" in checkout.refused("copy", checkout.root)
    assert "choose another folder" in checkout.refused("reset", "00", "--dir", ".")
    assert (checkout.root / FIRST).read_bytes() == before


def test_a_course_without_lessons_says_so(checkout: Checkout) -> None:
    for notebook in checkout.root.rglob("*.ipynb"):
        notebook.unlink()
    (checkout.root / "lessons/data/digits.csv").unlink()

    assert "has no lessons: install minigrad-course again" in checkout.refused("copy")


def test_a_folder_that_cannot_be_made_is_refused_with_a_way_out(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("", "utf-8")

    for words in (["copy"], ["copy", "--dir"], ["lab", "--dir"]):  # the way out names --dir, so each verb takes it
        told = checkout.refused(*words, tmp_path / "a file" / "course")
        assert "name a folder that you can write in" in told


def test_a_read_only_folder_is_refused_with_a_way_out(checkout: Checkout, unprivileged: list[str]) -> None:
    folder = checkout.root.parent / "read only"
    folder.mkdir(mode=0o555)

    told = checkout.refused("copy", folder, through=unprivileged)

    assert told.startswith(f"minigrad: cannot keep the course in {folder} (Permission denied at {folder}")
    assert told.endswith("name a folder that you can write in, with --dir FOLDER\n")


def installed(checkout: Checkout) -> Checkout:
    """The same course as a wheel would install it: lessons inside the package, and no repository around it."""
    inside = checkout.root / "minigrad" / "_course"
    inside.mkdir()
    for name in ("lessons", "exercises"):
        (checkout.root / name).rename(inside / name)
    return checkout


def test_an_installed_course_goes_where_it_is_called_if_that_is_empty_or_a_course(
    checkout: Checkout, tmp_path: Path
) -> None:
    course = installed(checkout)
    empty, full, home = tmp_path / "empty", tmp_path / "full", tmp_path / "home"
    for folder in (empty, full, home):
        folder.mkdir()
    (full / "thesis.tex").write_text("", "utf-8")
    env = {"HOME": str(home), "USERPROFILE": str(home)}

    assert Path(course.done("copy", cwd=empty)["folder"]) == empty
    assert Path(course.done("copy", cwd=empty / "lessons", env=env)["folder"]) == empty
    assert Path(course.done("copy", cwd=full, env=env)["folder"]) == home / "minigrad-course"
    assert Path(course.done("copy", full, cwd=empty)["folder"]) == full


def test_the_command_line_says_what_it_does_not_know(checkout: Checkout) -> None:
    process = checkout.minigrad("copy", "--jsn")

    assert process.returncode == 2
    assert process.stderr.endswith("minigrad: error: copy does not know --jsn\n")


def test_the_command_line_starts_without_numpy() -> None:
    code = "import runpy, sys; sys.argv[1:] = ['--version']; sys.modules['numpy'] = None; "
    code += "runpy.run_module('minigrad', run_name='__main__')"

    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=False)

    assert (process.returncode, process.stdout[:9]) == (0, "minigrad ")


def test_a_command_typed_in_a_course_folder_is_about_that_folder(checkout: Checkout, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    checkout.done("copy", elsewhere)
    write_notebook(elsewhere / GRAPH, ("mine",), output="")

    checkout.done("reset", "01_graph", cwd=elsewhere / "lessons")

    assert sources(elsewhere / GRAPH) == ["x = 3"]
    assert not checkout.work.exists()


def test_a_command_typed_in_a_terminal_of_jupyterlab_is_about_the_folder_that_is_open(
    checkout: Checkout, tmp_path: Path
) -> None:
    opened = tmp_path / "opened"
    checkout.done("copy", opened)
    write_notebook(opened / GRAPH, ("mine",), output="")

    said = checkout.minigrad("reset", "lessons/01", cwd=tmp_path, env={"JUPYTER_SERVER_ROOT": str(opened)}).stdout

    assert sources(opened / GRAPH) == ["x = 3"]
    assert str(opened) in said
