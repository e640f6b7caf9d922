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
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache, partial
from itertools import chain
from operator import attrgetter
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from .letters import spelled
from .submission import LARGEST, Unreadable

LARGEST_ZIP = 40 << 20  # bytes of a student's zip, and of all zips in it
MOST_FILES = 20_000  # in a student's zip, and in the zips in it
MOST_NOTEBOOKS = 100  # of a student
MOST_BYTES = 4 * LARGEST  # of a student's notebooks, unpacked
MOST_ZIPS = 20  # in a student's zip
NOTEBOOKS = (".ipynb", ".zip")  # how names of files end that are one, or may hold one
DEEPEST = 20  # folders in folders
TOO_DEEP = f"it lies in more than {DEEPEST} folders"
CANVAS = re.compile(r"(?P<name>.+?)(?:_LATE)?_(?P<student>\d+)_(?:(?P<when>\d+)_(?P<file>.+)|text|link)")
ANONYMOUS = re.compile(r"(?:LATE_)?(?P<student>anon_[A-Za-z0-9]+)_(?P<when>\d+)_(?P<file>.+)")  # Canvas's
MOODLE = re.compile(r"(?P<name>.+)_(?P<student>\d+)_assignsubmission_\w+")
FLAT = re.compile(r"(?P<name>.+?)_(?P<student>\d+)_assignsubmission_[a-z]+_(?P<file>.+)")  # Moodle's, without folders
BLACKBOARD = re.compile(r"(?P<name>(?:.+_)?(?P<student>[^_]+))_attempt_(?P<when>\d{4}(?:-\d\d){5})(?:_(?P<file>.+))?")
BRIGHTSPACE = re.compile(
    r"(?P<student>\d+)-\d+ *- *(?P<name>.+?) *- *(?P<when>\w{3} \d{1,2}, \d{4} \d{3,4} [AP]M)(?: *- *(?P<file>.+))?"
)
INBOUND = re.compile(r"(?P<student>[^+]+)\+(?P<exercise>[^+]+)\+(?P<when>[^+]+)(?:\+[^+]+)?")
AGAIN = re.compile(r"-(\d+)$| ?\((\d+)\)$")  # what a system adds to the name of a second try

Read = Callable[[int], bytes]  # so many bytes of a file, and one more if there are more
Files = list[tuple[PurePosixPath, Read]]


class NothingFound(Exception):
    """There is no submission where one was looked for."""


@dataclass(frozen=True)
class Handed:
    """One file that was handed in.

    path        where it lies in the place
    kind        file; closed, a folder that is not entered; or none, a link or an empty folder
    student     an id, or what stands for one; its name, where the system tells it
    file        the name of the notebook, without what a system has added
    when        it was handed in, as text that sorts, which Canvas's number of a file is too
    besides     other files of the student that answer the same exercise, and are not looked at
    """

    path: PurePosixPath
    read: Read
    kind: str = "file"
    student: str = ""
    name: str = ""
    file: str = ""
    when: str = ""
    besides: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        return str(self.path)

    @property
    def folders(self) -> tuple[str, ...]:
        return self.path.parts[:-1] if self.kind == "file" else self.path.parts

    @property
    def may_be(self) -> bool:
        """A notebook, or what holds one: a zip or a folder is here only because it cannot be opened."""
        return self.kind != "file" or self.path.name.lower().endswith(NOTEBOOKS)

    @property
    def is_notebook(self) -> bool:
        return self.may_be and self.kind != "none" and not any(map(hidden, self.folders))

    @property
    def age(self) -> tuple[str, int, str, str]:
        """The sort key of one student's files, the newest last. A number sorts by its length, then by its digits."""
        again = AGAIN.search(self.path.stem)
        digits = (again[1] or again[2]).lstrip("0") if again else ""
        return self.when, len(digits), digits, self.where

    def data(self) -> bytes:
        """The file. Raises Unreadable, whatever is wrong with it."""
        try:
            return self.read(LARGEST)
        except Exception as error:  # a broken zip raises what it likes
            raise Unreadable(f"{self.where} cannot be read: {reason(error)}"[:300]) from error


Key = Callable[[Handed], Any]


def submissions(
    place: Path,
    warn: Callable[[str], None] = lambda sentence: None,
    subject: Callable[[Handed], str] = attrgetter("file"),
    rank: Callable[[Handed], Any] = bool,
) -> list[Handed]:
    """The newest file of each student for each subject, sorted by student. Raises NothingFound.

    A student who handed in no notebook is listed with another file, which is unreadable.

    warn       called with a sentence about files that belong to nobody, or about names that look alike
    subject    what a file is for; called if a student has several
    rank       of several files of a subject the highest counts, of those the newest
    """
    tops: dict[str, list[Handed]] = {}
    for each in chain.from_iterable(attempt(partial(expand, entry), entry) for entry in entries(place)):
        tops.setdefault(each.path.parts[0] if each.student else "", []).append(each)
    if nobodys := [each.where for each in tops.pop("", []) if not hidden(each.where)]:
        warn(f"not looked at, as no notebook and in no student's folder: {shortened(nobodys)}")
    found = [each for mine in tops.values() for each in [each for each in mine if each.is_notebook] or mine[:1]]
    if not any(each.is_notebook for each in found):
        raise NothingFound(f"there is no notebook in {place}: submissions are .ipynb files, in folders or zips")
    choose = partial(newest, place, subject, rank)
    chosen = chain.from_iterable(attempt(partial(choose, mine), mine[0]) for mine in by_student(found))
    handed = sorted(chosen, key=lambda each: (each.student, each.file))
    for names in lookalikes({each.student for each in handed}):
        warn(f"the names {shortened(names)} look alike: are they one student?")
    return handed


def lookalikes(names: Iterable[str]) -> list[list[str]]:
    """Groups of names that differ only in case, spaces or invisible characters; each name as its repr."""
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        letters = (c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) not in ("Cf", "Zs"))
        found.setdefault("".join(letters).casefold(), []).append(repr(name))
    return [names for names in found.values() if len(names) > 1]


def attempt(stage: Callable[[], list[Handed]], first: Handed) -> list[Handed]:
    """What a stage returns for one student; if it raises, one unreadable file, so that no other student is lost."""
    try:
        return stage()
    except Exception as error:
        why = f"{first.where} cannot be graded: {type(error).__name__}: {error}"[:300]
        return [replace(first, read=partial(fail, why), student=first.student or first.path.parts[0])]


def newest(place: Path, subject: Key, rank: Key, mine: list[Handed]) -> list[Handed]:
    """Of one student's notebooks the newest for each subject, which names the others; where there is none, a file."""
    notebooks = [each for each in mine if each.is_notebook]
    if len(notebooks) < 2:  # it need not be read
        chosen = notebooks or mine[-1:]
    elif why := excess(notebooks):
        chosen = [replace(notebooks[0], read=partial(fail, why))]
    else:
        subjects: dict[str, list[Handed]] = {}
        for each in notebooks:
            subjects.setdefault(subject(each), []).append(each)
        chosen = [latest(rank, several) for several in subjects.values()]
    return [replace(each, warnings=several_students(place, each.path.parts[0], notebooks)) for each in chosen]


def latest(rank: Key, several: list[Handed]) -> Handed:
    last, *before = sorted(several, key=lambda each: (len(several) > 1 and rank(each), each.age), reverse=True)
    return replace(last, besides=tuple(each.where for each in before))


def excess(notebooks: list[Handed]) -> str:
    """The limit that the notebooks of one student exceed together, in words; "" if they exceed none."""
    if len(notebooks) > MOST_NOTEBOOKS:
        return f"{len(notebooks)} notebooks of one student are more than {MOST_NOTEBOOKS}: hand in those that count"
    left = MOST_BYTES
    for each in notebooks:
        with suppress(Unreadable):
            left -= len(each.data())
        if left < 0:
            return f"the notebooks of one student exceed {MOST_BYTES >> 20} MB together: hand in those that count"
    return ""


# -- what lies in a place -----------------------------------------------------------------------------


def entries(place: Path) -> Iterable[Handed]:
    """The files in a folder or in the zip of a class; or the one that is meant. Raises NothingFound."""
    try:
        if place.is_dir():
            return walk(place)
        if is_zip(place):  # a class's: read where it is, for it may be large
            return [Handed(path, read) for path, read in members(zipfile.ZipFile(place))]
        file = place.resolve(strict=True)
        read = partial(read_in_folder, file.parent, PurePosixPath(file.name))
        return [Handed(PurePosixPath(spell_name(place.name)), read)]
    except FileNotFoundError:
        raise NothingFound(f"there is no {place}") from None
    except Exception as error:  # a broken zip raises what it likes
        raise NothingFound(f"{place} cannot be opened: {reason(error)}") from error


def walk(place: Path) -> Iterator[Handed]:
    """The files of a folder; for a folder that is not entered a file that cannot be read, and says why."""
    closed: list[OSError] = []
    for folder, folders, names in os.walk(place, onerror=closed.append):
        inner = PurePosixPath(Path(folder).relative_to(place).as_posix())
        folders.sort()
        links = {name for name in (*folders, *names) if is_link(Path(folder, name))}
        for name in sorted({*names, *links}):
            path = PurePosixPath(spell_name(str(inner / name)))
            if name in links:
                yield Handed(path, partial(fail, "it is a link, and none is followed"), "none")
            else:
                yield Handed(path, partial(read_in_folder, place, inner / name))
        if inner.parts and not (folders or names):
            yield Handed(inner, partial(fail, "the folder is empty"), "none")
        if len(inner.parts) == DEEPEST and folders:
            yield Handed(inner, partial(fail, TOO_DEEP), "closed")
            folders.clear()
    for error in closed:
        path = PurePosixPath(Path(error.filename).relative_to(place).as_posix())
        if not path.parts:
            raise NothingFound(f"{place} cannot be opened: {reason(error)}")
        yield Handed(path, partial(fail, f"the folder cannot be opened: {reason(error)}"), "closed")


def is_link(path: Path) -> bool:
    """Whether it is a link to a folder or to nothing; if it is called as a notebook, it is one that cannot be read."""
    return path.is_symlink() and (path.is_dir() or not (path.exists() or path.name.lower().endswith(NOTEBOOKS)))


def expand(entry: Handed) -> list[Handed]:
    """A file, or those in a student's zip, each of which is unpacked when it is read; labelled with whose they are."""
    if not is_zip(entry.path):
        return [identify(entry)]
    try:
        files = [
            (entry.path / path, partial(read_from_zip, entry.read, i)) for i, (path, _) in enumerate(unpack(entry.read))
        ]
    except Exception as error:  # a broken zip raises what it likes
        files = [(entry.path, partial(fail, f"the zip cannot be opened: {reason(error)}"))]
    return [identify(Handed(path, read)) for path, read in files]


def read_from_zip(read: Read, i: int, most: int) -> bytes:
    return unpack(read)[i][1](most)


@lru_cache(1)  # else each of its files would read the whole zip again
def unpack(read: Read) -> Files:
    """The files in a student's zip, and in the zips in it. Raises Unreadable before it takes much memory."""
    outer = open_zip(read(LARGEST_ZIP), LARGEST_ZIP, MOST_FILES)
    count = sum(is_zip(path) for path, _ in outer)
    if count > MOST_ZIPS:
        raise Unreadable(f"the zip holds {count} zips; at most {MOST_ZIPS} are allowed")
    files, left = Files(), LARGEST_ZIP
    for path, inner in outer:
        if not is_zip(path):
            files.append((path, inner))
            continue
        try:
            data, most = inner(left), left
            left = max(left - len(data), 0)
            found = open_zip(data, most, MOST_FILES - len(files))
            why = partial(fail, "a zip in a zip in a zip is not opened")
            files += [(path / name, why if is_zip(name) else file) for name, file in found]
        except Exception as error:
            files.append((path, partial(fail, f"the zip cannot be opened: {reason(error)}")))
    return files


def open_zip(data: bytes, most: int, most_files: int) -> Files:
    """The files of a zip. Raises Unreadable if it has more bytes, or more files, than are allowed, or none."""
    if len(data) > most:
        raise Unreadable(f"it has more than {LARGEST_ZIP >> 20} MB, all that a student may hand in")
    if data.count(b"PK\x01\x02") > most_files:  # each file in its list begins so
        raise Unreadable(f"it has more than {MOST_FILES} files: hand in the notebook alone")
    if not (files := members(zipfile.ZipFile(io.BytesIO(data)))):
        raise Unreadable("there is no file in it")
    return files


def is_zip(path: PurePath) -> bool:
    return path.suffix.lower() == ".zip"


def members(archive: zipfile.ZipFile) -> Files:
    """The files of a zip, each with how to read it; no name leads out of it."""
    files = Files()
    for info in archive.infolist():
        names = PurePosixPath(spell_name(info.filename.replace("\\", "/"))).parts
        parts = [part for part in names if part not in ("..", "/", "//")]
        if len(parts) > DEEPEST + 1:
            files.append((PurePosixPath(parts[0], "…", parts[-1]), partial(fail, TOO_DEEP)))
        elif parts and not info.is_dir():
            files.append((PurePosixPath(*parts), partial(inflate, archive, info)))
    return files


def inflate(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """A file of a zip, up to a size: what it says of its own is not believed."""
    with archive.open(info) as file:
        return file.read(most + 1)


def read_in_folder(place: Path, inner: PurePosixPath, most: int) -> bytes:
    """A file in a folder, up to a size. No link is followed below the folder, whenever it was put there."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with ExitStack() as until:
            at, names = None, (str(place), *inner.parts)
            if os.open not in os.supports_dir_fd:  # Windows, where a link needs an administrator
                names = (str(place / inner),)
            for name in names[:-1]:
                at = os.open(name, (os.O_RDONLY if at is None else flags) | os.O_DIRECTORY, dir_fd=at)
                until.callback(os.close, at)
            file = until.enter_context(open(names[-1], "rb", opener=lambda name, _: os.open(name, flags, dir_fd=at)))
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Unreadable("it is no file, but a pipe, a folder or a device")
            return file.read(most + 1)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Unreadable("there is a link on the way to it, and none is followed") from error
        raise


def fail(why: str, most: int) -> bytes:
    raise Unreadable(why)


# -- whose it is --------------------------------------------------------------------------------------


def identify(each: Handed) -> Handed:
    """A file with whose it is; nobody's, if it lies in the place itself, and is no notebook and from no system."""
    student, told = owner(each.path, bool(each.folders))
    if hidden(each.path.parts[0]) or not (each.is_notebook or each.folders or told):
        return each
    read = each.read if each.may_be else partial(fail, "it is no notebook: the .ipynb file is wanted")
    file = AGAIN.sub("", "" if each.folders else told.get("file", "")) or AGAIN.sub("", each.path.stem)
    return replace(each, read=read, student=student, name=told.get("name", ""), file=file, when=moment(told))


def moment(told: dict[str, str]) -> str:
    """The time of submission in a file's name, as text that sorts: 99 before 100, and Dec 1 after Nov 30."""
    when = told.get("when", "")
    with suppress(ValueError):
        date, clock, half = when.rsplit(" ", 2)
        return datetime.strptime(f"{date} {clock.zfill(4)} {half}", "%b %d, %Y %I%M %p").isoformat()
    return when.zfill(12)


def owner(path: PurePosixPath, in_a_folder: bool) -> tuple[str, dict[str, str]]:
    """Whose the first name of a path is, and what it tells if a system has given it: to a folder, or a file or zip."""
    first = PurePosixPath(path.parts[0])
    is_folder = in_a_folder and not is_zip(first)
    files = (FLAT, ANONYMOUS, BLACKBOARD, BRIGHTSPACE, CANVAS)
    name, kinds = (first.name, (MOODLE, INBOUND, BRIGHTSPACE)) if is_folder else (first.stem, files)
    found = next(filter(None, (kind.fullmatch(name) for kind in kinds)), None)
    told = found.groupdict(default="") if found else {}
    return told.get("student") or (name if is_folder else AGAIN.sub("", name) or name), told


def by_student(files: list[Handed]) -> Iterable[list[Handed]]:
    """The files of each student. A number that stands beside two names is no student's, and each name is one."""
    names = Counter(student for student, _ in {(each.student, each.name) for each in files})
    students: dict[str, list[Handed]] = {}
    for each in files:
        stem = PurePosixPath(each.path.parts[0]).stem
        mine = each if names[each.student] == 1 else replace(each, student=stem, name="")
        students.setdefault(mine.student, []).append(mine)
    return students.values()


def several_students(place: Path, first: str, mine: list[Handed]) -> tuple[str, ...]:
    """A warning, if names in a folder may be students': they hold the same notebook, or are as a system gives them."""
    holders: dict[str | None, set[str]] = defaultdict(set)  # of a notebook, or of names as a system gives them
    for each in mine:
        top, *inner = each.path.parts
        if len(inner) > 1 and top == first:
            holders[each.file].add(inner[0])
        student, told = owner(PurePosixPath(*inner), len(inner) > 1) if inner and top == first else ("", {})
        if "student" in told:
            holders[None].add(student)
    several = max(map(sorted, holders.values()), key=len, default=[])
    if len(several) < 2:
        return ()
    way = f"grade {place / first} by itself" if place.is_dir() else f"unpack {place}, and grade {first} by itself"
    return (f"{first!r} was taken for one student, and may hold several, {shortened(several)}: if so, {way}",)


def hidden(name: str) -> bool:
    """Whether it is what editors and systems keep for themselves."""
    return name.startswith((".", "__MACOSX"))


def shortened(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def reason(error: Exception) -> Any:
    return error.strerror if isinstance(error, OSError) and error.strerror else error or type(error).__name__


def spell_name(name: str) -> str:
    """A name in letters, and in one line: what the disk has in no encoding is written as \\udcff is."""
    return spelled(name).replace("\n", "\\n").replace("\t", "\\t")
