"""The models that are served: those on the disk, which is checked at regular intervals.

    net.mg                 net, version 1
    net/1/…  net/2/…       net, versions 1 and 2, a file in each folder; the highest is the default
    folder/net.mg  folder/other/1/…     several models

A new version, or one whose file was replaced, is loaded and warmed up while the old one answers; then the table of all
versions is replaced. If a file cannot be loaded, the status says why, and the old version is kept. If two files claim
the same version, such as net/2 and net/02, the first is served, and the status mentions the other.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ...engine.base.errors import SavedFileError
from ..saving.container import short
from .batcher import Batcher, BatchLimits, Budget, Metrics
from .encodings import ParserProcess
from .model import Model, Refusal, load_model, warm_up

log = logging.getLogger("minigrad.files.serving")
NUMBER = re.compile("[0-9]+")
SUFFIXES = (".mg", ".safetensors", ".onnx")
Stamp = tuple[Path, int, int, int]  # a file's path, change time, size and inode, which identify its content


class Key(NamedTuple):
    name: str
    number: int


@dataclass(frozen=True, eq=False)
class Version:
    key: Key
    stamp: Stamp
    batcher: Batcher


class Repository:
    """The table of versions, and what could not be loaded. Used from one event loop.

    table     never edited, only replaced
    failed    version → its file, and why it could not be loaded
    second    file whose version another file has already → that version, and why the file is not served
    """

    def __init__(self, root: Path, limits: BatchLimits, read: Callable[[Path], Model] = load_model):
        self.root, self.limits, self.read = root.resolve(), limits, read
        self.memory, self.worker, self.metrics = Budget(limits.memory), ParserProcess(), Metrics()
        self.table: dict[Key, Version] = {}
        self.failed: dict[Key, tuple[Stamp, str]] = {}
        self.second: dict[Path, tuple[Key, str]] = {}

    def files(self) -> Iterator[tuple[Key, Path]]:
        """The versions and files that are on the disk now."""
        if self.root.is_file():
            yield Key(name_of(self.root.stem), 1), self.root
        elif any(NUMBER.fullmatch(path.name) for path in self.root.iterdir()):
            yield from versions(self.root)
        else:
            for path in sorted(self.root.iterdir()):
                if path.is_dir():
                    yield from self.versions_now(path)
                elif path.suffix in SUFFIXES:
                    yield Key(name_of(path.stem), 1), path

    def versions_now(self, folder: Path) -> Iterator[tuple[Key, Path]]:
        """The versions in a model's folder; if the folder cannot be read, the versions that are loaded."""
        try:
            yield from [*versions(folder)]
        except OSError as error:
            log.warning("%s cannot be read: %s", folder, error)
            name = name_of(folder.name)
            yield from ((key, version.stamp[0]) for key, version in self.table.items() if key.name == name)

    async def look(self) -> None:
        """Bring the table up to date with the disk."""
        try:
            there = await asyncio.to_thread(self.stamps)
        except OSError as error:  # perhaps the folder is being replaced: the next check will see it
            log.warning("%s cannot be read: %s", self.root, error)
            return
        found = {key: version for key, version in self.table.items() if key in there}
        failed = {key: reason for key, reason in self.failed.items() if there.get(key) == reason[0]}
        for key, new in there.items():
            if key not in failed and (key not in found or found[key].stamp != new):
                try:
                    found[key] = await self.load(key, new)
                except Exception as error:  # the file is not trusted, and loading ran its graph
                    log.error("version %d of %s was not loaded: %s", key.number, key.name, error)
                    failed[key] = new, str(error)
                self.metrics.count(
                    "minigrad_reloads_total", model=key.name, result="failed" if key in failed else "loaded"
                )
        old, self.table, self.failed = self.table, found, failed
        for key, version in old.items():
            if found.get(key) is not version:
                version.batcher.close()

    def stamps(self) -> dict[Key, Stamp]:
        """The file of each version; further files of the same version go to `second`."""
        there: dict[Key, Stamp] = {}
        second: dict[Path, tuple[Key, str]] = {}
        for key, path in self.files():
            first = there.setdefault(key, stamp(path))[0]
            if first != path:
                second[path] = key, f"{path} is not served: version {key.number} of {key.name} is {first} already"
        for path in second.keys() - self.second:
            log.error(second[path][1])
        self.second = second
        return there

    def reasons(self, name: str) -> dict[Key, str]:
        """Version → what is wrong with it, or "", for the versions of a model."""
        found: dict[Key, list[str]] = {key: [] for key in self.table}
        found |= {key: [why] for key, (_, why) in self.failed.items()}
        for key, why in self.second.values():
            found.setdefault(key, []).append(why)
        return {key: "; ".join(reasons) for key, reasons in found.items() if key.name == name}

    async def load(self, key: Key, new: Stamp) -> Version:
        model = await asyncio.to_thread(lambda: warm_up(self.read(only_a_file(new[0])), self.limits.rows))
        return Version(key, new, Batcher(model, self.limits, self.metrics, key.name))

    def version(self, name: str, number: str | None = None) -> Version:
        """The version with this number, or the highest. Raises Refusal if there is none."""
        there = {str(key.number): version for key, version in sorted(self.table.items()) if key.name == name}
        if not there:
            names = sorted({key.name for key in self.table})
            raise Refusal(f"there is no model {short(name)} here; there are {names}", 404)
        wanted = [*there][-1] if number is None else number
        if wanted not in there:
            raise Refusal(f"{name} has the versions {', '.join(there)}, but no {short(wanted)}", 404)
        return there[wanted]

    def close(self) -> None:
        for version in self.table.values():
            version.batcher.close()


def versions(folder: Path) -> Iterator[tuple[Key, Path]]:
    """The file in each numbered folder of a model; the folder itself if it contains no model file, or several."""
    for path in sorted(folder.iterdir(), key=lambda path: (len(path.name), path.name)):  # 2 before 02
        if NUMBER.fullmatch(path.name) and path.is_dir():
            inside = [file for file in path.iterdir() if file.suffix in SUFFIXES]
            yield Key(name_of(folder.name), int(path.name)), inside[0] if len(inside) == 1 else path


def name_of(stem: str) -> str:
    """The model name of a file: bytes that are not UTF-8 are escaped, so that a URL can contain it."""
    return stem.encode(errors="surrogateescape").decode(errors="backslashreplace")


def stamp(path: Path) -> Stamp:
    """A value that changes when the file is replaced; for a dangling link, the path with −1s; loading it will fail."""
    try:
        found = path.stat()
    except OSError:
        return path, -1, -1, -1
    return path, found.st_mtime_ns, found.st_size, found.st_ino


def only_a_file(path: Path) -> Path:
    """Return the path. Raises SavedFileError if it is not a file: reading a pipe or a device could block for ever."""
    if path.exists() and not path.is_file():
        raise SavedFileError(f"{path} is no file: each version needs exactly one .mg or .onnx file")
    return path
