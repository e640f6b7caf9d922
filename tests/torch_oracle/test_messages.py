"""The messages of PyTorch that a lesson quotes are those that PyTorch gives, word for word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .oracle import torch

SOURCES = Path(__file__).parents[2] / "lessons" / "source"


# What is quoted is the docstring of the program that brings it about; […] stands for what a lesson leaves out.


def lesson_01():
    """element 0 of tensors does not require grad and does not have a grad_fn"""
    (torch.tensor(2.0) * 3).backward()


def lesson_04():
    """Using a target size (torch.Size([100])) that is different to the input size (torch.Size([100, 1])). This will
    likely lead to incorrect results due to broadcasting."""
    torch.nn.functional.mse_loss(torch.ones(100, 1), torch.ones(100))


def lesson_05():
    """grad can be implicitly created only for scalar outputs"""
    (torch.ones(2, requires_grad=True) * 3).backward()


def lesson_06_a_second_time():
    """Trying to backward through the graph a second time (or directly access saved tensors after they have already been
    freed)."""
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    y.backward()
    y.backward()


def lesson_06_a_recorded_step():
    """a leaf Variable that requires grad is being used in an in-place operation."""
    x = torch.tensor(2.0, requires_grad=True)
    x -= 1


def lesson_06_a_window():
    """Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."""
    torch.ones(2, requires_grad=True).sigmoid().numpy()


def lesson_07():
    """The differentiated Tensor at index 0 appears to not have been used in the graph."""
    torch.autograd.grad(torch.ones((), requires_grad=True) * 3, torch.ones((), requires_grad=True))


def lesson_08():
    """Function 'SqrtBackward0' returned nan values in its 0th output."""
    x = torch.tensor([4.0, 0.0], requires_grad=True)
    with torch.autograd.detect_anomaly():
        torch.where(x > 0, x.sqrt(), 0 * x).sum().backward()


def lesson_10():
    """Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`). Dynamo does not support tracing dynamic
    control flow. […] Hint: Use `torch.cond` to express dynamic control flow."""
    if not torch._dynamo.is_dynamo_supported():
        pytest.skip("torch.compile does not know this Python yet")

    @torch.compile(backend="eager", fullgraph=True)
    def bent(x):
        return x if x.sum() > 0 else -x

    bent(torch.ones(3))


PROGRAMS = [program for name, program in globals().items() if name.startswith("lesson_")]


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_message_that_a_lesson_quotes_is_pytorchs(program):
    (source,) = SOURCES.glob(f"{program.__name__[7:9]}_*.py")
    quoted = re.sub(r"\n#( >)? ", " ", source.read_text("utf-8"))
    message = " ".join(program.__doc__.split())

    with pytest.raises((RuntimeError, UserWarning)) as told:
        program()

    said = " ".join(str(told.value).split())
    assert message in quoted
    assert [piece for piece in message.split(" […] ") if piece not in said] == []
