"""Lines for another framework are run where it is installed, and elsewhere shown as they were recorded."""

import sys
import warnings
from types import ModuleType, SimpleNamespace

import pytest

from minigrad.course import in_jax, in_pytorch


def doubled(torch):
    """
    4.0
    done
    """
    print(torch.double(2.0))
    print("done")


@pytest.fixture
def torch(monkeypatch):
    module = ModuleType("torch")
    module.__spec__ = object()
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def test_it_runs_where_pytorch_is(torch, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    torch.double = lambda x: 2 * x
    in_pytorch(doubled)
    assert capsys.readouterr().out == "4.0\ndone\n"

    torch.double = lambda x: 3 * x
    in_pytorch(doubled)
    assert capsys.readouterr().out == "6.0\ndone\nThe lesson's author saw something else:\n4.0\ndone\n"


def test_it_is_shown_as_recorded_where_this_pytorch_cannot_run_it(torch, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # the module torch has no double
    in_pytorch(doubled)
    cannot = "This PyTorch cannot run it (AttributeError).\nIt printed, when the lesson was written:\n"
    assert capsys.readouterr().out == f"{cannot}4.0\ndone\n"


def test_a_deprecation_inside_pytorch_is_not_shown(torch, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    torch.double = lambda x: warnings.warn("use another word", DeprecationWarning, stacklevel=1) or 2 * x
    in_pytorch(doubled)
    assert capsys.readouterr().out == "4.0\ndone\n"


def test_it_is_shown_as_recorded_where_pytorch_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "torch", None)  # so an import fails
    in_pytorch(doubled)
    assert capsys.readouterr().out == "PyTorch is not installed here. It printed:\n4.0\ndone\n"


def slope_in_jax(jax):
    """done"""
    print("done")
    return jax.view


def test_a_recorded_view_is_shown_where_the_framework_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "jax", None)
    in_jax(slope_in_jax)
    printed, view = capsys.readouterr().out.split("done\n")
    assert printed == "JAX is not installed here. It printed:\n"
    assert view.startswith("GraphView(7 nodes, 2 groups; The graph of a call of cube)")


def test_the_view_of_the_installed_framework_is_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(view="a view of this version"))
    in_jax(slope_in_jax)
    assert capsys.readouterr().out == "done\na view of this version\n"


def test_the_repository_shows_the_recording(torch, capsys):
    in_pytorch(doubled)
    assert capsys.readouterr().out == "4.0\ndone\n"


def test_a_function_without_a_recording_is_refused():
    with pytest.raises(ValueError, match="needs a docstring"):
        in_pytorch(lambda torch: None)
