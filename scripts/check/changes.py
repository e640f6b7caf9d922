"""Which tests a change concerns: those that name what has changed, the laws of the ops, lint and types.

A test file is taken if it has changed itself, if it imports a helper that has, if it is called after a module that has,
or if it names a function or class whose lines have changed. So tests of the rooms built on a changed one are taken
where they name what changed there; whatever else the change may break is left to the whole run.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALWAYS = ["tests/test_source.py", "tests/test_layers.py", "tests/test_addresses.py", "tests/test_tiny.py"]
ENGINE = ("base", "core", "ops", "methods", "tensor")
LAWS = ["tests/test_table.py", "tests/test_device.py", "tests/test_kernels.py", "tests/test_program.py"]
HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.M)


def affected_tests(reference: str = "HEAD") -> list[str]:
    """Test files and notebooks to run for what differs from the commit, files that git does not know yet included."""
    files = [*git("diff", "--name-only", "--diff-filter=d", reference), *git("ls-files", "-o", "--exclude-standard")]
    tests = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in ROOT.glob("tests/**/test_*.py")}
    chosen = dict.fromkeys(ALWAYS, "always")
    for file in files:
        for path in notebooks_of(file):
            chosen.setdefault(path, file)
        if file.startswith(tuple(f"minigrad/{room}/" for room in ENGINE)):
            chosen |= dict.fromkeys(LAWS, "the laws of the ops")
        words = "|".join(sorted({re.escape(word) for word in words_of(file, reference)}))
        for path, text in tests.items():
            if path == file or (words and re.search(rf"\b({words})\b", f"{Path(path).stem[5:]} {text}")):
                chosen.setdefault(path, file)
    for path, reason in chosen.items():
        print(f"  {path:48} {reason}", flush=True)
    return [*chosen]


def git(*arguments: str) -> list[str]:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    ).stdout.splitlines()


def notebooks_of(file: str) -> list[str]:
    """The notebooks that are made from a source, or the changed notebook itself."""
    stem = Path(file).stem
    if re.match(r"(lessons|solutions|exercises)/(source/)?\d\d_", file):
        folders = ["lessons"] if file.startswith("lessons") else ["solutions", "exercises"]
        return [f"{folder}/{stem}.ipynb" for folder in folders if (ROOT / folder / f"{stem}.ipynb").exists()]
    return []


def words_of(file: str, reference: str) -> Iterator[str]:
    """How a test would name what has changed in a file."""
    path = ROOT / file
    if path.suffix == ".py" and file.startswith(("minigrad/", "scripts/")):
        yield path.stem if path.stem not in ("__init__", "__main__") else path.parent.name
        yield from definitions(path, reference)
    elif path.suffix in (".js", ".css"):
        yield path.stem
        yield "".join(word.title() for word in path.stem.split("_"))
    elif file.startswith("tests/"):
        yield path.stem
    elif not file.endswith(".ipynb"):
        yield path.name


def definitions(path: Path, reference: str) -> Iterator[str]:
    """Names of the module's functions and classes that have changed lines; an op's name in lower case, too."""
    hunks = HUNK.findall("\n".join(git("diff", "-U0", reference, "--", str(path))))
    lines = {int(first) + i for first, count in hunks for i in range(max(int(count or 1), 1))}
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and lines & set(range(node.lineno, node.end_lineno + 1)):
            yield node.name
            if isinstance(node, ast.ClassDef):
                yield node.name.lower()
