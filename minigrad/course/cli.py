"""The command `minigrad`: lab, copy, reset, status, submit, add, grade, new, doctor, serve, run.

The exit status is 0 for success and 2 for a usage error. It is 1 for a failure; then a sentence on stderr says why and
what to do. With --json the result is JSON on stdout.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from minigrad import __version__
from minigrad.course import CommandInterrupt, CourseError, doctor, lab, lessons, new, standing
from minigrad.engine.base.errors import MinigradError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a folder's name may not fit a pipe's encoding
    parser = command_line()
    refuse_typo(parser, sys.argv[1:] if argv is None else argv)
    arguments, rest = parser.parse_known_args(argv)
    if arguments.verb is None:
        parser.print_help()
        return 0
    if rest and arguments.verb != "lab":
        parser.error(f"{arguments.verb} does not know {' '.join(rest)}")
    arguments.options = rest
    try:
        status = int(arguments.run(arguments))
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except CourseError as error:
        print(f"minigrad: {error}", file=sys.stderr)
        return 130 if isinstance(error, CommandInterrupt) else 1  # 130: a program ended by Ctrl-C


def refuse_typo(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    """Exit with an error that suggests the nearest verb, if the first argument is not a verb."""
    (verbs,) = (action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    if argv and not argv[0].startswith("-") and argv[0] not in verbs:
        near = get_close_matches(argv[0], verbs, 1, 0.5)
        meant = f"did you mean {near[0]}? " if near else ""
        parser.error(f"there is no verb {argv[0]!r}: {meant}The verbs are {', '.join(verbs)}")


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("minigrad", description="The course on computation graphs.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"minigrad {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")

    def verb(name: str, run: Callable[[argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=about, description=about, allow_abbrev=False)
        added.set_defaults(run=run)
        if name not in ("lab", "serve", "run"):
            added.add_argument("--json", action="store_true", help="print the result as JSON")
        return added

    opened = verb("lab", open_course, "Update the course's files, then open them in JupyterLab.")
    opened.add_argument("--present", metavar="NAME", help="show a notebook as live slides, such as lessons/05")
    opened.add_argument("--audience", action="store_true", help="with --present: the room answers by phone")
    opened.epilog = "Other options are passed to JupyterLab, such as --no-browser or --port=9000."
    copied = verb("copy", copy_course, "Update the course's files; your own edits stay.")
    reset = verb("reset", reset_lesson, "Restore a lesson as it was shipped; your copy goes to backup/.")
    reset.add_argument("name", help="a file such as lessons/00_start_here.ipynb, or the start of its name")
    told = verb("status", tell_status, "Show your progress: exercises, predictions, quizzes.")
    handed = verb("submit", submit_exercise, "Make the file of an exercise to hand in, and print where it is.")
    handed.add_argument("name", help="the number of the exercise, such as 02, or the start of its name")
    added = verb("add", add_extras, "Install extras of the course, such as mpi, into the Python that runs it.")
    added.add_argument("extras", nargs="+", metavar="EXTRA", help="mpi, native, onnx, serve, gpu-cu12, gpu-cu13, …")
    graded = verb("grade", grade_submissions, "Grade the submissions of a class.")
    add_grading(graded)
    begun = verb("new", begin_exercise, "Write a new exercise, with an example of every kind of cell (for authors).")
    begun.add_argument("what", choices=["exercise"])
    begun.add_argument("name", help="such as 04_convolution: its lesson's number, then lower-case words")
    examined = verb("doctor", examine, "Report what this machine has and lacks for the course.")

    served = verb("serve", serve_model, "Serve a saved model over HTTP until Ctrl-C (needs the extra `serve`).")
    add_serving(served)
    ranked = verb("run", run_ranks, "Run a program on several processes that use mg.distributed (-n > 1: extra `mpi`).")
    add_running(ranked)
    copied.add_argument("to", nargs="?", type=Path, metavar="DIR", help=FOLDER)
    for parsed in (opened, copied, reset, told, examined, handed):
        parsed.add_argument("--dir", type=Path, help=FOLDER)
    return parser


def add_grading(graded: argparse.ArgumentParser) -> None:
    graded.add_argument("submissions", type=Path, help="a folder, a zip from Canvas or Moodle, or one notebook")
    graded.add_argument("--out", type=Path, required=True, help="folder for the results; run again to resume")
    graded.add_argument("--exercise", default="", metavar="NAME", help="the exercise that all of them answer")
    graded.add_argument("--answers", type=Path, metavar="DIR", help="your own answers, made from your own probes")
    graded.add_argument("--audience", type=Path, metavar="CSV", help="audience.csv of a lecture, for the class report")
    graded.add_argument("--workers", type=int, default=0, metavar="N", help="jobs at once (default: cores + 1)")
    graded.add_argument("--cluster", default="", metavar="ADDRESS", help="a dask cluster, such as tcp://10.0.0.1:8786")
    graded.add_argument("--unsafe", action="store_true", help="use no sandbox: submissions can do all that you can")


def add_running(ranked: argparse.ArgumentParser) -> None:
    ranked.add_argument("-n", type=int, default=2, metavar="N", help="number of processes, called ranks (default: 2)")
    ranked.add_argument("--max-restarts", type=int, default=0, metavar="K", help="times to restart all after one fails")
    ranked.add_argument("script", help="a Python file")
    ranked.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments for the program")


def add_serving(served: argparse.ArgumentParser) -> None:
    add = served.add_argument
    add("model", type=Path, help="an mg.save or ONNX file, a folder of versions 1/ 2/ …, or of these")
    add("--host", default="127.0.0.1", help="0.0.0.0 accepts other machines, unauthenticated")
    add("--port", type=int, default=8501, help="0 chooses a free port")
    add("--max-batch", type=int, default=1, metavar="ROWS", help="rows run at once; above 1, rows must be independent")
    add("--max-wait", type=float, default=1.0, metavar="MS", help="longest wait to fill a batch")
    add("--max-queue", type=int, default=1024, metavar="N", help="requests that may wait for one model")
    add("--max-body", type=float, default=16.0, metavar="MB", help="largest request body")
    add("--max-memory", type=float, default=128.0, metavar="MB", help="memory of all requests: bodies, arrays, answers")
    add("--allow-host", action="append", default=[], metavar="NAME", help="another host name of this server")
    add("--timeout", type=float, default=30.0, metavar="S", help="for reading, and for answering")
    add("--page", type=Path, metavar="HTML", help="your own page, instead of the drawing page")
    add("--poll", type=float, default=1.0, metavar="S", help="time between checks for new versions")


FOLDER = "the course folder (default: this one; work/ in a checkout; this folder if empty; ~/minigrad-course)"


def course_folder(arguments: argparse.Namespace) -> Path:
    folder = arguments.dir or getattr(arguments, "to", None) or lessons.default_folder()
    return Path(folder).expanduser().absolute()


def rescued_folder(arguments: argparse.Namespace) -> Path:
    """The course folder, after restoring damaged notebooks and printing their names."""
    folder = course_folder(arguments)
    for damaged in lessons.rescue(folder):
        print(damaged, file=sys.stderr if "json" in arguments and arguments.json else sys.stdout)
    return folder


def open_course(arguments: argparse.Namespace) -> int:
    if arguments.audience and not arguments.present:
        raise CourseError("--audience needs --present NAME, such as --present lessons/05")
    folder = rescued_folder(arguments)
    print(*report(lessons.copy(folder)), sep="\n")
    presented = lessons.notebook(folder, arguments.present) if arguments.present else ""
    if presented and not lessons.has_slides(folder / presented):
        print(f"{presented} marks no slides: each heading begins a slide")
    for address in lab.addresses(folder):
        print(f"This folder is already open in JupyterLab: {address}")
        print("Use that one if you can: two would edit the same notebooks. Starting another on its own port.")
    return lab.open_lab(folder, arguments.options, presented, lab.first_notebook(folder), arguments.audience)


def copy_course(arguments: argparse.Namespace) -> int:
    copied = lessons.copy(rescued_folder(arguments))
    return answer(arguments, asdict(copied), *report(copied))


def answer(arguments: argparse.Namespace, plain: object, *words: object) -> int:
    """Print the result of a command: with --json as JSON, otherwise in words. Returns the exit status."""
    print(*[json.dumps(plain, default=str)] if arguments.json else words, sep="\n")
    return 0


def report(copied: lessons.CopyReport) -> list[str]:
    files = {
        "new": copied.new, "restored": copied.restored, "updated": copied.updated,
        "edited by you and kept": copied.kept, "as they were": copied.same,
    }  # fmt: skip
    counts = ", ".join(f"{len(names)} {what}" for what, names in files.items() if names)
    beside = (f"A file that you edited has a new edition, saved as {name}" for name in copied.beside)
    return [f"Course folder: {copied.folder} ({counts})", *beside]


def reset_lesson(arguments: argparse.Namespace) -> int:
    folder = course_folder(arguments)
    wanted = lessons.resolve_name(arguments.name, lessons.destination(folder))
    for damaged in lessons.rescue(folder):
        if damaged.name == wanted and damaged.well:
            raise CourseError(f"{damaged} It was not reset: run the same command again to reset it")
        print(damaged, file=sys.stderr)
    name, backup = lessons.reset(folder, arguments.name)
    yours = f"your copy is {backup}" if backup else "you had not changed it"
    now = f"{name} in {folder} is as it was shipped; {yours}"
    kept = "What you have locked, tried and passed is kept; `status` shows it."
    return answer(arguments, {"name": name, "backup": backup}, now, kept)


def tell_status(arguments: argparse.Namespace) -> int:
    folder = rescued_folder(arguments)
    came = standing.standing(folder)
    return answer(arguments, {"folder": str(folder), **came.plain()}, f"Course folder: {folder}", came)


def submit_exercise(arguments: argparse.Namespace) -> int:
    folder = rescued_folder(arguments)
    path = lessons.hand_in(folder, arguments.name)
    (work,) = (each for each in standing.standing(folder).exercises if each.name == path.stem)
    score = f"`check` has given {work.points} of {work.of} points so far."
    words = f"The file to hand in is {path}", f"It is your exercise {path.name[:2]} as saved; {score}"
    return answer(arguments, {"path": path, "points": work.points, "of": work.of}, *words)


def add_extras(arguments: argparse.Namespace) -> int:
    command = doctor.install_command(arguments.extras)
    status = subprocess.run(command, check=False, stdout=sys.stderr if arguments.json else None).returncode
    if status:
        raise CourseError(f"could not install {' '.join(arguments.extras)}: see above; it needs the network")
    words = f"Installed: {' '.join(arguments.extras)}. Restart the kernels of open notebooks."
    return answer(arguments, {"installed": arguments.extras}, words)


def grade_submissions(arguments: argparse.Namespace) -> int:
    from minigrad.course.grading import command  # imported on use: learners do not need it

    options = {
        key: getattr(arguments, key) for key in ("exercise", "answers", "workers", "unsafe", "cluster", "audience")
    }
    results = command.grade(arguments.submissions, arguments.out, **options)
    print(json.dumps(command.as_json(results)) if arguments.json else command.summary(results, arguments.out))
    return 0


def begin_exercise(arguments: argparse.Namespace) -> int:
    path = new.exercise(arguments.name)
    return answer(arguments, {"path": path}, new.what_next(path))


def serve_model(arguments: argparse.Namespace) -> int:
    try:
        from minigrad.files.serving.app import PAGE
        from minigrad.files.serving.batcher import BatchLimits  # imported on use: serving is an optional extra
        from minigrad.files.serving.command import serve
    except ModuleNotFoundError as missing:
        advice = "python3 start.py add serve, or pip install 'minigrad-course[serve]'"
        raise CourseError(f"serve needs {missing.name}: {advice}") from None
    body, memory = (int(megabytes * (1 << 20)) for megabytes in (arguments.max_body, arguments.max_memory))
    limits = BatchLimits(
        arguments.max_batch, arguments.max_wait / 1000, arguments.max_queue, body, arguments.timeout, memory
    )
    try:
        tell, page = partial(print, flush=True), arguments.page or PAGE
        serve(arguments.model, arguments.host, arguments.port, limits, arguments.poll, tell, page, arguments.allow_host)
    except (OSError, MinigradError) as error:
        raise CourseError(str(error)) from None
    return 0


def run_ranks(arguments: argparse.Namespace) -> int:
    from minigrad.distributed import launcher  # imported on use: it needs NumPy

    try:
        launcher.run_script(arguments.script, arguments.arguments, arguments.n, arguments.max_restarts)
    except launcher.RankError as error:
        print(f"minigrad: {error}", file=sys.stderr)
        return error.status
    except MinigradError as error:
        raise CourseError(str(error)) from None
    except KeyboardInterrupt:
        raise CommandInterrupt("stopped, and all ranks with it") from None
    return 0


def examine(arguments: argparse.Namespace) -> int:
    findings = list(doctor.examination(course_folder(arguments)))
    answer(arguments, [asdict(finding) for finding in findings], *findings)
    return 0 if all(finding.well for finding in findings) else 1
