"""Lines of JSON that are added and never changed: how the course keeps what must not be lost.

Each line is on the disk before the next thing happens. A line that a crash has cut short is passed over, and the next
one starts anew: so a crash costs at most the line that was being written. Two notebooks may write at once: a line goes
to the end of the file in one piece, and a lock keeps others away from it for that long, where the disk has locks.
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
from pathlib import Path
from typing import Any, BinaryIO

from minigrad.course.lessons import PACKAGE, STATE, checkout

VERSION = 1
PATIENCE = 1.0  # seconds to wait for another notebook's line; it takes milliseconds
FAR = 1 << 40  # the byte that is locked on Windows, where what is locked cannot be read
Record = dict[str, Any]


def place(file: str) -> Path | None:
    """Where a file is kept for the notebook that runs here: in its course folder, or, if it is in none, beside it.

    None where the lessons come from: there they are built and tested, and a build must not depend on who worked there.
    None, too, in a folder that is gone.
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
    """Records, and where they are written down.

    path       None: they live as long as the kernel
    unsaved    records that are in no file
    """

    path: Path | None = None
    unsaved: list[Record] = field(default_factory=list)

    def lines(self, keys: set[str]) -> list[Record]:
        """All records that have these keys."""
        return [*(lines(self.path, keys) if self.path else []), *self.unsaved]

    def write(self, record: Record) -> str:
        """Write a record down; why it could not be put on the disk, or ""."""
        record = {"version": VERSION, **record, "when": datetime.now(UTC).isoformat(timespec="seconds")}
        try:
            if self.path is None:
                self.unsaved.append(record)
            else:
                append(self.path, record)
        except OSError as error:
            self.unsaved.append(record)
            return f"It could not be saved in {self.path} ({error.strerror}), and holds until the kernel is restarted."
        return ""


def append(path: Path, record: Record) -> None:
    """Add a line, on the disk when this returns; behind a line that was cut short it starts on a new one."""
    with path.open("a+b", buffering=0) as file, alone(file):
        line = json.dumps(record, ensure_ascii=False).encode(errors="replace") + b"\n"
        whole = line if ends_well(file) else b"\n" + line
        if file.write(whole) != len(whole):
            raise OSError(28, "the disk is full")
        os.fsync(file.fileno())


def ends_well(file: BinaryIO) -> bool:
    if file.seek(0, os.SEEK_END) == 0:
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


@contextmanager
def alone(file: BinaryIO) -> Iterator[None]:
    """Keep others from writing; go on without, where there are no locks, or after a second of waiting."""
    deadline = time.monotonic() + PATIENCE
    held = locked(file)
    while not held and time.monotonic() < deadline:
        time.sleep(0.005)
        held = locked(file)
    try:
        yield
    finally:
        if held:
            unlock(file)


if sys.platform == "win32":
    import msvcrt

    def locked(file: BinaryIO) -> bool:
        file.seek(FAR)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(file: BinaryIO) -> None:
        file.seek(FAR)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

elif sys.platform == "emscripten":  # one notebook, one process, one file of its own

    def locked(file: BinaryIO) -> bool:
        return True

    def unlock(file: BinaryIO) -> None:
        pass

else:
    import fcntl

    def locked(file: BinaryIO) -> bool:
        """Whether the file is ours now."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def unlock(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


def lines(path: Path, keys: set[str]) -> list[Record]:
    """The records of a file that can be read: whole lines of a version that is known, with these keys."""
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError:
        return []
    return [record for line in text.split("\n") if (record := parsed(line, keys))]


def parsed(line: str, keys: set[str]) -> Record | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and record.get("version") == VERSION and keys <= record.keys() else None
