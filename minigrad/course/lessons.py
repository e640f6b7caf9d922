"""The course in the learner's folder: copied there, brought up to date there, and never at the cost of their work.

Three editions of a file meet: the one the course ships now, the one it last shipped to this folder, and the one found:

    found                what it is               what is done
    nothing              new, or deleted          copied
    = shipped now        up to date               nothing
    = last shipped       never edited             replaced
    anything else        the learner's own        left alone; a new edition is put beside it, once, as NAME.new.ipynb

Equal means: equal in what a learner writes. Of a notebook that is the cells, not their outputs: running is not editing.
Outputs are not copied, for JupyterLab shows no picture of a notebook it does not trust before the notebook is run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import count
from pathlib import Path

from minigrad.course.errors import CourseError
from minigrad.engine.base.whole_file import replace_file

SHIPPED = (
    "lessons/*.ipynb",
    "lessons/*.md",
    "lessons/*.svg",
    "lessons/data/**/*",
    "exercises/*.ipynb",
    "exercises/data/**/*",
)
STATE = ".minigrad.json"  # in the learner's folder: the digest of each file as it was last shipped
FIRST = "lessons/00_start_here.ipynb"
FEW = 3  # names in a sentence
KERNEL_SAYS = {  # of this Python; JupyterLab writes it into a notebook that has it not, and then asks to save that
    "name": "python",
    "version": sys.version.split()[0],
    "mimetype": "text/x-python",
    "codemirror_mode": {"name": "ipython", "version": 3},
    "pygments_lexer": "ipython3",
    "nbconvert_exporter": "python",
    "file_extension": ".py",
}

PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Copied:
    """What copying did, by name; `beside` are new editions put next to files that the learner has edited."""

    folder: Path
    new: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)


def checkout() -> Path | None:
    """The repository this package is run from, or None when it is installed on its own."""
    return None if (PACKAGE / "_course").is_dir() else PACKAGE.parent


def course() -> Path:
    """Where the lessons are shipped from: the checkout, or a folder inside the installed package."""
    return checkout() or PACKAGE / "_course"


def shipped() -> list[str]:
    """The name of every file the course ships, as it is called in the learner's folder too."""
    files = {path for pattern in SHIPPED for path in course().glob(pattern) if path.is_file()}
    names = sorted(path.relative_to(course()).as_posix() for path in files)
    return [name for name in names if not any(part.startswith((".", "__")) for part in name.split("/"))]


def default_folder() -> Path:
    """The folder used when none is named: the course folder that the command is typed in, or whose JupyterLab it is.

    Elsewhere a checkout has its own, work/; for an installed course an empty folder becomes one, and from
    anywhere else it is minigrad-course in the home folder.
    """
    repository, here = checkout(), Path.cwd()
    opened = os.environ.get("JUPYTER_SERVER_ROOT")  # set in JupyterLab's own terminals, which start elsewhere
    for folder in (here, *here.parents, *([Path(opened)] if opened else [])):
        if (folder / STATE).is_file():
            return folder
    if repository is not None:
        return repository / "work"
    return here if not any(here.iterdir()) else Path.home() / "minigrad-course"


def copy(folder: Path) -> Copied:
    """Bring the course in this folder up to date."""
    copied = Copied(destination(folder))
    with writing_in(folder):
        last = last_shipped(folder)
        now = dict(last)
        for name in shipped():
            now[name] = digest(course() / name)
            fate = fate_of(folder / name, now[name], last.get(name))
            if fate in ("new", "restored", "updated"):
                write(folder / name, pristine(name))
            elif fate == "kept" and now[name] != last.get(name):
                beside = put_beside(folder, name, last)
                now[beside] = now[name]
                copied.beside.append(beside)
            getattr(copied, fate).append(name)
        if now != last:
            remember(folder, now)
    return copied


def fate_of(path: Path, now: str, last: str | None) -> str:
    """What is to be done with the learner's file: new, restored, same, updated or kept."""
    if not path.exists():
        return "new" if last is None else "restored"
    found = digest(path)
    if found == now:
        return "same"
    return "updated" if found == last else "kept"


def put_beside(folder: Path, name: str, last: dict[str, str]) -> str:
    """Write the new edition next to the learner's, under the first name they have not worked in; that name."""
    stem, dot, suffix = name.rpartition(".")
    for edition in count(1):
        beside = f"{stem}.new{edition if edition > 1 else ''}{dot}{suffix}"
        fate = fate_of(folder / beside, digest(course() / name), last.get(beside))
        if fate != "kept":
            if fate != "same":
                write(folder / beside, pristine(name))
            return beside
    raise AssertionError("count() ends")


def reset(folder: Path, name: str) -> tuple[str, Path | None]:
    """Give a lesson back as it was shipped; its full name, and where the learner's own went, if it was edited.

    The lesson is exchanged at once, after everything is on the disk; where that fails, it is as it was.
    """
    name = the_one(name, destination(folder))
    path, now = folder / name, digest(course() / name)
    with writing_in(folder):
        last = last_shipped(folder)
        is_edited = path.is_file() and digest(path) not in (now, last.get(name))
        with back_up(folder, name) if is_edited else nullcontext() as backup:
            write(path, pristine(name))
        remember(folder, last | {name: now})
    return name, backup


@contextmanager
def back_up(folder: Path, name: str) -> Iterator[Path]:
    """Link a file into a new folder of backup/, or copy it; remove that folder if the disk fails in the block."""
    moment = make_backup_folder(folder)
    backup = moment / name
    try:
        backup.parent.mkdir(parents=True)
        try:
            backup.hardlink_to(os.path.realpath(folder / name))
        except OSError:
            shutil.copy2(folder / name, backup)
        yield backup
    except OSError:  # after Ctrl-C the lesson may be exchanged already
        shutil.rmtree(moment, ignore_errors=True)
        raise


def notebook(folder: Path, wanted: str) -> str:
    """The name, below the folder, of a notebook in it: one of the course's by its beginning, or any by its path."""
    path = Path(wanted).absolute() if Path(wanted).exists() else folder.absolute() / wanted
    if path.suffix == ".ipynb" and path.is_file() and path.is_relative_to(folder.absolute()):
        return path.relative_to(folder.absolute()).as_posix()
    name = the_one(wanted, folder)
    if not name.endswith(".ipynb"):
        raise CourseError(f"{name} is no notebook, and has no slides: present one such as {FIRST}")
    return name


def has_slides(path: Path) -> bool:
    """Whether its author has said which cells begin a page."""
    return re.search(rb'"slide_type": *"(sub)?slide"', path.read_bytes()) is not None


def the_one(wanted: str, folder: Path) -> str:
    """The shipped name that was meant by `exercises/01_slopes.ipynb`, by its beginning, or by a path to the file."""
    names = shipped()
    path = Path(wanted).absolute()
    if path.is_relative_to(folder.absolute()):
        wanted = path.relative_to(folder.absolute()).as_posix()
    wanted = wanted.replace("\\", "/")
    found = [name for name in names if name == wanted]
    found = found or [name for name in names if name.startswith(wanted) or name.rpartition("/")[2].startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if not found:
        near = [name for name in names if get_close_matches(wanted, [name, name.rpartition("/")[2]], 1)]
        meant = f"did you mean {' or '.join(near)}?" if near else f"names begin as {names[0]} does."
        raise CourseError(f"the course has no file {wanted!r}: {meant} All are in {folder}")
    few = " or ".join(found[:FEW]) + (f", or {len(found) - FEW} more" if len(found) > FEW else "")
    raise CourseError(f"{wanted!r} could be {few}: name one of them")


def make_backup_folder(folder: Path) -> Path:
    """Make a folder named for the present time, which no other command uses."""
    moment = folder / "backup" / time.strftime("%Y-%m-%d_%H-%M-%S")
    for n in count(1):
        path = moment.with_name(f"{moment.name}_{n}" if n > 1 else moment.name)
        with suppress(FileExistsError):
            path.mkdir(parents=True)
            return path
    raise AssertionError("count() ends")


def destination(folder: Path) -> Path:
    if folder.resolve() == course():
        raise CourseError(f"{folder} is where the lessons come from: name another folder for your own copies")
    if not shipped():
        raise CourseError(f"{course()} has no lessons: install minigrad-course again, or get the whole repository")
    return folder


@contextmanager
def writing_in(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = f" at {error.filename}" if error.filename else ""
        raise CourseError(
            f"cannot keep the course in {folder} ({error.strerror}{where}): name a folder that you can write in, "
            f"with --dir FOLDER"
        ) from error


def digest(path: Path) -> str:
    """A fingerprint of what a learner can write in a file."""
    data = path.read_bytes()
    cells = cell_sources(data) if path.suffix == ".ipynb" else None
    return hashlib.sha256(data if cells is None else json.dumps(cells).encode()).hexdigest()


def cell_sources(data: bytes) -> list[tuple[str, str]] | None:
    """Kind and source of each cell that has any, or None if this is no notebook.

    Running the last cell makes JupyterLab append an empty one; so empty cells do not count.
    """
    try:
        cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(data)["cells"]]
    except (ValueError, KeyError, TypeError):
        return None
    return [(kind, source) for kind, source in cells if source.strip()]


def pristine(name: str) -> bytes:
    """A file as the learner gets it: a notebook without outputs, and ready for this Python; anything else as it is."""
    data = (course() / name).read_bytes()
    if not name.endswith(".ipynb"):
        return data
    notebook = json.loads(data)
    notebook["metadata"].pop("widgets", None)
    notebook["metadata"]["language_info"] = KERNEL_SAYS
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def write(path: Path, data: bytes) -> None:
    """Put a whole file in place, in a folder that is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, [data])


def last_shipped(folder: Path) -> dict[str, str]:
    """What remember() wrote; nothing if it is lost or damaged, and then every file that differs is the learner's."""
    try:
        state = json.loads((folder / STATE).read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def remember(folder: Path, now: dict[str, str]) -> None:
    write(folder / STATE, (json.dumps(now, indent=1, sort_keys=True) + "\n").encode())
