"""Each address that a notebook, a saved file or a program may import a part of minigrad by leads to the same module."""

import pickle
import subprocess
import sys
from importlib import import_module

import pytest

import minigrad as mg
from tests.support.table import table

PUBLIC = """
amp api autograd course data distributed draw files fft func functional functions graph laws lax linalg nn nn.functional
onnx ops optim optim.lr_scheduler profiler quantization random saving scalar serving special tensor utils
utils.checkpoint utils.data utils.tensorboard widgets zoo compiler cuda
""".split()  # noqa: SIM905  (it is read as lines)
BEFORE = {  # an address of before the rooms had floors → what it is now
    "base.errors": "engine.base.errors", "core.node": "engine.core.node", "core.modes": "engine.core.modes",
    "core.op": "engine.core.op", "methods": "engine.methods", "ops.arithmetic": "engine.ops.arithmetic",
    "tensor.tensor": "engine.tensor.tensor", "random": "engine.random", "functions.faces": "api.functions.faces",
    "linalg": "api.linalg", "special": "api.special", "fft": "api.fft", "cuda": "api.cuda", "func": "api.func",
    "compiler.passes.pipeline": "graph.compiler.passes.pipeline", "lax": "graph.lax",
    "backends.native.program": "graph.backends.native.program", "functional": "nn.functional", "amp": "nn.amp",
    "quantization": "nn.quantization", "zoo.transformers": "nn.zoo.transformers", "saving.files": "files.saving.files",
    "onnx": "files.onnx", "serving.batcher": "files.serving.batcher", "widgets": "course.widgets",
    "grading.submission": "course.grading.submission",
}  # fmt: skip


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


@table("module, name", [("widgets", "ChainRule"), ("course", "check")])
def test_a_star_import_brings_the_names_that_are_imported_on_first_use(module, name):
    here: dict[str, object] = {}
    exec(f"from minigrad.{module} import *", here)

    assert name in here
    assert "import_module" not in here


def test_every_public_address_can_be_imported_first():
    """Each in turn before anything else, in a process whose minigrad is new."""
    program = """
import sys
for name in {names}:
    for module in [m for m in sys.modules if m.partition(".")[0] == "minigrad"]:
        del sys.modules[module]
    sys.meta_path[:] = [finder for finder in sys.meta_path if "minigrad" not in getattr(finder, "__module__", "")]
    exec(f"import minigrad.{{name}}")
    exec(f"from minigrad.{{name}} import *")
"""
    run(program.format(names=PUBLIC))


@pytest.mark.parametrize(("old", "new"), BEFORE.items())
def test_an_address_of_before_is_the_module_of_now(old, new):
    module = import_module(f"minigrad.{old}")

    assert module is import_module(f"minigrad.{new}")
    assert module.__name__ == module.__spec__.name == f"minigrad.{new}"


def test_an_address_that_never_was_is_refused():
    with pytest.raises(ModuleNotFoundError, match=r"minigrad\.onyx"):
        import_module("minigrad.onyx")
    with pytest.raises(ModuleNotFoundError, match=r"minigrad\.(files\.)?onnx\.recordr"):
        import_module("minigrad.onnx.recordr")


def test_mg_tensor_stays_a_function_when_the_module_of_that_name_is_imported():
    said = run("import minigrad as mg, minigrad.tensor.tensor, minigrad.tensor; print(mg.tensor([1.0]).shape)")

    assert said == "(1,)\n"


def test_what_was_pickled_by_an_address_of_before_is_read():
    old = pickle.dumps(mg.errors.ShapeError("x"), 0).replace(b"minigrad.engine.base.errors", b"minigrad.base.errors")

    assert b"minigrad.base.errors" in old
    assert type(pickle.loads(old)) is mg.errors.ShapeError


def test_the_first_gradient_makes_few_calls_and_few_dataclasses_and_imports_little_of_the_standard_library():
    """Before, it made 134 dataclasses of ops in 77,000 calls, and imported pathlib and NumPy's polynomials."""
    program = """
import gc, sys, dataclasses, numpy
from tests.support.python_calls import count_calls
before, made, process = set(sys.modules), [], dataclasses._process_class
dataclasses._process_class = lambda *given: made.append(given) or process(*given)
first = "import minigrad as mg; x = mg.tensor([1.0, 2.0], requires_grad=True); (x * x).sum().backward()"
print(count_calls(exec, first), len(made), *sorted({name.partition(".")[0] for name in {*sys.modules} - before}))
"""
    calls, made, *modules = run(program).split()

    assert int(calls) < 31_000
    assert int(made) <= 20
    assert {"asyncio", "concurrent", "json", "pathlib", "tokenize", "urllib"}.isdisjoint(modules)


DOES_WITHOUT = {  # what a fresh process does → (its program, modules that it does not import)
    "it imports an address": ("import minigrad.course", "numpy"),
    "it draws scalars":
        ("from minigrad import Value, draw; draw(Value(1.0) * 2).svg", "numpy anywidget"),
    "it checks scalar code":
        ("from minigrad.course import check; times_at_x, nodes = 1024, 11; assert check('visits').passed", "numpy"),
    "it draws a tensor of a list":
        ("import minigrad as mg, minigrad.widgets; mg.draw(mg.tensor([1.0, 2.0]))", "jax numpy.ma torch"),
    "it measures a model's memory":
        ("""
import minigrad as mg
net, x = mg.nn.Linear(2, 2), mg.ones(4, 2)
with mg.profiler.memory(net, inputs=x) as ledger: net(x).sum().backward()
mg.profiler.estimate(net, x), mg.widgets.MemoryTimeline(ledger)""", "torch"),
}  # fmt: skip


@table("program, modules", DOES_WITHOUT.values(), DOES_WITHOUT)
def test_a_fresh_process_imports_nothing_that_it_does_not_need(program, modules):
    assert set(modules.split()).isdisjoint(run(f"{program}\nimport sys\nprint(*sys.modules)").split())


def test_a_widget_imports_neither_jupyterlab_nor_the_course_nor_another_framework():
    got = run("import sys\nfrom minigrad.widgets import GraphView\nprint(*sys.modules)").split()

    others = {"jupyterlab", "jupyter_server", "matplotlib", "torch", "jax"}
    assert others.isdisjoint(name.partition(".")[0] for name in got)
    course = [name for name in got if name.startswith("minigrad.course.")]
    assert all(name.startswith("minigrad.course.widgets") for name in course)
