"""x[index] = value, word for word in minigrad and PyTorch: values, gradients, and what is refused; also on a device."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base import errors
from tests.support.table import table

from .oracle import array, torch

MINIGRAD = SimpleNamespace(tensor=partial(mg.tensor, dtype="f8"), integers=mg.tensor, zeros=mg.zeros)
SIMULATED = SimpleNamespace(**{name: partial(make, device="simulated") for name, make in vars(MINIGRAD).items()})
DOUBLE = {"dtype": torch.float64}
PYTORCH = SimpleNamespace(
    tensor=partial(torch.tensor, **DOUBLE), integers=torch.tensor, zeros=partial(torch.zeros, **DOUBLE)
)

# What is written to → the shape of what is there, in a matrix (2, 3).
INDICES = {
    "a row": (lambda t: 1, (3,)), "an element": (lambda t: (1, -1), ()), "a column": (lambda t: (slice(None), 1), (2,)),
    "a part": (lambda t: (slice(None), slice(1, None)), (2, 2)),
    "every second": (lambda t: (Ellipsis, slice(None, None, 2)), (2, 2)), "everything": (lambda t: Ellipsis, (2, 3)),
    "a new axis": (lambda t: (slice(None), None), (2, 1, 3)), "a row by a tensor": (lambda t: t.integers(1), (3,)),
    "rows": (lambda t: t.integers([1, 0]), (2, 3)), "rows, by a list": (lambda t: [1, 0], (2, 3)),
    "pairs": (lambda t: (t.integers([1, 0, 1]), t.integers([2, 0, 0])), (3,)),
    "no rows": (lambda t: t.integers(np.empty(0, np.int64)), (0, 3)),
    "a mask": (lambda t: t.integers([[True, False, True], [False, False, True]]), (3,)),
    "a mask of rows": (lambda t: t.integers([False, True]), (1, 3)),
    "a mask of nothing": (lambda t: t.integers(np.zeros((2, 3), bool)), (0,)),
}  # fmt: skip


def written(library, index, shape):
    """The matrix after a value of that shape was written, and the gradients of what it was and of the value."""
    x = library.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    value = library.tensor(np.linspace(-1.0, 1.0, int(np.prod(shape))).reshape(shape), requires_grad=True)
    y = x * 2
    y[INDICES[index][0](library)] = value.sin()
    (y**3).sum().backward()
    return [array(t) for t in (y, x.grad, value.grad)]


@pytest.mark.parametrize("library", [MINIGRAD, SIMULATED], ids=["cpu", "simulated"])
@pytest.mark.parametrize("stretched", ["as it is", "a number", "leading ones", "stretched"])
@table("index", INDICES)
def test_what_is_written_and_its_gradients_are_pytorchs(index, stretched, library):
    shape = INDICES[index][1]
    shape = {
        "as it is": shape, "a number": (), "leading ones": (1, *shape),
        "stretched": (*shape[:-1], 1) if shape and shape[-1] else shape,
    }[stretched]  # fmt: skip

    for ours, theirs in zip(written(library, index, shape), written(PYTORCH, index, shape), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("start", ["integers", "booleans", "numbers"])
@pytest.mark.parametrize("value", [2, 2.75, True, [1.5, 0.0, -2.5], [1, 0, 3]], ids=str)
def test_a_value_takes_the_dtype_of_what_it_is_written_into_as_in_pytorch(start, value):
    said = []
    for library in (MINIGRAD, PYTORCH):
        x = library.integers({"integers": [[1, 2, 3]], "booleans": [[True, False, True]]}.get(start, [[1.0, 2.0, 3.0]]))
        x[0] = library.integers(value)
        said.append((x.tolist(), str(x.dtype).replace("torch.", "").replace("float32", "float64")))

    assert said[0] == said[1]


def test_a_view_and_what_it_looks_at_see_what_is_written_as_in_pytorch():
    said = []
    for library in (MINIGRAD, PYTORCH):
        w = library.tensor([2.0, 3.0], requires_grad=True)
        x = library.zeros((2, 3))
        row, column = x[0], x[:, 1]
        x[:, 1] = w
        row[2] = w[0] * w[1]
        x[0] = row.flip(0) if library is MINIGRAD else row.flip(0).clone()
        ((x**2).sum() + (row * column[1]).sum()).backward()
        said.append([x.tolist(), row.tolist(), column.tolist(), w.grad.tolist()])

    assert said[0] == said[1]


REFUSED = {
    "too short": (lambda t, x: x.__setitem__(0, t.tensor([1.0, 2.0])), errors.ShapeError, r"x\[0\].*\(3,\).*f64\[2\]"),
    "too many axes": (lambda t, x: x.__setitem__((0, 0), t.tensor([1.0, 2.0])), errors.ShapeError, r"x\[0, 0\]"),
    "too few for a mask": (lambda t, x: x.__setitem__(x > 2, t.tensor([1.0, 2.0])), errors.ShapeError, r"\(3,\)"),
    "no such row": (lambda t, x: x.__setitem__(2, 1.0), errors.BoundsError, "index 2.*size 2"),
    "no such row in an array": (lambda t, x: x.__setitem__(t.integers([0, 5]), 1.0), errors.BoundsError, "index 5"),
    "another mask": (lambda t, x: x.__setitem__(t.integers([True] * 3), 1.0), errors.BoundsError, r"\(2,\).*\(3,\)"),
    "numbers for an index": (lambda t, x: x.__setitem__(t.tensor([0.0]), 1.0), errors.DTypeError, "integers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_as_in_pytorch_and_nothing_is_written(case):
    write, error, message = REFUSED[case]
    x = MINIGRAD.tensor(np.arange(6.0).reshape(2, 3))
    version = x._version

    with pytest.raises(error, match=message):
        write(MINIGRAD, x)
    with pytest.raises((RuntimeError, IndexError)):
        write(PYTORCH, PYTORCH.tensor(np.arange(6.0).reshape(2, 3)))

    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert x._version == version
