"""Files that are whole: a new one takes the place of the old one when it is on the disk, and not before."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any


def replace_file(path: str | os.PathLike[str], pieces: Iterable[Any]) -> None:
    """Write a file; one that was there stays as it is until the new one is whole.

    Raises FileNotFoundError where the folder does not exist, and OSError where it takes no file.
    """
    path = Path(path).resolve()  # a link leads to the file that is replaced
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a folder: make it first, or write {path.name!r} to another one")
    if path.is_dir() or (path.exists() and not os.access(path, os.W_OK)):
        what = "a folder" if path.is_dir() else "a file that may not be written"
        raise PermissionError(f"{path} is {what}: choose another name")
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with beside.open("xb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)
        error.add_note(f"{path} was not written; a file that was there before is as it was")
        raise
    if hasattr(os, "O_DIRECTORY"):  # the name is on the disk too; Windows sees to that by itself
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
