"""Each defect of defects.toml, put into a copy of this checkout, turns the tests that it names red.

    python -m pytest tests/repository/test_defects.py       all of them: minutes
    python -m pytest tests/repository/test_defects.py -k adam -s  those named "adam", and which test found each

Only what the defect's tier runs counts, and it must pass without the defect. If you edit a line that a defect changes,
edit the defect too.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.tiers import slow_tests
from tests.support.root import ROOT
from tests.support.table import table

DEFECTS: dict[str, dict[str, Any]] = tomllib.loads((ROOT / "tests" / "repository" / "defects.toml").read_text("utf-8"))
TIERS = {name: defect.get("tier", "default") for name, defect in DEFECTS.items()}
PYTEST = [sys.executable, "-m", "pytest", "--nbval", "-x", "-q", "-n0", "-p", "no:cacheprovider"]


@table("name", DEFECTS)
def test_a_defect_changes_one_place_and_names_tests_that_exist(name):
    """A name stands once in the table: TOML refuses a second."""
    defect = DEFECTS[name]
    assert (ROOT / defect["file"]).read_text("utf-8").count(defect["old"]) == 1, "the old text occurs exactly once"
    assert defect["old"] != defect["new"]
    assert defect["wrong"].endswith(".")
    for path, _, function in (word.partition("::") for word in defect["red"] if "/" in word):
        assert f"def {function.partition('[')[0]}" in (ROOT / path).read_text("utf-8") or not function


def test_most_defects_are_found_by_the_default_tier():
    tiers = Counter(TIERS.values())
    assert tiers.keys() <= {"default", "browser"}
    assert tiers["default"] >= 0.9 * tiers.total() >= 27


def test_tests_that_a_defect_names_are_not_among_the_slow_ones_that_take_turns():
    for name, defect in DEFECTS.items():
        prefix, *options = defect["red"]
        words = re.findall(r"(?!and\b|or\b)\w{2,}", " ".join(options))  # of -k
        slow = [test for test in slow_tests() if test.startswith(prefix)]
        assert not [test for test in slow if not words or any(w in test for w in words)], name


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tracked files of this checkout, as they are on the disk."""
    root = tmp_path_factory.mktemp("checkout")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    for name in filter(None, tracked.decode().split("\0")):
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    imported = run(root, [sys.executable, "-c", "import minigrad; print(minigrad.__file__)"]).stdout.strip()
    assert Path(imported) == root / "minigrad" / "__init__.py", "the copy's minigrad is imported, and not the original"
    return root


@pytest.fixture(scope="module")
def green() -> set[tuple[str, ...]]:
    """The selections that have passed without a defect."""
    return set()


@pytest.mark.night
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_found(name, copy, green):
    tier = "default" if TIERS[name] == "default" else "all"  # the default and --browser share a long table
    selection = ("--tier", tier, *DEFECTS[name]["red"])
    if selection not in green:
        sound = run(copy, [*PYTEST, *selection])
        assert sound.returncode == 0, f"red without the defect too:\n{sound.stdout[-3000:]}"
        green.add(selection)
    with damaged(copy, DEFECTS[name]):
        start = time.perf_counter()
        found = run(copy, [*PYTEST, *selection])
        seconds = time.perf_counter() - start
    first = re.search(r"^FAILED (.*)$", found.stdout, re.MULTILINE)
    print(f"\n{name}: {seconds:.0f} s, {first[1][:150] if first else 'not found'}")
    assert (found.returncode, bool(first)) == (1, True), f"no test failed:\n{found.stdout[-3000:]}"


def run(root: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command in the copy, on the copy's minigrad."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    environment = os.environ | {"PYTHONPATH": str(root), "PATH": path, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    return subprocess.run(words, cwd=root, env=environment, capture_output=True, encoding="utf-8", check=False)


@contextmanager
def damaged(root: Path, defect: dict[str, Any]) -> Iterator[None]:
    """The copy with the defect, until the block ends."""
    path = root / defect["file"]
    text = path.read_text("utf-8")
    path.write_text(text.replace(defect["old"], defect["new"]), "utf-8")
    try:
        yield
    finally:
        path.unlink()
        shutil.copy2(ROOT / defect["file"], path)
