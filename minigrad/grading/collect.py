"""Finding what was handed in: in a folder, or in a zip as Canvas and Moodle give it, or in nbgrader's exchange.

Nothing is unpacked: files are read where they are, up to a size, and names are only labels. So no name of a file leads
anywhere, and a zip that would fill the disk fills nothing.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from .letters import spelled
from .submission import LARGEST, Unreadable

DEEPEST = 1  # zips in zips
MOST_FILES = 20_000
CANVAS = re.compile(r"(?P<name>.+?)(?:_LATE)?_(?P<student>\d+)_(?:(?P<when>\d+)_(?P<file>.+)|text|link)")
ANONYMOUS = re.compile(r"(?:LATE_)?(?P<student>anon_[A-Za-z0-9]+)_(?P<when>\d+)_(?P<file>.+)")  # Canvas's
MOODLE = re.compile(r"(?P<name>.+)_(?P<student>\d+)_assignsubmission_\w+")
FLAT = re.compile(r"(?P<name>.+)_(?P<student>\d+)_assignsubmission_[a-z]+_(?P<file>.+)")  # Moodle's, without folders
INBOUND = re.compile(r"(?P<student>[^+]+)\+(?P<exercise>[^+]+)\+(?P<when>[^+]+)(?:\+[^+]+)?")
AGAIN = re.compile(r"-(\d+)$| ?\((\d+)\)$")  # what a system adds to the name of a second try


class NothingFound(Exception):
    """There is no submission where one was looked for."""


@dataclass(frozen=True)
class Handed:
    """One file that was handed in.

    student    an id, or what stands for one
    name       of the student, where the system tells it
    file       the name of the notebook, without what a system has added
    where      the file, for people
    when       when it was handed in, as text that sorts, which Canvas's number of a file is too; "" if nobody tells
    besides    other files of the student that answer the same exercise, and are not looked at
    """

    student: str
    name: str
    file: str
    where: str
    when: str
    bytes_of: Callable[[], bytes]
    besides: tuple[str, ...] = ()

    @property
    def is_notebook(self) -> bool:
        """Whether its name says so. A zip is here only because it is broken, and may hold one."""
        return self.where.lower().endswith((".ipynb", ".zip"))

    @property
    def age(self) -> tuple[str, int, str]:
        """What sorts files of one student: the newest last."""
        again = AGAIN.search(PurePosixPath(self.where).stem)
        return self.when, int(again[1] or again[2]) if again else 0, self.where

    def data(self) -> bytes:
        """The file. Raises Unreadable."""
        try:
            return self.bytes_of()
        except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, ValueError) as error:
            raise Unreadable(f"{self.where} cannot be read: {error}"[:300]) from error


def submissions(place: Path) -> list[Handed]:
    """The newest file of each student for each notebook, sorted by student. Raises NothingFound.

    Who handed in something else, and no notebook, is in the list with that, which cannot be read.
    """
    if not place.exists():
        raise NothingFound(f"there is no {place}")
    found = sorted(files(place), key=lambda each: each.age)
    have_notebooks = {handed.student for handed in found if handed.is_notebook}
    newest: dict[tuple[str, str], Handed] = {}
    for handed in found:
        if handed.is_notebook:
            newest[handed.student, handed.file] = handed
        elif handed.student not in have_notebooks:
            newest[handed.student, ""] = handed
    if not have_notebooks:
        raise NothingFound(f"there is no notebook in {place}: submissions are .ipynb files, in folders or zips")
    return sorted(newest.values(), key=lambda each: (each.student, each.file))


def files(place: Path) -> Iterator[Handed]:
    """Every notebook in a folder, in a zip, or the one that is meant."""
    for path in sorted(walked(place)) if place.is_dir() else [place]:
        where = path.relative_to(place).as_posix() if place.is_dir() else path.name
        if path.suffix.lower() == ".zip":
            yield from in_zip(where, partial(true_file, path), place.is_dir())
        else:
            yield from single(where, partial(taken, path))


def walked(place: Path) -> Iterator[Path]:
    """The files of a folder, links not followed."""
    for folder, folders, names in os.walk(place):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__MACOSX")))
        yield from (Path(folder, name) for name in names if not name.startswith("."))


def single(where: str, bytes_of: Callable[[], bytes]) -> Iterator[Handed]:
    """A notebook; or another file, if its name tells whose it is."""
    path = PurePosixPath(where)
    if path.suffix.lower() == ".ipynb":
        yield labelled(path, where, bytes_of)
    elif len(path.parts) > 1 or any(kind.fullmatch(path.stem) for kind in (FLAT, ANONYMOUS, CANVAS)):
        yield labelled(path, where, failing("it is no notebook: the .ipynb file is wanted"))


def in_zip(where: str, source: Callable[[], Any], is_named: bool, depth: int = 0) -> Iterator[Handed]:
    """The notebooks in a zip, and in zips that are in it.

    is_named    whether its name is a label too, as that of a student's zip is, and that of the whole class's is not
    """
    path = PurePosixPath(where)
    try:
        archive = zipfile.ZipFile(source())
    except (OSError, zipfile.BadZipFile, Unreadable) as error:
        yield labelled(path, where, failing(f"the zip is broken: {error}"))
        return
    around = path.with_suffix("") if is_named else PurePosixPath()
    owner = (ANONYMOUS.fullmatch(path.stem) or CANVAS.fullmatch(path.stem)) if is_named else None
    for info in archive.infolist()[:MOST_FILES]:
        name = PurePosixPath(info.filename.replace("\\", "/"))
        parts = [part for part in name.parts if part not in ("/", "..", ".")]
        if info.is_dir() or any(part.startswith((".", "__MACOSX")) for part in parts):
            continue
        inside = around.joinpath(*parts).as_posix()
        inner = partial(opened, archive, info)
        if name.suffix.lower() != ".zip" or depth == DEEPEST:
            yield from (owned(handed, owner) for handed in single(inside, inner))
        else:
            yield from in_zip(inside, lambda inner=inner: io.BytesIO(inner()), True, depth + 1)  # type: ignore[misc]


def opened(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A file of a zip, as far as a notebook may go: what it says of its own size is not believed."""
    with archive.open(info) as file:
        return file.read(LARGEST + 1)


def taken(path: Path) -> bytes:
    """A notebook on the disk, as far as one may go."""
    with true_file(path).open("rb") as file:
        return file.read(LARGEST + 1)


def true_file(path: Path) -> Path:
    """A path that is no link and no device. Raises Unreadable."""
    if path.is_symlink() or not path.is_file():
        raise Unreadable("it is a link, or no file")
    return path


def failing(why: str) -> Callable[[], bytes]:
    def fail() -> bytes:
        raise Unreadable(why)

    return fail


def labelled(path: PurePosixPath, where: str, bytes_of: Callable[[], bytes]) -> Handed:
    """Whose a file is, read from where it lies."""
    path, where = PurePosixPath(named(str(path))), named(where)
    stem, folders = AGAIN.sub("", path.stem), path.parts[:-1]
    handed = Handed(folders[0] if folders else stem, "", stem, where, "", bytes_of)
    for folder in folders:
        if found := MOODLE.fullmatch(folder) or INBOUND.fullmatch(folder):
            return owned(handed, found)
    found = FLAT.fullmatch(path.stem) or ANONYMOUS.fullmatch(path.stem) or CANVAS.fullmatch(path.stem)
    return replace(owned(handed, found), file=AGAIN.sub("", found["file"] or stem)) if found else handed


def owned(handed: Handed, found: re.Match[str] | None) -> Handed:
    """A file, of whom a name tells: that of its folder, of the zip that it was in, or its own."""
    if found is None:
        return handed
    told = {key: named(value) for key, value in found.groupdict(default="").items()}
    when = told.get("when", "").zfill(12) if told.get("when") else ""  # so that 99 sorts before 100
    return replace(handed, student=told["student"], name=told.get("name", ""), when=when)


def named(name: str) -> str:
    """A name in letters, and in one line: what the disk has in no encoding is written as \\udcff is."""
    return spelled(name).replace("\n", "\\n").replace("\t", "\\t")
