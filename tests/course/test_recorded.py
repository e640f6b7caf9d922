"""Lines for another framework run if it is installed; otherwise their recording is shown."""

import sys
import warnings
from types import SimpleNamespace

import pytest

from minigrad.course import in_jax

DONE = "4.0\ndone\n"
VIEW = "GraphView(7 nodes, 2 groups; The graph of a call of cube)"
SHOWN = {  # output → the `double` of an imitation of JAX; None: JAX is not installed
    f"{DONE}a view": lambda x: 2 * x,
    f"6.0\ndone\nThe lesson's author saw something else:\n{DONE}a view": lambda x: 3 * x,
    "This version of JAX cannot run these lines (KeyError).\nWhen the lesson was written, they printed:\n"
    f"{DONE}{VIEW}": {}.__getitem__,
    f"JAX is not installed here. When the lesson was written, these lines printed:\n{DONE}{VIEW}": None,
}


def slope_in_jax(jax):  # a view of this name is recorded
    """4.0\ndone"""
    print(jax.double(2.0))
    warnings.warn("use another word", DeprecationWarning, stacklevel=1)
    print("done")
    return "a view"


@pytest.mark.parametrize(("shown", "double"), SHOWN.items(), ids=["same", "different", "fails", "missing"])
def test_a_learner_sees_what_this_jax_shows_else_the_recording(shown, double, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "jax", double and SimpleNamespace(double=double, __spec__=object()))
    in_jax(slope_in_jax)
    assert capsys.readouterr().out.startswith(shown)


def test_the_repository_shows_the_recording(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(double=lambda x: 3 * x))
    in_jax(slope_in_jax)
    assert capsys.readouterr().out.startswith(f"{DONE}{VIEW}")


def test_a_function_without_a_recording_is_refused():
    with pytest.raises(ValueError, match="needs a docstring"):
        in_jax(lambda jax: None)
