"""The same program in minigrad and in PyTorch: its values, its gradients and the gradients of these must agree."""

from functools import partial

import numpy as np
import pytest

import minigrad as mg

torch = pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch adds this oracle")


def attribute(library, name):
    """What stands at a dotted name."""
    for part in name.split("."):
        library = getattr(library, part)
    return library


def leaves(library, arrays):
    """Arrays as tensors, of which those of floats require a gradient; what is no array stays."""
    return [library.tensor(a, requires_grad=a.dtype.kind == "f") if isinstance(a, np.ndarray) else a for a in arrays]


def flat(results):
    """What is in tuples, lists and dictionaries, one behind the other."""
    if isinstance(results, dict):
        results = [results[name] for name in sorted(results)]
    return [part for each in results for part in flat(each)] if isinstance(results, tuple | list) else [results]


def array(tensor):
    return tensor.numpy(force=True) if isinstance(tensor, torch.Tensor) else tensor.detach().cpu().numpy()


def answers(library, function, arrays):
    """The value of a function, and the gradients of its sum with respect to each array of floats: all as arrays."""
    xs = leaves(library, arrays)
    y = function(*xs)
    y.backward(library.ones_like(y))
    return [array(y), *(array(x.grad) for x in xs if getattr(x, "requires_grad", False))]


def agree(function, *arrays, rtol=1e-12, atol=0):
    """function(library, *tensors) has PyTorch's value and gradients."""
    ours, theirs = (answers(library, partial(function, library), arrays) for library in (mg, torch))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol, atol, strict=True)


def derivatives(library, function, arrays):
    """The results y, the gradients of Σ w (y + y³), whose weights tell elements apart, and those of Σ v · gradient."""
    xs = leaves(library, arrays)
    ys = flat(function(*xs))
    yield ys
    xs, ys = ([t for t in ts if getattr(t, "requires_grad", False)] for ts in (xs, ys))
    grad = partial(library.autograd.grad, materialize_grads=True, create_graph=True)
    first = grad(sum((library.tensor(weights(y.shape)) * (y + y**3)).sum() for y in ys), xs) if ys else []
    yield first
    directed = sum((library.tensor(weights(x.shape)) * g).sum() for x, g in zip(xs, first))
    yield grad(directed, xs) if getattr(directed, "requires_grad", False) else [library.zeros_like(x) for x in xs]


def weights(shape):
    return np.random.default_rng(1).normal(size=shape)


def agree_twice(ours, theirs, arrays, *tolerances):
    """Value, gradients and second gradients of two functions agree, each to its (rtol, atol)."""
    for (rtol, atol), *pair in zip(tolerances, derivatives(mg, ours, arrays), derivatives(torch, theirs, arrays)):
        for x, t in zip(*pair, strict=True):
            np.testing.assert_allclose(array(x), array(t), rtol, atol, strict=True)


def agree_in_float32(call, arrays, **tolerance):
    """call(nn.functional, tensor, *tensors) of float32 has PyTorch's value, and is float32."""

    def value(library):
        def single(a):
            return library.tensor(a.astype(np.float32) if a.dtype.kind == "f" else a)

        return call(library.nn.functional, single, *map(single, arrays)).numpy()

    ours, theirs = value(mg), value(torch)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, theirs, **tolerance)


def agree_exactly(program):
    """All results of program(library) have PyTorch's dtype, shape and values."""
    for y, t in zip(flat(program(mg)), flat(program(torch)), strict=True):
        np.testing.assert_array_equal(y.numpy(), t.numpy(), strict=True)


def agree_throughout(ours, theirs, path, rtol=1e-9, atol=1e-11):
    """Raises AssertionError where two answers differ: in structure, shape, dtype, text, or by more than rounding."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs), path
        ours, theirs = list(ours.values()), list(theirs.values())
    if isinstance(theirs, list | tuple):
        assert isinstance(ours, list | tuple), path
        assert len(ours) == len(theirs), path
        for i, (a, b) in enumerate(zip(ours, theirs)):
            agree_throughout(a, b, f"{path} · {i}", rtol, atol)
    elif isinstance(theirs, torch.Tensor):
        assert str(ours.dtype) == str(theirs.dtype).removeprefix("torch."), path
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol, atol, err_msg=path)
    elif isinstance(theirs, float | np.ndarray):
        np.testing.assert_allclose(ours, theirs, rtol, atol, err_msg=path)
    else:
        assert ours == theirs, path
