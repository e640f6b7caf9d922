"""Restore notebooks that JupyterLab was killed while saving.

JupyterLab copies NAME.ipynb to .~NAME.ipynb, writes into NAME.ipynb, and then removes the copy. A kill in between
leaves an empty or truncated notebook, and a complete copy. A power cut can leave an empty notebook and no copy; then
only JupyterLab's last checkpoint is left. The damaged file goes to backup/, so both versions are kept.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from minigrad.course.lessons import back_up, cell_sources, shipped_names, write

MOMENT = 1.0  # seconds in which a running save ends or makes progress
PREFIX = ".~"


@dataclass(frozen=True)
class DamagedNotebook:
    """A damaged notebook.

    name       its path below the course folder
    well       whether it was restored
    sentence   what happened to it, and what to do
    """

    name: str
    well: bool
    sentence: str

    def __str__(self) -> str:
        return f"{self.name} {self.sentence}"


def rescue(folder: Path) -> list[DamagedNotebook]:
    """Restore each damaged notebook of a course folder that has a complete copy. Returns all damaged notebooks."""
    return [found for path in candidates(folder) if (found := rescue_notebook(folder, path))]


def candidates(folder: Path) -> list[Path]:
    """The sorted paths of all notebooks in the course folder, including those of which only a copy exists."""
    places = {folder, *(folder / Path(name).parent for name in shipped_names())}
    found = {path for place in places for path in place.glob("*.ipynb")}
    return sorted(path.with_name(path.name.removeprefix(PREFIX)) for path in found)


def rescue_notebook(folder: Path, path: Path) -> DamagedNotebook | None:
    """Restore one notebook if it is damaged; None if it is not, or is being saved right now."""
    name = path.relative_to(folder).as_posix()
    if is_whole(path) or is_being_saved(path):
        return None
    size = path.stat().st_size if path.exists() else 0
    copy = next(whole_copies(path), None)
    if copy is None:
        way = f"`minigrad reset {name}` restores it as it was shipped"
        said = f"is not a notebook ({size} bytes), and JupyterLab left no copy of it: {way}."
        return DamagedNotebook(name, False, said) if name in shipped_names() and path.exists() else None
    try:
        with back_up(folder, name) if path.exists() else nullcontext() as backup:
            write(path, copy.read_bytes())
    except OSError as error:
        said = f"was cut short while JupyterLab saved it. {copy} is complete, but could not replace it"
        return DamagedNotebook(name, False, f"{said} ({error.strerror}): free disk space, or copy it by hand.")
    if copy.name.startswith(PREFIX):
        with suppress(OSError):
            copy.unlink()
    kept = f"; the damaged file is {backup}" if backup else ""
    of = "the copy from before that save" if copy.name.startswith(PREFIX) else "JupyterLab's last checkpoint of it"
    return DamagedNotebook(name, True, f"was cut short ({size} bytes) while JupyterLab saved it: {of} is back{kept}.")


def is_whole(path: Path) -> bool:
    """Whether the file is a readable notebook, or this user has no permission to read it."""
    try:
        return cell_sources(path.read_bytes()) is not None
    except FileNotFoundError:
        return False
    except OSError:
        return True


def whole_copies(path: Path) -> Iterator[Path]:
    """The complete copies of a damaged notebook, the newest first; for an empty notebook, the checkpoint too."""
    place = Path(os.path.realpath(path))
    copies = [place.with_name(f"{PREFIX}{place.name}")]
    if path.exists() and not path.read_bytes().strip(b"\0 \n"):
        copies.append(path.parent / ".ipynb_checkpoints" / f"{path.stem}-checkpoint.ipynb")
    return (copy for copy in copies if copy.is_file() and is_whole(copy))


def is_being_saved(path: Path) -> bool:
    """Whether JupyterLab is saving it now: the file is recent, and changes or becomes complete within MOMENT."""
    try:
        before = path.stat()
        if abs(time.time() - before.st_mtime) > 3 * MOMENT:
            return False
        time.sleep(MOMENT)
        after = path.stat()
    except OSError:
        return False
    return is_whole(path) or (after.st_mtime_ns, after.st_size) != (before.st_mtime_ns, before.st_size)
