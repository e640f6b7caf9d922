"""Append-only files of JSON lines, for records that must not be lost.

Each line is on the disk before the call returns. A reader skips a line that a crash cut short, and the next record
starts on a new line, so a crash loses at most the line being written. Two notebooks may write at once: each line is
appended in one write, under a lock where the file system has locks.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from minigrad.course.lessons import PACKAGE, STATE, checkout

VERSION = 1
PATIENCE = 1.0  # seconds to wait while another notebook writes a line, which takes milliseconds
FAR = 1 << 40  # the byte to lock: far past the end, because Windows cannot read a locked byte
Record = dict[str, Any]


def place(file: str) -> Path | None:
    """The path of a file for the running notebook: in its course folder, or next to the notebook if there is none.

    None in the repository, where the lessons are built and tested: a build must not depend on earlier work there.
    Also None if the current folder is gone.
    """
    try:
        here = Path.cwd()
    except OSError:
        return None
    home = next((folder for folder in (here, *here.parents) if (folder / STATE).is_file()), None)
    if home is None and checkout() is not None and here.is_relative_to(PACKAGE.parent):
        return None
    return (home or here) / file


@dataclass
class Journal:
    """Records and the file that stores them.

    path       the file; None if the records last only as long as the kernel
    unsaved    records that are not in a file
    """

    path: Path | None = None
    unsaved: list[Record] = field(default_factory=list)

    def lines(self, keys: set[str]) -> list[Record]:
        """All records that have these keys."""
        return [*(lines(self.path, keys) if self.path else []), *self.unsaved]

    def write(self, *records: Record) -> str:
        """Store records. Returns why they could not be saved, or ""."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        written = [{"version": VERSION, **record, "when": now} for record in records]
        try:
            if self.path is None:
                self.unsaved += written
            else:
                append(self.path, *written)
        except OSError as error:
            self.unsaved += written
            return f"It could not be saved in {self.path} ({error.strerror}), and lasts until the kernel is restarted."
        return ""


def append(path: Path, *records: Record) -> None:
    """Append records as lines, and sync them to the disk. If the last line was cut short, start a new line first."""
    with path.open("a+b", buffering=0) as file, lock_file(file):
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        whole = (b"" if ends_well(file) else b"\n") + text.encode(errors="replace")
        if file.write(whole) != len(whole):
            raise OSError(28, "the disk is full")
        os.fsync(file.fileno())


def ends_well(file: BinaryIO) -> bool:
    if file.seek(0, os.SEEK_END) == 0:
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


@contextmanager
def lock_file(file: BinaryIO) -> Iterator[None]:
    """Hold a lock on the file. Where locks do not work, or after PATIENCE seconds, go on without a lock."""
    deadline = time.monotonic() + PATIENCE
    held = try_lock(file)
    while not held and time.monotonic() < deadline:
        time.sleep(0.005)
        held = try_lock(file)
    try:
        yield
    finally:
        if held:
            unlock(file)


if sys.platform == "win32":
    import msvcrt

    def try_lock(file: BinaryIO) -> bool:
        file.seek(FAR)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(file: BinaryIO) -> None:
        file.seek(FAR)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

elif sys.platform == "emscripten":  # each notebook has one process and its own file

    def try_lock(file: BinaryIO) -> bool:
        return True

    def unlock(file: BinaryIO) -> None:
        pass

else:
    import fcntl

    def try_lock(file: BinaryIO) -> bool:
        """Whether this process has the lock now."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def unlock(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


def lines(path: Path, keys: set[str]) -> list[Record]:
    """The valid records of a file: whole lines of this version with these keys."""
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError:
        return []
    return [dict(record) for line in text.split("\n") if (record := parse_record(line)) and keys <= record.keys()]


@lru_cache(1 << 12)  # a check reads the file three times, and what was appended since is one line
def parse_record(line: str) -> Record | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and record.get("version") == VERSION else None
