"""Watches a grader at work, as the first process (init) of its sandbox.

It reads a job as JSON from stdin, and writes its observations as JSON to stdout:

    steps     [{"command": […], "seconds": s}, …]    one after the other, in a copy of the course
    read      a command that prints the scores as JSON

    scores    the output of that command
    late      whether a step was stopped
    wall, cpu, peak    seconds, seconds, bytes in memory of all processes at one moment
    words     the last output of the grader
    outside   escapes from the place where submissions should run, in words
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from .world import COURSE, FOLDER, FONTS, HOME

LOOK = 0.1  # seconds between two readings of memory
PORT = 8888  # where a teacher's Jupyter would listen
MARK = "mark_of_a_submission"
IN_THE_GRADER = f"{MARK}_in_the_grader"
READ = 60  # seconds
WORDS = 2000  # characters


def main() -> None:
    job = json.load(sys.stdin)
    shutil.copytree(COURSE, FOLDER)
    if Path(FONTS).exists():
        shutil.copytree(FONTS, f"{HOME}/.cache/matplotlib")
    Path("/tmp/said").touch()
    asked, peak = listening(), Peak()
    start = time.monotonic()
    stopped = [stepped(step["command"], step["seconds"]) for step in job["steps"]]
    wall = time.monotonic() - start
    left = left_running()
    stop_all()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    outside = [*marks(), *(["reached the network"] if asked else []), *(["left a process running"] if left else [])]
    said = {
        "late": any(stopped),
        "wall": wall,
        "cpu": used.ru_utime + used.ru_stime,
        "peak": peak.bytes,
        "outside": outside,
    }
    words = Path("/tmp/said").read_text("utf-8", "replace")[-WORDS:]
    print(json.dumps({"scores": scores(job["read"]), **said, "words": words}))
    sys.stdout.flush()
    os._exit(0)


def stepped(command: list[str], seconds: float) -> bool:
    """Run a step; returns whether it had to be stopped."""
    with Path("/tmp/said").open("ab") as said:
        process = subprocess.Popen(command, cwd=FOLDER, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return True
    return False


def scores(read: list[str]) -> Any:
    done = subprocess.run(read, cwd=FOLDER, check=False, capture_output=True, timeout=READ)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {}


class Peak:
    """The most bytes in memory of all processes but this one, at one moment."""

    def __init__(self) -> None:
        self.bytes = 0
        threading.Thread(target=self.look, daemon=True).start()

    def look(self) -> None:
        while True:
            total = 0
            for each in psutil.process_iter():
                with contextlib.suppress(psutil.Error):
                    total += each.memory_info().rss if each.pid != os.getpid() else 0
            self.bytes = max(self.bytes, total)
            time.sleep(LOOK)


def listening() -> list[str]:
    """Collect connections to the port of a teacher's Jupyter from now on."""
    server, asked = socket.create_server(("127.0.0.1", PORT)), []

    def listen() -> None:
        while True:
            caller, address = server.accept()
            asked.append(str(address))
            caller.close()

    threading.Thread(target=listen, daemon=True).start()
    return asked


def left_running() -> bool:
    """Whether, a second after the grader's end, another live process remains."""
    time.sleep(1)
    alive = []
    for each in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            alive += [each.pid] if each.pid != os.getpid() and each.status() != psutil.STATUS_ZOMBIE else []
    return bool(alive)


def stop_all() -> None:
    """Kill all remaining processes; as init, this process reaps them."""
    with contextlib.suppress(OSError):
        os.kill(-1, signal.SIGKILL)
    time.sleep(LOOK)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def marks() -> list[str]:
    """What the marks show: code that ran in the grader's own process, files in the teacher's home."""
    found = {path.name for path in Path(HOME).iterdir()}
    said = ["ran in the grader's own process"] if IN_THE_GRADER in found else []
    return [*said, "wrote into the teacher's home"] if MARK in found else said


if __name__ == "__main__":
    main()
