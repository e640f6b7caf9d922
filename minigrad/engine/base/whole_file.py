"""Atomic file writes: after a kill, a full disk or a power cut the old file is unchanged.

The new content goes into a temporary file in the same folder, which then replaces the old one. The writer holds a lock
on the temporary file. If it is killed, the lock is released, so the next writer in the folder can remove the files
that killed writers left there, but never a file that a running process is writing.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from errno import EACCES, EISDIR, ENOENT
from pathlib import Path
from stat import S_ISREG
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{8}(\.minigrad)?\.tmp", re.DOTALL)
LONGEST = 40  # a temporary file's name contains at most this many characters of the file's name: the limit is 255 bytes
OLD = 24 * 3600.0  # age in seconds at which a temporary file counts as abandoned on systems without file locks


def replace_file(path: str | os.PathLike[str], pieces: Iterable[Any]) -> None:
    """Write these pieces of bytes to the file at `path`, replacing an older one.

    Mode and owner stay, and a symbolic link stays a link. Another hard link to the file keeps the old content.
    Raises OSError with this path if the file cannot be written.
    """
    path = Path(path)
    try:
        if not path.parent.is_dir():
            where = f"{path.parent} is not a folder: make it first, or write to another one"
            raise FileNotFoundError(ENOENT, where, path)
        if path.is_dir():
            raise IsADirectoryError(EISDIR, "It is a folder: choose another name", path)
        old = path.stat() if path.exists() else None
        if old is not None and not S_ISREG(old.st_mode):  # a pipe or a device cannot be replaced
            with path.open("wb") as file:
                file.writelines(pieces)
            return
        if old is not None and not os.access(path, os.W_OK):
            raise PermissionError(EACCES, "The file is read-only", path)
        exchange(Path(os.path.realpath(path)), old, pieces)
    except BaseException as error:
        if isinstance(error, OSError):
            error.filename = str(path)
            del error.filename2  # the temporary file's path
        error.add_note(f"{path} was not written; a file that was there before is unchanged")
        raise


def exchange(path: Path, old: os.stat_result | None, pieces: Iterable[Any]) -> None:
    """Write the temporary file, then replace the old file with it."""
    sweep(path.parent, path.name[:LONGEST])
    beside, handle = begin(path, 0o666 if old is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
            file.flush()
            if old is not None and hasattr(os, "fchown"):
                keep_access(handle, old)
            os.fsync(handle)
            if fcntl is not None:  # rename under the lock; Windows, which cannot rename an open file, does so below
                beside.replace(path)
        if fcntl is None:
            beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    if hasattr(os, "O_DIRECTORY"):  # write the folder's entry to disk as well; Windows does so by itself
        with suppress(OSError):
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def begin(path: Path, mode: int) -> tuple[Path, int]:
    """Make a temporary file and lock it. Returns its path and its handle."""
    while True:
        beside = path.with_name(f".{path.name[:LONGEST]}.{secrets.token_hex(4)}.minigrad.tmp")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if fcntl is None or os.fstat(handle).st_nlink:
                return beside, handle
        except BlockingIOError:  # another writer locked the new file first, and is removing it
            pass
        except OSError:  # this disk has no locks, so no writer removes files there
            return beside, handle
        os.close(handle)


def keep_access(handle: int, old: os.stat_result) -> None:
    """Give a new file the owner, the group and the mode of the old one, as far as this user may."""
    for owner in (old.st_uid, -1):
        with suppress(OSError):
            os.fchown(handle, owner, old.st_gid)
            break
    with suppress(OSError):
        os.fchmod(handle, old.st_mode & 0o777)


def sweep(folder: Path, name: str) -> None:
    """Remove killed writers' temporary files: all named `.*.minigrad.tmp`, and those of this file named `.*.tmp`."""
    with suppress(OSError):
        for path in [*folder.iterdir()]:
            ours = TEMPORARY.fullmatch(path.name)
            if ours and (ours[2] or ours[1] == name):
                with suppress(OSError):
                    remove_if_dead(path)


def remove_if_dead(path: Path) -> None:
    if fcntl is None:
        if time.time() - path.stat().st_mtime > OLD:
            path.unlink()
        return
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if its writer is still running
        path.unlink()
    finally:
        os.close(handle)
