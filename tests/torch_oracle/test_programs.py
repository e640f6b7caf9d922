"""What PyTorch's users write, word for word, in minigrad and in PyTorch: the answers must not differ."""

import numpy as np
import pytest

import minigrad as mg

from .programs import PROGRAMS

torch = pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch adds this oracle")

from .programs import gradients, networks, tensors, training  # noqa: E402, F401  (they fill PROGRAMS)


@pytest.fixture
def doubles():
    """PyTorch with minigrad's default: Python's floats are float64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.mark.filterwarnings("ignore::UserWarning:torch", "ignore::DeprecationWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.usefixtures("doubles")
def test_a_program_gives_the_same_answers(name):
    agree(PROGRAMS[name](mg), PROGRAMS[name](torch), name)


def agree(ours, theirs, path):
    """Raises AssertionError where two answers differ: in structure, shape, dtype, text, or by more than rounding."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs), path
        ours, theirs = list(ours.values()), list(theirs.values())
    if isinstance(theirs, list | tuple):
        assert isinstance(ours, list | tuple), path
        assert len(ours) == len(theirs), path
        for i, (a, b) in enumerate(zip(ours, theirs)):
            agree(a, b, f"{path} · {i}")
    elif isinstance(theirs, torch.Tensor):
        assert str(ours.dtype) == str(theirs.dtype).removeprefix("torch."), path
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), 1e-9, 1e-11, err_msg=path)
    elif isinstance(theirs, float | np.ndarray):
        np.testing.assert_allclose(ours, theirs, 1e-9, 1e-11, err_msg=path)
    else:
        assert ours == theirs, path


def test_there_are_some_hundred_programs():
    assert len(PROGRAMS) > 100
