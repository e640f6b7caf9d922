"""Copy the course to the learner's folder and update it there, without ever overwriting their work.

Three versions of each file are compared: shipped now, last shipped to this folder, and found in this folder:

    found                meaning                  action
    nothing              new, or deleted          copy
    = shipped now        up to date               nothing
    = last shipped       never edited             replace
    anything else        edited by the learner    keep; a new edition is written once next to it, as NAME.new.ipynb

Two versions are equal if everything a learner writes is equal: in a notebook, the cells without their outputs, because
running is not editing. Outputs are not copied: JupyterLab shows no pictures until a notebook is trusted or run.
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

from minigrad.course import CourseError
from minigrad.engine.base.whole_file import replace_file

SHIPPED = (
    "lessons/*.ipynb", "lessons/*.md", "lessons/*.svg", "lessons/data/**/*", "exercises/*.ipynb", "exercises/data/**/*",
    "docs/your_own_graphs.md",
)  # fmt: skip
STATE = ".minigrad.json"  # in the learner's folder: the digest of each file as it was last shipped
FIRST = "lessons/00_start_here.ipynb"
TITLES = {  # of the lessons, in order; the headers in lessons/source say the same
    "00_start_here": "Start here", "01_what_a_graph_is": "What a computation graph is",
    "02_chain_rule_backwards": "The chain rule, backwards", "03_train_a_network": "Train a network",
    "04_tensors": "A whole array is one node", "05_two_directions": "Two directions",
    "06_the_dynamic_graph": "The dynamic graph", "07_tapes_and_transforms": "Tapes and transforms",
    "08_a_graph_for_each_input": "A graph for each input", "09_define_then_run": "Define, then run",
    "10_control_flow_in_graphs": "Control flow in graphs", "11_tracing": "Tracing",
    "12_three_ways": "Three ways to run one model", "13_optimising_a_graph": "Optimising a graph",
    "14_memory_and_schedule": "Memory and schedule", "15_compiled_code": "Compiled code",
    "16_where_the_bytes_go": "Where the bytes go", "17_what_grows_how": "What grows how",
    "18_flops_are_not_time": "FLOPs are not time", "19_smaller": "Smaller",
    "20_sixteen_bits": "Sixteen bits", "21_twice_to_keep_less": "Twice, to keep less",
    "22_many_workers_one_gradient": "Many workers, one gradient",
    "23_one_model_many_workers": "One model, many workers", "24_out_of_python": "Out of Python",
    "25_a_small_gpt": "A small GPT", "90_gallery": "The gallery of widgets",
}  # fmt: skip
ROAD: tuple[str, ...] = ("00", "02", "06", "09", "11", "13", "16", "22", "25")  # the lessons of a short course
ROAD_SIGN = "road"  # marks them in the map of the course, in the book and in the status
FEW = 3  # names listed in a message
KERNEL_SAYS = {  # as the kernel reports it; if a notebook lacks this, JupyterLab adds it and asks to save
    "name": "python", "version": sys.version.split()[0], "mimetype": "text/x-python", "file_extension": ".py",
    "codemirror_mode": {"name": "ipython", "version": 3}, "pygments_lexer": "ipython3", "nbconvert_exporter": "python",
}  # fmt: skip
MOMENT = 1.0  # seconds in which a running save ends or makes progress
PREFIX = ".~"

PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class CopyReport:
    """The names of the files, by what copy() did to them. `beside`: new editions next to files the learner edited."""

    folder: Path
    new: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)


def is_on_road(name: str) -> bool:
    """Whether a lesson or an exercise, such as "02_chain_rule_backwards", belongs to the short course."""
    return name[:2] in ROAD


def checkout() -> Path | None:
    """The repository this package runs from, or None for an installed package."""
    return None if (PACKAGE / "_course").is_dir() else PACKAGE.parent


def course() -> Path:
    """Where the lessons are shipped from: the checkout, or a folder inside the installed package."""
    return checkout() or PACKAGE / "_course"


def shipped_names() -> list[str]:
    """The names of all shipped files, relative to the course folder."""
    files = {path for pattern in SHIPPED for path in course().glob(pattern) if path.is_file()}
    names = sorted(path.relative_to(course()).as_posix() for path in files)
    return [name for name in names if not any(part.startswith((".", "__")) for part in name.split("/"))]


def default_folder() -> Path:
    """The default course folder: the one that contains the current folder, or that JupyterLab was opened in.

    Otherwise a checkout uses its work/. An installed package uses the current folder if it is empty, else
    minigrad-course in the home folder.
    """
    repository, here = checkout(), Path.cwd()
    opened = os.environ.get("JUPYTER_SERVER_ROOT")  # set in JupyterLab's own terminals, which start in another folder
    for folder in (here, *here.parents, *([Path(opened)] if opened else [])):
        if (folder / STATE).is_file():
            return folder
    if repository is not None:
        return repository / "work"
    return here if not any(here.iterdir()) else Path.home() / "minigrad-course"


def copy(folder: Path) -> CopyReport:
    """Bring the course in this folder up to date."""
    copied = CopyReport(destination(folder))
    with writing_in(folder):
        last = last_shipped(folder)
        now = dict(last)
        for name in shipped_names():
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
    """What copy() does with the learner's file: new, restored, same, updated or kept."""
    if not path.exists():
        return "new" if last is None else "restored"
    found = digest(path)
    if found == now:
        return "same"
    return "updated" if found == last else "kept"


def put_beside(folder: Path, name: str, last: dict[str, str]) -> str:
    """Write the new edition next to the learner's file, under the first name without an edited file. Returns it."""
    stem, dot, suffix = name.rpartition(".")
    names = (f"{stem}.new{edition if edition > 1 else ''}{dot}{suffix}" for edition in count(1))
    fates = ((beside, fate_of(folder / beside, digest(course() / name), last.get(beside))) for beside in names)
    beside, fate = next(each for each in fates if each[1] != "kept")
    if fate != "same":
        write(folder / beside, pristine(name))
    return beside


def reset(folder: Path, name: str) -> tuple[str, Path | None]:
    """Restore a lesson as it was shipped. Returns its full name, and the path of the backup if it was edited.

    The lesson is replaced atomically, once all data is on the disk. If writing fails, the lesson is unchanged.
    """
    name = resolve_name(name, destination(folder))
    path, now = folder / name, digest(course() / name)
    with writing_in(folder):
        last = last_shipped(folder)
        is_edited = path.is_file() and digest(path) not in (now, last.get(name))
        with back_up(folder, name) if is_edited else nullcontext() as backup:
            write(path, pristine(name))
        remember(folder, last | {name: now})
    return name, backup


def hand_in(folder: Path, name: str) -> Path:
    """Copy the learner's notebook of an exercise to the folder `submit`. Returns the path of the copy.

    name    the number of the exercise, the start of its name, or a path to it
    """
    full = resolve_name(f"exercises/{name}" if re.match(r"\d\d", name) else name, destination(folder))
    path = folder / full
    if not full.startswith("exercises/"):
        raise CourseError(f"{full} is not an exercise: name one by its number, such as 02")
    if not path.is_file():
        raise CourseError(f"there is no {path}: `python3 start.py copy` or `minigrad copy` brings it")
    data = path.read_bytes()
    if cell_sources(data) is None:
        raise CourseError(f"{path} is damaged: open it in JupyterLab, or get it back with `minigrad reset {full}`")
    with writing_in(folder):
        write(folder / "submit" / path.name, data)
    return folder / "submit" / path.name


@contextmanager
def back_up(folder: Path, name: str) -> Iterator[Path]:
    """Link or copy a file into a new folder of backup/. Remove that folder if the block raises OSError."""
    moment = make_backup_folder(folder)
    backup = moment / name
    try:
        backup.parent.mkdir(parents=True)
        try:
            backup.hardlink_to(os.path.realpath(folder / name))
        except OSError:
            shutil.copy2(folder / name, backup)
        yield backup
    except OSError:  # not on Ctrl-C: the lesson may be replaced already
        shutil.rmtree(moment, ignore_errors=True)
        raise


def notebook(folder: Path, wanted: str) -> str:
    """The path of a notebook relative to the folder. `wanted` is any path to it, or the start of a shipped name: 05 is
    lesson 05, though there is an exercise 05 too.
    """
    path = Path(wanted).absolute() if Path(wanted).exists() else folder.absolute() / wanted
    if path.suffix == ".ipynb" and path.is_file() and path.is_relative_to(folder.absolute()):
        return path.relative_to(folder.absolute()).as_posix()
    is_lesson = any(name.startswith(f"lessons/{wanted}") for name in shipped_names())
    name = resolve_name(f"lessons/{wanted}" if is_lesson else wanted, folder)
    if not name.endswith(".ipynb"):
        raise CourseError(f"{name} is not a notebook, and has no slides: choose one such as {FIRST}")
    return name


def has_slides(path: Path) -> bool:
    """Whether the notebook marks the cells that begin a slide."""
    return re.search(rb'"slide_type": *"(sub)?slide"', path.read_bytes()) is not None


def resolve_name(wanted: str, folder: Path) -> str:
    """The shipped name that matches `exercises/01_slopes.ipynb`, the start of such a name, or a path to the file."""
    names = shipped_names()
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
        meant = f"did you mean {' or '.join(near)}?" if near else f"an example is {names[0]}."
        raise CourseError(f"the course has no file {wanted!r}: {meant} All are in {folder}")
    few = " or ".join(found[:FEW]) + (f", or {len(found) - FEW} more" if len(found) > FEW else "")
    raise CourseError(f"{wanted!r} could be {few}: name one of them")


def make_backup_folder(folder: Path) -> Path:
    """Make a new folder named after the current time."""
    moment = folder / "backup" / time.strftime("%Y-%m-%d_%H-%M-%S")
    for n in count(1):
        path = moment.with_name(f"{moment.name}_{n}" if n > 1 else moment.name)
        with suppress(FileExistsError):
            path.mkdir(parents=True)
            return path
    raise AssertionError("count() ends")


def destination(folder: Path) -> Path:
    if folder.resolve() == course():
        raise CourseError(f"{folder} is the source of the lessons: choose another folder for your own copies")
    if not shipped_names():
        raise CourseError(f"{course()} has no lessons: install minigrad-course again, or get the whole repository")
    return folder


@contextmanager
def writing_in(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = f" at {error.filename}" if error.filename else ""
        advice = "name a folder that you can write in, with --dir FOLDER"
        raise CourseError(f"cannot keep the course in {folder} ({error.strerror}{where}): {advice}") from error


def digest(path: Path) -> str:
    """A hash of what a learner can write in a file."""
    data = path.read_bytes()
    cells = cell_sources(data) if path.suffix == ".ipynb" else None
    return hashlib.sha256(data if cells is None else json.dumps(cells).encode()).hexdigest()


def cell_sources(data: bytes) -> list[tuple[str, str]] | None:
    """The kind and source of each cell that is not empty, or None if this is not a notebook.

    Empty cells do not count, because JupyterLab appends one when the last cell is run.
    """
    try:
        cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(data)["cells"]]
    except (ValueError, KeyError, TypeError):
        return None
    return [(kind, source) for kind, source in cells if source.strip()]


def pristine(name: str) -> bytes:
    """A file as it is shipped: a notebook without outputs and with this Python's metadata; other files unchanged."""
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
    """Write a file atomically. Makes its folder if necessary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, [data])


def last_shipped(folder: Path) -> dict[str, str]:
    """The digests that remember() stored; {} if they are lost: then every file that differs counts as edited."""
    try:
        state = json.loads((folder / STATE).read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def remember(folder: Path, now: dict[str, str]) -> None:
    write(folder / STATE, (json.dumps(now, indent=1, sort_keys=True) + "\n").encode())


# -- notebooks that JupyterLab was killed while saving ---------------------------------------------


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
    """Restore each damaged notebook of a course folder that has a complete copy. Returns all damaged notebooks.

    JupyterLab copies NAME.ipynb to .~NAME.ipynb, writes into NAME.ipynb, and then removes the copy. A kill in between
    leaves an empty or truncated notebook, and a complete copy. A power cut can leave an empty notebook and no copy;
    then only JupyterLab's last checkpoint is left. The damaged file goes to backup/, so both versions are kept.
    """
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
