"""jit_compile="auto": which calls NumPy runs, and when native code is compiled. Calls and compilations are counted."""

import warnings
from math import ceil

import numpy as np
import pytest

import minigrad as mg
from minigrad.graph.backends.native import program, tiers, toolchain
from tests.support.other_processes import run_in_threads

x, wide = (mg.tensor(np.random.default_rng(0).normal(size=size)) for size in (50, 5000))


@pytest.fixture(autouse=True)
def compilations(monkeypatch):
    """NumPy runs three calls of each graph. Returns a list that gets an entry for each compilation."""
    if toolchain.compiler(quietly=True) is None:
        pytest.skip("no C++ compiler: python -m pip install ziglang brings one")
    made, native = [], program.native
    monkeypatch.setattr(tiers, "ceil", lambda calls: 3)
    monkeypatch.setattr(program, "native", lambda *args: made.append(args) or native(*args))
    return made


def bend(x):
    return mg.exp(mg.tanh((x + 0.1) + 0.2) * 2).sum()  # native code may compute x + 0.3, which rounds differently


def tiers_of(f, *args, calls=5):
    """One letter per call: N for native code, - for NumPy. Asserts right results, and NumPy's to the bit."""
    plain, found = mg.function(f.python_function)(*args).item(), ""
    for _ in range(calls):
        y = f(*args).item()
        found += "N" if f.c_source else "-"
        assert y == pytest.approx(plain, rel=1e-12 if found[-1] == "N" else 0, abs=0)
    return found


def test_three_calls_of_each_shape_run_numpy_then_native_code_and_explain_says_so(compilations):
    f, native = (mg.function(bend, jit_compile=how) for how in ("auto", "native"))
    assert tiers_of(f, x, calls=2) == "--"
    assert "on if there is a C++ compiler (calls so far: 2), because" in " ".join(f.explain().split())
    assert tiers_of(f, x) + tiers_of(f, wide) == "-NNNN" + "---NN"
    assert f.explain().count("NumPy runs calls 1 to 3, native code runs from call 4 on, ") == len(compilations) == 2
    assert native(wide).item() == f(wide).item()
    assert native.c_source == f.c_source


def test_numpy_runs_until_the_calls_have_lost_as_much_as_compiling_takes(monkeypatch):
    def executable(f, *args):
        return mg.function(f, jit_compile="auto").trace_for(*args).run.variant((), args).run

    monkeypatch.setattr(tiers, "ceil", ceil)
    gain = tiers.SAVED_CALL + tiers.SAVED_BYTE * 8 * (50 + 1 + 50)  # x + 1 reads 51 numbers, and writes 50
    assert executable(lambda x: x + 1.0, x).numpy_calls == ceil((tiers.COMPILE + 3 * tiers.COMPILE_NODE) / gain)
    loops = [executable(lambda x: mg.lax.scan(lambda h, x: (h + x, h), mg.tensor(0.0), x)[0], xs) for xs in (x, wide)]
    assert loops[0].numpy_calls == pytest.approx(100 * loops[1].numpy_calls, rel=0.05)
    assert "NumPy runs all calls" in executable(lambda x: x[:, None] @ x[None], x).tiers


@pytest.mark.parametrize(("moved", "text"), [
    (24, "0.0006 ms a call (2 NumPy calls, which move 0.000024 MB)"),
    (16_320_000_000, "200 ms a call (2 NumPy calls, which move 16300 MB)"),
])  # fmt: skip
def test_explain_writes_large_and_small_estimates_without_exponents(monkeypatch, moved, text):
    monkeypatch.setattr(tiers, "replaceable_calls", lambda steps: (2, moved))
    f = mg.function(bend, jit_compile="auto")
    f(x)
    assert text in " ".join(f.explain().split())


def fail(*_):
    raise OSError("no space")


@pytest.mark.parametrize(("home", "name", "how"), [  # no compiler; a compiler that fails; a bug in our code
    (toolchain, "candidates", list), (toolchain, "load_library", fail), (program, "native", fail),
])  # fmt: skip
def test_without_native_code_numpy_keeps_running_and_a_failure_warns_once(monkeypatch, home, name, how):
    if how is list:
        monkeypatch.setattr(tiers, "compiler", toolchain.compiler.__wrapped__)  # without its cache: it searches again
    monkeypatch.setattr(home, name, how)
    f = mg.function(bend, jit_compile="auto")
    with warnings.catch_warnings(record=True, action="always") as warned:
        assert tiers_of(f, x) == "-----"
    assert ["no space" in str(w.message) for w in warned] == [True] * (how is fail)
    assert "NumPy runs all calls, because there is no working C++ compiler, or it could not" in f.explain()


@pytest.mark.parametrize("home", [toolchain, program], ids=["the compiler fails", "a bug of ours"])
def test_a_failure_that_the_user_turns_into_an_error_ends_one_call_and_explain_stays_right(monkeypatch, home):
    monkeypatch.setattr(home, "load_library" if home is toolchain else "native", fail)
    f = mg.function(bend, jit_compile="auto")
    with warnings.catch_warnings(action="error"):
        assert tiers_of(f, x, calls=3) == "---"
        with pytest.raises(toolchain.NoCompilerWarning, match="no space"):
            f(x)
        assert tiers_of(f, x, calls=2) == "--"
    assert "NumPy runs all calls, because there is no working C++ compiler, or it could not" in f.explain()


def test_an_error_in_the_first_call_and_ctrl_c_in_the_compiler_end_only_those_calls(monkeypatch):
    f, third = mg.function(lambda x, i: (x * x)[i].sum(), jit_compile="auto"), mg.tensor([3])
    with pytest.raises(IndexError, match="50"):
        f(x, mg.tensor([50]))
    assert tiers_of(f, x, third, calls=2) == "--"
    with monkeypatch.context() as m:
        m.setattr(tiers, "compiler", lambda **_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            f(x, third)
    assert tiers_of(f, x, third, calls=2) == "NN"


def test_forward_and_backward_switch_during_training_and_edited_weights_keep_the_trace(compilations):
    w = mg.tensor(x.numpy(), requires_grad=True)
    loss = mg.function(lambda: mg.sum(mg.tanh(w) * x), jit_compile="auto")
    for _ in range(6):
        (gradient,) = mg.autograd.grad(loss(), [w])
        np.testing.assert_allclose(gradient.numpy(), (1 - np.tanh(w.detach().numpy()) ** 2) * x.numpy(), rtol=1e-9)
        w.detach().sub_(0.1 * gradient)
    assert all(f"  {part:<11} NumPy runs calls 1 to 3, native" in loss.explain() for part in ("runs", "backward"))
    assert (loss.trace_count, len(compilations)) == (1, 2)


def test_while_one_thread_compiles_the_others_run_numpy(compilations, monkeypatch):
    def native(*args, usual=program.native):
        run_in_threads(lambda _: found.append(f(x).item()), range(3))
        return usual(*args)

    monkeypatch.setattr(program, "native", native)
    f, found = mg.function(bend, jit_compile="auto"), []
    assert tiers_of(f, x) == "---NN"
    assert (found, len(compilations)) == ([mg.function(bend)(x).item()] * 3, 1)


def test_a_session_switches_too_and_a_saved_function_forgets_it(tmp_path):
    with mg.Graph().as_default() as graph:
        y = bend(fed := mg.placeholder("float64", (50,)))
    with mg.Session(graph, jit_compile="auto") as session:
        found = ["N" if session.run(y, {fed: x.numpy()}) and session.last_run.c_source else "-" for _ in range(5)]
    f = mg.function(bend, jit_compile="auto")
    assert "".join(found) == tiers_of(f, x) == "---NN"
    mg.save(tmp_path / "f", f)
    assert mg.load(tmp_path / "f")(x).item() == mg.function(bend)(x).item()
