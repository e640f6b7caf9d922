"""A notebook that JupyterLab was killed while saving is brought back by the next command; both files are kept."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from minigrad.course import lessons
from tests.support.miniature_checkout import FIRST, GRAPH, Checkout, sources, write_notebook

pytestmark = pytest.mark.share(3)

COPY = f"{Path(FIRST).parent}/.~{Path(FIRST).name}"


@pytest.fixture
def killed(checkout: Checkout) -> Checkout:
    """A course folder after a kill: an empty notebook, and the learner's own in the copy."""
    checkout.minigrad("copy")
    return damage(checkout, b"")


def damage(checkout: Checkout, rest: bytes) -> Checkout:
    write_notebook(checkout.work / COPY, ("my own",), output="")
    (checkout.work / FIRST).write_bytes(rest)
    return checkout


def backups(checkout: Checkout) -> list[bytes]:
    return [path.read_bytes() for path in (checkout.work / "backup").rglob("*.ipynb")]


@pytest.mark.parametrize("verb", ["copy", "status", "doctor"])
@pytest.mark.parametrize("rest", [b"", b'{"cells": [{"cell_ty'])
def test_a_command_says_what_was_cut_short_and_brings_the_copy_back(checkout, verb, rest):
    checkout.minigrad("copy")
    damage(checkout, rest)

    process = checkout.minigrad(verb)

    assert f"{FIRST} was cut short ({len(rest)} bytes) while JupyterLab saved it" in process.stdout, process.stderr
    assert sources(checkout.work / FIRST) == ["my own"]
    assert not (checkout.work / COPY).exists()
    assert backups(checkout) == [rest]
    assert "was cut short" not in checkout.minigrad(verb).stdout


@pytest.mark.parametrize("verb", ["copy", "status"])
def test_json_stays_json(killed, verb):
    process = killed.minigrad(verb, "--json")

    assert json.loads(process.stdout)
    assert "was cut short" in process.stderr


def test_a_reset_brings_the_copy_back_first_and_resets_when_asked_again(killed):
    said = killed.refused("reset", "00")

    assert f"{FIRST} was cut short" in said
    assert "It was not reset" in said
    assert sources(killed.work / FIRST) == ["my own"]
    assert sources(Path(killed.done("reset", "00")["backup"])) == ["my own"]
    assert sources(killed.work / FIRST) == ["1 + 1", "2 + 2"]


def test_another_lesson_is_reset_all_the_same(killed):
    assert killed.done("reset", GRAPH)["name"] == GRAPH
    assert sources(killed.work / FIRST) == ["my own"]


def test_a_notebook_of_which_only_the_copy_is_there_comes_back(killed):
    (killed.work / FIRST).unlink()

    killed.minigrad("copy")

    assert sources(killed.work / FIRST) == ["my own"]


def test_a_whole_notebook_is_left_whatever_lies_beside_it(checkout):
    checkout.minigrad("copy")
    write_notebook(checkout.work / COPY, ("older",), output="")
    write_notebook(checkout.work / FIRST, ("newer",), output="")

    assert "cut short" not in checkout.minigrad("status").stdout
    assert sources(checkout.work / FIRST) == ["newer"]
    assert sources(checkout.work / COPY) == ["older"]


def test_a_copy_that_is_cut_short_itself_is_not_taken(checkout):
    checkout.minigrad("copy")
    (checkout.work / FIRST).write_bytes(b"")
    (checkout.work / COPY).write_bytes(b'{"cells": [')

    process = checkout.minigrad("doctor")

    assert process.returncode == 1
    assert f"{FIRST} is not a notebook (0 bytes)" in process.stdout
    assert f"`minigrad reset {FIRST}`" in process.stdout
    assert (checkout.work / COPY).exists()


def test_after_a_power_cut_an_empty_notebook_comes_back_from_its_checkpoint(checkout):
    checkout.minigrad("copy")
    path = checkout.work / FIRST
    path.write_bytes(bytes(512))
    write_notebook(path.parent / ".ipynb_checkpoints" / f"{path.stem}-checkpoint.ipynb", ("my own",), output="")

    assert "last checkpoint" in checkout.minigrad("status").stdout
    assert sources(path) == ["my own"]


def test_a_notebook_of_the_learners_own_comes_back_too(checkout):
    checkout.minigrad("copy")
    own = checkout.work / "exercises" / "ideas.ipynb"
    write_notebook(own.with_name(".~ideas.ipynb"), ("my own",), output="")
    own.write_bytes(b"")

    assert "exercises/ideas.ipynb was cut short" in checkout.minigrad("status").stdout
    assert sources(own) == ["my own"]


def test_a_save_that_lives_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(lessons, "shipped_names", lambda: [FIRST])
    path = tmp_path / FIRST
    write_notebook(tmp_path / COPY, ("older",), output="")
    path.write_bytes(b"")
    writer = threading.Timer(0.2, write_notebook, (path, ("newer",), ""))
    writer.start()

    assert lessons.rescue(tmp_path) == []
    writer.join()
    assert sources(path) == ["newer"]


def test_on_a_full_disk_nothing_is_lost_and_it_says_where_the_copy_is(killed):
    resource = pytest.importorskip("resource", reason="only POSIX limits the size of a file")

    def tiny_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    process = killed.minigrad("status", preexec_fn=tiny_files)

    assert "could not replace it" in process.stdout, process.stderr
    assert sources(killed.work / COPY) == ["my own"]


SAVING = """
import sys
from jupyter_server.services.contents.fileio import atomic_writing
with atomic_writing(sys.argv[1]) as file:
    file.write("{")
    print("begun", flush=True)
    sys.stdin.read()
"""


def test_jupyters_own_writing_leaves_such_a_pair_when_it_is_killed(checkout):
    pytest.importorskip("jupyter_server")
    checkout.minigrad("copy")
    write_notebook(checkout.work / FIRST, ("my own",), output="")
    command = [sys.executable, "-c", SAVING, str(checkout.work / FIRST)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.kill()

    assert "was cut short" in checkout.minigrad("status").stdout
    assert sources(checkout.work / FIRST) == ["my own"]
