"""Every method with an underscore does what its twin without one does, in the tensor's own memory."""

from inspect import signature

import numpy as np

import minigrad as mg
from minigrad.engine.tensor.inplace import InPlace
from tests.support.table import table

X, Y, Z = np.random.default_rng(0).uniform(0.2, 0.8, (3, 2, 2))
ROWS, PLACES = np.array([1, 0]), np.array([[1, 0], [0, 1]])
BITWISE = [f"bitwise_{name}" for name in ("and", "or", "xor", "left_shift", "right_shift")]
OPERANDS = {
    **dict.fromkeys(BITWISE, (np.array([[1, 2], [3, 4]]),)), **dict.fromkeys(["clamp", "clip"], (0.3, 0.6)),
    **dict.fromkeys(["clamp_min", "clamp_max"], (0.5,)), **dict.fromkeys(["cumsum", "cumprod"], (0,)),
    **dict.fromkeys(["index_add", "index_copy"], (0, ROWS, Y)),
    **dict.fromkeys(["scatter", "scatter_add"], (0, PLACES, Y)), "masked_fill": (X > 0.5, 2.0),
    "index_fill": (0, ROWS[:1], 2.0), "index_put": ((ROWS, ROWS), Y[0]),
}  # fmt: skip
STARTS = {"acosh": X + 1, "arccosh": X + 1} | dict.fromkeys([*BITWISE, "bitwise_not"], np.array([[5, 6], [7, 8]]))
TWINS = [n.removesuffix("_") for n, f in vars(InPlace).items() if hasattr(f, "__wrapped__") and not n.startswith("_")]


def operands_of(name):
    """As many as the method needs, if none are written above."""
    needed = [p for p in signature(getattr(mg.Tensor, name)).parameters.values() if p.default is p.empty]
    return OPERANDS.get(name, (Y, Z)[: len(needed) - 1])


def gradient(y, x):
    """Of the sum of the squares of y; None where no gradient passes."""
    return mg.autograd.grad((y * y).sum(), x)[0].numpy() if y.requires_grad else None


@table("name", TWINS)
def test_an_in_place_method_gives_the_value_and_the_gradient_of_its_twin(name):
    start, operands = STARTS.get(name, X), operands_of(name)
    x = mg.tensor(start, requires_grad=start.dtype == float)
    y = getattr(x, name)(*operands)
    z = x.clone()
    memory = z.value

    assert getattr(z, f"{name}_")(*operands) is z
    assert z.value is memory
    assert np.array_equal(z.numpy(), y.numpy())
    assert np.array_equal(gradient(z, x), gradient(y, x))
