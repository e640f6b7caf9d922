"""AutoGraph converts the code that is called: what a file says by now counts only if it compiles to that."""

import ast
import importlib
import sys

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import ConversionError, NoValueError
from minigrad.graph.autograph import beside, code, convert
from minigrad.graph.autograph.convert import conversion_of
from tests.support.python_calls import count_calls

SCALED = """import minigrad as mg


def scaled(x):
    if x.sum() > 0:
        y = x * {up}
    else:
        y = x * {down}
    return y
{more}"""


@pytest.fixture
def edited(tmp_path, monkeypatch):
    """(text, name) → the module of that name with this text; imported, or imported again."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names = set()

    def edit(text, name="edited_module", reload=True):
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
        names.add(name)
        importlib.invalidate_caches()
        module = sys.modules.get(name) or importlib.import_module(name)
        return importlib.reload(module) if reload else module

    yield edit
    for name in names:
        del sys.modules[name]


x = mg.tensor([1.0, 2.0])


def test_a_reloaded_module_runs_as_it_is_now(edited):
    """linecache was asked for lines without looking at the file again: eager gave 33, the traced function 2."""
    module = edited(SCALED.format(up=2, down=-1, more=""))
    np.testing.assert_array_equal(mg.function(module.scaled)(x), [2, 4])

    module = edited(SCALED.format(up=33, down=-1, more=""))

    np.testing.assert_array_equal(mg.function(module.scaled)(x), [33, 66])
    np.testing.assert_array_equal(mg.function(module.scaled)(x), module.scaled(x))
    assert "33" in code(module.scaled)
    assert "33" in beside(module.scaled)


@pytest.mark.parametrize(("up", "down"), [(5, -1), (-1, 2)])
def test_a_module_that_was_edited_and_not_reloaded_is_not_converted_by_its_new_text(edited, up, down):
    """Exchanged branches name the same things: only the code itself tells them apart."""
    module = edited(SCALED.format(up=2, down=-1, more=""))

    edited(SCALED.format(up=up, down=down, more=f"# {up}\n"), reload=False)

    told = "scaled.. runs as it is written, .* was edited since, so reload the module"
    with pytest.warns(UserWarning, match=told):
        assert convert(module.scaled) is module.scaled
    with pytest.warns(UserWarning, match=told), pytest.raises(NoValueError):
        mg.function(lambda x: module.scaled(x) + 1)(x)
    with pytest.raises(ConversionError, match="edited since"):
        code(module.scaled)


def test_what_was_read_before_an_edit_still_serves_the_code_from_before(edited):
    module = edited(SCALED.format(up=2, down=-1, more="\n\ndef negated(x):\n    return -x if x.sum() > 0 else x\n"))
    np.testing.assert_array_equal(mg.function(module.scaled)(x), [2, 4])

    edited(SCALED.format(up=7, down=-1, more=""), reload=False)

    np.testing.assert_array_equal(mg.function(module.negated)(x), [-1, -2])


def test_code_that_is_exchanged_in_a_function_is_traced_anew(edited):
    """IPython's autoreload gives the functions that there are new code: a trace of them is of the old one."""
    helper = "import minigrad as mg\n\n\ndef twice(x):\n    return x * {}\n"
    caller = "from edited_helper import twice\n\n\ndef f(x):\n    return twice(x) + 1\n"
    helpers = edited(helper.format(2), "edited_helper")
    traced = mg.function(edited(caller).f)
    np.testing.assert_array_equal(traced(x), [3, 5])
    old = helpers.twice

    old.__code__ = edited(helper.format(30), "edited_helper").twice.__code__

    np.testing.assert_array_equal(traced(x), [31, 61])
    assert "twice() has other code" in traced.explain()


def test_a_function_with_asserts_that_pytest_rewrote_is_converted_with_them():
    def checked(x):
        assert x.ndim == 1, f"{x.ndim} axes"
        if x.sum() > 0:
            x = x * 3
        return x

    np.testing.assert_array_equal(mg.function(checked)(x), [3, 6])


def nested(depth):
    """Loops in loops, each with a name that the one inside reads, and a break."""
    lines = ["def f(x, n):"]
    for i in range(depth):
        lines += [f"a{i} = x * {i}", f"for i{i} in range(n):", f"    x = x + a{i} * i{i}"]
        lines += [f"    if x > {i}:", "        break"]
    indents = [1] + [1 + k for k in range(depth) for _ in range(5)]
    return "\n".join([lines[0]] + ["    " * n + line for n, line in zip(indents[1:], lines[1:])] + ["    return x\n"])


def test_a_file_is_parsed_once_however_many_of_its_functions_are_called(edited, monkeypatch):
    definition = "def f{i}(x):\n    return {call} if x.sum() > 0 else -x\n"
    text = "".join(definition.format(i=i, call=f"f{i + 1}(x)" if i < 9 else "x") for i in range(10))
    module, parsed = edited(text, "edited_many"), []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda source, *more: parsed.append(source) or parse(source, *more))
    mg.function(module.f0)(mg.tensor([1.0]))

    assert parsed.count(text) == 1
    assert len(parsed) == 11  # for each function an empty one, with the names that it has from outside


def test_loops_in_loops_are_converted_in_time_of_the_square_of_their_depth_at_most(edited):
    """Each level was looked at twice by the one around it: thirteen levels took 2 s, and each more twice that."""

    def work(depth):
        return count_calls(conversion_of, edited(nested(depth), f"edited_nested_{depth}").f, of=("call", "c_call"))

    assert work(12) < 6 * work(6)
