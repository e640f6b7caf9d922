#!/usr/bin/env python3
"""Set the course up, once, and open it. Needs Python 3.11 or newer, and nothing else.

    python3 start.py                   open the course where you left off   (on Windows: py start.py)
    python3 start.py status            where you left off, what comes next, and a map of the lessons
    python3 start.py submit 02         make the file of exercise 02 to hand in, and say where it is
    python3 start.py reset lessons/02  get a lesson back as it was; yours goes to the folder backup
    python3 start.py add EXTRA         install an extra too: mpi, native, onnx, serve, gpu-cu12, gpu-cu13 or another
    python3 start.py doctor            say what this machine has and lacks for the course
    python3 start.py copy              bring the lessons up to date without opening them; your edits stay
    python3 start.py lab --present 05  show a lesson as slides; other options go to JupyterLab, such as --no-browser
                                       --audience: the room answers by phone (after python3 start.py add audience)
    python3 start.py run FILE          run a program on several processes that use mg.distributed
    python3 start.py serve MODEL       serve a saved model over HTTP

For teachers and authors:

    python3 start.py grade PLACE       grade the submissions of a class
    python3 start.py new exercise NAME write a new exercise
    python3 start.py site OUT          write the course as a web site: a book, and the course that runs in a browser
    python3 start.py test              run the tests; --browser, --changed and --all run others, see scripts/check
    python3 start.py python FILE       run anything else with the Python that the tests run with, such as scripts/build

The course is installed into the folder .venv beside this file, and what tests need into .venv-test, so that they change
nobody's JupyterLab. A stamp in there says what was installed; an environment without a stamp was left half-way and is
made again, so whatever went wrong, run this again.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VERBS = re.findall(r"^    python3 start\.py ([a-z]+)", __doc__, re.M)
LONGEST_ROOT = 90  # characters: Windows allows 259, and the deepest file in .venv takes 163 of them
PROOF = {
    "course": ["minigrad", "lazy_loader", "jupyterlab", "anywidget", "numpy"],
    "lite": ["sphinx", "myst_nb", "furo", "jupyterlite_core", "jupyterlite_pyodide_kernel"],
    "test": ["pytest", "nbval", "playwright", "mypy"],
}


class Environment:
    """A folder beside this file with a Python of its own, and the stamp in it."""

    def __init__(self, name: str, price: str) -> None:
        self.folder, self.price = ROOT / name, price
        self.bin = self.folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.bin / ("python.exe" if os.name == "nt" else "python")
        self.stamp = self.folder / "finished.json"

    def finished(self) -> dict:
        """What the stamp says, and nothing if it is missing or damaged."""
        try:
            stamp = json.loads(self.stamp.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return stamp if isinstance(stamp, dict) and "made_for" in stamp else {}

    def works(self, extras: set) -> bool:
        """Does it have a Python that runs, and what it must hold at the least?"""
        modules = PROOF["course"] + [name for extra in extras for name in PROOF.get(extra, [])]
        look = "import sys; from importlib.util import find_spec; sys.exit(not all(map(find_spec, sys.argv[1:])))"
        try:
            return run(self.python, "-P", "-c", look, *modules, stderr=subprocess.DEVNULL)
        except OSError:
            return False

    def uv(self) -> str:
        return shutil.which("uv") or shutil.which("uv", path=str(self.bin)) or ""


COURSE = Environment(".venv", "about a minute, 300 MB")
TESTS = Environment(".venv-test", "about two minutes, 720 MB")


def main(arguments: list) -> int:
    if sys.version_info < (3, 11):
        sys.exit(f"Python 3.11 or newer is needed, and this is {sys.version.split()[0]}: see https://www.python.org")
    if arguments[:1] in (["-h"], ["--help"], ["help"]):
        print(__doc__)
        return 0
    if os.name == "nt" and too_long(str(ROOT)):
        sys.exit(too_long(str(ROOT)))
    if not arguments or arguments[0].startswith("-"):
        arguments = ["lab", *arguments]
    verb, *rest = arguments
    if verb not in VERBS:
        near = get_close_matches(verb, VERBS, 1, 0.5)
        meant = f" Did you mean {near[0]}?" if near else ""
        sys.exit(f"There is no verb {verb}.{meant} The verbs are {', '.join(VERBS)}; --help says what they do.")
    environment = TESTS if verb in ("test", "python") else COURSE
    try:
        if environment is TESTS:
            set_up(TESTS, {"test", *COURSE.finished().get("extras", [])})
        else:
            set_up(COURSE, known(rest) if verb == "add" else {"lite"} if verb == "site" else set())
    except (OSError, ValueError) as error:  # ValueError: venv's word for a path with a colon
        sys.exit(
            f"Cannot set up the course in {ROOT} ({error}). Close any JupyterLab that runs from there, "
            f"or copy the folder to another place where you can write, and run start.py there."
        )
    if verb == "add":
        return 0
    scripts = ROOT / "scripts"
    tasks = {"test": [scripts / "check", *rest], "site": [scripts / "site", *rest], "python": rest}
    command = [str(part) for part in (environment.python, *tasks.get(verb, ["-P", "-m", "minigrad", *arguments]))]
    if os.name == "posix":
        os.execv(command[0], command)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for JupyterLab, which asks whether it is meant
    return subprocess.call(command)


def too_long(root: str) -> str:
    """What is said on Windows of a path to this folder that leaves no room; nothing if it does."""
    if len(root) <= LONGEST_ROOT:
        return ""
    return (
        f"Windows has room for {LONGEST_ROOT} characters in the path to this folder, and {root} has {len(root)}: "
        f"move it to a place with a shorter path, such as C:\\minigrad."
    )


def known(extras: list) -> set:
    import tomllib  # new in Python 3.11, and older ones only come this far to be told so

    offered = set(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"])
    if not extras or not offered.issuperset(extras):
        sys.exit(f"Name what to add, out of {', '.join(sorted(offered))}; this was {' '.join(extras) or 'nothing'}.")
    return set(extras)


def set_up(environment: Environment, wanted: set) -> None:
    """Make an environment, or bring it up to date, so that it holds the course and the wanted extras."""
    made_for = sha256((ROOT / "pyproject.toml").read_bytes() + str(ROOT).encode()).hexdigest()
    stamp = environment.finished()
    extras = set(stamp.get("extras", []))
    sound = bool(stamp) and environment.works(extras)
    if sound and stamp["made_for"] == made_for and wanted <= extras:
        return
    tell(f"Setting up {environment.folder.name}: once, {environment.price}")
    if sound:
        environment.stamp.unlink()
    else:
        make(environment)
    if install(environment, wanted | extras):
        stamp = {"made_for": made_for, "extras": sorted(wanted | extras)}
        environment.stamp.write_text(json.dumps(stamp), "utf-8")
        return
    if sound:  # nothing was changed: installers fetch everything before they touch anything
        environment.stamp.write_text(json.dumps(stamp), "utf-8")
    if not (sound and environment.works(wanted)):
        sys.exit(
            "Setting up failed: see above. It needs the network; behind a proxy, set HTTPS_PROXY. Then run this again."
        )
    tell("Could not bring the installation up to date (see above): going on with what is there.")


def make(environment: Environment) -> None:
    try:
        import venv
    except ImportError:
        sys.exit("This Python has no module venv. On Debian and Ubuntu: sudo apt install python3-venv")
    tell("  making the environment")
    # Without pip: quicker by far, and possible where ensurepip is a package of its own, as on Debian.
    venv.EnvBuilder(with_pip=False, clear=True, symlinks=os.name != "nt").create(environment.folder)


def install(environment: Environment, extras: set) -> bool:
    """Install by uv if there is one, or if pip can get one: it is four times as fast. Else by pip."""
    course = ["--editable", f".[{','.join(sorted(extras))}]" if extras else "."]
    pip = [] if environment.uv() else pip_for(environment)
    if pip:
        tell("  fetching uv, which installs")
        watched(*pip, "uv")
    tell("  installing the course and what it needs")
    uv = environment.uv()
    if uv and watched(uv, "pip", "install", "--python", environment.python, *course):
        return True
    pip = pip or pip_for(environment)
    return bool(pip) and watched(*pip, *course)


def watched(*command: object) -> bool:
    """Run an installer: what it is at is seen as it goes, and all that it has said if it fails."""
    said = []
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf-8", "errors": "replace"}
    with subprocess.Popen([str(part) for part in command], cwd=str(ROOT), **options) as process:
        for line in process.stdout:
            said.append(line)
            if re.match(r"Resolved \d+ packages", line):
                tell(f"  {line.split()[1]} packages")
            else:
                glimpse(f"  {line.strip()}")
    glimpse("")
    if process.returncode:
        tell("".join(said).rstrip())
    return process.returncode == 0


def tell(words: str) -> None:
    """For a person: what is asked of this file as data is on stdout."""
    glimpse("")
    print(words, file=sys.stderr, flush=True)


def glimpse(words: str) -> None:
    """A line in the place of the one before it, where somebody looks on."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{words[:width]:{width}}", end="\r", file=sys.stderr, flush=True)


def pip_for(environment: Environment) -> list:
    """How to install into an environment by the caller's own pip, or by one that ensurepip puts there."""
    hidden = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    install = ["install", "--disable-pip-version-check"]
    os.environ.setdefault("PIP_RETRIES", "2")  # no option, for pip builds the course by a pip of its own
    own = [sys.executable, "-m", "pip", "--python", environment.python]  # pip 22.3 and newer
    if run(*own, "--version", **hidden):
        return own + install
    if run(environment.python, "-m", "ensurepip", **hidden):
        return [environment.python, "-m", "pip", *install]
    tell("This Python has neither pip nor ensurepip. On Debian and Ubuntu: sudo apt install python3-venv")
    return []


def run(*command: object, **streams: int) -> bool:
    return subprocess.run([str(part) for part in command], cwd=str(ROOT), check=False, **streams).returncode == 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("Stopped. Run this again to go on.")
