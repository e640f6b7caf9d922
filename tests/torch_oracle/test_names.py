"""What PyTorch calls `input`, we call `input`: whoever writes it out finds it here."""

import inspect
import re

import minigrad as mg
from tests.support.table import table

from .oracle import torch

NAMESPACES = {
    "": (mg, torch), "nn.functional.": (mg.nn.functional, torch.nn.functional), "linalg.": (mg.linalg, torch.linalg),
    "special.": (mg.special, torch.special),
}  # fmt: skip


def first_of(function):
    """The first argument by its name: from the signature; of a function written in C, which has none, from its text."""
    try:
        first = next(iter(inspect.signature(function, follow_wrapped=False).parameters.values()), None)
        if first is not None and first.kind is first.VAR_POSITIONAL and hasattr(function, "__wrapped__"):
            return first_of(function.__wrapped__)  # which hears other words, and hands all of them on
        return first and first.name
    except ValueError:
        written = re.match(r"\s*[\w.]+\((\w+)", function.__doc__ or "")
        return written and written[1]


FUNCTIONS = {
    prefix + name: getattr(ours, name)
    for prefix, (ours, theirs) in NAMESPACES.items()
    for name in dir(ours)
    if inspect.isfunction(getattr(ours, name)) and callable(getattr(theirs, name, None))
    if not name.startswith("_") and first_of(getattr(theirs, name)) == "input"
}


@table("name", FUNCTIONS)
def test_the_first_argument_is_called_input_where_pytorch_calls_it_that(name):
    assert first_of(FUNCTIONS[name]) == "input"


def test_a_tensor_may_be_given_by_that_name():
    x = mg.tensor([[1.0, 2.0], [3.0, 4.0]])

    assert len(FUNCTIONS) > 200
    assert mg.sum(input=x, dim=0).tolist() == [4, 6]
    assert mg.exp(input=0.0).item() == 1
    assert mg.maximum(input=x, other=mg.tensor(3.0)).tolist() == [[3, 3], [3, 4]]
    assert mg.nn.functional.relu(input=-x).tolist() == [[0, 0], [0, 0]]
    assert mg.nn.functional.max_pool1d(input=x, kernel_size=2).tolist() == [[2], [4]]
