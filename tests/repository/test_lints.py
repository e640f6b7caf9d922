"""What no file of the repository, and no test, contains."""

from __future__ import annotations

import ast
import re
import subprocess

from hypothesis import HealthCheck, settings

from tests.plugins.tiers import slow_tests
from tests.support.root import ROOT

# In two pieces, so that this file does not name them either.
REGISTRY_HOSTS = [".".join(host) for host in (
    ("registry", "npmjs"), ("npmjs", "com"), ("pythonhosted", "org"), ("pypi", "org"), ("debian", "org"),
    ("archive.ubuntu", "com"), ("anaconda", "org"), ("anaconda", "com"), ("unpkg", "com"), ("jsdelivr", "net"),
)]  # fmt: skip

CLOCKS = {"time", "monotonic", "perf_counter", "process_time", "thread_time"}
OF_ITS_ARGUMENTS = {"abs", "all", "any", "float", "int", "max", "min", "round", "sorted", "sum"}


def texts(pattern="*"):
    """The text of each file that git tracks and a pattern matches."""
    command = ["git", "ls-files", "-z", pattern]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    paths = [name for name in listed.split("\0") if (ROOT / name).is_file()]
    return {name: (ROOT / name).read_text("utf-8", errors="replace") for name in paths}


def test_no_file_names_the_host_of_a_package_registry():
    """Packages are fetched by name with pip, uv or npm, which know their registry."""
    found = [f"{path}: {host}" for path, text in texts().items() for host in REGISTRY_HOSTS if host in text]

    assert not found, "\n".join(found)


def test_no_test_asserts_how_long_something_took():
    """Other work on the machine takes its time. Assert a count or an order of events; pytest ends what hangs."""
    found = []
    for path, text in texts("tests/*.py").items():
        if not re.search(rf"\b({'|'.join(CLOCKS)})(_ns)?\(", text):
            continue
        tree, times, before = ast.parse(text), Times(), None
        while before != (before := len(times.names)):  # a function may return what one further down returns
            times.visit(tree)
        found += [f"{path}:{line}" for line in sorted(times.asserted)]

    assert not found, "\n".join(found)
    assert settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check


class Times(ast.NodeVisitor):
    """Follows a time from the clock to variables, to results of functions, and to assertions."""

    def __init__(self):
        self.names, self.asserted = set(), set()

    def visit_FunctionDef(self, node):
        outside, self.names = self.names, set(self.names)
        self.generic_visit(node)
        results = [x.value for x in ast.walk(node) if isinstance(x, ast.Return)]
        self.names = outside | ({node.name} if any(map(self.is_time, results)) else set())

    def visit_While(self, node):
        """A deadline may end a wait."""

    def visit_Assign(self, node):
        for target in node.targets:
            several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            for name, value in zip(target.elts, node.value.elts) if several else [(target, node.value)]:
                if self.is_time(value):
                    self.names.update(x.id for x in ast.walk(name) if isinstance(x, ast.Name))
        self.generic_visit(node)

    def visit_Call(self, node):
        match node:
            case ast.Call(ast.Attribute(ast.Name(name), "append"), [value]) if self.is_time(value):
                self.names.add(name)
        self.generic_visit(node)

    def visit_Assert(self, node):
        if self.is_time(node.test):
            self.asserted.add(node.lineno)

    def visit_If(self, node):
        """`if took > 1: pytest.fail(…)` is an assertion too."""
        if self.is_time(node.test) and "pytest.fail(" in ast.unparse(node):
            self.asserted.add(node.lineno)
        self.generic_visit(node)

    def is_time(self, x):
        match x:
            case ast.Call(ast.Attribute(ast.Name("time"), name)) | ast.Call(ast.Name(name)) if (
                name.removesuffix("_ns") in CLOCKS or name in self.names
            ):
                return True
            case ast.Call(ast.Name(name)) if name in OF_ITS_ARGUMENTS:
                return any(map(self.is_time, x.args))
            case ast.Name(name):
                return name in self.names
            case ast.Call() | ast.Attribute() | None:
                return False
        return any(map(self.is_time, ast.iter_child_nodes(x)))


def test_each_slow_test_exists_and_is_listed_once():
    listed = [*slow_tests()]
    sources = texts("tests/*.py")

    assert len(listed) == len(set(listed))
    parts = [test.partition("::") for test in listed]
    assert not [(path, name) for path, _, name in parts if f"def {name}(" not in sources.get(path, "")]
