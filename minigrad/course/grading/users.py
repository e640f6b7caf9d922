"""User ids for sandboxes: each that runs has one which no other on this machine has, whoever started it.

The limit on processes goes by user id. An id is taken by locking a file in a folder that only root can write, so
graders beside each other, their threads and the workers of a cluster never share one. The lock goes with its holder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from minigrad.course.journal import locked

FOLDERS = (Path("/run/minigrad"), Path("/tmp/minigrad-users"))  # the second where the first is read-only
IDS = range(60_706, 61_184)  # that systemd leaves free: https://systemd.io/UIDS-GIDS


@contextmanager
def own() -> Iterator[int]:
    """A user id for one sandbox. Raises OSError where none is left."""
    if not sys.platform.startswith("linux") or os.geteuid():
        yield IDS[0]  # only root can become somebody else
        return
    folder = ours()
    for user in IDS:
        with (folder / str(user)).open("ab") as file:
            if locked(file):
                yield user
                return
    raise OSError(f"{len(IDS)} submissions run on this machine already: give fewer --workers")


def ours() -> Path:
    """A folder in which nobody else can hold a lock. Raises OSError where there is none."""
    for folder in FOLDERS:
        with suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
            if folder.lstat().st_uid == 0 and os.access(folder, os.W_OK):
                return folder
    raise OSError(f"no user ids can be locked: root can make neither {' nor '.join(map(str, FOLDERS))}")
