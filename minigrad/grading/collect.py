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
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .submission import LARGEST, Unreadable

DEEPEST = 2  # zips in zips
MOST_FILES = 20_000
CANVAS = re.compile(r"(?P<name>[^_]+)(?:_LATE)?_(?P<student>\d+)_\d+_(?P<file>.+)")
MOODLE = re.compile(r"(?P<name>.+)_(?P<student>\d+)_assignsubmission_\w+")
INBOUND = re.compile(r"(?P<student>[^+]+)\+(?P<exercise>[^+]+)\+(?P<when>[^+]+)(?:\+[^+]+)?")
AGAIN = re.compile(r"(?:-\d+| ?\(\d+\))$")  # what a system adds to the name of a second try


class NothingFound(Exception):
    """There is no submission where one was looked for."""


@dataclass(frozen=True)
class Handed:
    """One file that was handed in.

    student    an id, or what stands for one
    name       of the student, where the system tells it
    file       the name of the notebook, without what a system has added
    where      the file, for people
    when       when it was handed in, as text that sorts; "" if nobody tells
    """

    student: str
    name: str
    file: str
    where: str
    when: str
    bytes_of: Callable[[], bytes]

    def data(self) -> bytes:
        """The file. Raises Unreadable."""
        try:
            return self.bytes_of()
        except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, ValueError) as error:
            raise Unreadable(f"{self.where} cannot be read: {error}"[:300]) from error


def submissions(place: Path) -> list[Handed]:
    """The newest file of each student for each notebook, sorted by student. Raises NothingFound."""
    if not place.exists():
        raise NothingFound(f"there is no {place}")
    newest: dict[tuple[str, str], Handed] = {}
    for handed in sorted(files(place), key=lambda each: (each.when, each.where)):
        newest[handed.student, handed.file] = handed
    if not newest:
        raise NothingFound(f"there is no notebook in {place}: submissions are .ipynb files, in folders or zips")
    return sorted(newest.values(), key=lambda each: (each.student, each.file))


def files(place: Path) -> Iterator[Handed]:
    """Every notebook in a folder, in a zip, or the one that is meant."""
    if place.is_dir():
        for path in sorted(walked(place)):
            yield from within(path.relative_to(place).as_posix(), lambda path=path: taken(path), 0)  # type: ignore[misc]
    else:
        yield from within(place.name, lambda: taken(place), 0)


def walked(place: Path) -> Iterator[Path]:
    """The files of a folder, links not followed."""
    for folder, folders, names in os.walk(place):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__MACOSX")))
        yield from (Path(folder, name) for name in names if not name.startswith("."))


def within(where: str, bytes_of: Callable[[], bytes], depth: int) -> Iterator[Handed]:
    """The notebook that a file is, or those in it if it is a zip."""
    path = PurePosixPath(where.replace("\\", "/"))
    if path.suffix.lower() == ".ipynb":
        yield labelled(path, where, bytes_of)
    elif path.suffix.lower() == ".zip" and depth < DEEPEST:
        yield from in_zip(path, where, bytes_of, depth)


def in_zip(path: PurePosixPath, where: str, bytes_of: Callable[[], bytes], depth: int) -> Iterator[Handed]:
    try:
        archive = zipfile.ZipFile(io.BytesIO(bytes_of()) if depth else where_of(where, bytes_of))
    except (OSError, zipfile.BadZipFile, Unreadable) as error:
        yield labelled(path, where, failing(f"the zip is broken: {error}"))
        return
    around = path.with_suffix("") if depth or len(path.parts) > 1 else PurePosixPath()
    for info in archive.infolist()[:MOST_FILES]:
        name = PurePosixPath(info.filename.replace("\\", "/"))
        if info.is_dir() or name.parts[:1] == ("__MACOSX",) or name.name.startswith("."):
            continue
        inside = around.joinpath(*(part for part in name.parts if part not in ("/", "..", ".")))
        yield from within(inside.as_posix(), lambda info=info: opened(archive, info), depth + 1)  # type: ignore[misc]


def where_of(where: str, bytes_of: Callable[[], bytes]) -> io.BytesIO:
    return io.BytesIO(bytes_of())


def opened(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A file of a zip, as far as a notebook may go: what it says of its own size is not believed."""
    with archive.open(info) as file:
        return file.read(LARGEST + 1)


def taken(path: Path) -> bytes:
    """A file on the disk, which must be one: no link, no device."""
    if path.is_symlink() or not path.is_file():
        raise Unreadable("it is a link, or no file")
    with path.open("rb") as file:
        return file.read() if path.suffix.lower() == ".zip" else file.read(LARGEST + 1)


def failing(why: str) -> Callable[[], bytes]:
    def fail() -> bytes:
        raise Unreadable(why)

    return fail


def labelled(path: PurePosixPath, where: str, bytes_of: Callable[[], bytes]) -> Handed:
    """Whose a file is, read from where it lies."""
    stem, folders = AGAIN.sub("", path.stem), path.parts[:-1]
    for folder in folders:
        if found := MOODLE.fullmatch(folder):
            return Handed(found["student"], found["name"], stem, where, "", bytes_of)
        if found := INBOUND.fullmatch(folder):
            return Handed(found["student"], "", stem, where, found["when"], bytes_of)
    if found := CANVAS.fullmatch(path.stem):
        return Handed(found["student"], found["name"], AGAIN.sub("", found["file"]), where, "", bytes_of)
    return Handed(folders[0] if folders else stem, "", stem, where, "", bytes_of)
