"""A run takes the tests of its tier, gives a browser test a second try, and is never silent for long."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.root import ROOT

pytestmark = pytest.mark.tool

PLUGINS = [part for name in ("tiers", "progress", "second_try") for part in ("-p", f"tests.plugins.{name}")]
INI = """\
[pytest]
markers =
    daily: in the default
    night: in --all alone
    tool: in --all and --changed
    share(n): one row in n
"""
TESTS = """\
import os
import pytest

def test_law(): pass

@pytest.mark.night
def test_long(): assert os.environ["NIGHTLY"]

@pytest.mark.tool
def test_script(): pass

@pytest.mark.share(3)
@pytest.mark.parametrize("row", range(30))
def test_row(row): pass

@pytest.mark.share(3)
@pytest.mark.parametrize("check", [f"check_{i}" for i in range(9)])
def test_program(check): pass
"""
IN_A_BROWSER = """\
import pytest

@pytest.mark.daily
def test_widget(): pass

@pytest.mark.daily
@pytest.mark.share(3)
@pytest.mark.parametrize("row", range(9))
def test_theme(row): pass

def test_lab(): pass

@pytest.mark.share(3)
@pytest.mark.parametrize("row", range(9))
def test_page(row): pass
"""
FLAKY = """\
from pathlib import Path

def test_{name}():
    seen = Path(__file__).with_name("{name}.seen")
    tries = len(seen.read_text()) if seen.exists() else 0
    seen.write_text("x" * (tries + 1))
    assert tries >= {failures}, "the page stayed empty"
"""


class Project:
    """A folder with our plugins and some tests."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(ROOT / "tests" / "plugins", root / "tests" / "plugins")
        (root / "tests" / "__init__.py").touch()
        (root / "pytest.ini").write_text(INI)

    def write(self, name: str, text: str) -> None:
        path = self.root / "tests" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def run(self, *options: str, folder: str = "tests") -> tuple[int, str]:
        command = [sys.executable, "-m", "pytest", "-v", *PLUGINS, "-p", "no:nbval", *options, folder]
        environment = os.environ | {"PYTHONPATH": str(self.root), "PYTEST_ADDOPTS": ""}
        environment.pop("NIGHTLY", None)
        done = subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def names(printed: str) -> set[str]:
    return set(re.findall(r"::(test_\S+) PASSED", printed))


def test_each_tier_takes_its_tests_and_the_default_reports_what_it_did_not_run(project):
    project.write("test_engine.py", TESTS)
    project.write("browser/test_page.py", IN_A_BROWSER)

    folders = {"default": "tests", "browser": "tests/browser", "changed": "tests", "all": "tests"}
    printed = {tier: project.run("--tier", tier, "--share", "0", folder=folder)[1] for tier, folder in folders.items()}

    default, browser, changed, night = ({re.sub(r"\[.*", "", n) for n in names(text)} for text in printed.values())
    assert default - {"test_program"} == {"test_law", "test_row", "test_widget", "test_theme"}
    assert browser == {"test_lab", "test_theme", "test_page"}
    assert 0 < sum("test_page" in name for name in names(printed["browser"])) < 9
    assert changed == default | {"test_script"}
    assert night == default | browser | {"test_long", "test_script", "test_program"}
    themes = [n for tier in ("default", "browser") for n in names(printed[tier]) if "test_theme" in n]
    assert len(themes) == len(set(themes)) == 9
    assert re.search(r"Not run: .*1 tests for the night", printed["default"])
    assert re.search(r"Not run: .*10 browser tests", printed["default"])
    assert "Not run: " not in printed["all"]


def test_a_slow_test_runs_in_one_share_of_four(project):
    project.write("test_engine.py", TESTS)
    project.write(
        "plugins/slow_tests.txt", "# slow\n\ntests/test_page.py test_x\n    test_y\ntests/test_engine.py test_law\n"
    )

    runs = [names(project.run("--tier", "default", "--share", share)[1]) for share in "0123"]

    assert sum("test_law" in run for run in runs) == 1
    for tier in ("all", "changed"):
        assert "test_law" in names(project.run("--tier", tier)[1])


def test_every_row_of_a_long_table_has_its_turn_and_a_share_can_be_repeated(project):
    project.write("test_engine.py", TESTS)

    rows = [{n for n in names(project.run("--tier", "default", "--share", share)[1]) if "[" in n} for share in "0123"]

    assert rows[0] == rows[3]
    assert sum(map(len, rows[:3])) == len(set().union(*rows[:3])) == 39
    assert sorted(sum("test_program" in name for name in share) for share in rows[:3]) == [
        0,
        0,
        9,
    ]  # one start serves all
    assert all(rows)


@pytest.mark.parametrize(("file", "tests", "status"), [
    ("browser/test_page.py", {"once": 1}, 0), ("browser/test_page.py", {"twice": 2}, 1),
    ("browser/test_page.py", {"a": 1, "b": 1}, 0), ("browser/test_page.py", {"a": 1, "b": 1, "c": 1}, 1),
    ("browser/test_page.py", {"once": 1, "twice": 2}, 1), ("test_engine.py", {"once": 1}, 1),
])  # fmt: skip
def test_only_a_browser_test_is_run_again_and_only_twice_a_run(project, file, tests, status):
    project.write(file, "".join(FLAKY.format(name=name, failures=failures) for name, failures in tests.items()))

    code, printed = project.run("--tier", "all")

    assert code == status, printed
    listed = re.findall(r"passed at second try: tests/browser/test_page.py::test_(\w+) \(load", printed)
    assert listed == ([] if file == "test_engine.py" or len(tests) > 2 else [n for n in tests if tests[n] == 1])
    assert printed.count("the page stayed empty")
