"""Files that are written whole or not at all: a kill, a full disk or a power cut leaves the old file as it was.

The new content goes into a temporary file beside the old one, and then takes its place. The writer keeps a lock on the
temporary file. A kill frees the lock, so the next writer in the folder can remove what killed writers left there, and
never what a living process writes.
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
LONGEST = 40  # characters of the file's name in that of its temporary file: a name has 255 bytes
OLD = 24 * 3600.0  # seconds after which a temporary file counts as left behind where files have no locks


def replace_file(path: str | os.PathLike[str], pieces: Iterable[Any]) -> None:
    """Write these pieces of bytes as the file of that path, in the place of an older one.

    Mode and owner stay, and a symbolic link stays a link. Another hard link to the file keeps the old content.
    Raises OSError with this path where the disk or the folder does not take it.
    """
    path = Path(path)
    try:
        if not path.parent.is_dir():
            where = f"{path.parent} is not a folder: make it first, or write to another one"
            raise FileNotFoundError(ENOENT, where, path)
        if path.is_dir():
            raise IsADirectoryError(EISDIR, "It is a folder: choose another name", path)
        old = path.stat() if path.exists() else None
        if old is not None and not S_ISREG(old.st_mode):  # a pipe or a device cannot be exchanged
            with path.open("wb") as file:
                file.writelines(pieces)
            return
        if old is not None and not os.access(path, os.W_OK):
            raise PermissionError(EACCES, "The file is read-only", path)
        exchange(Path(os.path.realpath(path)), old, pieces)
    except BaseException as error:
        if isinstance(error, OSError):
            error.filename = str(path)
            del error.filename2  # that of the temporary file
        error.add_note(f"{path} was not written; a file that was there before is as it was")
        raise


def exchange(path: Path, old: os.stat_result | None, pieces: Iterable[Any]) -> None:
    """Write the temporary file, and let it take the place of the old one."""
    sweep(path.parent, path.name[:LONGEST])
    beside, handle = begin(path, 0o666 if old is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
            file.flush()
            if old is not None and hasattr(os, "fchown"):
                keep_access(handle, old)
            os.fsync(handle)
            if fcntl is not None:  # while the lock is held; Windows exchanges no file that is open
                beside.replace(path)
        if fcntl is None:
            beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    if hasattr(os, "O_DIRECTORY"):  # the name is on the disk too; Windows sees to that by itself
        with suppress(OSError):
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def begin(path: Path, mode: int) -> tuple[Path, int]:
    """Make a temporary file and lock it; its path and its handle."""
    while True:
        beside = path.with_name(f".{path.name[:LONGEST]}.{secrets.token_hex(4)}.minigrad.tmp")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if fcntl is None or os.fstat(handle).st_nlink:
                return beside, handle
        except BlockingIOError:  # another writer has found it before it was locked, and removes it
            pass
        except OSError:  # this disk has no locks, and nothing is swept there
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
    """Remove temporary files that killed writers left: all that bear our mark, and older ones of this name."""
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
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where its writer lives
        path.unlink()
    finally:
        os.close(handle)
