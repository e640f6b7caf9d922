"""Start JupyterLab in the learner's folder.

JupyterLab runs with this Python, not with the `jupyter` on the PATH, and prefers this Python's kernel to others that
the user has installed. It makes no network requests: no news, no updates, no catalogue of extensions.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from minigrad.course import CourseError, standing
from minigrad.course.audience.link import start_room
from minigrad.course.lessons import FIRST, writing_in
from minigrad.course.prediction import AT_ONCE, LECTURE
from minigrad.course.terminal import quietly


def open_lab(
    folder: Path, options: Sequence[str] = (), presented: str = "", opened: str = FIRST, audience: bool = False
) -> int:
    """Replace this process with JupyterLab. On Windows, start JupyterLab, wait, and return its exit status.

    presented    the name of a notebook to open as slides
    opened       the name of the notebook to open otherwise
    audience     whether the room answers by phone
    """
    if find_spec("jupyterlab") is None:
        advice = "run `python3 start.py`, or `pip install minigrad-course` again"
        raise CourseError(f"{sys.executable} has no JupyterLab: {advice}")
    with writing_in(folder):
        log(folder).parent.mkdir(exist_ok=True)
        log(folder).touch(mode=0o600)  # readable by its owner only: it contains a token
    command = lab_command(folder, options, presented, opened)
    environment = os.environ | lab_environment(folder) | ({AT_ONCE: LECTURE} if presented else {})
    environment |= start_room(folder) if audience else {}
    sys.stdout.flush()
    if os.name == "posix":
        os.execve(command[0], command, environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to JupyterLab, which asks for confirmation
    return subprocess.call(command, env=environment)


def log(folder: Path) -> Path:
    """The file for the messages that JupyterLab does not print in the terminal."""
    return folder.absolute() / ".jupyter" / "log.txt"


def first_notebook(folder: Path) -> str:
    """The notebook where the learner goes on: where they left off, or what comes next if that is done."""
    now = standing.standing(folder)
    return next((name for name in (now.next, now.left_off) if name and (folder / name).is_file()), FIRST)


def lab_command(folder: Path, options: Sequence[str], presented: str = "", opened: str = FIRST) -> list[str]:
    """The command line. The user's own options come last and so take precedence."""
    shell = os.environ.get("SHELL") if os.name == "posix" else None
    page_config = {"page_config_data": {"minigradPresent": presented}}
    return [
        *(sys.executable, "-P", "-m", "jupyterlab"),  # -P: do not import json.py from the current folder
        *(["--allow-root"] if os.name == "posix" and os.geteuid() == 0 else []),
        f"--ServerApp.root_dir={folder.absolute()}",
        f"--LabApp.default_url=/lab/tree/{quote(presented or opened)}",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly",
        f"--Application.logging_config={quietly(str(log(folder)))!r}",
        # Without a tty, JupyterLab's terminals would be login shells, which set their own PATH, without `minigrad`.
        *([f"--ServerApp.terminado_settings={ {'shell_command': [shell]}!r}"] if shell else []),
        # The name is not part of the URL, because Jupyter appends a token to the URL.
        *([f"--ServerApp.tornado_settings={page_config!r}"] if presented else []),
        *options,
    ]


def lab_environment(folder: Path) -> dict[str, str]:
    """The environment variables to add for JupyterLab and its kernels.

    Open tabs are stored in the course folder, so that those of another project do not appear here.
    """
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "PYTHONUTF8": "1",
        "JUPYTER_PREFER_ENV_PATH": "1",
        "JUPYTERLAB_WORKSPACES_DIR": str(folder.absolute() / ".jupyter" / "workspaces"),
    }


def addresses(folder: Path) -> list[str]:
    """The URLs of running JupyterLab servers that already show this folder."""
    if find_spec("jupyter_core") is None:
        return []
    from jupyter_core.paths import jupyter_runtime_dir

    if not any(Path(jupyter_runtime_dir()).glob("jpserver-*.json")):
        return []  # jupyter_server takes two seconds to import
    from jupyter_server.serverapp import list_running_servers

    servers = [each for each in list_running_servers() if Path(each["root_dir"]).resolve() == folder.resolve()]
    return [f"{server['url']}lab?token={server['token']}" for server in servers]
