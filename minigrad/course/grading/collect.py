"""Find submissions in a folder, in a zip from Canvas or Moodle, or in nbgrader's exchange.

The outermost name, of a folder, a zip or a file, identifies the student: the system or the grader chose it. Names
inside it come from the student: mere labels. Nothing is unpacked; reads have a size limit and follow no links.
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

from .letters import escape_unprintable
from .submission import LARGEST, Unreadable

LARGEST_ZIP = 40 << 20  # bytes of a student's zip, and of all its inner zips together
MOST_FILES = 20_000  # in a student's zip and its inner zips together
MOST_NOTEBOOKS = 100  # of one student
MOST_BYTES = 4 * LARGEST  # of a student's notebooks, unpacked
MOST_ZIPS = 20  # in a student's zip
NOTEBOOKS = (".ipynb", ".zip")  # endings of files that are notebooks or may contain one
DEEPEST = 20  # folders in folders
TOO_DEEP = f"it lies in more than {DEEPEST} folders"
CANVAS = re.compile(r"(?P<name>.+?)(?:_LATE)?_(?P<student>\d+)_(?:(?P<when>\d+)_(?P<file>.+)|text|link)")
ANONYMOUS = re.compile(r"(?:LATE_)?(?P<student>anon_[A-Za-z0-9]+)_(?P<when>\d+)_(?P<file>.+)")  # from Canvas
MOODLE = re.compile(r"(?P<name>.+)_(?P<student>\d+)_assignsubmission_\w+")
FLAT = re.compile(r"(?P<name>.+?)_(?P<student>\d+)_assignsubmission_[a-z]+_(?P<file>.+)")  # from Moodle, no folders
BLACKBOARD = re.compile(r"(?P<name>(?:.+_)?(?P<student>[^_]+))_attempt_(?P<when>\d{4}(?:-\d\d){5})(?:_(?P<file>.+))?")
BRIGHTSPACE = re.compile(
    r"(?P<student>\d+)-\d+ *- *(?P<name>.+?) *- *(?P<when>\w{3} \d{1,2}, \d{4} \d{3,4} [AP]M)(?: *- *(?P<file>.+))?"
)
INBOUND = re.compile(r"(?P<student>[^+]+)\+(?P<exercise>[^+]+)\+(?P<when>[^+]+)(?:\+[^+]+)?")
LOOSE = re.compile(r"(?P<student>.+?)[ _-]+(?P<file>\d\d_[a-z][a-z_]*)(?: ?\(\d+\))?")  # as a lecturer saves from mails
AGAIN = re.compile(r"-(\d+)$| ?\((\d+)\)$")  # the suffix that a system adds to a repeated submission

Read = Callable[[int], bytes]  # reads up to n bytes of a file, or n + 1 if it is longer
Files = list[tuple[PurePosixPath, Read]]
Warn = Callable[[str], None]


class NothingFound(Exception):
    """No submission was found."""


@dataclass(frozen=True)
class Upload:
    """One submitted file.

    path        its path inside the folder or zip that is graded
    kind        "file"; "closed", a folder that is not entered; or "none", a link or an empty folder
    student     the student's id, or a text in its place; `name` is the student's name, if the system gives it
    file        the name of the notebook, without the system's additions
    when        the submission time as text that sorts; for Canvas, the number it gives the file, which sorts too
    besides     other files of the student for the same exercise, which are not graded
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

    where = property(lambda self: str(self.path))
    folders = property(lambda self: self.path.parts[:-1] if self.kind == "file" else self.path.parts)

    @property
    def may_be(self) -> bool:
        """Whether it is or may hold a notebook. Zips and folders are listed only if they could not be opened."""
        return self.kind != "file" or self.path.name.lower().endswith(NOTEBOOKS)

    is_notebook = property(lambda self: self.may_be and self.kind != "none" and not any(map(is_hidden, self.folders)))

    @property
    def age(self) -> tuple[str, int, str, str]:
        """The sort key of one student's files, the newest last. A number sorts by its length, then by its digits."""
        again = AGAIN.search(self.path.stem)
        digits = (again[1] or again[2]).lstrip("0") if again else ""
        return self.when, len(digits), digits, self.where

    def data(self) -> bytes:
        """The content of the file. Raises Unreadable for any failure."""
        try:
            return self.read(LARGEST)
        except Exception as error:  # a broken zip raises many kinds of exceptions
            raise Unreadable(f"{self.where} cannot be read: {reason(error)}"[:300]) from error


Key = Callable[[Upload], Any]


def submissions(
    place: Path, warn: Warn = lambda sentence: None, subject: Key = attrgetter("file"), rank: Key = bool
) -> list[Upload]:
    """The newest file of each student for each subject, sorted by student. Raises NothingFound.

    A student without a notebook is listed with another file, which is unreadable.

    warn       called with a warning about files of no student, or about names that look alike
    subject    returns what a file is for, such as an exercise; called if a student has several files
    rank       returns a sort key: of a student's files for one subject the highest counts, then the newest
    """
    files = chain.from_iterable(attempt(partial(expand, entry), entry) for entry in entries(place))
    tops = group_by(lambda each: each.path.parts[0] if each.student else "", files)
    if nobodys := [each.where for each in tops.pop("", []) if not is_hidden(each.where)]:
        warn(f"ignored, as neither notebooks nor in a student's folder: {shorten_list(nobodys)}")
    found = [each for mine in tops.values() for each in [each for each in mine if each.is_notebook] or mine[:1]]
    if not any(each.is_notebook for each in found):
        raise NothingFound(f"there is no notebook in {place}: submissions are .ipynb files, in folders or zips")
    choose = partial(newest, place, subject, rank)
    chosen = chain.from_iterable(attempt(partial(choose, mine), mine[0]) for mine in by_student(found))
    handed = sorted(chosen, key=lambda each: (each.student, each.file))
    for names in lookalikes({each.student for each in handed}):
        warn(f"the names {shorten_list(names)} look alike: are they one student?")
    return handed


def lookalikes(names: Iterable[str]) -> list[list[str]]:
    """Groups of names that differ only in case, spaces or invisible characters. Each name is given as its repr."""
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        letters = (c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) not in ("Cf", "Zs"))
        found.setdefault("".join(letters).casefold(), []).append(repr(name))
    return [names for names in found.values() if len(names) > 1]


def group_by(key: Key, files: Iterable[Upload]) -> dict[Any, list[Upload]]:
    """The files grouped by their keys, in order."""
    groups: dict[Any, list[Upload]] = {}
    for each in files:
        groups.setdefault(key(each), []).append(each)
    return groups


def attempt(stage: Callable[[], list[Upload]], first: Upload) -> list[Upload]:
    """Run a stage for one student. If it raises, return one unreadable file, so that no other student is affected."""
    try:
        return stage()
    except Exception as error:
        why = f"{first.where} cannot be graded: {type(error).__name__}: {error}"[:300]
        return [replace(first, read=partial(fail, why), student=first.student or first.path.parts[0])]


def newest(place: Path, subject: Key, rank: Key, mine: list[Upload]) -> list[Upload]:
    """One student's newest notebook for each subject, the others in `besides`; without a notebook, another file."""
    notebooks = [each for each in mine if each.is_notebook]
    if len(notebooks) < 2:  # no need to read the file
        chosen = notebooks or mine[-1:]
    elif why := excess(notebooks):
        chosen = [replace(notebooks[0], read=partial(fail, why))]
    else:
        chosen = [latest(rank, several) for several in group_by(subject, notebooks).values()]
    return [replace(each, warnings=several_students(place, each.path.parts[0], notebooks)) for each in chosen]


def latest(rank: Key, several: list[Upload]) -> Upload:
    last, *before = sorted(several, key=lambda each: (len(several) > 1 and rank(each), each.age), reverse=True)
    return replace(last, besides=tuple(each.where for each in before))


def excess(notebooks: list[Upload]) -> str:
    """The limit that all notebooks of one student together exceed, in words; "" if there is none."""
    if len(notebooks) > MOST_NOTEBOOKS:
        return f"the student has {len(notebooks)} notebooks; the limit is {MOST_NOTEBOOKS}: submit those that count"
    left = MOST_BYTES
    for each in notebooks:
        with suppress(Unreadable):
            left -= len(each.data())
        if left < 0:
            return f"the student's notebooks together exceed {MOST_BYTES >> 20} MB: submit those that count"
    return ""


# -- the files in a place -----------------------------------------------------------------------------


def entries(place: Path) -> Iterable[Upload]:
    """The files in a folder or in the zip of a class, or a single file. Raises NothingFound."""
    try:
        if place.is_dir():
            return walk(place)
        if is_zip(place):  # of a class: read in place, because it may be large
            return [Upload(path, read) for path, read in members(zipfile.ZipFile(place))]
        file = place.resolve(strict=True)
        read = partial(read_in_folder, file.parent, PurePosixPath(file.name))
        return [Upload(PurePosixPath(spell_name(place.name)), read)]
    except FileNotFoundError:
        raise NothingFound(f"there is no {place}") from None
    except Exception as error:  # a broken zip raises many kinds of exceptions
        raise NothingFound(f"{place} cannot be opened: {reason(error)}") from error


def walk(place: Path) -> Iterator[Upload]:
    """The files of a folder. A folder that is not entered is yielded as an unreadable file that says why."""
    closed: list[OSError] = []
    for folder, folders, names in os.walk(place, onerror=closed.append):
        inner = PurePosixPath(Path(folder).relative_to(place).as_posix())
        folders.sort()
        links = {name for name in (*folders, *names) if is_link(Path(folder, name))}
        for name in sorted({*names, *links}):
            path = PurePosixPath(spell_name(str(inner / name)))
            if name in links:
                yield Upload(path, partial(fail, "it is a link, and links are not followed"), "none")
            else:
                yield Upload(path, partial(read_in_folder, place, inner / name))
        if inner.parts and not (folders or names):
            yield Upload(inner, partial(fail, "the folder is empty"), "none")
        if len(inner.parts) == DEEPEST and folders:
            yield Upload(inner, partial(fail, TOO_DEEP), "closed")
            folders.clear()
    for error in closed:
        path = PurePosixPath(Path(error.filename).relative_to(place).as_posix())
        if not path.parts:
            raise NothingFound(f"{place} cannot be opened: {reason(error)}")
        yield Upload(path, partial(fail, f"the folder cannot be opened: {reason(error)}"), "closed")


def is_link(path: Path) -> bool:
    """Whether to report it as a link: it links to a folder, or is broken and not named as a notebook."""
    return path.is_symlink() and (path.is_dir() or not (path.exists() or path.name.lower().endswith(NOTEBOOKS)))


def expand(entry: Upload) -> list[Upload]:
    """A file, or the files in a student's zip, labelled with their student. Each is decompressed when it is read."""
    if not is_zip(entry.path):
        return [identify(entry)]
    try:
        paths = enumerate(path for path, _ in unpack(entry.read))
        files = [(entry.path / path, partial(read_from_zip, entry.read, i)) for i, path in paths]
    except Exception as error:  # a broken zip raises many kinds of exceptions
        files = [(entry.path, partial(fail, f"the zip cannot be opened: {reason(error)}"))]
    return [identify(Upload(path, read)) for path, read in files]


def read_from_zip(read: Read, i: int, most: int) -> bytes:
    return unpack(read)[i][1](most)


@lru_cache(1)  # otherwise each file would read the whole zip again
def unpack(read: Read) -> Files:
    """The files in a student's zip and in the zips inside it. Raises Unreadable before it uses much memory."""
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
            why = partial(fail, "a zip inside a zip inside a zip is not opened")
            files += [(path / name, why if is_zip(name) else file) for name, file in found]
        except Exception as error:
            files.append((path, partial(fail, f"the zip cannot be opened: {reason(error)}")))
    return files


def open_zip(data: bytes, most: int, most_files: int) -> Files:
    """The files of a zip. Raises Unreadable if it has too many bytes or files, or no file."""
    if len(data) > most:
        raise Unreadable(f"it has more than {LARGEST_ZIP >> 20} MB, the limit for a student")
    if data.count(b"PK\x01\x02") > most_files:  # the signature of each file in its directory
        raise Unreadable(f"it has more than {MOST_FILES} files: submit the notebook alone")
    if not (files := members(zipfile.ZipFile(io.BytesIO(data)))):
        raise Unreadable("there is no file in it")
    return files


def is_zip(path: PurePath) -> bool:
    return path.suffix.lower() == ".zip"


def members(archive: zipfile.ZipFile) -> Files:
    """The files of a zip, each with a function that reads it. No path leads out of the zip."""
    files = Files()
    for info in archive.infolist():
        names = PurePosixPath(spell_name(info.filename.replace("\\", "/"))).parts
        parts = [part for part in names if part not in ("..", "/", "//")]
        if len(parts) > DEEPEST + 1 and not info.is_dir():
            files.append((PurePosixPath(parts[0], "…", parts[-1]), partial(fail, TOO_DEEP)))
        elif parts and not info.is_dir():
            files.append((PurePosixPath(*parts), partial(inflate, archive, info)))
    return files


def inflate(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """Read a file of a zip, up to a size; the size in its header is not trusted."""
    with archive.open(info) as file:
        return file.read(most + 1)


def read_in_folder(place: Path, inner: PurePosixPath, most: int) -> bytes:
    """Read a file in a folder, up to a size. No link below the folder is followed, even one made after the check."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with ExitStack() as until:
            at, names = None, (str(place), *inner.parts)
            if os.open not in os.supports_dir_fd:  # Windows, where making a link needs an administrator
                names = (str(place / inner),)
            for name in names[:-1]:
                at = os.open(name, (os.O_RDONLY if at is None else flags) | os.O_DIRECTORY, dir_fd=at)
                until.callback(os.close, at)
            file = until.enter_context(open(names[-1], "rb", opener=lambda name, _: os.open(name, flags, dir_fd=at)))
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Unreadable("it is not a file, but a pipe, a folder or a device")
            return file.read(most + 1)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Unreadable("its path contains a link, and links are not followed") from error
        raise


def fail(why: str, most: int) -> bytes:
    raise Unreadable(why)


# -- the student of a file ----------------------------------------------------------------------------


def identify(each: Upload) -> Upload:
    """Label a file with its student, unless it is a loose file, no notebook, and not named by a known system."""
    student, told = owner(each.path, bool(each.folders))
    if is_hidden(each.path.parts[0]) or not (each.is_notebook or each.folders or told):
        return each
    read = each.read if each.may_be else partial(fail, "it is not a notebook: submit the .ipynb file")
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
    """The student in the outermost name of a path, and the fields of the name if it has the form of a known system."""
    first = PurePosixPath(path.parts[0])
    is_folder = in_a_folder and not is_zip(first)
    files = (FLAT, ANONYMOUS, BLACKBOARD, BRIGHTSPACE, CANVAS, LOOSE)
    name, kinds = (first.name, (MOODLE, INBOUND, BRIGHTSPACE)) if is_folder else (first.stem, files)
    found = next(filter(None, (kind.fullmatch(name) for kind in kinds)), None)
    told = found.groupdict(default="") if found else {}
    return told.get("student") or (name if is_folder else AGAIN.sub("", name) or name), told


def by_student(files: list[Upload]) -> Iterable[list[Upload]]:
    """The files grouped by student. An id that occurs with two names is not used: each name is then a student."""
    names = Counter(student for student, _ in {(each.student, each.name) for each in files})
    mine = (
        each if names[each.student] == 1 else replace(each, student=PurePosixPath(each.path.parts[0]).stem, name="")
        for each in files
    )
    return group_by(attrgetter("student"), mine).values()


def several_students(place: Path, first: str, mine: list[Upload]) -> tuple[str, ...]:
    """A warning if a folder may hold several students: its folders hold the same notebook, or are named by a system."""
    holders: dict[str | None, set[str]] = defaultdict(set)  # notebook → its folders; None → names of a known system
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
    return (f"{first!r} was taken for one student, and may hold several, {shorten_list(several)}: if so, {way}",)


def is_hidden(name: str) -> bool:
    """Whether it is a hidden file or folder of an editor or a system."""
    return name.startswith((".", "__MACOSX"))


def shorten_list(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def reason(error: Exception) -> Any:
    return error.strerror if isinstance(error, OSError) and error.strerror else error or type(error).__name__


def spell_name(name: str) -> str:
    """A file name as one printable line. Bytes that are not valid text are written as escapes such as \\udcff."""
    return escape_unprintable(name).replace("\n", "\\n").replace("\t", "\\t")
