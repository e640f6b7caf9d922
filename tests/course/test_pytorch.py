"""Lines for PyTorch are run where it is installed, and elsewhere shown as they were recorded."""

import sys
import warnings
from types import ModuleType

import pytest

from minigrad.course import in_pytorch


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
    monkeypatch.setattr("minigrad.course.pytorch.find_spec", lambda name: None)
    in_pytorch(doubled)
    assert capsys.readouterr().out == "PyTorch is not installed here. It printed:\n4.0\ndone\n"


def test_the_repository_shows_the_recording(torch, capsys):
    in_pytorch(doubled)
    assert capsys.readouterr().out == "4.0\ndone\n"


def test_a_function_without_a_recording_is_refused():
    with pytest.raises(ValueError, match="needs a docstring"):
        in_pytorch(lambda torch: None)
