"""Every test file is in a room, has a name of its own, and the engine's tests import only the engine."""

import ast
import re
from collections import Counter

from tests.support.root import ROOT

TESTS = ROOT / "tests"
FILES = sorted(TESTS.glob("**/test_*.py"))
ENGINE = {"engine", "base", "core", "ops", "methods", "tensor", "random", "laws"}


def test_every_test_file_is_in_a_room_and_no_name_occurs_twice():
    names = Counter(path.name for path in FILES)

    assert not [path.name for path in FILES if path.parent == TESTS]
    assert not [name for name, count in names.items() if count > 1]


def test_every_room_is_in_the_readme():
    rooms = {path.relative_to(TESTS).parts[0] for path in TESTS.glob("*/**/*.py")} - {"__pycache__"}
    named = set(re.findall(r"`(\w+)/`", (TESTS / "README.md").read_text("utf-8")))

    assert not rooms - named


def imported_rooms(path):
    """Rooms of minigrad that a file's import statements name. `import minigrad as mg` names none."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "minigrad":
            parts = node.module.split(".")
            yield from parts[1:2] or [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("minigrad."))


def test_the_engines_tests_import_only_the_engine():
    beyond = {path.name: {*imported_rooms(path)} - ENGINE for path in (TESTS / "engine").glob("*.py")}

    assert not {name: rooms for name, rooms in beyond.items() if rooms}
