"""How JupyterLab and its kernels reach the server of an audience: a process of its own, which outlives the kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from minigrad.course import CourseError

SERVER, TOKEN = "MINIGRAD_AUDIENCE", "MINIGRAD_AUDIENCE_TOKEN"  # environment variables of the kernels
NEEDS = "segno", "starlette", "uvicorn", "httptools"
SECONDS = 2.0  # timeout of a request to the server, which runs on this machine


def start_room(folder: Path) -> dict[str, str]:
    """Start the server. Returns environment variables for JupyterLab. Raises CourseError without the extra `audience`.

    The server ends with JupyterLab, the only process that holds the other end of its standard input.
    """
    if missing := [name for name in NEEDS if not find_spec(name)]:
        advice = "python3 start.py add audience, or pip install 'minigrad-course[audience]'"
        raise CourseError(f"--audience needs {missing[0]}: {advice}")
    command = [sys.executable, "-P", "-m", "minigrad.course.audience", str(folder.absolute())]
    process: Any = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    os.set_inheritable(process.stdin.fileno(), True)  # JupyterLab replaces this process and inherits the pipe
    if not (line := process.stdout.readline()):
        raise CourseError("the audience server did not start: see its messages above")
    room = json.loads(line)
    server = f"127.0.0.1:{room['url'].rpartition(':')[2]}"
    lecturer = f"http://{server}/lecturer#{room['token']}"
    print(f"Room {room['code']} at {room['url']}: v shows its QR code in the lecture. Only for you: {lecturer}")
    settings = folder.absolute() / ".jupyter" / "audience"
    page_config = settings / "labconfig" / "page_config.json"
    page_config.parent.mkdir(parents=True, exist_ok=True)
    page_config.touch(mode=0o600)  # a private file: every user of this machine can read a command line
    page_config.write_text(json.dumps({"minigradAudience": lecturer}), "utf-8")
    places = os.pathsep.join([str(settings), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])])
    return {SERVER: server, TOKEN: room["token"], "JUPYTER_CONFIG_PATH": places}


def send_event(**event: Any) -> None:
    """Send an event of a Room to the server, if there is an audience. Prints a warning if that fails."""
    if SERVER not in os.environ:
        return
    try:
        server = HTTPConnection(os.environ[SERVER], timeout=SECONDS)  # unlike urllib, http.client ignores proxies
        server.request("POST", "/lecturer/do", json.dumps(event, default=repr), {"X-Room": os.environ[TOKEN]})
        reply = server.getresponse()
        why = "" if reply.status == 200 else reply.read().decode()
        server.close()
    except (OSError, HTTPException, ValueError) as error:
        why = str(error)
    if why:
        print(f"The audience server may have missed an event: {why}", file=sys.stderr)
