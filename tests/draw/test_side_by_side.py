"""`compare`: what minigrad and PyTorch compute of the same numbers, step by step."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad as mg

torch = pytest.importorskip("torch", reason="compares with PyTorch")

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
W = np.array([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]])


def loss(x, w):
    return ((x @ w).tanh() ** 2).mean()


def marks(comparison):
    return [cells[1:3] for cells in (pair.cells for pair in comparison.pairs) if cells[0]]


def test_the_same_function_has_the_same_graph_values_and_gradients():
    comparison = mg.compare(loss, loss, X, W)

    assert comparison.ok
    assert comparison.same_graph
    assert [pair.left.key for pair in comparison.pairs] == ["x1", "x2", "@", "tanh", "^2", "mean"]
    assert "Results and gradients are the same up to rounding; the graphs are the same." in comparison.text
    assert marks(comparison) == []


def test_a_difference_is_marked_where_it_begins():
    comparison = mg.compare(lambda x: (x * x).tanh().sum(), lambda x: (x * x).sigmoid().sum(), X)

    assert not comparison.ok
    assert not comparison.same_graph
    assert [left.partition(" = ")[0] for left, _ in marks(comparison)] == ["x", "x × x", "tanh(#2)", "—", "sum(#3)"]
    assert comparison.pairs[1].gaps[0] == 0  # the value of x × x is the same, its gradient is not
    assert comparison._repr_html_().count("≠") == 5


def test_another_order_of_operations_is_another_graph_with_the_same_numbers():
    comparison = mg.compare(lambda x: (x.exp() * 2).sum(), lambda x: x.exp().sum() * 2, X)

    assert comparison.ok
    assert not comparison.same_graph
    assert "2 steps are in only one graph" in comparison.note


def ported():
    ours = mg.nn.Sequential(mg.nn.Linear(3, 4), mg.nn.BatchNorm1d(4), mg.nn.ReLU(), mg.nn.Linear(4, 2))
    theirs = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 2)
    ).double()
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            parameter.copy_(torch.tensor(np.array(dict(ours.named_parameters())[name].numpy())))
    return ours, theirs


def test_a_ported_module_is_compared_parameter_by_parameter():
    ours, theirs = ported()
    comparison = mg.compare(ours, theirs, X)
    names = [pair.left.key for pair in comparison.pairs[:7]]

    assert comparison.ok, comparison.text
    assert names == ["0.bias", "0.weight", "1.bias", "1.weight", "3.bias", "3.weight", "x"]
    with torch.no_grad():
        theirs[3].weight[0, 0] += 1
    wrong = mg.compare(ours, theirs, X)
    assert not wrong.ok
    assert "3.weight" in " ".join(left for left, _ in marks(wrong))


def test_neither_model_is_changed():
    ours, theirs = ported()
    before = [{name: np.array(x.numpy()) for name, x in f.state_dict().items()} for f in (ours, theirs)]
    mg.compare(ours, theirs, X)

    for f, state in zip((ours, theirs), before, strict=True):
        assert all(np.array_equal(x.numpy(), state[name]) for name, x in f.state_dict().items())
        assert all(x.grad is None for x in f.parameters())


def test_functions_in_the_wrong_order_or_without_a_gradient_are_refused():
    with pytest.raises(TypeError, match="minigrad's function or module first"):
        mg.compare(*reversed(ported()), X)
    with pytest.raises(TypeError, match="one tensor with a gradient; minigrad's returned 3"):
        mg.compare(lambda x: 3, lambda x: x, X)
