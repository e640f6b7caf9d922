"""Finding what was handed in: in a folder, or in a zip as Canvas and Moodle give it, or in nbgrader's exchange.

Whose a file is, the outermost name tells, that of a folder, a zip or a file in the place itself: a system or whoever
grades has given it. All names further in are the student's own, and are only labels. Nothing is unpacked: files are
read where they are, up to a size, and no link is followed on the way.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from .letters import spelled
from .submission import LARGEST, Unreadable

LARGEST_ZIP = 40 << 20  # bytes of a student's zip
MOST_FILES = 20_000  # in a student's zip
MOST_NOTEBOOKS = 100  # of a student
DEEPEST_ZIP = 1  # zips in a student's zip
DEEPEST = 20  # folders in folders
CANVAS = re.compile(r"(?P<name>.+?)(?:_LATE)?_(?P<student>\d+)_(?:(?P<when>\d+)_(?P<file>.+)|text|link)")
ANONYMOUS = re.compile(r"(?:LATE_)?(?P<student>anon_[A-Za-z0-9]+)_(?P<when>\d+)_(?P<file>.+)")  # Canvas's
MOODLE = re.compile(r"(?P<name>.+)_(?P<student>\d+)_assignsubmission_\w+")
FLAT = re.compile(r"(?P<name>.+?)_(?P<student>\d+)_assignsubmission_[a-z]+_(?P<file>.+)")  # Moodle's, without folders
INBOUND = re.compile(r"(?P<student>[^+]+)\+(?P<exercise>[^+]+)\+(?P<when>[^+]+)(?:\+[^+]+)?")
AGAIN = re.compile(r"-(\d+)$| ?\((\d+)\)$")  # what a system adds to the name of a second try
CLOSED, LINK = ".closed", ".link"  # as if in a folder that is not entered

Read = Callable[[int], bytes]  # so many bytes of a file, and one more if there are more


class NothingFound(Exception):
    """There is no submission where one was looked for."""


class Entry(NamedTuple):
    """A file in a place, and how it is read."""

    path: PurePosixPath
    read: Read


@dataclass(frozen=True)
class Handed:
    """One file that was handed in.

    student     an id, or what stands for one
    name        of the student, where the system tells it
    file        the name of the notebook, without what a system has added
    where       the file, for people
    when        when it was handed in, as text that sorts, which Canvas's number of a file is too; "" if nobody tells
    is_notebook whether its name says so; a zip or a folder is here only because it cannot be opened, and may hold one
    besides     other files of the student that answer the same exercise, and are not looked at
    warnings    what whoever grades should know
    """

    student: str
    name: str
    file: str
    where: str
    when: str
    bytes_of: Callable[[], bytes]
    is_notebook: bool = True
    besides: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def age(self) -> tuple[str, int, str]:
        """What sorts files of one student: the newest last."""
        again = AGAIN.search(PurePosixPath(self.where).stem)
        return self.when, int(again[1] or again[2]) if again else 0, self.where

    def data(self) -> bytes:
        """The file. Raises Unreadable, whatever is wrong with it."""
        try:
            return self.bytes_of()
        except Exception as error:  # a broken zip raises what it likes
            raise Unreadable(f"{self.where} cannot be read: {reason(error)}"[:300]) from error


def submissions(place: Path, warn: Callable[[str], None] = lambda sentence: None) -> list[Handed]:
    """The newest file of each student for each notebook, sorted by student. Raises NothingFound.

    Who handed in something else, and no notebook, is in the list with that, which cannot be read.

    warn    is told of files that are nobody's
    """
    tops: dict[str, list[Handed]] = {}
    nobodys = []
    for entry in chain.from_iterable(map(expanded, entries(place))):
        first, *inner = entry.path.parts
        handed = labelled(entry)
        if hidden(first):
            continue
        if handed.is_notebook or inner or owner(entry.path)[1]:
            mine = tops.setdefault(first, [])
            mine += [handed] if handed.is_notebook or not mine else []
        else:
            nobodys.append(first)
    if nobodys:
        warn(f"not looked at, as no notebook and in no student's folder: {shortened(nobodys)}")
    if not any(each.is_notebook for mine in tops.values() for each in mine):
        raise NothingFound(f"there is no notebook in {place}: submissions are .ipynb files, in folders or zips")
    return sorted(by_student(tops, place), key=lambda each: (each.student, each.file))


# -- what lies in a place -----------------------------------------------------------------------------


def entries(place: Path) -> Iterator[Entry]:
    """The files in a folder or in the zip of a class; or the one that is meant. Raises NothingFound."""
    try:
        if place.is_dir():
            return walked(place)
        if place.suffix.lower() == ".zip":
            return of_class(zipfile.ZipFile(place))
        file = place.resolve(strict=True)
        return iter([Entry(PurePosixPath(named(place.name)), partial(taken, file.parent, PurePosixPath(file.name)))])
    except FileNotFoundError:
        raise NothingFound(f"there is no {place}") from None
    except Exception as error:  # a broken zip raises what it likes
        raise NothingFound(f"{place} cannot be opened: {reason(error)}") from error


def walked(place: Path) -> Iterator[Entry]:
    """The files of a folder; for a folder that is not entered a file that cannot be read, and says why."""
    closed: list[OSError] = []
    for folder, folders, names in os.walk(place, onerror=closed.append):
        inner = PurePosixPath(Path(folder).relative_to(place).as_posix())
        for name in sorted(names):
            yield Entry(PurePosixPath(named(str(inner / name))), partial(taken, place, inner / name))
        if len(inner.parts) == DEEPEST and folders:
            yield Entry(inner / CLOSED, failing(f"it lies in more than {DEEPEST} folders"))
        links = {name for name in folders if Path(folder, name).is_symlink()}
        yield from (Entry(inner / name / LINK, failing("it is a link, and none is followed")) for name in sorted(links))
        folders[:] = sorted({*folders} - links) if len(inner.parts) < DEEPEST else []
    for error in closed:
        path = PurePosixPath(Path(error.filename).relative_to(place).as_posix())
        if not path.parts:
            raise NothingFound(f"{place} cannot be opened: {reason(error)}")
        yield Entry(path / CLOSED, failing(f"the folder cannot be opened: {reason(error)}"))


def of_class(archive: zipfile.ZipFile) -> Iterator[Entry]:
    """The files of a whole class's zip, which whoever grades has made."""
    for info in archive.infolist():
        if (path := inside(info)).parts:
            yield Entry(path, partial(inflated, archive, info))


def expanded(entry: Entry, depth: int = 0) -> Iterator[Entry]:
    """A file; of a student's zip the files in it, each read out of the zip anew, so that none is kept."""
    if entry.path.suffix.lower() != ".zip":
        yield entry
        return
    try:
        if depth > DEEPEST_ZIP:
            raise Unreadable("a zip in a zip in a zip is not opened")
        with unzipped(entry.read) as archive:
            paths = [inside(info) for info in archive.infolist()]
    except Exception as error:  # a broken zip raises what it likes
        yield Entry(entry.path, failing(f"the zip cannot be opened: {reason(error)}"))
        return
    for number, path in enumerate(paths):
        if path.parts:
            yield from expanded(Entry(entry.path / path, partial(out_of, entry.read, number)), depth + 1)


def unzipped(read: Read) -> zipfile.ZipFile:
    """A student's zip. Raises Unreadable before it takes much memory."""
    data = read(LARGEST_ZIP)
    if len(data) > LARGEST_ZIP:
        raise Unreadable(
            f"it has more than {LARGEST_ZIP >> 20} MB, the most of one student: hand in the notebook alone"
        )
    if data.count(b"PK\x01\x02") > MOST_FILES:  # each file in its list begins so
        raise Unreadable(f"it has more than {MOST_FILES} files: hand in the notebook alone")
    return zipfile.ZipFile(io.BytesIO(data))


def out_of(read: Read, number: int, most: int) -> bytes:
    with unzipped(read) as archive:
        return inflated(archive, archive.infolist()[number], most)


def inflated(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """A file of a zip, up to a size: what it says of its own is not believed."""
    with archive.open(info) as file:
        return file.read(most + 1)


def inside(info: zipfile.ZipInfo) -> PurePosixPath:
    """Where a file lies in a zip; nowhere if it is a folder. No name leads out of it."""
    parts = PurePosixPath(named(info.filename.replace("\\", "/"))).parts
    return PurePosixPath(*(part for part in parts if part not in ("/", "..", ".") and not info.is_dir()))


def taken(place: Path, inner: PurePosixPath, most: int) -> bytes:
    """A file in a folder, up to a size. No link is followed below the folder, whenever it was put there."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if os.open not in os.supports_dir_fd:  # Windows, where who is no administrator makes no links
        return regular(os.open(place / inner, flags), most)
    at = os.open(place, os.O_RDONLY)
    try:
        for part in inner.parts[:-1]:
            outer, at = at, os.open(part, flags | os.O_DIRECTORY, dir_fd=at)
            os.close(outer)
        return regular(os.open(inner.name, flags, dir_fd=at), most)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Unreadable("there is a link on the way to it, and none is followed") from error
        raise
    finally:
        os.close(at)


def regular(descriptor: int, most: int) -> bytes:
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable("it is no file, but a pipe, a folder or a device")
        return file.read(most + 1)


def failing(why: str) -> Read:
    def fail(most: int) -> bytes:
        raise Unreadable(why)

    return fail


# -- whose it is --------------------------------------------------------------------------------------


def labelled(entry: Entry) -> Handed:
    """A file with whose it is."""
    path = entry.path
    student, told = owner(path)
    may_be = path.suffix.lower() in (".ipynb", ".zip") or path.name in (CLOSED, LINK)
    read = entry.read if may_be else failing("it is no notebook: the .ipynb file is wanted")
    file = told.get("file") if len(path.parts) == 1 else ""
    when = told["when"].zfill(12) if told.get("when") else ""  # so that 99 sorts before 100
    return Handed(
        student, told.get("name", ""), AGAIN.sub("", file or path.stem),
        str(path.parent if path.name in (CLOSED, LINK) else path), when, partial(read, LARGEST),
        is_notebook=may_be and path.name != LINK and not any(map(hidden, path.parts[:-1])),
    )  # fmt: skip


def owner(path: PurePosixPath) -> tuple[str, dict[str, str]]:
    """Whose the first name of a path is, and what it tells if a system has given it: to a folder, or a file or zip."""
    first = PurePosixPath(path.parts[0])
    is_folder = len(path.parts) > 1 and first.suffix.lower() != ".zip"
    name, kinds = (first.name, (MOODLE, INBOUND)) if is_folder else (first.stem, (FLAT, ANONYMOUS, CANVAS))
    found = next(filter(None, (kind.fullmatch(name) for kind in kinds)), None)
    told = found.groupdict(default="") if found else {}
    return told.get("student") or (name if is_folder else AGAIN.sub("", name)), told


def by_student(tops: dict[str, list[Handed]], place: Path) -> Iterator[Handed]:
    """The newest of each student. A number that stands beside two names is no student's, and each name is one."""
    names: dict[str, set[str]] = {}
    for each in chain.from_iterable(tops.values()):
        names.setdefault(each.student, set()).add(each.name)
    students: dict[str, list[Handed]] = {}
    for first, mine in tops.items():
        said = taken_for_one(place, first, several(mine))
        for each in mine:
            is_number = len(names[each.student]) == 1
            student, name = (each.student, each.name) if is_number else (PurePosixPath(first).stem, "")
            students.setdefault(student, []).append(replace(each, student=student, name=name, warnings=said))
    alike = Counter(map(looks, students))
    for student, mine in students.items():
        twin = (f"somebody else is called {student!r} but for capitals, spaces or accents: are they two?",)
        for each in newest(mine):
            yield replace(each, warnings=each.warnings + twin) if alike[looks(student)] > 1 else each


def newest(mine: list[Handed]) -> list[Handed]:
    """Of each notebook of a student the newest; where there is none, what there is."""
    notebooks = [each for each in mine if each.is_notebook]
    if len(notebooks) > MOST_NOTEBOOKS:
        why = f"{len(notebooks)} notebooks of one student are more than {MOST_NOTEBOOKS}: hand in those that count"
        return [replace(notebooks[0], bytes_of=partial(failing(why), 0))]
    found: dict[str, Handed] = {}
    for each in sorted(notebooks, key=lambda each: each.age):
        before = found.get(each.file)
        found[each.file] = replace(each, besides=(*before.besides, before.where) if before else ())
    return list(found.values()) or mine[-1:]


def several(mine: list[Handed]) -> list[str]:
    """Names in a folder that may be students': they hold the same notebook, or are such as a system gives."""
    holders: dict[str, set[str]] = {"": set()}
    for path, file in ((PurePosixPath(each.where), each.file) for each in mine):
        inner = PurePosixPath(*path.parts[1:])
        if len(inner.parts) > 1:
            holders.setdefault(file, set()).add(inner.parts[0])
        if inner.parts and "student" in owner(inner)[1]:
            holders[""].add(owner(inner)[0])
    return max(map(sorted, holders.values()), key=len)


def taken_for_one(place: Path, first: str, several: Sequence[str]) -> tuple[str, ...]:
    if len(several) < 2:
        return ()
    way = f"grade {place / first} by itself" if place.is_dir() else f"unpack {place}, and grade {first} by itself"
    return (f"{first!r} was taken for one student, and may hold several, {shortened(several)}: if so, {way}",)


def looks(student: str) -> str:
    """A name as a hurried eye takes it."""
    return "".join(unicodedata.normalize("NFKC", student).casefold().split())


def hidden(name: str) -> bool:
    """Whether it is what editors and systems keep for themselves."""
    return name.startswith((".", "__MACOSX"))


def shortened(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def reason(error: Exception) -> Any:
    return error.strerror if isinstance(error, OSError) and error.strerror else error or type(error).__name__


def named(name: str) -> str:
    """A name in letters, and in one line: what the disk has in no encoding is written as \\udcff is."""
    return spelled(name).replace("\n", "\\n").replace("\t", "\\t")
