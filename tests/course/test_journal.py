"""Lines that were written are there: after a crash, and when two write at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from minigrad.course import journal
from minigrad.course.journal import Journal, append, lines
from tests.support.root import ROOT

WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from minigrad.course.journal import append
for n in range(int(sys.argv[4])):
    append(Path(sys.argv[1]), {"version": 1, "who": sys.argv[2], "n": n, "long": sys.argv[2] * 20_000})
    print(n, flush=True)
"""


def writer(path: Path, who: str, times: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), who, str(ROOT), str(times)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_processes_that_write_at_once_lose_and_tear_nothing(tmp_path):
    path = tmp_path / "journal"

    writers = [writer(path, who, 150) for who in "ab"]
    for each in writers:
        each.communicate(timeout=120)

    found = [(record["who"], record["n"]) for record in lines(path, {"who", "n"})]
    assert sorted(found) == [(who, n) for who in "ab" for n in range(150)]
    assert len(path.read_text("utf-8").splitlines()) == 300
    assert [n for who, n in found if who == "a"] == list(range(150))


def test_a_process_that_is_killed_has_written_all_that_it_was_told_was_written(tmp_path):
    path = tmp_path / "journal"
    killed = writer(path, "a", 10_000)
    told = [int(killed.stdout.readline()) for _ in range(10)]
    killed.kill()
    told += [int(line) for line in killed.communicate()[0].split()]

    append(path, {"version": 1, "who": "b", "n": 0})

    found = lines(path, {"who", "n"})
    assert len(told) < 10_000
    assert {record["n"] for record in found if record["who"] == "a"} >= set(told)
    assert found[-1]["who"] == "b"


@pytest.mark.skipif(sys.platform == "win32", reason="fcntl is POSIX's")
def test_somebody_who_never_lets_go_of_the_file_cannot_keep_a_line_from_being_written(tmp_path, monkeypatch):
    import fcntl

    monkeypatch.setattr(journal, "PATIENCE", 0.05)
    path = tmp_path / "journal"

    with path.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        append(path, {"version": 1, "n": 1})

    assert [record["n"] for record in lines(path, {"n"})] == [1]


def test_a_folder_without_locks_is_written_in_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "PATIENCE", 0.0)
    monkeypatch.setattr(journal, "try_lock", lambda file: False)

    append(tmp_path / "journal", {"version": 1, "n": 1})

    assert [record["n"] for record in lines(tmp_path / "journal", {"n"})] == [1]


@pytest.mark.parametrize("length", range(0, 40, 3))
def test_wherever_a_line_is_cut_the_lines_around_it_are_read(tmp_path, length):
    path = tmp_path / "journal"
    append(path, {"version": 1, "n": 1})
    with path.open("ab") as file:
        file.write(json.dumps({"version": 1, "n": 2, "more": "é" * 10}, ensure_ascii=False).encode()[:length])

    append(path, {"version": 1, "n": 3})

    assert [record["n"] for record in lines(path, {"n"})] == [1, 3]


def test_a_disk_that_cannot_be_written_is_told_and_the_record_holds_in_the_kernel(tmp_path):
    kept = Journal(tmp_path / "no such folder" / "journal")

    assert "could not be saved" in kept.write({"n": 1})
    assert [record["n"] for record in kept.lines({"n"})] == [1]


def test_a_folder_that_is_gone_keeps_nothing_and_raises_nothing(monkeypatch):
    def gone() -> Path:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "cwd", staticmethod(gone))

    assert journal.place("journal") is None
