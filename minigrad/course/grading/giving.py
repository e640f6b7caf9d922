"""Write feedback in the form that the learning platform imports: a zip for Moodle, a folder for nbgrader."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

from minigrad.course.lessons import write

from .batch import Result, label
from .collect import MOODLE, read_in_folder
from .submission import LARGEST, Unreadable

LONGEST_NAME = 255  # bytes of a folder's name on a disk; a name in a zip may be longer
OF_NBGRADER = ("timestamp.txt", "submission_secret.txt")  # of each submission; nbgrader needs them to release feedback


def give(place: Path, out: Path, results: Sequence[Result]) -> None:
    """Copy the written pages into Moodle's and nbgrader's layouts, for submissions whose paths match these systems."""
    pages = [(result, page) for result in results if (page := out / "feedback" / f"{label(result)}.html").exists()]
    for_moodle = defaultdict(list)
    for result, page in pages:
        with isolate_failure(result):
            for_nbgrader(place, out, result, page)
            for folder in PurePosixPath(result["where"]).parts[:-1]:
                if MOODLE.fullmatch(folder) and len(folder.encode("utf-8", "backslashreplace")) <= LONGEST_NAME:
                    for_moodle[result["exercise"] or "unreadable"].append((folder, page))
    for exercise, mine in for_moodle.items():
        write(out / f"moodle_{exercise}.zip", zip_of({f"{folder}/{exercise}.html": page for folder, page in mine}))


@contextmanager
def isolate_failure(result: Result) -> Iterator[None]:
    """A block for one submission. Its exceptions become a warning, except OSError, such as a full disk."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        result["warnings"].append(f"its pages could not be written: {type(error).__name__}: {error}"[:300])


def zip_of(files: dict[str, Path]) -> bytes:
    whole = BytesIO()
    with ZipFile(whole, "w") as packed:
        for name, file in files.items():
            packed.write(file, name.encode("utf-8", "backslashreplace").decode())
    return whole.getvalue()


def for_nbgrader(place: Path, out: Path, result: Result, page: Path) -> None:
    """Write the feedback page into STUDENT/EXERCISE/, next to the files that nbgrader put into the submission."""
    inner = PurePosixPath(result["where"]).parent
    files = {}
    for name in OF_NBGRADER if len(inner.parts) == 2 else ():
        with suppress(OSError, Unreadable):  # a path in a zip may be too long for the disk
            files[name] = read_in_folder(place, inner / name, LARGEST)
    for name, data in {f"{inner.name}.html": page.read_bytes(), **files}.items() if files else ():
        write(out / "feedback" / inner / name, data)
