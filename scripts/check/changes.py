"""Selects the tests of a change: those that name what has changed, the laws of the ops, lint and types.

A test file is selected whole if it has changed itself, or is named after a changed module. From other files, it selects
tests that name a changed function or class, or a helper or table of their file that names it. So tests of rooms built
on a changed one are selected if they name what changed there; all other effects of the change are left to the full run.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALWAYS = [
    "tests/repository/test_lint_types_and_generated.py",
    "tests/repository/test_layers.py",
    "tests/repository/test_addresses.py",
    "tests/across/test_smoke.py",
]
LAWS = [
    "tests/engine/test_op_laws.py",
    "tests/graph/backends/test_device.py",
    "tests/graph/backends/test_kernels.py",
    "tests/graph/compiler/test_program.py",
]
HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.M)


def affected_tests(reference: str) -> list[str]:
    """Test files and notebooks to run for the differences from a commit, with untracked files.

    Ends the program if git does not know the commit.
    """
    files = [*git("diff", "--name-only", "--diff-filter=d", reference), *git("ls-files", "-o", "--exclude-standard")]
    tests = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in ROOT.glob("tests/**/test_*.py")}
    chosen = dict.fromkeys(ALWAYS, "every change")
    for file in files:
        for path in notebooks_of(file):
            chosen.setdefault(path, file)
        if file.startswith("minigrad/engine/"):
            chosen |= dict.fromkeys(LAWS, "the laws of the ops")
        names = "|".join(sorted({re.escape(name) for name in names_of(file, reference)}))
        names = names and rf"(?<!nn\.)\b({names})\b"  # nn.Tanh is not the op
        for path, text in tests.items():
            if path == file or Path(file).stem in Path(path).stem.removeprefix("test_").split("_browser"):
                chosen.setdefault(path, file)
            elif names and path not in chosen and re.search(names, text):
                chosen |= {f"{path}::{test}": file for test in tests_naming(text, names)}
    print(f"selected {len(chosen)} tests, test files and notebooks:")
    for reason, count in Counter(chosen.values()).items():
        print(f"{count:5} for {reason}", flush=True)
    return [*chosen]


def tests_naming(text: str, names: str) -> Iterator[str]:
    """The tests of a file whose source mentions one of the names, directly or through a helper in the file."""
    lines = text.splitlines()
    sources: dict[str, str] = {}
    for node in ast.parse(text).body:
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
        targets = getattr(node, "targets", [node])
        name = getattr(node, "name", getattr(targets[0], "id", ""))
        sources[name] = "\n".join(lines[first - 1 : node.end_lineno])
    between = [name for name, source in sources.items() if name and re.search(names, source)]
    either = "|".join([names, *(rf"\b{name}\b" for name in between if not name.startswith("test_"))])
    yield from (name for name, source in sources.items() if name.startswith("test_") and re.search(either, source))


def git(*arguments: str) -> list[str]:
    """The lines that a git command prints."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise SystemExit(
            f"`git {arguments[0]}` failed: {done.stderr.strip()}\n--changed takes a commit, as HEAD~3 or main"
        )
    return done.stdout.splitlines()


def notebooks_of(file: str) -> list[str]:
    """The notebooks made from a source, or the changed notebook itself."""
    stem = Path(file).stem
    if re.match(r"(lessons|solutions|exercises)/(source/)?\d\d_", file):
        folders = ["lessons"] if file.startswith("lessons") else ["solutions", "exercises"]
        return [f"{folder}/{stem}.ipynb" for folder in folders if (ROOT / folder / f"{stem}.ipynb").exists()]
    return []


def names_of(file: str, reference: str) -> Iterator[str]:
    """The names by which a test would mention a file's changes."""
    path = ROOT / file
    if path.suffix == ".py" and file.startswith(("minigrad/", "scripts/")):
        yield from definitions(path, reference)
    elif path.suffix in (".js", ".css"):
        yield "".join(word.title() for word in path.stem.split("_"))
    elif file.startswith("tests/"):
        yield path.stem
    elif not file.endswith(".ipynb"):
        yield path.name


def definitions(path: Path, reference: str) -> Iterator[str]:
    """Names of the module's functions and classes with changed lines; all names in a new file."""
    hunks = HUNK.findall("\n".join(git("diff", "-U0", reference, "--", str(path))))
    lines = {int(first) + i for first, count in hunks for i in range(max(int(count or 1), 1))}
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and (
            not hunks or lines.intersection(range(node.lineno, node.end_lineno + 1))
        ):
            yield node.name
