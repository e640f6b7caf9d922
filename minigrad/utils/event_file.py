"""TensorBoard's event files: protobuf messages in TFRecords, encoded by hand (why: docs/decisions/044-event-files.md).

    length (8 bytes) · checksum of the length (4) · message · checksum of the message (4)

A message is a dictionary from field numbers to values. The numbers are those of event.proto, summary.proto,
tensor.proto and graph.proto of TensorFlow. https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Mapping
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

Message = dict[int, Any]
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5  # protobuf's wire types
_serial = count()


def encode(message: Mapping[int, Any]) -> bytes:
    """The bytes of a message. A list repeats its field; None leaves the field out.

    bool, int     varint      np.float32    single        str, bytes    with their length
    np.ndarray    packed      float         double        dict          a message in the message
    """
    fields = ((n, x) for n, value in message.items() for x in (value if isinstance(value, list) else [value]))
    return b"".join(field(n, x) for n, x in fields if x is not None)


def field(number: int, x: Any) -> bytes:
    """The bytes of one field: its number and wire type, then its value."""
    match x:
        case int() | np.integer():
            return varint(number << 3 | VARINT) + varint(int(x))
        case float():
            return varint(number << 3 | FIXED64) + struct.pack("<d", x)
        case np.floating():
            return varint(number << 3 | FIXED32) + struct.pack("<f", x)
        case dict():
            x = encode(x)
        case np.ndarray():
            x = x.tobytes()
        case str():
            x = x.encode()
    return varint(number << 3 | LENGTH) + varint(len(x)) + bytes(x)


def varint(n: int) -> bytes:
    """n as a varint: seven bits per byte, the lowest first; a negative n as a 64-bit two's complement."""
    n &= (1 << 64) - 1
    found = bytearray()
    while n > 127:
        found.append(n & 127 | 128)
        n >>= 7
    return bytes((*found, n))


def open_events(folder: Path, suffix: str = "") -> BinaryIO:
    """Create an event file in a folder, and the folder if needed."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"events.out.tfevents.{time.time():.0f}.{socket.gethostname()}.{os.getpid()}.{next(_serial)}{suffix}"
    file = (folder / name).open("xb")
    write_event(file, {3: "brain.Event:2"})
    return file


def write_event(file: BinaryIO, content: Message, step: int | None = None, walltime: float | None = None) -> None:
    """Append an event to the file."""
    event = encode({1: float(time.time() if walltime is None else walltime), 2: step, **content})
    length = struct.pack("<Q", len(event))
    file.write(length + masked_crc(length) + event + masked_crc(event))


def masked_crc(data: bytes) -> bytes:
    """TFRecord's masked CRC-32C: rotated and offset, because a CRC of data that contains CRCs is weak."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def crc32c(data: bytes) -> int:
    """The CRC-32C (Castagnoli) checksum. https://www.rfc-editor.org/rfc/rfc3720#appendix-B.4"""
    table, crc = castagnoli(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


@cache
def castagnoli() -> list[int]:
    """The lookup table of CRC-32C: byte → its remainder."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(0x82F63B78), table >> 1)
    found: list[int] = table.tolist()
    return found
