"""TensorBoard's event files: protobuf messages, each in a TFRecord. Written here in full, so that nothing is installed.

    length (8 bytes) · checksum of the length (4) · message · checksum of the message (4)

A message is a run of fields; a field is its number and kind, then its value. The numbers are those of event.proto,
summary.proto, tensor.proto and graph.proto of TensorFlow. https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Iterable
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5  # kinds of fields
_serial = count()


def varint(n: int) -> bytes:
    """Seven bits a byte, the lowest first; a negative number as its two's complement of 64 bits."""
    n &= (1 << 64) - 1
    found = bytearray()
    while n > 127:
        found.append(n & 127 | 128)
        n >>= 7
    return bytes((*found, n))


def integer(field: int, value: int) -> bytes:
    return varint(field << 3 | VARINT) + varint(value)


def single(field: int, value: float) -> bytes:
    return varint(field << 3 | FIXED32) + struct.pack("<f", value)


def double(field: int, value: float) -> bytes:
    return varint(field << 3 | FIXED64) + struct.pack("<d", value)


def message(field: int, content: bytes | str) -> bytes:
    """A string, bytes, or a message in a message."""
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | LENGTH) + varint(len(content)) + content


def doubles(field: int, values: Iterable[float]) -> bytes:
    """Repeated doubles, packed."""
    return message(field, np.asarray([*values], "<f8").tobytes())


class EventFile:
    """A file of events in a folder, which is made if need be. Each event is in the file when `flush` has returned."""

    def __init__(self, folder: Path, suffix: str = ""):
        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{time.time():.0f}.{socket.gethostname()}.{os.getpid()}.{next(_serial)}{suffix}"
        self.path = folder / name
        self.file = self.path.open("xb")
        self.write(message(3, "brain.Event:2"))

    def write(self, content: bytes, step: int | None = None, walltime: float | None = None) -> None:
        """One more event."""
        event = double(1, time.time() if walltime is None else walltime)
        event += (b"" if step is None else integer(2, step)) + content
        length = struct.pack("<Q", len(event))
        self.file.write(length + masked(length) + event + masked(event))

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None:
        self.file.close()


def masked(data: bytes) -> bytes:
    """The checksum CRC-32C, rotated, so that that of a checksum is another."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def crc32c(data: bytes) -> int:
    """Castagnoli's checksum, by bytes. https://www.rfc-editor.org/rfc/rfc3720#appendix-B.4"""
    table, crc = castagnoli(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


@cache
def castagnoli() -> list[int]:
    """The remainder of each byte."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(0x82F63B78), table >> 1)
    found: list[int] = table.tolist()
    return found
