"""The models that are served: those that lie on the disk, looked at again and again.

    net.mg                 net, version 1
    net/1/…  net/2/…       net, versions 1 and 2, a file in each folder; the highest answers who names none
    folder/net.mg  folder/other/1/…     several models

A version that is new, or whose file was replaced, is loaded and warmed beside the one that answers; then the table of
all versions is exchanged for a new one. What cannot be loaded is told in the status, and the old one goes on. Of two
files for one version, such as net/2 and net/02, the first answers, and the other is told there too.
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
from .batcher import Batcher, Limits
from .budget import Budget
from .metrics import Metrics
from .model import Model, Refusal, opened, warmed
from .worker import Worker

log = logging.getLogger("minigrad.files.serving")
NUMBER = re.compile("[0-9]+")
SUFFIXES = (".mg", ".safetensors", ".onnx")
Stamp = tuple[Path, int, int, int]  # a file, when it was changed, its bytes, its inode: another file has another


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

    table     never edited, only exchanged
    failed    the file and why
    second    a file whose version another one is already, and why it is not served
    """

    def __init__(self, root: Path, limits: Limits, metrics: Metrics, read: Callable[[Path], Model] = opened):
        self.root, self.limits, self.metrics, self.read = root.resolve(), limits, metrics, read
        self.memory, self.worker = Budget(limits.memory), Worker()
        self.table: dict[Key, Version] = {}
        self.failed: dict[Key, tuple[Stamp, str]] = {}
        self.second: dict[Path, tuple[Key, str]] = {}

    def files(self) -> Iterator[tuple[Key, Path]]:
        """What lies there now."""
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
        """The versions of a model; where its folder cannot be read just now, those that answer."""
        try:
            yield from [*versions(folder)]
        except OSError as error:
            log.warning("%s cannot be read: %s", folder, error)
            yield from (
                (key, version.stamp[0]) for key, version in self.table.items() if key.name == name_of(folder.name)
            )

    async def look(self) -> None:
        """Bring the table up to date with the disk."""
        try:
            there = await asyncio.to_thread(self.stamps)
        except OSError as error:  # a folder that is being exchanged: looked at again
            log.warning("%s cannot be read: %s", self.root, error)
            return
        found = {key: version for key, version in self.table.items() if key in there}
        failed = {key: reason for key, reason in self.failed.items() if there.get(key) == reason[0]}
        for key, new in there.items():
            if key not in failed and (key not in found or found[key].stamp != new):
                try:
                    found[key] = await self.load(key, new)
                except Exception as error:  # a file of a stranger, which was run, too
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
        """The file of each version; who comes second is written down."""
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
        """What is wrong with the versions of a model; "" where nothing is."""
        found: dict[Key, list[str]] = {key: [] for key in self.table}
        found |= {key: [why] for key, (_, why) in self.failed.items()}
        for key, why in self.second.values():
            found.setdefault(key, []).append(why)
        return {key: "; ".join(reasons) for key, reasons in found.items() if key.name == name}

    async def load(self, key: Key, new: Stamp) -> Version:
        model = await asyncio.to_thread(lambda: warmed(self.read(only_a_file(new[0])), self.limits.rows))
        return Version(key, new, Batcher(model, self.limits, self.metrics, key.name))

    def version(self, name: str, number: str | None = None) -> Version:
        """The version of that number, or the highest. Raises Refusal where there is none."""
        there = {str(key.number): version for key, version in sorted(self.table.items()) if key.name == name}
        if not there:
            names = sorted({key.name for key in self.table})
            raise Refusal(f"there is no model {short(name)} here; there are {names}", 404)
        wanted = [*there][-1] if number is None else number
        if wanted not in there:
            raise Refusal(f"{name} has the versions {', '.join(there)}, and no {short(wanted)}", 404)
        return there[wanted]

    def close(self) -> None:
        for version in self.table.values():
            version.batcher.close()


def versions(folder: Path) -> Iterator[tuple[Key, Path]]:
    """The file in each folder of a model that is called by a number; where there are none or several, the folder."""
    for path in sorted(folder.iterdir(), key=lambda path: (len(path.name), path.name)):  # 2 before 02
        if NUMBER.fullmatch(path.name) and path.is_dir():
            inside = [file for file in path.iterdir() if file.suffix in SUFFIXES]
            yield Key(name_of(folder.name), int(path.name)), inside[0] if len(inside) == 1 else path


def name_of(stem: str) -> str:
    """A file's name as a model's: bytes that are no UTF-8 are spelled out, so that a URL can say them."""
    return stem.encode(errors="surrogateescape").decode(errors="backslashreplace")


def stamp(path: Path) -> Stamp:
    """What changes when a file is replaced; of a link to nothing it is the link alone, and reading it will say so."""
    try:
        found = path.stat()
    except OSError:
        return path, -1, -1, -1
    return path, found.st_mtime_ns, found.st_size, found.st_ino


def only_a_file(path: Path) -> Path:
    """The path. Raises SavedFileError where it is a pipe or a device: one would wait for ever at its beginning."""
    if path.exists() and not path.is_file():
        raise SavedFileError(f"{path} is no file: one .mg or .onnx file is wanted for each version")
    return path
