"""`start.py test --changed` takes the tests that name what has changed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.root import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "check"))

import changes

FILES = {
    "minigrad/engine/ops/pointwise.py": "class Tanh:\n    y = 1\n\n\nclass Exp:\n    y = 1\n",
    "minigrad/course/widgets/chain_rule.js": "one", "lessons/01_graph.ipynb": "{}", "lessons/source/01_graph.py": "1",
    "solutions/source/02_slopes.py": "1", "solutions/02_slopes.ipynb": "{}", "exercises/02_slopes.ipynb": "{}",
    "start.py": "1", "tests/helper.py": "1", "tests/test_pointwise.py": "def test_a(): pass\n",
    "tests/test_nn.py": "OPS = [ops.Tanh]\n\n\ndef test_a():\n    OPS\n\n\ndef test_b():\n    nn.Tanh\n",
    "tests/test_graph.py": "def test_c():\n    ops.Exp\n\n\ndef test_d():\n    ops.Tanh\n",
    "tests/test_start.py": "def test_e():\n    run('start.py')\n",
    "tests/test_helped.py": "import helper\n\n\ndef test_f():\n    helper\n",
    "tests/test_chain_rule.py": "def test_g(): pass\n",
    "tests/browser/test_chain_rule_browser.py": "def test_h(): pass\n",
}  # fmt: skip
LAWS = {*changes.ALWAYS, *changes.LAWS}
CASES = {
    "an op": ("minigrad/engine/ops/pointwise.py", "    y = 1\n\n", "    y = 2\n\n", LAWS | {"tests/test_pointwise.py"}),
    "a widget": ("minigrad/course/widgets/chain_rule.js", "one", "two", {"tests/test_chain_rule.py"}),
    "a lesson": ("lessons/source/01_graph.py", "1", "2", {"lessons/01_graph.ipynb"}),
    "a solution":
        (*("solutions/source/02_slopes.py", "1", "2"), {"solutions/02_slopes.ipynb", "exercises/02_slopes.ipynb"}),
    "a script": ("start.py", "1", "2", {"tests/test_start.py"}),
    "a helper": ("tests/helper.py", "1", "2", {"tests/test_helped.py::test_f"}),
    "a test": ("tests/test_nn.py", "nn.Tanh", "nn.ReLU", {"tests/test_nn.py"}),
}  # fmt: skip
ALSO = {
    "an op": {"tests/test_nn.py::test_a", "tests/test_graph.py::test_d"},
    "a widget": {"tests/browser/test_chain_rule_browser.py"},
}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "first"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(changes, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", CASES)
def test_a_change_takes_what_names_it(checkout, name):
    file, old, new, tests = CASES[name]
    path = checkout / file
    path.write_text(path.read_text().replace(old, new, 1))

    assert {*changes.affected_tests("HEAD")} == {*changes.ALWAYS} | tests | ALSO.get(name, set())


def test_a_new_file_concerns_the_tests_that_name_anything_in_it(checkout):
    (checkout / "minigrad" / "nn").mkdir()
    (checkout / "minigrad" / "nn" / "layer.py").write_text("class Exp: pass\n")

    assert {*changes.affected_tests("HEAD")} == {*changes.ALWAYS, "tests/test_graph.py::test_c"}


def test_a_commit_that_does_not_exist_is_refused(checkout):
    with pytest.raises(SystemExit, match="no-such-commit"):
        changes.affected_tests("no-such-commit")
