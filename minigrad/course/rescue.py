"""Brings back notebooks that JupyterLab was killed while saving.

JupyterLab copies NAME.ipynb to .~NAME.ipynb, writes into NAME.ipynb, and then removes the copy. A kill in between
leaves a notebook of 0 bytes, or the beginning of one, beside a copy that is whole. A power cut can leave an empty
notebook and no copy; then JupyterLab's last checkpoint is what there is. The damaged file goes to backup/, so both are
kept.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from minigrad.course.lessons import back_up, cell_sources, shipped, write

MOMENT = 1.0  # seconds; a save that lives ends, or goes on, within them
PREFIX = ".~"


@dataclass(frozen=True)
class Damaged:
    """A notebook that was damaged.

    name       below the course folder
    well       whether it is a notebook again
    sentence   what happened to it, and what to do
    """

    name: str
    well: bool
    sentence: str

    def __str__(self) -> str:
        return f"{self.name} {self.sentence}"


def rescue(folder: Path) -> list[Damaged]:
    """Bring back every damaged notebook of a course folder that has a whole copy; all that were damaged."""
    return [found for path in candidates(folder) if (found := rescue_notebook(folder, path))]


def candidates(folder: Path) -> list[Path]:
    """The notebooks in the folder and in those of the course, by name, with those of which only a copy is there."""
    places = {folder, *(folder / Path(name).parent for name in shipped())}
    found = {path for place in places for path in place.glob("*.ipynb")}
    return sorted(path.with_name(path.name.removeprefix(PREFIX)) for path in found)


def rescue_notebook(folder: Path, path: Path) -> Damaged | None:
    """Bring one notebook back if it is damaged; None if it is well, or is being saved right now."""
    name = path.relative_to(folder).as_posix()
    if is_whole(path) or is_being_saved(path):
        return None
    size = path.stat().st_size if path.exists() else 0
    copy = next(whole_copies(path), None)
    if copy is None:
        way = f"`minigrad reset {name}` gives it back as it was shipped"
        said = f"is no notebook ({size} bytes), and JupyterLab has left no copy of it: {way}."
        return Damaged(name, False, said) if name in shipped() and path.exists() else None
    try:
        with back_up(folder, name) if path.exists() else nullcontext() as backup:
            write(path, copy.read_bytes())
    except OSError as error:
        said = f"was cut short while JupyterLab saved it. {copy} is whole, and could not be put in its place"
        return Damaged(name, False, f"{said} ({error.strerror}): make room, or copy it there.")
    if copy.name.startswith(PREFIX):
        with suppress(OSError):
            copy.unlink()
    kept = f"; what was in its place is {backup}" if backup else ""
    of = "the copy from before that save" if copy.name.startswith(PREFIX) else "JupyterLab's last checkpoint of it"
    return Damaged(name, True, f"was cut short ({size} bytes) while JupyterLab saved it: {of} is back{kept}.")


def is_whole(path: Path) -> bool:
    """Whether a notebook can be read there, or nothing can because this user may not."""
    try:
        return cell_sources(path.read_bytes()) is not None
    except FileNotFoundError:
        return False
    except OSError:
        return True


def whole_copies(path: Path) -> Iterator[Path]:
    """The copies of a damaged notebook that are whole, the newest first; of an empty one the checkpoint, too."""
    place = Path(os.path.realpath(path))
    copies = [place.with_name(f"{PREFIX}{place.name}")]
    if path.exists() and not path.read_bytes().strip(b"\0 \n"):
        copies.append(path.parent / ".ipynb_checkpoints" / f"{path.stem}-checkpoint.ipynb")
    return (copy for copy in copies if copy.is_file() and is_whole(copy))


def is_being_saved(path: Path) -> bool:
    """Whether a living JupyterLab writes it: the file is new, and changes or becomes whole within a moment."""
    try:
        before = path.stat()
        if abs(time.time() - before.st_mtime) > 3 * MOMENT:
            return False
        time.sleep(MOMENT)
        after = path.stat()
    except OSError:
        return False
    return is_whole(path) or (after.st_mtime_ns, after.st_size) != (before.st_mtime_ns, before.st_size)
