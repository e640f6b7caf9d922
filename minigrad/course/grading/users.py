"""User ids for sandboxes: two sandboxes that run on this machine never have the same id.

The kernel limits processes by user id. An id is reserved by locking a file in a folder that only root can write to.
So graders in parallel, their threads and the workers of a cluster never share an id. The lock ends with its process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from minigrad.course.journal import try_lock

FOLDERS = (Path("/run/minigrad"), Path("/tmp/minigrad-users"))  # the second is used where the first is read-only
IDS = range(60_706, 61_184)  # systemd leaves these free: https://systemd.io/UIDS-GIDS


@contextmanager
def lock_user_id() -> Iterator[int]:
    """Reserve a user id for one sandbox. Raises OSError if none is left."""
    if not sys.platform.startswith("linux") or os.geteuid():
        yield IDS[0]  # only root can change its user
        return
    folder = lock_folder()
    for user in IDS:
        with (folder / str(user)).open("ab") as file:
            if try_lock(file):
                yield user
                return
    raise OSError(f"{len(IDS)} submissions already run on this machine: use fewer --workers")


def lock_folder() -> Path:
    """A folder in which only root can hold a lock. Raises OSError if there is none."""
    for folder in FOLDERS:
        with suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
            if folder.lstat().st_uid == 0 and os.access(folder, os.W_OK):
                return folder
    raise OSError(f"no user ids can be locked: root can make neither {' nor '.join(map(str, FOLDERS))}")
